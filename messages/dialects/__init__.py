"""The same stream in other words: StreamEvents as AG-UI and back, outputs as AG-UI, ui-message or upsert. All pure."""

from turnwire.messages.dialects.agui_to_events import AguiAdapter, agui_to_events
from turnwire.messages.dialects.events_to_agui import EventsToAgui, events_to_agui
from turnwire.messages.dialects.outputs_to_agui import OutputsToAgui, outputs_to_agui
from turnwire.messages.dialects.turn_messages import turn_messages
from turnwire.messages.dialects.ui_message import OutputsToUiMessage, outputs_to_ui_message
from turnwire.messages.dialects.upsert import OutputsToUpsert, outputs_to_upsert

__all__ = [
    "AguiAdapter",
    "EventsToAgui",
    "OutputsToAgui",
    "OutputsToUiMessage",
    "OutputsToUpsert",
    "agui_to_events",
    "events_to_agui",
    "outputs_to_agui",
    "outputs_to_ui_message",
    "outputs_to_upsert",
    "turn_messages",
]
