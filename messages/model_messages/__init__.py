"""Conversations as models are told them: UIMessages ⇄ model messages ⇄ the requests of each provider."""

from turnwire.messages.model_messages.answers import DENIED, NO_RESULT, Pending
from turnwire.messages.model_messages.media import Unsendable
from turnwire.messages.model_messages.model import ModelMessage, ModelPart, ModelRole, Thought
from turnwire.messages.model_messages.requests import make_request, read_request
from turnwire.messages.model_messages.segments import to_model_messages, to_ui_messages

__all__ = [
    "DENIED",
    "NO_RESULT",
    "ModelMessage",
    "ModelPart",
    "ModelRole",
    "Pending",
    "Thought",
    "Unsendable",
    "make_request",
    "read_request",
    "to_model_messages",
    "to_ui_messages",
]
