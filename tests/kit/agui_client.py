"""The official AG-UI client, asked what it makes of our events: one Node process for as many streams as there are."""

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from turnwire.messages.agui.codec import unstructure_agui
from turnwire.messages.agui.more_events import AnyAguiEvent

NODE_FOLDER = Path(__file__).parents[1] / "node"
CLIENT = NODE_FOLDER / "node_modules" / "@ag-ui" / "client"


@attrs.frozen(kw_only=True)
class Verdict:
    """What the client says of one stream: where it refuses it, what it stripped, which messages it shows."""

    error: dict[str, Any] | None
    warnings: list[str]
    messages: list[dict[str, Any]]

    def texts(self, role: str = "assistant") -> list[str]:
        """Give the texts of the messages of a role, in order; an assistant's that only call tools have none."""
        return [message["content"] for message in self.messages if message["role"] == role and "content" in message]

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        """Give id, name and arguments of each call, in order."""
        return [
            (call["id"], call["function"]["name"], call["function"]["arguments"])
            for message in self.messages
            for call in message.get("toolCalls", ())
        ]

    @property
    def results(self) -> dict[str, str]:
        """Give the content of each tool message, by the call it answers."""
        return {message["toolCallId"]: message["content"] for message in self.messages if message["role"] == "tool"}


def as_wire(events: Iterable[AnyAguiEvent]) -> list[dict[str, Any]]:
    """Give events as AG-UI 1.0 has them on the wire."""
    return [unstructure_agui(event, dialect="1.0") for event in events]


def require_client() -> str:
    """Give the path of Node. Skips the test where Node or its packages are absent."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on PATH: the official AG-UI client was not asked")
    if not CLIENT.exists():
        pytest.skip(
            "no @ag-ui/client in tests/node/node_modules (`make test` installs it where npm can): it was not asked"
        )
    return node


def ask_client(streams: Mapping[str, Iterable[AnyAguiEvent]], **more: Any) -> dict[str, Verdict]:
    """Play each stream to the client. Skips the test where Node or its packages are absent."""
    node = require_client()
    lines = [json.dumps({"name": name, "events": as_wire(events), **more}) for name, events in streams.items()]
    ran = subprocess.run(  # noqa: S603  # our own script
        [node, str(NODE_FOLDER / "agui_client.mjs")],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    verdicts = [json.loads(line) for line in ran.stdout.splitlines()]
    return {said.pop("name"): Verdict(**said) for said in verdicts}
