"""Listens, and hands connections to Hypercorn; stops so that nobody can hold it up.

Hypercorn speaks HTTP/1.1 and HTTP/2 over a stream. Its own accept loop cannot end a connection whose reader takes
nothing (what it sends is shielded), so ours knows the connections and closes what is left after the grace time.
"""

import logging
from collections.abc import Callable
from functools import partial

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState, LifespanState
from starlette.types import ASGIApp

from turnwire.actors.core.restarts import RestartBudget
from turnwire.actors.supervisor import run_supervised
from turnwire.runtime.observe import get_logger

log = get_logger("turnwire.http")

KEEP_ALIVE = 60.0  # seconds that a connection may idle between requests
CUT = 0.5  # seconds for connections to notice that they were closed


class HttpServer:
    """Serves an application until it is told to stop."""

    def __init__(
        self, app: ASGIApp, *, host: str, port: int, grace: float, budget: Callable[[], RestartBudget] = RestartBudget
    ) -> None:
        self._app = ASGIWrapper(app)  # type: ignore[arg-type]  # two names of the same ASGI types
        self._host = host
        self._port = port
        self._grace = grace
        self._budget = budget
        self.config = _config()
        """Hypercorn's own."""
        self._context = WorkerContext(None)
        self._listeners: list[trio.SocketListener] = []
        self._streams: set[trio.SocketStream] = set()
        self._stop = trio.Event()
        self._idle = trio.Event()
        self._patience = trio.CancelScope()
        self._is_impatient = False

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._streams)

    def stop(self) -> None:
        """Take no more connections; `run` returns when those there are have ended, or after the grace time."""
        self._stop.set()

    def stop_at_once(self) -> None:
        """Do not wait for requests to end."""
        self._stop.set()
        self._is_impatient = True
        self._patience.cancel()

    async def listen(self) -> tuple[str, ...]:
        """Have the address from now on; give it, as URLs. Raises OSError when it cannot be had."""
        try:
            self._listeners = await trio.open_tcp_listeners(self._port, host=self._host)
        except OSError as exc:
            raise OSError(exc.errno, f"cannot listen on {self._host} port {self._port}: {exc.strerror or exc}") from exc
        return tuple(map(_url, self._listeners))

    async def run(self) -> None:
        """Be the server, after `listen`."""
        async with trio.open_nursery() as connections:
            async with trio.open_nursery() as accepting:
                for listener in self._listeners:
                    accept = partial(self._accept, listener, connections)
                    supervised = partial(run_supervised, accept, name="accept loop", budget=self._budget())
                    accepting.start_soon(supervised, name="accept loop")
                await self._stop.wait()
                accepting.cancel_scope.cancel()
            await self._context.terminated.set()  # idle connections end now, busy ones after their request
            await self._wait_for_connections()
            connections.cancel_scope.cancel()

    async def _accept(self, listener: trio.SocketListener, connections: trio.Nursery) -> None:
        await trio.serve_listeners(self._handle, [listener], handler_nursery=connections)

    async def _handle(self, stream: trio.SocketStream) -> None:
        self._streams.add(stream)
        try:
            # Hypercorn makes an object that is awaited; it closes the stream itself.
            state = ConnectionState(LifespanState({}))
            await TCPServer(self._app, self.config, self._context, state, stream)  # type: ignore[arg-type]  # it takes both kinds of streams
        except Exception:  # whatever a peer makes of a connection is that connection's end, and no other's
            log.warning("connection failed", exc_info=True)
        finally:
            self._streams.discard(stream)
            if not self._streams:
                self._idle.set()

    async def _wait_for_connections(self) -> None:
        with trio.move_on_after(self._grace) as self._patience:
            if self._is_impatient:
                self._patience.cancel()
            await self._wait_idle()
        if self._streams:
            log.warning("connections cut", count=len(self._streams))
            for stream in tuple(self._streams):
                stream.socket.close()
            with trio.move_on_after(CUT):
                await self._wait_idle()

    async def _wait_idle(self) -> None:
        while self._streams:
            self._idle = trio.Event()
            await self._idle.wait()


def _config() -> Config:
    config = Config()
    config.accesslog = None
    config.errorlog = logging.getLogger("turnwire.http.server")
    config.include_server_header = False
    config.keep_alive_timeout = KEEP_ALIVE
    config.keep_alive_max_requests = 1_000_000  # producers post for hours over one connection
    return config


def _url(listener: trio.SocketListener) -> str:
    host, port = listener.socket.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
