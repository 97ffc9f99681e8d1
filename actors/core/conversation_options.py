"""What a host may set for one conversation, and what it is told of. No clock, no await."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import attrs

from turnwire.actors.core.chunking import ChunkStrategy, Immediate
from turnwire.messages.particulars import Json
from turnwire.messages.ui import ToolCallState, UIMessage


@attrs.frozen(kw_only=True)
class ConversationOptions:
    """How a conversation shows what it hears."""

    strategy: ChunkStrategy = attrs.field(factory=Immediate)
    """When accumulated text is shown."""
    states: Literal["full", "classic"] = attrs.field(
        default="full", validator=attrs.validators.in_(("full", "classic"))
    )
    """`classic`: a call that was answered keeps the state it had, as in the processor that this one follows."""
    thinking: Literal["message", "step"] = attrs.field(
        default="message", validator=attrs.validators.in_(("message", "step"))
    )
    """One thinking part for each message, or one for each step."""
    partial_arguments: bool = False
    """Show as a call's input what its arguments say so far, while they stream."""


_Told: TypeAlias = Callable[..., object]


@attrs.frozen(kw_only=True)
class ConversationCallbacks:
    """Whom a conversation tells what. Each is called after the change, synchronously; None is not called.

    A callback may look at the messages, answer a tool call or an approval. One that raises fails its conversation.
    """

    on_messages_change: Callable[[Sequence[UIMessage]], object] | None = None
    """(messages): once for each event that changed a message. The view is immutable and made when looked at."""
    on_stream_start: Callable[[], object] | None = None
    """(): the stream has its assistant message."""
    on_stream_end: Callable[[UIMessage | None], object] | None = None
    """(message): the stream has ended; None if its message was blank and is gone. Follows every stream_start."""
    on_error: Callable[[Exception], object] | None = None
    """(exc): a RunFailedError with what RUN_ERROR said."""
    on_tool_call: Callable[[str, str, Json], object] | None = None
    """(tool_call_id, tool_name, input): a tool of the client's is asked for."""
    on_approval_request: Callable[[str, str, Json, str], object] | None = None
    """(tool_call_id, tool_name, input, approval_id): the user is asked whether a tool may run."""
    on_text_update: Callable[[str, str], object] | None = None
    """(message_id, content): more of a segment is shown; `content` is the segment."""
    on_tool_call_state_change: Callable[[str, str, ToolCallState, str], object] | None = None
    """(message_id, tool_call_id, state, arguments): a call's state has changed or its arguments have grown."""
    on_thinking_update: Callable[[str, str], object] | None = None
    """(message_id, content): the thinking of a message, or of a step, has grown."""
    on_custom_event: Callable[[str, Any], object] | None = None
    """(name, data): a CUSTOM event that means nothing to a conversation."""
    on_state_change: Callable[[Json], object] | None = None
    """(state): the state beside the messages has changed."""


class Notices:
    """Collects what is to be told until a change is whole, then tells it: the messages first, then the details.

    Whoever is told may change the conversation again; that change is told before the rest of this one.
    """

    __slots__ = ("_calls", "_starts", "callbacks", "changed")

    def __init__(self, callbacks: ConversationCallbacks) -> None:
        self.callbacks = callbacks
        self.changed = False
        """Is there a change of the messages to tell of?"""
        self._starts = False
        self._calls: list[tuple[_Told, tuple[Any, ...]]] = []

    def add(self, told: _Told | None, *args: Any) -> None:
        """Have something told. An argument that is a function is called when it is time."""
        if told is not None:
            self._calls.append((told, args))

    def add_start(self) -> None:
        """Have it told that the stream has its message, before anything else."""
        self._starts = True

    def tell(self, view: Callable[[], Sequence[UIMessage]]) -> None:
        """Tell all that was collected."""
        callbacks = self.callbacks
        starts, changed, calls = self._starts, self.changed, self._calls
        self._starts = self.changed = False
        if calls:
            self._calls = []  # whatever is raised below: what was collected is told once
        if starts and callbacks.on_stream_start is not None:
            callbacks.on_stream_start()
        if changed and callbacks.on_messages_change is not None:
            callbacks.on_messages_change(view())
        for told, args in calls:
            told(*(arg() if callable(arg) else arg for arg in args))
