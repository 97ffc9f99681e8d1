"""A worker as a process: what it stands on, and the signals that end it."""

from collections.abc import Mapping

import trio

from turnwire.actors.core.toolset import Tools
from turnwire.actors.engine_ports import Model
from turnwire.runtime.observe import get_logger
from turnwire.runtime.settings import Settings, SettingsError
from turnwire.runtime.signals import stop_at_signals
from turnwire.runtime.worker.worker import Worker
from turnwire.runtime.worker.workplace import open_workplace

log = get_logger("turnwire.worker")


async def run_worker(
    settings: Settings,
    *,
    models: Mapping[str, Model] | None = None,
    tools: Tools = (),
) -> Worker:
    """Be a worker process until SIGTERM or SIGINT; a second one does not wait for turns to end. Gives its counts.

    `models`, by name, and `tools` are the host's own, for turns that the engine runs; without models those of the
    settings are used. Raises SettingsError without a server, or where the model of the settings cannot be asked.
    """
    if settings.redis.url is None:
        raise SettingsError(["redis.url: a worker needs the server that holds the queue"])
    async with open_workplace(settings, models=models, tools=tools) as place:
        worker = place.make_worker()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stop_at_signals, worker.stop, worker.stop_at_once, log, name="signals")
            await worker.run()
            nursery.cancel_scope.cancel()
        return worker
