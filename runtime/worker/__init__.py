"""The worker: takes turns from the queue, and loses none."""

from turnwire.runtime.worker.counts import WorkerCounts
from turnwire.runtime.worker.process import run_worker
from turnwire.runtime.worker.turn_work import Engine, Publish
from turnwire.runtime.worker.worker import Worker

__all__ = ["Engine", "Publish", "Worker", "WorkerCounts", "run_worker"]
