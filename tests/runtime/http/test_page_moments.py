"""The page at awkward moments: mounted below a host, clicked twice, left while it waits, scrolled far back.

Answers of the service are held back or made up where a moment has to be caught; the page and the browser are real.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import attrs
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.kit.browser import PATIENCE_MS, ServiceProcess, open_page
from tests.kit.turns import called, finished, said, started
from turnwire.messages import StreamEvent

expect.set_options(timeout=PATIENCE_MS)
ROOT = Path(__file__).parents[3]
_numbers = count(1)


@pytest.fixture(scope="module")
def service(browser: Browser) -> Iterator[ServiceProcess]:
    """A service in memory; started only where there is a browser."""
    assert browser.is_connected()
    with ServiceProcess(["model.provider=scripted"]) as running:
        yield running


def publish(service: ServiceProcess, *events: StreamEvent, thread: str = "") -> str:
    """Write a whole turn of these events; give its id."""
    turn = f"moment-{next(_numbers)}"
    whole = (started(turn, thread or f"thread-of-{turn}"), *events, finished())
    service.publish(*(attrs.evolve(event, run_id=turn) for event in whole))
    return turn


def show(page: Page, service: ServiceProcess, turn: str) -> None:
    page.goto(f"{service.url}/#turn={turn}")
    expect(page.locator(f'.turn[data-turn="{turn}"]')).to_have_attribute("data-state", "complete")


def test_the_page_works_where_a_host_has_mounted_it(browser: Browser) -> None:
    """Below another application's path: it asks the service that it came from, not the root of the site."""
    command = [sys.executable, "-m", "uvicorn", "--app-dir", "examples", "fastapi_app:app", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as host, open_page(browser) as page:  # noqa: S603  # ours
        assert host.stderr is not None
        try:
            told = ""
            while (found := re.search(r"http://[\d.]+:\d+", told)) is None:
                line = host.stderr.readline()
                assert line, told
                told += line
            page.goto(f"{found[0]}/turnwire/")
            page.get_by_label("Prompt").fill("Hello there")
            page.get_by_label("Prompt").press("Enter")
            expect(page.locator(".turn")).to_contain_text("You said: Hello there")
            expect(page.locator(".turn")).to_have_attribute("data-state", "complete")
            expect(page.locator("#turns a[aria-current]")).to_contain_text("Hello there")
        finally:
            host.terminate()
            host.communicate(timeout=30)


@pytest.mark.parametrize(
    "text", ["```\n```", "a\n```py\n```\nb", "```\n\n```", "```\ncode\n```\n", "```\nopen", "# x\n**y** `z`"]
)
def test_the_text_on_the_page_is_the_text_that_came(browser: Browser, service: ServiceProcess, text: str) -> None:
    """Every character once, whatever is set in bold or as code."""
    turn = publish(service, said("m", text))
    with open_page(browser) as page:
        show(page, service, turn)
        assert page.locator('.message[data-origin="agent"] .text').text_content() == text


class Waiting:
    """A thread with one question; its answers are made up, and the user's are kept until they are let go."""

    def __init__(self, page: Page, service: ServiceProcess) -> None:
        self.thread = f"asking-{next(_numbers)}"
        self.turn = publish(service, called("c", "c1", name="delete"), thread=self.thread)
        self.posted: list[Route] = []
        self.away_with = 0
        self.told: list[int] = []
        page.route(f"**/xapi/threads/{self.thread}?*", self._tell)
        page.route(f"**/xapi/threads/{self.thread}/turns", self._hold)

    def _hold(self, route: Route) -> None:
        self.posted.append(route)

    def _tell(self, route: Route) -> None:
        pending = {"kind": "approval", "toolCallId": "c1", "toolName": "delete", "approvalId": "a1"}
        told = {"turns": [], "pending": [pending]}
        self.told.append(self.away_with or 200)
        route.fulfill(status=self.told[-1], json={} if self.away_with else told)


def test_a_question_is_answered_once_however_often_it_is_clicked(browser: Browser, service: ServiceProcess) -> None:
    """While an answer is on its way there is nothing to click; one that was refused may be given again."""
    with open_page(browser) as page:
        waiting = Waiting(page, service)
        show(page, service, waiting.turn)
        allow = page.get_by_role("button", name="Allow")
        allow.click()
        expect(allow).to_be_disabled()
        expect(page.get_by_role("button", name="Deny")).to_be_disabled()
        allow.evaluate("button => button.click()")
        while not waiting.posted:  # the browser's doing
            page.wait_for_timeout(5)
        assert len(waiting.posted) == 1
        assert waiting.posted[0].request.post_data_json == {"answers": [{"approvalId": "a1", "approved": True}]}
        waiting.posted[0].fulfill(status=503, json={"error": {"code": "closing", "message": "try again"}})
        expect(page.get_by_role("alert")).to_have_text("try again")
        expect(allow).to_be_enabled()


def test_a_question_stays_when_the_service_does_not_answer(browser: Browser, service: ServiceProcess) -> None:
    """That nothing was told does not mean that nothing waits."""
    with open_page(browser) as page:
        waiting = Waiting(page, service)
        show(page, service, waiting.turn)
        allow = page.get_by_role("button", name="Allow")
        expect(allow).to_be_visible()
        other = f"moment-{next(_numbers)}"
        service.publish(attrs.evolve(started(other, waiting.thread), run_id=other))
        page.evaluate("() => window.dispatchEvent(new Event('online'))")
        expect(page.locator(f'.turn[data-turn="{other}"]')).to_have_attribute("data-state", "running")
        waiting.away_with = 503
        with page.expect_response(lambda answer: answer.status == 503):
            service.publish(attrs.evolve(finished(), run_id=other))
        expect(page.locator(f'.turn[data-turn="{other}"]')).to_have_attribute("data-state", "complete")
        page.wait_for_timeout(50)  # for what the page would make of that answer
        expect(allow).to_be_visible()


def test_a_question_that_could_not_be_asked_for_is_asked_for_again(browser: Browser, service: ServiceProcess) -> None:
    """The one moment at which the service was away does not hide what the thread waits for; what is forbidden stays so."""
    with open_page(browser) as page:
        waiting = Waiting(page, service)
        waiting.away_with = 503
        with page.expect_response(lambda answer: answer.status == 503):
            show(page, service, waiting.turn)
        waiting.away_with = 0
        page.evaluate("() => window.dispatchEvent(new Event('online'))")
        expect(page.get_by_role("button", name="Allow")).to_be_visible()
        waiting = Waiting(page, service)
        waiting.away_with = 403
        with page.expect_response(lambda answer: answer.status == 403):
            show(page, service, waiting.turn)
        with page.expect_response(re.compile(r".*/xapi/turns\?.*")):  # the next look
            page.evaluate("() => window.dispatchEvent(new Event('online'))")
        assert waiting.told == [403]


def test_a_turn_that_begins_after_its_reader_has_left_is_not_shown_in_another_thread(
    browser: Browser, service: ServiceProcess
) -> None:
    """The prompt was of one thread, the page shows another by now: the new turn comes with its own thread alone."""
    first = publish(service, said("m", "First."), thread="one")
    other = publish(service, said("m", "Of another thread."), thread="two")
    begun = publish(service, said("m", "The answer."), thread="one")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    with open_page(browser) as page:
        page.route("**/xapi/threads/one/turns", hold)
        show(page, service, first)
        expect(page.locator(".turn")).to_have_count(2)  # with the one that is there already, for the service's sake
        page.get_by_label("Prompt").fill("More")
        page.get_by_label("Prompt").press("Enter")
        page.evaluate("turn => (location.hash = `#turn=${turn}`)", other)
        expect(page.locator(".turn")).to_contain_text("Of another thread.")
        held[0].fulfill(json={"turnId": begun})
        expect(page.locator(f'.turn[data-turn="{begun}"]')).to_contain_text("The answer.")
        expect(page.locator(f'.turn[data-turn="{first}"]')).to_have_count(1)
        expect(page.locator(f'.turn[data-turn="{other}"]')).to_have_count(0)


class Listed:
    """A list of turns that is made up, ten to a page; a page of older ones can be kept until it is let go."""

    def __init__(self, page: Page, service: ServiceProcess) -> None:
        self.turns = [f"t{number:02}" for number in range(40, 0, -1)]
        self.state = "complete"
        self.asked: list[str] = []
        self.is_slow = False
        self.held: list[Callable[[], None]] = []
        self.page = page
        page.route(re.compile(r".*/xapi/turns\?limit=30.*"), self._tell)
        page.goto(service.url)
        self.names = page.locator("#turns .name")
        self.older = page.get_by_role("button", name="Older turns")
        expect(self.names).to_have_text(self.turns[:10])

    def add(self, count: int) -> None:
        """So many new turns begin, and the page looks again."""
        newest = int(self.turns[0][1:])
        self.turns[:0] = [f"t{newest + number:02}" for number in range(count, 0, -1)]
        self.look()

    def look(self) -> None:
        self.page.evaluate("() => window.dispatchEvent(new Event('online'))")

    def _tell(self, route: Route) -> None:
        self.asked.append(route.request.url)
        before = re.search(r"before=(\w+)", route.request.url)
        at = self.turns.index(before[1]) + 1 if before else 0
        page_of: list[dict[str, Any]] = [{"turnId": turn, "state": self.state} for turn in self.turns[at : at + 10]]
        told = {"turns": page_of, "before": self.turns[at + 9] if at + 10 < len(self.turns) else None}
        if before and self.is_slow:
            self.held.append(lambda: route.fulfill(json=told))
        else:
            route.fulfill(json=told)


def test_the_list_has_every_turn_once_also_when_new_ones_come(browser: Browser, service: ServiceProcess) -> None:
    """Older pages stay below, and what slips off the newest page is not lost between them."""
    with open_page(browser) as page:
        listed = Listed(page, service)
        listed.older.dblclick()
        expect(listed.names).to_have_text(listed.turns[:20])
        assert len([url for url in listed.asked if "before" in url]) == 1
        listed.add(3)
        expect(listed.names).to_have_text(listed.turns[:23])
        listed.older.click()
        expect(listed.names).to_have_text(listed.turns[:33])


def test_the_list_begins_anew_when_more_came_than_a_page_shows(browser: Browser, service: ServiceProcess) -> None:
    """Nothing is known of those between the newest and the older ones: so all of them can be asked for again."""
    with open_page(browser) as page:
        listed = Listed(page, service)
        for count in (20, 30, 40):
            listed.older.click()
            expect(listed.names).to_have_text(listed.turns[:count])
        expect(listed.older).to_be_hidden()
        listed.add(15)
        expect(listed.names).to_have_text(listed.turns[:10])
        for count in (20, 30, 40, 50, 55):
            listed.older.click()
            expect(listed.names).to_have_text(listed.turns[:count])


def test_older_turns_that_come_after_newer_ones_leave_no_gap(browser: Browser, service: ServiceProcess) -> None:
    """What slipped off the newest page while they were on their way is asked for with them."""
    with open_page(browser) as page:
        listed = Listed(page, service)
        listed.is_slow = True
        listed.older.click()
        while not listed.held:  # the browser's doing
            page.wait_for_timeout(5)
        listed.is_slow = False
        listed.add(3)
        expect(listed.names).to_have_text(listed.turns[:10])
        listed.held[0]()
        expect(listed.names).to_have_text(listed.turns[:20])


def test_the_list_calls_nothing_running_that_it_does_not_look_at(browser: Browser, service: ServiceProcess) -> None:
    """Only the newest page is looked at again: below it an end stands, and what may have ended since says nothing."""
    with open_page(browser) as page:
        listed = Listed(page, service)
        listed.older.click()
        expect(listed.names).to_have_text(listed.turns[:20])
        expect(page.locator('#turns a[data-state="complete"]')).to_have_count(20)
        listed.state = "running"
        listed.add(3)
        expect(page.locator('#turns a[data-state="running"]')).to_have_count(10)
        listed.add(3)
        expect(listed.names).to_have_text(listed.turns[:26])
        expect(page.locator('#turns a[data-state="running"]')).to_have_count(10)
        expect(page.locator('#turns a[data-state=""]')).to_have_count(3)
