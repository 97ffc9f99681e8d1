"""What has changed in a conversation, as whoever follows it is told: always the whole new state. Frozen nouns only."""

from typing import TypeAlias

import attrs

from turnwire.messages.particulars import Json
from turnwire.messages.ui import UIMessage


@attrs.frozen(kw_only=True)
class MessageChanged:
    """A message is new, or has a new state. Which, its id says."""

    message: UIMessage


@attrs.frozen(kw_only=True)
class MessageRemoved:
    """A message that held nothing is gone."""

    message_id: str


@attrs.frozen(kw_only=True)
class MessagesReplaced:
    """All messages were replaced by others."""

    messages: tuple[UIMessage, ...]


@attrs.frozen(kw_only=True)
class StateChanged:
    """The state beside the messages has changed."""

    state: Json


ConversationChange: TypeAlias = MessageChanged | MessageRemoved | MessagesReplaced | StateChanged
