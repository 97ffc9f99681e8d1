"""The turns that were announced from here, to be announced again if the server forgets them. Runs in worker threads.

An announcement is a queue entry; a server that was killed may have lost it, although it had said yes. So whoever
announces keeps its turns for a while and looks for them after every reconnect. A turn that has ended is not missed: it
was a worker that took its entry out. What must be there before a worker takes the turn (the input of an engine's run)
is written with the announcement, each time; what was written earlier is lost only together with it.
"""

import time
from collections.abc import Callable

import attrs
from redis.exceptions import ResponseError

from turnwire.messages.entries import START, EntryId
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.peek import peek_output
from turnwire.runtime.logs.keys import Keys
from turnwire.runtime.logs.redis.lane import Command, Lane, Reply, pack, together
from turnwire.runtime.logs.redis.options import RedisLogOptions
from turnwire.runtime.logs.redis.wire import look_up, parse_entries, parse_id, refusal, to_entry
from turnwire.runtime.observe import get_logger
from turnwire.runtime.queue.announcement import Announcement, announce

log = get_logger("turnwire.producer")


@attrs.define(eq=False)
class Announced:
    """A turn that was announced from here."""

    turn: Announcement
    before: bytes = b""
    """A command, as it goes over the wire, that stands before its announcement."""
    entry_id: EntryId | None = None
    """Its queue entry; None until it has one."""
    done_at: float | None = None
    """Since when it need not be looked after, but for what the server may still lose of it."""


class AnnouncedTurns:
    """Announces turns over a lane that is open, and knows which."""

    def __init__(self, options: RedisLogOptions) -> None:
        self._options = options
        self._keys = Keys(options.prefix)
        self._turns: dict[str, Announced] = {}  # oldest first
        self._bytes = 0  # of what stands before announcements

    def __len__(self) -> int:
        """How many are looked after."""
        return len(self._turns)

    def get(self, run_id: str) -> Announced | None:
        """Give the turn of a run, if it was announced from here and is still looked after."""
        return self._turns.get(run_id)

    def add(self, turn: Announcement, *, before: Command | None = None) -> Announced:
        """Look after a turn from now on, and after what must be there `before` it is announced."""
        self._drop(turn.run_id)
        announced = self._turns[turn.run_id] = Announced(turn, b"" if before is None else pack(before))
        self._bytes += len(announced.before)
        for older in self._turns.values():
            if self._bytes <= self._options.keep_bytes or older is announced:
                break
            self._bytes -= len(older.before)
            older.before = b""
        return announced

    def discard(self, announced: Announced) -> None:
        """Look no more after a turn whose announcement did not get through."""
        if self._turns.get(announced.turn.run_id) is announced:
            self._drop(announced.turn.run_id)

    def announce(self, lane: Lane, announced: Announced) -> bool:
        """Announce a turn, unless it was: all of it, or nothing. Raises LogUnavailableError.

        False: what the caller watches on this lane has changed meanwhile, and nothing was done.
        """
        if announced.entry_id is not None:
            return True
        commands = announce(
            self._keys,
            announced.turn,
            now_ms=round(time.time() * 1000),
            expire_ms=round(self._options.expire_after * 1000),
        )
        *queued, done = lane.ask(together([announced.before, *commands] if announced.before else commands))
        if done is None:
            return False
        replies: list[Reply] = [*queued, done] if isinstance(done, ResponseError) else done
        if (error := next(filter(None, map(refusal, replies)), None)) is not None:
            raise LogUnavailableError(f"Redis refused an announcement: {error}")
        announced.entry_id = parse_id(replies[-1])
        return True

    def announce_again(
        self, lane: Lane, now: float, *, may_have: Callable[[Announcement], bool] = lambda _turn: True
    ) -> None:
        """Announce turns whose queue entry is gone, unless they have ended: then it was a worker who took it out.

        `may_have` says whether a turn can still have its ids, and may watch them on this lane until it is announced:
        a server that has forgotten them may have given them to another.
        """
        self.forget(now)
        turns = list(self._turns.values())
        commands: list[Command] = []
        for it in turns:  # a place before all entries for those that have none yet, and so are not found
            commands.append(look_up(self._keys.queue, it.entry_id or START))
            commands.append(("XREVRANGE", self._keys.processed(it.turn.turn_id), "+", "-", "COUNT", 1))
        replies = iter(lane.ask(commands))
        for it, found, newest in zip(turns, replies, replies, strict=True):
            if not found and not _is_ended(newest):
                it.entry_id = None
                while may_have(it.turn):
                    if self.announce(lane, it):
                        log.info("announced again", turn=it.turn.turn_id, run=it.turn.run_id)
                        break
                else:
                    self.discard(it)
                    log.error("lost, and its id was given to another", turn=it.turn.turn_id, run=it.turn.run_id)

    def forget(self, now: float) -> None:
        """Forget turns that were done with so long ago that the server must have them on its disk."""
        limit = now - self._options.keep_seconds
        for run_id in [it.turn.run_id for it in self._turns.values() if it.done_at and it.done_at < limit]:
            self._drop(run_id)

    def _drop(self, run_id: str) -> None:
        gone = self._turns.pop(run_id, None)
        if gone is not None:
            self._bytes -= len(gone.before)


def _is_ended(newest: Reply) -> bool:
    """Is the newest entry of a log B a turn's terminal?"""
    if refusal(newest) is not None:
        return False
    return any(
        (entry := to_entry(entry_id, fields)) is not None and peek_output(entry.message.payload).is_terminal
        for entry_id, fields in parse_entries(newest)
    )
