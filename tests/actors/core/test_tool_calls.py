"""Open tool calls: found by call id, by item id, by the output that was announced for them."""

from tests.actors.core.plays import Play, answered, called, message
from turnwire.actors.core.tool_calls import OpenCall, ToolCalls


def call(item_id: str, call_id: str = "c") -> OpenCall:
    return OpenCall(item_id=item_id, name="add", arguments={}, call_id=call_id, content="")


def calls(*opened: OpenCall) -> ToolCalls:
    book = ToolCalls()
    for one in opened:
        book.open(one)
    return book


def test_a_call_is_open_until_it_is_closed() -> None:
    """Closing gives it back once."""
    book = calls(call("a"))
    assert book.is_open("a")
    assert book.close_by_item_id("a") == call("a")
    assert not book.is_open("a")
    assert book.close_by_item_id("a") is None


def test_a_call_is_found_by_its_call_id() -> None:
    """The oldest one first, each one once."""
    book = calls(call("a"), call("b"), call("x", "other"))
    assert book.close_by_call_id("c") == call("a")
    assert book.close_by_call_id("c") == call("b")
    assert book.close_by_call_id("c") is None
    assert book.is_open("x")


def test_a_call_closed_by_its_item_leaves_the_queue_of_its_call_id() -> None:
    """An output never finds a call that has ended otherwise."""
    book = calls(call("a"), call("b"))
    book.close_by_item_id("a")
    assert book.close_by_call_id("c") == call("b")
    assert book.close_by_call_id("c") is None


def test_an_announced_output_finds_its_call() -> None:
    """The output item that said its call id stands for that call, once."""
    book = calls(call("a"), call("b"))
    book.expect_output("out", "c")
    assert book.close_by_output("out") == call("a")
    assert book.close_by_output("out") is None


def test_an_output_that_was_not_announced_finds_nothing() -> None:
    """Nothing is guessed."""
    book = calls(call("a"))
    book.expect_output("out", "somebody else's")
    assert book.close_by_output("out") is None
    assert book.close_by_output("nobody") is None
    assert book.is_open("a")


def test_turns_do_not_share_their_calls() -> None:
    """What one turn has open, another knows nothing of, whoever began first and however the first one ended."""
    first, second = Play(), Play()
    first.start("out", "function_call_output", call_id="call-1")
    first.done(called(), "a")
    assert second.done(answered(), "out") == []
    assert second.error("a") == second.cancel("out") == []
    first.finish()
    third = Play()
    assert third.done(answered(), "out") == []
    assert third.start("a", initial_content="hi") == []
    assert third.close() == [message("create", "hi")]
