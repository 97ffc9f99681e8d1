"""Puts back what the server acknowledged and then lost. Runs in a worker thread, first thing after each reconnect.

A killed server loses the end of what it had been told. So of each log that was written lately only the last entry need
be looked for: if it is there, all is well. If not, the entries that are missing are appended again: outputs under the
same ids, the fence of their epoch first, since with it the claim on the turn was lost too; raw events under new ids,
because other producers may have written meanwhile (whoever folds them drops what comes twice).

A turn that had an owner before us may have lost what that one wrote, and we relied upon when we told only the rest. Put
back, our entries would bar the way for the other's. So nothing of it is put back, and we give the turn up: its next
owner, who may be us, finds out anew what readers are owed.
"""

from collections.abc import Sequence

from redis.exceptions import ResponseError

from turnwire.actors.core.kept_tail import Kept, KeptTail
from turnwire.messages.entries import START, EntryId
from turnwire.messages.errors import LogUnavailableError
from turnwire.runtime.logs.redis.book import Book
from turnwire.runtime.logs.redis.lane import Command, Lane, Reply, together
from turnwire.runtime.logs.redis.wire import (
    add_fence,
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
    missing = _absent(lane, {key: tail[-1].last for key, tail in tails.items()})
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
    if _has_lost_its_base(lane, book, key):
        log.warning("what a former owner wrote is lost; the turn is left to its next owner", key=key, epoch=epoch)
        book.disown(key, epoch)
        return
    older = [command for kept in tail if kept.id.major < epoch for command in kept.commands]
    _report_hole(lane, book, key, book.outputs.dropped(key))
    healed = _put_back(lane, [*older, add_fence(key, epoch, book.new_token())], but=1)
    if book.is_ours(fence_of(lane.ask([look_up(key, EntryId(epoch, 0))])[0])):
        newer = (kept for kept in tail if kept.id.major == epoch and kept.id.minor > 0)
        healed += _put_back(lane, [command for kept in newer for command in kept.commands])
        if healed:
            log.warning("healed", key=key, entries=healed)
    else:
        log.info("another owner has claimed the turn; nothing is put back", key=key)
    book.counts.healed += healed


def _put_back(lane: Lane, commands: Sequence[Command], *, but: int = 0) -> int:
    """Append entries again, in order, and say how many were not there; the last `but` do not count.

    Some at a time, and of those all or none: an entry that the server refuses while it takes the next one could never
    be put back any more.
    """
    healed = 0
    for start in range(0, len(commands), AT_ONCE):
        some = commands[start : start + AT_ONCE]
        lane.send(together(some))
        replies = lane.receive_together(len(some))
        if isinstance(replies, ResponseError):
            raise LogUnavailableError(f"Redis does not take back what it has lost: {replies}")
        healed += sum(map(_is_put_back, replies[: len(commands) - but - start]))
    return healed


def _report_hole(lane: Lane, book: Book, key: str, before: EntryId | None) -> None:
    """Say if also the entry is lost that comes before those which can be put back."""
    if before is not None and not lane.ask([look_up(key, before)])[0]:
        book.counts.lost += 1
        log.error("entries lost for good", key=key, up_to=str(before))


def _has_lost_its_base(lane: Lane, book: Book, key: str) -> bool:
    """Is the last thing gone that was in the log when we claimed it, and that another had written?"""
    base = book.base(key)
    return base > START and not _looked_at(lane.ask([look_up(key, base)])[0])


def _heal_raw(lane: Lane, book: Book, key: str, tail: tuple[Kept, ...]) -> None:
    _report_hole(lane, book, key, book.raw.dropped(key))
    (present,) = lane.ask([("XRANGE", key, str(tail[0].id), str(tail[-1].id))])
    there = {entry_id for entry_id, _ in parse_entries(present)}
    lost = [kept for kept in tail if kept.id not in there]
    for kept, reply in zip(lost, lane.ask([kept.commands[0] for kept in lost]), strict=True):
        if _is_put_back(reply):
            kept.id = parse_id(reply)  # the server gave it a new place
            book.counts.healed += 1
    log.warning("healed", key=key, raw_events=len(lost))
