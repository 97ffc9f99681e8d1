"""The measurements of the path to Redis measure what they say, and leave nothing behind. Nothing here asserts a time."""

import json
import shutil
from functools import partial

import pytest

from tests.kit.servers import RedisServer, plain_client
from turnwire.runtime.bench import redis_latency, redis_memory, redis_path, redis_section, slow_reader
from turnwire.runtime.bench.redis_floor import run_redis_benchmark
from turnwire.runtime.cli.main import main


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything, but little of it."""
    monkeypatch.setattr(redis_path, "TURNS", 5)
    monkeypatch.setattr(redis_path, "DELTAS", 20)
    for module, name, options in (
        (redis_path, "run_redis_benchmark", {"requests": 500}),
        (redis_path, "run_redis_py", {"requests": 500}),
        (redis_section, "measure_read_latency", {"seconds": 1.2}),
        (redis_section, "measure_redis_memory", {"turns": 200}),
        (redis_section, "measure_slow_reader", {"deltas": 2_000, "pause": 0.02}),
    ):
        monkeypatch.setattr(module, name, partial(getattr(module, name), **options))


@pytest.mark.usefixtures("small")
def test_a_given_server_is_measured_and_left_as_it_was(
    redis_server: RedisServer, key_prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its other keys stay, ours go."""
    client = plain_client(redis_server.url, decode_responses=True)
    client.set(f"{key_prefix}:mine", "1")
    before = set(client.keys("*"))
    assert main(["bench", "--redis", redis_server.url, "--repeats", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["pipeline"] == []
    found = document["redis"]
    assert found["path"]["emissions"] > 5 * 20 * 0.5
    assert found["path"]["cpu_us"] > 0
    assert found["path"]["redis_py_per_second"] > 0
    assert found["durable"] == {}  # it is not ours to say how it keeps its data
    assert (found["path"]["ratio"] is None) == (shutil.which("redis-benchmark") is None)
    assert found["latency"]["emissions"] > 0
    assert found["memory"]["turns"] == 200
    assert found["slow_reader"]["beside"]["is_same"]
    assert set(client.keys("*")) == before
    client.close()


@pytest.mark.usefixtures("small")
def test_without_a_url_a_server_is_started_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    """And the tables name it, and those that keep a file: what durability costs is seen side by side."""
    assert main(["bench", "--redis", "--repeats", "1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "-server)" in said
    assert said.index("without persistence") < said.index("appendfsync everysec") < said.index("appendfsync always")
    assert "ends with the same state" in said


def test_where_redis_benchmark_is_missing_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a number that nobody measured."""
    monkeypatch.setenv("PATH", "")
    assert run_redis_benchmark("redis://127.0.0.1:1/0", "p", payload_bytes=1, pipeline=1, keys=1) is None


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "http://nowhere"])
def test_a_server_that_is_none_is_wrong_usage(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, with the reason."""
    assert main(["bench", "--redis", url]) == 2
    assert "turnwire bench: " in capsys.readouterr().err


def test_the_latency_bench_times_texts_only_after_they_were_sent(redis_server: RedisServer, key_prefix: str) -> None:
    """Every text that is read was sent before, and is found by its length."""
    found = redis_latency.measure_read_latency(redis_server.url, key_prefix, seconds=1.2)
    assert found.emissions > 0
    assert 0 < found.p50 <= found.p99


def test_a_slow_reader_ends_up_with_the_same(redis_server: RedisServer, key_prefix: str) -> None:
    """Whatever it was given on the way."""
    found = slow_reader.measure_slow_reader(redis_server.url, key_prefix, repeats=1, deltas=3_000, pause=0.05)
    assert found.beside.is_same
    assert 0 < found.beside.slow_entries <= found.beside.entries
    assert found.alone.slow_entries == 0


def test_memory_counts_turns_whose_outputs_are_written(redis_server: RedisServer, key_prefix: str) -> None:
    """Each of them has at least begun."""
    found = redis_memory.measure_redis_memory(redis_server.url, key_prefix, turns=100)
    assert found.emissions >= 100
