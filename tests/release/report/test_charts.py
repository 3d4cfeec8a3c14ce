"""Charts are SVG with words, and every mark lies inside."""

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.release.report.charts import MOST_POINTS, chart, charts
from discreet.release.report.tables import Point, ResultTable, Series

finite = st.floats(-1e12, 1e12)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.text('aZ<&"\x00é\u202e', max_size=30), finite, st.none() | st.floats(0, 1e9)),
        min_size=1,
        max_size=6,
    )
)
def test_any_values_are_drawn_inside_the_picture(rows):
    points = [Point(name, v, *((None, None) if m is None else (v - m, v + m))) for name, v, m in rows]
    drawn = ET.fromstring(chart(Series("n", tuple(points)), "c"))  # noqa: S314 - our own text
    svg = drawn.find("svg")
    _, _, width, height = map(float, svg.get("viewBox").split())
    for circle in svg.iter("circle"):
        assert 0 <= float(circle.get("cx")) <= width
        assert 0 <= float(circle.get("cy")) <= height
    for path in svg.iter("path"):
        assert all(0 <= float(number) <= width + height for number in re.findall(r"[\d.]+", path.get("d")))
    assert len(list(svg.iter("circle"))) == len(points)


def test_a_chart_has_a_title_and_the_numbers_in_words():
    series = Series("n", (Point("A", 100.0, 90.0, 110.0), Point("<b>", 50.0, None, None)))
    drawn = chart(series, "c0")
    assert 'role="img" aria-labelledby="c0-title c0-words"' in drawn
    assert '<desc id="c0-words">A: 100, from 90 to 110; &lt;b&gt;: 50</desc>' in drawn
    assert "<b>" not in drawn


def test_ticks_are_round_and_do_not_overlap():
    for top in (4_000.0, 4_535_023.0, 0.034, 9.7e11):
        drawn = chart(Series("n", (Point("A", top, None, None),)), "c")
        places = [float(place) for place in re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle"', drawn)]
        words = re.findall(r'class="tick">([^<]+)<', drawn)
        assert len(words) >= 2
        for left, right, one, other in zip(places, places[1:], words, words[1:], strict=False):
            assert right - left >= 3 * (len(one) + len(other))


@pytest.mark.parametrize("count", [1, MOST_POINTS + 1])
def test_one_number_and_very_many_are_left_to_the_table(count):
    series = Series("n", tuple(Point(str(i), float(i), None, None) for i in range(count)))
    assert charts(ResultTable(("n",), (), 0, (series,), ()), "c") == ()
