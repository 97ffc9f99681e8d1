"""What a model is told, in nobody's words: one message for each time a side speaks. Frozen nouns only.

An assistant's UIMessage lasts a whole run, tools and all. A model wants it cut where the sides change: what the
assistant said, what the tools answered, what the assistant said then. The parts themselves stay what they are in the
UI, with all they carry, so that nothing is lost on the way back; only thinking is cut finer, because a UIMessage may
show in one place what was thought in several.
"""

from typing import Literal, TypeAlias

import attrs

from turnwire.messages.ui import MediaPart, ProviderData, TextPart, ToolCallPart, ToolResultPart

ModelRole: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]


@attrs.frozen(kw_only=True)
class Thought:
    """One step of thinking, where it was thought."""

    content: str
    step_id: str | None = None
    step: ProviderData | None = None
    """How the thinking part that shows this thought among others lists it; None if the part shows just this one."""
    part: int | None = None
    """Which part of its UIMessage that is, if `step` says that there is one."""
    provider_data: ProviderData | None = None
    """The thinking part's own, without its steps; on the first of its thoughts."""


ModelPart: TypeAlias = TextPart | Thought | ToolCallPart | ToolResultPart | MediaPart


@attrs.frozen(kw_only=True)
class ModelMessage:
    """What one side said in one go. An assistant's and the tools' messages of one UIMessage have its id in common."""

    role: ModelRole
    parts: tuple[ModelPart, ...] = ()
    message_id: str | None = None
    """The UIMessage this is, or is a segment of; None if it was read from a provider's request."""
    created_at: int | float | str | None = None
    provider_data: ProviderData | None = None
