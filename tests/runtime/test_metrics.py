"""The numbers that an operator asks for, as Prometheus gets them."""

import trio
from prometheus_client import CollectorRegistry, generate_latest
from trio.testing import MockClock

from tests.kit.logs import envelope, redis_log_options, start
from tests.kit.queues import open_stage
from tests.kit.turns import RecordingSink, begin, delta, finished, said, started
from turnwire.actors.core.options import TurnOptions
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime import MemoryLog, open_runtime
from turnwire.runtime.logs.redis import open_redis_log
from turnwire.runtime.metrics import LogCollector, RuntimeCollector, WorkerCollector


def scrape(registry: CollectorRegistry) -> dict[str, float]:
    """Read the text that Prometheus reads."""
    lines = generate_latest(registry).decode().splitlines()
    return {name: float(value) for name, value in (line.split() for line in lines if not line.startswith("#"))}


async def test_a_runtime_reports_its_turns(autojump_clock: MockClock) -> None:
    """Open and ended turns, emissions, retries and what was conflated, open turns included."""
    failures = 2
    sink = RecordingSink()

    async def fail_twice(message: StreamMessage) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            raise OSError("not now")
        await sink(message)

    registry = CollectorRegistry()
    async with open_runtime(sink=fail_twice) as runtime:
        registry.register(RuntimeCollector(runtime))
        async with runtime.open_turn(turn_id="t", thread_id="th") as turn:
            await turn.send(started())
            await turn.flush()
            assert scrape(registry)["turnwire_turns_open"] == 1
            assert scrape(registry)["turnwire_emissions_total"] == 1
            for each in (begin("m"), delta("m", "x" * 50), said("m", "x" * 50), finished()):
                await turn.send(each)
        numbers = scrape(registry)
    assert numbers["turnwire_turns_open"] == 0
    assert numbers["turnwire_turns_ended_total"] == 1
    assert numbers["turnwire_turns_failed_total"] == 0
    assert numbers["turnwire_emissions_total"] == len(sink.messages) == 4
    assert numbers["turnwire_retries_total"] == 2
    assert numbers["turnwire_conflated_total"] == 0
    assert numbers["turnwire_emissions_waiting"] == 0


async def test_a_runtime_reports_what_waits_and_what_was_conflated(autojump_clock: MockClock) -> None:
    """A sink that stands still shows in the numbers while it does."""
    gate = trio.Event()

    async def wait(_: StreamMessage) -> None:
        await gate.wait()

    registry = CollectorRegistry()
    options = TurnOptions(batch_gradient=(1,), outbox_limit=2, patience=0.1)
    async with open_runtime(sink=wait, options=options) as runtime:
        registry.register(RuntimeCollector(runtime))
        async with runtime.open_turn(turn_id="t", thread_id="th") as turn:
            await turn.send(started())
            await turn.send(begin("m"))
            for _ in range(20):
                await turn.send(delta("m", "12345678"))
            await trio.sleep(1)
            assert scrape(registry)["turnwire_emissions_waiting"] == 1
            assert scrape(registry)["turnwire_conflated_total"] == 19
            gate.set()


async def test_a_log_reports_itself(redis_url: str, key_prefix: str) -> None:
    """Appends, connections, readers and how long an answer takes."""
    registry = CollectorRegistry()
    async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log:
        registry.register(LogCollector(log))
        assert scrape(registry)["turnwire_log_connections"] == 0
        await log.append(envelope(start(), 1))
        await log.append(envelope(start(), 1))
        numbers = scrape(registry)
    assert numbers["turnwire_log_appended_total"] == 1
    assert numbers["turnwire_log_landed_total"] == 1
    assert numbers["turnwire_log_connections"] == 1
    assert numbers["turnwire_log_connects_total"] == 1
    assert numbers["turnwire_log_lag_seconds"] == 0
    for name in ("fenced", "healed", "lost", "failed"):
        assert numbers[f"turnwire_log_{name}_total"] == 0


async def test_an_append_that_waits_shows_as_lag(autojump_clock: MockClock) -> None:
    """The log in memory never lags; the numbers are the same ones."""
    registry = CollectorRegistry()
    log = MemoryLog()
    registry.register(LogCollector(log))
    await log.append(envelope(start(), 1))
    assert scrape(registry)["turnwire_log_appended_total"] == 1
    assert scrape(registry)["turnwire_log_lag_seconds"] == 0


async def test_a_worker_reports_its_turns(autojump_clock: MockClock) -> None:
    """What it has, how old the oldest is, and what became of the others."""
    registry = CollectorRegistry()
    async with open_stage(stall_timeout=30.0) as stage:
        registry.register(WorkerCollector(stage.worker))
        stage.queue.announce("t")
        await trio.sleep(1)
        stage.queue.announce("u")
        await trio.sleep(1)
        numbers = scrape(registry)
        assert numbers["turnwire_worker_turns_live"] == 2
        assert numbers["turnwire_worker_oldest_claim_seconds"] == 2
        assert numbers["turnwire_worker_connected"] == 1
        await stage.publish("t", finished())
        await trio.sleep(40)
        numbers = scrape(registry)
        assert numbers["turnwire_worker_turns_live"] == 0
        assert numbers["turnwire_worker_oldest_claim_seconds"] == 0
        assert numbers["turnwire_worker_claimed_total"] == 2
        assert numbers["turnwire_worker_finished_total"] == 2
        assert numbers["turnwire_worker_stalled_total"] == 1
        assert numbers["turnwire_worker_fenced_total"] == 0
