"""The engine that a service or a worker runs agents with: the host's own models and tools, or those of the settings."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, nullcontext

from turnwire.actors.core.toolset import Tools
from turnwire.actors.engine import Engine
from turnwire.actors.engine_options import EngineOptions
from turnwire.actors.engine_ports import Model, ThreadStore
from turnwire.runtime.backend.models import open_models
from turnwire.runtime.settings import ModelSettings


@asynccontextmanager
async def open_agent(
    settings: ModelSettings,
    threads: ThreadStore,
    *,
    models: Mapping[str, Model] | None = None,
    tools: Tools = (),
) -> AsyncGenerator[Engine | None, None]:
    """Open the engine for the length of a block; None where there is no model to ask.

    Without `models` (by name, the first is the default) the one of the settings is used.
    """
    async with open_models(settings) if models is None else nullcontext(models) as asked:
        options = EngineOptions(instructions=settings.instructions)
        yield Engine(asked, tools, threads, options) if asked else None
