"""Whose turn it is in a thread: one run at a time, in this process and in all that share its store.

Runs of one engine stand in line, in the order in which they were asked for. The one in front claims the thread in the
store, for CLAIM_SECONDS at a time, and claims it again while it runs. A process that dies lets its claim lapse.

A claim keeps runs from doing the same work twice, such as a tool that was approved once. It is no proof: a process
that slept may wake up without it. So whoever saves says which save it goes on from, and the store refuses all others.
"""

import logging
from functools import partial
from typing import Final

import trio

from turnwire.actors.engine_ports import ThreadStore
from turnwire.actors.parking import ParkingSpace
from turnwire.actors.persist import persist_for_run
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.runs import RunInput

CLAIM_SECONDS: Final = 15.0
"""How long a thread stays claimed by a process that has died: about what a turn of a dead worker takes to be ended."""
RENEW_SECONDS: Final = CLAIM_SECONDS / 3
"""How often a claim is renewed: two attempts may fail."""
LOOK_SECONDS: Final = 0.25
"""How often a run that waits for another process looks whether the thread is free."""

log = logging.getLogger("turnwire.engine")


class ThreadTurns:
    """The lines of one engine: one for each thread that has runs."""

    def __init__(self, store: ThreadStore, *, patience: float) -> None:
        self.store = store
        self.patience = patience
        self._lines: dict[str, list[ThreadTurn]] = {}

    def join(self, run: RunInput) -> "ThreadTurn":
        """Put a run at the end of its thread's line. Whoever joins leaves."""
        line = self._lines.setdefault(run.thread_id, [])
        turn = ThreadTurn(self, run, line)
        line.append(turn)
        return turn

    def forget(self, thread_id: str) -> None:
        """Let a line go that nobody stands in."""
        if not self._lines.get(thread_id):
            self._lines.pop(thread_id, None)


class ThreadTurn:
    """A run's place in the line of its thread."""

    def __init__(self, turns: ThreadTurns, run: RunInput, line: "list[ThreadTurn]") -> None:
        self.saved_by = ""
        """The run that has saved the thread last, when this one's turn came; empty if none had."""
        self._turns = turns
        self._store = turns.store
        self._run = run
        self._line = line
        self._called = ParkingSpace()
        self._is_claiming = False
        self._is_held = False

    def call(self) -> None:
        """Say to a run that waits that it may be its turn."""
        self._called.call()

    async def wait(self) -> None:
        """Wait until it is this run's turn, and take the thread. Raises LogUnavailableError once patience is over."""
        while self._line[0] is not self:
            await self._called.wait()
        take = partial(persist_for_run, self._run.run_id, self._take, patience=self._turns.patience)
        while not await take():  # noqa: ASYNC110  # who has it may be another process: nobody here hears of its end
            await trio.sleep(LOOK_SECONDS)

    async def take_now(self) -> bool:
        """Say whether this run has the thread; take it if it is free this moment."""
        try:
            return self._is_held or (self._line[0] is self and await self._take())
        except LogUnavailableError:
            return False

    async def keep(self) -> None:
        """Claim the thread again and again, as long as it is held. Raises nothing: what saves is checked anyway."""
        while True:
            await trio.sleep(RENEW_SECONDS)
            if self._is_held:
                try:
                    if await self._claim() is None:
                        log.warning("run %s: another run has its thread %s", self._run.run_id, self._run.thread_id)
                except LogUnavailableError as exc:
                    log.warning("run %s: its thread could not be claimed again: %s", self._run.run_id, exc)
                except Exception:
                    log.exception("run %s: its thread could not be claimed again", self._run.run_id)

    async def leave(self) -> None:
        """Let the next one go on: here, or in another process. Twice is fine; a claim that stays lapses."""
        try:
            if self._is_claiming:
                self._is_held = False
                await self._store.release(self._run.thread_id, self._run.run_id)
                self._is_claiming = False
        except LogUnavailableError as exc:
            log.warning("run %s: its claim on thread %s stays: %s", self._run.run_id, self._run.thread_id, exc)
        except Exception:
            log.exception("run %s: its claim on thread %s stays", self._run.run_id, self._run.thread_id)
        finally:
            self._leave_line()

    def _leave_line(self) -> None:
        if self not in self._line:
            return
        self._line.remove(self)
        if self._line:
            self._line[0].call()
        else:
            self._turns.forget(self._run.thread_id)

    async def _take(self) -> bool:
        self._is_claiming = True
        saved_by = await self._claim()
        if saved_by is not None:
            self.saved_by = saved_by
            self._is_held = True
        return self._is_held

    async def _claim(self) -> str | None:
        return await self._store.claim(self._run.thread_id, self._run.run_id, seconds=CLAIM_SECONDS)
