"""How the measurements of the path to Redis are printed."""

from rich.console import Console
from rich.table import Table

from turnwire.runtime.bench.redis_latency import PER_SECOND, TURNS
from turnwire.runtime.bench.redis_path import RedisPath
from turnwire.runtime.bench.redis_section import RedisResults
from turnwire.runtime.bench.slow_reader import DELTAS, PAUSE


def print_redis(results: RedisResults, console: Console) -> None:
    """Print a table of the path, and a line for each of the rest."""
    title = f"turns → writer → Redis ({results.server}), entries of {results.path.entry_bytes} bytes"
    table = Table("", "", "emissions/s", "per pipeline", "CPU µs/emission", "× redis-benchmark", title=title)
    _add_path(table, "without persistence" if results.durable else "as it is", results.path)
    for fsync, path in results.durable.items():
        _add_path(table, f"appendfsync {fsync}", path)
    console.print(table)
    if results.path.benchmark_per_second is None:
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


def _add_path(table: Table, persistence: str, path: RedisPath) -> None:
    """Add what was measured at one server."""
    batch = f"{path.batch:.0f}"
    for name, per_second, cpu_us, ratio in (
        ("turnwire", path.per_second, f"{path.cpu_us:.1f}", path.ratio),
        ("its log alone", path.log_per_second, f"{path.log_cpu_us:.1f}", path.log_ratio),
        ("plain redis-py", path.redis_py_per_second, "", path.redis_py_ratio),
        ("redis-benchmark", path.benchmark_per_second, "", 1.0),
    ):
        if per_second is not None:
            table.add_row(
                persistence, name, f"{per_second:,.0f}", batch, cpu_us, "" if ratio is None else f"{ratio:.2f}"
            )
            persistence = ""  # said once
    table.add_section()
