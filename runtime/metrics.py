"""What an operator asks for: numbers for Prometheus.

They are kept as plain integers where things happen and read when somebody asks, so counting costs next to nothing:
`REGISTRY.register(LogCollector(log))`, `REGISTRY.register(RuntimeCollector(runtime))`,
`REGISTRY.register(WorkerCollector(worker))`.
"""

from collections.abc import Iterator
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from turnwire.runtime.host import TurnCounts
from turnwire.runtime.logs.counts import LogCounts
from turnwire.runtime.worker.counts import WorkerCounts

__all__ = ["LogCollector", "RuntimeCollector", "WorkerCollector"]


class CountedLog(Protocol):
    """A log that counts."""

    counts: LogCounts

    @property
    def lag(self) -> float:
        """Seconds that the oldest append has been waiting for its acknowledgement."""
        ...

    @property
    def connections(self) -> int:
        """How many connections are open."""
        ...

    @property
    def readers(self) -> int:
        """How many readers there are."""
        ...


class CountedRuntime(Protocol):
    """A runtime that counts."""

    @property
    def counts(self) -> TurnCounts:
        """What all turns have done so far."""
        ...

    @property
    def open_turns(self) -> tuple[str, ...]:
        """The ids of the turns that are open."""
        ...


class CountedWorker(Protocol):
    """A worker that counts."""

    counts: WorkerCounts

    @property
    def live(self) -> int:
        """Turns that are worked on now."""
        ...

    @property
    def oldest_claim(self) -> float:
        """Seconds since the oldest turn that is worked on now was taken."""
        ...

    @property
    def is_connected(self) -> bool:
        """Did the queue answer when it was last asked?"""
        ...


class LogCollector(Collector):
    """Reports a log: made for Prometheus to ask, so that counting costs nothing in between."""

    def __init__(self, log: CountedLog) -> None:
        self._log = log

    def collect(self) -> Iterator[Metric]:
        """Give the numbers as of now."""
        counts = self._log.counts
        yield _counter("log_appended", "Outputs written to the log", counts.appended)
        yield _counter("log_landed", "Outputs found in the log when they were appended again", counts.landed)
        yield _counter("log_raw_appended", "Raw events written to the log", counts.raw_appended)
        yield _counter("log_rounds", "Round trips that carried appends", counts.rounds)
        yield _counter("log_failed", "Appends that the server did not settle", counts.failed)
        yield _counter("log_fenced", "Appends and claims refused because another owner has the turn", counts.fenced)
        yield _counter("log_claimed", "Turns claimed", counts.claimed)
        yield _counter("log_connects", "Connections that the writer has opened", counts.connects)
        yield _counter("log_healed", "Acknowledged entries that the server had lost, appended again", counts.healed)
        yield _counter("log_lost", "Logs found to lack entries that could not be put back", counts.lost)
        yield _gauge("log_connections", "Connections open now", self._log.connections)
        yield _gauge("log_readers", "Readers now", self._log.readers)
        yield _gauge("log_lag_seconds", "How long the oldest append has waited for its answer", self._log.lag)


class RuntimeCollector(Collector):
    """Reports the turns of a runtime, as LogCollector does a log."""

    def __init__(self, runtime: CountedRuntime) -> None:
        self._runtime = runtime

    def collect(self) -> Iterator[Metric]:
        """Give the numbers as of now."""
        counts = self._runtime.counts
        yield _gauge("turns_open", "Turns open now", len(self._runtime.open_turns))
        yield _counter("turns_ended", "Turns that have ended", counts.turns)
        yield _counter(
            "turns_failed", "Turns that crashed, were refused by their sink, or taken over", counts.failed_turns
        )
        yield _counter("emissions", "Messages that the sink has taken", counts.emissions)
        yield _counter("retries", "Messages handed to the sink again", counts.retries)
        yield _counter("conflated", "States superseded before the sink got to them", counts.conflated)
        yield _gauge("emissions_waiting", "Emissions that wait for the sink now", counts.waiting)


class WorkerCollector(Collector):
    """Reports a worker, as LogCollector does a log."""

    def __init__(self, worker: CountedWorker) -> None:
        self._worker = worker

    def collect(self) -> Iterator[Metric]:
        """Give the numbers as of now."""
        worker, counts = self._worker, self._worker.counts
        yield _gauge("worker_turns_live", "Turns worked on now", worker.live)
        yield _gauge("worker_oldest_claim_seconds", "How long ago the oldest of them was taken", worker.oldest_claim)
        yield _gauge("worker_connected", "1 if the queue answered when it was last asked", worker.is_connected)
        yield _counter("worker_claimed", "Turns that became ours by their fence", counts.claimed)
        yield _counter("worker_recovered", "Of those the ones that had another owner before", counts.recovered)
        yield _counter("worker_fenced", "Turns that another worker took, or got first", counts.fenced)
        yield _counter("worker_finished", "Turns ended and out of the queue", counts.finished)
        yield _counter("worker_stalled", "Turns ended because their producer was silent", counts.stalled)
        yield _counter("worker_handed_over", "Turns left to others at shutdown", counts.handed_over)
        yield _counter("worker_let_go", "Turns that failed without a terminal and wait for another try", counts.let_go)
        yield _counter("worker_invalid_events", "Entries of log A that are no events", counts.invalid_events)
        yield _counter("worker_repeated", "Announcements of a turn that was worked on here already", counts.repeated)
        yield _counter("worker_disconnects", "How often the queue could not be reached", counts.disconnects)


def _counter(name: str, meaning: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(f"turnwire_{name}", meaning, value=value)


def _gauge(name: str, meaning: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"turnwire_{name}", meaning, value=value)
