"""How a command runs that lasts: what holds while it does, and what it leaves to whoever called it."""

import gc

from turnwire.runtime.cli.lasting import run_lasting
from turnwire.runtime.collector import THRESHOLDS


def test_a_command_that_lasts_collects_rarely_and_only_as_long_as_it_runs() -> None:
    """The thresholds of a service inside, those of before outside."""
    before, inside = gc.get_threshold(), list[tuple[int, int, int]]()

    async def main() -> None:
        inside.append(gc.get_threshold())

    try:
        assert run_lasting("test", main, quiet=True) == 0
    finally:
        gc.unfreeze()  # a command freezes at its end, to end sooner; we go on
    assert inside == [THRESHOLDS]
    assert gc.get_threshold() == before != THRESHOLDS
