"""What the demo's model answers, and the tools it calls: a script that shows what a turn may go through.

It is asked through the prompt box of the page, and runs in the real agent loop. A word in the prompt chooses the scene.
"""

import itertools
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import trio

from turnwire.actors.core.toolset import tool
from turnwire.actors.engine_ports import ModelCall
from turnwire.messages.events import StreamEvent, Usage
from turnwire.messages.folds import fold_events
from turnwire.messages.json_text import parse_json
from turnwire.messages.ui import TextPart, ToolResultPart, UIMessage
from turnwire.runtime.models.script import Call, Fail, Reply, Say, Step, Think
from turnwire.runtime.record import load_demo

PACE = 0.03  # seconds between words: about what a model takes
SLOWER = 8  # times as long between the numbers that are counted

HELP = """I am a script, so I know five things by heart. Write a word to see one of them:

**again** plays the forecast for Tromsø once more, with a real tool in the loop.
**book** calls a tool that may not run before you allow it.
**both** calls two tools at once; one of them fails.
**count** counts for a minute, which is a good time to press Stop, to reload, or to pull the plug.
**break** breaks in the middle of its answer.

Anything else gets you this text. With `turnwire serve --set model.provider=…` somebody cleverer answers."""


@cache
def _demo() -> dict[str, Any]:
    """Give what the bundled stream says, by type: the first of each, and the output of its tool."""
    items = fold_events(each.event for each in load_demo() if isinstance(each.event, StreamEvent)).items
    texts: dict[str, str] = {item.item_type: item.text for item in reversed(items) if item.origin != "user"}
    asked, said = parse_json(texts["function_call"]), parse_json(texts["function_call_output"])
    return {**texts, "arguments": asked, "output": said}


@tool()
async def aurora_forecast(place: str, night: str, include: list[str]) -> dict[str, Any]:
    """Look up how likely northern lights are."""
    await trio.sleep(1.0)
    asked = {"place": place, "night": night, "include": include}
    return {**_demo()["output"], **({} if asked == _demo()["arguments"] else {"asked": asked})}


@tool(needs_approval=True)
async def book_flight(to: str, seats: int) -> str:
    """Book a flight; costs money, so somebody has to allow it."""
    await trio.sleep(0.5)
    return f"booked: {seats} to {to}"


@tool()
async def find_hotel(town: str) -> str:
    """Find a hotel; there is never one."""
    await trio.sleep(0.8)
    raise LookupError(f"no room in {town}")


TOOLS = (aurora_forecast, book_flight, find_hotel)


def answer(call: ModelCall, *, speed: float = 1.0) -> Reply:
    """Answer one request: by the newest prompt, and by what tools have said since."""
    prompt, results = _situation(call.messages)
    scene = next((word for word in ("again", "book", "both", "count", "break") if word in prompt.lower()), "help")
    return [*_SCENES[scene](results, PACE / speed), _usage(call)]


def _again(results: Sequence[str], pace: float) -> Iterator[Step]:
    if results:
        yield Say(_demo()["message"], every=pace)
    else:
        yield Think(_demo()["reasoning"], every=pace)
        yield Call("aurora_forecast", _demo()["arguments"], every=pace)


def _book(results: Sequence[str], pace: float) -> Iterator[Step]:
    if results:
        yield Say(f"That is settled. What came of it: {results[-1]}", every=pace)
    else:
        yield Think("A flight costs money. I may ask for it, and somebody else decides.", every=pace)
        yield Call("book_flight", {"to": "Tromsø", "seats": 1}, every=pace)


def _both(results: Sequence[str], pace: float) -> Iterator[Step]:
    if results:
        yield Say("One of two: the forecast is there, the hotel is not. Bring a tent.", every=pace)
    else:
        yield Say("Let me look for both at once.", every=pace)
        yield Call("aurora_forecast", _demo()["arguments"], every=pace)
        yield Call("find_hotel", {"town": "Tromsø"}, every=pace)


def _count(_results: Sequence[str], pace: float) -> Iterator[Step]:
    yield Say([f"{number} " for number in range(1, 241)], every=pace * SLOWER)


def _break(_results: Sequence[str], pace: float) -> Iterator[Step]:
    yield Say("This answer was going so well until", every=pace)
    yield Fail("DEMO_BREAKS", "the script says that the provider broke here")


def _help(_results: Sequence[str], pace: float) -> Iterator[Step]:
    yield Say(HELP, every=pace)


_SCENES = {"again": _again, "book": _book, "both": _both, "count": _count, "break": _break, "help": _help}


def _situation(messages: Sequence[UIMessage]) -> tuple[str, list[str]]:
    """Give the newest prompt, and the results of tools since."""
    since = list(itertools.takewhile(lambda message: message.role != "user", reversed(messages)))
    asked = messages[-1 - len(since)] if len(since) < len(messages) else None
    prompt = "".join(part.content for part in asked.parts if isinstance(part, TextPart)) if asked else ""
    parts = [part for message in reversed(since) for part in message.parts]
    results = [part.content for part in parts if isinstance(part, ToolResultPart)]
    return prompt, results


def _usage(call: ModelCall) -> Usage:
    size = sum(len(part.content) for message in call.messages for part in message.parts if isinstance(part, TextPart))
    return Usage(prompt_tokens=size // 4, completion_tokens=100, total_tokens=size // 4 + 100)
