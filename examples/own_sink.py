"""A sink of your own: anything that takes a message, or raises when it could not.

Try:    python examples/own_sink.py
Watch:  the sink is down for the first two calls. The turn goes on meanwhile, nothing is lost, the order holds, and
        each retry carries the same event id, so that a sink can tell a repeated message from a new one.
"""

import json

import trio

from turnwire.messages import StreamMessage
from turnwire.runtime import TurnOptions, open_runtime
from turnwire.runtime.record import load_demo, play_turn


class Inbox:
    """Keeps the newest state of each item, as a user interface would. Down at first."""

    def __init__(self) -> None:
        self.calls = 0
        self.state: dict[str, dict[str, object]] = {}

    async def __call__(self, message: StreamMessage) -> None:
        """Take a message."""
        self.calls += 1
        if self.calls <= 2:
            print(f"call {self.calls}: down, refusing {message.event_id}")
            raise ConnectionError("not yet")
        output = json.loads(message.payload)
        self.state[output.get("itemId", output["type"])] = output
        text = output.get("content", "")
        print(
            f"call {self.calls}: {message.event_id} {output['type']} {output.get('status', '')} {len(text)} characters"
        )


async def main() -> None:
    """Play the bundled stream, fifty times as fast as it was recorded, into a sink that is down at first."""
    inbox = Inbox()
    options = TurnOptions(retry_base=0.1, batch_timeout=0.05)
    async with open_runtime(sink=inbox, options=options) as runtime:
        await runtime.run_turn(play_turn(load_demo(), speed=50), turn_id="demo", thread_id="demo-thread")
    print(f"{len(inbox.state)} objects to render, the newest state of each")


if __name__ == "__main__":
    trio.run(main)
