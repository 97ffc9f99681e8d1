"""JSON Patch: the operations of RFC 6902, what does not fit, and that nothing given out is ever written into."""

from typing import Any

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwire.messages.json_patch import MAX_COPIED, apply_patch
from turnwire.messages.json_text import MAX_DEPTH, dump_json, parse_json


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


EXAMPLES: list[tuple[Any, dict[str, Any], Any]] = [
    ({"foo": "bar"}, add("/baz", "qux"), {"foo": "bar", "baz": "qux"}),
    ({"foo": [1, 3]}, add("/foo/1", 2), {"foo": [1, 2, 3]}),
    ({"foo": [1]}, add("/foo/1", 2), {"foo": [1, 2]}),
    ({"foo": [1]}, add("/foo/-", [2]), {"foo": [1, [2]]}),
    ({"foo": 1}, add("/foo", None), {"foo": None}),
    ({"foo": 1}, add("", [5]), [5]),
    (None, add("", {}), {}),
    ([], add("/0", 1), [1]),
    ({"a": 1, "b": 2}, {"op": "remove", "path": "/a"}, {"b": 2}),
    ({"a": [1, 2, 3]}, {"op": "remove", "path": "/a/1"}, {"a": [1, 3]}),
    ({"a": [1]}, {"op": "replace", "path": "/a/0", "value": {}}, {"a": [{}]}),
    ({"a": 1}, {"op": "replace", "path": "", "value": 2}, 2),
    ({"a": {"b": 1}, "c": {}}, {"op": "move", "from": "/a/b", "path": "/c/d"}, {"a": {}, "c": {"d": 1}}),
    ({"a": [1, 2, 3]}, {"op": "move", "from": "/a/0", "path": "/a/2"}, {"a": [2, 3, 1]}),
    ({"a": {"b": 1}}, {"op": "move", "from": "/a/b", "path": "/a"}, {"a": 1}),
    ({"a": {"b": 1}}, {"op": "move", "from": "/a", "path": ""}, {"b": 1}),
    ({"a": 1}, {"op": "move", "from": "/a", "path": "/a"}, {"a": 1}),
    ({"a": 1}, {"op": "copy", "from": "/a", "path": "/b"}, {"a": 1, "b": 1}),
    ({"a": 1}, {"op": "copy", "from": "", "path": "/b"}, {"a": 1, "b": {"a": 1}}),
    ({"a": [1, "x", {"y": None}]}, {"op": "test", "path": "/a", "value": [1.0, "x", {"y": None}]}, None),
    ({"": 1, "a/b": 2, "m~n": 3, "~1": 4}, {"op": "remove", "path": "/"}, {"a/b": 2, "m~n": 3, "~1": 4}),
    ({"a/b": 2}, {"op": "remove", "path": "/a~1b"}, {}),
    ({"~1": 4}, {"op": "remove", "path": "/~01"}, {}),
    ({"0": 1, "-": 2}, {"op": "remove", "path": "/-"}, {"0": 1}),
]


@pytest.mark.parametrize(("state", "operation", "after"), EXAMPLES)
def test_an_operation_does_what_the_rfc_says(state: Any, operation: dict[str, Any], after: Any) -> None:
    before = dump_json(state)
    expected = state if operation["op"] == "test" else after
    assert apply_patch(state, [operation]) == expected
    assert dump_json(state) == before, "the state that was given stays as it was"


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        ({"op": "remove", "path": "/x"}, "there is no 'x'"),
        ({"op": "remove", "path": ""}, "cannot be removed"),
        ({"op": "remove", "path": "/a/-"}, "'-' is no place"),
        ({"op": "remove", "path": "/a/2"}, "'2' is no place"),
        ({"op": "replace", "path": "/x", "value": 1}, "there is no 'x'"),
        ({"op": "replace", "path": "/a/01", "value": 1}, "'01' is no place"),
        ({"op": "replace", "path": "/a/-1", "value": 1}, "'-1' is no place"),
        ({"op": "replace", "path": "/a/\u0661", "value": 1}, "is no place"),
        ({"op": "replace", "path": "/a/0\n", "value": 1}, "is no place"),
        ({"op": "replace", "path": "/a/" + "9" * 5000, "value": 1}, "is no place"),
        (add("/a/3", 1), "'3' is no place"),
        (add("/x/y", 1), "there is no 'x'"),
        (add("/s/0", 1), "'0' is to be added to what is neither"),
        ({"op": "copy", "from": "/s/0", "path": "/b"}, "'0' is looked for in what is neither"),
        ({"op": "copy", "from": "/x", "path": "/b"}, "there is no 'x'"),
        ({"op": "copy", "path": "/b"}, "from is None; expected a JSON Pointer"),
        ({"op": "move", "from": "/o", "path": "/o/p/q"}, "into itself"),
        ({"op": "move", "from": "", "path": "/q"}, "into itself"),
        ({"op": "test", "path": "/one", "value": True}, "'/one' is not what it was tested for"),
        ({"op": "test", "path": "/a", "value": [True, 2]}, "is not what it was tested for"),
        ({"op": "test", "path": "/a", "value": [1]}, "is not what it was tested for"),
        ({"op": "test", "path": "/o", "value": {"p": {}, "z": 1}}, "is not what it was tested for"),
        (add("a", 1), "path is 'a'"),
        (add("/~2", 1), "path is '/~2'"),
        (add("/~", 1), "path is '/~'"),
        ({"op": "add", "path": "/b"}, "the value is missing"),
        ({"op": "test", "path": "/a"}, "the value is missing"),
        ({"op": "add", "path": 7, "value": 1}, "path is 7"),
        ({"op": ["add"], "path": "/b", "value": 1}, "op is ['add']"),
        ({"path": "/b"}, "op is None"),
        ({}, "path is None"),
    ],
)
def test_what_does_not_fit_is_refused_and_said(operation: dict[str, Any], problem: str) -> None:
    """Also behind operations that did fit: a patch is done whole or not at all."""
    state: dict[str, Any] = {"a": [1, 2], "s": "xyz", "o": {"p": {}}, "one": 1}
    before = dump_json(state)
    with pytest.raises(ValueError, match="the patch does not fit the state: operation 1") as caught:
        apply_patch(state, [add("/new", 1), operation])
    assert problem in str(caught.value)
    assert dump_json(state) == before


def test_values_of_the_patch_are_not_written_into() -> None:
    """Nor is a state that was given out before."""
    patch = [add("/a", {}), add("/a/b", [1]), {"op": "copy", "from": "/a", "path": "/c"}, add("/c/b/-", 2)]
    before = dump_json(patch)
    first = apply_patch({}, patch)
    second = apply_patch(first, [add("/a/b/0", 0)])
    assert first == {"a": {"b": [1]}, "c": {"b": [1, 2]}}
    assert second == {"a": {"b": [0, 1]}, "c": {"b": [1, 2]}}
    assert dump_json(patch) == before


def test_what_a_patch_does_not_touch_is_the_same_object() -> None:
    state: dict[str, Any] = {"a": {"b": 1}, "big": [{}] * 1000}
    changed = apply_patch(state, [add("/a/c", 2)])
    assert changed["big"] is state["big"]


def test_no_state_becomes_too_deep_to_be_loaded_again() -> None:
    state: Any = {}
    for depth in range(1, MAX_DEPTH + 1):
        state = apply_patch(state, [add("/x" * depth, {})])
    assert parse_json(dump_json(state)) == state
    for patch in (
        add("/x" * (MAX_DEPTH + 1), {}),
        add("/x" * MAX_DEPTH, {"y": 1}),
        {"op": "replace", "path": "/x" * MAX_DEPTH, "value": [1]},
        {"op": "copy", "from": "/x", "path": "/x/x/x"},
    ):
        with pytest.raises(ValueError, match=f"deeper than {MAX_DEPTH} levels"):
            apply_patch(state, [patch])


def test_a_state_that_is_copied_into_itself_over_and_over_is_refused_before_it_fills_a_disk() -> None:
    double = {"op": "copy", "from": "", "path": "/x"}
    with pytest.raises(ValueError, match=f"at most {MAX_COPIED} are taken"):
        apply_patch({"y": 1}, [double, {"op": "copy", "from": "", "path": "/z"}] * 30)


KEYS = st.sampled_from(["a", "b", "0", "1", "-", "", "~", "/"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "xy"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def point(words: list[str]) -> str:
    return "".join("/" + word.replace("~", "~0").replace("/", "~1") for word in words)


PATHS = st.lists(KEYS, max_size=3).map(point)


def operations(*names: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"op": st.sampled_from(names), "path": PATHS, **fields})


OPERATIONS = st.one_of(
    operations("add", "replace", "test", value=JSON),
    operations("remove"),
    operations("move", "copy", **{"from": PATHS}),
)


@settings(deadline=None, max_examples=300)  # a busy machine is no bug
@given(JSON, st.lists(OPERATIONS, min_size=1, max_size=4))
def test_it_does_what_the_library_of_the_field_does(state: Any, patch: list[dict[str, Any]]) -> None:
    """The same states for the same patches, and the same patches refused."""
    before = dump_json([state, patch])
    ours, theirs = _outcome(apply_patch, state, patch), _outcome(_apply_theirs, state, patch)
    assert dump_json([state, patch]) == before
    assert ours == theirs


def _apply_theirs(state: Any, patch: list[dict[str, Any]]) -> Any:
    return jsonpatch.JsonPatch(parse_json(dump_json(patch))).apply(state)


def _outcome(apply: Any, state: Any, patch: Any) -> bytes | str:
    try:
        return dump_json(apply(state, patch))
    except (ValueError, TypeError, KeyError, IndexError, jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
        return "refused"
