"""Outputs and their envelope ⇄ JSON: strict, and the only room that knows their wire names."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

import attrs
from cattrs import Converter
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.v import format_exception, transform_error

from turnwire.messages.json_text import dump_json, parse_json, refuse_nan
from turnwire.messages.outputs import (
    Message,
    Output,
    StreamMessage,
    Thinking,
    ToolCall,
    TurnComplete,
    TurnError,
    TurnFailure,
    TurnStarted,
    TurnUsage,
)
from turnwire.messages.wire import camel

OUTPUT_TYPES: Mapping[str, type[attrs.AttrsInstance]] = {
    "message": Message,
    "thinking": Thinking,
    "tool_call": ToolCall,
    "turn_started": TurnStarted,
    "turn_complete": TurnComplete,
    "turn_error": TurnError,
}
"""Wire name of each output. Written out, so that renaming a class never changes the wire."""

_TAGS: Mapping[type, str] = {cls: tag for tag, cls in OUTPUT_TYPES.items()}
_T = TypeVar("_T")
_Unstructure: TypeAlias = Callable[[Any], dict[str, Any]]


def encode_output(output: Output) -> str:
    """Encode an output as compact JSON text. Raises ValueError if a NaN is in it."""
    return dump_json(unstructure_output(output)).decode()


def unstructure_output(output: Output) -> dict[str, Any]:
    """Give an output as builtins with wire names, `type` first; absent optionals are left out."""
    cls = type(output)
    if isinstance(output, Message) and output.error_code is None and output.error_message is None:
        # Nearly all of them are this one: by hand it costs a third.
        return {
            "type": "message",
            "turnId": output.turn_id,
            "threadId": output.thread_id,
            "itemId": output.item_id,
            "status": output.status,
            "content": output.content,
            "origin": output.origin,
        }
    if isinstance(output, ToolCall):  # the one output that carries values which are not text
        refuse_nan((output.tool_arguments, output.tool_output))
    return {"type": _TAGS[cls], **_UNSTRUCTURE[cls](output)}


def decode_output(text: str | bytes) -> Output:
    """Decode an output. Raises ValueError that says where the text is none."""
    document = _object(parse_json(text))
    tag = document.get("type")
    cls = OUTPUT_TYPES.get(tag) if isinstance(tag, str) else None
    if cls is None:
        raise ValueError(f"$.type: {tag!r} is none of {', '.join(OUTPUT_TYPES)}")
    return cast("Output", _structure(document, cls))


def encode_message(message: StreamMessage) -> bytes:
    """Encode the envelope, with its payload as JSON text inside."""
    return dump_json(_UNSTRUCTURE[StreamMessage](message))


def decode_message(text: str | bytes) -> StreamMessage:
    """Decode an envelope. Raises ValueError that says where the text is none."""
    return _structure(_object(parse_json(text)), StreamMessage)


def _object(document: object) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise ValueError(f"$: expected an object, got {type(document).__name__}")
    return cast("dict[str, Any]", document)


def _structure(document: dict[str, Any], cls: type[_T]) -> _T:
    try:
        return _converter.structure(document, cls)
    except BaseValidationError as exc:
        problems = transform_error(exc, format_exception=_word)
        raise ValueError("; ".join(_PATH.sub(_wire_path, problem) for problem in problems)) from None


_PATH = re.compile(r"@ \$[\w.]*$")  # cattrs names attributes; whoever reads the error has the JSON before them


def _wire_path(path: re.Match[str]) -> str:
    return ".".join(camel(part) for part in path[0].split("."))


def _word(exc: BaseException, wanted: type | None) -> str:
    # cattrs words its own errors; ours (refused coercions) already say what came and what was expected.
    return str(exc) if isinstance(exc, TypeError) else format_exception(exc, wanted)


def _exactly(cls: type) -> Callable[[Any, Any], Any]:
    """Structure by looking, not by coercing: cattrs alone would make the word "None" of a null."""

    def check(value: Any, _wanted: Any) -> Any:
        if type(value) is not cls:
            raise TypeError(f"expected {cls.__name__}, got {type(value).__name__}")
        return value

    return check


def _literal(value: Any, wanted: Any) -> Any:
    if value not in get_args(wanted):
        raise TypeError(f"expected one of {', '.join(map(repr, get_args(wanted)))}, got {value!r}")
    return value


def _as_is(value: Any, _wanted: Any) -> Any:
    return value


def _make_converter() -> Converter:
    converter = Converter()
    for plain in (str, int, bool):
        converter.register_structure_hook(plain, _exactly(plain))
    converter.register_structure_hook_func(lambda wanted: getattr(wanted, "__origin__", None) is Literal, _literal)
    converter.register_structure_hook_func(lambda wanted: wanted is Any, _as_is)
    # What stands inside others comes first: a hook is built with those that are there by then.
    for cls in (TurnUsage, TurnFailure, *OUTPUT_TYPES.values(), StreamMessage):
        renames: dict[str, Any] = {field.name: override(rename=camel(field.name)) for field in attrs.fields(cls)}
        if cls is ToolCall:  # JSON values pass as they are; their outer shape is checked
            renames["tool_arguments"] = override(
                rename="toolArguments", unstruct_hook=lambda value: value, struct_hook=_exactly(dict)
            )
            renames["tool_output"] = override(
                rename="toolOutput", unstruct_hook=lambda value: value, struct_hook=_container_or_text
            )
        converter.register_unstructure_hook(
            cls, make_dict_unstructure_fn(cls, converter, _cattrs_omit_if_default=True, **renames)
        )
        converter.register_structure_hook(cls, make_dict_structure_fn(cls, converter, **renames))
    return converter


def _container_or_text(value: Any, _wanted: Any) -> Any:
    if type(value) not in (dict, list, str):
        raise TypeError(f"expected an object, an array or a string, got {type(value).__name__}")
    return value


_converter = _make_converter()
_UNSTRUCTURE: Mapping[type, _Unstructure] = {
    cls: cast("_Unstructure", _converter.get_unstructure_hook(cls)) for cls in (*OUTPUT_TYPES.values(), StreamMessage)
}
