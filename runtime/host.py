"""The runtime: one nursery in which turns live, each for itself. Opened by `async with open_runtime(...)`.

Turns do not run in the nursery of whoever opens them but in the runtime's own, which is shielded: when the host is
cancelled, its turns still get a bounded time to hand over what they have accepted. Then they are cancelled too.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import aclosing, asynccontextmanager, nullcontext
from typing import cast

import trio

from turnwire.actors.core.options import TurnOptions
from turnwire.actors.expiry import DeadlineKeeper
from turnwire.actors.ports import EventIds, OnEmit, Sink, Timestamps, make_event_id, on_emit_of
from turnwire.actors.turn import Pace, Turn
from turnwire.actors.turn_actor import TurnActor
from turnwire.messages.errors import ClosedError, InvalidEventError, TooManyTurnsError
from turnwire.messages.events import StreamEvent
from turnwire.messages.folds import TurnSnapshot

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
    options: TurnOptions | None = None,
    max_turns: int = MAX_TURNS,
    grace: float = GRACE,
    timestamps: Timestamps = wall_clock,
    event_ids: EventIds = make_event_id,
) -> AsyncGenerator["Runtime", None]:
    """Open a runtime whose turns hand their messages to `sink`, an async callable or a log.

    `options` are the turns' defaults. `timestamps` and `event_ids` make what is put on each message, so that a run can
    be repeated exactly. Leaving the block closes every turn that is still open and waits for it, at most `grace`
    seconds; what could not be delivered by then is logged with the turns' ids, and listed in `runtime.undelivered`.
    """
    runtime = Runtime(on_emit_of(sink), options or TurnOptions(), max_turns, grace, timestamps, event_ids)
    failure: BaseException | None = None
    async with trio.open_nursery() as root:
        await root.start(runtime.run)
        try:
            yield runtime
        except BaseException as exc:  # noqa: BLE001  # raised again below, where no nursery puts it into a group
            failure = exc
        finally:
            await runtime.shut_down()
    if failure is not None:
        try:
            raise failure
        finally:
            del failure  # an exception that is held by a frame of its own traceback is freed late


class Runtime:
    """Where turns are opened. Made by `open_runtime`."""

    def __init__(
        self,
        on_emit: OnEmit,
        options: TurnOptions,
        max_turns: int,
        grace: float,
        timestamps: Timestamps,
        event_ids: EventIds,
    ) -> None:
        self._on_emit = on_emit
        self._options = options
        self._max_turns = max_turns
        self._grace = grace
        self._timestamps = timestamps
        self._event_ids = event_ids
        self._on_end = self._turn_ended  # one bound method for all turns
        self._pace = Pace()
        self._open: dict[str, Turn] = {}
        self._turns: trio.Nursery | None = None
        self._closing = trio.Event()
        self._expiry = DeadlineKeeper()
        self.undelivered: dict[str, int] = {}
        """After shutdown: how many emissions and events of which turns did not reach the sink."""

    def open_turn(
        self,
        *,
        turn_id: str,
        thread_id: str,
        options: TurnOptions | None = None,
        sink: Sink | None = None,
        timestamps: Timestamps | None = None,
    ) -> Turn:
        """Open a turn; use it as `async with runtime.open_turn(...) as turn`.

        Raises ValueError for an id that is empty or open already, TooManyTurnsError at the runtime's limit, and
        ClosedError when the runtime has been closed.
        """
        if self._turns is None or self._closing.is_set():
            raise ClosedError(f"the runtime is closed; turn {turn_id} was not opened")
        if not turn_id or not thread_id:
            raise ValueError(f"turn_id and thread_id must not be empty: {turn_id!r}, {thread_id!r}")
        if turn_id in self._open:
            raise ValueError(f"turn {turn_id} is open already")
        if len(self._open) >= self._max_turns:
            raise TooManyTurnsError(f"{self._max_turns} turns are open; turn {turn_id} was not opened")
        actor = TurnActor(
            turn_id,
            thread_id,
            options or self._options,
            self._on_emit if sink is None else on_emit_of(sink),
            timestamps=timestamps or self._timestamps,
            event_ids=self._event_ids,
            on_end=self._on_end,
        )
        turn = self._open[turn_id] = Turn(actor, self._pace, grace=self._grace)
        self._expiry.watch(actor)
        self._turns.start_soon(actor.run, name=f"turn {turn_id}")
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
        can_close = hasattr(events, "aclose")
        async with (
            aclosing(cast("AsyncGenerator[object, None]", events)) if can_close else nullcontext(),
            self.open_turn(turn_id=turn_id, thread_id=thread_id, options=options) as turn,
        ):
            async for event in events:
                try:
                    await turn.send(event)
                except InvalidEventError as exc:
                    if on_invalid is None:
                        raise
                    on_invalid(exc)
        return turn.snapshot()

    @property
    def open_turns(self) -> tuple[str, ...]:
        """The ids of the turns that are open."""
        return tuple(self._open)

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
        turns = list(self._open.values())
        self._closing.set()
        with trio.move_on_after(self._grace, shield=True):
            async with trio.open_nursery() as enders:
                for turn in turns:
                    enders.start_soon(turn.end)
        for turn in turns:
            turn.cancel()

    def _turn_ended(self, actor: TurnActor) -> None:
        del self._open[actor.turn_id]
        self._expiry.forget(actor)
        if self._closing.is_set() and actor.undelivered:
            self.undelivered[actor.turn_id] = actor.undelivered
