"""Stores of threads, in memory and in Redis: one suite, so that the one in memory cannot lie."""

from functools import partial

import pytest
import trio

from tests.kit.agents import ScriptModel, Stage, call, end, say, user
from tests.kit.servers import plain_client
from tests.kit.threads import SAVED, OpenThreads, asked
from turnwire.actors.core.toolset import tool
from turnwire.actors.engine_ports import ThreadStore
from turnwire.messages.errors import (
    ApprovalAnsweredError,
    CallAnsweredError,
    LogUnavailableError,
    UnknownCallError,
)
from turnwire.messages.runs import ApprovalAnswer, RunInput, ToolAnswer, ToolSpec
from turnwire.messages.ui import SavedConversation
from turnwire.runtime.threads import open_redis_threads

YES, NO = ApprovalAnswer(approval_id="a1", approved=True), ApprovalAnswer(approval_id="a1", approved=False)


async def test_an_input_is_kept_for_its_run(open_threads: OpenThreads) -> None:
    """Whole, and for another process to find."""
    run = RunInput(
        run_id="r1",
        turn_id="t1",
        thread_id="th",
        messages=(user("Before", "u0"),),
        new_messages=(user("Hello"),),
        answers=(YES, ToolAnswer(tool_call_id="c1", output=[1, None], error="why")),
        client_tools=(ToolSpec(name="pick", description="Pick", parameters={"type": "object"}),),
        model="m",
        state={"a": [1]},
        instructions="Be brief",
    )
    async with open_threads() as store, open_threads() as other:
        assert await store.get_input("r1") is None
        await store.put_input(run)
        await store.put_input(run)
        assert await other.get_input("r1") == run


async def test_a_conversation_is_kept_for_its_thread(open_threads: OpenThreads) -> None:
    """As it was last saved."""
    async with open_threads() as store, open_threads() as other:
        assert await store.load("th") is None
        await store.save("th", SavedConversation(), run_id="r1")
        await store.save("th", SAVED, run_id="r2")
        assert await other.load("th") == SAVED
        assert await other.load("another") is None
        await store.forget("th")
        assert await other.load("th") is None


async def test_what_waits_is_listed_oldest_first_until_it_is_answered(open_threads: OpenThreads) -> None:
    """Of one thread in the order of the calls, or of all threads."""
    async with open_threads() as store:
        await store.save("th", SAVED, run_id="r1", pending=(asked("c2", "a2"), asked("c1")))
        await store.save("other", SAVED, run_id="r2", pending=(asked("c3", None, thread="other"),))
        assert await store.pending("th") == (asked("c2", "a2"), asked("c1"))
        assert await store.pending() == (asked("c2", "a2"), asked("c1"), asked("c3", None, thread="other"))
        await store.answer("th", ApprovalAnswer(approval_id="a2", approved=False))
        assert await store.pending("th") == (asked("c1"),)
        assert await store.pending("nobody") == ()
        await store.save("other", SAVED, run_id="r3")
        assert await store.pending() == (asked("c1"),)
        await store.forget("th")
        assert await store.pending() == ()


async def test_an_answer_is_there_until_a_run_has_saved_it_as_applied(open_threads: OpenThreads) -> None:
    """Also if the run that would apply it dies on the way."""
    tool_answer = ToolAnswer(tool_call_id="c2", output={"x": None})
    async with open_threads() as store:
        await store.save("th", SAVED, run_id="r1", pending=(asked(), asked("c2", None), asked("c3", "a3")))
        assert await store.answers("th") == ()
        await store.answer("th", tool_answer)
        await store.answer("th", YES)
        assert await store.answers("th") == (YES, tool_answer)
        await store.save("th", SAVED, run_id="r2", pending=(asked("c3", "a3"),))
        assert await store.answers("th") == ()
        assert await store.pending("th") == (asked("c3", "a3"),)


async def test_a_second_answer_is_refused_with_the_first(open_threads: OpenThreads) -> None:
    """At once, and after it was applied."""
    async with open_threads() as store:
        await store.save("th", SAVED, run_id="r1", pending=(asked(), asked("c2", None)))
        await store.answer("th", YES)
        await store.answer("th", ToolAnswer(tool_call_id="c2", output=7, error="why"))
        for _ in range(2):
            with pytest.raises(ApprovalAnsweredError) as approval:
                await store.answer("th", NO)
            assert approval.value.approved is True
            with pytest.raises(CallAnsweredError) as answered:
                await store.answer("th", ToolAnswer(tool_call_id="c2", output=8))
            assert (answered.value.output, answered.value.error) == (7, "why")
            await store.save("th", SAVED, run_id="r2")


async def test_what_nobody_asked_is_refused(open_threads: OpenThreads) -> None:
    """An approval is no tool's result, and another thread's question is not this one's."""
    async with open_threads() as store:
        await store.save("th", SAVED, run_id="r1", pending=(asked(),))
        for thread, answer in (
            ("th", ToolAnswer(tool_call_id="c1")),
            ("th", ApprovalAnswer(approval_id="c1", approved=True)),
            ("other", YES),
        ):
            with pytest.raises(UnknownCallError):
                await store.answer(thread, answer)
        assert await store.pending("th") == (asked(),)


async def test_an_id_that_is_asked_for_anew_takes_a_new_answer(open_threads: OpenThreads) -> None:
    """Hosts that number their calls anew, in a thread whose history was cut."""
    async with open_threads() as store:
        await store.save("th", SAVED, run_id="r1", pending=(asked("c1", None),))
        await store.answer("th", ToolAnswer(tool_call_id="c1", output=1))
        await store.save("th", SAVED, run_id="r2")
        await store.save("th", SAVED, run_id="r3", pending=(asked("c1", None, run="r3"),))
        assert await store.answers("th") == ()
        await store.answer("th", ToolAnswer(tool_call_id="c1", output=2))
        assert await store.answers("th") == (ToolAnswer(tool_call_id="c1", output=2),)


async def test_of_many_answers_at_once_exactly_one_gets_through(open_threads: OpenThreads) -> None:
    """Whichever process they come from; the others are told which."""
    async with open_threads() as store, open_threads() as other:
        await store.save("th", SAVED, run_id="r1", pending=(asked(),))
        taken: list[bool] = []
        refused: list[bool] = []

        async def try_it(threads: ThreadStore, *, approved: bool) -> None:
            try:
                await threads.answer("th", ApprovalAnswer(approval_id="a1", approved=approved))
                taken.append(approved)
            except ApprovalAnsweredError as exc:
                refused.append(exc.approved)

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(partial(try_it, (store, other)[number % 2], approved=number % 3 == 0))
        assert len(taken) == 1
        assert refused == taken * 19
        assert await store.answers("th") == (ApprovalAnswer(approval_id="a1", approved=taken[0]),)


@tool(needs_approval=True)
async def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


async def test_a_paused_run_goes_on_in_another_process(open_threads: OpenThreads) -> None:
    """An engine pauses; another one, with a store of its own on the same server, goes on."""
    async with open_threads() as store:
        model = ScriptModel([[say("May I?"), call("delete", "c1", path="a"), end("tool_calls")]])
        stage = Stage(model, [delete], store=store)
        (pending,) = (await stage.run()).pending
    async with open_threads() as store:
        assert await store.pending() == (pending,)
        stage = Stage(ScriptModel([[say("Done"), end()]]), [delete], store=store)
        assert pending.approval_id is not None
        outcome = await stage.run(None, ApprovalAnswer(approval_id=pending.approval_id, approved=True))
        assert outcome.status == "complete"
        assert stage.told == [
            "start",
            'call c1: delete {"path":"a"}',
            "result c1: a is gone",
            "agent: Done",
            "done complete stop",
        ]
        assert await store.pending() == ()


async def test_everything_of_a_thread_expires(redis_url: str, key_prefix: str) -> None:
    """No key stays for ever."""
    async with open_redis_threads(redis_url, prefix=key_prefix, expire_after=100) as store:
        await store.put_input(RunInput(run_id="r1", turn_id="t1", thread_id="th"))
        await store.save("th", SAVED, run_id="r1", pending=(asked(),))
        await store.answer("th", YES)
        await store.claim("th", "r2", seconds=15)
    client = plain_client(redis_url)
    keys = client.keys(f"{key_prefix}:*")
    assert len(keys) == 7
    assert all(0 < client.pttl(key) <= 100_000 for key in keys)
    client.close()


async def test_a_server_that_is_away_is_said_so() -> None:
    """Trying again later is right; a wrong setting is refused at once."""
    async with open_redis_threads("redis://127.0.0.1:1/0") as store:
        with pytest.raises(LogUnavailableError):
            await store.load("th")
    with pytest.raises(ValueError, match="expire_after"):
        async with open_redis_threads("redis://127.0.0.1:1/0", expire_after=0):
            pass
