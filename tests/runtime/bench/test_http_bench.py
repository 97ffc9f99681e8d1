"""The measurement of the service measures what it says. Nothing here asserts a time."""

import json
from functools import partial

import pytest

from turnwire.runtime.bench.http_readers import measure_http
from turnwire.runtime.cli import bench
from turnwire.runtime.cli.main import main


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything, but little of it."""
    little = partial(measure_http, turns=3, readers=12, per_second=60.0, seconds=0.5)
    monkeypatch.setattr(bench, "measure_http", little)


def test_every_reader_sees_every_emission_and_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    """30 emissions, each to the four readers of its turn; and nothing else is measured."""
    assert main(["bench", "--http", "--repeats", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["pipeline"] == []
    costs = document["http"]
    assert (costs["turns"], costs["readers"], costs["events"], costs["ended"]) == (3, 12, 30 * 4, 12)
    assert 0 < costs["p50"] <= costs["p99"]


def test_the_lines_say_how_many_there_were(capsys: pytest.CaptureFixture[str]) -> None:
    """For people."""
    assert main(["bench", "--http", "--repeats", "2"]) == 0
    said = capsys.readouterr().out
    assert "12 readers of 3 turns over HTTP" in said
    assert "saw the end" not in said
