"""Whether the outputs in log B are what the events in log A call for: nothing lost or repeated, in order, with one end.

What must be, each named by its rule:

- ids: entry ids ascend; an entry's eventId is `<turn_id>:<entry id>`; within an epoch seq counts 1, 2, 3 without a gap,
  since it is given when an entry is written. epochs: nothing of an older owner after the fence of a newer one.
- envelope: every entry can be read, and carries the turn's own ids.
- terminal: exactly one, the one that log A has first, and nothing but fences after it. An end of our own
  (TURN_STALLED, ...) cuts log A: what came after it is not judged. started: turn_started once, if there was one, and
  first if its event was.
- statuses, wrong, lost, repeated: see items.py.
- order: ends of items and creates of calls stand in the order of the events that caused them. Texts on their way may
  stand elsewhere: timeouts and sinks that are behind move them.
"""

from collections.abc import Sequence

from turnwire.messages.errors import InvalidEventError
from turnwire.messages.event_codec import decode_event
from turnwire.messages.events import (
    Payload,
    ResponseDone,
    ResponseError,
    ResponseStart,
    TurnAbortedByUser,
    Usage,
    UsageUpdate,
)
from turnwire.messages.json_text import mend_surrogates
from turnwire.messages.output_codec import decode_output
from turnwire.messages.outputs import (
    Message,
    Output,
    Thinking,
    ToolCall,
    TurnComplete,
    TurnError,
    TurnStarted,
    TurnUsage,
)
from turnwire.runtime.check.envelopes import check_envelopes
from turnwire.runtime.check.implied import CheckLimits, ImpliedItems
from turnwire.runtime.check.items import cause_of, check_item
from turnwire.runtime.check.violation import OutputEntry, RawEvent, Rule, Violation

OWN_ENDS = frozenset({"TURN_STALLED", "TURN_CLOSED", "TURN_TIMEOUT", "ENGINE_LOST", "NO_ENGINE"})
"""Codes under which a service ends a turn by itself. INTERNAL_ERROR is none of them: a crash is a violation."""


def judge(
    turn_id: str,
    events: Sequence[RawEvent],
    entries: Sequence[OutputEntry],
    *,
    thread_id: str | None = None,
    limits: CheckLimits | None = None,
) -> list[Violation]:
    """Give everything that is wrong with the logs of a finished turn; nothing, if all is well."""
    violations = check_envelopes(turn_id, entries)
    readable: list[tuple[OutputEntry, Output]] = []
    for entry in entries:
        if entry.payload is None:
            continue
        try:
            output = decode_output(entry.payload)
        except ValueError as exc:
            violations.append(Violation(turn_id, entry.entry, "envelope", f"its payload is no output: {exc}"))
            continue
        if output.turn_id != turn_id or (thread_id is not None and output.thread_id != thread_id):
            ids = f"turn {output.turn_id!r}, thread {output.thread_id!r}"
            violations.append(Violation(turn_id, entry.entry, "envelope", f"its payload is of {ids}"))
        readable.append((entry, output))
    payloads = _payloads(events)
    if (cut := _cut(readable, payloads)) is not None:
        payloads = _payloads(events, cut)
    return violations + _Case(turn_id, payloads, readable, limits or CheckLimits()).violations()


def _cut(readable: list[tuple[OutputEntry, Output]], payloads: list[Payload]) -> int | None:
    """Give the millisecond after which log A is not judged, if the service has ended the turn by itself.

    An end that a producer has put into log A under one of these codes (TURN_CLOSED) is an event like any other.
    """
    for entry, output in readable:
        if isinstance(output, TurnError) and output.error.code in OWN_ENDS:
            in_log = (it.error for it in payloads if isinstance(it, ResponseError))
            if any((error.code, error.message) == (output.error.code, output.error.message) for error in in_log):
                return None
            return entry.timestamp
    return None


def _payloads(events: Sequence[RawEvent], cut: int | None = None) -> list[Payload]:
    """Read log A up to the cut, repeated events once. What is no event is nobody's: its producer was told."""
    seen: set[str] = set()
    payloads: list[Payload] = []
    for raw in events:
        if cut is not None and int(raw.entry.partition("-")[0]) > cut:
            break
        try:
            event = decode_event(raw.event)
        except InvalidEventError:
            continue
        if event.event_id not in seen:
            seen.add(event.event_id)
            payloads.append(event.payload)
    return payloads


class _Case:
    """One turn before the judge."""

    def __init__(
        self, turn_id: str, payloads: list[Payload], outputs: list[tuple[OutputEntry, Output]], limits: CheckLimits
    ) -> None:
        self._turn_id = turn_id
        self._outputs = outputs
        self._found: list[Violation] = []
        self._items = ImpliedItems(limits)
        self._start: ResponseStart | None = None
        self._start_is_first = False
        self._usage: Usage | None = None
        self._end: ResponseDone | ResponseError | TurnAbortedByUser | None = None
        for at, payload in enumerate(payloads):
            match payload:
                case ResponseStart():
                    self._start_is_first = self._start_is_first or at == 0
                    self._start = self._start or payload
                case UsageUpdate():
                    self._usage = payload.usage
                case ResponseDone() | ResponseError() | TurnAbortedByUser():
                    self._end = payload
                    break
                case _:
                    self._items.read(payload, at)

    def violations(self) -> list[Violation]:
        self._check_terminal()
        self._check_started()
        by_item: dict[str, list[tuple[OutputEntry, Message | Thinking | ToolCall]]] = {}
        for entry, output in self._outputs:
            if isinstance(output, Message | Thinking | ToolCall):
                by_item.setdefault(output.item_id, []).append((entry, output))
        for item_id, item in self._items.items.items():
            self._found += check_item(self._turn_id, item, by_item.pop(item_id, []))
        for item_id, states in by_item.items():
            self._complain("wrong", f"log A has no item {item_id}", states[0][0])
        self._check_order()
        return self._found

    def _check_terminal(self) -> None:
        terminals = [one for one in self._outputs if isinstance(one[1], TurnComplete | TurnError)]
        if not terminals:
            self._complain("terminal", "there is none")
            return
        entry, terminal = terminals[0]
        for other, _ in terminals[1:]:
            self._complain("terminal", f"a second one; the first is {entry.entry}", other)
        for other, output in self._outputs[self._outputs.index((entry, terminal)) + 1 :]:
            if not isinstance(output, TurnComplete | TurnError):
                self._complain("terminal", f"an entry after the terminal {entry.entry}", other)
        if (problem := self._terminal_problem(terminal)) is not None:
            self._complain("terminal", problem, entry)

    def _terminal_problem(self, terminal: Output) -> str | None:
        match self._end, terminal:
            case None, TurnError(error=error) if error.code in OWN_ENDS:
                return None
            case ResponseError(error=wanted), TurnError(error=error):
                if (error.code, error.message) == (mend_surrogates(wanted.code), mend_surrogates(wanted.message)):
                    return None
            case TurnAbortedByUser(), TurnComplete(status="aborted"):
                return None
            case ResponseDone(status=word, usage=usage), TurnComplete():
                status = word if word in ("error", "aborted") else "complete"
                if (terminal.status, terminal.usage) == (status, _usage(usage) or _usage(self._usage)):
                    return None
            case _:
                pass
        return f"log A calls for {self._end or 'an end of our own'}, but it is {terminal}"

    def _check_started(self) -> None:
        starts = [one for one in self._outputs if isinstance(one[1], TurnStarted)]
        if self._start is None:
            for entry, _ in starts:
                self._complain("started", "log A has no response_start", entry)
            return
        if not starts:
            self._complain("started", "turn_started is missing")
            return
        entry, started = starts[0]
        for other, _ in starts[1:]:
            self._complain("started", f"a second one; the first is {entry.entry}", other)
        wanted = TurnStarted(
            turn_id=started.turn_id,
            thread_id=started.thread_id,
            model_id=mend_surrogates(self._start.model_id),
            provider_id=mend_surrogates(self._start.provider_id),
        )
        if started != wanted:
            self._complain("started", f"log A calls for {wanted}, but it is {started}", entry)
        if self._start_is_first and self._outputs[0][1] is not started:
            self._complain("started", "something stands before it", entry)

    def _check_order(self) -> None:
        """Hold everything with one known cause to the order of the causes."""
        latest, latest_entry = -1, ""
        for entry, output in self._outputs:
            if isinstance(output, Message | Thinking | ToolCall) and output.item_id in self._items.items:
                cause = cause_of(self._items.items[output.item_id], output)
                if cause is None:
                    continue
                if cause < latest:
                    self._complain("order", f"what caused it comes before what caused {latest_entry}", entry)
                else:
                    latest, latest_entry = cause, entry.entry

    def _complain(self, rule: Rule, problem: str, entry: OutputEntry | None = None) -> None:
        self._found.append(Violation(self._turn_id, "" if entry is None else entry.entry, rule, problem))


def _usage(usage: Usage | None) -> TurnUsage | None:
    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    total = usage.prompt_tokens + usage.completion_tokens if usage.total_tokens is None else usage.total_tokens
    return TurnUsage(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens, total_tokens=total)
