"""The models that the settings name."""

import errno
import socket

import pytest
import trio

from tests.kit.service import open_asked, settings_with
from tests.kit.sse import data_of
from turnwire.runtime.backend.models import open_models
from turnwire.runtime.cli.main import main
from turnwire.runtime.http import run_service
from turnwire.runtime.http.mounted import open_app
from turnwire.runtime.http.process import open_service
from turnwire.runtime.models import ScriptedModel
from turnwire.runtime.settings import ModelSettings, SettingsError
from turnwire.runtime.worker import run_worker

KEYLESS = {"provider": "anthropic-messages", "name": "big-one"}


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


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that does not have it either."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


@pytest.mark.usefixtures("no_key")
async def test_a_missing_key_is_told_before_anything_is_open() -> None:
    """As the setting that it is, and not from inside of groups: whoever starts a program reads its last line."""
    settings = settings_with(model=KEYLESS, redis={"url": "redis://127.0.0.1:1"})
    told = r"^model\.api_key: no API key: .* set ANTHROPIC_API_KEY in the environment$"
    for run in (run_service, run_worker):
        with pytest.raises(SettingsError, match=told):
            await run(settings)
    for opened in (open_service(settings), open_app(settings)):
        with pytest.raises(SettingsError, match=told):
            async with opened:
                raise AssertionError("not entered")


async def test_a_worker_without_a_server_is_a_wrong_setting() -> None:
    """Programs catch SettingsError and print one line, whatever is wrong."""
    with pytest.raises(SettingsError, match=r"^redis\.url: "):
        await run_worker(settings_with())


async def test_a_port_that_is_taken_is_told_outside_of_groups() -> None:
    """As the OSError that it is, with the address: a program can print it in one line."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1 port {port}: .*in use") as caught:
            await run_service(settings_with(http={"port": port}))
    assert caught.value.errno == errno.EADDRINUSE


@pytest.mark.usefixtures("no_key")
async def test_a_host_with_models_of_its_own_needs_no_key() -> None:
    """The provider of the settings is not asked, then."""
    async with open_asked(settings_with(model=KEYLESS), models={"own": ScriptedModel(lambda _: "Hi")}) as asked:
        answer = await asked.post("/xapi/threads/th/turns", {"message": "Hello"})
        assert answer.status_code == 202, answer.text


@pytest.mark.usefixtures("no_key")
@pytest.mark.parametrize("command", [["serve"], ["worker", "--redis", "redis://127.0.0.1:1"]], ids=lambda it: it[0])
def test_a_command_without_its_key_says_so_in_one_line(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2: a wrong setting like any other."""
    chosen = [f"--set=model.{name}={value}" for name, value in KEYLESS.items()]
    assert main([*command, *chosen]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert told.err.startswith("turnwire: model.api_key: no API key: ")
