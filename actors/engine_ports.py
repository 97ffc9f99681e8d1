"""What the engine needs from the world: a model to ask, a place where threads are kept, somewhere to tell events to."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import attrs

from turnwire.messages.events import Json, StreamEvent
from turnwire.messages.providers.continuation import Continuation
from turnwire.messages.runs import Answer, PendingCall, RunInput, ToolSpec
from turnwire.messages.ui import SavedConversation, UIMessage

Publish: TypeAlias = Callable[[Sequence[StreamEvent | bytes]], Awaitable[object]]
"""Tells events of a run, in order: to log A, from where its turn gets them, or to the turn itself."""


@attrs.frozen(kw_only=True)
class ModelCall:
    """One request to a model: one iteration of a run."""

    run_id: str
    turn_id: str
    thread_id: str
    messages: Sequence[UIMessage]
    """The conversation, the user's newest message and all results of tools included."""
    tools: Sequence[ToolSpec] = ()
    prompt: str | None = None
    """The text of the user's message that began this run, told as an item (C2); None for later iterations."""
    after: Continuation | None = None
    """What the iteration before left; None for the first."""
    instructions: str | None = None
    settings: Mapping[str, Json] = attrs.field(factory=dict[str, Json])
    """More fields of the provider's request, such as `temperature`."""


class ModelStream(Protocol):
    """The answer to one request, as it comes. Iterated once; closed by whoever opened it."""

    def __aiter__(self) -> AsyncIterator[list[StreamEvent]]:
        """Give the events as they come, those that came together in one list, the terminal last. Raises nothing."""
        ...

    def abort(self) -> list[StreamEvent]:
        """End the answer here, because the user wants it: close what is open truthfully (C9). Nothing comes after."""
        ...

    def continuation(self) -> Continuation:
        """Give what the next request of the same run needs as its `after`."""
        ...

    async def aclose(self) -> None:
        """Let the connection go. Twice is fine."""
        ...


class Model(Protocol):
    """Something that answers. `data_format` names what its sealed provider data belongs to."""

    model_id: str
    provider_id: str
    data_format: str

    def open(self, call: ModelCall, /) -> ModelStream:
        """Begin one request. Connects when it is first iterated."""
        ...


class ThreadStore(Protocol):
    """Where threads are kept between runs, and what waits for an answer. In memory or in Redis."""

    async def put_input(self, run: RunInput) -> None:
        """Keep what a run begins with, before it is announced. Twice is fine."""
        ...

    async def get_input(self, run_id: str) -> RunInput | None:
        """Give what a run begins with."""
        ...

    async def load(self, thread_id: str) -> SavedConversation | None:
        """Give a thread's conversation as it was last saved."""
        ...

    async def claim(self, thread_id: str, run_id: str, *, seconds: float) -> str | None:
        """Take a thread for a run, for so many seconds; None while another run has it. Again by the same run: longer.

        Gives the id of the run that has saved the thread last, for `save`; empty if none has.
        """
        ...

    async def release(self, thread_id: str, run_id: str) -> None:
        """Let a thread go that a run has claimed. Nothing happens if it is not that run's any more."""
        ...

    async def save(
        self,
        thread_id: str,
        conversation: SavedConversation,
        *,
        run_id: str,
        pending: Sequence[PendingCall] = (),
        after: str | None = None,
    ) -> None:
        """Keep a thread's conversation, and what it waits for now (which replaces what it waited for before).

        With `after`, the run that is to have saved it last: raises ThreadConflictError, and keeps nothing, if it was
        another. The same run may save twice: it may not have heard that the first time went well.
        """
        ...

    async def pending(self, thread_id: str | None = None) -> tuple[PendingCall, ...]:
        """List what waits for an answer and has none: of one thread, or of all, oldest first."""
        ...

    async def answer(self, thread_id: str, answer: Answer) -> None:
        """Take the one answer to a pending call. Also with many processes exactly one of several gets through.

        Raises ApprovalAnsweredError or CallAnsweredError with the first answer for a second one, UnknownCallError for
        what nobody asked.
        """
        ...

    async def answers(self, thread_id: str) -> tuple[Answer, ...]:
        """Give the answers that were taken and that no run has saved as applied yet."""
        ...
