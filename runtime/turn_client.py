"""A turn read from a service over HTTP: until its terminal, over as many connections as it takes.

What arrives is always the whole state of one item, so a reader that comes back where it was has lost nothing. A
service that refuses (no such turn, a wrong token) refuses for good; everything else is tried again, ever later.
Needs httpx: the extra `turnwire[providers]`.
"""

from collections.abc import AsyncGenerator
from urllib.parse import quote, urlsplit

import trio

try:
    import httpx
except ModuleNotFoundError as exc:
    raise ModuleNotFoundError(
        "reading from a service needs httpx: pip install 'turnwire[providers]'", name=exc.name
    ) from exc

from turnwire.actors.core.retry import RetryPolicy
from turnwire.messages.entries import START, EntryId
from turnwire.messages.json_shapes import is_object, object_at, text_at
from turnwire.messages.json_text import parse_json_or_none
from turnwire.messages.output_codec import decode_output
from turnwire.messages.outputs import TurnComplete, TurnError
from turnwire.messages.sse import ServerSentEvent, SseParser
from turnwire.runtime.turn_reads import RETRY, ReadOutput, RefusedError, Trouble

__all__ = ["ReadOutput", "ReadingPlace", "RefusedError", "Trouble", "read_turn"]

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 45.0  # a service says something every 15 s: one that has not for so long is not there any more
END_SECONDS = 1.0  # to read what follows the terminal, which is nothing
MAX_ERROR_BYTES = 64 * 1024
REWOUND = "rewound"  # the name of the event that says: forget what you have read of this turn
_PASSING = (408, 425, 429)  # like 5xx: it may well be better later


class ReadingPlace:
    """How far a turn was read: what a piece of its stream means, given all before it. No I/O."""

    def __init__(self, after: EntryId = START) -> None:
        self.cursor = after
        self.is_over = False
        self._rewound = False

    def take(self, event: ServerSentEvent) -> ReadOutput | None:
        """Take one event; gives what it says. What this version knows nothing of is passed over."""
        if event.name == REWOUND:
            self._rewound, self.cursor = True, START
            return None
        try:
            entry_id, output = EntryId.parse(event.last_id), decode_output(event.data)
        except ValueError:
            return None
        if entry_id == self.cursor:
            return None  # told before
        rewound = self._rewound or entry_id < self.cursor
        self._rewound, self.cursor = False, entry_id
        self.is_over = isinstance(output, TurnComplete | TurnError)
        return ReadOutput(id=event.last_id, output=output, rewound=rewound)


async def read_turn(
    url: str,
    turn_id: str,
    *,
    token: str | None = None,
    after: EntryId = START,
    retry: RetryPolicy = RETRY,
    on_trouble: Trouble | None = None,
) -> AsyncGenerator[ReadOutput, None]:
    """Give the outputs of a turn, those that are there and those to come, until its terminal.

    Raises RefusedError, and ValueError for a URL that is none. Close it (`aclosing`) when leaving early.
    """
    _check_url(url)
    place, failures = ReadingPlace(after), 0
    timeout = httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
    async with httpx.AsyncClient(timeout=timeout, trust_env=False) as client:
        while not place.is_over:
            pieces = _connect(client, url, turn_id, token, place)
            problem = "the stream ended before the turn did"
            try:
                async for read in pieces:
                    failures = 0
                    yield read
            except (httpx.HTTPError, _PassingError) as exc:
                problem = str(exc) or type(exc).__name__
            finally:
                await pieces.aclose()
            if place.is_over:
                return
            wait = retry.delay_after(failures)
            if wait is None:
                raise RefusedError(f"turn {turn_id!r}: {problem}", status=0)
            failures += 1
            if on_trouble is not None:
                on_trouble(problem, wait)
            await trio.sleep(wait)


def _check_url(url: str) -> None:
    """Trying again would not help it."""
    try:
        place = urlsplit(url)
        is_one = place.scheme in ("http", "https") and bool(place.hostname) and (place.port or 1) > 0
    except ValueError:  # a port out of range, half an IPv6 address
        is_one = False
    if not is_one:
        raise ValueError(f"expected the address of a service, such as http://127.0.0.1:8080; got {url!r}")


class _PassingError(Exception):
    pass


async def _connect(
    client: httpx.AsyncClient, url: str, turn_id: str, token: str | None, place: ReadingPlace
) -> AsyncGenerator[ReadOutput, None]:
    address = f"{url.rstrip('/')}/xapi/turns/{quote(turn_id, safe='')}/stream"
    headers = {"Accept": "text/event-stream"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    params = {} if place.cursor == START else {"from": str(place.cursor)}
    async with client.stream("GET", address, params=params, headers=headers) as response:
        if response.status_code == 204:  # resumed behind its end: there is nothing more
            place.is_over = True
            return
        if response.status_code != 200:
            await _refuse(response, turn_id)
        parser, pieces = SseParser(), response.aiter_bytes()
        async for piece in pieces:
            for event in parser.feed(piece):
                if not place.is_over and (read := place.take(event)) is not None:
                    yield read
            if place.is_over:  # the rest is the body's end; httpcore leaves a generator behind unless it is read
                with trio.move_on_after(END_SECONDS):
                    async for _ in pieces:
                        pass
                return


async def _refuse(response: httpx.Response, turn_id: str) -> None:
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MAX_ERROR_BYTES:
            break
    said = parse_json_or_none(body.decode("utf-8", "replace"))
    told = text_at(object_at(said, "error"), "message") if is_object(said) else None
    problem = told or f"the service answered {response.status_code}"
    if response.status_code >= 500 or response.status_code in _PASSING:
        raise _PassingError(problem)
    if repr(turn_id) not in problem:
        problem = f"turn {turn_id!r}: {problem}"
    raise RefusedError(problem, status=response.status_code)
