"""ExpectedError errors are shown with the smallest groups marked by words and signs, in text, HTML and a plot."""

from discreet.release.expected_error import ErrorsByEpsilon, ExpectedError, ExpectedErrors
from released import keys

HOSTILE = "<script>alert('x')</script>"
TABLE = ExpectedErrors(
    keys(),
    (1000.0, 40.0, 2000.0, 500.0),
    (ExpectedError("n", (0.03, 0.75, 0.015, 0.06), (60.0,) * 4),),
    "for the sizes given",
)
CURVES = ErrorsByEpsilon("n", keys(), TABLE.sizes, (0.1, 1.0), ((0.3, 7.5, 0.15, 0.6), (0.03, 0.75, 0.015, 0.06)), "x")


def test_the_smallest_group_is_marked_and_rough_ones_are():
    assert TABLE.marks == ("", "<- smallest group  ! above 10%", "", "")
    assert str(TABLE).splitlines()[:3] == [
        "ward  sex   size     n",
        "A     x    1,000    3%",
        "A     y       40   75%  <- smallest group  ! above 10%",
    ]


def test_groups_that_are_all_alike_have_no_smallest():
    alike = ExpectedErrors(keys(), (10.0,) * 4, (ExpectedError("n", (0.5, 0.01, None, 0.01), (None,) * 4),), "x")
    assert alike.marks == ("! above 10%", "", "", "")
    assert "unknown" in str(alike)


def test_of_many_groups_the_smallest_are_shown():
    many = tuple((str(i),) for i in range(100))
    table = ExpectedErrors(
        keys(many, ("k",)),
        tuple(float(1000 - i) for i in range(100)),
        (ExpectedError("n", (0.1,) * 100, (1.0,) * 100),),
        "x",
    )
    assert "the 20 smallest of 100 groups" in str(table)
    assert str(table).splitlines()[1].startswith("99")
    assert table.to_arrow().num_rows == 100


def test_tables_for_machines_have_all_columns():
    assert TABLE.to_arrow().column_names == ["ward", "sex", "size", "n_relative_error", "n_margin", "mark"]
    assert TABLE.to_pandas()["mark"][1].startswith("<- smallest")
    assert CURVES.to_pandas().columns.tolist() == ["ward", "sex", "size", "epsilon 0.1", "epsilon 1"]


def test_errors_across_epsilon_are_side_by_side_and_flagged():
    lines = str(CURVES).splitlines()
    assert lines[0].split() == ["ward", "sex", "size", "epsilon", "0.1", "epsilon", "1"]
    assert "750% !" in lines[2]
    assert lines[2].endswith("<- smallest group")


def test_a_plot_tells_lines_apart_without_colour_and_is_described():
    figure = CURVES.plot()
    lines = figure.axes[0].get_lines()
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == len(lines) == 4
    assert "A / y (40)" in figure.get_label()


def test_html_escapes_keys_and_names():
    hostile = ExpectedErrors(
        keys(((HOSTILE,),), (HOSTILE,)), (1.0,), (ExpectedError(HOSTILE, (0.5,), (1.0,)),), HOSTILE
    )
    for text in (
        hostile._repr_html_(),
        ErrorsByEpsilon(HOSTILE, hostile.keys, (1.0,), (1.0,), ((0.5,),), HOSTILE)._repr_html_(),
    ):
        assert "<script>" not in text
    assert "&lt;- smallest group" in TABLE._repr_html_()
