"""The recorded provider streams, and what a stream of StreamEvents comes to, in a form that can be compared."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import pytest

from turnwire.messages import StreamEvent, fold_events
from turnwire.messages.events import ResponseDone, ResponseError, Usage
from turnwire.messages.providers import ADAPTERS, Adapter

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "recordings"


@attrs.frozen(kw_only=True)
class Recording:
    """One recorded stream and what it must come to."""

    provider: str
    name: str
    events: list[dict[str, Any]]
    expected: dict[str, Any]

    @property
    def final(self) -> dict[str, Any]:
        final: dict[str, Any] = self.expected["final"]
        return final

    def body(self, line_end: str = "\n") -> bytes:
        """Give the stream as the SSE body that its provider sends; a chat stream ends with its marker, if it ends."""
        marked = self.provider == "openai-chat" and self.final["status"] not in ("truncated", "error")
        return sse_body(self.provider, self.events, line_end=line_end, done_marker=marked)


def sse_body(
    provider: str, events: Iterable[dict[str, Any]], *, line_end: str = "\n", done_marker: bool = False
) -> bytes:
    """Give events as an SSE body, named as their provider names them."""
    blocks: list[str] = []
    for event in events:
        lines = [f"data: {json.dumps(event, ensure_ascii=False)}", "", ""]
        if provider != "openai-chat":
            lines.insert(0, f"event: {event.get('type')}")
        blocks.append(line_end.join(lines))
    if done_marker:
        blocks.append(line_end.join(["data: [DONE]", "", ""]))
    return "".join(blocks).encode()


@attrs.frozen(kw_only=True)
class Told:
    """What a stream of StreamEvents told: all that must not depend on how the provider cut it."""

    texts: tuple[str, ...]
    thinking: str
    calls: tuple[tuple[str | None, str, str], ...]
    usage: Usage | None
    finish_reason: str | None
    status: str
    error_code: str | None


def load_recordings() -> list[Recording]:
    """Load all recordings; none where the folder is absent."""
    return [
        Recording(
            provider=folder.name,
            name=path.stem,
            events=[json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()],
            expected=json.loads((folder / f"{path.stem}.expected.json").read_text(encoding="utf-8")),
        )
        for folder in sorted(RECORDINGS.glob("*-*"))
        for path in sorted(folder.glob("*.jsonl"))
    ]


ALL = load_recordings()
_ABSENT = pytest.param(None, marks=pytest.mark.skip(reason=f"no recordings at {RECORDINGS}"))

each_recording = pytest.mark.parametrize(
    "recording", [pytest.param(found, id=f"{found.provider}/{found.name}") for found in ALL] or [_ABSENT]
)
each_provider = pytest.mark.parametrize("provider", sorted(ADAPTERS))


def recording_named(provider: str, name: str) -> Recording:
    """Give one recording; skips the test where it is absent."""
    found = next((each for each in ALL if (each.provider, each.name) == (provider, name)), None)
    if found is None:
        pytest.skip(f"no recording {provider}/{name} at {RECORDINGS}")
    return found


def make_adapter(provider: str, **options: Any) -> Adapter:
    """Make an adapter with ids and a clock that are the same in every run."""
    given: dict[str, Any] = {"run_id": "run", "thread_id": "thread", "now": lambda: 0, **options}
    return ADAPTERS[provider](**given)


def adapt(provider: str, events: Iterable[object], **options: Any) -> list[StreamEvent]:
    """Give all StreamEvents of a stream, its end included."""
    adapter = make_adapter(provider, **options)
    told = [each for event in events for each in adapter.feed(event)]
    return told + adapter.finish()


def told(events: Iterable[StreamEvent]) -> Told:
    """Sum up what a stream told. White space in thinking does not count: providers join its parts."""
    events = list(events)
    response = fold_events(events)
    end = events[-1].payload
    assert isinstance(end, ResponseDone | ResponseError)
    return Told(
        texts=tuple(
            item.text
            for item in response.items
            if item.item_type == "message" and item.origin != "user" and item.state != "cancelled" and item.text
        ),
        thinking="".join("".join(item.text.split()) for item in response.items if item.item_type == "reasoning"),
        calls=tuple(
            (item.name, item.text, item.state)
            for item in response.items
            if item.item_type == "function_call" and item.state != "cancelled"
        ),
        usage=response.usage,
        finish_reason=response.finish_reason,
        status=response.status,
        error_code=response.error.code if response.error else None,
    )
