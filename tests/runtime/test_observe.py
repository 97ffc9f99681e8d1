"""Log lines: an event and its facts, through the host's own logging."""

import json
import logging

import pytest

from turnwire.runtime.observe import get_logger, log_to_stderr


def test_a_host_sees_one_readable_line_with_the_facts_on_the_record(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever the host prints, the message says everything; a tool finds the facts by name."""
    with caplog.at_level(logging.INFO, "turnwire.test"):
        get_logger("turnwire.test").warning("healed", key="codex:turn:t:processed", entries=3, share="100%d")
    (record,) = caplog.records
    assert record.getMessage() == "healed key=codex:turn:t:processed entries=3 share=100%d"
    assert record.levelname == "WARNING"
    assert record.__dict__["facts"] == {
        "event": "healed",
        "key": "codex:turn:t:processed",
        "entries": 3,
        "share": "100%d",
    }


def test_a_line_below_the_level_is_not_made(caplog: pytest.LogCaptureFixture) -> None:
    """The host's levels hold."""
    with caplog.at_level(logging.ERROR, "turnwire.test"):
        get_logger("turnwire.test").warning("healed")
    assert not caplog.records


def test_a_program_of_ours_writes_json_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """One object per line, facts beside the event; lines of plain logging too, with their trace."""
    before = logging.getLogger("turnwire").handlers[:], logging.getLogger("turnwire").propagate
    with log_to_stderr():
        get_logger("turnwire.test").warning("healed", entries=3)
        try:
            int("no")
        except ValueError:
            logging.getLogger("turnwire.test").exception("turn %s crashed", "t")
    assert before == (logging.getLogger("turnwire").handlers, logging.getLogger("turnwire").propagate)
    out, err = capsys.readouterr()
    first, second = map(json.loads, err.splitlines())
    assert not out
    assert first["event"] == "healed"
    assert first["entries"] == 3
    assert first["level"] == "warning"
    assert first["logger"] == "turnwire.test"
    assert second["event"] == "turn t crashed"
    assert "ValueError: invalid literal" in second["exception"]
