"""How the measurements of the path to Redis are printed."""

from rich.console import Console
from rich.table import Table

from turnwire.runtime.bench.redis_latency import PER_SECOND, TURNS
from turnwire.runtime.bench.redis_section import RedisResults
from turnwire.runtime.bench.slow_reader import DELTAS, PAUSE


def print_redis(results: RedisResults, console: Console) -> None:
    """Print a table of the path, and a line for each of the rest."""
    path = results.path
    title = f"turns → writer → Redis ({results.server}), entries of {path.entry_bytes} bytes"
    table = Table("", "emissions/s", "per pipeline", "CPU µs/emission", "× redis-benchmark", title=title)
    whole = "" if path.ratio is None else f"{path.ratio:.2f}"
    table.add_row("turnwire", f"{path.per_second:,.0f}", f"{path.batch:.0f}", f"{path.cpu_us:.1f}", whole)
    alone = "" if path.log_ratio is None else f"{path.log_ratio:.2f}"
    table.add_row("its log alone", f"{path.log_per_second:,.0f}", "", f"{path.log_cpu_us:.1f}", alone)
    if path.benchmark_per_second is not None:
        table.add_row("redis-benchmark", f"{path.benchmark_per_second:,.0f}", f"{path.batch:.0f}", "", "1")
    console.print(table)
    if path.benchmark_per_second is None:
        console.print("redis-benchmark is not installed: nothing to compare with")
    latency = results.latency
    pace = f"{PER_SECOND:,} events/s over {TURNS} turns"
    console.print(f"send → readable by a reader at {pace}: p50 {latency.p50:.1f} ms, p99 {latency.p99:.1f} ms")
    memory = results.memory
    if memory.per_turn is not None:
        console.print(f"memory per turn, {memory.turns:,} open at once: {memory.per_turn / 1000:.1f} kB")
    slow = results.slow_reader
    end = "the same state" if slow.beside.is_same else "ANOTHER STATE"
    console.print(
        f"a reader that takes {PAUSE:g} s over each entry, beside a fast one on a turn of {DELTAS:,} deltas: "
        f"the turn takes {slow.turn_ratio:.2f} ×, the fast reader {slow.fast_ratio:.2f} × as long as without it; "
        f"the slow one is given {slow.beside.slow_entries} of {slow.beside.entries} entries, ends with {end}, "
        f"and costs {slow.extra_bytes / 1e6:.1f} MB"
    )
