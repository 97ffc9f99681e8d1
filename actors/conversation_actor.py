"""The actor of one conversation: drains its channel into the rules, and hands changes to whoever follows it.

Everything that decides is in the core. Events wait in one memory channel; the actor parks on a wake-up and not on the
channel, so that a sender who sends a thousand events without a pause wakes it once. `catch_up` is synchronous:
whoever calls it, the actor when woken or a host that wants to know or to answer, finds and leaves the conversation in
one piece.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakSet

import attrs
import trio

from turnwire.actors.change_feed import ChangeFeed
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.actors.core.conversation_options import ConversationCallbacks, ConversationOptions
from turnwire.actors.parking import ParkingSpace
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.errors import ProtocolError, TurnwireError
from turnwire.messages.ui import SavedConversation
from turnwire.messages.ui_changes import MessagesReplaced, StateChanged

log = logging.getLogger("turnwire.conversation")

CHANNEL_SIZE = 256
"""Events that may wait before a sender does: a moment's worth of the fastest stream."""

_T = TypeVar("_T")


class ConversationActor(ParkingSpace):
    """Runs one conversation until it is closed, cancelled, or a callback raises."""

    __slots__ = (
        "_events",
        "_feeds",
        "_inbox",
        "_is_draining",
        "_on_end",
        "_raised",
        "_scope",
        "ended",
        "failure",
        "is_closing",
        "machine",
        "thread_id",
    )

    def __init__(
        self,
        thread_id: str,
        options: ConversationOptions,
        callbacks: ConversationCallbacks,
        saved: SavedConversation,
        *,
        on_end: "Callable[[ConversationActor], None]",
    ) -> None:
        super().__init__()
        self.thread_id = thread_id
        self.failure: TurnwireError | None = None
        self.ended = trio.Event()
        self.is_closing = False
        self._raised: Exception | None = None
        self._events: trio.MemorySendChannel[AnyAguiEvent]
        self._inbox: trio.MemoryReceiveChannel[AnyAguiEvent]
        self._events, self._inbox = trio.open_memory_channel[AnyAguiEvent](CHANNEL_SIZE)
        self._is_draining = False
        self._feeds: WeakSet[ChangeFeed] = WeakSet()
        self._on_end = on_end
        self._scope = trio.CancelScope()
        self.machine = ConversationMachine(
            options, self._watched(callbacks), messages=saved.messages, state=saved.state
        )

    # What others call

    async def put(self, event: AnyAguiEvent) -> None:
        """Put an event into the channel; waits only for room. Raises trio.BrokenResourceError if it has ended."""
        try:
            self._events.send_nowait(event)
        except trio.WouldBlock:
            self.call()
            await self._events.send(event)
        self.call()

    def put_nowait(self, event: AnyAguiEvent) -> None:
        """Put an event into the channel, or raise trio.WouldBlock if there is no room."""
        self.call()
        self._events.send_nowait(event)

    def catch_up(self) -> None:
        """Process everything that has come in. What a callback raises stays in this conversation."""
        if self._is_draining or self.is_over:
            return  # in the first case a callback asks: all that came before its event is processed
        self._is_draining = True
        try:
            while True:
                self.machine.process_event(self._inbox.receive_nowait())
        except trio.WouldBlock:
            pass
        except Exception as exc:  # noqa: BLE001  # whatever it is, it is this conversation's alone
            self._fail(exc)
        finally:
            self._is_draining = False
        self._publish()

    def act(self, deed: Callable[..., _T], *args: Any) -> _T:
        """Catch up, then do something with the machine, as if it had come through the channel.

        What the machine refuses is raised as it is; if a callback raises, the conversation has failed.
        """
        self.catch_up()
        self.raise_failure()
        try:
            return deed(*args)
        except Exception as exc:
            if exc is not self._raised:
                raise
            self._fail(exc)
            self.raise_failure()
            raise
        finally:
            self._publish()

    def follow(self) -> ChangeFeed:
        """Open a feed of changes, which begins with all messages, and the state beside them, as they are."""
        feed = ChangeFeed()
        self.catch_up()
        changes = self.machine.take_changes()  # for the others: they are in the messages that this feed begins with
        for other in self._feeds:
            other.add(changes)
        if len(self.machine.messages):
            feed.add([MessagesReplaced(messages=tuple(self.machine.messages))])
        if self.machine.state is not None:
            feed.add([StateChanged(state=self.machine.state)])
        if self.is_over:
            feed.close()
        self._feeds.add(feed)
        return feed

    @property
    def is_over(self) -> bool:
        """Does it take no more events?"""
        return self.failure is not None or self._scope.cancel_called or self.ended.is_set()

    def close(self) -> None:
        """Have it end once all that was sent is processed."""
        self.is_closing = True
        self.call()

    def cancel(self) -> None:
        """Have it end at once."""
        self._scope.cancel()

    def raise_failure(self) -> None:
        """Raise what it has failed with, if it has."""
        if self.failure is not None:
            raise self.failure

    # The task

    async def run(self) -> None:
        """Be the conversation's task."""
        try:
            with self._scope:
                while not (self.is_closing or self.is_over):
                    await self.wait()
                    self.catch_up()
                if not self.is_over:
                    self.catch_up()
                    self._finalize()
        finally:
            self._finish()

    def _finalize(self) -> None:
        try:
            self.machine.finalize()
        except Exception as exc:  # noqa: BLE001  # as in catch_up
            self._fail(exc)
        self._publish()

    def _finish(self) -> None:
        self.ended.set()
        self._events.close()
        self._inbox.close()  # wakes whoever waits for room
        for feed in self._feeds:
            feed.close()
        self._on_end(self)

    def _publish(self) -> None:
        if self._feeds and not self._is_draining and (changes := self.machine.take_changes()):
            for feed in self._feeds:
                feed.add(changes)

    def _fail(self, exc: Exception) -> None:
        if self.failure is None:
            log.error("conversation %s failed", self.thread_id, exc_info=exc)
            self.failure = ProtocolError(f"conversation {self.thread_id} failed: {exc!r}")
            self.failure.__cause__ = exc
            self.call()

    def _watched(self, callbacks: ConversationCallbacks) -> ConversationCallbacks:
        """Have each callback remember what it raised: that is not what the machine itself refuses."""

        def watch(told: Callable[..., object]) -> Callable[..., object]:
            def tell(*args: Any) -> None:
                try:
                    told(*args)
                except Exception as exc:
                    self._raised = exc
                    raise

            return tell

        given = {field.name: getattr(callbacks, field.name) for field in attrs.fields(ConversationCallbacks)}
        return ConversationCallbacks(**{name: watch(told) for name, told in given.items() if told is not None})
