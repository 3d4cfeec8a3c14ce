"""What a reader of the plots relies on: nothing cut off or overlapping, words on axes, and no need of colour."""

import itertools
from decimal import Decimal

import matplotlib as mpl
import matplotlib.pyplot as plt
import pyarrow as pa
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from discreet import plots
from discreet.errors import NameNotFoundError, ParameterError, TypeMismatchError, UnsupportedError

WARDS = pa.table({"ward": ["A", "B", "C"], "n": [120, 340, 80], "n_margin": [12, 12, 12]})
EPSILONS = [0.05, 0.1, 0.25, 0.5, 1.0, 2.0]
CURVE = pa.table({"epsilon": EPSILONS, "margin": [3 / e for e in EPSILONS]})
BUDGETS = pa.table({"dataset": ["visits", "census"], "spent": [1.25, 0.0], "remaining": [0.75, 2.0]})


def _bars(table=WARDS, **options) -> Figure:
    settled = {"key": "ward", "value": "n", "margin": "n_margin"} | options
    return plots.error_bars(table, **settled)


def _curve(table=CURVE, **options) -> Figure:
    return plots.accuracy_curve(table, epsilon="epsilon", margin="margin", **options)


def _budget(table=BUDGETS, **options) -> Figure:
    return plots.budget_bars(table, label="dataset", spent="spent", remaining="remaining", **options)


def _texts(figure: Figure) -> list[str]:
    axes = figure.axes[0]
    return [text.get_text() for text in axes.texts]


def _boxes(figure: Figure, texts) -> list:
    renderer = FigureCanvasAgg(figure).get_renderer()
    return [text.get_window_extent(renderer) for text in texts if text.get_text()]


def _drawn_ticks(axis) -> list:
    """The labels of the ticks within the axis: matplotlib keeps some beyond its ends, which it does not draw."""
    return [tick.label1 for tick in axis._update_ticks()]


def _words(figure: Figure) -> list:
    axes = figure.axes[0]
    return [
        *_drawn_ticks(axes.xaxis),
        *_drawn_ticks(axes.yaxis),
        *axes.texts,
        axes.xaxis.label,
        axes.yaxis.label,
        *figure.texts,
        *([figure._suptitle] if figure._suptitle else []),
    ]


def _assert_readable(figure: Figure) -> None:
    """All text lies on the page, and no tick label or note covers another of its kind."""
    figure.draw_without_rendering()
    for box in _boxes(figure, _words(figure)):
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height
    axes = figure.axes[0]
    for group in (_drawn_ticks(axes.xaxis), _drawn_ticks(axes.yaxis), axes.texts):
        for one, other in itertools.pairwise(_boxes(figure, group)):
            assert not one.overlaps(other)


def _luminance(colour) -> float:
    red, green, blue = to_rgb(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("draw", [_bars, _curve, _budget])
def test_a_plot_is_a_figure_that_no_window_manager_knows(draw):
    before = plt.get_fignums()
    assert isinstance(draw(), Figure)
    assert plt.get_fignums() == before


@pytest.mark.parametrize("draw", [_bars, _curve, _budget])
def test_a_plot_with_a_long_title_stays_readable(draw):
    figure = draw(title="A title that goes on for longer than anybody would like it to, as titles of reports do")
    _assert_readable(figure)


@pytest.mark.parametrize("draw", [_bars, _curve, _budget])
def test_the_style_of_the_user_is_left_alone(draw):
    before = dict(mpl.rcParams)
    draw()
    assert dict(mpl.rcParams) == before


def test_each_key_has_a_line_with_its_answer_and_margin():
    figure = _bars()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["A", "B", "C"]
    assert _texts(figure) == ["120 ± 12", "340 ± 12", "80 ± 12"]


def test_whiskers_reach_one_margin_either_side():
    segments = _bars().axes[0].collections[0].get_segments()
    assert [(segment[0][0], segment[1][0]) for segment in segments] == [(108, 132), (328, 352), (68, 92)]


def test_the_first_key_is_at_the_top():
    low, high = _bars().axes[0].get_ylim()
    assert low > high


def test_the_axis_says_what_the_whiskers_mean():
    words = _bars(confidence=0.95, label="number of visits").axes[0].get_xlabel()
    assert "number of visits" in words
    assert "95% of releases" in words
    assert "margin of the noise" in _bars().axes[0].get_xlabel()


def test_an_answer_in_all_needs_no_key():
    figure = _bars(pa.table({"n": [14237], "n_margin": [30]}), key=None)
    assert _texts(figure) == ["14,237 ± 30"]
    _assert_readable(figure)


def test_several_answers_without_a_key_are_refused_with_the_key_to_give():
    with pytest.raises(ParameterError, match="key='ward'"):
        _bars(key=None)


def test_several_keys_are_told_together():
    table = pa.table({"ward": ["A", "B"], "year": [2024, None], "n": [1, 2], "n_margin": [1, 1]})
    labels = _bars(table, key=["ward", "year"]).axes[0].get_yticklabels()
    assert [label.get_text() for label in labels] == ["A, 2024", "B, (missing)"]


@pytest.mark.parametrize("count", [45, plots.MOST_KEYS])
def test_many_keys_stay_readable(count):
    table = pa.table(
        {
            "ward": [f"ward number {i}" for i in range(count)],
            "n": [(i * 7919) % 5000 for i in range(count)],
            "n_margin": [60] * count,
        }
    )
    _assert_readable(_bars(table, title="Many wards", confidence=0.95))


@pytest.mark.parametrize("count", [0, plots.MOST_KEYS + 1])
def test_more_keys_than_can_be_read_or_none_are_refused(count):
    table = pa.table({"ward": pa.array(["A"] * count, pa.string()), "n": pa.array([1] * count, pa.int64())})
    with pytest.raises(UnsupportedError, match=f"{count} lines"):
        _bars(table, margin=None)


def test_long_names_stay_readable_and_distinct():
    start = "Department of Agriculture, Forestry, Fisheries and Rural Development of the "
    table = pa.table({"ward": [start + "North", start + "South", "IT"], "n": [3, 4, 5], "n_margin": [1, 1, 1]})
    figure = _bars(table, title="Staff")
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(set(names)) == 3
    assert max(map(len, names)) <= plots.LONGEST_NAME
    _assert_readable(figure)


def test_names_are_drawn_as_they_are_written():
    table = pa.table({"ward": ["$5 to $10", r"\frac{a}{b}$x_1$", "two\nlines\tand a tab"], "n": [1, 2, 3]})
    figure = _bars(table, margin=None)
    labels = figure.axes[0].get_yticklabels()
    assert [label.get_text() for label in labels] == ["$5 to $10", r"\frac{a}{b}$x_1$", "two lines and a tab"]
    assert not any(label.get_parse_math() for label in labels)
    _assert_readable(figure)


@pytest.mark.parametrize(
    ("value", "margin"), [(14237.0, 0.8), (2e12, 5e9), (10**15, 10), (3e-7, 1e-8), (0, 0), (-1234.5, 700)]
)
def test_ticks_of_any_size_stay_readable_and_differ_from_each_other(value, margin):
    figure = _bars(pa.table({"n": [value], "n_margin": [margin]}), key=None)
    _assert_readable(figure)
    ticks = [label.get_text() for label in _drawn_ticks(figure.axes[0].xaxis)]
    assert len(set(ticks)) == len(ticks) > 1


def test_an_answer_without_a_margin_is_hollow_and_says_so():
    table = pa.table({"ward": ["A", "B"], "n": [5, 6], "n_margin": [1, None]})
    figure = _bars(table)
    faces = {
        line.get_xdata()[0]: line.get_markerfacecolor() for line in figure.axes[0].lines if line.get_marker() == "o"
    }
    assert faces == {5: plots.BLUE, 6: "white"}
    assert _texts(figure)[1] == "6 (no margin)"
    assert "hollow dots: no margin is published" in figure.axes[0].get_xlabel()


def test_a_release_without_margins_draws_no_whiskers():
    figure = _bars(margin=None)
    assert not figure.axes[0].collections
    assert "no margin is published" in figure.axes[0].get_xlabel()


@pytest.mark.parametrize("nothing", [None, float("nan"), float("inf")])
def test_an_answer_that_is_no_number_is_told_in_words(nothing):
    table = pa.table({"ward": ["A", "B"], "n": [5.0, nothing], "n_margin": [1.0, 1.0]})
    assert _texts(_bars(table))[1] == "no answer"


def test_decimals_and_integers_beyond_a_double_can_be_drawn():
    table = pa.table({"ward": ["A"], "n": [Decimal(10) ** 30], "n_margin": [Decimal("1.5")]})
    assert _texts(_bars(table))[0].endswith("± 1.5")


def test_a_column_that_is_absent_is_refused_with_the_nearest_name():
    with pytest.raises(NameNotFoundError, match="instead  n_margin"):
        _bars(margin="n_margim")


@pytest.mark.parametrize("column", ["ward", "flag"])
def test_a_column_that_is_no_number_is_refused(column):
    table = WARDS.append_column("flag", pa.array([True, False, True]))
    with pytest.raises(TypeMismatchError, match=f"column '{column}'"):
        _bars(table, value=column)


def test_the_curve_says_which_way_is_more_private_and_which_more_accurate():
    axes = _curve().axes[0]
    assert axes.get_xlabel().splitlines()[1].startswith("← more private")
    assert axes.get_ylabel().splitlines()[1].startswith("← more accurate")
    assert _texts(_curve())[:2] == ["±60", "±30"]
    _assert_readable(_curve(title="How wrong the count may be"))


def test_a_wide_range_is_drawn_on_logarithmic_axes_with_plain_numbers():
    axes = _curve().axes[0]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert {"0.1", "0.5", "1"} <= {label.get_text() for label in axes.get_xticklabels()}


def test_a_narrow_range_or_a_margin_of_zero_is_drawn_on_plain_axes():
    axes = _curve(pa.table({"epsilon": [1.0, 2.0, 3.0], "margin": [4.0, 1.0, 0.0]})).axes[0]
    assert axes.get_xscale() == axes.get_yscale() == "linear"


def test_one_point_makes_a_readable_curve():
    _assert_readable(_curve(pa.table({"epsilon": [1.0], "margin": [25.0]}), label="a margin with a long name " * 3))


def test_points_are_joined_in_order_of_epsilon():
    line = _curve(pa.table({"epsilon": [2.0, 1.0, 3.0], "margin": [2.0, 3.0, 1.0]})).axes[0].lines[0]
    assert list(line.get_xdata()) == [1.0, 2.0, 3.0]


def _six_curves() -> pa.Table:
    rows = [(f"mechanism {place}", e, (place + 1) / e) for place in range(6) for e in EPSILONS]
    return pa.table(dict(zip(["mechanism", "epsilon", "margin"], map(list, zip(*rows, strict=True)), strict=True)))


def test_curves_are_told_apart_by_marker_and_by_line_as_well_as_colour():
    lines = _curve(_six_curves(), series="mechanism").axes[0].lines
    assert len(lines) == 6
    assert len({line.get_marker() for line in lines}) == 6
    assert len({str(line._dash_pattern) for line in lines}) == 6
    assert len({line.get_color() for line in lines}) == 6


def test_more_curves_than_can_be_told_apart_or_none_are_refused():
    seven = pa.table({"s": list("abcdefg"), "epsilon": [1.0] * 7, "margin": [1.0] * 7})
    with pytest.raises(UnsupportedError, match="7 curves"):
        _curve(seven, series="s")
    with pytest.raises(UnsupportedError, match="0 curves"):
        _curve(seven.slice(0, 0))


def test_spent_and_remaining_differ_in_grey_and_by_hatch():
    spent, remaining = _budget().axes[0].containers
    assert abs(_luminance(spent[0].get_facecolor()[:3]) - _luminance(remaining[0].get_facecolor()[:3])) > 0.4
    assert spent[0].get_hatch() is None
    assert remaining[0].get_hatch()


def test_remaining_begins_where_spent_ends():
    spent, remaining = _budget().axes[0].containers
    assert [bar.get_width() for bar in spent] == [bar.get_x() for bar in remaining] == [1.25, 0.0]
    assert [bar.get_width() for bar in remaining] == [0.75, 2.0]


def test_budgets_are_told_in_numbers_too():
    assert _texts(_budget()) == ["1.25 spent, 0.75 left", "0 spent, 2 left"]
    _assert_readable(_budget(title="Budgets"))


def test_a_budget_that_was_lowered_below_its_spending_says_so():
    table = pa.table({"dataset": ["visits"], "spent": [3.3], "remaining": [-0.3]})
    assert _texts(_budget(table)) == ["3.3 spent, 0.3 over"]


def test_forty_budgets_with_long_names_stay_readable():
    table = pa.table(
        {"dataset": [f"the payroll of office number {i}" for i in range(40)], "spent": [1] * 40, "remaining": [2] * 40}
    )
    _assert_readable(_budget(table, title="Budgets"))


def test_a_figure_carries_its_numbers_as_text():
    assert _bars(title="Visits").get_label() == "Visits: A 120 ± 12; B 340 ± 12; C 80 ± 12"
    assert "±60 at epsilon 0.05" in _curve().get_label()
    assert "visits 1.25 spent, 0.75 left" in _budget().get_label()


def test_the_image_in_html_has_that_text_and_cannot_break_out_of_it():
    table = pa.table({"ward": ['"><script>alert(1)</script>'], "n": [5], "n_margin": [1]})
    page = plots.html(_bars(table))
    assert page.startswith('<img alt="n: &quot;&gt;&lt;script&gt;')
    assert "<script>" not in page
    assert "data:image/png;base64," in page


def test_a_notebook_shows_the_image_with_its_text():
    assert _bars()._repr_html_() == plots.html(_bars())


def test_whole_answers_with_whole_margins_have_no_decimals():
    table = pa.table({"n": [21_789], "n_margin": [6]})
    figure = _bars(table, key=None)
    assert _texts(figure) == ["21,789 ± 6"]
    assert figure.get_label() == "n: 21,789 ± 6"


def test_counts_are_drawn_from_zero_where_some_are_far_smaller_than_others():
    assert _bars().axes[0].get_xlim()[0] <= 0
    close = pa.table({"ward": ["A", "B"], "n": [900, 1000], "n_margin": [5, 5]})
    assert _bars(close).axes[0].get_xlim()[0] > 0
    alone = pa.table({"n": [1000], "n_margin": [5]})
    assert _bars(alone, key=None).axes[0].get_xlim()[0] > 0


def test_several_values_have_a_panel_each():
    table = WARDS.append_column("cost", pa.array([1.5, 2.5, 3.5])).append_column("cost_margin", pa.array([0.1] * 3))
    figure = _bars(table, value=["n", "cost"], margin=["n_margin", "cost_margin"], title="two", caption="epsilon 1")
    assert len(figure.axes) == 2
    assert [text.get_text() for text in figure.axes[1].texts] == ["1.50 ± 0.10", "2.50 ± 0.10", "3.50 ± 0.10"]
    assert figure.axes[1].get_xlabel().splitlines() == ["cost", "whiskers: the margin of the noise", "epsilon 1"]
    assert figure.get_label().startswith("two. n: A 120 ± 12; ")
    assert figure.get_label().endswith("C 3.50 ± 0.10. epsilon 1")
    for axes in figure.axes:
        for one, other in itertools.pairwise(_boxes(figure, axes.texts)):
            assert not one.overlaps(other)


def test_a_caption_and_other_words_for_the_whiskers_stand_below():
    label = _bars(whiskers="not noise", caption="epsilon 1, for one patient").axes[0].get_xlabel()
    assert label.splitlines() == ["n", "not noise", "epsilon 1, for one patient"]
    _assert_readable(_bars(caption="a caption of some length that is wrapped to the width of the figure " * 2))


def test_dots_without_whiskers_say_where_their_margins_are():
    figure = _bars(margin=None, bare="margins are in ranks: see the table", caption="epsilon 1")
    assert figure.axes[0].get_xlabel().endswith("margins are in ranks: see the table\nepsilon 1")
    assert _texts(figure) == ["120", "340", "80"]
    assert str(figure.get_label()).endswith("margins are in ranks: see the table. epsilon 1")


def test_a_table_without_rows_has_nothing_to_draw():
    with pytest.raises(UnsupportedError, match="nothing to draw"):
        _bars(WARDS.slice(0, 0))
