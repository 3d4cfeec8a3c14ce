"""Pictures show both sides of a column, say so in words, and escape names; pairs are a table with all figures."""

import re
from html.parser import HTMLParser

from discreet.release.quality.charts import MOST_BINS, MOST_VALUES, column_picture, pair_matrix
from discreet.release.quality.shares import ColumnShares

WORDS = ("data", "synthetic rows")


def is_closed(text):
    """Whether each element ends where it should."""
    opened, is_right = [], []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, _: opened.append(tag)
    parser.handle_endtag = lambda tag: is_right.append(opened.pop() == tag)
    parser.feed(text)
    return all(is_right) and not opened


def bins(count, missing=0.0):
    share = (1 - missing) / count
    return ColumnShares(
        "age", True, tuple(map(str, range(count + 1))), (*[share] * count, missing), (*[share] * count, missing)
    )


def values(count):
    shares = (*[1 / count] * count, 0.0)
    return ColumnShares("city", False, tuple(f"city {n}" for n in range(count)), shares, shares)


def test_a_picture_is_well_formed_and_described():
    column = ColumnShares("<b>", False, ("yes", "no"), (0.5, 0.5, 0.0), (0.7, 0.3, 0.0))
    picture = column_picture(column, WORDS, 3)
    assert is_closed(picture)
    assert "&lt;b&gt;" in picture
    assert "yes: 50.0% in data, 70.0% in synthetic rows" in picture
    assert 'id="column-3-title"' in picture
    assert "missing" not in picture.split("</desc>")[1]


def test_bins_have_a_bar_each_and_missing_values_stand_apart():
    assert column_picture(bins(10), WORDS, 0).count("<rect") == 10
    with_missing = column_picture(bins(10, missing=0.2), WORDS, 0)
    assert with_missing.count("<rect") == 11
    assert ">missing<" in with_missing


def test_many_bins_are_joined_and_many_values_are_added_up():
    assert column_picture(bins(1_000), WORDS, 0).count("<rect") <= MOST_BINS
    picture = column_picture(values(30), WORDS, 0)
    assert picture.count("<rect") == MOST_VALUES + 1
    assert "20 others" in picture
    assert "66.7% · 66.7%" in picture


def test_shares_below_zero_have_no_bar():
    column = ColumnShares("age", True, ("0", "1", "2"), (1.02, -0.02, 0.0), (1.0, 0.0, 0.0))
    assert all(float(height) >= 0 for height in re.findall(r'height="([^"]+)"', column_picture(column, WORDS, 0)))


def test_a_matrix_has_each_pair_once_and_marks_unknown_ones():
    matrix = pair_matrix("pairs", ["a", "b", "c"], {("a", "b"): 0.1, ("c", "a"): 0.2})
    assert is_closed(matrix)
    assert matrix.count("0.100") == matrix.count("0.200") == matrix.count("·") == 1
    assert "--shade:55%" in matrix
