"""What a log counts of itself: plain numbers, read by whoever reports them."""

import attrs


@attrs.define
class LogCounts:
    """Numbers since the log was opened."""

    appended: int = 0
    """Outputs that are in the log because of us."""
    landed: int = 0
    """Outputs that were in the log already when they were appended again: an acknowledgement had been lost."""
    raw_appended: int = 0
    """Raw events written."""
    rounds: int = 0
    """Round trips that carried appends; appended / rounds says how well they are grouped."""
    failed: int = 0
    """Appends that could not be settled because the server was away; their writers try again."""
    fenced: int = 0
    """Appends and claims that were refused because another owner has the turn."""
    claimed: int = 0
    connects: int = 0
    """Connections that the writer has opened: 1 as long as none was lost."""
    healed: int = 0
    """Acknowledged entries that the server had lost and that were appended again."""
    lost: int = 0
    """Logs found to lack entries older than what is kept: these cannot be put back from here."""
