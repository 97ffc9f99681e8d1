"""A process that works on as many turns as it may, on a queue that would take more: it says so itself."""

import pytest

from tests.kit.servers import plain_client
from tests.kit.service import Asked, open_asked, settings_with
from tests.kit.turns import finished, started
from turnwire.messages.event_codec import unstructure_event

EVENTS = "/api/v2/runs/run/events"
TURNS = "/xapi/threads/th/turns"


async def ask_for_another(asked: Asked, path: str) -> tuple[int, str, str]:
    """Ask for a turn, as a producer or as a client of a thread; give the status, the code and when to come again."""
    document = unstructure_event(started("another", "th")) | {"run_id": "run"}
    answer = await asked.post(path, document if path == EVENTS else {"message": "Hi", "turnId": "another"})
    code = answer.json().get("error", {}).get("code", "")
    return answer.status_code, code, answer.headers.get("retry-after", "")


@pytest.mark.parametrize("path", [EVENTS, TURNS])
async def test_a_turn_more_than_a_process_may_work_on_is_503_also_with_redis(
    redis_url: str, key_prefix: str, path: str
) -> None:
    """Nothing of it is announced; once another turn has ended there is room."""
    redis = {"url": redis_url, "prefix": key_prefix}
    async with open_asked(settings_with(redis=redis, limits={"turns": 1}), script=["Hello"]) as asked:
        await asked.publish("r", started("t", "th"))
        await asked.until(lambda: asked.live)
        assert await ask_for_another(asked, path) == (503, "too_many_turns", "1")
        assert (await asked.http.get("/xapi/turns/another")).status_code == 404
        with plain_client(redis_url) as client:
            assert client.xlen(f"{key_prefix}:turns") == 1
        await asked.publish("r", finished())
        await asked.until(lambda: not asked.live)
        assert await ask_for_another(asked, path) == (202, "", "")
