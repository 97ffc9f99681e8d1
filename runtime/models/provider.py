"""A provider as a model: each call becomes one HTTP request, its answer goes through the provider's adapter.

A request that fails before its first byte is sent again (`ConnectRetry`); after it never. Needs the extra
`turnwire[providers]`.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Final

from turnwire.actors.engine_ports import ModelCall
from turnwire.messages.errors import UnsendableError
from turnwire.messages.events import Json
from turnwire.messages.json_text import dump_json, refuse_nan
from turnwire.messages.model_messages import Unsendable
from turnwire.runtime.models.requests import known_formats, request_body
from turnwire.runtime.models.stream import AdaptedStream
from turnwire.runtime.providers.endpoints import Endpoint
from turnwire.runtime.providers.http import ConnectRetry, ProviderHttpError, stream_body, without_secrets

if TYPE_CHECKING:
    import httpx  # for its name alone: the shell says what to install where it is missing

__all__ = ["ProviderModel"]

UNSENDABLE: Final = "UNSENDABLE"
"""The code of a conversation that holds something for which the provider has no place."""


class ProviderModel:
    """OpenAI Responses, OpenAI Chat Completions and hosts like it, or Anthropic Messages, as the engine asks them."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        model_id: str,
        client: "httpx.AsyncClient",
        settings: Mapping[str, Json] | None = None,
        retry: ConnectRetry | None = None,
        provider_id: str | None = None,
        unsendable: Unsendable = "refuse",
        show_server_tools: bool = False,
    ) -> None:
        """`client` is the caller's, from `open_client`; `settings` are more fields of each request."""
        self.model_id = model_id
        self.data_format = endpoint.adapter.FORMAT
        self.provider_id = self.data_format if provider_id is None else provider_id
        if self.data_format not in known_formats():
            raise ValueError(f"no requests are known for {self.data_format}: expected {', '.join(known_formats())}")
        self._endpoint = endpoint
        self._client = client
        self._settings = dict(settings or {})
        refuse_nan(self._settings)
        dump_json(self._settings)  # what is no JSON is refused here, not in the middle of a run
        self._retry = retry
        self._unsendable: Unsendable = unsendable
        self._show_server_tools = show_server_tools

    def open(self, call: ModelCall, /) -> AdaptedStream:
        """Begin one request. It is made and sent when the answer is first asked for."""
        adapter = self._endpoint.adapter(
            run_id=call.run_id,
            turn_id=call.turn_id,
            thread_id=call.thread_id,
            model_id=self.model_id,
            provider_id=self.provider_id,
            prompt=call.prompt,
            after=call.after,
            show_server_tools=self._show_server_tools,
        )
        return AdaptedStream(
            adapter, partial(self._send, call), clean=partial(without_secrets, endpoint=self._endpoint)
        )

    async def _send(self, call: ModelCall) -> AsyncGenerator[bytes, None]:
        try:
            body = request_body(self.data_format, self.model_id, call, self._settings, self._unsendable)
        except UnsendableError as exc:
            raise ProviderHttpError(str(exc), body={"code": UNSENDABLE, "message": str(exc)}) from exc
        async with aclosing(stream_body(self._client, self._endpoint, body, retry=self._retry)) as pieces:
            async for piece in pieces:
                yield piece
