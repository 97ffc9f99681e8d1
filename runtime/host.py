"""The runtime: one nursery in which turns live, each for itself. Opened by `async with open_runtime(...)`.

Turns do not run in the nursery of whoever opens them but in the runtime's own, which is shielded: when the host is
cancelled, its turns still get a bounded time to hand over what they have accepted. Then they are cancelled too.
"""

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import asynccontextmanager

import attrs
import trio

from turnwire.actors.backend import HOSTED_INSTEAD, require_trio
from turnwire.actors.conversation import Conversation
from turnwire.actors.conversation_actor import ConversationActor
from turnwire.actors.core.conversation_options import ConversationCallbacks, ConversationOptions
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.recovery import Recovered
from turnwire.actors.expiry import DeadlineKeeper
from turnwire.actors.ports import EventIds, Outlet, RawLog, Sink, Timestamps, make_event_id, outlet_of
from turnwire.actors.raw import RawGate
from turnwire.actors.turn import Pace, Turn
from turnwire.actors.turn_actor import TurnActor
from turnwire.messages.errors import ClosedError, InvalidEventError, TooManyTurnsError, TurnwireError
from turnwire.messages.events import StreamEvent
from turnwire.messages.folds import TurnSnapshot
from turnwire.messages.ui import SavedConversation
from turnwire.runtime.beside import run_beside
from turnwire.runtime.feeding import feed_turn

log = logging.getLogger("turnwire.runtime")

MAX_TURNS = 10_000
"""Turns per process: at some 10 kB each, what a small machine still holds."""
GRACE = 5.0
"""Seconds that accepted events get to reach the sink when the host is cancelled or shut down."""


def wall_clock(at: float) -> int:
    """Milliseconds since the epoch of a moment on Trio's clock: now, less how long ago it was."""
    return round((time.time() - (trio.current_time() - at)) * 1000)


@asynccontextmanager
async def open_runtime(
    *,
    sink: Sink,
    raw: RawLog | None = None,
    options: TurnOptions | None = None,
    max_turns: int = MAX_TURNS,
    grace: float = GRACE,
    timestamps: Timestamps = wall_clock,
    event_ids: EventIds = make_event_id,
) -> AsyncGenerator["Runtime", None]:
    """Open a runtime whose turns hand their messages to `sink`, an async callable or a log.

    With `raw`, every event is written to that log before its turn looks at it; `send` then waits for that. `options`
    are the turns' defaults. `timestamps` and `event_ids` make what is put on each message, so that a run can
    be repeated exactly. Leaving the block closes every turn that is still open and waits for it, at most `grace`
    seconds; what could not be delivered by then is logged with the turns' ids, and listed in `runtime.undelivered`.
    """
    require_trio("open_runtime", instead=HOSTED_INSTEAD)
    runtime = Runtime(outlet_of(sink), options or TurnOptions(), max_turns, grace, timestamps, event_ids, raw)
    async with run_beside(runtime.run, runtime.shut_down):
        yield runtime


@attrs.define
class TurnCounts:
    """What the turns of a runtime have done."""

    turns: int = 0
    """Turns that have ended."""
    failed_turns: int = 0
    """Of those the ones that crashed, whose sink kept refusing, or that another owner took over."""
    emissions: int = 0
    """Messages that the sink has taken."""
    retries: int = 0
    """How often a message was handed to the sink again."""
    conflated: int = 0
    """States that were superseded before the sink got to them."""
    waiting: int = 0
    """Emissions that wait for the sink now."""

    def add(self, actor: TurnActor) -> None:
        """Add what one turn has done."""
        outbox = actor.machine.outbox
        self.emissions += actor.deliveries.taken
        self.retries += actor.deliveries.retries
        self.conflated += outbox.conflated
        self.waiting += len(outbox)


class Runtime:
    """Where turns are opened. Made by `open_runtime`."""

    def __init__(
        self,
        outlet: Outlet,
        options: TurnOptions,
        max_turns: int,
        grace: float,
        timestamps: Timestamps,
        event_ids: EventIds,
        raw: RawLog | None,
    ) -> None:
        self._outlet = outlet
        self._raw = raw
        self._options = options
        self._max_turns = max_turns
        self._grace = grace
        self._timestamps = timestamps
        self._event_ids = event_ids
        self._on_end = self._turn_ended  # one bound method for all turns
        self._pace = Pace()
        self._open: dict[str, Turn] = {}
        self._conversations: dict[str, Conversation] = {}
        self._turns: trio.Nursery | None = None
        self._closing = trio.Event()
        self._expiry = DeadlineKeeper()
        self._ended = TurnCounts()
        self.undelivered: dict[str, int] = {}
        """After shutdown: how many emissions and events of which turns did not reach the sink."""

    def open_turn(
        self,
        *,
        turn_id: str,
        thread_id: str,
        run_id: str | None = None,
        options: TurnOptions | None = None,
        sink: Sink | None = None,
        timestamps: Timestamps | None = None,
        event_ids: EventIds | None = None,
        resume: Recovered | None = None,
        age: float = 0.0,
    ) -> Turn:
        """Open a turn; use it as `async with runtime.open_turn(...) as turn`.

        `run_id` names its events in the raw log, if there is one; the turn's own id unless given.
        `resume` is a turn that had another owner before: it goes on where that one stopped, with what readers are
        still owed first, under options of its own. `age` is how many seconds of its deadline are spent already.

        Raises ValueError for an id that is empty or open already, TooManyTurnsError at the runtime's limit, and
        ClosedError when the runtime has been closed.
        """
        turns = self._turns_for(f"turn {turn_id}")
        self._check_turn(turn_id, thread_id, resume)
        actor = TurnActor(
            turn_id,
            thread_id,
            (options or self._options) if resume is None else resume.options,
            self._outlet if sink is None else outlet_of(sink),
            timestamps=timestamps or self._timestamps,
            event_ids=event_ids or self._event_ids,
            on_end=self._on_end,
            resume=resume,
            age=age,
        )
        gate = None if self._raw is None else RawGate(self._raw, turn_id, run_id or turn_id, actor.retry_policy)
        turn = self._open[turn_id] = Turn(actor, self._pace, grace=self._grace, gate=gate)
        self._expiry.watch(actor)
        turns.start_soon(actor.run, name=f"turn {turn_id}")
        return turn

    async def run_turn(
        self,
        events: AsyncIterable[StreamEvent | bytes | str],
        *,
        turn_id: str,
        thread_id: str,
        options: TurnOptions | None = None,
        on_invalid: Callable[[InvalidEventError], object] | None = None,
    ) -> TurnSnapshot:
        """Run a whole turn from a stream of events, and give what a reader then knows.

        A malformed event raises, unless `on_invalid` is there to take note of it. The stream is closed at the end, if
        it can be: it is not left half read for the garbage collector.
        """

        def open_it() -> Turn:
            return self.open_turn(turn_id=turn_id, thread_id=thread_id, options=options)

        return await feed_turn(events, open_it, on_invalid)

    def open_conversation(
        self,
        *,
        thread_id: str,
        options: ConversationOptions | None = None,
        callbacks: ConversationCallbacks | None = None,
        saved: SavedConversation | None = None,
    ) -> Conversation:
        """Open a conversation; use it as `async with runtime.open_conversation(...) as conversation`.

        `saved` is what an earlier one was saved as. Raises ValueError for a thread id that is empty or open already,
        TooManyTurnsError at the runtime's limit, and ClosedError when the runtime has been closed.
        """
        turns = self._turns_for(f"conversation {thread_id}")
        if not thread_id:
            raise ValueError("thread_id must not be empty")
        if thread_id in self._conversations:
            raise ValueError(f"conversation {thread_id} is open already")
        if len(self._conversations) >= self._max_turns:
            raise TooManyTurnsError(f"{self._max_turns} conversations are open; {thread_id} was not opened")
        actor = ConversationActor(
            thread_id,
            options or ConversationOptions(),
            callbacks or ConversationCallbacks(),
            saved or SavedConversation(),
            on_end=self._conversation_ended,
        )
        conversation = self._conversations[thread_id] = Conversation(actor)
        turns.start_soon(actor.run, name=f"conversation {thread_id}")
        return conversation

    @property
    def open_turns(self) -> tuple[str, ...]:
        """The ids of the turns that are open."""
        return tuple(self._open)

    @property
    def counts(self) -> TurnCounts:
        """What all turns have done so far, the open ones included. Costs a look at each open turn."""
        counts = attrs.evolve(self._ended)
        for turn in self._open.values():
            counts.add(turn.actor)
        return counts

    @property
    def open_conversations(self) -> tuple[str, ...]:
        """The thread ids of the conversations that are open."""
        return tuple(self._conversations)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Be the task that owns the turns. `open_runtime` starts it."""
        with trio.CancelScope(shield=True):  # shut_down ends it, in bounded time, also when the host is cancelled
            async with trio.open_nursery() as self._turns:
                task_status.started()
                async with trio.open_nursery() as keepers:
                    keepers.start_soon(self._expiry.run, name="turn deadlines")
                    await self._closing.wait()
                    keepers.cancel_scope.cancel()

    async def shut_down(self) -> None:
        """Close all turns and wait for them, at most the grace time; then cancel what is left."""
        turns, conversations = list(self._open.values()), list(self._conversations.values())
        self._closing.set()
        with trio.move_on_after(self._grace, shield=True):
            async with trio.open_nursery() as enders:
                for turn in turns:
                    enders.start_soon(turn.end)
                for conversation in conversations:
                    enders.start_soon(conversation.end)
        for turn in turns:
            turn.cancel()
        for conversation in conversations:
            conversation.cancel()

    def _turns_for(self, what: str) -> trio.Nursery:
        """Give the nursery in which something new may live. Raises ClosedError."""
        if self._turns is None or self._closing.is_set():
            raise ClosedError(f"the runtime is closed; {what} was not opened")
        return self._turns

    def _check_turn(self, turn_id: str, thread_id: str, resume: Recovered | None) -> None:
        if not turn_id or not thread_id:
            raise ValueError(f"turn_id and thread_id must not be empty: {turn_id!r}, {thread_id!r}")
        if turn_id in self._open:
            raise ValueError(f"turn {turn_id} is open already")
        if resume is not None and (turn_id, thread_id) != (resume.turn_id, resume.thread_id):
            raise ValueError(f"turn {turn_id} cannot resume turn {resume.turn_id} of thread {resume.thread_id}")
        if len(self._open) >= self._max_turns:
            raise TooManyTurnsError(f"{self._max_turns} turns are open; turn {turn_id} was not opened")

    def _turn_ended(self, actor: TurnActor) -> None:
        turn = self._open.pop(actor.turn_id)
        if turn.gate is not None and self._turns is not None and actor.deliveries.fold.has_ended:
            self._turns.start_soon(self._expire_raw, turn.gate.run_id, name=f"expiry of run {turn.gate.run_id}")
        self._ended.add(actor)
        self._ended.turns += 1
        self._ended.failed_turns += actor.failure is not None
        self._expiry.forget(actor)
        if self._closing.is_set() and actor.undelivered:
            self.undelivered[actor.turn_id] = actor.undelivered

    async def _expire_raw(self, run_id: str) -> None:
        """Let the raw events of an ended turn go in their time, whatever ended it; not worth more than one try."""
        if self._raw is not None:
            try:
                await self._raw.expire_events(run_id)
            except TurnwireError as exc:
                log.warning("run %s will not expire: %s", run_id, exc)

    def _conversation_ended(self, actor: ConversationActor) -> None:
        del self._conversations[actor.thread_id]
