"""A provider's stream over HTTP, on httpx: one request, tried again only as long as nothing has come of it.

A connection that fails before its first byte may be made again; the provider has done nothing visible yet. After
the first byte it may not: a second try would be a second answer. Needs the extra `turnwire[providers]`.

No timeouts beyond the connection's own: a model may think for minutes, and callers have cancel scopes.
"""

import logging
import math
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import attrs
import trio

try:
    import httpx
except ModuleNotFoundError as exc:
    raise ModuleNotFoundError(
        "turnwire's HTTP shells need httpx: pip install 'turnwire[providers]'", name=exc.name
    ) from exc

from turnwire.messages.errors import TurnwireError
from turnwire.messages.event_codec import decode_event, encode_event
from turnwire.messages.events import ItemError, ResponseError, StreamEvent
from turnwire.messages.json_shapes import JsonObject, is_object
from turnwire.messages.json_text import parse_json
from turnwire.messages.providers import Adapter
from turnwire.messages.providers.endings import CONNECTION_FAILED, is_retryable
from turnwire.runtime.providers.endpoints import Endpoint, RequestBody
from turnwire.runtime.providers.streams import adapt_stream

__all__ = ["ConnectRetry", "ProviderHttpError", "open_client", "stream_response"]

CONNECT_SECONDS = 10.0
"""How long a TCP and TLS handshake may take. Longer is a dead address."""
MAX_ERROR_BYTES = 64 * 1024
"""How much of a refusal's body is read: an error object is small, an HTML page of a proxy is not worth more."""

_log = logging.getLogger("turnwire.provider")


@attrs.frozen(kw_only=True)
class ConnectRetry:
    """How often, and after which waits, a connection is tried again before its first byte."""

    attempts: int = 3
    base: float = 0.5
    longest: float = 8.0

    def wait_before(self, attempt: int, asked: float | None = None) -> float:
        """Give the seconds to wait before try number `attempt`, from 2; a server may ask for its own."""
        wait = self.base * 2 ** (attempt - 2) if asked is None else asked
        return min(max(wait, 0.0), self.longest)


class ProviderHttpError(TurnwireError):
    """The provider refused the request, or could not be reached. For whoever sent it; holds no key."""

    def __init__(self, problem: str, *, body: JsonObject | None, status: int | None = None):
        self.status = status
        self.body = body
        """The provider's error object, or one that says the same; None for an answer that broke off."""
        super().__init__(problem)


@asynccontextmanager
async def open_client() -> AsyncGenerator[httpx.AsyncClient, None]:
    """Open an HTTP client with the patience that model streams need.

    It follows no redirects: they would take the key along.
    """
    async with httpx.AsyncClient(timeout=httpx.Timeout(None, connect=CONNECT_SECONDS)) as client:
        yield client


async def stream_response(
    client: httpx.AsyncClient,
    endpoint: Endpoint,
    adapter: Adapter,
    request: RequestBody,
    *,
    retry: ConnectRetry | None = None,
) -> AsyncGenerator[StreamEvent, None]:
    """Send one request and give its StreamEvents, the terminal last. Close it early with `aclosing`."""
    body = stream_body(client, endpoint, request, retry=retry)
    async with aclosing(adapt_stream(adapter, body)) as events:
        async for event in events:
            yield without_secrets(event, endpoint)


def without_secrets(event: StreamEvent, endpoint: Endpoint) -> StreamEvent:
    """Give an error without the key: some hosts repeat the one they did not like, also in a stream."""
    if not isinstance(event.payload, ItemError | ResponseError):
        return event
    text = encode_event(event).decode()
    for secret in endpoint.secrets:
        text = text.replace(secret, "***")
    return decode_event(text)


async def stream_body(
    client: httpx.AsyncClient, endpoint: Endpoint, request: RequestBody, *, retry: ConnectRetry | None = None
) -> AsyncGenerator[bytes, None]:
    """Send one request and give the bytes of its answer. Raises ProviderHttpError if there is none."""
    retry = retry or ConnectRetry()
    attempt = 1
    while True:
        refusal: _Refusal | None = None
        begun = False
        try:
            async with client.stream(
                "POST", endpoint.url, headers=endpoint.request_headers(), json=endpoint.request_body(request)
            ) as response:
                if response.is_success:
                    async for piece in response.aiter_bytes():
                        begun = begun or bool(piece)
                        yield piece
                    return
                refusal = await _read_refusal(response, endpoint)
        except httpx.TransportError as exc:
            # `from None`: the foreign error holds the request, and the request its key.
            if begun:
                raise ProviderHttpError(f"the connection broke: {type(exc).__name__}", body=None) from None
            refusal = _unreachable(f"no connection: {type(exc).__name__}")
        if not refusal.retryable or attempt >= retry.attempts:
            raise refusal.error
        attempt += 1
        _log.info("%s: try %d of %d", refusal.error, attempt, retry.attempts)
        await trio.sleep(retry.wait_before(attempt, refusal.asked))


@attrs.frozen(kw_only=True)
class _Refusal:
    error: ProviderHttpError
    retryable: bool
    asked: float | None = None


def _unreachable(problem: str) -> _Refusal:
    error = ProviderHttpError(problem, body={"code": CONNECTION_FAILED, "message": problem})
    return _Refusal(error=error, retryable=True)


async def _read_refusal(response: httpx.Response, endpoint: Endpoint) -> _Refusal:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MAX_ERROR_BYTES:
            break
    text = bytes(body[:MAX_ERROR_BYTES]).decode("utf-8", "replace")
    for secret in endpoint.secrets:  # some hosts repeat the key they did not like
        text = text.replace(secret, "***")
    status = response.status_code
    error = ProviderHttpError(f"the provider answered {status}", status=status, body=_error_object(text, status))
    return _Refusal(error=error, retryable=is_retryable(str(status)), asked=_retry_after(response))


def _error_object(text: str, status: int) -> JsonObject:
    try:
        document: Any = parse_json(text)
    except ValueError:
        document = None
    error = document.get("error", document) if is_object(document) else None
    if is_object(error):
        return error if error.get("code") or error.get("type") else {**error, "code": status}
    return {"code": status, "message": f"the provider answered {status}", "body": text[:1000]}


def _retry_after(response: httpx.Response) -> float | None:
    asked = response.headers.get("retry-after", "")
    try:
        seconds = float(asked)
    except ValueError:
        return None  # absent, or a date: our own waits are as good
    return None if math.isnan(seconds) else seconds
