"""Runs of one thread in several processes: claims, saves that go on from one another, and what runs once."""

import contextlib
from typing import Any

import pytest
import trio

from tests.kit.agents import ScriptModel, Stage, call, end, say, user
from tests.kit.servers import plain_client
from tests.kit.threads import SAVED, OpenThreads, asked
from turnwire.actors.core.toolset import tool
from turnwire.actors.engine_ports import ThreadStore
from turnwire.messages.errors import ThreadConflictError
from turnwire.messages.runs import ApprovalAnswer
from turnwire.messages.ui import SavedConversation
from turnwire.runtime.threads import open_redis_threads


async def test_a_thread_is_claimed_by_one_run_at_a_time(open_threads: OpenThreads) -> None:
    """Until that lets it go, or does not claim it again in time."""
    async with open_threads() as store, open_threads() as other:
        assert await store.claim("th", "r1", seconds=9) == ""
        assert await other.claim("th", "r2", seconds=9) is None
        assert await other.claim("another", "r2", seconds=9) == ""
        assert await store.claim("th", "r1", seconds=9) == ""
        await other.release("th", "r2")
        assert await other.claim("th", "r2", seconds=9) is None
        await store.release("th", "r1")
        assert await other.claim("th", "r2", seconds=0.01) == ""
        while await store.claim("th", "r1", seconds=0.01) is None:  # noqa: ASYNC110  # the server's clock, not ours
            await trio.sleep(0.001)
        await store.release("th", "r9")


async def test_of_many_claims_at_once_exactly_one_gets_through(open_threads: OpenThreads) -> None:
    """Whichever process they come from."""
    async with open_threads() as store, open_threads() as other:
        won: list[str] = []

        async def claim(threads: ThreadStore, run_id: str) -> None:
            if await threads.claim("th", run_id, seconds=9) is not None:
                won.append(run_id)

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(claim, (store, other)[number % 2], f"r{number}")
        assert len(won) == 1


async def test_a_save_that_goes_on_from_another_is_refused_and_what_is_there_stays(open_threads: OpenThreads) -> None:
    """The one that was first has won; only the same run may repeat itself."""
    later = SavedConversation(messages=(user("Later"),))
    async with open_threads() as store, open_threads() as other:
        assert await store.claim("th", "r1", seconds=9) == ""
        await store.save("th", SAVED, run_id="r1", pending=(asked(),), after="")
        await store.save("th", SAVED, run_id="r1", pending=(asked(),), after="")
        with pytest.raises(ThreadConflictError) as refused:
            await other.save("th", later, run_id="r2", after="")
        assert (refused.value.expected, refused.value.found) == ("", "r1")
        assert await other.load("th") == SAVED
        assert await other.pending("th") == (asked(),)
        await store.release("th", "r1")
        assert await other.claim("th", "r2", seconds=9) == "r1"
        await other.save("th", later, run_id="r2", after="r1")
        with pytest.raises(ThreadConflictError):
            await store.save("th", SAVED, run_id="r1", after="")
        await store.forget("th")
        with pytest.raises(ThreadConflictError, match="forgotten"):
            await other.save("th", later, run_id="r3", after="r2")
        assert await store.load("th") is None


async def test_of_many_saves_at_once_exactly_one_gets_through(open_threads: OpenThreads) -> None:
    """Whichever process they come from."""
    async with open_threads() as store, open_threads() as other:
        saved: list[str] = []

        async def save(threads: ThreadStore, run_id: str) -> None:
            with contextlib.suppress(ThreadConflictError):
                await threads.save("th", SavedConversation(state=run_id), run_id=run_id, after="")
                saved.append(run_id)

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(save, (store, other)[number % 2], f"r{number}")
        assert len(saved) == 1
        assert await store.load("th") == SavedConversation(state=saved[0])


async def test_runs_of_one_thread_in_two_processes_come_one_after_the_other(open_threads: OpenThreads) -> None:
    """The second goes on from what the first has saved, whichever that is."""
    async with open_threads() as store, open_threads() as other:
        stages = [Stage(ScriptModel([[say("Yes"), 0.01, end()]]), store=each) for each in (store, other)]
        async with trio.open_nursery() as nursery:
            for each in stages:
                nursery.start_soon(each.run, "Hello")
        parts = await stages[0].parts()
        assert parts == ["user: Hello", "assistant: Yes", "user: Hello", "assistant: Yes"]
        assert sorted(len(each.model.calls[0].messages) for each in stages) == [1, 3]


async def test_what_was_approved_once_runs_once_when_two_processes_go_on(open_threads: OpenThreads) -> None:
    """Whoever comes second finds the result."""
    ran: list[str] = []

    @tool(needs_approval=True)
    async def pay(to: str) -> str:
        """Pay."""
        ran.append(to)
        await trio.sleep(0.01)
        return "paid"

    async with open_threads() as store, open_threads() as other:
        asking = Stage(ScriptModel([[call("pay", "c1", to="Ann"), end("tool_calls")]]), [pay], store=store)
        (pending,) = (await asking.run()).pending
        assert pending.approval_id is not None
        yes = ApprovalAnswer(approval_id=pending.approval_id, approved=True)
        stages = [Stage(ScriptModel([[say("Done"), end()]]), [pay], store=each) for each in (store, other)]
        async with trio.open_nursery() as nursery:
            for each in stages:
                nursery.start_soon(each.run, None, yes)
        assert ran == ["Ann"]
        assert (await asking.parts()).count("assistant: complete c1: paid") == 1


async def test_what_changes_between_looking_and_writing_is_looked_at_again(redis_url: str, key_prefix: str) -> None:
    """Another process writes at the worst moment: its word counts, and nothing of ours was written."""
    client = plain_client(redis_url)
    key, found = f"{key_prefix}:k", list[Any]()

    def decide(replies: list[Any]) -> list[Any]:
        found.append(replies[0])
        if len(found) == 1:
            client.set(key, "theirs")
            return [("SET", key, "never")]
        return [("APPEND", key, " and ours")]

    async with open_redis_threads(redis_url, prefix=key_prefix) as store:
        await store._look_and_write([("GET", key)], decide)
    assert found == [None, b"theirs"]
    assert client.get(key) == b"theirs and ours"
    client.close()
