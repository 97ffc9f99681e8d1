"""A service, a worker and a producer as processes on one Redis; the worker is killed in the middle of a turn.

Try: python examples/service_and_worker.py                          (starts a Redis server of its own)
     python examples/service_and_worker.py redis://127.0.0.1:6379/0
Watch: the states of the answer stop when the first worker is killed, and go on when the second one has taken over.
       Nothing is lost, nothing is told twice, and the reader has noticed nothing but the pause.
"""

import secrets
import sys
from contextlib import aclosing, nullcontext
from functools import partial
from subprocess import PIPE

import trio

from turnwire.messages import LogUnavailableError, Message
from turnwire.runtime.bench.redis_server import RedisServer, server_binaries
from turnwire.runtime.logs.redis import RedisLogOptions, open_redis_log
from turnwire.runtime.queue import AsyncProducer
from turnwire.runtime.record import load_demo, play_turn
from turnwire.runtime.turn_client import read_turn

RUN, TURN, THREAD = "demo", "demo", "demo-thread"  # as the bundled stream names them
TURNWIRE = [sys.executable, "-m", "turnwire.runtime.cli.main"]
PREFIX = f"example-{secrets.token_hex(4)}"  # of all keys: each run of this program begins with nothing
OURS = ["--set", f"redis.prefix={PREFIX}", "--quiet"]
QUICK = ["--set", "worker.claim_idle=1", "--set", "worker.heartbeat=0.25"]  # seconds; 10 and 2.5 by default


async def start(nursery: trio.Nursery, *command: str, **more: int) -> trio.Process:
    run = partial(trio.run_process, [*TURNWIRE, *command, *OURS], check=False, **more)
    process: trio.Process = await nursery.start(run)
    return process


async def produce(url: str, *, task_status: trio.TaskStatus[None]) -> None:
    """Write a turn's events, as a program that calls a model would: it never hears of workers."""
    async with AsyncProducer(url, options=RedisLogOptions(prefix=PREFIX)) as producer:
        await producer.announce(RUN, TURN, THREAD)
        task_status.started()  # from here on there is something to read
        async for event in play_turn(load_demo(), speed=2):
            await producer.publish(RUN, event)


async def main(url: str) -> None:
    """Put it all together, and kill the worker when the answer has begun to grow."""
    async with open_redis_log(url) as log:
        await log.ping()  # a server that is not there is said at once
    async with trio.open_nursery() as nursery:
        one = await start(nursery, "worker", "--redis", url, *QUICK)
        alone = ["--port", "0", "--set", "http.work=false"]  # it serves; others work
        service = await start(nursery, "serve", "--redis", url, *alone, stdout=PIPE)
        assert service.stdout is not None  # a pipe was asked for
        address = (await service.stdout.receive_some()).decode().split()[-1]
        began = trio.current_time()
        await nursery.start(produce, url)
        async with aclosing(read_turn(address, TURN)) as reads:  # over HTTP, as a browser would
            async for read in reads:
                output, seconds = read.output, trio.current_time() - began
                print(f"{seconds:5.1f} s  {type(output).__name__:13} {getattr(output, 'status', '')}")
                if one.returncode is None and isinstance(output, Message) and output.status == "update":
                    print("         the worker is killed; another one starts")
                    one.kill()
                    await start(nursery, "worker", "--redis", url, *QUICK)
                    await one.wait()
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    given = sys.argv[1:]
    with nullcontext() if given else RedisServer(next(iter(server_binaries().values()))) as server:
        try:
            trio.run(main, given[0] if server is None else server.url)
        except LogUnavailableError as wrong:
            sys.exit(str(wrong))
