"""JSON Patch (RFC 6902): how AG-UI's producers change the state beside the messages.

A state that was given out never changes: what a patch changes is copied along its path and the rest is shared, so a
patch costs as much as the containers that it goes through are wide, however much else there is. Values are taken as
they are and never written into, neither the event's nor an earlier state's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from turnwire.messages.json_shapes import is_list, is_object
from turnwire.messages.json_text import MAX_DEPTH
from turnwire.messages.particulars import Json

MAX_COPIED = 100_000
"""Values in what one operation puts in. Copies are shared here, but not in JSON: a state that is copied into itself
thirty times would fill a disk."""

_INDEX = re.compile(r"0|[1-9][0-9]*")
_BAD_ESCAPE = re.compile(r"~(?![01])")

_Change: TypeAlias = Callable[[Any, str], Any]
"""Takes a container and the last word of a path; gives a changed copy of it."""


def apply_patch(state: Json, patch: Sequence[Mapping[str, Json]]) -> Json:
    """Give the state after a patch; the one given stays as it was. Raises ValueError if the patch does not fit.

    >>> apply_patch({"todo": ["a"]}, [{"op": "add", "path": "/todo/-", "value": "b"}])
    {'todo': ['a', 'b']}
    """
    for number, operation in enumerate(patch):
        try:
            state = _apply(state, operation)
        except (ValueError, RecursionError) as exc:  # a host's own state may be deeper than any that we would read
            raise ValueError(f"the patch does not fit the state: operation {number}: {exc}") from None
    return state


def _apply(state: Any, operation: Mapping[str, Any]) -> Any:
    path = _path_in(operation, "path")
    match operation.get("op"):
        case "add":
            return _put(state, path, _value_in(operation), _with_new)
        case "remove":
            return _remove(state, path)
        case "replace":
            return _put(state, path, _value_in(operation), _with)
        case "move":
            source = _path_in(operation, "from")
            if source == path[: len(source)] and len(source) < len(path):
                raise ValueError("a value cannot be moved into itself")
            value = _look_up(state, source)
            return state if source == path else _put(_remove(state, source) if path else state, path, value, _with_new)
        case "copy":
            return _put(state, path, _look_up(state, _path_in(operation, "from")), _with_new)
        case "test":
            found, wanted = _look_up(state, path), _value_in(operation)
            if not _is_same(found, wanted):
                raise ValueError(f"{operation['path']!r} is not what it was tested for")
            return state
        case other:
            raise ValueError(f"op is {other!r}; expected add, remove, replace, move, copy or test")


def _path_in(operation: Mapping[str, Any], name: str) -> list[str]:
    """Cut a JSON Pointer into its words."""
    path = operation.get(name)
    if not isinstance(path, str) or (path and not path.startswith("/")) or _BAD_ESCAPE.search(path):
        raise ValueError(f"{name} is {path!r}; expected a JSON Pointer such as '/a/0'")
    words = [word.replace("~1", "/").replace("~0", "~") for word in path.split("/")[1:]]
    if len(words) > MAX_DEPTH:
        raise ValueError(f"{name} is deeper than {MAX_DEPTH} levels")
    return words


def _value_in(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise ValueError("the value is missing")
    return operation["value"]


def _put(state: Any, path: list[str], value: Any, change: Callable[[Any, str, Any], Any]) -> Any:
    depth, size = _measure(value, {})
    if len(path) + depth > MAX_DEPTH:  # what could not be loaded again is not let in
        raise ValueError(f"the state would be nested deeper than {MAX_DEPTH} levels")
    if size > MAX_COPIED:
        raise ValueError(f"{size} values at once; at most {MAX_COPIED} are taken")
    return _changed(state, path, lambda holder, word: change(holder, word, value)) if path else value


def _measure(value: Any, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Say how deep a value is and how many there are in it; what is shared in it is looked at once."""
    inner = list(value.values()) if is_object(value) else value if is_list(value) else []
    if not inner:
        return 0, 1
    if (found := known.get(id(value))) is None:
        measured = [_measure(each, known) for each in inner]
        found = 1 + max(depth for depth, _ in measured), 1 + sum(size for _, size in measured)
        known[id(value)] = found
    return found


def _remove(state: Any, path: list[str]) -> Any:
    if not path:
        raise ValueError("the whole state cannot be removed")
    return _changed(state, path, _without)


def _changed(state: Any, path: list[str], change: _Change) -> Any:
    """Give the state with another container at the end of a path, and copies of those on the way there."""
    holders = [state]
    for word in path[:-1]:
        holders.append(_get(holders[-1], word))
    changed = change(holders.pop(), path[-1])
    for holder, word in zip(reversed(holders), reversed(path[:-1]), strict=True):
        changed = _with(holder, word, changed)
    return changed


def _look_up(state: Any, path: list[str]) -> Any:
    for word in path:
        state = _get(state, word)
    return state


def _get(holder: Any, word: str) -> Any:
    return holder[_place(holder, word)]


def _place(holder: Any, word: str) -> Any:
    """Give the key or the index that a word means in a container; it must be there."""
    if is_list(holder):
        return _index(word, len(holder) - 1)
    if not is_object(holder):
        raise ValueError(f"{word!r} is looked for in what is neither an object nor an array")
    if word not in holder:
        raise ValueError(f"there is no {word!r}")
    return word


def _index(word: str, most: int) -> int:
    if not _INDEX.fullmatch(word) or len(word) > len(str(most)) or int(word) > most:
        raise ValueError(f"{word!r} is no place in this array")
    return int(word)


def _with(holder: Any, word: str, value: Any) -> Any:
    """Put a value in the place of one that is there."""
    place, changed = _place(holder, word), holder.copy()
    changed[place] = value
    return changed


def _with_new(holder: Any, word: str, value: Any) -> Any:
    """Put a value under a key, or before an entry of an array; "-" is behind its end."""
    if is_object(holder):
        return {**holder, word: value}
    if not is_list(holder):
        raise ValueError(f"{word!r} is to be added to what is neither an object nor an array")
    changed = holder.copy()
    changed.insert(len(changed) if word == "-" else _index(word, len(changed)), value)
    return changed


def _without(holder: Any, word: str) -> Any:
    place, changed = _place(holder, word), holder.copy()
    del changed[place]
    return changed


def _is_same(one: Any, other: Any) -> bool:
    """Compare as JSON does: true is not 1, and 1 is 1.0."""
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(_is_same(value, other[key]) for key, value in one.items())
    if is_list(one) and is_list(other):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
