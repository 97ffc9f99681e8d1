"""Settings: where they come from, what is refused and how it is named, and that nothing secret is shown."""

import re
import tomllib
from pathlib import Path
from typing import Any

import attrs
import pytest

from turnwire.actors.core.options import TurnOptions
from turnwire.runtime.settings import Settings, SettingsError, load_settings
from turnwire.runtime.settings.checks import is_loopback, redis_url, without_password
from turnwire.runtime.settings.sources import all_fields, variable_of
from turnwire.runtime.settings.values import in_toml, shown

DOCS = Path(__file__).parent.parent.parent.parent / "docs" / "settings.md"


def problem(**sources: Any) -> str:
    """Give the only problem of these sources."""
    with pytest.raises(SettingsError) as caught:
        load_settings(**sources)
    (found,) = caught.value.problems
    return found


# Where they come from


def test_without_any_source_all_are_defaults() -> None:
    loaded = load_settings()
    assert loaded.settings == Settings()
    assert set(loaded.sources.values()) == {"default"}
    assert set(loaded.sources) == set(all_fields())


def test_each_source_wins_over_the_one_before(tmp_path: Path) -> None:
    """Default, file, environment, command line; and each value knows where it is from."""
    file = tmp_path / "turnwire.toml"
    file.write_text('[redis]\nprefix = "file"\nkeep_seconds = 7\nkeep_bytes = 1000\n')
    loaded = load_settings(
        file,
        environ={"TURNWIRE_REDIS__PREFIX": "env", "TURNWIRE_REDIS__KEEP_SECONDS": "8", "HOME": "ignored"},
        command_line=["redis.prefix=line"],
    )
    redis = loaded.settings.redis
    assert (redis.prefix, redis.keep_seconds, redis.keep_bytes, redis.socket_timeout) == ("line", 8.0, 1000, 5.0)
    assert loaded.sources["redis.prefix"] == "command line"
    assert loaded.sources["redis.keep_seconds"] == "environment TURNWIRE_REDIS__KEEP_SECONDS"
    assert loaded.sources["redis.keep_bytes"] == f"file {file}"
    assert loaded.sources["redis.socket_timeout"] == "default"


def test_the_environment_may_name_the_file(tmp_path: Path) -> None:
    """Unless the command line names another one."""
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text("[http]\nport = 1\n")
    two.write_text("[http]\nport = 2\n")
    assert load_settings(environ={"TURNWIRE_SETTINGS": str(one)}).settings.http.port == 1
    assert load_settings(two, environ={"TURNWIRE_SETTINGS": str(one)}).settings.http.port == 2


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("turn.batch_gradient", "10, 2.5,3", (10.0, 2.5, 3.0)),
        ("turn.retry_attempts", "none", None),
        ("turn.retry_attempts", "3", 3),
        ("turn.max_latency", "none", None),
        ("turn.max_latency", "0.5", 0.5),
        ("turn.deadline", "inf", float("inf")),
        ("turn.emit_cancelled", "true", True),
        ("redis.url", "none", None),
        ("redis.url", "rediss://u:p@host:1/2", "rediss://u:p@host:1/2"),
        ("http.tokens", "", ()),
        ("http.tokens", "a,b", ("a", "b")),
        ("http.cors_origins", "https://a.example,http://b:8080", ("https://a.example", "http://b:8080")),
        ("limits.turns", "10_000", 10_000),
        ("worker.name", "w1", "w1"),
    ],
)
def test_texts_are_read_by_the_type_of_their_setting(name: str, text: str, value: object) -> None:
    group, _, field = name.partition(".")
    for loaded in (
        load_settings(environ={variable_of(name): text}),
        load_settings(command_line=[f"{name}={text}"]),
    ):
        assert getattr(getattr(loaded.settings, group), field) == value


def test_a_file_says_none_with_the_word(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('[turn]\nmax_latency = "none"\n')
    assert load_settings(file).settings.turn.max_latency is None


# What is refused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[redis]\nprefx = 'a'", "redis.prefx: no such setting; did you mean redis.prefix? (file {file})"),
        ("[redid]\nurl = 'a'", "redid: no such group of settings; did you mean redis? (file {file})"),
        ("redis = 3", "redis: expected a table [redis], got int (file {file})"),
        ("[redis]\nprefix = 3", "redis.prefix: expected a text, got 3 (file {file})"),
        ("[redis]\nkeep_bytes = 1.5", "redis.keep_bytes: expected a whole number, got 1.5 (file {file})"),
        ("[redis]\nkeep_bytes = true", "redis.keep_bytes: expected a whole number, got True (file {file})"),
        ("[redis]\nkeep_seconds = '3'", "redis.keep_seconds: expected a number, got '3' (file {file})"),
        ("[redis]\nkeep_seconds = 'none'", "redis.keep_seconds: expected a number, got 'none' (file {file})"),
        ("[turn]\nretry_attempts = 'x'", "turn.retry_attempts: expected a whole number or none, got 'x' (file {file})"),
        ("[turn]\nbatch_gradient = '123'", "turn.batch_gradient: expected a list of numbers, got '123' (file {file})"),
        ("[turn]\nbatch_gradient = []", "turn.batch_gradient: must not be empty, not [] (file {file})"),
        ("[turn]\nbatch_gradient = [1, 0]", "turn.batch_gradient: must hold positive numbers, not [1, 0] (file {file})"),
        ("[turn]\nemit_cancelled = 1", "turn.emit_cancelled: expected true or false, got 1 (file {file})"),
        ("[turn]\ngrowth = nan", "turn.growth: must be a number from 0 on, not nan (file {file})"),
        ("[turn]\nretry_jitter = 2", "turn.retry_jitter: must be a number from 0 to 1, not 2 (file {file})"),
        (
            "[turn]\nbatch_timeout = 0",
            "turn.batch_timeout: must be a number of seconds greater than 0, or inf, not 0 (file {file})",
        ),
        ("[redis]\nkeep_seconds = inf", "redis.keep_seconds: must be a number of seconds greater than 0, not inf (file {file})"),
        ("[limits]\nturns = 0", "limits.turns: must be a whole number from 1 on, not 0 (file {file})"),
        ("[http]\nport = 70000", "http.port: must be a whole number from 0 to 65535, not 70000 (file {file})"),
        ("[http]\ncors_origins = ['https://a/b']", "http.cors_origins: must hold origins such as https://example.org, without a path, not [\"https://a/b\"] (file {file})"),
        ("[http]\ncors_origins = ['https://a:b']", "http.cors_origins: must hold origins such as https://example.org, without a path, not [\"https://a:b\"] (file {file})"),
        ("[worker]\nname = 'a b'", 'worker.name: must be a word without spaces, not "a b" (file {file})'),
    ],
)  # fmt: skip
def test_a_wrong_setting_in_a_file_is_named_with_the_file(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(text)
    assert problem(file=file) == expected.format(file=file)


def test_a_wrong_variable_is_named() -> None:
    """Whatever begins with our prefix is meant for us: a misspelt one must not go unnoticed."""
    wrong = {"TURNWIRE_REDIS_URL": "redis://h"}
    assert (
        problem(environ=wrong) == "TURNWIRE_REDIS_URL: no such setting; did you mean TURNWIRE_REDIS__URL? (environment)"
    )
    # What all of them begin with makes none of them alike.
    assert problem(environ={"TURNWIRE_FOO": "1"}) == "TURNWIRE_FOO: no such setting (environment)"
    wrong = {"TURNWIRE_LIMITS__TURNS": "many"}
    assert (
        problem(environ=wrong)
        == "limits.turns: expected a whole number, got 'many' (environment TURNWIRE_LIMITS__TURNS)"
    )


def test_a_wrong_argument_is_named() -> None:
    assert problem(command_line=["redis.url"]).endswith(
        "expected NAME=VALUE, such as redis.prefix=codex (command line)"
    )
    assert problem(command_line=["http.port=x"]) == "http.port: expected a whole number, got 'x' (command line)"
    assert problem(command_line=["port=1"]) == "port: no such setting; did you mean http.port? (command line)"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert "nowhere.toml" in problem(file=tmp_path / "nowhere.toml")
    file = tmp_path / "s.toml"
    file.write_text("[redis\n")
    assert re.match(rf"settings file {file}: .*line 1", problem(file=file))
    file.write_bytes(b'[redis]\nprefix = "\xff"')
    assert f"settings file {file}: 'utf-8' codec" in problem(file=file)


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("[http]\nport = -1\nprot = 1\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(file, environ={"TURNWIRE_NOSUCH": "1"}, command_line=["turn.growth=-1"])
    assert [one.split(":")[0] for one in caught.value.problems] == [
        "http.port",
        "http.prot",
        "TURNWIRE_NOSUCH",
        "turn.growth",
    ]
    assert str(caught.value).count("\n") == 3


@pytest.mark.parametrize(
    ("assignments", "name"),
    [
        (["redis.expire_after=30"], "redis.expire_after"),
        (["worker.claim_idle=4"], "worker.heartbeat"),
        (["http.host=0.0.0.0"], "http.host"),
        (["http.host=example.org"], "http.host"),
    ],
)
def test_settings_that_do_not_go_together_are_named(assignments: list[str], name: str) -> None:
    assert problem(command_line=assignments).startswith(f"{name}: must be ")


def test_an_open_door_needs_tokens() -> None:
    """With them any address will do; without, only one that others cannot reach."""
    assert load_settings(command_line=["http.host=0.0.0.0", "http.tokens=t"]).settings.http.host == "0.0.0.0"  # noqa: S104
    for host in ("localhost", "127.0.0.5", "::1", "[::1]"):
        assert load_settings(command_line=[f"http.host={host}"]).settings.http.host == host
        assert is_loopback(host)


@pytest.mark.parametrize(
    "url",
    ["redis://h", "redis://h:6379/0", "rediss://user:p%40ss@h:1", "unix:///run/redis.sock", "redis://[::1]:6379", "redis://h/0?db=1"],
)  # fmt: skip
def test_addresses_of_servers_are_taken(url: str) -> None:
    assert redis_url(url) is None


@pytest.mark.parametrize(
    "url", ["", "h:6379", "http://h", "redis://", "redis://:6379", "redis://h:99999", "redis://h:x", "redis://h/db", "unix://", "redis://h:0", "redis://[::1", "redis://h:-1"]
)  # fmt: skip
def test_addresses_that_are_none_are_refused(url: str) -> None:
    assert redis_url(url) is not None


# Secrets


SECRETS = {
    "TURNWIRE_REDIS__URL": "redis://me:hunter2@h/0?ssl_password=hunter2",
    "TURNWIRE_HTTP__TOKENS": "hunter2,hunter2x",
    "TURNWIRE_HTTP__SECRET": "hunter2" * 5,
}


def test_secrets_are_not_shown() -> None:
    """Not in a repr, not in what is printed."""
    loaded = load_settings(environ=SECRETS)
    assert loaded.settings.redis.url == SECRETS["TURNWIRE_REDIS__URL"]
    assert "hunter2" not in repr(loaded)
    for name, field in all_fields().items():
        group = getattr(loaded.settings, name.partition(".")[0])
        assert "hunter2" not in shown(field, getattr(group, field.name))
    assert "redis://me:***@h/0?ssl_password=***" in repr(loaded.settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("redis.url", '"http://me:hunter2@h"'),
        ("redis.url", '"redis://me:hunter2@h:port"'),
        ("redis.url", '["hunter2"]'),
        ("http.tokens", '["hunter2", ""]'),
        ("http.tokens", '"hunter2"'),
        ("http.secret", '"hunter2 hunter2 hunter2 hunter2 hunter2"'),
        ("http.secret", '"hunter2"'),
        ("http.secret", '["hunter2"]'),
    ],
)
def test_a_wrong_secret_is_named_but_not_told(tmp_path: Path, name: str, value: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(f"{name} = {value}\n")
    told = problem(file=file)
    assert told.startswith(f"{name}: ")
    assert "hunter2" not in told


def test_a_secret_that_could_be_guessed_is_refused() -> None:
    """One that signs has 32 bytes; counted as bytes, as the signature does."""
    told = problem(environ={"TURNWIRE_HTTP__SECRET": 31 * "x"})
    assert told == (
        'http.secret: must be a word of 32 bytes or more, such as `openssl rand -hex 32` gives, not "***"'
        " (environment TURNWIRE_HTTP__SECRET)"
    )
    for secret in (32 * "x", 16 * "é"):
        assert load_settings(environ={"TURNWIRE_HTTP__SECRET": secret}).settings.http.secret == secret


def test_a_url_without_a_password_is_shown_as_it_is() -> None:
    for url in ("redis://h:1/0?a=b", "redis://me@h", "unix:///run/r.sock"):
        assert without_password(url) == url
    assert without_password(None) is None


@pytest.mark.parametrize(
    "url",
    ["redis://:pw@[::1", "redis://u:p@w/pw@h", "redis://pw:pw", "redis://h:pw@1/0", "redis://h/0?PassWord=pw&a=b"],
)
def test_a_password_is_hidden_wherever_it_was_written(url: str) -> None:
    """Also in addresses that are none: an error message shows them."""
    assert "pw" not in (without_password(url) or "")


# What they are for


def test_the_options_of_a_turn_are_made_of_settings() -> None:
    """Every option of a turn can be set, and the defaults are those of a turn but for what a service wants otherwise."""
    made, plain = attrs.asdict(Settings().turn_options), attrs.asdict(TurnOptions())
    different = {name for name in plain if made[name] != plain[name]}
    assert different == {"max_latency", "retry_attempts"}
    changed: list[str] = []
    for name, field in all_fields().items():
        group = name.partition(".")[0]
        if group in ("turn", "limits"):
            text = "true" if field.default is False else "0.5" if isinstance(field.default, float) else "7"
            options = load_settings(command_line=[f"{name}={text}"]).settings.turn_options
            changed += [option for option, was in made.items() if attrs.asdict(options)[option] != was]
    assert sorted(changed) == sorted(plain)


def test_a_worker_has_a_name_of_its_own() -> None:
    worker = Settings().worker
    assert re.fullmatch(r".+-\d+", worker.full_name)
    assert load_settings(command_line=["worker.name=w7"]).settings.worker.full_name == "w7"


def test_the_restart_budget_is_the_one_that_was_set() -> None:
    budget = load_settings(command_line=["worker.restart_limit=1"]).settings.worker.restart_budget
    assert budget.spend(now=0.0) is not None
    assert budget.spend(now=59.0) is None
    assert budget.spend(now=60.0) is not None


def test_the_page_about_settings_has_every_one_of_them() -> None:
    """With the default and the meaning that stand in the code, in its order."""
    rows = re.findall(r"^\| (\w+\.\w+) \| (.*?) \| (.*) \|$", DOCS.read_text(), re.MULTILINE)
    fields = all_fields()
    assert rows == [(name, shown(field, field.default), field.metadata["meaning"]) for name, field in fields.items()]


def test_every_default_passes_its_own_check() -> None:
    text = "\n".join(f"{name} = {in_toml(field.default)}" for name, field in all_fields().items())
    for name, table in tomllib.loads(text).items():
        for key, value in table.items():
            check = all_fields()[f"{name}.{key}"].metadata["check"]
            assert check is None or value == "none" or check(value) is None
