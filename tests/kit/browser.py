"""A real browser, and a real service for it to look at: `turnwire serve` as a process that can be killed.

The browser is Debian's Chromium, driven by Playwright; nothing is downloaded. Tests that need it skip, saying so, where
it is not installed.
"""

import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import attrs
import httpx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, sync_playwright

from turnwire.messages import StreamEvent, encode_event
from turnwire.runtime.bench.redis_server import free_port

PATIENCE_MS = 30_000
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")


def find_browser() -> str:
    """Give the path of Chromium, or skip the test, saying so."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no chromium on PATH: the page was not looked at")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of a module; each opens pages of its own."""
    path = find_browser()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def open_page(
    browser: Browser, *, width: int = 1200, height: int = 760, scheme: str = "light"
) -> Generator[Page, None, None]:
    """Open a tab of its own; at the end it must have had nothing to complain of but a service that was away."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        locale="en-GB",
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    complaints: list[str] = []

    def complain(message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    def crash(error: Error) -> None:
        complaints.append(str(error))

    page.on("console", complain)
    page.on("pageerror", crash)
    try:
        yield page
        assert complaints == []
    finally:
        context.close()


@attrs.define
class ServiceProcess:
    """`turnwire serve` on a port that stays the same however often it is killed and started."""

    settings: Sequence[str] = ()
    port: int = attrs.field(factory=free_port)
    token: str | None = None
    _process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        more = [part for setting in self.settings for part in ("--set", setting)]
        command = [
            sys.executable,
            "-m",
            "turnwire.runtime.cli.main",
            "serve",
            "--port",
            str(self.port),
            "--quiet",
            *more,
        ]
        self._process = process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  # ourselves
        assert process.stdout is not None
        assert process.stdout.readline().strip() == self.url

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _exc: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            assert process.stdout is not None
            process.send_signal(number)
            process.wait(timeout=30)
            process.stdout.close()

    def publish(self, *events: StreamEvent) -> None:
        """Append events to log A, as a producer does; all are of the first one's run."""
        body = b"\n".join(encode_event(event) for event in events)
        headers = {
            "content-type": "application/x-ndjson",
            **({"authorization": f"Bearer {self.token}"} if self.token else {}),
        }
        address = f"{self.url}/api/v2/runs/{events[0].run_id}/events"
        answer = httpx.post(address, content=body, headers=headers, timeout=30, trust_env=False)
        assert answer.status_code == 202, answer.text
