"""One turn's trouble is never another's."""

from collections import defaultdict

import trio
from trio.testing import MockClock

from tests.kit.turns import THREAD, begin, brief, delta, finished, running, said, started
from turnwire.actors.core.options import TurnOptions
from turnwire.messages import ProtocolError, RetryExhaustedError, StreamEvent, StreamMessage, decode_output
from turnwire.runtime import open_runtime

TURNS = 1000


def life(turn_id: str) -> list[StreamEvent]:
    text = f"the words of {turn_id} " * 4
    words = [text[start : start + 7] for start in range(0, len(text), 7)]
    return [
        started(turn_id=turn_id),
        begin("m"),
        *(delta("m", word) for word in words),
        said("m", text),
        finished(),
    ]


async def test_of_a_thousand_turns_one_crashes_one_has_a_dead_sink_one_floods(
    autojump_clock: MockClock,
) -> None:
    """The other 997 are untouched, in output and in order."""
    told: dict[str, list[str]] = defaultdict(list)

    async def sink(message: StreamMessage) -> None:
        if message.turn_id == "t13":
            raise OSError("this one's sink is dead")
        await trio.lowlevel.checkpoint()
        told[message.turn_id].append(brief(decode_output(message.payload)))

    def ids(turn_id: str, seq: int) -> str:
        if turn_id == "t7" and seq == 2:
            raise RuntimeError("crash")
        return f"{turn_id}:1-{seq}"

    ended: dict[str, str] = {}

    async def host(turn_id: str) -> None:
        try:
            async with runtime.open_turn(
                turn_id=turn_id, thread_id=THREAD, options=TurnOptions(retry_base=0.1)
            ) as turn:
                for event in life(turn_id):
                    await turn.send(event)
                    await trio.sleep(0.01)
                    if turn_id == "t99":
                        for _ in range(200):
                            await turn.send(delta("m", "flood"))
        except (RetryExhaustedError, ProtocolError) as exc:
            ended[turn_id] = type(exc).__name__
        else:
            ended[turn_id] = "well"

    async with open_runtime(sink=sink, event_ids=ids) as runtime, trio.open_nursery() as hosts:
        for number in range(TURNS):
            hosts.start_soon(host, f"t{number}")
    assert {name: how for name, how in ended.items() if how != "well"} == {
        "t7": "ProtocolError",
        "t13": "RetryExhaustedError",
    }
    assert len(ended) == TURNS
    for number in range(TURNS):
        name = f"t{number}"
        if name not in ("t7", "t13", "t99"):
            text = f"the words of {name} " * 4
            assert told[name][0] == "turn_started"
            assert told[name][1].startswith("message create 'the words of")
            assert told[name][-2:] == [f"message complete {text!r}", "turn_complete complete"]
            assert [line.split()[1] for line in told[name][2:-2]] == ["update"] * (len(told[name]) - 4)
    assert told["t7"] == ["turn_started", "turn_error INTERNAL_ERROR"]
    assert "t13" not in told
    assert running() == []


async def test_a_turn_with_a_hanging_sink_does_not_hold_up_the_others(autojump_clock: MockClock) -> None:
    """Each turn has its own writer; a sink that hangs for one is not asked on behalf of another."""
    arrived: dict[str, float] = {}

    async def sink(message: StreamMessage) -> None:
        if message.turn_id == "stuck":
            await trio.sleep(1000)
        arrived.setdefault(message.turn_id, trio.current_time())

    async with open_runtime(sink=sink, grace=0.5) as runtime:
        for name in ("stuck", "a", "b"):
            turn = runtime.open_turn(turn_id=name, thread_id=THREAD)
            await turn.send(started(turn_id=name))
        await trio.sleep(1)
        assert arrived == {"a": 0.0, "b": 0.0}
