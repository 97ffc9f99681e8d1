"""Reading a turn from a service in Python: over connections that break, and from services that refuse."""

import json
from contextlib import aclosing
from typing import Any

import pytest

from tests.kit.loopback import Answer, open_loopback
from turnwire.actors.core.retry import RetryPolicy
from turnwire.messages.entries import EntryId
from turnwire.messages.output_codec import unstructure_output
from turnwire.messages.outputs import Message, Output, TurnComplete, TurnStarted
from turnwire.messages.sse import ServerSentEvent
from turnwire.runtime.turn_client import ReadingPlace, ReadOutput, RefusedError, read_turn

IDS: dict[str, Any] = {"turn_id": "t", "thread_id": "th"}
STARTED = TurnStarted(**IDS)
COMPLETE = TurnComplete(**IDS, status="complete")
TOKEN = "a-token"  # noqa: S105  # of nothing
AT_ONCE = RetryPolicy(attempts=None, base=0.0, longest=0.0)


def message(content: str) -> Message:
    return Message(**IDS, item_id="m", status="update", content=content, origin="agent")


def entry(entry_id: str, output: Output) -> bytes:
    return f"id: {entry_id}\ndata: {json.dumps(unstructure_output(output))}\n\n".encode()


def event(entry_id: str, output: Output, name: str = "") -> ServerSentEvent:
    return ServerSentEvent(data=json.dumps(unstructure_output(output)), name=name, last_id=entry_id)


async def read_all(url: str, **options: Any) -> list[ReadOutput]:
    async with aclosing(read_turn(url, "t", retry=AT_ONCE, **options)) as reads:
        return [read async for read in reads]


async def test_a_turn_is_read_to_its_end_over_broken_connections() -> None:
    """Cut in the middle, ended too early, away for a while: the reader comes back behind what it has."""
    answers = [
        Answer(body=[entry("1-1", STARTED), entry("1-2", message("H")), b"id: 1-3\ndata: {"], then="die"),
        Answer(status=503),
        Answer(body=[entry("1-3", message("He"))]),
        Answer(body=[b": quiet\n\n", entry("1-3", message("He")), entry("1-4", COMPLETE)]),
    ]
    troubles: list[str] = []

    def note(problem: str, _wait: float) -> None:
        troubles.append(problem)

    async with open_loopback(lambda number: answers[number]) as service:
        read = await read_all(service.url, token=TOKEN, on_trouble=note)
    assert [(each.id, each.output) for each in read] == [
        ("1-1", STARTED),
        ("1-2", message("H")),
        ("1-3", message("He")),
        ("1-4", COMPLETE),
    ]
    assert not any(each.rewound for each in read)
    assert [request.target.partition("?")[2] for request in service.requests] == [
        "",
        "from=1-2",
        "from=1-2",
        "from=1-3",
    ]
    assert service.requests[0].target == "/xapi/turns/t/stream"
    assert {request.headers["authorization"] for request in service.requests} == {f"Bearer {TOKEN}"}
    assert troubles[1:] == ["the service answered 503", "the stream ended before the turn did"]


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refusal_is_final_and_says_why(status: int) -> None:
    """The service's own words come through."""
    body = b'{"error": {"code": "not_found", "message": "no such turn"}}'
    async with open_loopback(lambda _: Answer(status=status, body=[body])) as service:
        with pytest.raises(RefusedError, match="turn 't': no such turn") as caught:
            await read_all(service.url)
    assert caught.value.status == status
    assert len(service.requests) == 1


async def test_a_turn_that_was_read_to_its_end_gives_nothing() -> None:
    """The service says so with an empty answer."""
    async with open_loopback(lambda _: Answer(status=204)) as service:
        assert await read_all(service.url, after=EntryId(1, 9)) == []
    assert service.requests[0].target.endswith("?from=1-9")


def test_a_log_that_lost_something_is_told_anew() -> None:
    """By the service's word, or by ids that go back."""
    for told in (True, False):
        place = ReadingPlace()
        place.take(event("1-5", message("lost")))
        if told:
            assert place.take(ServerSentEvent(data='{"type":"rewound"}', name="rewound", last_id="1-5")) is None
        first, second = place.take(event("1-1", STARTED)), place.take(event("1-2", COMPLETE))
        assert first is not None
        assert second is not None
        assert (first.rewound, second.rewound, place.is_over) == (True, False, True)


def test_what_this_version_does_not_know_is_passed_over() -> None:
    """A newer service may say more."""
    place = ReadingPlace()
    assert place.take(ServerSentEvent(data='{"type":"new"}', last_id="1-1")) is None
    assert place.take(ServerSentEvent(data="[DONE]")) is None
    assert place.cursor == EntryId(0, 0)
