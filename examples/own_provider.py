"""A provider of your own: say what its events mean, and everything behind the adapter works for it.

Try:    python examples/own_provider.py
Watch:  the invented provider "parrot" thinks, then speaks. Its second stream breaks off in mid-sentence, and
        the adapter ends it truthfully. `check_contract` is for your tests: it names the first event that breaks a rule.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import trio

from turnwire.messages import Usage
from turnwire.messages.providers import Adapter, Item, ItemKind
from turnwire.messages.testing import check_contract
from turnwire.runtime import MemoryLog, open_runtime
from turnwire.runtime.providers import adapt_stream

STREAM: list[dict[str, Any]] = [
    {"kind": "hello", "id": "p-1", "model": "grey-parrot"},
    {"kind": "think", "text": "They want a word."},
    {"kind": "say", "text": "Polly "},
    {"kind": "say", "text": "wants a cracker."},
    {"kind": "bye", "why": "out of words", "seeds": {"eaten": 9, "spat": 5}},
]


class Parrot(Adapter):
    """Understands the parrot's stream."""

    FORMAT = "parrot"

    def _prepare(self) -> None:
        self._item: Item | None = None  # what it is busy with: thinking or speaking

    def _read(self, event: Mapping[str, Any]) -> None:
        match event:
            case {"kind": "hello", "id": str(name), "model": str(model)}:
                self.provider_response_id, self.served_model = name, model
            case {"kind": "think" | "say" as kind, "text": str(text)}:
                wanted: ItemKind = "reasoning" if kind == "think" else "message"
                if self._item is None or self._item.kind != wanted:
                    if self._item is not None:
                        self._transcript.done(self._item)
                    self._item = self._transcript.notice(wanted)
                self._transcript.delta(self._item, text)
            case {"kind": "bye", "why": str(why), "seeds": {"eaten": int(eaten), "spat": int(spat)}}:
                self._usage = Usage(prompt_tokens=eaten, completion_tokens=spat)
                self._complete("stop", why)
            case _:
                self.counts["unknown_event"] += 1  # never an error: providers grow new events all the time

    def _read_end(self) -> None:
        self._truncate()  # it has not said bye


async def source(events: list[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    """Stand in for the way to the provider."""
    for event in events:
        yield event


async def main() -> None:
    """Run a whole answer and one that breaks off, and hold the adapter to the contract."""
    log = MemoryLog()
    async with open_runtime(sink=log) as runtime:
        for turn_id, events in (("whole", STREAM), ("broken", STREAM[:3])):
            adapter = Parrot(run_id=turn_id, thread_id="cage", model_id="grey-parrot", prompt="Say something")
            await runtime.run_turn(adapt_stream(adapter, source(events)), turn_id=turn_id, thread_id="cage")
            print(*(entry.message.payload for entry in await log.read(turn_id)), sep="\n")
    adapter = Parrot(run_id="checked", thread_id="cage")
    told = [event async for event in adapt_stream(adapter, source(STREAM))]
    check_contract(told)
    print(f"{len(told)} events keep the contract")


if __name__ == "__main__":
    trio.run(main)
