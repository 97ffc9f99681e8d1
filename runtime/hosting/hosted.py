"""The runtime with one face on every loop: Trio, AnyIO on Trio, AnyIO on asyncio, asyncio, uvloop."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar, TypeVarTuple

from turnwire.actors.backend import is_trio
from turnwire.actors.conversation import Conversation
from turnwire.actors.core.conversation_options import ConversationCallbacks, ConversationOptions
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.ports import EventIds, RawLog, Sink, Timestamps, make_event_id, on_emit_of
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.events import StreamEvent
from turnwire.messages.folds import TurnSnapshot
from turnwire.messages.ui import SavedConversation
from turnwire.runtime.feeding import feed_turn
from turnwire.runtime.host import GRACE, MAX_TURNS, Runtime, TurnCounts, open_runtime, wall_clock
from turnwire.runtime.hosting.block import Block, open_guest_block
from turnwire.runtime.hosting.bridge import AsgiApp, Bridge, DirectBridge, GuestBridge
from turnwire.runtime.hosting.conversations import GuestConversation
from turnwire.runtime.hosting.host_calls import make_trio_function
from turnwire.runtime.hosting.streams import AHEAD, Stream
from turnwire.runtime.hosting.turns import AnyTurn, GuestTurn

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")


@asynccontextmanager
async def open_hosted(
    *,
    sink: Sink,
    raw: RawLog | None = None,
    options: TurnOptions | None = None,
    max_turns: int = MAX_TURNS,
    grace: float = GRACE,
    timestamps: Timestamps = wall_clock,
    event_ids: EventIds = make_event_id,
) -> "AsyncGenerator[Hosted, None]":
    """Open a runtime on whatever loop this is; what the arguments mean is told by `open_runtime`.

    On asyncio, Trio runs beside the loop, in the same thread. A sink that is an async callable is the host's and is
    awaited on its loop; one with an `append` is a log of ours and stays on Trio's side, as does `raw`. Leaving the
    block closes the runtime and waits for it. If that crashes, this block's task is cancelled, and what it crashed
    with is raised here.
    """

    def make_runtime(of_host: Sink) -> AbstractAsyncContextManager[Runtime]:
        return open_runtime(
            sink=of_host,
            raw=raw,
            options=options,
            max_turns=max_turns,
            grace=grace,
            timestamps=timestamps,
            event_ids=event_ids,
        )

    if is_trio():
        async with make_runtime(sink) as runtime:
            yield Hosted(runtime, None)
    else:
        async with open_guest_block(make_runtime(_sink_for_trio(sink))) as block:
            yield Hosted(block.value, block)


class Hosted:
    """A runtime, and the ways to Trio's side of it. Made by `open_hosted`."""

    def __init__(self, runtime: Runtime, block: Block[Runtime] | None) -> None:
        self.runtime = runtime
        """The runtime itself: for Trio's side, or for what in it is synchronous."""
        self._block = block
        self._bridge: Bridge = DirectBridge() if block is None else GuestBridge(block)

    # Turns and conversations

    def open_turn(
        self,
        *,
        turn_id: str,
        thread_id: str,
        run_id: str | None = None,
        options: TurnOptions | None = None,
        sink: Sink | None = None,
    ) -> AnyTurn:
        """Open a turn; use it as `async with hosted.open_turn(...) as turn`. Raises as `Runtime.open_turn` does."""
        if sink is not None and self._block is not None:
            sink = _sink_for_trio(sink)
        self._raise_if_crashed()
        turn = self.runtime.open_turn(turn_id=turn_id, thread_id=thread_id, run_id=run_id, options=options, sink=sink)
        return turn if self._block is None else GuestTurn(turn, self._block)

    async def run_turn(
        self,
        events: AsyncIterable[StreamEvent | bytes | str],
        *,
        turn_id: str,
        thread_id: str,
        options: TurnOptions | None = None,
        on_invalid: Callable[[InvalidEventError], object] | None = None,
    ) -> TurnSnapshot:
        """Run a whole turn from a stream of events of the host, as `Runtime.run_turn` does."""

        def open_it() -> AbstractAsyncContextManager[AnyTurn]:
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
        """Open a conversation; use it as `async with hosted.open_conversation(...) as conversation`."""
        self._raise_if_crashed()
        conversation = self.runtime.open_conversation(
            thread_id=thread_id, options=options, callbacks=callbacks, saved=saved
        )
        return conversation if self._block is None else GuestConversation(conversation, self._block)

    @property
    def open_turns(self) -> tuple[str, ...]:
        """The ids of the turns that are open."""
        return self.runtime.open_turns

    @property
    def counts(self) -> TurnCounts:
        """What all turns have done so far, the open ones included."""
        return self.runtime.counts

    @property
    def undelivered(self) -> dict[str, int]:
        """After shutdown: how many emissions and events of which turns did not reach the sink."""
        return self.runtime.undelivered

    # The ways over

    async def call(self, fn: Callable[[*_Ts], Awaitable[_T]], *args: *_Ts) -> _T:
        """Await a Trio async function. Cancelling the host's task cancels it and waits for its cleanup."""
        return await self._bridge.call(fn, *args)

    def enter(self, manager: AbstractAsyncContextManager[_T]) -> AbstractAsyncContextManager[_T]:
        """Enter a Trio async context manager for the length of the host's block; a crash of it ends that block."""
        return self._bridge.enter(manager)

    def iterate(self, stream: AsyncIterable[_T], *, ahead: int = AHEAD) -> Stream[_T]:
        """Read a Trio stream, such as `log.follow(turn_id)`; at most `ahead` entries are taken before asked for."""
        return self._bridge.iterate(stream, ahead=ahead)

    def asgi(self, app: AsgiApp) -> AsgiApp:
        """Give an ASGI application for the host's server that runs `app`, one that is written for Trio."""
        return self._bridge.asgi(app)

    def _raise_if_crashed(self) -> None:
        if self._block is not None:
            self._block.raise_if_over()


def _sink_for_trio(sink: Sink) -> Sink:
    """Leave a log as it is; have anything else awaited on the host's loop, with the context variables of now."""
    if getattr(sink, "append", None) is not None:
        return sink
    return make_trio_function(on_emit_of(sink), asyncio.get_running_loop())
