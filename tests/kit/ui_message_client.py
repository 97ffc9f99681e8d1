"""The AI SDK (npm `ai`), asked what it makes of our chunks: one Node process for as many streams as there are."""

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

NODE_FOLDER = Path(__file__).parents[1] / "node"
PACKAGE = NODE_FOLDER / "node_modules" / "ai"


@attrs.frozen(kw_only=True)
class UiVerdict:
    """What the SDK says of one stream: the chunks it refuses, what it complains of, the message it shows."""

    refused: list[dict[str, Any]]
    errors: list[str]
    message: dict[str, Any]

    @property
    def parts(self) -> list[dict[str, Any]]:
        """Give the parts of the message, those that were superseded left out."""
        parts: list[dict[str, Any]] = self.message["parts"]
        return [part for part in parts if not _notes(part).get("superseded")]

    def texts(self, kind: str = "text") -> list[str]:
        """Give the texts of the parts of a kind, in order."""
        return [part["text"] for part in self.parts if part["type"] == kind]

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Give the parts that are tool calls."""
        return [part for part in self.parts if "toolCallId" in part]


def require_sdk() -> str:
    """Give the path of Node. Skips the test where Node or the package is absent."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on PATH: the AI SDK was not asked")
    if not PACKAGE.exists():
        pytest.skip("no `ai` in tests/node/node_modules (`make test` installs it where npm can): it was not asked")
    return node


def ask_sdk(streams: Mapping[str, Iterable[Mapping[str, Any]]]) -> dict[str, UiVerdict]:
    """Play each stream to the SDK. Skips the test where Node or the package is absent."""
    node = require_sdk()
    lines = [json.dumps({"name": name, "chunks": list(chunks)}) for name, chunks in streams.items()]
    ran = subprocess.run(  # noqa: S603  # our own script
        [node, str(NODE_FOLDER / "ui_message_client.mjs")],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    verdicts = [json.loads(line) for line in ran.stdout.splitlines()]
    return {said.pop("name"): UiVerdict(**said) for said in verdicts}


def _notes(part: dict[str, Any]) -> dict[str, Any]:
    metadata: dict[str, dict[str, Any]] = part.get("providerMetadata", {})
    return metadata.get("turnwire", {})
