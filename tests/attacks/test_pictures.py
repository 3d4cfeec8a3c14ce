"""Pictures of attacks: nothing cut off, differences drawn by more than colour, and refused without matplotlib."""

import sys

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from discreet.attacks import pictures
from discreet.attacks.pictures import Axis, Curve
from discreet.errors import UnsupportedError
from discreet.plots import style

RISING = Curve("measured", ((1.0, 0.5), (10.0, 0.7), (100.0, 0.99)))
BOUND = Curve("bound", ((1.0, 0.9), (100.0, 0.9)), is_measured=False)
STEPS = Curve("rates", ((0.01, 0.1), (0.1, 0.5), (1.0, 1.0)), is_stepped=True)


def bars(**options):
    given = {"title": "A title", "label": "share", "exposed": [True, False], "legend": ("is small", "is not")} | options
    return pictures.bars(["one", "another"], [0.25, 1.0], ["25% of 4", "100% of 7"], **given)


def curves(*drawn, **options):
    x, y = Axis("answers", scale="log"), Axis("right", limits=(0.4, 1.02), is_share=True)
    return pictures.curves(drawn or (RISING, BOUND), title="A title", x=x, y=y, **options)


def assert_on_the_page(figure):
    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()
    axes = figure.axes[0]
    words = [*axes.texts, axes.xaxis.label, axes.yaxis.label, figure._suptitle]
    words += [tick.label1 for axis in (axes.xaxis, axes.yaxis) for tick in axis._update_ticks()]
    words += [text for legend in [*figure.legends, axes.get_legend()] if legend for text in legend.get_texts()]
    for box in (text.get_window_extent(renderer) for text in words if text.get_text()):
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height


@pytest.mark.parametrize("draw", [bars, lambda: bars(is_share=True), curves], ids=["bars", "shares", "curves"])
def test_all_words_lie_on_the_page(draw):
    assert_on_the_page(draw())


def test_a_long_caption_is_wrapped():
    assert_on_the_page(
        curves(RISING, caption="a caption of some length that is wrapped to the width of the figure " * 3)
    )


def test_bars_differ_by_hatch_as_well_as_by_colour_and_have_their_numbers_beside_them():
    figure = bars()
    dark, light = figure.axes[0].containers
    assert dark[0].get_hatch() != light[0].get_hatch()
    assert [text.get_text() for text in figure.axes[0].texts] == ["25% of 4", "100% of 7"]
    assert figure.get_label() == "A title: one 25% of 4; another 100% of 7"


def test_shares_have_percentages_at_their_ticks():
    axis = bars(is_share=True).axes[0].xaxis
    assert next(tick.label1.get_text() for tick in axis._update_ticks()) == "0%"


def test_curves_differ_by_line_and_bounds_have_no_marks():
    measured, bound = curves().axes[0].get_lines()
    assert measured.get_linestyle() != bound.get_linestyle()
    assert measured.get_marker() == "o"
    assert bound.get_marker() == "None"


def test_rates_go_in_steps_without_marks():
    (line,) = curves(STEPS).axes[0].get_lines()
    assert line.get_drawstyle() == "steps-post"
    assert line.get_marker() == "None"


def test_where_the_ledger_refuses_is_drawn_and_named():
    figure = curves(RISING, stop=10.0)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["measured", "the ledger refuses more"]


def test_a_curve_is_told_in_words():
    assert curves().get_label() == "A title: measured 50% at 1, 70% at 10, 99% at 100; bound 90% at 1, 90% at 100"


@pytest.mark.parametrize("draw", [bars, curves])
def test_without_matplotlib_a_picture_is_refused_with_the_command_that_installs_it(draw, monkeypatch):
    style.figure_class.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UnsupportedError, match=r'pip install "discreet\[plots\]"'):
        draw()


def test_more_curves_than_colours_differ_by_line_and_mark():
    many = [Curve(f"curve {place}", ((1.0, 0.5), (10.0, 0.5 + place / 20))) for place in range(8)]
    lines = curves(*many).axes[0].get_lines()
    assert len({(line.get_color(), str(line.get_linestyle()), str(line.get_marker())) for line in lines}) == 8
    assert lines[0].get_linestyle() != lines[6].get_linestyle()


def test_an_axis_has_ticks_where_it_is_told():
    x = Axis("epsilon", "log", ticks=(0.05, 0.1, 3.0))
    figure = pictures.curves([RISING], title="A title", x=x, y=Axis("right"))
    assert list(figure.axes[0].get_xticks()) == [0.05, 0.1, 3.0]
    assert_on_the_page(figure)
