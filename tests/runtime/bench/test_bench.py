"""The measurements measure what they say. Nothing here asserts a time."""

import json

import pytest
import trio

from turnwire.runtime.bench import growth, latency, memory, pipeline
from turnwire.runtime.bench.floor import Floor
from turnwire.runtime.bench.pipeline import CountingSink
from turnwire.runtime.bench.workload import Shape, arrivals, encoded, turn_events
from turnwire.runtime.cli import bench
from turnwire.runtime.cli.main import main

SMALL = Shape("small", 5, 60, 4)


def test_the_floor_makes_the_same_emissions_as_the_turns() -> None:
    """Otherwise the ratio would compare two different jobs."""
    wire = encoded([tuple(turn_events(turn, SMALL.deltas)) for turn in range(SMALL.turns)])
    floor, sink = Floor(), CountingSink()
    floor.run_bytes(arrivals(SMALL, wire)[1])
    trio.run(pipeline._time_turns, SMALL, wire, sink)
    assert floor.emissions == sink.emissions == SMALL.turns * 8


def test_events_arrive_in_bursts_in_rotation() -> None:
    """Four of each turn, then the next turn's."""
    owners, data = arrivals(SMALL, encoded([tuple(turn_events(turn, 60)) for turn in range(5)]))
    assert list(owners[:9]) == [0, 0, 0, 0, 1, 1, 1, 1, 2]
    assert len(data) == SMALL.events


def test_memory_is_measured_in_a_process_of_its_own() -> None:
    """A number of bytes, where the system tells."""
    per_turn = memory.measure_memory(200)
    assert per_turn is None or per_turn > 1000


def test_latency_counts_the_emissions_it_saw() -> None:
    """A tenth of a second is enough to see some."""
    found = latency.measure_latency(seconds=0.1)
    assert found.emissions >= 200
    assert 0 < found.p50 <= found.p99


def test_the_tables_and_the_json_say_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One run each of a small shape, printed both ways."""
    monkeypatch.setattr(bench, "SHAPES", (SMALL,))
    monkeypatch.setattr(growth, "LENGTHS", (50, 100))
    args = ["bench", "--repeats", "1", "--only", "pipeline", "--only", "growth"]
    assert main([*args, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["source"] for row in document["pipeline"]] == ["bytes", "decoded", "bytes, service"]
    assert all(row["ratio"] > 0 for row in document["pipeline"])
    assert [row["deltas"] for row in document["growth"]] == [50, 100]
    assert main(args) == 0
    assert "small" in capsys.readouterr().out


def test_no_repeats_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, and nothing measured."""
    assert main(["bench", "--repeats", "0"]) == 2
    assert "--repeats" in capsys.readouterr().err
