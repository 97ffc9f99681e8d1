"""What a worker stands on, in its own process or beside a service: backend, agent, runtime; each inside the former."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import attrs

from turnwire.actors.core.toolset import Tools
from turnwire.actors.engine import Engine
from turnwire.actors.engine_ports import Model
from turnwire.runtime.backend import Backend, open_backend
from turnwire.runtime.backend.agent import open_agent
from turnwire.runtime.backend.models import check_model
from turnwire.runtime.host import Runtime, open_runtime
from turnwire.runtime.settings import Settings
from turnwire.runtime.worker.worker import AT_ONCE, Worker

RUNTIME_GRACE = 1.0  # seconds; by then every turn has ended or was cancelled


@attrs.frozen
class Workplace:
    """Where a worker can work. `agent` runs the turns that ask for a model; None where there is none."""

    settings: Settings
    backend: Backend
    agent: Engine | None
    runtime: Runtime

    def make_worker(self) -> Worker:
        """Make the worker of this place; running it is up to whoever wants one."""
        engine = None if self.agent is None else self.agent.work
        return Worker(self.backend.log, self.runtime, self.backend.queue, self.settings, engine=engine)


@asynccontextmanager
async def open_workplace(
    settings: Settings,
    *,
    models: Mapping[str, Model] | None = None,
    tools: Tools = (),
) -> AsyncGenerator[Workplace, None]:
    """Have a workplace for the length of a block.

    `models`, by name, and `tools` are the host's own; without models those of the settings are used. Raises
    SettingsError where those cannot be asked.
    """
    if models is None:
        check_model(settings.model)
    async with (
        open_backend(settings) as backend,
        open_agent(settings.model, backend.threads, models=models, tools=tools) as agent,
        open_runtime(
            sink=backend.log,
            options=settings.turn_options,
            max_turns=settings.limits.turns + AT_ONCE,  # the worker keeps the limit; two of its tasks ask at once
            grace=RUNTIME_GRACE,
        ) as runtime,
    ):
        yield Workplace(settings, backend, agent, runtime)
