"""The picture of the costs: every line is in it, and what costs the same is drawn level."""

import re
import xml.etree.ElementTree as ET

import pytest

from turnwire.runtime.bench.plot import Series, draw_costs

LEVEL = Series("ours & theirs", [(10_000, 2.5), (40_000, 2.5), (160_000, 2.5)])
STEEP = Series("quadratic", [(10_000, 4.0), (160_000, 140.0)], dashed=True)


def heights(svg: str, line: int) -> list[float]:
    points = re.findall(r'<polyline[^>]* points="([^"]*)"', svg)[line]
    return [float(point.split(",")[1]) for point in points.split()]


def test_a_level_cost_is_a_level_line_and_a_growing_one_rises() -> None:
    """Up is less in SVG."""
    svg = draw_costs([LEVEL, STEEP])
    assert len(set(heights(svg, 0))) == 1
    first, last = heights(svg, 1)
    assert first > last


def test_it_is_well_formed_and_names_its_lines() -> None:
    """Names are text, whatever is in them."""
    root = ET.fromstring(draw_costs([LEVEL, STEEP]))  # noqa: S314  # our own picture
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "ours & theirs" in texts
    assert "quadratic" in texts


def test_one_point_is_enough_and_none_is_refused() -> None:
    """A picture of nothing would be a lie about having measured."""
    assert "<circle" in draw_costs([Series("one", [(100, 1.0)])])
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_costs([Series("none", [])])
