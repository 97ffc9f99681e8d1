"""Group commit: the appends of all turns travel together, one pipeline per round trip, each settled on its own.

While a round is under way in its thread, new requests gather; they are the next round. Nobody waits for another turn's
retries: a request that fails goes back to the writer of its turn, which decides when to try again.
"""

from collections import deque
from functools import partial
from math import inf

import trio

from turnwire.actors.parking import ParkingSpace
from turnwire.messages.errors import ClosedError, LogUnavailableError
from turnwire.runtime.logs.redis.book import Book
from turnwire.runtime.logs.redis.lane import Lane
from turnwire.runtime.logs.redis.requests import AnyRequest
from turnwire.runtime.logs.redis.rounds import run_round

WATCH_EVERY = 1.0  # seconds of silence: what a server may lose is about as much as that


class Committer:
    """Takes requests from any task and settles them in rounds."""

    def __init__(self, lane: Lane, book: Book) -> None:
        self._lane = lane
        self._book = book
        self._waiting: deque[AnyRequest] = deque()
        self._sent: list[AnyRequest] = []
        self._call = ParkingSpace()
        self._thread = trio.CapacityLimiter(1)
        self._is_closed = False

    @property
    def oldest(self) -> float:
        """When the oldest request that is not settled was made; inf if there is none."""
        if self._sent:
            return self._sent[0].asked_at
        return self._waiting[0].asked_at if self._waiting else inf

    async def settle(self, request: AnyRequest) -> None:
        """Have a request done. Raises what it was refused with.

        Cancelled before it is sent, it is not done. Once it is sent, cancelling waits: it returns or raises as if it
        had not been cancelled, so its caller knows what became of it.
        """
        if self._is_closed:
            raise ClosedError(f"the log is closed; nothing was written to {request.key}")
        request.task = trio.lowlevel.current_task()
        self._waiting.append(request)
        self._call.call()
        await trio.lowlevel.wait_task_rescheduled(request.abort)
        if request.error is not None:
            raise request.error

    async def run(self) -> None:
        """Be the task that runs the rounds."""
        while True:
            while self._take():  # first of all: started again, we may find requests whose call has been heard
                await self._run_round()
            # As long as something is kept, a server that forgets is to be noticed also when nobody writes any more.
            with trio.move_on_after(WATCH_EVERY if self._book.keeps_any else inf) as quiet:
                await self._call.wait()
            if quiet.cancelled_caught:
                await self._run_round()

    async def _run_round(self) -> None:
        problem = "the writer failed"
        try:
            await trio.to_thread.run_sync(
                partial(run_round, self._lane, self._book, self._sent, now=trio.current_time()),
                limiter=self._thread,
            )
        except LogUnavailableError as exc:
            problem = str(exc)
        finally:
            self._hand_back(problem)

    def abort(self) -> None:
        """Take no more requests, and have a round that is under way give up."""
        self._is_closed = True
        self._lane.abort()

    def close(self) -> None:
        """Refuse whatever still waits."""
        self._is_closed = True
        while self._waiting:
            request = self._waiting.popleft()
            if not request.is_withdrawn:
                self._sent.append(request)
        self._hand_back("the log was closed")
        self._lane.close()

    def _take(self) -> bool:
        """Put together the next round from what waits."""
        entries, size, options = 0, 0, self._book.options
        while self._waiting and entries < options.round_entries and size < options.round_bytes:
            request = self._waiting.popleft()
            if not request.is_withdrawn:
                request.is_sent = True
                entries += request.count
                size += request.size
                self._sent.append(request)
        return bool(self._sent)

    def _hand_back(self, problem: str) -> None:
        sent, self._sent = self._sent, []
        for request in sent:
            if not request.is_settled:
                self._book.counts.failed += request.count
                request.refuse(LogUnavailableError(problem))
            if request.task is not None:
                trio.lowlevel.reschedule(request.task)
