"""A short version of `make chaos-workers`: real processes, real signals, a few of each kind."""

from pathlib import Path

import pytest

from tests.chaos.fleet import Fleet
from tests.chaos.throughput import run_throughput
from tests.chaos.turns_left import Published, judge_turns
from tests.chaos.worker_kills import run_double_kills, run_freezes, run_kills, run_sigterm
from tests.kit.servers import RedisServer, find_server, plain_client
from turnwire.runtime.bench.redis_server import server_binaries


@pytest.fixture(scope="module")
def server_binary() -> Path:
    return find_server(next(iter(server_binaries()), "redis"))


def test_killed_workers_lose_and_repeat_nothing(server_binary: Path, tmp_path: Path) -> None:
    """SIGKILL at random moments: every turn ends once, with everything that log A says, and in time."""
    outcome = run_kills(server_binary, tmp_path, kills=5, slots=20, workers=3)
    assert outcome.is_good, str(outcome)
    assert outcome.under_load >= 1, str(outcome)
    assert outcome.verdict.taken_over >= 1, str(outcome)  # how many is the machine's business


def test_a_worker_that_wakes_up_late_is_refused_and_works_on(server_binary: Path, tmp_path: Path) -> None:
    """SIGSTOP past its claims, SIGCONT when others have its turns: it drops those, and takes others."""
    outcome = run_freezes(server_binary, tmp_path, freezes=2, slots=20, workers=2)
    assert outcome.is_good, str(outcome)
    assert outcome.under_load >= 1, str(outcome)
    assert outcome.verdict.taken_over >= 1, str(outcome)


def test_a_worker_and_the_server_killed_together_leave_no_turn_without_an_end(
    server_binary: Path, tmp_path: Path
) -> None:
    """What the server forgot, whoever wrote it has put back."""
    outcome = run_double_kills(server_binary, tmp_path, kills=2, slots=15, workers=2)
    assert outcome.is_good, str(outcome)


def test_a_worker_told_to_stop_under_load_hands_over(server_binary: Path, tmp_path: Path) -> None:
    """Exit 0 in time; what it did not finish is taken over at once, and nothing is lost."""
    outcome = run_sigterm(server_binary, tmp_path, slack=3.0)
    assert outcome.is_good, str(outcome)
    assert outcome.verdict.taken_over >= 1, str(outcome)


def test_two_workers_share_a_queue(server_binary: Path, tmp_path: Path) -> None:
    """The measurement itself works; what it gives depends on the machine."""
    throughput = run_throughput(server_binary, tmp_path, turns=20)
    assert throughput.one > 0
    assert throughput.two > 0


def test_a_lost_turn_is_found_out(server_binary: Path) -> None:
    """The control: a turn with no end, an event that is gone, an entry left in the queue."""
    with RedisServer(server_binary) as server:
        plain_client(server.url).xadd("chaos:turns", {"run_id": "r"})
        verdict = judge_turns(server.url, "chaos", Published(announced={"t0-0"}, events={"t0-0": ["e1"]}))
    assert not verdict
    assert "without a terminal 1" in str(verdict)
    assert "events lost 1" in str(verdict)
    assert verdict.left_in_queue == 1


def test_what_workers_log_is_read_back(tmp_path: Path) -> None:
    """Torn lines and traces are passed over."""
    line = '{"event": "claimed", "timestamp": "2026-01-01T00:00:00Z", "turn": "t", "epoch": 2}'
    (tmp_path / "w0.log").write_text(f"Traceback\n{line}\n{line[:20]}")
    fleet = Fleet("redis://127.0.0.1", "p", tmp_path)
    (said,) = fleet.lines()
    assert (said.worker, said.event, said.turn, said.epoch) == ("w0", "claimed", "t", 2)
    assert fleet.live("w0") == {"t"}
