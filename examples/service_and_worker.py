"""A service, a worker and a producer as processes on one Redis; the worker is killed in the middle of a turn.

Try: python examples/service_and_worker.py                          (starts a Redis server of its own)
     python examples/service_and_worker.py redis://127.0.0.1:6379/0
Watch: the states of the answer stop when the first worker is killed, and go on when the second one has taken over.
       Nothing is lost, nothing is told twice, and the reader has noticed nothing but the pause.
"""

import json
import sys
from contextlib import nullcontext
from functools import partial
from subprocess import PIPE

import httpx
import trio

from turnwire.runtime.bench.redis_server import RedisServer, server_binaries
from turnwire.runtime.queue import AsyncProducer
from turnwire.runtime.record import load_demo, play_turn

RUN, TURN, THREAD = "demo", "demo", "demo-thread"  # as the bundled stream names them
TURNWIRE = [sys.executable, "-m", "turnwire.runtime.cli.main"]
QUICK = ["--set", "worker.claim_idle=1", "--set", "worker.heartbeat=0.25", "--quiet"]  # seconds; 10 and 2.5 by default


async def start(nursery: trio.Nursery, *command: str, **more: int) -> trio.Process:
    process: trio.Process = await nursery.start(partial(trio.run_process, [*TURNWIRE, *command], check=False, **more))
    return process


async def produce(url: str, *, task_status: trio.TaskStatus[None]) -> None:
    """Write a turn's events, as a program that calls a model would: it never hears of workers."""
    async with AsyncProducer(url) as producer:
        await producer.announce(RUN, TURN, THREAD)
        task_status.started()  # from here on there is something to read
        async for event in play_turn(load_demo(), speed=2):
            await producer.publish(RUN, event)


async def read(address: str, seen: trio.MemorySendChannel[str]) -> None:
    """Read the turn over HTTP, as a browser would."""
    with seen:
        async with (
            httpx.AsyncClient(timeout=httpx.Timeout(5, read=None)) as client,
            client.stream("GET", f"{address}/xapi/turns/{TURN}/stream") as response,
        ):
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    await seen.send(line.removeprefix("data: "))


async def main(url: str) -> None:
    """Put it all together, and kill the worker when the answer has begun to grow."""
    async with trio.open_nursery() as nursery:
        one = await start(nursery, "worker", "--redis", url, *QUICK)
        alone = ["--port", "0", "--set", "http.work=false", "--quiet"]  # it serves; others work
        service = await start(nursery, "serve", "--redis", url, *alone, stdout=PIPE)
        assert service.stdout is not None  # a pipe was asked for
        address = (await service.stdout.receive_some()).decode().split()[-1]
        began = trio.current_time()
        to_us, seen = trio.open_memory_channel[str](0)
        await nursery.start(produce, url)
        nursery.start_soon(read, address, to_us)
        async for data in seen:
            output = json.loads(data)
            print(f"{trio.current_time() - began:5.1f} s  {output['type']:13} {output.get('status', '')}")
            if one.returncode is None and (output["type"], output.get("status")) == ("message", "update"):
                print("         the worker is killed; another one starts")
                one.kill()
                await start(nursery, "worker", "--redis", url, *QUICK)
                await one.wait()
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    given = sys.argv[1:]
    with nullcontext() if given else RedisServer(next(iter(server_binaries().values()))) as server:
        trio.run(main, given[0] if server is None else server.url)
