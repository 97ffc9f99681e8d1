"""What a run wants of the store of threads: its conversation, the answers, and that all is kept. Waits out outages."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import attrs

from turnwire.actors.core.run_opening import Waiting, opening_of, sort_waiting
from turnwire.actors.engine_ports import ThreadStore
from turnwire.actors.persist import persist_for_run
from turnwire.messages.errors import (
    ApprovalAnsweredError,
    CallAnsweredError,
    UnknownCallError,
)
from turnwire.messages.runs import PendingCall, RunInput
from turnwire.messages.ui import SavedConversation

log = logging.getLogger("turnwire.engine")

_T = TypeVar("_T")


@attrs.frozen(kw_only=True)
class Opening:
    """What a run begins with."""

    conversation: SavedConversation
    waiting: Waiting


class ThreadDesk:
    """Talks to the store, for one run."""

    def __init__(self, store: ThreadStore, run: RunInput, *, patience: float) -> None:
        self._store = store
        self._run = run
        self._patience = patience

    async def open(self) -> Opening:
        """Give what the run begins with. The answers that it brings go to the store first: one counts."""
        run, store = self._run, self._store
        stored = await self._persist(partial(store.load, run.thread_id))
        for answer in run.answers:
            try:
                await self._persist(partial(store.answer, run.thread_id, answer))
            except (ApprovalAnsweredError, CallAnsweredError, UnknownCallError) as exc:
                log.info("run %s: an answer is passed over: %s", run.run_id, exc)
        pending = await self._persist(partial(store.pending, run.thread_id))
        answers = await self._persist(partial(store.answers, run.thread_id))
        conversation = opening_of(run, stored)
        return Opening(conversation=conversation, waiting=sort_waiting(conversation.messages, pending, answers))

    async def save(self, conversation: SavedConversation, pending: tuple[PendingCall, ...], *, after: str) -> None:
        """Keep the conversation, and what it waits for. Raises what the store raises once patience is over.

        Raises ThreadConflictError if another run than `after` has saved the thread last.
        """
        run = self._run
        saving = partial(self._store.save, run.thread_id, conversation, run_id=run.run_id, pending=pending, after=after)
        await self._persist(saving)

    async def _persist(self, operation: Callable[[], Awaitable[_T]]) -> _T:
        return await persist_for_run(self._run.run_id, operation, patience=self._patience)
