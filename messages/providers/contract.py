"""The contract of a StreamEvent stream (C1 to C17), as a checker that names the first event that breaks it.

For the tests of anybody who writes an adapter: `check_contract(events)` is silent or raises `ContractError`. Here
stands the order of the events (C1, C3 to C6); what each of them may say is in messages/providers/contract_payloads.py.
"""

from collections.abc import Iterable

from turnwire.messages.event_codec import check_event
from turnwire.messages.events import (
    FinalFunctionCall,
    FinalItem,
    FinalMessage,
    FinalReasoning,
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    ResponseDone,
    ResponseError,
    ResponseStart,
    StreamEvent,
    TurnAbortedByUser,
)
from turnwire.messages.providers.contract_payloads import BreachError, PayloadRules


class ContractError(AssertionError):
    """A stream of events breaks a rule. Seen by whoever wrote the adapter that made it."""

    def __init__(self, rule: str, position: int, event_id: str | None, problem: str):
        self.rule = rule
        self.position = position
        """Where in the stream, from 0; its length if something is missing at the end."""
        self.event_id = event_id
        """Which event; one of AG-UI has no id of its own, so its type and the ids it names."""
        where = f"event {position} ({event_id})" if event_id else "the end"
        super().__init__(f"{rule}: {where}: {problem}")


def check_contract(events: Iterable[StreamEvent], *, continued: bool = False) -> None:
    """Check one response from its start to its terminal; `continued` for a later iteration of a tool loop."""
    checker = ContractChecker(continued=continued)
    for event in events:
        checker.push(event)
    checker.end()


class ContractChecker:
    """Checks a response event by event, for streams that are still running."""

    def __init__(self, *, continued: bool = False) -> None:
        self._position = -1
        self._event_id: str | None = None
        self._started = continued
        self._run_id = ""
        self._ended = False
        self._event_ids: set[str] = set()
        self._open: dict[str, list[str]] = {}
        self._closed: set[str] = set()
        self._payloads = PayloadRules(continued=continued)

    def push(self, event: StreamEvent) -> None:
        """Take the next event. Raises ContractError if it may not come here, InvalidEventError if it is malformed."""
        self._position += 1
        self._event_id = event.event_id
        check_event(event)
        self._check_envelope(event)
        payload = event.payload
        match payload:
            case ResponseStart():
                self._require(not self._started, "C1", "a second response_start")
                self._started = True
            case ItemStart(item_id=item_id):
                unused = item_id not in self._open and item_id not in self._closed
                self._require(unused, "C6", f"item {item_id} is started a second time")
                self._open[item_id] = [payload.initial_content or payload.arguments or ""]
            case ItemDelta(item_id=item_id):
                self._require(item_id in self._open, "C4", f"a delta for item {item_id}, which is not open")
                self._open[item_id].append(payload.delta_content)
            case ItemDone():
                self._check_sum(payload.final_item, "".join(self._close(payload.item_id)))
            case ItemError(item_id=item_id) | ItemCancelled(item_id=item_id):
                self._close(item_id)
            case ResponseDone() | ResponseError() | TurnAbortedByUser():
                self._require(not self._open, "C4", f"items are still open: {', '.join(self._open)}")
                self._ended = True
            case _:
                pass
        try:
            self._payloads.check(payload, self._run_id)
        except BreachError as breach:
            raise ContractError(breach.rule, self._position, self._event_id, breach.problem) from None

    def end(self) -> None:
        """Take the end of the stream. Raises ContractError if something is missing."""
        self._position += 1
        self._event_id = None
        self._require(self._started, "C1", "no response_start")
        self._require(self._ended, "C3", "no terminal")

    def _check_envelope(self, event: StreamEvent) -> None:
        self._require(not self._ended, "C3", "an event after the terminal")
        self._require(self._started or isinstance(event.payload, ResponseStart), "C1", "not a response_start")
        self._run_id = self._run_id or event.run_id
        self._require(event.run_id == self._run_id, "C1", f"run_id {event.run_id!r} in the run {self._run_id!r}")
        self._require(event.event_id not in self._event_ids, "C6", "an event_id that was used before")
        self._event_ids.add(event.event_id)

    def _close(self, item_id: str) -> list[str]:
        self._require(item_id in self._open, "C4", f"the end of item {item_id}, which is not open")
        self._closed.add(item_id)
        return self._open.pop(item_id)

    def _check_sum(self, final: FinalItem, sent: str) -> None:
        text = _text_of(final)
        fits = text is None or text == sent or not text.startswith(sent)
        self._require(fits, "C5", f"the deltas of item {final.id} stop short of its final text")

    def _require(self, holds: bool, rule: str, problem: str) -> None:
        if not holds:
            raise ContractError(rule, self._position, self._event_id, problem)


def _text_of(final: FinalItem) -> str | None:
    match final:
        case FinalMessage() | FinalReasoning():
            return final.content
        case FinalFunctionCall():
            return final.arguments
        case _:
            return None  # an output comes whole, with its item_done
