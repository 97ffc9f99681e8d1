"""Whether a request is one: checked by the types that the official SDKs give its messages."""

from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from anthropic.types import MessageParam, TextBlockParam
from anthropic.types.beta import BetaMessageParam
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter, ValidationError

_TYPES: dict[str, tuple[Any, ...]] = {
    "anthropic-messages": (MessageParam, BetaMessageParam),  # the blocks of some server tools are still beta there
    "openai-responses": (ResponseInputItemParam,),
    "openai-chat": (ChatCompletionMessageParam,),
}


def check_request(provider: str, request: dict[str, Any]) -> None:
    """Fail, naming the message, if the SDK of this provider would not take it."""
    messages: list[object] = request["input"] if provider == "openai-responses" else request["messages"]
    entries = [(message, _TYPES[provider]) for message in messages]
    entries += [(block, (TextBlockParam,)) for block in request.get("system", [])]
    for entry, kinds in entries:
        problems = [problem for kind in kinds if (problem := _problem(kind, entry))]
        assert len(problems) < len(kinds), f"{provider} takes no {entry}\n{problems[0]}"


def _problem(kind: Any, message: object) -> str:
    try:
        for _ in _leaves(_adapter(kind).validate_python(message)):
            pass
    except ValidationError as error:
        return str(error)
    return ""


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _leaves(value: Any) -> Iterator[object]:
    """Walk a validated value to its end: pydantic looks into an `Iterable` only when it is read."""
    inside: Any = ()
    if isinstance(value, dict):
        inside = cast("dict[str, Any]", value).values()
    elif isinstance(value, list | tuple) or hasattr(value, "__next__"):
        inside = cast("Any", value)
    else:
        yield value
    for inner in inside:
        yield from _leaves(inner)
