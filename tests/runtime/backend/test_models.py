"""The models that the settings name."""

import pytest
import trio

from tests.kit.service import open_asked, settings_with
from tests.kit.sse import data_of
from turnwire.runtime.backend.models import open_models
from turnwire.runtime.settings import ModelSettings


async def test_without_a_provider_there_is_no_model() -> None:
    """And none is made up."""
    async with open_models(ModelSettings()) as models:
        assert models == {}


@pytest.mark.parametrize("provider", ["openai-responses", "openai-chat", "anthropic-messages"])
async def test_a_providers_model_goes_by_its_own_name(provider: str) -> None:
    """Its key comes from the settings and is shown nowhere."""
    settings = ModelSettings(provider=provider, name="big-one", api_key="key-123", base_url="http://127.0.0.1:1/v1")
    async with open_models(settings) as models:
        (model,) = models.values()
        assert (list(models), model.model_id, model.data_format) == (["big-one"], "big-one", provider)
    assert "key-123" not in repr(settings)


async def test_the_scripted_model_answers_everybody() -> None:
    """It needs no key and repeats what it hears."""
    async with open_asked(settings_with(model={"provider": "scripted"})) as asked:
        answer = await asked.post("/xapi/threads/th/turns", {"message": "Good morning"})
        with trio.fail_after(20):
            told = data_of(await asked.events(f"/xapi/turns/{answer.json()['turnId']}/stream"))
        assert told[-1]["type"] == "turn_complete"
        assert told[-2]["content"].startswith("You said: Good morning")
