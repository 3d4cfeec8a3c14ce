"""Answers of synthetic tables are printed, and are tables."""

from fractions import Fraction

import pytest

from discreet.catalog.catalog import ColumnType
from discreet.release.synthetic_answer import AnswerRow, SyntheticAnswer
from discreet.release.values.columns import Key

ROWS = (
    AnswerRow("n", 41.5, 30.0, 52.0, 41.0, "measured"),
    AnswerRow("n", 7.25, 0.0, 12_345.6, None, "bounded"),
    AnswerRow("n", None),
)
ANSWER = SyntheticAnswer((Key("sex", ColumnType.TEXT, ("F", "M", None)),), ROWS, Fraction(19, 20), ("a note",))


def test_an_answer_is_a_table_with_intervals_where_they_are_known():
    table = ANSWER.to_arrow()
    assert table.column_names == ["sex", "output", "estimate", "lower", "upper", "measured", "how"]
    assert table.to_pylist()[1] == {
        "sex": "M",
        "output": "n",
        "estimate": 7.25,
        "lower": 0.0,
        "upper": 12_345.6,
        "measured": None,
        "how": "bounded",
    }
    assert len(ANSWER) == len(ANSWER.to_pandas()) == 3


def test_an_answer_is_printed_with_what_each_word_means():
    text = str(ANSWER)
    assert text.splitlines()[1].split() == ["F", "n", "41.5", "30", "52", "41", "measured"]
    assert text.splitlines()[2].split() == ["M", "n", "7.25", "0", "12,346", "bounded"]
    assert "model: a model's estimate, without interval" in text
    assert "each interval holds 95% of the time" in text
    assert text.endswith("a note")
    assert "<table>" in ANSWER._repr_html_()


@pytest.mark.parametrize("keys", [(), (Key("age", ColumnType.INTEGER, tuple(range(30))),)])
def test_long_answers_are_cut_and_say_so(keys):
    answer = SyntheticAnswer(keys, (AnswerRow("n", 1.0),) * 30, Fraction(1, 2), ())
    assert "... and 10 more" in str(answer)
    assert "holds" not in str(answer)


def test_an_answer_is_plain_data():
    data = ANSWER.to_json()
    assert data["rows"][0]["key"] == {"sex": "F"}
    assert data["rows"][2]["how"] == "model"
    assert SyntheticAnswer((), ROWS[:1], Fraction(1, 2), ()).to_json()["rows"][0]["key"] == {}
