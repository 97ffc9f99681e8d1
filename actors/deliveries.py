"""What a turn's sink is told: each emission named and put into words, counted once it is taken.

Whoever flushed the turn is answered here too, since that is when the sink has taken everything up to their mark.
"""

from collections.abc import Sequence

from turnwire.actors.commands import FlushTurn
from turnwire.actors.core.outbox import Emission, Outbox
from turnwire.actors.ports import EventIds, Timestamps
from turnwire.messages.folds import SnapshotFold
from turnwire.messages.output_codec import encode_output
from turnwire.messages.outputs import Output, StreamMessage
from turnwire.messages.quick_outputs import make_envelope


class Deliveries:
    """Between a turn's outbox and its writer."""

    __slots__ = ("_event_ids", "_flushes", "_seq", "_timestamps", "_turn_id", "fold", "outbox", "retries", "taken")

    def __init__(
        self, turn_id: str, outbox: Outbox, shown: Sequence[Output], *, timestamps: Timestamps, event_ids: EventIds
    ) -> None:
        self.outbox = outbox
        self.fold = SnapshotFold(shown)
        """What readers know."""
        self.taken = 0
        self.retries = 0
        self._turn_id = turn_id
        self._timestamps = timestamps
        self._event_ids = event_ids
        self._seq = 0
        self._flushes: tuple[FlushTurn, ...] = ()

    # For the writer

    def word(self, emission: Emission) -> StreamMessage:
        """Put an emission into words, under the id that it keeps from its first try on."""
        try:
            if not emission.event_id:
                self._seq += 1
                emission.event_id = self._event_ids(self._turn_id, self._seq)
            at = self._timestamps(emission.at)
            return make_envelope(emission.event_id, at, self._turn_id, encode_output(emission.output))
        except Exception:
            self.outbox.give_up(emission)  # it would fail again, and stand in the way of the turn_error
            raise

    def note_retry(self) -> None:
        """Count a message that is handed to the sink again."""
        self.retries += 1

    def note_taken(self, emissions: Sequence[Emission], *, now: float) -> None:
        """Note what the sink has taken, the oldest in flight: readers know it now."""
        self.outbox.delivered(now=now, count=len(emissions))
        self.taken += len(emissions)
        for emission in emissions:
            self.fold.push(emission.output)
        if self._flushes:
            self.answer_flushes()

    # For the turn

    def await_flush(self, flush: FlushTurn) -> None:
        """Answer a flush when all that was made so far is taken."""
        flush.mark = self.outbox.made
        self._flushes += (flush,)

    def answer_flushes(self) -> None:
        """Answer those who wait for nothing any more."""
        while self._flushes and not self.outbox.holds_up_to(self._flushes[0].mark):
            self._flushes[0].done.set()
            self._flushes = self._flushes[1:]

    def end(self) -> int:
        """Let go of what was not delivered, and of those who wait for it; say how many emissions that were."""
        for flush in self._flushes:
            flush.done.set()
        self._flushes = ()
        return self.outbox.clear()
