"""Two keys in two directions: every answer is where its keys meet, and nothing is in two places."""

import pytest

from discreet.errors import NameNotFoundError, ParameterError
from released import release

RELEASE = release([10, 20, 30, 40])


def test_a_cell_is_where_its_keys_meet():
    lines = str(RELEASE.pivot("ward", "sex", "n")).splitlines()
    assert lines[:3] == [
        "ward \\ sex        x        y",
        "A           10 ± 40  20 ± 40",
        "B           30 ± 40  40 ± 40",
    ]
    frame = RELEASE.pivot("sex", "ward").to_pandas()
    assert frame.loc["y", "A"] == 20
    assert frame.index.name == "sex"


def test_cells_that_a_release_does_not_have_are_empty():
    view = release([1, 2, 3], rows=(("A", "x"), ("A", "y"), ("B", "x"))).pivot("ward", "sex")
    assert view.cells == ((1, 2), (3, None))
    assert view.to_arrow()["y"].to_pylist() == [2, None]


def test_a_third_key_must_be_chosen():
    three = release(
        [1, 2, 3, 4],
        rows=(("A", "x", "1"), ("A", "x", "2"), ("B", "x", "1"), ("B", "x", "2")),
        names=("ward", "sex", "k"),
    )
    with pytest.raises(ParameterError, match="grouped by more keys"):
        three.pivot("ward", "sex")
    assert three.pivot("ward", "sex", where={"k": "2"}).cells == ((2,), (4,))


def test_unknown_names_are_refused():
    with pytest.raises(NameNotFoundError):
        RELEASE.pivot("ward", "age")
    with pytest.raises(ParameterError, match="one of 'n'"):
        RELEASE.pivot("ward", "sex", "m")


def test_html_escapes_everything_and_names_rows_and_columns_for_screen_readers():
    hostile = "<script>alert('x')</script>"
    text = release([1, 2], rows=((hostile, "x"), ("b", "x"))).pivot("ward", "sex")._repr_html_()
    assert "<script>" not in text
    assert text.count('scope="row"') == 2
    assert 'scope="col"' in text


def test_the_notes_of_the_release_stand_below_and_its_stamp_above():
    view = str(release([1, 2, 3, 4], private=False).pivot("ward", "sex"))
    assert view.startswith("NOT PRIVATE")
    assert "spent    epsilon 1" in view
