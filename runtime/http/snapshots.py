"""A turn at a glance: its state, and the folded outputs as a reader of its stream ends up with them."""

from functools import partial
from typing import Any, Literal, TypeAlias

from turnwire.messages.entries import Entry
from turnwire.messages.folds import SnapshotFold
from turnwire.messages.json_text import parse_json
from turnwire.messages.output_codec import unstructure_output
from turnwire.messages.peek import peek_output
from turnwire.runtime.logs import TurnLog
from turnwire.runtime.logs.paging import output_of, read_through
from turnwire.runtime.observe import get_logger

log = get_logger("turnwire.http")

State: TypeAlias = Literal["waiting", "running", "complete", "error", "aborted"]
STATES: tuple[State, ...] = ("waiting", "running", "complete", "error", "aborted")


def state_of(newest: Entry | None) -> State:
    """Say how a turn stands, from the newest entry of its log: nothing follows a terminal."""
    if newest is None:
        return "waiting"
    payload = newest.message.payload
    match peek_output(payload).type:
        case "turn_error":
            return "error"
        case "turn_complete":
            status = parse_json(payload).get("status")
            return status if status in STATES else "complete"
        case _:
            return "running"


async def read_snapshot(turn_log: TurnLog, turn_id: str) -> dict[str, Any]:
    """Read a turn's log and fold it: its state, the id to follow it from, and the outputs, in order."""
    fold = SnapshotFold()

    def take(entry: Entry) -> None:
        if (output := output_of(entry, log)) is not None:
            fold.push(output)

    last = await read_through(partial(turn_log.read, turn_id), take)
    return {
        "turnId": turn_id,
        "state": state_of(last),
        "lastEventId": None if last is None else str(last.id),
        "outputs": [unstructure_output(output) for output in fold.snapshot().outputs],
    }
