"""A conversation of one's own: opened for a block, without a runtime around it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import trio

from turnwire.actors.backend import HOSTED_INSTEAD, require_trio
from turnwire.actors.conversation import Conversation
from turnwire.actors.conversation_actor import ConversationActor
from turnwire.actors.core.conversation_options import ConversationCallbacks, ConversationOptions
from turnwire.messages.ui import SavedConversation
from turnwire.runtime.beside import run_beside


@asynccontextmanager
async def open_conversation(
    thread_id: str,
    *,
    options: ConversationOptions | None = None,
    callbacks: ConversationCallbacks | None = None,
    saved: SavedConversation | None = None,
) -> AsyncGenerator[Conversation, None]:
    """Open one conversation. `saved` is what an earlier one was saved as.

    A host with many of them opens them in its runtime (`runtime.open_conversation`), which looks after them together.
    Leaving the block processes what was sent and ends the stream. If a callback has raised, that comes out as a
    ProtocolError with the callback's error as its cause.
    """
    require_trio("open_conversation", instead=HOSTED_INSTEAD)
    actor = ConversationActor(
        thread_id,
        options or ConversationOptions(),
        callbacks or ConversationCallbacks(),
        saved or SavedConversation(),
        on_end=lambda _actor: None,
    )
    conversation = Conversation(actor)
    async with run_beside(partial(_run_shielded, actor), conversation.end, name=f"conversation {thread_id}"):
        yield conversation
    actor.raise_failure()


async def _run_shielded(
    actor: ConversationActor, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Run it whatever becomes of the host: ending it takes no time, and a cancelled host's text is not lost."""
    with trio.CancelScope(shield=True):
        task_status.started()
        await actor.run()
