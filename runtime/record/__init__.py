"""Streams kept with their timing: recorded as they come, and played again when it is their time."""

from turnwire.runtime.record.lines import apply_line, send_line
from turnwire.runtime.record.playing import play, play_conversation, play_turn
from turnwire.runtime.record.recording import (
    Recorded,
    Recorder,
    load_demo,
    load_recording,
    open_recorder,
    read_recording,
    record,
)

__all__ = [
    "Recorded",
    "Recorder",
    "apply_line",
    "load_demo",
    "load_recording",
    "open_recorder",
    "play",
    "play_conversation",
    "play_turn",
    "read_recording",
    "record",
    "send_line",
]
