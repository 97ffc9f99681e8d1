"""Reading a log from its beginning, page by page: no long turn is in memory as a whole, or keeps others waiting."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from structlog.stdlib import BoundLogger

from turnwire.messages.entries import START, Entry, EntryId, RawEntry
from turnwire.messages.output_codec import decode_output
from turnwire.messages.outputs import Output

PAGE = 512  # entries read at once, and so the longest that a replay keeps others waiting

_E = TypeVar("_E", Entry, RawEntry)
_E_co = TypeVar("_E_co", Entry, RawEntry, covariant=True)


class ReadPage(Protocol[_E_co]):
    """Gives the entries after an id, the first `limit` of them."""

    def __call__(self, *, after: EntryId, limit: int) -> Awaitable[Sequence[_E_co]]: ...  # noqa: D102  # as it says


async def read_through(read: ReadPage[_E], take: Callable[[_E], object]) -> _E | None:
    """Have `take` look at every entry that is there, in order; give the last one, None if there is none."""
    last: _E | None = None
    while True:
        page = await read(after=START if last is None else last.id, limit=PAGE)
        for entry in page:
            take(entry)
            last = entry
        if len(page) < PAGE:
            return last


def output_of(entry: Entry, log: BoundLogger) -> Output | None:
    """Give what an entry says. One that somebody else wrote is told to the log, and is None: its turn goes on."""
    try:
        return decode_output(entry.message.payload)
    except ValueError as exc:
        log.error("entry of log B is no output", turn=entry.message.turn_id, entry=str(entry.id), error=str(exc))  # noqa: TRY400  # the entry, not our code
        return None
