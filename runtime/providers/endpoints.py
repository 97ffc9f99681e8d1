"""Where a provider is and how a request to it looks: addresses, headers, keys. No I/O.

A key comes from the caller's settings or from the environment, goes into one header, and is in no repr.
"""

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from turnwire.messages.providers import Adapter, AnthropicMessages, OpenAIChat, OpenAIResponses

ANTHROPIC_VERSION = "2023-06-01"  # the only value there is; newer features are asked for by anthropic-beta headers

RequestBody: TypeAlias = Mapping[str, Any]


@attrs.frozen(kw_only=True)
class Endpoint:
    """One provider's streaming endpoint."""

    adapter: type[Adapter]
    """What understands its answers."""
    url: str
    headers: Mapping[str, str] = attrs.field(factory=dict[str, str])
    """Headers that hold no secret."""
    secret_headers: Mapping[str, str] = attrs.field(factory=dict[str, str], repr=False)
    body_defaults: RequestBody = attrs.field(factory=dict[str, Any])
    """What each request must say to be streamed."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys, for whoever must keep them out of what it repeats."""
        return tuple(value.removeprefix("Bearer ") for value in self.secret_headers.values())

    def request_headers(self) -> dict[str, str]:
        """Give all headers of a request. Holds the key."""
        return {"accept": "text/event-stream", **self.headers, **self.secret_headers}

    def request_body(self, request: RequestBody) -> dict[str, Any]:
        """Give a request's body, with streaming asked for."""
        return {**self.body_defaults, **request, "stream": True}


def openai_responses(*, api_key: str | None = None, base_url: str = "https://api.openai.com/v1") -> Endpoint:
    """Give the Responses endpoint of OpenAI or of a host like it. Without a key: OPENAI_API_KEY."""
    return Endpoint(
        adapter=OpenAIResponses,
        url=f"{base_url.rstrip('/')}/responses",
        secret_headers=_bearer(api_key, "OPENAI_API_KEY"),
    )


def openai_chat(*, api_key: str | None = None, base_url: str = "https://api.openai.com/v1") -> Endpoint:
    """Give the Chat Completions endpoint of OpenAI or of a compatible host. Without a key: OPENAI_API_KEY."""
    return Endpoint(
        adapter=OpenAIChat,
        url=f"{base_url.rstrip('/')}/chat/completions",
        secret_headers=_bearer(api_key, "OPENAI_API_KEY"),
        body_defaults={"stream_options": {"include_usage": True}},
    )


def anthropic_messages(*, api_key: str | None = None, base_url: str = "https://api.anthropic.com") -> Endpoint:
    """Give the Messages endpoint of Anthropic. Without a key: ANTHROPIC_API_KEY."""
    return Endpoint(
        adapter=AnthropicMessages,
        url=f"{base_url.rstrip('/')}/v1/messages",
        headers={"anthropic-version": ANTHROPIC_VERSION},
        secret_headers={"x-api-key": _key(api_key, "ANTHROPIC_API_KEY")},
    )


def _bearer(api_key: str | None, variable: str) -> dict[str, str]:
    return {"authorization": f"Bearer {_key(api_key, variable)}"}


def _key(api_key: str | None, variable: str) -> str:
    key = (os.environ.get(variable, "") if api_key is None else api_key).strip()
    if not key:
        raise ValueError(f"no API key: pass api_key (in settings: model.api_key) or set {variable} in the environment")
    if not key.isascii() or not key.isprintable():  # HTTP libraries quote a bad header in full when they refuse it
        raise ValueError("the API key has characters that no header may have")
    return key
