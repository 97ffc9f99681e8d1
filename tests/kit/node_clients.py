"""Clients on Node that we did not write, asked to talk to a service: one process for as many jobs as there are."""

import json
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import attrs
import pytest
import trio

NODE_FOLDER = Path(__file__).parents[1] / "node"
PATIENCE = 60.0  # seconds


def require_node(*packages: str) -> str:
    """Give the path of Node. Skips the test, saying so, where Node or a package is absent."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on PATH: clients that we did not write were not asked")
    for package in packages:
        if not (NODE_FOLDER / "node_modules" / package).exists():
            pytest.skip(f"no {package} in tests/node/node_modules (`make test` installs it where npm can)")
    return node


@attrs.define
class NodeClients:
    """A Node process that does jobs, one after the other."""

    _process: trio.Process
    _lines: list[bytes] = attrs.field(factory=list[bytes])
    _rest: bytes = b""

    async def start(self, **job: Any) -> None:
        """Begin a job."""
        assert self._process.stdin is not None
        await self._process.stdin.send_all(json.dumps(job).encode() + b"\n")

    async def wait_up(self) -> str:
        """Wait until the client has seen something; give what it says of it."""
        said = await self._next()
        assert "up" in said, said
        up: str = said["up"]
        return up

    async def wait_done(self) -> dict[str, Any]:
        """Wait for the end of a job."""
        while "done" not in (said := await self._next()):
            pass
        done: dict[str, Any] = said["done"]
        return done

    async def run(self, **job: Any) -> dict[str, Any]:
        """Do a whole job."""
        await self.start(**job)
        return await self.wait_done()

    async def _next(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        with trio.fail_after(PATIENCE):
            while b"\n" not in self._rest:
                piece = await self._process.stdout.receive_some()
                assert piece, "node has ended"
                self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        said: dict[str, Any] = json.loads(line)
        return said


@asynccontextmanager
async def open_node(*packages: str) -> AsyncGenerator[NodeClients, None]:
    """Have a Node process for the length of a block."""
    node = require_node(*packages)
    command = [node, str(NODE_FOLDER / "service_clients.mjs")]
    process = await trio.lowlevel.open_process(command, stdin=PIPE, stdout=PIPE)
    try:
        yield NodeClients(process)
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                await stream.aclose()
