"""A conversation ⇄ a provider's request, by the name of its format: the same names as the adapters have."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from turnwire.messages.model_messages.answers import Pending
from turnwire.messages.model_messages.from_anthropic import read_anthropic_request
from turnwire.messages.model_messages.from_chat import read_chat_request
from turnwire.messages.model_messages.from_responses import read_responses_request
from turnwire.messages.model_messages.media import Unsendable
from turnwire.messages.model_messages.model import ModelMessage
from turnwire.messages.model_messages.segments import to_model_messages, to_ui_messages
from turnwire.messages.model_messages.to_anthropic import anthropic_request
from turnwire.messages.model_messages.to_chat import chat_request
from turnwire.messages.model_messages.to_responses import responses_request
from turnwire.messages.ui import UIMessage

_WRITERS: Final[Mapping[str, Callable[..., dict[str, Any]]]] = {
    "openai-chat": chat_request,
    "openai-responses": responses_request,
    "anthropic-messages": anthropic_request,
}
_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], list[ModelMessage]]]] = {
    "openai-chat": read_chat_request,
    "openai-responses": read_responses_request,
    "anthropic-messages": read_anthropic_request,
}


def make_request(
    data_format: str,
    messages: Iterable[UIMessage],
    *,
    pending: Pending = "answer",
    unsendable: Unsendable = "refuse",
) -> dict[str, Any]:
    """Give a conversation as the part of a request that holds it: `messages`, `input`, or `system` and `messages`.

    Raises UnsendableError if the provider has no place for something in it.

    >>> from turnwire.messages.ui import TextPart, UIMessage
    >>> make_request("openai-chat", [UIMessage(id="m", role="user", parts=(TextPart(content="Hello"),))])
    {'messages': [{'role': 'user', 'content': 'Hello'}]}
    """
    write = _WRITERS[_known(data_format)]
    return write(to_model_messages(messages), pending=pending, unsendable=unsendable)


def read_request(
    data_format: str, request: Mapping[str, Any], *, new_id: Callable[[], str] | None = None
) -> tuple[UIMessage, ...]:
    """Read the conversation that stands in a stored request. `new_id` names its messages (see `to_ui_messages`).

    Raises UnreadableRequestError that says where it is none of this format.
    """
    return to_ui_messages(_READERS[_known(data_format)](request), new_id=new_id)


def _known(data_format: str) -> str:
    if data_format not in _WRITERS:
        raise ValueError(f"unknown format {data_format!r}: expected one of {', '.join(_WRITERS)}")
    return data_format
