"""`turnwire settings`: what is in force, where it came from, and exit code 2 for what is wrong."""

import tomllib
from pathlib import Path

import pytest

from turnwire.runtime.cli.main import main
from turnwire.runtime.settings.sources import all_fields


def test_all_settings_are_printed_as_a_file_that_can_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same settings come out of it again."""
    monkeypatch.setenv("TURNWIRE_WORKER__NAME", 'odd"name\\')
    assert main(["settings", "--set", "turn.batch_gradient=1,2.5"]) == 0
    printed = capsys.readouterr().out
    tables = tomllib.loads(printed)
    assert {f"{group}.{name}" for group, table in tables.items() for name in table} == set(all_fields())
    assert 'name = "odd\\"name\\\\"  # environment TURNWIRE_WORKER__NAME\n' in printed
    assert "batch_gradient = [1.0, 2.5]  # command line\n" in printed
    assert "port = 8080  # default\n" in printed
    monkeypatch.delenv("TURNWIRE_WORKER__NAME")
    file = tmp_path / "again.toml"
    file.write_text(printed)
    assert main(["settings", "--settings", str(file)]) == 0
    assert tomllib.loads(capsys.readouterr().out) == tables


def test_secrets_are_hidden(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWIRE_HTTP__SECRET", "hunter2" * 5)
    arguments = ["--set", "redis.url=redis://:hunter2@h/0", "--set", "http.tokens=hunter2,hunter2"]
    assert main(["settings", *arguments]) == 0
    out, err = capsys.readouterr()
    assert "hunter2" not in out + err
    assert 'url = "redis://:***@h/0"  # command line' in out
    assert 'tokens = ["***", "***"]  # command line' in out
    assert 'secret = "***"  # environment TURNWIRE_HTTP__SECRET' in out


def test_what_is_wrong_is_named_and_the_exit_code_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "--set", "http.port=x", "--set", "nosuch=1"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "turnwire: http.port: expected a whole number, got 'x' (command line)",
        "turnwire: nosuch: no such setting (command line)",
    ]
