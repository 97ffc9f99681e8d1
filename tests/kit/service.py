"""A service on a loopback port, and a client to ask it with: real sockets, no virtual time."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import httpx
import trio

from tests.kit.sse import open_sse
from turnwire.actors.engine_ports import Model
from turnwire.messages.event_codec import unstructure_event
from turnwire.messages.events import StreamEvent
from turnwire.messages.sse import ServerSentEvent
from turnwire.runtime.http.access import Authoriser
from turnwire.runtime.http.process import RunningService, open_service
from turnwire.runtime.models import Script, ScriptedModel
from turnwire.runtime.settings import Settings

PATIENCE = 20.0  # seconds; a test that waits longer has failed


def settings_with(**groups: Mapping[str, Any]) -> Settings:
    """Make settings: `settings_with(http={"port": 0})`. Any free port, and short waits."""
    defaults: dict[str, dict[str, Any]] = {
        "http": {"port": 0, "grace": 2.0},
        "worker": {"grace": 0.0, "claim_idle": 1.0, "heartbeat": 0.2},
        "turn": {"batch_gradient": (1,)},
    }
    given: dict[str, Any] = {}
    for group in attrs.fields(Settings):
        values = {**defaults.get(group.name, {}), **groups.get(group.name, {})}
        if values:
            given[group.name] = group.type(**values)  # type: ignore[misc]  # a group's own class
    return Settings(**given)


@attrs.define
class Asked:
    """A service and a client of it."""

    running: RunningService
    http: httpx.AsyncClient

    @property
    def url(self) -> str:
        return self.running.url

    async def post(self, path: str, document: object, **more: Any) -> httpx.Response:
        """Post JSON."""
        return await self.http.post(path, json=document, **more)

    async def publish(self, run_id: str, *events: StreamEvent) -> None:
        """Write events to a run, under its id."""
        documents = [unstructure_event(attrs.evolve(event, run_id=run_id)) for event in events]
        answer = await self.post(f"/api/v2/runs/{run_id}/events", documents)
        assert answer.status_code == 202, answer.text

    async def until(self, is_so: Callable[[], object]) -> None:
        """Wait until something is so."""
        with trio.fail_after(PATIENCE):
            while not is_so():  # noqa: ASYNC110  # what a service counts tells nobody when it changes
                await trio.sleep(0.005)

    @property
    def live(self) -> int:
        """How many turns the service works on."""
        worker = self.running.service.worker
        return 0 if worker is None else worker.live

    async def events(self, path: str, *, most: int | None = None, **more: Any) -> list[ServerSentEvent]:
        """Read a stream to its end, or until so many events have come."""
        found: list[ServerSentEvent] = []
        with trio.fail_after(PATIENCE):
            async with open_sse(self.url, path, **more) as stream:
                assert stream.status == 200, (stream.status, await stream.read_all())
                async for event in stream:
                    found.append(event)
                    if len(found) == most:
                        return found
                assert stream.is_complete
        return found


@asynccontextmanager
async def open_asked(
    settings: Settings | None = None,
    *,
    script: Script | None = None,
    token: str | None = None,
    models: Mapping[str, Model] | None = None,
    authoriser: Authoriser | None = None,
    tools: Sequence[Any] = (),
) -> AsyncGenerator[Asked, None]:
    """Have a service, with a scripted model if there is a script, and a client of it."""
    chosen = models if script is None else {"scripted": ScriptedModel(script)}
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with open_service(settings or settings_with(), models=chosen, tools=tools, authoriser=authoriser) as running:
        async with httpx.AsyncClient(base_url=running.url, headers=headers, timeout=PATIENCE) as http:
            yield Asked(running, http)
