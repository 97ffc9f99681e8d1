"""Every recording and the demo, as StreamEvents and as the outputs of turns that the real actor ran."""

from functools import cache

import trio
from trio.testing import MockClock

from tests.kit.recordings import ALL, adapt
from turnwire.messages import Output, StreamEvent
from turnwire.runtime import MemoryLog, open_runtime
from turnwire.runtime.record import load_demo


def load_streams() -> dict[str, list[StreamEvent]]:
    """Give all streams by name: each recording as it is, and with the provider's own tools shown; and the demo."""
    streams = {"demo": [each.event for each in load_demo() if isinstance(each.event, StreamEvent)]}
    for recording in ALL:
        name = f"{recording.provider}/{recording.name}"
        streams[name] = adapt(recording.provider, recording.events, prompt="Hello")
        streams[f"{name} with server tools"] = adapt(recording.provider, recording.events, show_server_tools=True)
    return streams


STREAMS = load_streams()


@cache
def run_turns() -> dict[str, tuple[Output, ...]]:
    """Run each stream through the real actor, and give what its log holds."""
    log = MemoryLog()

    async def main() -> dict[str, tuple[Output, ...]]:
        async with open_runtime(sink=log) as runtime:
            for name, events in STREAMS.items():
                async with runtime.open_turn(turn_id=name, thread_id="thread") as turn:
                    for event in events:
                        await turn.send(event)

        return {name: await log.outputs(name) for name in STREAMS}

    return trio.run(main, clock=MockClock(autojump_threshold=0))
