"""The service without a server of its own: an ASGI application that a host's server mounts.

On Trio: `async with open_app(settings) as app`. On asyncio, where Trio runs beside the host's loop:

```
async with open_bridge() as bridge, bridge.enter(open_app(settings)) as app:
    fastapi_app.mount("/turnwire", bridge.asgi(app))
```
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import trio
from starlette.types import ASGIApp

from turnwire.actors.backend import ENTERED_INSTEAD, require_trio
from turnwire.actors.core.toolset import Tools
from turnwire.actors.engine_ports import Model
from turnwire.runtime.beside import run_beside
from turnwire.runtime.http.access import Authoriser
from turnwire.runtime.http.app import make_app
from turnwire.runtime.http.process import open_parts
from turnwire.runtime.http.service import Service
from turnwire.runtime.settings import Settings


@asynccontextmanager
async def open_app(
    settings: Settings,
    *,
    models: Mapping[str, Model] | None = None,
    tools: Tools = (),
    authoriser: Authoriser | None = None,
) -> AsyncGenerator[ASGIApp, None]:
    """Have the service's application, and its worker if it has one, for the length of a block.

    The host's server listens, and decides how long requests have when it stops; leaving the block ends streams that are
    still open as they should end, and hands turns over. Without tokens in the settings whoever gets through to the
    host's server on loopback is let in, and nobody else: set tokens, or have an `authoriser`, before it listens wider.
    """
    require_trio("open_app", instead=ENTERED_INSTEAD)
    async with open_parts(settings, models=models, tools=tools, authoriser=authoriser) as service:
        running = _Running(service)
        async with run_beside(running.run, running.stop):
            yield make_app(service)


class _Running:
    """The worker of a mounted service, for as long as it is mounted."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        if self._service.worker is not None:
            await self._service.worker.run()

    async def stop(self) -> None:
        self._service.streams.close()
        if self._service.worker is not None:
            self._service.worker.stop()
