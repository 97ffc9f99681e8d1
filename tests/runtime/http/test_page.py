"""The page in a real browser: turns stream in, and are right after reloads, crashes, stops, and in every tab."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.kit.browser import PATIENCE_MS, ServiceProcess, open_page
from tests.kit.servers import RedisServer, server_binaries
from tests.kit.turns import TRACE
from turnwire.messages import StreamEvent
from turnwire.messages.events import (
    ErrorInfo,
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalMessage,
    FinalReasoning,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    Payload,
    ResponseDone,
    ResponseError,
    ResponseStart,
    Usage,
)
from turnwire.runtime.record import load_demo

expect.set_options(timeout=PATIENCE_MS)
PICTURE = Path(__file__).parents[3] / "docs" / "page.png"
WANTS_PICTURE = "PAGE_PICTURE"
"""The environment variable that has the picture in the README taken anew."""
WORDS = "The lights come in waves. Stay through at least two quiet spells before you give up. "
LONG = WORDS * 8
_numbers = count(1)


class Producer:
    """Writes a turn of its own, step by step."""

    def __init__(self, service: ServiceProcess, *, thread: str | None = None) -> None:
        self.service = service
        self.turn = f"turn-{next(_numbers)}"
        self.thread = thread or f"thread-of-{self.turn}"
        self._events = count(1)

    def tell(self, *payloads: Payload) -> None:
        """Publish what comes next."""
        self.service.publish(*(self._event(payload) for payload in payloads))

    def start(self, prompt: str = "Will I see the northern lights?") -> None:
        """Begin, with a prompt."""
        begun = ResponseStart(
            response_id="r", turn_id=self.turn, thread_id=self.thread, model_id="m1", provider_id="acme", created_at=1
        )
        asked = FinalMessage(id="asked", content=prompt, origin="user")
        item = ItemStart(item_id="asked", item_type="message", origin="user")
        self.tell(begun, item, ItemDone(item_id="asked", final_item=asked))

    def finish(self) -> None:
        """End as turns usually do."""
        usage = Usage(prompt_tokens=1200, completion_tokens=34, total_tokens=1234)
        self.tell(ResponseDone(response_id="r", status="complete", usage=usage, finish_reason="stop"))

    def _event(self, payload: Payload) -> StreamEvent:
        name = f"{self.turn}-{next(self._events)}"
        return StreamEvent(event_id=name, timestamp=1, run_id=self.turn, trace_context=TRACE, payload=payload)


def message(text: str, item_id: str = "m") -> ItemDone:
    return ItemDone(item_id=item_id, final_item=FinalMessage(id=item_id, content=text, origin="agent"))


def start_message(text: str, item_id: str = "m") -> tuple[Payload, Payload]:
    return ItemStart(item_id=item_id, item_type="message"), ItemDelta(item_id=item_id, delta_content=text)


@pytest.fixture(scope="module")
def service(browser: Browser) -> Iterator[ServiceProcess]:
    """A service in memory, with the scripted model; started only where there is a browser."""
    with ServiceProcess(["model.provider=scripted", "turn.batch_timeout=0.05"]) as running:
        yield running


def show(page: Page, service: ServiceProcess, turn: str) -> Locator:
    """Open a turn; give its element."""
    token = f"&token={service.token}" if service.token else ""
    page.goto(f"{service.url}/#turn={turn}{token}")
    return page.locator(f'.turn[data-turn="{turn}"]')


def test_a_turn_streams_in(browser: Browser, service: ServiceProcess) -> None:
    """Thinking that folds away, a call with arguments and output, text that grows, usage at the end."""
    producer = Producer(service)
    producer.start()
    with open_page(browser) as page:
        turn = show(page, service, producer.turn)
        expect(turn.locator('.message[data-origin="user"] .text')).to_have_text("Will I see the northern lights?")
        expect(page.locator("#link")).to_have_text("live")

        producer.tell(
            ItemStart(item_id="r", item_type="reasoning"), ItemDelta(item_id="r", delta_content="Clouds matter.")
        )
        thought = turn.locator("details.thinking")
        expect(thought).to_have_attribute("open", "")
        expect(thought.locator(".text")).to_have_text("Clouds matter.")
        producer.tell(ItemDone(item_id="r", final_item=FinalReasoning(id="r", content="Clouds matter. So ask.")))
        expect(thought).not_to_have_attribute("open", "")
        thought.locator("summary").click()
        expect(thought.locator(".text")).to_have_text("Clouds matter. So ask.")

        call = FinalFunctionCall(
            id="c", name="forecast", arguments='{"place": "Tromsø", "hours": [20, 22]}', call_id="c1"
        )
        producer.tell(ItemDone(item_id="c", final_item=call))
        tool = turn.locator(".tool")
        expect(tool.locator(".name")).to_have_text("forecast")
        expect(tool.locator(".state")).to_have_text("running")
        expect(tool.locator(".arguments dt")).to_have_text(["place", "hours"])
        expect(tool.locator(".arguments dd")).to_have_text(["Tromsø", "[20,22]"])
        output = FinalFunctionCallOutput(id="o", call_id="c1", output='{"kp": 4}', success=True)
        producer.tell(ItemDone(item_id="o", final_item=output))
        expect(tool.locator(".state")).to_have_text("done")
        tool.locator(".output summary").click()
        expect(tool.locator(".output pre")).to_have_text('{"kp":4}')

        producer.tell(*start_message("Good odds"))
        answer = turn.locator('.message[data-origin="agent"]')
        expect(answer.locator(".text")).to_have_text("Good odds")
        expect(answer).to_have_class(re.compile(r"\bopen\b"))
        producer.tell(message("Good odds **tonight**."))
        expect(answer.locator(".text")).to_have_text("Good odds **tonight**.")
        expect(answer.locator("strong")).to_have_text("**tonight**")
        producer.finish()
        expect(turn).to_have_attribute("data-state", "complete")
        expect(turn.locator(".end")).to_have_text("1,234 tokens · 1,200 in, 34 out")
        expect(answer).not_to_have_class(re.compile(r"\bopen\b"))
        expect(page.locator("#link")).to_have_text("complete")
        expect(page.locator("#status")).to_have_text("Answer: Good odds **tonight**.")


def test_errors_are_shown_where_they_belong(browser: Browser, service: ServiceProcess) -> None:
    """An item's beside what there was of it, the turn's at its end."""
    producer = Producer(service)
    producer.start()
    error = ErrorInfo(code="OOPS", message="lost the thread")
    producer.tell(*start_message("So far so"), ItemError(item_id="m", error=error))
    producer.tell(ResponseError(response_id="r", error=ErrorInfo(code="PROVIDER_ERROR", message="overloaded")))
    with open_page(browser) as page:
        turn = show(page, service, producer.turn)
        expect(turn.locator('.message[data-origin="agent"] .text')).to_have_text("So far so")
        expect(turn.locator('.message[data-origin="agent"] .failure')).to_have_text("OOPS: lost the thread")
        expect(turn.locator(".end")).to_have_text("PROVIDER_ERROR: overloaded")
        expect(turn).to_have_attribute("data-state", "error")


def test_a_reload_in_the_middle_gives_the_same_final_page(browser: Browser, service: ServiceProcess) -> None:
    """What was there is there again, and the rest comes in; a second tab that never reloaded shows the same."""
    producer = Producer(service)
    producer.start()
    producer.tell(*start_message(LONG))
    with open_page(browser) as page, open_page(browser) as other:
        turn, same = show(page, service, producer.turn), show(other, service, producer.turn)
        text = turn.locator('.message[data-origin="agent"] .text')
        expect(text).to_have_text(LONG.strip())
        page.reload()
        expect(text).to_have_text(LONG.strip())
        producer.tell(ItemDelta(item_id="m", delta_content=WORDS), message(LONG + WORDS + "The end."))
        producer.finish()
        for each in (turn, same):
            expect(each).to_have_attribute("data-state", "complete")
        assert turn.inner_text() == same.inner_text()
        assert text.text_content() == LONG + WORDS + "The end."
        page.reload()
        expect(turn).to_have_attribute("data-state", "complete")
        assert turn.inner_text() == same.inner_text()


@pytest.fixture
def any_redis() -> Iterator[RedisServer]:
    """A server of the test's own; which one there is makes no difference to a page."""
    binary = next(iter(server_binaries().values()), None)
    if binary is None:
        pytest.skip("no server that speaks Redis is here")
    with RedisServer(binary) as server:
        yield server


def test_the_page_ends_up_right_when_the_server_is_killed(browser: Browser, any_redis: RedisServer) -> None:
    """`kill -9` in the middle of a turn, and another process on the same Redis: the page finds back by itself."""
    settings = [f"redis.url={any_redis.url}", "worker.claim_idle=1.0", "worker.heartbeat=0.25"]
    with ServiceProcess(settings) as service, open_page(browser) as page:
        producer = Producer(service)
        producer.start()
        producer.tell(*start_message(LONG))
        turn = show(page, service, producer.turn)
        text = turn.locator('.message[data-origin="agent"] .text')
        expect(text).to_have_text(LONG.strip())
        service.kill()
        expect(page.locator("#link")).to_have_text("reconnecting")
        expect(text).to_have_text(LONG.strip())
        service.start()
        producer.tell(ItemDelta(item_id="m", delta_content=WORDS), message(LONG + WORDS + "The end."))
        producer.finish()
        expect(turn).to_have_attribute("data-state", "complete")
        assert text.text_content() == LONG + WORDS + "The end."
        assert turn.locator(".item").count() == 2
        expect(page.locator("#link")).to_have_text("complete")


def test_stop_ends_a_turn(browser: Browser, service: ServiceProcess) -> None:
    """By the button or by its key; the button is there only while there is something to stop."""
    for press in ("button", "key"):
        producer = Producer(service)
        producer.start()
        producer.tell(*start_message("On and on"))
        with open_page(browser) as page:
            turn = show(page, service, producer.turn)
            expect(turn.locator('.message[data-origin="agent"] .text')).to_have_text("On and on")
            if press == "button":
                page.get_by_role("button", name="Stop").click()
            else:
                page.locator("#scroll").press("s")
            expect(turn).to_have_attribute("data-state", "aborted")
            expect(turn.locator(".end")).to_have_text("Stopped")
            expect(page.locator("#stop")).to_be_hidden()


def test_a_script_in_a_models_output_stays_text(browser: Browser, service: ServiceProcess) -> None:
    """Wherever it stands: in an answer, a thought, a tool's name, its arguments, its output, an error."""
    evil = '</div><script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">'
    producer = Producer(service)
    producer.start(prompt=evil)
    producer.tell(
        ItemDone(item_id="r", final_item=FinalReasoning(id="r", content=evil)),
        ItemDone(
            item_id="c", final_item=FinalFunctionCall(id="c", name=evil, arguments='{"<b>": "<i>"}', call_id="c1")
        ),
        ItemDone(item_id="o", final_item=FinalFunctionCallOutput(id="o", call_id="c1", output=evil, success=False)),
        message(evil),
        ResponseError(response_id="r", error=ErrorInfo(code=evil, message=evil)),
    )
    with open_page(browser) as page:
        turn = show(page, service, producer.turn)
        expect(turn).to_have_attribute("data-state", "error")
        expect(turn.locator(".message .text")).to_have_text([evil, evil])
        expect(turn.locator(".tool .name")).to_have_text(evil)
        expect(turn.locator(".tool .output pre")).to_have_text(evil)
        expect(turn.locator(".end")).to_have_text(f"{evil}: {evil}")
        assert page.locator("main script, main img, main b, main i").count() == 0
        assert "owned" not in page.title().replace(evil[:120], "")


def test_the_prompt_box_begins_turns_in_one_thread(browser: Browser, service: ServiceProcess) -> None:
    """The answers follow each other on the page, also after a reload, and the list has both."""
    with open_page(browser) as page:
        page.goto(service.url)
        prompt = page.get_by_label("Prompt")
        expect(prompt).to_be_focused()
        prompt.fill("Hello there")
        prompt.press("Enter")
        turns = page.locator(".turn")
        expect(turns).to_have_count(1)
        expect(turns.nth(0)).to_have_attribute("data-state", "complete")
        expect(turns.nth(0)).to_contain_text("You said: Hello there")
        prompt.fill("And again")
        page.get_by_role("button", name="Send").click()
        expect(turns).to_have_count(2)
        expect(turns.nth(1)).to_have_attribute("data-state", "complete")
        expect(turns.nth(1)).to_contain_text("You said: And again")
        expect(prompt).to_have_value("")
        before = page.locator("#thread").inner_text()
        page.reload()
        expect(turns).to_have_count(2)
        expect(turns.nth(1)).to_have_attribute("data-state", "complete")
        assert page.locator("#thread").inner_text() == before
        expect(page.locator("#turns a[aria-current]")).to_contain_text("And again")


def test_a_tool_waits_for_the_users_word(browser: Browser) -> None:
    """The demo's own: what is allowed goes on in the same thread; a reload asks again."""
    command = [sys.executable, "-m", "turnwire.runtime.cli.main", "demo", "--speed", "50"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo, open_page(browser) as page:  # noqa: S603  # ourselves
        assert demo.stdout is not None
        try:
            page.goto(demo.stdout.readline().strip())
            turns = page.locator(".turn")
            expect(turns.nth(0)).to_have_attribute("data-state", "complete")
            page.get_by_label("Prompt").fill("book it")
            page.get_by_label("Prompt").press("Enter")
            allow = page.get_by_role("button", name="Allow")
            expect(allow).to_be_visible()
            page.reload()
            allow.click()
            expect(turns.last).to_contain_text("booked: 1 to Tromsø")
            expect(allow).to_have_count(0)
        finally:
            demo.terminate()


def test_turns_are_listed_and_chosen_by_key(browser: Browser, service: ServiceProcess) -> None:
    """Newest first, with their state; j and k go down and up, n begins a conversation, / goes to the prompt."""
    first, second = Producer(service), Producer(service)
    for producer in (first, second):
        producer.start()
        producer.tell(message(f"This is {producer.turn}."))
        producer.finish()
    with open_page(browser) as page:
        newest = show(page, service, second.turn)
        expect(newest).to_contain_text(f"This is {second.turn}.")
        expect(page.locator(f'#turns a[href="#turn={second.turn}"]')).to_have_attribute("aria-current", "true")
        expect(page.locator(f'#turns a[href="#turn={first.turn}"]')).to_have_attribute("data-state", "complete")
        page.locator("#scroll").press("j")
        expect(page.locator(".turn")).to_contain_text(f"This is {first.turn}.")
        page.locator("#scroll").press("k")
        expect(page.locator(".turn")).to_contain_text(f"This is {second.turn}.")
        page.locator("#scroll").press("n")
        expect(page.locator(".turn")).to_have_count(0)
        page.get_by_label("Prompt").press("Escape")
        page.locator("#scroll").press("/")
        expect(page.get_by_label("Prompt")).to_be_focused()
        page.get_by_label("Prompt").press("Escape")
        page.locator("#scroll").press("?")
        expect(page.get_by_role("dialog")).to_be_visible()


def test_a_phone_shows_it_all(browser: Browser, service: ServiceProcess) -> None:
    """Nothing is wider than the screen; the list of turns comes over the page and goes again."""
    producer = Producer(service)
    producer.start(prompt="x" * 300)
    producer.tell(message("y" * 500 + "\n```\n" + "z" * 200 + "\n```\n"))
    producer.finish()
    with open_page(browser, width=360, height=700, scheme="dark") as page:
        turn = show(page, service, producer.turn)
        expect(turn).to_have_attribute("data-state", "complete")
        widths = page.locator("html").evaluate("html => [html.scrollWidth, html.clientWidth]")
        assert widths[0] <= widths[1]
        scroll = page.locator("#scroll").evaluate("it => [it.scrollWidth, it.clientWidth]")
        assert scroll[0] <= scroll[1]
        expect(page.locator("#turns")).not_to_be_in_viewport()
        page.get_by_role("button", name="List of turns").click()
        expect(page.locator("#turns a[aria-current]")).to_be_in_viewport()
        page.locator("#turns a[aria-current]").press("Tab")
        page.locator("#veil").click(position={"x": 340, "y": 300})
        expect(page.locator("#turns")).not_to_be_in_viewport()


def test_a_token_in_the_address_is_enough(browser: Browser) -> None:
    """With it everything works, and it stays in the address; without, the page says what is missing."""
    token = "a-bearer-token-of-the-tests"  # noqa: S105  # of nothing
    with ServiceProcess([f"http.tokens={token}"], token=token) as service, open_page(browser) as page:
        producer = Producer(service)
        producer.start()
        producer.tell(message("For your eyes only."))
        producer.finish()
        turn = show(page, service, producer.turn)
        expect(turn).to_contain_text("For your eyes only.")
        expect(page.locator("#turns a[aria-current]")).to_have_attribute("href", f"#turn={producer.turn}&token={token}")
        page.goto("about:blank")
        page.goto(f"{service.url}/#turn={producer.turn}")
        expect(page.get_by_role("alert")).to_contain_text("token")
        expect(page.locator("#link")).to_have_text("refused")


def test_the_picture_in_the_readme(browser: Browser, service: ServiceProcess) -> None:
    """A turn in full flow, as it stands in the README; written there only when the environment asks for it."""
    producer = Producer(service)
    payloads = [each.event.payload for each in load_demo() if isinstance(each.event, StreamEvent)]
    answer = next(p.item_id for p in reversed(payloads) if isinstance(p, ItemDelta))
    cut = [place for place, p in enumerate(payloads) if isinstance(p, ItemDelta) and p.item_id == answer][46]
    first, *rest = payloads[:cut]
    assert isinstance(first, ResponseStart)
    producer.start(prompt="I have one night in Tromsø. Will I see the northern lights, and what do I pack?")
    producer.tell(*(p for p in rest if not _is_prompt(p)))
    with open_page(browser, width=1180, height=740) as page:
        turn = show(page, service, producer.turn)
        expect(turn.locator(".message.open .text")).to_contain_text("When to look.")
        expect(page.locator("#turns a[aria-current]")).to_contain_text("I have one night")
        picture = page.screenshot(animations="disabled")
        assert 20_000 < len(picture) < 300_000
        if os.environ.get(WANTS_PICTURE):
            PICTURE.write_bytes(picture)
        page.get_by_role("button", name="Stop").click()
        expect(turn).to_have_attribute("data-state", "aborted")


def _is_prompt(payload: Payload) -> bool:
    return "user-prompt" in getattr(payload, "item_id", "")
