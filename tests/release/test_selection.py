"""A selection reads well on a terminal, in a notebook and as plain data."""

import datetime as dt
import json
from fractions import Fraction

from discreet.release.selection import Selection

WORDS = {"dataset": "t", "version": 1, "candidates": 3, "within": Fraction(7, 2), "confidence": Fraction(19, 20)}


def selection(*values, **more):
    fields = WORDS | {"values": values, "guarantee": "epsilon 0.5", "receipt": {"hash": "ab" * 32}}
    return Selection(**fields | more)


def test_the_first_line_says_what_was_chosen_of_how_many():
    assert str(selection("B")).splitlines() == [
        "B, of 3 candidates",
        "in 95% of selections the score is at most 3.5 below the best",
        "spent    epsilon 0.5",
        "receipt  abababababab",
    ]
    assert str(selection("B", "C")).startswith("B, C, of 3 candidates")
    assert str(selection(None)).startswith("(missing), of 3")


def test_a_repeat_and_an_exact_answer_are_marked():
    assert "repeat   this query was answered before" in str(selection("B", repeated=True))
    assert str(selection("B", private=False)).startswith("NOT PRIVATE")
    assert "<strong>NOT PRIVATE" in selection("<b>", private=False)._repr_html_()
    assert "&lt;b&gt;" in selection("<b>")._repr_html_()


def test_it_is_plain_data_with_dates_as_text():
    plain = json.loads(json.dumps(selection(dt.date(2026, 11, 15), 4.5).to_json()))
    assert plain["values"] == ["2026-11-15", 4.5]
    assert plain["types"] == ["date", None]
    assert (plain["schema"], plain["within"]) == ("discreet.chosen/1", "7/2")


def test_a_selection_without_dates_is_written_without_types():
    about = {"schema", "library", "private", "dataset", "confidence", "guarantee", "receipt"}
    assert set(selection("2026-11-15", None).to_json()) == about | {"values", "candidates", "within"}


def test_the_value_is_the_first():
    assert selection("B", "C").value == "B"
