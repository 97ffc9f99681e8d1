"""The service as a whole: backend, runtime, worker, HTTP; each inside the one it stands on.

```
open_service
├─ backend      log tasks, directory                     (outlive all below)
├─ runtime      the actors of the turns
├─ worker       works on turns, unless others do
└─ http         accept loop, connections, streams        (innermost: first to stop)
```

Told to stop, it takes no more connections and turns, ends streams as they should end, waits for requests (http.grace)
and for turns (worker.grace), and hands the rest over.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

import attrs
import trio

from turnwire.actors.core.toolset import Tools
from turnwire.actors.engine_ports import Model
from turnwire.runtime.backend.models import check_model
from turnwire.runtime.beside import run_beside
from turnwire.runtime.http.access import Access, Authoriser
from turnwire.runtime.http.app import make_app
from turnwire.runtime.http.server import HttpServer
from turnwire.runtime.http.service import Service
from turnwire.runtime.metrics import LogCollector, RuntimeCollector, WorkerCollector
from turnwire.runtime.observe import get_logger
from turnwire.runtime.settings import Settings
from turnwire.runtime.signals import stop_at_signals
from turnwire.runtime.worker.workplace import open_workplace

log = get_logger("turnwire.http")


@attrs.frozen
class RunningService:
    """A service that is up."""

    service: Service
    urls: tuple[str, ...]
    server: HttpServer

    @property
    def url(self) -> str:
        """Where it answers."""
        return self.urls[0]

    def stop(self) -> None:
        """Begin to end: no more connections and turns; what is under way gets its grace time. Twice is fine."""
        self.server.stop()
        self.service.streams.close()
        if self.service.worker is not None:
            self.service.worker.stop()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Be its tasks. `open_service` starts it."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.server.run, name="http")
            if self.service.worker is not None:
                nursery.start_soon(self.service.worker.run, name="worker")
            task_status.started()

    async def shut_down(self) -> None:
        """Begin to end; whoever runs the tasks waits for them."""
        self.stop()

    def stop_at_once(self) -> None:
        """End without waiting: turns are handed over."""
        self.stop()
        self.server.stop_at_once()
        if self.service.worker is not None:
            self.service.worker.stop_at_once()


@asynccontextmanager
async def open_service(
    settings: Settings,
    *,
    models: Mapping[str, Model] | None = None,
    tools: Tools = (),
    authoriser: Authoriser | None = None,
) -> AsyncGenerator[RunningService, None]:
    """Have a service for the length of a block; leaving it stops it. Raises OSError when it cannot listen.

    `models`, by name, and `tools` are the host's own; without models those of the settings are used.
    """
    async with open_parts(settings, models=models, tools=tools, authoriser=authoriser) as service:
        http = settings.http
        server = HttpServer(
            make_app(service),
            host=http.host,
            port=http.port,
            grace=http.grace,
            budget=lambda: settings.worker.restart_budget,
        )
        running = RunningService(service, await server.listen(), server)
        async with run_beside(running.run, running.shut_down):
            yield running


@asynccontextmanager
async def open_parts(
    settings: Settings,
    *,
    models: Mapping[str, Model] | None = None,
    tools: Tools = (),
    authoriser: Authoriser | None = None,
) -> AsyncGenerator[Service, None]:
    """Have everything of a service but its listening and its working, which are up to whoever opens it."""
    async with open_workplace(settings, models=models, tools=tools) as place:
        worker = place.make_worker() if settings.http.work else None
        service = Service(
            backend=place.backend,
            settings=settings,
            access=Access(settings.http, authoriser=authoriser, shared=place.backend.is_shared),
            worker=worker,
            models=() if place.agent is None else tuple(place.agent.models),
        )
        service.registry.register(LogCollector(place.backend.log))
        service.registry.register(RuntimeCollector(place.runtime))
        if worker is not None:
            service.registry.register(WorkerCollector(worker))
        yield service


async def run_service(
    settings: Settings,
    on_up: Callable[[tuple[str, ...]], object] = lambda _urls: None,
    *,
    models: Mapping[str, Model] | None = None,
    tools: Tools = (),
    authoriser: Authoriser | None = None,
) -> None:
    """Be a service until SIGTERM or SIGINT; a second one does not wait for requests and turns to end.

    `on_up` is told the addresses when it answers there. The rest is as `open_service` takes it. Raises SettingsError
    where the model of the settings cannot be asked, and OSError when it cannot listen.
    """
    if models is None:
        check_model(settings.model)  # here too: what is raised inside the nursery comes out in a group
    failure: OSError | None = None
    async with trio.open_nursery() as nursery:
        try:
            async with open_service(settings, models=models, tools=tools, authoriser=authoriser) as running:
                stopped = trio.Event()
                await nursery.start(stop_at_signals, stopped.set, running.stop_at_once, log, name="signals")
                log.info("serving", urls=list(running.urls))
                on_up(running.urls)
                await stopped.wait()
        except OSError as exc:  # raised again below, for the same reason
            failure = exc
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    log.info("service ended")
