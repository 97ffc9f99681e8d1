"""For those who make events: announce a turn, publish its events, stop or close it. Plain calls, no event loop.

What Redis has acknowledged and then lost (a server that is killed may) is put back: the last seconds of what was
published are kept, and looked for after every reconnect. A thread looks after the connection once a second for as long
as something is kept, since a producer that has published everything may not call again. Announcements are made again
then; a worker that finds the turn ended, or at work, knows what to do.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeAlias

from turnwire.actors.core.retry import Patience
from turnwire.messages.delta_codec import try_decode_delta
from turnwire.messages.errors import ClosedError, LogUnavailableError
from turnwire.messages.event_codec import check_event, decode_event, encode_event
from turnwire.messages.events import StreamEvent
from turnwire.messages.peek import peek_event
from turnwire.runtime.logs.counts import LogCounts
from turnwire.runtime.logs.keys import Keys
from turnwire.runtime.logs.redis.book import Book
from turnwire.runtime.logs.redis.lane import Lane
from turnwire.runtime.logs.redis.options import RedisLogOptions
from turnwire.runtime.logs.redis.requests import AppendRaw
from turnwire.runtime.logs.redis.rounds import run_round
from turnwire.runtime.queue.announced import Announced, AnnouncedTurns
from turnwire.runtime.queue.announcement import Announcement, Kind
from turnwire.runtime.queue.words import close_event, stop_event

PATIENCE = 30.0
"""Seconds for which a call tries to reach Redis before it raises."""
LOOK_EVERY = 1.0  # seconds
DISK_PATIENCE_MS = 2000  # `everysec` writes at least every two seconds


Operation: TypeAlias = Callable[[], None]


class Producer:
    """Announces turns and publishes their events. May be used from several threads; calls wait for each other."""

    def __init__(self, url: str, *, options: RedisLogOptions | None = None, patience: float = PATIENCE) -> None:
        """Check the URL; the first call connects. Raises ValueError for a URL that is none."""
        self._options = options or RedisLogOptions()
        self._patience = patience
        self.counts = LogCounts()
        self._keys = Keys(self._options.prefix)
        self._book = Book(self._options, self.counts)
        self._lane = Lane(url, socket_timeout=self._options.socket_timeout, name="turnwire-producer")
        self._announced = AnnouncedTurns(self._options)
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._minder: threading.Thread | None = None

    def announce(self, run_id: str, turn_id: str, thread_id: str, *, kind: Kind = "events") -> None:
        """Tell the workers that there is a turn, before its first event. Twice is fine.

        Raises ValueError for an id that is empty, LogUnavailableError when Redis could not be reached in time.
        """
        turn = Announcement(run_id=run_id, turn_id=turn_id, thread_id=thread_id, kind=kind)
        with self._lock:
            self._check_open()
            known = self._announced.get(run_id)
            if known is not None and known.turn == turn and known.entry_id is not None:
                return
            announced = self._announced.add(turn)
            try:
                self._persist(lambda: self._announce(announced))
            except LogUnavailableError:
                self._announced.discard(announced)
                raise
            self._mind()

    def publish(self, run_id: str, events: StreamEvent | bytes | str | Sequence[StreamEvent | bytes | str]) -> None:
        """Write events to the run's log, in this order. Returns when Redis has them all.

        Raises InvalidEventError for what is no event, and nothing is written then; ValueError for a run that was not
        announced here; LogUnavailableError when Redis could not be reached in time: some may be written then, and
        publishing the same events again is right, since repeated event ids count once.
        """
        several = [events] if isinstance(events, StreamEvent | bytes | str) else events
        texts = tuple(map(_encoded, several))
        with self._lock:
            announced = self._announced.get(run_id)
            if announced is None:
                raise ValueError(f"run {run_id!r} was not announced by this producer; call announce first")
            self._append(run_id, texts)
            if announced.done_at is None and any(peek_event(text).is_terminal for text in texts):
                announced.done_at = time.monotonic()

    def stop(self, run_id: str | None = None, *, turn_id: str | None = None, reason: str = "stopped by user") -> None:
        """Stop a turn for good, whoever works on it, named by its run or by itself. Repeating it is fine.

        Raises ValueError for a turn that nobody has announced.
        """
        with self._lock:
            self._check_open()
            if run_id is None:
                run_id = self._look_up(self._keys.run_of(turn_id or ""), f"turn {turn_id!r}")
            elif turn_id is None:
                known = self._announced.get(run_id)
                turn_id = known.turn.turn_id if known else self._look_up(self._keys.turn_of(run_id), f"run {run_id!r}")
            self._end(run_id, encode_event(stop_event(run_id, turn_id or run_id, reason)))

    def close(self, run_id: str, reason: str = "the producer ended without an end of the turn") -> None:
        """Say that no more events will come: a turn without a terminal ends with TURN_CLOSED. Twice is fine."""
        with self._lock:
            announced = self._announced.get(run_id)
            if announced is None or announced.done_at is None:
                self._end(run_id, encode_event(close_event(run_id, reason)))

    def disconnect(self) -> None:
        """End: wait until what was published is on the server's disk, where it can tell; then let go. Twice is fine."""
        with self._lock:
            if self._closing.is_set():
                return
            if self._lane.is_open or len(self._announced):
                with suppress(LogUnavailableError):
                    self._look_after()
                    # A server without an append-only file, or too old to know the command, says so at once.
                    self._lane.ask([("WAITAOF", 1, 0, DISK_PATIENCE_MS)])
            self._closing.set()
            self._lane.close()
        if self._minder is not None:
            self._minder.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.disconnect()

    # Inside the lock

    def _end(self, run_id: str, event: bytes) -> None:
        self._append(run_id, (event,))
        if (announced := self._announced.get(run_id)) is not None:
            announced.done_at = announced.done_at or time.monotonic()

    def _append(self, run_id: str, texts: tuple[bytes, ...]) -> None:
        self._check_open()
        if not texts:
            return
        has_terminal = any(peek_event(text).is_terminal for text in texts)
        key = self._keys.raw(run_id)

        def append() -> None:
            now = time.monotonic()
            raw = AppendRaw(key=key, asked_at=now, events=texts, has_terminal=has_terminal)
            self._connect(now)
            run_round(self._lane, self._book, [raw], now=now)
            if raw.error is not None:
                raise raw.error

        self._persist(append)
        self._mind()

    def _persist(self, operation: Operation) -> None:
        patience = Patience(self._patience, now=time.monotonic())
        while True:
            try:
                operation()
            except LogUnavailableError as exc:
                delay = patience.delay(now=time.monotonic())
                if delay is None:
                    tries = f"{patience.failed} tries in {self._patience:g} s"
                    raise LogUnavailableError(f"gave up after {tries}; {exc}") from exc
                time.sleep(delay)
            else:
                return

    def _connect(self, now: float) -> None:
        """Connect if need be; then the first thing is to put back what the server has lost."""
        if not self._lane.is_open:
            run_round(self._lane, self._book, [], now=now)
            self._announced.announce_again(self._lane, now)

    def _announce(self, announced: Announced) -> None:
        self._connect(time.monotonic())
        self._announced.announce(self._lane, announced)

    def _look_up(self, key: str, what: str) -> str:
        found: list[bytes | None] = []

        def get() -> None:
            self._connect(time.monotonic())
            found.append(self._lane.ask_one(("GET", key)))

        self._persist(get)
        if found[-1] is None:
            raise ValueError(f"{what} was not announced, or ended long ago")
        return found[-1].decode()

    def _check_open(self) -> None:
        if self._closing.is_set():
            raise ClosedError("the producer is disconnected; nothing was written")

    # The thread that looks after the connection

    def _mind(self) -> None:
        if self._minder is None:
            self._minder = threading.Thread(target=self._run_minder, name="turnwire producer", daemon=True)
            self._minder.start()

    def _run_minder(self) -> None:
        while not self._closing.wait(LOOK_EVERY):
            with self._lock, suppress(LogUnavailableError):
                if not self._closing.is_set():
                    self._look_after()

    def _look_after(self) -> None:
        """See whether the connection is still the same one; a new one is first used to put back what was lost."""
        now = time.monotonic()
        self._announced.forget(now)
        self._book.raw.trim(now=now)
        if len(self._announced) or len(self._book.raw):
            try:
                self._connect(now)
                self._lane.ask_one(("PING",))
            except LogUnavailableError:
                self._connect(time.monotonic())


def _encoded(event: StreamEvent | bytes | str) -> bytes:
    if isinstance(event, StreamEvent):
        return encode_event(check_event(event))
    data = event.encode() if isinstance(event, str) else event
    if try_decode_delta(data) is None:
        decode_event(data)
    return data
