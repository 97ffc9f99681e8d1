"""What the JSON examples of the documentation claim to be, by page and in order: each is taken or made by the real thing."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from tests.kit.service import open_asked
from turnwire.messages import Message, decode_output, encode_output
from turnwire.messages.dialects import outputs_to_upsert

Claim: TypeAlias = Callable[[str], Awaitable[None]]


async def outputs_one_per_line(text: str) -> None:
    """Each line is an output, written as we write it."""
    for line in text.splitlines():
        assert encode_output(decode_output(line)) == line


async def an_upsert(text: str) -> None:
    """The dialect says it so of a message that has grown."""
    said = Message(turn_id="t", thread_id="th", item_id="m", status="update", content="Hello, wor", origin="agent")
    assert outputs_to_upsert([said]) == [json.loads(text)]


async def starts_a_turn(text: str) -> None:
    """The service takes it as the body that starts a turn, and repeats it without starting another."""
    async with open_asked(script=lambda _: "Clear.") as asked:
        for _ in range(2):
            answer = await asked.http.post(
                "/xapi/threads/th/turns", content=text, headers={"content-type": "application/json"}
            )
            assert answer.status_code == 202, answer.text
            assert answer.json()["turnId"] == json.loads(text)["turnId"]


CLAIMS: Mapping[str, Sequence[Claim]] = {
    "dialects.md": [an_upsert],
    "http.md": [starts_a_turn],
    "reference.md": [outputs_one_per_line],
}
