"""What the events of a response must say to be believed (C2, C7 to C13, C17): prompt, calls, usage, and how it ended.

Their order is checked in messages/providers/contract.py. C14 to C16 speak of what an adapter reads, not of what it
says: no stream of events can break them.
"""

from turnwire.messages.events import (
    FinalFunctionCall,
    FinalMessage,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    Payload,
    ResponseDone,
    ResponseError,
    UnknownPayload,
    Usage,
    UsageUpdate,
)
from turnwire.messages.json_shapes import is_object
from turnwire.messages.providers.endings import FINISH_REASONS, INCOMPLETE_ARGUMENTS, STREAM_TRUNCATED
from turnwire.messages.providers.item import is_json_object

_STATUSES = frozenset({"complete", "error", "aborted"})


class BreachError(Exception):
    """A rule is broken by the payload in hand. Caught by the checker, which knows where in the stream that is."""

    def __init__(self, rule: str, problem: str):
        self.rule = rule
        self.problem = problem
        super().__init__(f"{rule}: {problem}")


class PayloadRules:
    """Remembers of a response what its later payloads are judged by."""

    def __init__(self, *, continued: bool) -> None:
        self._continued = continued
        self._items = 0
        self._prompt_id: str | None = None
        self._call_origins: set[str | None] = set()
        self._last_call: FinalFunctionCall | None = None
        self._last_errors: list[str] = []
        self._usage: Usage | None = None

    def check(self, payload: Payload, run_id: str) -> None:
        """Judge the next payload. Raises BreachError."""
        match payload:
            case ItemStart():
                self._check_start(payload, f"{run_id}-user-prompt")
            case ItemDone():
                self._check_done(payload)
            case ItemError():
                self._last_errors.append(payload.error.code)
            case UsageUpdate():
                self._check_usage(payload.usage)
            case ResponseDone():
                self._check_end(payload)
            case ResponseError():
                self._check_break(payload)
            case UnknownPayload():
                raise BreachError("C7", f"a payload of the unknown type {payload.type!r}")
            case _:
                pass
        if isinstance(payload, ItemStart | ItemDelta | ItemDone):
            _require(STREAM_TRUNCATED not in self._last_errors, "C8", "the stream goes on after it was truncated")
            self._last_errors.clear()

    def _check_start(self, start: ItemStart, prompt_id: str) -> None:
        self._items += 1
        if start.item_type == "function_call":
            self._call_origins.add(start.origin)
        is_prompt = start.origin == "user" or start.item_id == prompt_id
        if not is_prompt:
            return
        self._prompt_id = start.item_id
        _require(not self._continued, "C2", "the prompt is told again in a later iteration")
        _require(self._items == 1, "C2", "the prompt is not the first item")
        _require(start.item_id == prompt_id, "C2", f"the prompt is item {start.item_id}, not {prompt_id}")
        _require(start.item_type == "message", "C2", f"the prompt is a {start.item_type}")
        _require(bool(start.initial_content), "C2", "the prompt has no initial_content")

    def _check_done(self, done: ItemDone) -> None:
        final = done.final_item
        self._last_call = None
        match final:
            case FinalMessage():
                is_prompt = done.item_id == self._prompt_id
                _require(is_prompt == (final.origin == "user"), "C2", f"item {done.item_id} has origin {final.origin}")
            case FinalFunctionCall():
                said = bool(final.arguments and final.arguments.strip())
                _require(said, "C11", f"the arguments of call {final.call_id} are empty, not {{}}")
                self._last_call = final
            case _:
                pass

    def _check_usage(self, usage: Usage | None) -> None:
        if usage is None:
            return
        cached = (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0)
        whole = usage.prompt_tokens is None or cached <= usage.prompt_tokens
        _require(whole, "C12", f"{cached} cached tokens are more than the whole prompt of {usage.prompt_tokens}")
        before, self._usage = self._usage, usage
        if before is None:
            return
        for field in ("prompt_tokens", "completion_tokens", "total_tokens"):
            was, now = getattr(before, field), getattr(usage, field)
            _require(was is None or now is None or now >= was, "C12", f"{field} went back from {was} to {now}")

    def _check_end(self, done: ResponseDone) -> None:
        self._check_usage(done.usage)
        reason, errors = done.finish_reason, self._last_errors
        _require(done.status in _STATUSES, "C13", f"status {done.status!r} is no end")
        known = reason in FINISH_REASONS or (reason is None and done.status != "complete")
        _require(known, "C13", f"finish_reason {reason!r} with status {done.status}")
        _require(STREAM_TRUNCATED not in errors, "C8", "a response_done although the stream was truncated")
        given_up = [code for code in errors if code != INCOMPLETE_ARGUMENTS]
        _require(done.status != "aborted" or not given_up, "C9", f"items were closed by {given_up} at an abort")
        call = self._last_call
        whole = reason != "length" or call is None or is_json_object(call.arguments or "")
        _require(whole, "C11", f"call {call.call_id if call else ''} was cut off and is passed on as if it were whole")
        ours = reason != "tool_calls" or self._call_origins != {"provider"}
        _require(ours, "C17", "the finish_reason is tool_calls, and only the provider's own tools were called")

    def _check_break(self, end: ResponseError) -> None:
        code, details = end.error.code, end.error.details
        told = is_object(details) and isinstance(details.get("retryable"), bool)
        _require(told, "C10", "the error's details do not say whether it is retryable")
        rule = "C8" if STREAM_TRUNCATED in (code, *self._last_errors) else "C10"
        for other in self._last_errors:
            same = other in (code, INCOMPLETE_ARGUMENTS)
            _require(same, rule, f"an open item was closed by {other}, and the response by {code}")


def _require(holds: bool, rule: str, problem: str) -> None:
    if not holds:
        raise BreachError(rule, problem)
