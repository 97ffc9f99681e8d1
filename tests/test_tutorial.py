"""The tutorial, followed from its first line to its last: the file it has one write, the commands it has one type."""

from pathlib import Path

from tests.kit.page_places import find_redis
from tests.kit.pages import ROOT, Place, blocks_of, text_of
from turnwire.runtime.bench.redis_server import free_port

TUTORIAL = ROOT / "docs" / "tutorial.md"


def test_the_tutorial_comes_to_what_it_says(tmp_path: Path) -> None:
    """Embedded, as a service, on Redis after a kill, with two workers: the whole answer; a killed worker: what it had said."""
    find_redis()  # to skip where there is none: the tutorial starts its own
    place = Place(tmp_path, {"8080": str(free_port()), "6379": str(free_port())})
    place.write("my_agent.py", text_of(blocks_of(TUTORIAL, "python")))
    ran = place.run_shell(text_of(blocks_of(TUTORIAL, "sh")))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "complete after 2 requests to the model" in ran.stdout
    whole = "It is a clear day in Oslo, at seven degrees. " * 6
    for turn in ("turn-1", "turn-2", "turn-3"):
        ends = [line for line in ran.stdout.splitlines() if f'"turnId":"{turn}"' in line and "turn_complete" in line]
        assert ends, f"{turn} has no end:\n{ran.stdout}\n{ran.stderr}"
        assert any(whole.strip() in line and turn in line for line in ran.stdout.splitlines()), turn
    cut = [line for line in ran.stdout.splitlines() if '"turnId":"turn-4"' in line]
    assert "It is a clear day" in cut[-2]  # what was told before the worker was killed stays
    assert "turn_error" in cut[-1]
    assert "ENGINE_LOST" in cut[-1]
