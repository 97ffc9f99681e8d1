"""Kill a real Redis again and again while turns are written and read, and see whether anything is missing afterwards.

The writer and the reader are processes of their own; the kills come at random moments and know nothing of what these
do. A slow disk (slow_fsync.py) or a power cut (aof.py) makes the server forget what it has acknowledged. Run all of it
with `make chaos-redis`.
"""

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import attrs

from tests.chaos.aof import AofWatch
from tests.chaos.judge import Journal, LogEntry, Verdict, judge, judge_raw, read_journal
from tests.chaos.slow_fsync import SlowFsync
from tests.kit.servers import plain_client
from turnwire.runtime.bench.redis_server import RedisServer

Fsync: TypeAlias = Literal["everysec", "always", "nothing is written"]
ROOT = Path(__file__).parent.parent.parent
PREFIX = "chaos"
PROGRAM_ENDS = 120.0  # seconds for a program to finish once the killing is over


@attrs.frozen(kw_only=True)
class Plan:
    """What is done to the server."""

    fsync: Fsync
    kills: int
    slow: bool = False
    """Does the disk take its time, so that the server acknowledges what it has not written?"""
    cuts: bool = False
    """Does each kill take along what was not synced, as a power cut would?"""
    slots: int = 40
    """Turns at any time."""
    raw: bool = False
    """Are the events written to the raw log too?"""
    log: Literal["redis", "plain"] = "redis"
    up: tuple[float, float] = (0.3, 1.5)
    """Seconds for which the server is left alone, at least and at most."""
    away: tuple[float, float] = (0.0, 0.3)
    seed: int | None = None


@attrs.define
class Kill:
    """One kill: since when the server was back, when it came, and how many bytes were cut off."""

    up_at: float
    at: float
    cut: int = 0


@attrs.frozen(kw_only=True)
class Outcome:
    """What came of it."""

    plan: Plan
    server: str
    kills: Sequence[Kill]
    writer: Journal
    reader: Journal | None
    verdict: Verdict

    @property
    def under_load(self) -> int:
        """Kills before which something was acknowledged since the server had come back."""
        times = self.writer.ack_times
        return sum(any(kill.up_at < at < kill.at for at in times) for kill in self.kills)

    @property
    def healed(self) -> int:
        """How often an acknowledged entry was gone and put back by the writer; the same one may be lost more than once."""
        return self.writer.counts[-1][1].get("healed", 0) if self.writer.counts else 0

    def __str__(self) -> str:
        wrong = self.verdict
        how = " with power cuts" * self.plan.cuts + " with a slow disk" * self.plan.slow
        read = (
            f"; of {len(self.reader.seen):,} turns followed, {wrong.count('read wrong')} read wrong"
            if self.reader
            else ""
        )
        sent = sum(map(len, self.writer.sent.values()))
        raw = f"; of {sent:,} raw events {wrong.count('raw events lost')} lost" if self.plan.raw else ""
        return (
            f"{self.plan.fsync}{how} ({self.server}): {len(self.kills)} kills, {self.under_load} under load; "
            f"{self.writer.acknowledged:,} emissions of {len(self.writer.acks):,} turns acknowledged; {self.healed:,} times the "
            f"server had forgotten an acknowledged entry and was given it back; in the end lost {wrong.count('lost')}, repeated "
            f"{wrong.count('repeated')}, out of order {wrong.count('out of order')}{read}{raw}: "
            f"{'OK' if wrong else f'FAILED: {wrong}'}"
        )


def run_plan(plan: Plan, binary: Path, work: Path) -> Outcome:
    """Do it: start everything, kill, let the writer finish, read the logs and judge."""
    chance = random.Random(plan.seed)
    config: dict[str, str | int] = {"auto-aof-rewrite-percentage": 0}
    if plan.fsync != "nothing is written":
        config.update({"appendonly": "yes", "appendfsync": plan.fsync})
    with ExitStack() as stack:
        server = stack.enter_context(RedisServer(binary, config=config))
        watch = AofWatch(server)
        stack.callback(watch.close)
        if plan.slow:
            stack.callback(SlowFsync(server, random.Random(plan.seed)).close)
        common = (server.url, PREFIX)
        slots = ("--slots", str(plan.slots))
        raw = ("--raw",) if plan.raw else ()
        writer = stack.enter_context(_program("writer", work, *common, *slots, "--log", plan.log, *raw))
        reader = None
        if plan.log == "redis":
            reader = stack.enter_context(_program("reader", work, *common, *slots))
        _wait_for_load(work / "writer")
        kills = [_kill(server, watch, plan, chance, cut=plan.cuts) for _ in range(plan.kills)]
        time.sleep(plan.up[1])
        written = _finish("writer", writer, work)
        ends = json.dumps(_turns_per_slot(written, plan.slots)).encode() + b"\n"
        seen = None if reader is None else _finish("reader", reader, work, ends)
        verdict = judge(read_logs(server.url), written, seen)
        if plan.raw:
            judge_raw(read_raw_logs(server.url), written, verdict)
    return Outcome(plan=plan, server=binary.name, kills=kills, writer=written, reader=seen, verdict=verdict)


def read_logs(url: str) -> dict[str, list[LogEntry]]:
    """Read every log of processed turns with a plain client."""
    client = plain_client(url, decode_responses=True)
    logs: dict[str, list[LogEntry]] = {}
    for key in client.keys(f"{PREFIX}:turn:*:processed"):
        logs[key.split(":")[2]] = client.xrange(key)
    client.close()
    return logs


def read_raw_logs(url: str) -> dict[str, list[str]]:
    """Read the event ids in every raw log with a plain client."""
    client = plain_client(url, decode_responses=True)
    logs: dict[str, list[str]] = {}
    for key in client.keys(f"{PREFIX}:run:*:events"):
        logs[key.split(":")[2]] = [json.loads(fields["event"])["event_id"] for _, fields in client.xrange(key)]
    client.close()
    return logs


def _wait_for_load(journal: Path) -> None:
    """Wait until the writer has got going; from then on nobody waits for it."""
    give_up_at = time.monotonic() + PROGRAM_ENDS
    while not (journal.exists() and b'"ack"' in journal.read_bytes()):
        if time.monotonic() > give_up_at:
            raise RuntimeError("the writer does not write")
        time.sleep(0.05)


def _kill(server: RedisServer, watch: AofWatch, plan: Plan, chance: random.Random, *, cut: bool) -> Kill:
    kill = Kill(time.time(), 0.0)
    time.sleep(chance.uniform(*plan.up))
    kill.at = time.time()
    server.kill()
    if cut:
        kill.cut = watch.cut(chance.uniform(0.0, 1.0))
    time.sleep(chance.uniform(*plan.away))
    watch.forget()
    server.start()
    return kill


@contextmanager
def _program(name: str, work: Path, *arguments: str) -> Generator[subprocess.Popen[bytes], None, None]:
    """Run one of our programs for the length of a block. Its journal and what it complains of are kept in `work`."""
    command = [sys.executable, "-m", f"tests.chaos.{name}", str(work / name), *arguments]
    with (work / f"{name}.log").open("wb") as complaints:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=complaints)  # noqa: S603  # ourselves
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()


def _finish(name: str, process: subprocess.Popen[bytes], work: Path, last_words: bytes = b"") -> Journal:
    """Tell a program to come to its end, and give its journal."""
    process.communicate(last_words, timeout=PROGRAM_ENDS)
    if process.returncode:
        complaints = (work / f"{name}.log").read_text()
        raise RuntimeError(f"the {name} ended with {process.returncode}:\n{complaints[-4000:]}")
    return read_journal(work / name)


def _turns_per_slot(writer: Journal, slots: int) -> list[int]:
    turns = Counter(int(turn[1:].split("-")[0]) for turn in writer.ended)
    return [turns[slot] for slot in range(slots)]
