"""Kill and freeze real workers under load, again and again, and see whether anything is missing afterwards.

A producer keeps 50 turns going; workers take them. What is done to the workers (and to the server) comes at random
moments and knows nothing of the load. At the end the logs are put before the independent checker.
"""

import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path

import attrs

from tests.chaos.aof import AofWatch
from tests.chaos.fleet import CLAIM_IDLE, HEARTBEAT, ROOT, Fleet, Line, wait_for
from tests.chaos.turns_left import Published, Verdict, judge_turns, read_published
from tests.kit.servers import plain_client
from turnwire.runtime.bench.redis_server import RedisServer

PREFIX = "chaos"
ENDS = 120.0  # seconds for the producer and the queue to come to their end once the chaos is over
TAKEOVER_BOUND = CLAIM_IDLE + 5.0  # seconds


@attrs.define
class Outcome:
    """What came of it."""

    what: str
    verdict: Verdict = attrs.field(factory=Verdict)
    done: int = 0
    """How often it was done."""
    under_load: int = 0
    """How often to a worker that had turns."""
    takeovers: Sequence[float] = ()
    """Seconds from a kill to each takeover of what the killed one had."""
    notes: str = ""
    problems: list[str] = attrs.field(factory=list[str])

    @property
    def is_good(self) -> bool:
        """Did everything go as it must?"""
        return bool(self.verdict) and not self.problems

    def __str__(self) -> str:
        times = sorted(self.takeovers)
        took = ""
        if times:
            took = (
                f"{len(times):,} turns taken over after {statistics.median(times):.2f} s, at most {times[-1]:.2f} s; "
            )
        wrong = "".join(f"; FAILED: {problem}" for problem in self.problems)
        return f"{self.what}: {self.done}, {self.under_load} under load; {took}{self.notes}{self.verdict}{wrong}"


@contextmanager
def load(url: str, work: Path, *, slots: int) -> Generator[subprocess.Popen[bytes], None, None]:
    """Keep so many turns going for the length of a block."""
    command = [sys.executable, "-m", "tests.chaos.producer", str(work / "producer"), url, PREFIX, "--slots", str(slots)]
    with (work / "producer.log").open("wb") as complaints:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=complaints)  # noqa: S603  # ourselves
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()


def finish(process: subprocess.Popen[bytes], server: RedisServer, work: Path, outcome: Outcome) -> Published:
    """Let the producer finish its turns and the workers the queue; then judge."""
    process.communicate(timeout=ENDS)
    if process.returncode:
        complaints = (work / "producer.log").read_text()
        raise RuntimeError(f"the producer ended with {process.returncode}:\n{complaints[-4000:]}")
    client = plain_client(server.url)
    try:
        wait_for(lambda: client.xlen(f"{PREFIX}:turns") == 0, "the queue is empty", ENDS)
    except TimeoutError as exc:
        outcome.problems.append(str(exc))
    client.close()
    published = read_published(work / "producer")
    outcome.verdict = judge_turns(server.url, PREFIX, published)
    return published


def run_kills(
    binary: Path, work: Path, *, kills: int, slots: int = 50, workers: int = 4, seed: int | None = None
) -> Outcome:
    """Kill -9 a worker at random moments; another is started in its place."""
    chance, outcome = random.Random(seed), Outcome("kill -9 of workers")
    fallen: list[tuple[str, float, set[str]]] = []
    with (
        RedisServer(binary) as server,
        Fleet(server.url, PREFIX, work) as fleet,
        load(server.url, work, slots=slots) as producer,
    ):
        fleet.start(workers)
        fleet.wait_until_up()
        for _ in range(kills):
            time.sleep(chance.uniform(0.4, 1.8))
            name = chance.choice(fleet.up())
            at = fleet.kill(name)
            fallen.append((name, at, fleet.live(name)))
            fleet.start()
        finish(producer, server, work, outcome)
        _judge_takeovers(outcome, fleet.lines(), fallen)
    return outcome


def _judge_takeovers(outcome: Outcome, lines: list[Line], fallen: list[tuple[str, float, set[str]]]) -> None:
    claims: dict[str, list[Line]] = {}
    taken: dict[str, list[Line]] = {}
    for line in lines:
        if line.event in {"claimed", "took over"}:
            (claims if line.event == "claimed" else taken).setdefault(line.turn, []).append(line)
    killed_at = {name: at for name, at, _ in fallen}
    times: list[float] = []
    for name, at, turns in fallen:
        outcome.done += 1
        held = [turn for turn in turns if claims[turn][0].at < at and _owner(claims[turn], at) == name]
        outcome.under_load += bool(held)
        for turn in held:
            claimed_at = min((line.at for line in claims[turn] if line.at > at), default=None)
            if claimed_at is not None:  # if it is, it had ended: its worker was killed before it could say so
                # Whoever took it first may have been killed before it came to the fence: then the time begins anew.
                deaths = [killed_at.get(line.worker, 0.0) for line in taken.get(turn, ()) if at < line.at <= claimed_at]
                times.append(claimed_at - max(at, *(death for death in (*deaths, at) if death <= claimed_at)))
    outcome.takeovers = times
    if times and max(times) > TAKEOVER_BOUND:
        outcome.problems.append(f"a takeover took {max(times):.2f} s")


def _owner(claims: list[Line], at: float) -> str:
    return [line.worker for line in claims if line.at <= at][-1]


def run_freezes(
    binary: Path, work: Path, *, freezes: int, slots: int = 50, workers: int = 4, seed: int | None = None
) -> Outcome:
    """SIGSTOP a worker until others have all its turns, then SIGCONT it: it must drop those and work on."""
    chance, outcome = random.Random(seed), Outcome("SIGSTOP past the claim, then SIGCONT")
    with (
        RedisServer(binary) as server,
        Fleet(server.url, PREFIX, work) as fleet,
        load(server.url, work, slots=slots) as producer,
    ):
        fleet.start(workers)
        fleet.wait_until_up()
        worked_on = 0
        for _ in range(freezes):
            name = chance.choice(list(fleet.processes))
            wait_for(lambda name=name: fleet.live(name), f"{name} has turns")
            time.sleep(chance.uniform(0.0, 0.3))
            at = fleet.signal(name, signal.SIGSTOP)
            turns = fleet.live(name)
            time.sleep(CLAIM_IDLE + 2 * HEARTBEAT)
            taken = {line.turn for line in fleet.lines() if line.event == "claimed" and line.at > at}
            back = fleet.signal(name, signal.SIGCONT)
            outcome.done += 1
            outcome.under_load += bool(turns & taken)
            worked_on += _goes_on(fleet, name, back)
        finish(producer, server, work, outcome)
        fenced = sum(line.event == "fenced" for line in fleet.lines())
        outcome.notes = f"{fenced:,} turns dropped as fenced, {worked_on} times it worked on; "
        if worked_on < freezes or len(fleet.processes) < workers:
            outcome.problems.append("a worker did not go on")
    return outcome


def _goes_on(fleet: Fleet, name: str, since: float) -> bool:
    try:
        wait_for(
            lambda: any(line.event == "claimed" and line.at > since for line in fleet.lines(name)), "goes on", 20.0
        )
    except TimeoutError:
        return False
    return True


def run_double_kills(
    binary: Path,
    work: Path,
    *,
    kills: int,
    slots: int = 50,
    workers: int = 4,
    cuts: bool = True,
    seed: int | None = None,
) -> Outcome:
    """Kill a worker and the server within the same second; the server's file loses what was not synced."""
    chance, outcome = (
        random.Random(seed),
        Outcome("a worker and Redis killed in the same second" + " (power cut)" * cuts),
    )
    config: dict[str, str | int] = {"appendonly": "yes", "appendfsync": "everysec", "auto-aof-rewrite-percentage": 0}
    cut = 0
    with RedisServer(binary, config=config) as server, Fleet(server.url, PREFIX, work) as fleet:
        watch = AofWatch(server)
        try:
            with load(server.url, work, slots=slots) as producer:
                fleet.start(workers)
                fleet.wait_until_up()
                for _ in range(kills):
                    watch.forget()
                    time.sleep(chance.uniform(1.0, 2.5))
                    name = chance.choice(fleet.up())
                    outcome.done += 1
                    outcome.under_load += bool(fleet.live(name))
                    worker_first = chance.random() < 0.5
                    fleet.kill(name) if worker_first else server.kill()
                    time.sleep(chance.uniform(0.0, 0.9))
                    server.kill() if worker_first else fleet.kill(name)
                    cut += watch.cut(chance.uniform(0.0, 1.0)) if cuts else 0
                    time.sleep(chance.uniform(0.0, 0.5))
                    server.start()
                    fleet.start()
                published = finish(producer, server, work, outcome)
        finally:
            watch.close()
    outcome.notes = f"the server lost {cut:,} bytes, the producer put back {published.healed:,} events; "
    return outcome


def run_sigterm(binary: Path, work: Path, *, slots: int = 50, grace: float = 2.0, slack: float = 0.0) -> Outcome:
    """SIGTERM a worker that has all the turns, while another is started. `slack` is for machines that are busy."""
    outcome = Outcome("SIGTERM under load")
    with (
        RedisServer(binary) as server,
        Fleet(server.url, PREFIX, work, worker__grace=grace) as fleet,
        load(server.url, work, slots=slots) as producer,
    ):
        fleet.start()
        wait_for(lambda: len(fleet.live("w0")) >= slots * 0.9, "the worker has the turns")
        turns = fleet.live("w0")
        at = fleet.signal("w0", signal.SIGTERM)
        fleet.start()
        process = fleet.processes.pop("w0")
        try:
            code = process.wait(grace + 10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        took = time.time() - at
        left = fleet.live("w0")
        outcome.done, outcome.under_load = 1, int(bool(turns))
        finish(producer, server, work, outcome)
        claims = {line.turn: line.at for line in reversed(fleet.lines("w1")) if line.event == "claimed"}
        done = next((line.at - at for line in fleet.lines("w0") if line.event == "worker ended"), inf)
        outcome.takeovers = [claims[turn] - at - done for turn in left if turn in claims]
        outcome.notes = (
            f"{len(turns)} turns, {len(left)} handed over, done after {done:.2f} s of a grace of {grace:g} s, "
            f"exit {code} after {took:.2f} s; "
        )
        if code != 0 or took > grace + slack:
            outcome.problems.append(f"exit {code} after {took:.2f} s")
        if missing := left - claims.keys():
            outcome.problems.append(f"not taken over: {sorted(missing)[:3]}")
    return outcome
