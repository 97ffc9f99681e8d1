"""What a worker counts of itself: plain numbers, read by whoever reports them."""

import attrs


@attrs.define
class WorkerCounts:
    """Numbers since the worker was started."""

    claimed: int = 0
    """Turns that became ours by their fence."""
    recovered: int = 0
    """Of those the ones that had another owner before."""
    fenced: int = 0
    """Turns that another worker took from us, or got before us: left to it."""
    finished: int = 0
    """Turns whose terminal is in their log, and that are out of the queue."""
    stalled: int = 0
    """Turns ended with TURN_STALLED: their producer was silent for too long."""
    handed_over: int = 0
    """Turns left to others when the worker was told to stop."""
    let_go: int = 0
    """Turns that failed without a terminal in their log: they wait in the queue for another try."""
    invalid_events: int = 0
    """Entries of log A that are no events; their turns went on without them."""
    repeated: int = 0
    """Announcements of a turn that was being worked on here already."""
    disconnects: int = 0
    """How often the queue could not be reached."""
