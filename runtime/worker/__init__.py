"""The worker: takes turns from the queue, and loses none."""

from turnwire.runtime.worker.counts import WorkerCounts
from turnwire.runtime.worker.process import run_worker
from turnwire.runtime.worker.turn_work import EngineWork
from turnwire.runtime.worker.worker import Worker

__all__ = ["EngineWork", "Worker", "WorkerCounts", "run_worker"]
