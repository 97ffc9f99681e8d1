"""How the measurements of the service are printed."""

from rich.console import Console

from turnwire.runtime.bench.http_readers import HttpCosts


def print_http(costs: HttpCosts, console: Console) -> None:
    """Print a line for each."""
    of_all = f"{costs.readers:,} readers of {costs.turns} turns over HTTP, {costs.events:,} events"
    console.print(f"emission → reader, {of_all}: p50 {costs.p50:.1f} ms, p99 {costs.p99:.1f} ms")
    if costs.ended != costs.readers:
        console.print(f"only {costs.ended:,} of them saw the end of their turn")
    if costs.idle_reader_bytes is not None:
        console.print(f"memory per reader that waits: {costs.idle_reader_bytes / 1000:.1f} kB")
