"""A short version of `make chaos-redis`: real processes, real kills, a few of each kind."""

from pathlib import Path
from typing import Any

import pytest

from tests.chaos.redis_kills import Plan, run_plan
from tests.kit.servers import NAMES, find_server


def short(**how: Any) -> Plan:
    """A plan that is done in a few seconds."""
    return Plan(kills=4, slots=10, up=(0.5, 1.0), **how)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_acknowledged_is_missing_after_power_cuts(name: str, tmp_path: Path) -> None:
    """Under `appendfsync everysec`: what the server forgot, its writer has put back, in order and once."""
    outcome = run_plan(short(fsync="everysec", cuts=True, raw=True), find_server(name), tmp_path)
    assert outcome.verdict, str(outcome)
    assert outcome.under_load >= 1, str(outcome)
    assert outcome.healed > 0, "the server lost nothing, so nothing was shown"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_acknowledged_is_missing_after_kills_under_always(name: str, tmp_path: Path) -> None:
    """Where the server keeps its word, nothing is put back, lost or written twice."""
    outcome = run_plan(short(fsync="always"), find_server(name), tmp_path)
    assert outcome.verdict, str(outcome)
    assert outcome.under_load >= 1, str(outcome)
    assert outcome.healed == 0, str(outcome)


def test_a_server_that_comes_back_empty_is_given_what_was_written_lately(tmp_path: Path) -> None:
    """No persistence at all: the whole run is younger than what a log keeps, so all of it is there in the end."""
    outcome = run_plan(short(fsync="nothing is written"), find_server("valkey"), tmp_path)
    assert outcome.verdict, str(outcome)
    assert outcome.healed > 0, str(outcome)


def test_a_log_that_believes_its_server_is_found_out(tmp_path: Path) -> None:
    """The control: the same run, with a writer that puts nothing back, does lose final states, and the judge sees it."""
    outcome = run_plan(short(fsync="everysec", cuts=True, log="plain"), find_server("valkey"), tmp_path)
    assert outcome.verdict.count("final states lost") > 0
    assert "FAILED" in str(outcome)
