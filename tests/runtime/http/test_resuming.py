"""Coming back in the middle: from every event of a turn, in every dialect, a reader ends up with the same."""

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import attrs
import pytest
import trio

from tests.kit.logs import envelope
from tests.kit.recordings import adapt, load_recordings
from tests.kit.service import Asked, open_asked
from tests.kit.turns import answered, begin, called, delta, finished, said, started, thought
from turnwire.actors.core.options import TurnOptions
from turnwire.messages.events import StreamEvent
from turnwire.messages.outputs import Message, Output, TurnComplete, TurnStarted
from turnwire.messages.sse import ServerSentEvent
from turnwire.runtime.host import open_runtime
from turnwire.runtime.http.tellers import DIALECTS, Dialect
from turnwire.runtime.record import load_demo


def fold(dialect: Dialect, events: Sequence[ServerSentEvent]) -> Any:
    """Give what a client of this dialect ends up with."""
    documents = [json.loads(event.data) for event in events if event.data != "[DONE]" and not event.name]
    if dialect == "native":
        return {it.get("itemId", it["type"]): it for it in documents}
    if dialect == "upsert":
        return {(it.get("itemId"), it.get("itemType"), it["type"]): it for it in documents}
    return _fold_deltas(documents)


def _fold_deltas(documents: Iterable[dict[str, Any]]) -> list[Any]:
    """Join what is told in pieces: by type and id, in order of first sight; everything else as it is."""
    told: dict[Any, Any] = {}
    for it in documents:
        name = it.get("messageId") or it.get("toolCallId") or it.get("id")
        piece = it.get("delta", it.get("inputTextDelta"))
        if piece is None:
            key = (it["type"], name, len(told)) if name is None else (it["type"], name)
            assert key not in told, f"told twice: {it}"
            told[key] = it
        else:
            key = (it["type"], name)
            told[key] = told.get(key, "") + piece
    return list(told.items())


async def record(asked: Asked, events: Iterable[Any], turn: str) -> None:
    """Have a turn in the service's log, with as many states as it can have."""
    options = TurnOptions(batch_gradient=(1,), outbox_limit=100_000)

    async def one_by_one() -> AsyncIterator[Any]:
        for event in events:
            yield event
            await trio.testing.wait_all_tasks_blocked()  # what it makes is emitted before the next one comes

    async with open_runtime(sink=asked.running.service.backend.log, options=options) as runtime:
        await runtime.run_turn(one_by_one(), turn_id=turn, thread_id="th", on_invalid=lambda _: None)


async def check_every_place(asked: Asked, path: str, dialect: Dialect) -> int:
    """Cut after every event; in dialects of whole states, where places hardly differ, after some of many."""
    every = await asked.events(path)
    whole = fold(dialect, every)
    for number, event in enumerate(every[:-1], start=1):
        seen = every[:number]
        if dialect in ("native", "upsert") and len(every) > 40 and number % 5:
            continue
        if event.last_id == every[-1].last_id:
            continue  # the turn's own end is seen; what follows is a mark without an id
        rest = await asked.events(f"{path}&from={event.last_id}")
        assert fold(dialect, [*seen, *rest]) == whole, f"cut after {number}: {event}"
    assert len({event.last_id for event in every if event.data != "[DONE]"}) == len(every) - (
        every[-1].data == "[DONE]"
    )
    return len(every)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_reader_may_come_back_after_any_event(dialect: Dialect) -> None:
    """Text, thinking, parallel tools: cut after every single event, also between two that one entry makes."""
    events = [
        started("t", "th"),
        begin("u", origin="user"),
        said("u", "what now?", origin="user"),
        begin("th", "reasoning"),
        *(delta("th", f"thought {number} ") for number in range(5)),
        thought("th", "".join(f"thought {number} " for number in range(5))),
        begin("c1", "function_call", name="look", call_id="k1"),
        begin("c2", "function_call", name="look", call_id="k2"),
        called("c1", "k1", '{"at": "this"}'),
        called("c2", "k2", '{"at": "that"}'),
        answered("o2", "k2", "nothing"),
        answered("o1", "k1", "something"),
        begin("m"),
        *(delta("m", f"word {number} ") for number in range(20)),
        said("m", "".join(f"word {number} " for number in range(20)) + "and an end"),
        finished(),
    ]
    async with open_asked() as asked:
        await record(asked, events, "t")
        count = await check_every_place(asked, f"/xapi/turns/t/stream?dialect={dialect}", dialect)
        assert count > 20


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_demo_can_be_read_from_any_place(dialect: Dialect) -> None:
    """It has more states than a late reader is told: what is skipped makes no difference."""
    async with open_asked() as asked:
        await record(asked, [it.event for it in load_demo()], "demo")
        count = await check_every_place(asked, f"/xapi/turns/demo/stream?dialect={dialect}", dialect)
        assert count > 50


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_items_that_grow_side_by_side_can_be_read_from_any_place(dialect: Dialect) -> None:
    """A late reader skips states of one item while it is told of another: nothing of either goes missing."""
    names = ("a", "b", "c")
    grown = [delta(name, f"{name}{number} ") for number in range(30) for name in names]
    whole = {name: "".join(f"{name}{number} " for number in range(30)) for name in names}
    events = [started("t", "th"), *map(begin, names), *grown, *(said(name, whole[name]) for name in names), finished()]
    async with open_asked() as asked:
        await record(asked, events, "t")
        path = f"/xapi/turns/t/stream?dialect={dialect}"
        await check_every_place(asked, path, dialect)
        texts = fold(dialect, await asked.events(path))
        assert all(text in str(texts) for text in whole.values())


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_recorded_turns_can_be_read_from_any_place(dialect: Dialect) -> None:
    """What real providers sent: one of each with tools or thinking, short enough to be cut everywhere."""
    chosen: dict[str, list[StreamEvent]] = {}
    for recording in load_recordings():
        events = adapt(recording.provider, recording.events, run_id=recording.provider, turn_id=recording.provider)
        if len(events) > len(chosen.get(recording.provider, ())) and len(events) < 60:
            chosen[recording.provider] = events
    if not chosen:
        pytest.skip("no recordings here")
    async with open_asked() as asked:
        for provider, events in chosen.items():
            await record(asked, events, provider)
            await check_every_place(asked, f"/xapi/turns/{provider}/stream?dialect={dialect}", dialect)


async def test_a_reader_whose_place_is_gone_is_told_all_anew() -> None:
    """The log lost what it had read: whole states begin again, after a word of warning."""
    async with open_asked() as asked:
        await record(asked, [started("t", "th"), begin("m"), said("m", "x"), finished()], "t")
        events = await asked.events("/xapi/turns/t/stream?from=7-3")
        assert events[0].name == "rewound"
        assert fold("native", events) == fold("native", await asked.events("/xapi/turns/t/stream"))


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_who_has_seen_the_end_is_told_that_there_is_no_more(dialect: Dialect) -> None:
    """204: a browser's EventSource comes back for ever otherwise."""
    async with open_asked() as asked:
        await record(asked, [started("t", "th"), begin("m"), said("m", "x"), finished()], "t")
        path = f"/xapi/turns/t/stream?dialect={dialect}"
        last = (await asked.events(path))[-1].last_id
        assert (await asked.http.get(path, headers={"last-event-id": last})).status_code == 204


@pytest.mark.parametrize(
    "place", ["x", "1", "1-", "1-2-3", "1-2.0", "1-2.1", "1-2.x~1-1", "1-2.1~", "-1-2", "99999999999999999999-1"]
)
async def test_a_place_that_is_none_is_refused(place: str) -> None:
    """By URL or header; the message says what one looks like."""
    async with open_asked() as asked:
        await record(asked, [started("t", "th"), finished()], "t")
        by_url = await asked.http.get("/xapi/turns/t/stream", params={"from": place})
        by_header = await asked.http.get("/xapi/turns/t/stream", headers={"last-event-id": place})
        assert (by_url.status_code, by_header.status_code) == (400, 400)
        assert "query from: " in by_url.json()["error"]["message"]
        assert "header Last-Event-ID: " in by_header.json()["error"]["message"]
    assert (await _unknown_dialect()) == 400


async def _unknown_dialect() -> int:
    async with open_asked() as asked:
        await record(asked, [started("t", "th"), finished()], "t")
        return (await asked.http.get("/xapi/turns/t/stream?dialect=klingon")).status_code


async def test_a_state_that_is_no_output_does_not_end_a_stream() -> None:
    """Somebody else wrote it; readers in dialects go on without it."""
    ids: dict[str, Any] = {"turn_id": "t", "thread_id": "th"}
    outputs: list[Output] = [
        TurnStarted(**ids),
        Message(**ids, item_id="m", status="complete", content="x", origin="agent"),
        TurnComplete(**ids, status="complete"),
    ]
    async with open_asked() as asked:
        log = asked.running.service.backend.log
        for number, output in enumerate(outputs, start=1):
            message = envelope(output, number)
            await log.append(attrs.evolve(message, payload='{"type": 1}') if number == 2 else message)
        for dialect in ("agui", "upsert", "ui-message"):
            events = await asked.events(f"/xapi/turns/t/stream?dialect={dialect}")
            assert len(events) >= 2
        assert (await asked.http.get("/xapi/turns/t")).json()["state"] == "complete"
