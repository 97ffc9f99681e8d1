"""The example of a page in forty lines, in a real browser, from another origin than the service."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.kit.browser import PATIENCE_MS, ServiceProcess, open_page

EXAMPLES = Path(__file__).parent.parent / "examples"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing of it."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the library's name
        """Say nothing."""


@pytest.fixture
def own_site() -> Iterator[str]:
    """Serve the examples, as somebody's own web server would; give its origin."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(EXAMPLES))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_page_of_forty_lines_asks_and_shows_and_survives_a_reload(browser: Browser, own_site: str) -> None:
    """All it keeps is the turn's id in its address."""
    settings = ("model.provider=scripted", f"http.cors_origins={own_site}")
    with ServiceProcess(settings) as service, open_page(browser) as page:
        page.goto(f"{own_site}/page.html?service={service.url}")
        page.get_by_placeholder("Ask something").fill("Is it <b>there</b>?")
        page.get_by_role("button").click()
        page.wait_for_url("**turn=**")
        answer = page.locator("main pre").last
        expect(answer).to_contain_text("You said: Is it <b>there</b>?", timeout=PATIENCE_MS)
        expect(answer).not_to_contain_text("…", timeout=PATIENCE_MS)
        shown = page.locator("main").inner_text()
        page.reload()
        expect(page.locator("main")).to_have_text(shown, use_inner_text=True, timeout=PATIENCE_MS)
