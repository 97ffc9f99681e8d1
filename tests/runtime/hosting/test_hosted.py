"""The runtime on every loop: one body of test, the same outcome."""

import contextvars
from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel
import pytest
import sniffio
import trio

from tests.kit.loops import Runner, on_every_loop
from tests.kit.turns import THREAD, TURN, begin, delta, finished, said, started
from turnwire.messages import InvalidEventError, StreamEvent, StreamMessage, TurnComplete, encode_event
from turnwire.messages.agui.events import TextMessageContent, TextMessageEnd, TextMessageStart
from turnwire.messages.errors import ClosedError, RetryExhaustedError
from turnwire.messages.ui_changes import MessageChanged, MessagesReplaced
from turnwire.runtime import Hosted, MemoryLog, TurnOptions, open_hosted

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")


async def model(*events: StreamEvent | bytes) -> AsyncIterator[StreamEvent | bytes]:
    """A stream of the host's own."""
    for event in events:
        await anyio.lowlevel.checkpoint()
        yield event


def short_turn() -> list[StreamEvent | bytes]:
    return [started(), begin("m"), delta("m", "hi"), encode_event(delta("m", "!")), said("m", "hi!"), finished()]


class HostSink:
    """A sink of the host's: awaited on its loop, knows where it was called."""

    def __init__(self) -> None:
        self.messages: list[StreamMessage] = []
        self.called: set[tuple[str, str]] = set()

    async def __call__(self, message: StreamMessage) -> None:
        self.called.add((sniffio.current_async_library(), WHO.get()))
        await anyio.lowlevel.checkpoint()
        self.messages.append(message)


@on_every_loop
def test_a_turn_runs_from_a_stream_of_the_host_into_a_sink_of_the_host(run: Runner) -> None:
    """Both are awaited on the host's loop; the sink has the context variables of whoever gave it."""

    async def main() -> None:
        WHO.set("ada")
        sink = HostSink()
        async with open_hosted(sink=sink) as hosted:
            snapshot = await hosted.run_turn(model(*short_turn()), turn_id=TURN, thread_id=THREAD)
            assert hosted.counts.turns == 1
            assert hosted.open_turns == ()
        assert isinstance(snapshot.terminal, TurnComplete)
        assert [message.event_id for message in sink.messages] == [f"{TURN}:1-{n}" for n in range(1, 4)]
        assert sink.called == {(sniffio.current_async_library(), "ada")}
        assert hosted.undelivered == {}

    contextvars.copy_context().run(run, main)


@on_every_loop
def test_a_turn_is_held_as_on_trio(run: Runner) -> None:
    """Send, flush, look inside, see what readers know, wait for the end."""

    async def main() -> None:
        log = MemoryLog()
        async with open_hosted(sink=log) as hosted:
            async with hosted.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
                for event in (started(), begin("m"), delta("m", "so far")):
                    await turn.send(event)
                assert [info.content_length for info in turn.buffers().values()] == [6]
                await turn.flush()
                assert [item.content for item in turn.snapshot().items] == ["so far"]
                assert turn.is_open
                turn.send_nowait(said("m", "so far, so good"))
                turn.send_nowait(finished())
                assert (await turn.wait_end()).items[-1].content == "so far, so good"
                assert not turn.is_open
                assert turn.counts == {}
            assert await hosted.call(log.snapshot, TURN) == turn.snapshot()
            with pytest.raises(ClosedError, match=f"turn {TURN} is closed"):
                await turn.send(delta("m", "more"))

    run(main)


@on_every_loop
def test_a_malformed_event_is_refused_at_once(run: Runner) -> None:
    """In the sender, by the same error, and the turn goes on."""

    async def main() -> None:
        noted: list[InvalidEventError] = []
        async with open_hosted(sink=HostSink()) as hosted:
            events = model(started(), b"{}", begin("m"), said("m", "x"), finished())
            await hosted.run_turn(events, turn_id=TURN, thread_id=THREAD, on_invalid=noted.append)
            with pytest.raises(InvalidEventError):
                await hosted.run_turn(model(b"nonsense"), turn_id="t2", thread_id=THREAD)
        assert len(noted) == 1

    run(main)


@on_every_loop
def test_a_sink_that_refuses_fails_its_turn_with_its_own_error_as_the_cause(run: Runner) -> None:
    """Out of the turn's block, not in a group; and the runtime goes on."""

    async def refuse(_message: StreamMessage) -> None:
        await anyio.lowlevel.checkpoint()
        raise ConnectionError("down")

    async def main() -> None:
        sink, options = HostSink(), TurnOptions(retry_attempts=0)
        async with open_hosted(sink=sink, options=options) as hosted:
            with pytest.raises(RetryExhaustedError) as caught:
                async with hosted.open_turn(turn_id=TURN, thread_id=THREAD, sink=refuse) as turn:
                    await turn.send(started())
            assert isinstance(caught.value.__cause__, ConnectionError)
            await hosted.run_turn(model(*short_turn()), turn_id="t2", thread_id=THREAD)
        assert sink.messages

    run(main)


@on_every_loop
def test_a_sender_waits_for_room_and_loses_nothing(run: Runner) -> None:
    """A small channel and a sink that stands still: `send` waits; let go, all arrives in order."""

    async def main() -> None:
        gate, sink = anyio.Event(), HostSink()

        async def gated(message: StreamMessage) -> None:
            await gate.wait()
            await sink(message)

        options = TurnOptions(channel_size=4, outbox_limit=1, patience=1000)
        async with open_hosted(sink=gated, options=options) as hosted, anyio.create_task_group() as tasks:
            sent: list[int] = []

            async def send_all() -> None:
                async with hosted.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
                    await turn.send(started())
                    for number in range(20):
                        await turn.send(begin(f"m{number}"))
                        await turn.send(said(f"m{number}", f"text {number}"))
                        sent.append(number)
                    await turn.send(finished())

            tasks.start_soon(send_all)
            for _ in range(100):  # rounds: more than it would take to send them all
                await anyio.lowlevel.checkpoint()
                await hosted.call(trio.lowlevel.checkpoint)
            assert 0 < len(sent) < 20
            gate.set()
        texts = [f"text {number}" for number in range(20)]
        payloads = "".join(message.payload for message in sink.messages)
        assert [text for text in texts if f'"{text}"' in payloads] == texts

    run(main)


@on_every_loop
def test_leaving_the_runtime_delivers_what_was_accepted(run: Runner) -> None:
    """A turn that nobody closed is closed, and its text reaches the sink before the block is left."""

    async def main() -> None:
        sink = HostSink()
        async with open_hosted(sink=sink) as hosted:
            turn = hosted.open_turn(turn_id=TURN, thread_id=THREAD)
            for event in (started(), begin("m"), delta("m", "half a sentence")):
                await turn.send(event)
        assert any("half a sentence" in message.payload for message in sink.messages)
        with pytest.raises(ClosedError):
            hosted.open_turn(turn_id="t2", thread_id=THREAD)

    run(main)


@on_every_loop
def test_a_cancelled_turn_still_hands_over_what_it_has(run: Runner) -> None:
    """The host's scope is cancelled inside the turn's block: the sink gets the text within the grace time."""

    async def main() -> None:
        sink = HostSink()
        async with open_hosted(sink=sink, grace=5) as hosted:
            with anyio.CancelScope() as scope:
                async with hosted.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
                    for event in (started(), begin("m"), delta("m", "half a sentence")):
                        await turn.send(event)
                    scope.cancel()
                    await anyio.sleep_forever()
            assert scope.cancelled_caught
            assert hosted.open_turns == ()
            assert any("half a sentence" in message.payload for message in sink.messages)

    run(main)


@on_every_loop
def test_a_cancelled_turn_whose_sink_stands_still_ends_after_the_grace_time(run: Runner) -> None:
    """Bounded, and the sink's coroutine is cancelled, on whichever loop it waits."""

    async def main() -> None:
        cancelled: list[bool] = []

        async def stuck(_message: StreamMessage) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                cancelled.append(True)

        async with open_hosted(sink=stuck, grace=0.05) as hosted:
            with anyio.CancelScope() as scope:
                async with hosted.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
                    await turn.send(started())
                    scope.cancel()
                    await anyio.sleep_forever()
            assert scope.cancelled_caught
            assert hosted.open_turns == ()
        assert cancelled == [True]

    run(main)


@on_every_loop
def test_a_raw_log_has_every_event_before_its_turn_looks(run: Runner) -> None:
    """Sending then waits for it, on every loop."""

    async def main() -> None:
        log = MemoryLog()
        async with open_hosted(sink=log, raw=log) as hosted:
            await hosted.run_turn(model(*short_turn()), turn_id=TURN, thread_id=THREAD)
            assert len(await hosted.call(log.read_events, TURN)) == len(short_turn())

    run(main)


@on_every_loop
def test_a_conversation_is_held_as_on_trio(run: Runner) -> None:
    """Events in, messages out, its changes read as a stream."""

    async def main() -> None:
        events: list[TextMessageStart | TextMessageContent | TextMessageEnd] = [
            TextMessageStart(message_id="m1", role="assistant"),
            *(TextMessageContent(message_id="m1", delta=f"{number} ") for number in range(300)),
            TextMessageEnd(message_id="m1"),
        ]
        async with open_hosted(sink=HostSink()) as hosted:
            async with hosted.open_conversation(thread_id=THREAD) as conversation:
                changes = hosted.iterate(conversation.changes())
                for event in events:
                    await conversation.send(event)
                assert len(conversation.messages) == 1
                async with changes:
                    assert isinstance(await anext(changes), MessagesReplaced | MessageChanged)
                await conversation.process(model_of_events())
            assert not conversation.is_open
            with pytest.raises(ClosedError):
                await conversation.send(events[0])
            assert len(conversation.save().messages) == 2

    async def model_of_events() -> AsyncIterator[TextMessageStart | TextMessageContent | TextMessageEnd]:
        yield TextMessageStart(message_id="m2", role="assistant")
        await anyio.lowlevel.checkpoint()
        yield TextMessageContent(message_id="m2", delta="hello")
        yield TextMessageEnd(message_id="m2")

    run(main)


@on_every_loop
def test_what_the_body_raises_comes_out_as_it_is(run: Runner) -> None:
    """Not in a group, and the runtime is closed."""

    async def main() -> None:
        error = ValueError("of the body")
        held: list[Hosted] = []
        with pytest.raises(ValueError, match="of the body") as caught:
            async with open_hosted(sink=HostSink()) as hosted:
                held.append(hosted)
                raise error
        assert caught.value is error
        with pytest.raises(ClosedError):
            held[0].open_turn(turn_id=TURN, thread_id=THREAD)

    run(main)


@on_every_loop
def test_a_crash_of_the_runtime_comes_out_of_its_block(run: Runner) -> None:
    """The body is interrupted wherever it waits."""

    async def broken() -> None:
        await trio.lowlevel.checkpoint()
        raise LookupError("broken")

    async def main() -> None:
        interrupted = False
        with pytest.raises(ExceptionGroup) as caught:
            async with open_hosted(sink=HostSink()) as hosted:
                assert hosted.runtime._turns is not None
                hosted.runtime._turns.start_soon(broken)  # where nothing of ours ever raises
                try:
                    await anyio.sleep_forever()
                finally:
                    interrupted = True
        assert caught.group_contains(LookupError, match="broken")
        assert interrupted

    run(main)
