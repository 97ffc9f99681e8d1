"""The conversation of one run: hears what its machine says, knows what the model is told, and is kept at the end.

It is an actor without a task. The run feeds it in place, and those who follow it are told at once, so there is nothing
for a task to wait for; its last act, ending the stream, is run in place too.
"""

import contextlib
from collections.abc import Iterable

from turnwire.actors.conversation import Conversation
from turnwire.actors.conversation_actor import ConversationActor
from turnwire.actors.core.conversation_options import ConversationCallbacks
from turnwire.actors.core.run_opening import AnsweredCall
from turnwire.actors.engine_options import EngineOptions
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.errors import ApprovalAnsweredError, UnknownCallError
from turnwire.messages.own_ids import with_own_ids
from turnwire.messages.runs import ApprovalAnswer, RunInput
from turnwire.messages.ui import SavedConversation, UIMessage


class RunConversation:
    """The thread's messages while a run adds to them."""

    def __init__(self, run: RunInput, opening: SavedConversation, options: EngineOptions) -> None:
        callbacks = ConversationCallbacks() if options.callbacks is None else options.callbacks(run)
        self._actor = ConversationActor(
            run.thread_id, options.conversation, callbacks, opening, on_end=lambda _actor: None
        )
        self._actor.act(self._actor.machine.prepare_assistant_message, run.turn_id)
        self.face = Conversation(self._actor)
        """What others may look at and follow."""

    def hear(self, events: Iterable[AnyAguiEvent]) -> None:
        """Take events in. One that has failed hears nothing any more.

        Raises ProtocolError if a callback raises.
        """
        if self._actor.failure is None:
            self._actor.act(self._process, events)

    def note_approvals(self, answered: Iterable[AnsweredCall]) -> None:
        """Put what the user said on the calls it is about."""
        for each in answered:
            if isinstance(each.answer, ApprovalAnswer):
                with contextlib.suppress(ApprovalAnsweredError, UnknownCallError):  # it stands there already
                    answer = each.answer
                    self._actor.act(self._actor.machine.add_tool_approval_response, answer.approval_id, answer.approved)

    def told(self) -> tuple[UIMessage, ...]:
        """Give the messages as the model is told them."""
        return with_own_ids(self.face.save().messages)

    def finish(self) -> SavedConversation:
        """End the run's stream, and give what is to be kept."""
        if self._actor.failure is None:
            self._actor.act(self._actor.machine.finalize)
        return self.face.save()

    async def close(self) -> None:
        """Let those who follow it go. Does not wait for anything, cancelled or not."""
        self._actor.close()
        await self._actor.run()

    def _process(self, events: Iterable[AnyAguiEvent]) -> None:
        for event in events:
            self._actor.machine.process_event(event)
