"""Puts back what the server acknowledged and then lost. Runs in a worker thread, first thing after each reconnect.

A killed server loses the end of what it had been told. So of each log that was written lately only the last entry need
be looked for: if it is there, all is well. If not, the entries that are missing are appended again: outputs under the
same ids, the fence of their epoch first, since with it the claim on the turn was lost too; raw events under new ids,
because other producers may have written meanwhile (whoever folds them drops what comes twice).
"""

from turnwire.actors.core.kept_tail import Kept, KeptTail
from turnwire.messages.entries import EntryId
from turnwire.messages.errors import LogUnavailableError
from turnwire.runtime.logs.redis.book import Book
from turnwire.runtime.logs.redis.lane import Lane, Reply
from turnwire.runtime.logs.redis.wire import (
    add,
    fence_fields,
    fence_of,
    is_stale_id,
    is_wrong_type,
    look_up,
    parse_entries,
    parse_id,
    refusal,
)
from turnwire.runtime.observe import get_logger

log = get_logger("turnwire.log")

AT_ONCE = 500  # commands in one pipeline: ten thousand turns are looked through in twenty round trips


def heal(lane: Lane, book: Book, *, now: float) -> None:
    """Look through all logs that were written lately, and mend them.

    Raises LogUnavailableError when the server refuses to write: then nothing is given up, and all of it is to be done
    again.
    """
    # Time in which the server was away does not count: what it was told last is as unsafe after an hour as at once.
    # Only what has had the time to expire since is not put back.
    book.trim(now=max(book.heard_at, now - book.options.expire_after + book.options.keep_seconds))
    book.forget_owners()
    for key, tail in _missing(lane, book.outputs):
        _heal_outputs(lane, book, key, tail)
    for key, tail in _missing(lane, book.raw):
        _heal_raw(lane, book, key, tail)
    for kept in (book.outputs, book.raw):
        _report_gone(lane, book, dict(kept.gone()))
    # The expiry of a log may have been lost with or without its terminal. Setting it again does no harm.
    book.to_expire.update(book.ended())


def _missing(lane: Lane, kept: KeptTail) -> list[tuple[str, tuple[Kept, ...]]]:
    """Give the logs whose last acknowledged entry is not there."""
    tails = dict(kept.tails())
    missing = _absent(lane, {key: tail[-1].id for key, tail in tails.items()})
    return [(key, tails[key]) for key in missing]


def _absent(lane: Lane, places: dict[str, EntryId]) -> list[str]:
    """Say in which logs an entry is not there that ought to be."""
    found: list[Reply] = []
    commands = [look_up(key, entry_id) for key, entry_id in places.items()]
    for start in range(0, len(commands), AT_ONCE):
        found.extend(lane.ask(commands[start : start + AT_ONCE]))
    return [key for key, reply in zip(places, found, strict=True) if not _looked_at(reply)]


def _looked_at(reply: Reply) -> Reply:
    """Give what was found. A key that holds something else by now is beyond us; any other refusal may pass."""
    if (error := refusal(reply)) is not None and not is_wrong_type(reply):
        raise LogUnavailableError(f"Redis does not let us look for what it has lost: {error}")
    return reply


def _is_put_back(reply: Reply) -> bool:
    """Was an entry taken? Not if it is there, or another owner is. A server that takes nothing at all may yet do so."""
    if (error := refusal(reply)) is not None and not is_stale_id(reply):
        raise LogUnavailableError(f"Redis does not take back what it has lost: {error}")
    return error is None


def _report_gone(lane: Lane, book: Book, gone: dict[str, EntryId]) -> None:
    """Say of which logs something is lost that we no longer have either."""
    for key in _absent(lane, gone):
        book.counts.lost += 1
        log.error("entries lost for good", key=key, up_to=str(gone[key]))


def _heal_outputs(lane: Lane, book: Book, key: str, tail: tuple[Kept, ...]) -> None:
    epoch = tail[-1].id.major
    older = [add(key, kept.id, kept.fields) for kept in tail if kept.id.major < epoch]
    before = book.outputs.dropped(key)
    fence = EntryId(epoch, 0)
    replies = lane.ask(
        [
            look_up(key, before or fence),
            *older,
            add(key, fence, fence_fields(book.new_token())),
            look_up(key, fence),
        ]
    )
    if before is not None and not replies[0]:
        book.counts.lost += 1
        log.error("entries lost for good", key=key, up_to=str(before))
    healed = sum(map(_is_put_back, replies[1 : 1 + len(older)]))
    _is_put_back(replies[-2])
    if not book.is_ours(fence_of(replies[-1])):
        log.info("another owner has claimed the turn; nothing is put back", key=key)
        book.counts.healed += healed
        return
    entries = [add(key, kept.id, kept.fields) for kept in tail if kept.id.major == epoch and kept.id.minor > 0]
    healed += sum(map(_is_put_back, lane.ask(entries)))
    book.counts.healed += healed
    if healed:
        log.warning("healed", key=key, entries=healed)


def _heal_raw(lane: Lane, book: Book, key: str, tail: tuple[Kept, ...]) -> None:
    before = book.raw.dropped(key)
    (found, present) = lane.ask(
        [look_up(key, before or tail[0].id), ("XRANGE", key, str(tail[0].id), str(tail[-1].id))]
    )
    if before is not None and not found:
        book.counts.lost += 1
        log.error("raw events lost for good", key=key, up_to=str(before))
    there = {entry_id for entry_id, _ in parse_entries(present)}
    lost = [kept for kept in tail if kept.id not in there]
    for kept, reply in zip(lost, lane.ask([add(key, None, kept.fields) for kept in lost]), strict=True):
        if _is_put_back(reply):
            kept.id = parse_id(reply)  # the server gave it a new place
            book.counts.healed += 1
    log.warning("healed", key=key, raw_events=len(lost))
