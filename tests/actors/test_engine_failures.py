"""What goes wrong around a run, and who notices: models that fail, never end or crash, stores and logs that are away."""

import logging
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.kit.agents import DONE, ScriptModel, Stage, call, end, raw_call, say, tasks_left
from turnwire.actors.core.conversation_options import ConversationCallbacks
from turnwire.actors.engine import Engine
from turnwire.actors.engine_options import EngineOptions
from turnwire.actors.engine_ports import ModelCall
from turnwire.messages.errors import UnsendableError
from turnwire.messages.runs import RunOutcome
from turnwire.messages.testing import check_contract
from turnwire.runtime.models import Call, Cut, Fail, Hang, Say, ScriptedModel


async def look() -> str:
    """Look around."""
    return "all quiet"


def failed(code: str, iterations: int = 1) -> RunOutcome:
    return RunOutcome(status="error", iterations=iterations, error_code=code)


async def test_a_provider_s_error_ends_the_run(autojump_clock: MockClock) -> None:
    """What was said stays; the open item and the turn have the provider's code; nobody asks again."""
    model = ScriptedModel([[Say("Once"), Fail("overloaded", "too much")], ["never asked"]])
    stage = Stage(model)
    assert await stage.run() == failed("overloaded")
    assert stage.told == ["start", "user: Hello", "item_error overloaded", "response_error overloaded"]
    assert await stage.parts() == ["user: Hello", "assistant: Once"]
    assert len(model.calls) == 1


async def test_an_error_before_the_first_word_is_told_as_one(autojump_clock: MockClock) -> None:
    """The turn has its start, and its prompt, all the same."""
    stage = Stage(ScriptedModel([Fail("invalid_request", "no")]))
    assert await stage.run() == failed("invalid_request")
    assert stage.told == ["start", "user: Hello", "response_error invalid_request"]


async def test_an_error_in_a_later_reply_keeps_what_came_before(autojump_clock: MockClock) -> None:
    """Calls and results of the first reply are in the thread."""
    stage = Stage(ScriptedModel([Call("look", call_id="c1"), Fail("overloaded")]), [look])
    assert await stage.run() == failed("overloaded", 2)
    assert (await stage.parts())[1:] == ["assistant: call c1 look complete", "assistant: complete c1: all quiet"]


async def test_a_stream_that_breaks_off_is_truncated(autojump_clock: MockClock) -> None:
    """A whole call in it is not run, and the conversation says so; the log takes no more items behind the break."""
    stage = Stage(ScriptedModel([[Call("look", call_id="c1"), Say("And"), Cut()]]), [look])
    assert await stage.run() == failed("STREAM_TRUNCATED")
    assert stage.told[2:] == ["call c1: look {}", "item_error STREAM_TRUNCATED", "response_error STREAM_TRUNCATED"]
    assert "assistant: error c1: The tool was not run: the model's reply failed." in await stage.parts()


async def test_a_reply_that_never_ends_meets_the_deadline(autojump_clock: MockClock) -> None:
    """Half a text stays, half a call is an error, the turn ends as TURN_TIMEOUT."""
    stage = Stage(ScriptedModel([[Say("Hm"), Hang()]]), options=EngineOptions(deadline=60))
    assert await stage.run() == failed("TURN_TIMEOUT")
    assert stage.told[2:] == ["agent: Hm", "response_error TURN_TIMEOUT"]
    assert stage.times[-1] == 60.0
    half = [raw_call("look", '{"a', "c1", whole=False), None]
    stage = Stage(ScriptModel([half]), [look], options=EngineOptions(deadline=60))
    assert await stage.run() == failed("TURN_TIMEOUT")
    assert stage.told[2:] == ["item_error INCOMPLETE_ARGUMENTS", "response_error TURN_TIMEOUT"]
    assert stage.model.streams[0].closed == 1


async def test_tools_that_never_end_meet_the_deadline(autojump_clock: MockClock) -> None:
    """They are cancelled, and their results say so."""

    async def wait() -> str:
        """Wait."""
        await trio.sleep(25)
        return "waited"

    stage = Stage(ScriptModel([[call("wait", "c1"), DONE]]), [wait], options=EngineOptions(deadline=10))
    assert await stage.run() == failed("TURN_TIMEOUT")
    assert stage.told[-2:] == [
        "error c1: The tool was stopped before it had a result: the run failed.",
        "response_error TURN_TIMEOUT",
    ]
    assert tasks_left() == []


async def test_no_tool_begins_past_the_deadline(autojump_clock: MockClock) -> None:
    """Not even if the time runs out while the reply's end is told."""
    ran: list[str] = []

    async def act() -> None:
        """Act."""
        ran.append("act")

    stage = Stage(ScriptModel([[say("Hm"), call("act", "c1"), end("tool_calls")]]), [act], EngineOptions(deadline=5))
    told = stage.publish

    async def publish(events: Any) -> None:
        await told(events)
        await trio.sleep(9)

    assert await stage.engine.run(stage.make_input(), publish) == failed("TURN_TIMEOUT")
    check_contract(stage.events)
    assert ran == []


async def test_a_model_that_raises_fails_its_run_and_tells_no_internals(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Its open item, too; the trace is in the log."""
    stage = Stage(ScriptModel([[say("Hm"), RuntimeError("secret")]]))
    assert await stage.run() == failed("INTERNAL_ERROR")
    assert stage.told[2:] == ["item_error INTERNAL_ERROR", "response_error INTERNAL_ERROR"]
    assert "secret" not in repr(stage.events)
    assert any(record.exc_info for record in caplog.records)
    assert stage.model.streams[0].closed == 1


class Refusing(ScriptModel):
    """Cannot send what it is to send."""

    def open(self, _call: ModelCall, /) -> Any:
        raise UnsendableError("videos cannot be sent", message_id="u1")


async def test_what_cannot_be_sent_is_said(autojump_clock: MockClock) -> None:
    """The error names the message."""
    stage = Stage(Refusing([]))
    assert await stage.run() == failed("UNSENDABLE")
    assert stage.told[-1] == "response_error UNSENDABLE"
    assert await stage.parts() == ["user: Hello"]


async def test_an_unknown_model_is_answered_with_the_known_ones(autojump_clock: MockClock) -> None:
    """Nothing is saved."""
    stage = Stage(ScriptModel([[say("Hm"), end()]]))
    assert await stage.run(model="gpt-9") == RunOutcome(status="error", error_code="UNKNOWN_MODEL")
    assert stage.told == ["start", "response_error UNKNOWN_MODEL"]
    assert "the models are: script-1" in repr(stage.events[-1])
    assert await stage.store.load("th") is None


async def test_models_are_chosen_by_name(autojump_clock: MockClock) -> None:
    """The first is the default."""
    small, large = ScriptModel([[say("s"), end()]]), ScriptModel([[say("l"), end()]], model_id="large-1")
    stage = Stage(small)
    stage.engine = Engine({"small": small, "large": large}, [], stage.store)
    await stage.run()
    await stage.run(model="large")
    assert await stage.parts() == ["user: Hello", "assistant: s", "user: Hello", "assistant: l"]
    with pytest.raises(ValueError, match="at least one model"):
        Engine({}, [], stage.store)


async def test_a_callback_that_raises_fails_its_run(autojump_clock: MockClock) -> None:
    """What was heard until then is kept."""

    def complain(_message_id: str, content: str) -> None:
        if "b" in content:
            raise ValueError("no b")

    options = EngineOptions(callbacks=lambda _run: ConversationCallbacks(on_text_update=complain))
    stage = Stage(ScriptModel([[say("a"), 1.0, say("b"), None]]), options=options)
    assert await stage.run() == failed("INTERNAL_ERROR")
    assert stage.times[-1] == 1.0
    assert (await stage.parts())[1].startswith("assistant: a")


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
