"""Threads in memory: for programs that run in one process, for tests and demos. Nothing outlives the process."""

from collections.abc import Sequence

import trio

from turnwire.messages.runs import Answer, PendingCall, RunInput
from turnwire.messages.ui import SavedConversation
from turnwire.runtime.threads.answers import answered_before, check_saver, name_of, nobody_asked


class MemoryThreads:
    """A ThreadStore in memory. Keeps every thread until it is forgotten."""

    def __init__(self) -> None:
        self._inputs: dict[str, RunInput] = {}
        self._threads: dict[str, SavedConversation] = {}
        self._pending: dict[str, tuple[PendingCall, ...]] = {}
        self._answers: dict[str, dict[str, Answer]] = {}
        self._saved_by: dict[str, str] = {}
        self._claims: dict[str, tuple[str, float]] = {}

    async def put_input(self, run: RunInput) -> None:
        """Keep what a run begins with."""
        await trio.lowlevel.checkpoint()
        self.put_input_nowait(run)

    def put_input_nowait(self, run: RunInput) -> None:
        """Keep what a run begins with, in the same moment as something else."""
        self._inputs[run.run_id] = run

    async def get_input(self, run_id: str) -> RunInput | None:
        """Give what a run begins with."""
        await trio.lowlevel.checkpoint()
        return self._inputs.get(run_id)

    async def load(self, thread_id: str) -> SavedConversation | None:
        """Give a thread's conversation as it was last saved."""
        await trio.lowlevel.checkpoint()
        return self._threads.get(thread_id)

    async def claim(self, thread_id: str, run_id: str, *, seconds: float) -> str | None:
        """Take a thread for a run; None while another run has it."""
        await trio.lowlevel.checkpoint()
        now = trio.current_time()
        holder, until = self._claims.get(thread_id, ("", now))
        if holder != run_id and now < until:
            return None
        self._claims[thread_id] = run_id, now + seconds
        return self._saved_by.get(thread_id, "")

    async def release(self, thread_id: str, run_id: str) -> None:
        """Let a thread go that a run has claimed."""
        await trio.lowlevel.checkpoint()
        if self._claims.get(thread_id, ("", 0.0))[0] == run_id:
            del self._claims[thread_id]

    async def save(
        self,
        thread_id: str,
        conversation: SavedConversation,
        *,
        run_id: str,
        pending: Sequence[PendingCall] = (),
        after: str | None = None,
    ) -> None:
        """Keep a thread's conversation, and what it waits for now. The run's input has done its work."""
        await trio.lowlevel.checkpoint()
        check_saver(thread_id, self._saved_by.get(thread_id, ""), run_id=run_id, after=after)
        self._saved_by[thread_id] = run_id
        self._threads[thread_id] = conversation
        self._inputs.pop(run_id, None)
        waited = {name_of(call) for call in self._pending.pop(thread_id, ())}
        answers = self._answers.get(thread_id, {})
        for call in pending:
            if name_of(call) not in waited:
                answers.pop(name_of(call), None)  # an id that was used before, and is asked for anew
        if pending:
            self._pending[thread_id] = tuple(pending)

    async def pending(self, thread_id: str | None = None) -> tuple[PendingCall, ...]:
        """List what waits for an answer: of one thread, or of all, oldest first."""
        await trio.lowlevel.checkpoint()
        threads = self._pending if thread_id is None else (thread_id,)
        calls = (call for each in threads for call in self._pending.get(each, ()))
        return tuple(call for call in calls if name_of(call) not in self._answers.get(call.thread_id, {}))

    async def answer(self, thread_id: str, answer: Answer) -> None:
        """Take the one answer to a pending call."""
        await trio.lowlevel.checkpoint()
        taken = self._answers.get(thread_id, {})
        if (first := taken.get(name_of(answer))) is not None:
            raise answered_before(first)
        if name_of(answer) not in map(name_of, self._pending.get(thread_id, ())):
            raise nobody_asked(thread_id, answer)
        self._answers.setdefault(thread_id, {})[name_of(answer)] = answer

    async def forget(self, thread_id: str) -> None:
        """Let all of a thread go."""
        await trio.lowlevel.checkpoint()
        for kept in (self._threads, self._pending, self._answers, self._saved_by):
            kept.pop(thread_id, None)

    async def answers(self, thread_id: str) -> tuple[Answer, ...]:
        """Give the answers that were taken and that no run has saved as applied yet."""
        await trio.lowlevel.checkpoint()
        taken = self._answers.get(thread_id, {})
        found = (taken.get(name_of(call)) for call in self._pending.get(thread_id, ()))
        return tuple(answer for answer in found if answer is not None)
