"""A conversation as its host holds it: events and answers in, messages and their changes out."""

from collections.abc import AsyncIterable
from types import TracebackType
from typing import Self

import trio

from turnwire.actors.change_feed import ChangeFeed
from turnwire.actors.conversation_actor import ConversationActor
from turnwire.actors.core.message_list import Messages
from turnwire.actors.stream_ends import closing
from turnwire.messages.agui.codec import TAGS, decode_agui
from turnwire.messages.agui.custom import read_custom
from turnwire.messages.agui.events import Custom, UnknownAguiEvent
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.errors import ClosedError, InvalidEventError
from turnwire.messages.particulars import Json
from turnwire.messages.ui import ProcessorResult, SavedConversation, UIMessage

CHECKPOINT_EVERY = 64  # events: some 0.2 ms of work, short enough that other tasks keep their pace


class Conversation:
    """One open conversation. Made by `open_conversation`; leaving its block ends it.

    All but `send`, `process` and `aclose` are synchronous: they see everything that was sent before. When a callback
    has raised, each of them raises a ProtocolError with that as its cause.
    """

    __slots__ = ("_actor", "_left", "thread_id")

    def __init__(self, actor: ConversationActor) -> None:
        self.thread_id = actor.thread_id
        self._actor = actor
        self._left = CHECKPOINT_EVERY

    # Events

    async def send(self, event: AnyAguiEvent | bytes | str) -> None:
        """Hand one event over: an AG-UI event, or its JSON in either dialect.

        Raises InvalidEventError at once if it is malformed; the conversation goes on as if it had not been sent.
        Waits only for room in the channel. It is a checkpoint at least every 64 events, not at each.
        """
        self._left -= 1
        if self._left <= 0:  # first of all: whoever is cancelled here has sent nothing
            self._left = CHECKPOINT_EVERY
            await trio.lowlevel.checkpoint()
        checked = _check(event)
        self._refuse_if_over()
        try:
            await self._actor.put(checked)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._refuse_if_over()
            raise

    def send_nowait(self, event: AnyAguiEvent | bytes | str) -> None:
        """Hand one event over as `send` does, or raise trio.WouldBlock where it would wait for room."""
        checked = _check(event)
        self._refuse_if_over()
        self._actor.put_nowait(checked)

    async def process(self, stream: AsyncIterable[AnyAguiEvent | bytes | str]) -> ProcessorResult:
        """Take a whole stream in, from before its first event to after its last, and say what it came to.

        The stream is closed at the end, if it can be: it is not left half read for the garbage collector.
        """
        self.prepare_assistant_message()
        async with closing(stream):
            async for event in stream:
                await self.send(event)
        return self.finalize()

    def prepare_assistant_message(self, message_id: str | None = None) -> None:
        """Get ready for a new stream, whose message is to have this id if that is free."""
        self._act("prepare_assistant_message", message_id)

    def finalize(self) -> ProcessorResult:
        """End the stream, and say what it came to."""
        self._refuse_if_over()
        return self._actor.act(self._actor.machine.finalize)

    # The client's side

    def add_message(self, message: UIMessage) -> None:
        """Add a whole message, such as the user's next one. Raises ValueError if its id is taken."""
        self._act("add_message", message)

    def add_tool_result(self, tool_call_id: str, output: Json, error: str | None = None) -> None:
        """Give the output of a tool that the client ran. Raises UnknownCallError if there is no such call."""
        self._act("add_tool_result", tool_call_id, output, error)

    def add_tool_approval_response(self, approval_id: str, approved: bool) -> None:  # the word says it
        """Give the user's answer. Raises UnknownCallError, or ApprovalAnsweredError with the first answer."""
        self._act("add_tool_approval_response", approval_id, approved)

    # What there is to see

    @property
    def messages(self) -> Messages:
        """The messages as they are now: immutable, free to take, made when looked at."""
        self._actor.catch_up()
        return self._actor.machine.messages

    @property
    def result(self) -> ProcessorResult:
        """What the stream has come to so far."""
        self._actor.catch_up()
        return self._actor.machine.result

    @property
    def state(self) -> Json:
        """The state beside the messages."""
        self._actor.catch_up()
        return self._actor.machine.state

    @property
    def pending_approvals(self) -> tuple[str, ...]:
        """The ids of the approvals that nobody has answered yet."""
        self._actor.catch_up()
        return self._actor.machine.pending_approvals

    @property
    def counts(self) -> dict[str, int]:
        """How often something was ignored, by what it was."""
        self._actor.catch_up()
        return self._actor.machine.counts

    def changes(self) -> ChangeFeed:
        """Follow the conversation: first all messages as they are, then each changed one as it is by then."""
        return self._actor.follow()

    def save(self) -> SavedConversation:
        """Give all that is to be kept, text that was not shown yet included."""
        if not self._actor.is_over:
            self._actor.act(self._actor.machine.flush)
        return SavedConversation(messages=tuple(self.messages), state=self.state)

    # Ends

    @property
    def is_open(self) -> bool:
        """Does it take events?"""
        return not (self._actor.is_closing or self._actor.is_over)

    async def aclose(self) -> None:
        """End it: process what was sent, end the stream. Twice is fine. Raises what it has failed with."""
        await self.end()
        self._actor.raise_failure()

    async def end(self) -> None:
        """End it, whatever has become of it."""
        self._actor.close()
        try:
            await self._actor.ended.wait()
        finally:
            if not self._actor.ended.is_set():  # we are cancelled; what is left to do needs no waiting
                with trio.CancelScope(shield=True):
                    await self._actor.ended.wait()

    def cancel(self) -> None:
        """Stop at once: what was sent and not processed is dropped, the stream is not ended."""
        self._actor.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.end()
        if exc is None:
            self._actor.raise_failure()

    def _act(self, deed: str, *args: object) -> None:
        self._refuse_if_over()
        self._actor.act(getattr(self._actor.machine, deed), *args)

    def _refuse_if_over(self) -> None:
        self._actor.raise_failure()
        if not self.is_open:
            raise ClosedError(f"conversation {self.thread_id} is closed; it takes no more")


def _check(event: AnyAguiEvent | bytes | str) -> AnyAguiEvent:
    """Hold what is sent to the rules: JSON is decoded, requests to the client are looked into."""
    checked = decode_agui(event) if isinstance(event, bytes | str) else event
    if type(checked) not in TAGS and type(checked) is not UnknownAguiEvent:
        raise InvalidEventError(f"expected an AG-UI event, got {type(checked).__name__}")
    if isinstance(checked, Custom):
        read_custom(checked)
    return checked
