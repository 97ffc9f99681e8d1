"""Producers: what they write, what they refuse, and what they put back when the server has lost it."""

import json
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from tests.kit.servers import NAMES, RedisServer, find_server, plain_client
from tests.kit.turns import begin, delta, finished, said, started
from turnwire.messages.errors import ClosedError, InvalidEventError, LogUnavailableError
from turnwire.messages.event_codec import encode_event
from turnwire.runtime.logs.redis import RedisLogOptions
from turnwire.runtime.queue import AsyncProducer, Producer


@pytest.fixture
def client(redis_url: str) -> Any:
    return plain_client(redis_url, decode_responses=True)


@pytest.fixture
def producer(redis_url: str, key_prefix: str) -> Iterator[Producer]:
    with Producer(redis_url, options=RedisLogOptions(prefix=key_prefix)) as producer:
        yield producer


@pytest.fixture(params=NAMES)
def forgetful_server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    """A server that has forgotten everything when it comes back."""
    with RedisServer(find_server(request.param)) as server:
        yield server


def events_of(client: Any, prefix: str, run: str) -> list[dict[str, Any]]:
    return [json.loads(fields["event"]) for _, fields in client.xrange(f"{prefix}:run:{run}:events")]


def test_an_announcement_can_be_found_from_all_sides(producer: Producer, client: Any, key_prefix: str) -> None:
    """From the queue, the run, the turn and the thread; all but the queue expire."""
    producer.announce("r", "t", "th")
    producer.announce("r", "t", "th")
    producer.announce("r2", "t2", "th", kind="engine")
    entries = [fields for _, fields in client.xrange(f"{key_prefix}:turns")]
    assert entries == [
        {"run_id": "r", "turn_id": "t", "thread_id": "th", "kind": "events"},
        {"run_id": "r2", "turn_id": "t2", "thread_id": "th", "kind": "engine"},
    ]
    assert client.get(f"{key_prefix}:run:r:turn") == "t"
    assert client.get(f"{key_prefix}:turn:t:run") == "r"
    assert client.zrange(f"{key_prefix}:thread:th:turns", 0, -1) == ["t", "t2"]
    for key in ("run:r:turn", "turn:t:run", "thread:th:turns"):
        assert 86_000 < client.ttl(f"{key_prefix}:{key}") <= 86_400


def test_a_threads_list_lets_go_of_turns_that_are_long_gone(producer: Producer, client: Any, key_prefix: str) -> None:
    """However long the thread itself lives."""
    long_ago = time.time() - 3 * 86_400
    client.zadd(f"{key_prefix}:thread:th:turns", {"old": long_ago * 1000})
    producer.announce("r", "t", "th")
    assert client.zrange(f"{key_prefix}:thread:th:turns", 0, -1) == ["t"]


def test_events_are_written_in_order_as_objects_or_as_json(producer: Producer, client: Any, key_prefix: str) -> None:
    """One or many; an end gives the log its time to live."""
    producer.announce("r", "t", "th")
    producer.publish("r", started("t", "th"))
    producer.publish("r", [begin("m"), encode_event(delta("m", "x")), encode_event(said("m", "x")).decode()])
    assert client.ttl(f"{key_prefix}:run:r:events") == -1
    producer.publish("r", finished())
    types = [event["type"] for event in events_of(client, key_prefix, "r")]
    assert types == ["response_start", "item_start", "item_delta", "item_done", "response_done"]
    assert client.ttl(f"{key_prefix}:run:r:events") > 86_000


def test_what_is_no_event_is_refused_and_nothing_is_written(producer: Producer, client: Any, key_prefix: str) -> None:
    """The error says where."""
    producer.announce("r", "t", "th")
    with pytest.raises(InvalidEventError, match=r"\$"):
        producer.publish("r", [begin("m"), b'{"type":"item_start"}'])
    assert events_of(client, key_prefix, "r") == []


def test_a_run_must_be_announced_first(producer: Producer) -> None:
    """Its events would wait for nobody."""
    with pytest.raises(ValueError, match="'r' was not announced"):
        producer.publish("r", finished())
    with pytest.raises(ValueError, match="thread_id"):
        producer.announce("r", "t", "")
    with pytest.raises(ValueError, match="kind"):
        producer.announce("r", "t", "th", kind="odd")  # type: ignore[arg-type]  # that is the point


def test_a_stop_names_a_turn_by_its_run_or_by_itself(
    producer: Producer, redis_url: str, client: Any, key_prefix: str
) -> None:
    """From another process too, and as often as somebody presses the button."""
    producer.announce("r", "t", "th")
    with Producer(redis_url, options=RedisLogOptions(prefix=key_prefix)) as other:
        other.stop(turn_id="t", reason="enough")
        other.stop("r")
        with pytest.raises(ValueError, match="turn 'nobody' was not announced"):
            other.stop(turn_id="nobody")
    producer.stop("r")
    written = events_of(client, key_prefix, "r")
    assert {event["event_id"] for event in written} == {"r:stop"}
    assert {event["payload"]["turn_id"] for event in written} == {"t"}
    assert written[0]["type"] == "turn_aborted_by_user"
    assert written[0]["payload"]["reason"] == "enough"


def test_closing_a_run_without_an_end_makes_one(producer: Producer, client: Any, key_prefix: str) -> None:
    """Once; one that has its end needs none."""
    producer.announce("r", "t", "th")
    producer.close("r")
    producer.close("r")
    (event,) = events_of(client, key_prefix, "r")
    assert event["type"] == "response_error"
    assert event["payload"]["error"]["code"] == "TURN_CLOSED"
    producer.announce("r2", "t2", "th")
    producer.publish("r2", finished())
    producer.close("r2")
    assert len(events_of(client, key_prefix, "r2")) == 1


def test_after_disconnecting_nothing_is_written(redis_url: str, key_prefix: str) -> None:
    """Disconnecting twice is fine."""
    producer = Producer(redis_url, options=RedisLogOptions(prefix=key_prefix))
    producer.announce("r", "t", "th")
    producer.disconnect()
    producer.disconnect()
    with pytest.raises(ClosedError):
        producer.announce("r2", "t2", "th")
    with pytest.raises(ClosedError):
        producer.publish("r", finished())


def test_a_server_that_is_away_is_tried_for_a_bounded_time(forgetful_server: RedisServer) -> None:
    """Then the error says how often and how long."""
    forgetful_server.kill()
    producer = Producer(forgetful_server.url, patience=0.5)
    began = time.monotonic()
    with pytest.raises(LogUnavailableError, match=r"gave up after \d+ tries in 0.5 s"):
        producer.announce("r", "t", "th")
    assert time.monotonic() - began < 3
    forgetful_server.start()
    producer.announce("r", "t", "th")
    producer.disconnect()


def test_what_the_server_has_lost_is_put_back_by_itself(forgetful_server: RedisServer) -> None:
    """Announcement and events, in order, although the producer does not call again."""
    with Producer(forgetful_server.url) as producer:
        producer.announce("r", "t", "th")
        producer.publish("r", [started("t", "th"), begin("m")])
        producer.publish("r", [said("m", "all"), finished()])
        forgetful_server.kill()
        forgetful_server.start()
        client = plain_client(forgetful_server.url, decode_responses=True)
        give_up_at = time.monotonic() + 20
        while client.xlen("codex:run:r:events") < 4 or client.xlen("codex:turns") < 1:
            assert time.monotonic() < give_up_at, "nothing is put back"
            time.sleep(0.05)
        types = [event["type"] for event in events_of(client, "codex", "r")]
        assert types == ["response_start", "item_start", "item_done", "response_done"]
        assert client.get("codex:run:r:turn") == "t"
        assert producer.counts.healed == 4


def test_a_call_puts_back_what_was_lost_before_it_writes(forgetful_server: RedisServer) -> None:
    """So the order stays."""
    with Producer(forgetful_server.url) as producer:
        producer.announce("r", "t", "th")
        producer.publish("r", [started("t", "th"), begin("m")])
        forgetful_server.kill()
        forgetful_server.start()
        producer.publish("r", [said("m", "all"), finished()])
        client = plain_client(forgetful_server.url, decode_responses=True)
        seen: dict[str, str] = {}
        for event in events_of(client, "codex", "r"):
            seen.setdefault(event["event_id"], event["type"])
        assert list(seen.values()) == ["response_start", "item_start", "item_done", "response_done"]


def test_after_a_reconnect_only_turns_that_have_not_ended_are_announced_again(
    producer: Producer, client: Any, key_prefix: str
) -> None:
    """A worker takes the entry of an ended turn out; that is no loss."""
    for turn in ("ended", "lost", "there"):
        producer.announce(f"r{turn}", turn, "th")
    ended, lost, _ = [entry_id for entry_id, _ in client.xrange(f"{key_prefix}:turns")]
    client.xdel(f"{key_prefix}:turns", ended, lost)
    fields = {"eventId": "ended:1-1", "timestamp": 1, "turnId": "ended", "payload": '{"type":"turn_complete"}'}
    client.xadd(f"{key_prefix}:turn:ended:processed", fields, id="1-1")
    producer._lane.close()
    producer.publish("rthere", finished())
    assert [fields["turn_id"] for _, fields in client.xrange(f"{key_prefix}:turns")] == ["there", "lost"]


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_the_async_face_works_on_both_backends(redis_url: str, key_prefix: str, client: Any, backend: str) -> None:
    """Many tasks at once; each one's order is kept."""

    async def run_one(producer: AsyncProducer, number: int) -> None:
        run = f"r{number}"
        await producer.announce(run, f"t{number}", "th")
        await producer.publish(run, [started(f"t{number}", "th"), begin("m")])
        if number % 2:
            await producer.stop(run)
        else:
            await producer.publish(run, said("m", "all"))
            await producer.close(run)

    async def main() -> None:
        options = RedisLogOptions(prefix=key_prefix)
        async with AsyncProducer(redis_url, options=options) as producer, anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(run_one, producer, number)
        assert producer.counts.raw_appended == 35

    anyio.run(main, backend=backend)
    assert [event["type"] for event in events_of(client, key_prefix, "r0")][2:] == ["item_done", "response_error"]
    assert [event["type"] for event in events_of(client, key_prefix, "r1")][2:] == ["turn_aborted_by_user"]
