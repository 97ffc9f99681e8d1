"""The demo: the whole service in this process, with a turn that plays the bundled stream when somebody looks.

The stream comes as a producer's would: announced, then appended to log A event by event, in its own time; a worker
makes a turn of it. What is asked in the prompt box runs in the agent loop, with a script for a model (demo_script.py).
"""

import signal
from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from typing import Final

import attrs
import trio

from turnwire.messages.events import ResponseStart, StreamEvent
from turnwire.runtime.demo_script import TOOLS, answer
from turnwire.runtime.http.process import RunningService, open_service
from turnwire.runtime.models import ScriptedModel
from turnwire.runtime.queue.announcement import Announcement
from turnwire.runtime.record import load_demo, play_turn
from turnwire.runtime.settings import HttpSettings, Settings, TurnSettings, WorkerSettings

TURN: Final = "demo"
MODEL: Final = "scripted"
LOOK_EVERY = 0.05  # seconds between looks whether somebody reads
PATIENCE = 30.0  # seconds after which the turn begins without a reader

SETTINGS = Settings(
    http=HttpSettings(port=0, grace=0.5),
    worker=WorkerSettings(grace=0.0),  # nobody waits for a demo to end
    turn=TurnSettings(max_latency=0.25),
)


async def run_demo(on_up: Callable[[str], object], *, speed: float = 1.0, port: int = 0) -> None:
    """Be the demo until SIGTERM or SIGINT. `on_up` is told the address."""
    settings = attrs.evolve(SETTINGS, http=attrs.evolve(SETTINGS.http, port=port))
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with (
            open_service(settings, models={MODEL: ScriptedModel(partial(answer, speed=speed))}, tools=TOOLS) as running,
            trio.open_nursery() as nursery,
        ):
            await announce_demo(running)
            nursery.start_soon(_play_when_seen, running, speed, name="demo stream")
            on_up(f"{running.url}/#turn={TURN}")
            async for _ in signals:
                nursery.cancel_scope.cancel()
                break


async def announce_demo(running: RunningService) -> None:
    """Have the demo's turn listed and waited for."""
    start = next(event.payload for event in _events() if isinstance(event.payload, ResponseStart))
    announcement = Announcement(run_id=TURN, turn_id=TURN, thread_id=start.thread_id)
    await running.service.backend.directory.announce(announcement)


async def play_demo(running: RunningService, *, speed: float = 1.0) -> None:
    """Append the bundled stream to log A, in its own time."""
    async with aclosing(play_turn(load_demo(), speed=speed)) as events:
        async for event in events:
            await running.service.backend.log.append_events(TURN, [event])


async def _play_when_seen(running: RunningService, speed: float) -> None:
    with trio.move_on_after(PATIENCE):
        while not len(running.service.streams):  # noqa: ASYNC110  # only a demo wants to know when somebody looks
            await trio.sleep(LOOK_EVERY)
    await play_demo(running, speed=speed)


def _events() -> list[StreamEvent]:
    return [each.event for each in load_demo() if isinstance(each.event, StreamEvent)]
