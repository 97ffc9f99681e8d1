"""The conversation actor: its channel, its wake-ups, its failures, who follows it, and how it ends."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import suppress
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.actors.core.test_conversation_properties import NAMES, STREAMS
from tests.kit.conversations import (
    STRATEGIES,
    Listener,
    Stage,
    args,
    asks,
    briefs,
    call,
    called,
    failed,
    finished,
    flat,
    say,
    text,
)
from turnwire.actors.change_feed import ChangeFeed
from turnwire.actors.conversation_actor import ConversationActor
from turnwire.messages import UIMessage, decode_saved, encode_agui, encode_saved
from turnwire.messages.agui.events import Custom
from turnwire.messages.agui.more_events import AnyAguiEvent, StateSnapshot
from turnwire.messages.errors import (
    ApprovalAnsweredError,
    ClosedError,
    InvalidEventError,
    ProtocolError,
    TooManyTurnsError,
    UnknownCallError,
)
from turnwire.messages.ui_changes import MessageChanged, MessageRemoved, MessagesReplaced, StateChanged
from turnwire.runtime import ConversationCallbacks, ConversationOptions, open_conversation, open_runtime


async def ignore(_message: object) -> None:
    """A sink for turns; there are none here."""


async def stream(*events: AnyAguiEvent | Iterable[AnyAguiEvent]) -> AsyncGenerator[AnyAguiEvent, None]:
    for event in flat(*events):
        yield event
        await trio.sleep(0.1)


async def test_a_stream_comes_to_the_same_as_in_the_core(autojump_clock: MockClock) -> None:
    events = flat(text("Hello ", "world."), call(), args("{}"), called(result="1"), finished())
    listener = Listener()
    async with open_conversation("t1", callbacks=listener.callbacks) as conversation:
        result = await conversation.process(stream(events))
        assert result == Stage().play(events).machine.result
        assert list(conversation.messages) == list(Stage().play(events).machine.messages)
    assert listener.told == Stage().play(events).told


async def test_json_is_taken_in_both_dialects(autojump_clock: MockClock) -> None:
    async with open_conversation("t1") as conversation:
        for event in flat(text("Hi"), call(), failed()):
            await conversation.send(encode_agui(event))
            await conversation.send(encode_agui(event, dialect="canonical").decode())
        assert briefs(conversation.messages[0])[0] == "text 'HiHi'"


async def test_many_events_are_one_wake_up(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender that does not pause wakes the actor once, not once for each event."""
    drains = 0
    catch_up = ConversationActor.catch_up

    def counted(self: ConversationActor) -> None:
        nonlocal drains
        drains += 1
        catch_up(self)

    monkeypatch.setattr(ConversationActor, "catch_up", counted)
    async with open_conversation("t1") as conversation:
        await wait_all_tasks_blocked()
        for event in say(*["x"] * 60):
            await conversation.send(event)
        assert drains == 0
        await wait_all_tasks_blocked()
        assert drains <= 2
        assert briefs(conversation.messages[0]) == [f"text {'x' * 60!r}"]


async def test_a_full_channel_makes_the_sender_wait_and_loses_nothing(autojump_clock: MockClock) -> None:
    async with open_conversation("t1") as conversation:
        async with trio.open_nursery() as senders:
            for _ in range(20):
                senders.start_soon(send_all, conversation, say(*["x"] * 100))
        assert len(conversation.result.content) == 2000


async def send_all(conversation: Any, events: Iterable[AnyAguiEvent]) -> None:
    for event in events:
        await conversation.send(event)


async def test_a_malformed_event_is_refused_where_it_is_sent_and_the_conversation_goes_on(
    autojump_clock: MockClock,
) -> None:
    async with open_conversation("t1") as conversation:
        for wrong in (
            b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m"}',
            "no json",
            5,
            Custom(name="approval-requested"),
        ):
            with pytest.raises(InvalidEventError):
                await conversation.send(wrong)  # type: ignore[arg-type]  # that is the test
        await conversation.send(say("ok")[0])
        assert briefs(conversation.messages[0]) == ["text 'ok'"]


async def test_answers_see_everything_that_was_sent_before(autojump_clock: MockClock) -> None:
    async with open_conversation("t1") as conversation:
        await send_all(conversation, flat(call(), args("{}"), asks()))
        conversation.add_tool_approval_response("a1", approved=True)
        with pytest.raises(ApprovalAnsweredError, match="approved"):
            conversation.add_tool_approval_response("a1", approved=False)
        with pytest.raises(UnknownCallError):
            conversation.add_tool_result("c9", 1)
        conversation.add_tool_result("c1", {"ok": True})
        assert briefs(conversation.messages[0])[0] == "call c1 complete '{}' {} -> {'ok': True} a1=True"
        conversation.add_message(UIMessage(id="u1", role="user"))
        with pytest.raises(ValueError, match="u1 already"):
            conversation.add_message(UIMessage(id="u1", role="user"))
        assert conversation.is_open


async def test_a_callback_that_raises_fails_its_conversation_and_no_other(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no such view")

    async with open_runtime(sink=ignore) as runtime:
        good = runtime.open_conversation(thread_id="good")
        bad = runtime.open_conversation(thread_id="bad", callbacks=ConversationCallbacks(on_text_update=fail))
        for event in flat(text("One ", "two"), finished()):
            await good.send(event)
            with suppress(ProtocolError):
                await bad.send(event)
            await wait_all_tasks_blocked()
        assert runtime.open_conversations == ("good",)
        with pytest.raises(ProtocolError, match=r"bad failed.*no such view") as caught:
            await bad.send(say("x")[0])
        assert isinstance(caught.value.__cause__, ValueError)
        with pytest.raises(ProtocolError):
            bad.finalize()
        with pytest.raises(ProtocolError):
            await bad.aclose()
        assert briefs(bad.messages[0]) == ["text 'One '"], "what it had come to can still be seen"
        assert good.finalize().content == "One two"
    assert "conversation bad failed" in caplog.text


@pytest.mark.parametrize("error", [ValueError("x"), UnknownCallError("x"), ZeroDivisionError()])
async def test_a_callback_that_raises_while_the_host_answers_fails_the_conversation(
    autojump_clock: MockClock, error: Exception
) -> None:
    """Also with an error that the core itself might raise."""
    armed = False

    def fail(*_: object) -> None:
        if armed:
            raise error

    with pytest.raises(ProtocolError) as caught:
        async with open_conversation("t1", callbacks=ConversationCallbacks(on_messages_change=fail)) as conversation:
            await conversation.send(call())
            conversation.finalize()
            armed = True
            conversation.add_tool_result("c1", 1)
    assert caught.value.__cause__ is error


async def test_a_callback_may_answer_at_once(autojump_clock: MockClock) -> None:
    asked = Custom(name="tool-input-available", data={"toolCallId": "c1", "toolName": "look", "input": 1})
    callbacks = ConversationCallbacks(
        on_tool_call=lambda call_id, _name, value: conversation.add_tool_result(call_id, value)
    )
    async with open_conversation("t1", callbacks=callbacks) as conversation:
        await send_all(conversation, flat(call(), called(), asked, text("done")))
        await wait_all_tasks_blocked()
        assert briefs(conversation.messages[0]) == [
            "call c1 complete '' UNSET -> 1",
            "result c1 complete '1' None",
            "text 'done'",
        ]


async def test_each_change_goes_out_as_the_whole_message(autojump_clock: MockClock) -> None:
    seen: list[str] = []

    async def follow(feed: ChangeFeed) -> None:
        async for change in feed:
            match change:
                case MessageChanged():
                    seen.append(f"{trio.current_time():.1f} {briefs(change.message)[-1]}")
                case MessagesReplaced():
                    seen.append(f"{trio.current_time():.1f} all {len(change.messages)}")
                case MessageRemoved():
                    seen.append(f"{trio.current_time():.1f} gone {change.message_id}")
                case StateChanged():
                    seen.append(f"{trio.current_time():.1f} state {change.state}")

    async with trio.open_nursery() as nursery, open_conversation("t1") as conversation:
        conversation.add_message(UIMessage(id="u1", role="user"))
        nursery.start_soon(follow, conversation.changes())
        await conversation.process(stream(say("a", "b"), StateSnapshot(snapshot=1), call()))
        await conversation.process(stream(say(" ")))
    assert seen == [
        "0.0 all 1",
        "0.0 text 'a'",
        "0.1 text 'ab'",
        "0.2 state 1",
        "0.3 call c1 awaiting-input '' UNSET -> UNSET",
        "0.4 call c1 input-complete '' UNSET -> UNSET",
        "0.4 text ' '",
        "0.5 gone msg-2",
    ]


async def test_a_slow_reader_gets_the_newest_state_of_each_message(autojump_clock: MockClock) -> None:
    async with open_conversation("t1") as conversation:
        feed = conversation.changes()
        for word in ("one", "two"):
            await conversation.process(stream(say(*word)))
        got = [await feed.__anext__(), await feed.__anext__()]
        assert [briefs(change.message) for change in got if isinstance(change, MessageChanged)] == [
            ["text 'one'"],
            ["text 'two'"],
        ]
        with trio.move_on_after(1) as waiting:
            await feed.__anext__()
        assert waiting.cancelled_caught
    with pytest.raises(StopAsyncIteration):
        await feed.__anext__()


def test_a_newer_state_of_a_message_keeps_its_place_and_other_changes_take_their_own() -> None:
    """A reader puts a message that it does not know at the end: new ones must come in the order of the list."""
    feed = ChangeFeed()
    first, second = UIMessage(id="1", role="user"), UIMessage(id="2", role="user")
    feed.add([StateChanged(state=1), MessageChanged(message=first), MessageChanged(message=second)])
    feed.add([MessageChanged(message=first)])
    assert [change.message.id for change in feed._waiting.values() if isinstance(change, MessageChanged)] == ["1", "2"]
    feed.add([MessageRemoved(message_id="2")])
    assert list(feed._waiting.values()) == [
        StateChanged(state=1),
        MessageChanged(message=first),
        MessageRemoved(message_id="2"),
    ]
    feed.add([MessageChanged(message=first), MessagesReplaced(messages=())])
    assert list(feed._waiting.values()) == [StateChanged(state=1), MessagesReplaced(messages=())]


async def test_two_readers_each_get_all(autojump_clock: MockClock) -> None:
    async with open_conversation("t1") as conversation:
        first = conversation.changes()
        await conversation.send(say("a")[0])
        with conversation.changes() as second:
            await conversation.send(say("b")[0])
            conversation.finalize()
            change, replaced, changed = await first.__anext__(), await second.__anext__(), await second.__anext__()
            assert isinstance(change, MessageChanged)
            assert isinstance(replaced, MessagesReplaced)
            assert isinstance(changed, MessageChanged)
            assert briefs(change.message) == briefs(changed.message) == ["text 'ab'"]
            assert briefs(replaced.messages[0]) == ["text 'a'"]
        with pytest.raises(StopAsyncIteration):
            await second.__anext__()


async def test_leaving_the_block_processes_what_was_sent_and_ends_the_stream(autojump_clock: MockClock) -> None:
    listener = Listener()
    async with open_conversation(
        "t1", options=ConversationOptions(strategy=STRATEGIES["punctuation"]), callbacks=listener.callbacks
    ) as conversation:
        await send_all(conversation, say("no", " end"))
    assert listener.told == ["start", "text msg-1 no end", "end msg-1"]
    assert not conversation.is_open
    with pytest.raises(ClosedError, match="t1 is closed"):
        await conversation.send(say("x")[0])
    with pytest.raises(ClosedError):
        conversation.add_tool_result("c", 1)
    assert conversation.result.content == "no end"
    await conversation.aclose()


async def test_a_callback_that_raises_at_the_very_end_is_told_to_the_host(autojump_clock: MockClock) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no")

    opening = open_conversation("t1", callbacks=ConversationCallbacks(on_stream_end=fail))
    conversation = await opening.__aenter__()
    await conversation.send(say("x")[0])
    with pytest.raises(ProtocolError) as caught:
        await opening.__aexit__(None, None, None)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert briefs(conversation.messages[0]) == ["text 'x'"]
    assert len([change async for change in conversation.changes()]) == 1, "what was can still be read"
    assert conversation.save().messages == tuple(conversation.messages)


async def test_the_hosts_own_error_comes_out_as_it_is(autojump_clock: MockClock) -> None:
    listener = Listener()
    with pytest.raises(KeyError):
        async with open_conversation("t1", callbacks=listener.callbacks) as conversation:
            await conversation.send(say("x")[0])
            raise KeyError("mine")
    assert listener.told == ["start", "text msg-1 x", "end msg-1"]


async def test_a_cancelled_host_still_ends_its_conversation(autojump_clock: MockClock) -> None:
    """Nothing waits for anybody there, so it takes no time."""
    listener = Listener()
    with trio.move_on_after(1) as deadline:
        async with open_conversation("t1", callbacks=listener.callbacks) as conversation:
            await conversation.send(say("half")[0])
            await trio.sleep_forever()
    assert deadline.cancelled_caught
    assert trio.current_time() == 1
    assert listener.told == ["start", "text msg-1 half", "end msg-1"]


async def test_a_conversation_that_is_cancelled_drops_what_it_has_not_seen(autojump_clock: MockClock) -> None:
    listener = Listener()
    async with open_conversation("t1", callbacks=listener.callbacks) as conversation:
        await conversation.send(say("seen")[0])
        await wait_all_tasks_blocked()
        await conversation.send(say("not seen")[0])
        conversation.cancel()
        await wait_all_tasks_blocked()
        with pytest.raises(ClosedError):
            await conversation.send(say("x")[0])
    assert listener.told == ["start", "text msg-1 seen"]


async def test_a_sender_who_waits_for_room_is_told_when_the_conversation_fails(autojump_clock: MockClock) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no")

    refused: list[str] = []

    async def insist(conversation: Any) -> None:
        try:
            await send_all(conversation, say(*["x"] * 1000))
        except ProtocolError as exc:
            refused.append(str(exc.__cause__))

    with pytest.raises(ProtocolError):
        async with open_conversation("t1", callbacks=ConversationCallbacks(on_text_update=fail)) as conversation:
            async with trio.open_nursery() as senders:
                for _ in range(8):
                    senders.start_soon(insist, conversation)
    assert refused == ["no"] * 8


async def test_a_pending_approval_survives_a_restart(autojump_clock: MockClock) -> None:
    async with open_runtime(sink=ignore) as runtime:
        async with runtime.open_conversation(
            thread_id="t1", options=ConversationOptions(strategy=STRATEGIES["word"])
        ) as conversation:
            await send_all(
                conversation,
                flat(
                    StateSnapshot(snapshot={"n": 1}),
                    say("May", "be"),
                    call(),
                    args("{}"),
                    asks(value={}),
                    say("uns", "hown"),
                ),
            )
            kept = encode_saved(conversation.save())
    async with open_runtime(sink=ignore) as runtime:
        async with runtime.open_conversation(thread_id="t1", saved=decode_saved(kept)) as conversation:
            assert conversation.pending_approvals == ("a1",)
            assert conversation.state == {"n": 1}
            assert briefs(conversation.messages[0])[-1] == "text 'unshown'"
            conversation.add_tool_approval_response("a1", approved=True)
            await conversation.process(stream(called(result="ok"), text("Done.")))
            assert [briefs(message)[-1] for message in conversation.messages] == [
                "result c1 complete 'ok' None",
                "text 'Done.'",
            ]
            assert conversation.counts == {}


async def test_the_runtime_looks_after_its_conversations(autojump_clock: MockClock) -> None:
    async with open_runtime(sink=ignore, max_turns=1) as runtime:
        conversation = runtime.open_conversation(thread_id="t1")
        with pytest.raises(ValueError, match="open already"):
            runtime.open_conversation(thread_id="t1")
        with pytest.raises(TooManyTurnsError):
            runtime.open_conversation(thread_id="t2")
        with pytest.raises(ValueError, match="empty"):
            runtime.open_conversation(thread_id="")
        await conversation.send(say("x")[0])
    assert conversation.result.content == "x"
    assert not conversation.is_open
    with pytest.raises(ClosedError):
        runtime.open_conversation(thread_id="t3")


@settings(deadline=None)
@given(NAMES, STREAMS)
def test_through_the_actor_every_stream_comes_to_the_same(name: str, events: list[AnyAguiEvent]) -> None:
    async def through() -> tuple[Any, ...]:
        listener = Listener()
        options = ConversationOptions(strategy=STRATEGIES[name])
        async with open_conversation("t", options=options, callbacks=listener.callbacks) as conversation:
            feed = conversation.changes()
            for number, event in enumerate(events):
                await conversation.send(encode_agui(event))
                if number % 7 == 0:
                    await wait_all_tasks_blocked()
        known: dict[str, UIMessage] = {}
        async for change in feed:
            if isinstance(change, MessageChanged):
                known[change.message.id] = change.message
        return (
            listener.told,
            list(conversation.messages),
            conversation.result,
            conversation.counts,
            list(known.values()),
        )

    stage = Stage(name).play(events)
    told, messages, result, counts, followed = trio.run(through, clock=MockClock(autojump_threshold=0))
    assert (told, messages, result, counts) == (
        stage.told,
        list(stage.machine.messages),
        stage.machine.result,
        stage.machine.counts,
    )
    assert followed == messages


async def test_a_slow_reader_gets_new_messages_in_the_order_of_the_list(autojump_clock: MockClock) -> None:
    async with open_conversation("t1") as conversation:
        feed = conversation.changes()
        for event in flat(call(), called()):
            await conversation.send(event)
        conversation.finalize()
        conversation.add_message(UIMessage(id="u1", role="user"))
        conversation.add_tool_result("c1", "late")
        changes = [await feed.__anext__() for _ in range(2)]
        assert [change.message.id for change in changes if isinstance(change, MessageChanged)] == ["msg-1", "u1"]


async def test_whoever_follows_late_is_told_the_state_too(autojump_clock: MockClock) -> None:
    async with open_conversation("t1") as conversation:
        await conversation.send(StateSnapshot(snapshot={"a": 1}))
        with trio.fail_after(1):
            assert await conversation.changes().__anext__() == StateChanged(state={"a": 1})
