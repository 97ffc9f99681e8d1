"""Costs against lengths as a picture: what stays level is linear in all. An SVG of its own, on two logarithmic scales.

Drawn by hand, because a plotting library is a heavy thing to install for one picture.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import ceil, floor, log10

import attrs

WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 210, 44, 48
COLOURS = ("#2563eb", "#0d9488", "#9333ea", "#dc2626", "#d97706")

_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #334155; } .title { font-size: 14px; font-weight: 600; }
.grid { stroke: #cbd5e1; stroke-width: 1; } .line { fill: none; stroke-width: 2; }
@media (prefers-color-scheme: dark) { text { fill: #cbd5e1; } .grid { stroke: #475569; } }
"""


@attrs.frozen
class Series:
    """One line of the picture: (length, µs per event), at least one of them."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


def draw_costs(series: Sequence[Series]) -> str:
    """Give the picture of all lines as SVG. Raises ValueError if there is nothing to draw."""
    points = [point for each in series for point in each.points]
    if not points:
        raise ValueError("nothing to draw: no line has a point")
    across = _Scale.over((x for x, _ in points), LEFT, WIDTH - RIGHT)
    up = _Scale.over((y for _, y in points), HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>Cost of an event against the length of what it is added to</title><style>{_STYLE}</style>",
        f'<text class="title" x="{LEFT}" y="22">µs per event, as texts and conversations grow</text>',
        *_grid(across, up),
        *(line for place, each in enumerate(series) for line in _line(each, place, across, up)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


@attrs.frozen
class _Scale:
    """Powers of ten, from one edge of the picture to the other."""

    first: int
    last: int
    start: float
    end: float

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float) -> "_Scale":
        logs = [log10(value) for value in values]
        first, last = floor(min(logs)), ceil(max(logs))
        return cls(first, max(last, first + 1), start, end)

    def at(self, value: float) -> float:
        share = (log10(value) - self.first) / (self.last - self.first)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.first, self.last + 1)]


def _grid(across: _Scale, up: _Scale) -> Iterator[str]:
    for tick in up.ticks():
        y = up.at(tick)
        yield f'<line class="grid" x1="{across.start}" y1="{y}" x2="{across.end}" y2="{y}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{tick:g}</text>'
    for tick in across.ticks():
        yield f'<text x="{across.at(tick)}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{tick:,.0f}</text>'
    middle = (across.start + across.end) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">events of one text, call or conversation</text>'


def _line(series: Series, place: int, across: _Scale, up: _Scale) -> Iterator[str]:
    colour = COLOURS[place % len(COLOURS)]
    path = " ".join(f"{across.at(x)},{up.at(y)}" for x, y in series.points)
    dashes = ' stroke-dasharray="5 4"' if series.dashed else ""
    yield f'<polyline class="line" stroke="{colour}"{dashes} points="{path}"/>'
    for x, y in series.points:
        yield f'<circle cx="{across.at(x)}" cy="{up.at(y)}" r="3" fill="{colour}"/>'
    key = TOP + 6 + place * 22
    yield f'<line x1="{WIDTH - RIGHT + 16}" x2="{WIDTH - RIGHT + 36}" y1="{key}" y2="{key}" stroke="{colour}"{dashes}/>'
    yield f'<text x="{WIDTH - RIGHT + 42}" y="{key + 4}">{escape(series.name)}</text>'
