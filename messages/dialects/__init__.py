"""The same stream in other words: StreamEvents and outputs as AG-UI, and AG-UI as StreamEvents. All pure."""

from turnwire.messages.dialects.agui_to_events import AguiAdapter, agui_to_events
from turnwire.messages.dialects.events_to_agui import EventsToAgui, events_to_agui
from turnwire.messages.dialects.outputs_to_agui import OutputsToAgui, outputs_to_agui
from turnwire.messages.dialects.turn_messages import turn_messages

__all__ = [
    "AguiAdapter",
    "EventsToAgui",
    "OutputsToAgui",
    "agui_to_events",
    "events_to_agui",
    "outputs_to_agui",
    "turn_messages",
]
