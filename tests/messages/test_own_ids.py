"""Calls that were named anew go back to their provider under its own names."""

from turnwire.messages.own_ids import OWN_CALL_ID, keep_own_id, with_own_ids
from turnwire.messages.ui import Part, TextPart, ToolCallPart, ToolResultPart, UIMessage


def call(call_id: str, own: str | None = None, **data: str) -> ToolCallPart:
    kept = {**data, **({} if own is None else {OWN_CALL_ID: own})}
    return ToolCallPart(id=call_id, name="t", arguments="{}", state="complete", provider_data=kept or None)


def result(call_id: str) -> ToolResultPart:
    return ToolResultPart(tool_call_id=call_id, content="r", state="complete")


def message(*parts: Part) -> UIMessage:
    return UIMessage(id="m", role="assistant", parts=parts)


def test_a_call_and_its_result_get_the_provider_s_name() -> None:
    """Whose other data stay."""
    given = message(call("c"), result("c"), TextPart(content="x"), call("c-2", "c", format="f"), result("c-2"))
    assert with_own_ids([given]) == (
        message(call("c"), result("c"), TextPart(content="x"), call("c", format="f"), result("c")),
    )


def test_two_calls_that_wait_together_do_not_share_a_name() -> None:
    """Their results could not be told apart."""
    given = message(call("c"), call("c-2", "c"), result("c-2"), result("c"), call("c-3", "c"), result("c-3"))
    told = with_own_ids([given])[0]
    assert told.parts[:4] == given.parts[:4]
    assert told.parts[4:] == (call("c"), result("c"))


def test_what_was_never_renamed_is_the_same_object() -> None:
    """Nothing is copied for nothing."""
    given = message(call("c"), result("c"))
    assert with_own_ids([given])[0] is given
    assert keep_own_id(None, "c") == {OWN_CALL_ID: "c"}
