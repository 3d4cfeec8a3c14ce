"""Tables and notes, as text that lines up and as HTML in which nothing is markup but ours."""

import pytest

from discreet.release.values import rendering

HOSTILE = "<script>alert('x')</script>&\"\n\x1b[31m"


def test_words_stand_to_the_left_and_numbers_to_the_right():
    lines = rendering.text_table(["ward", "n"], [["A", "1,000"], ["Bcdef", "7"]], 1)
    assert lines == ["ward       n", "A      1,000", "Bcdef      7"]


def test_html_escapes_heads_cells_stamps_and_notes():
    text = rendering.card([HOSTILE], rendering.html_table([HOSTILE], [[HOSTILE, HOSTILE]], 1), [HOSTILE])
    assert "<script>" not in text
    assert text.count("&lt;script&gt;") == 5
    assert '<th scope="row">' in text


def test_only_answers_without_noise_are_stamped():
    assert rendering.stamp("exact answers", private=True) == []
    assert rendering.stamp("exact answers", private=False) == [
        "NOT PRIVATE: exact answers from dp.testing, for tests only"
    ]


def test_what_was_spent_is_said_with_the_receipt():
    assert rendering.cost_notes("epsilon 1", {"hash": "ab" * 32}, repeated=True) == [
        "spent    epsilon 1",
        "repeat   this query was answered before; the stored answer is free",
        "receipt  abababababab",
    ]
    receipt = {"hash": "ab" * 32, "time": "2026-11-16T01:32:32.397457+00:00", "version": 3}
    assert rendering.cost_notes("epsilon 1", receipt, repeated=True)[1:3] == [
        "repeat   this query was answered before, on 2026-11-16 01:32 UTC; the stored answer is free",
        (
            "repeat   data that was corrected since is not in it: dp.protect(..., version=4) answers from it, "
            "charged to the same budget"
        ),
    ]
    assert rendering.cost_notes("epsilon 1", {}) == ["spent    epsilon 1"]


@pytest.mark.parametrize(("value", "text"), [(None, "(missing)"), ("a", "a"), ("a\nb\x1b", "a\\nb\\x1b"), (3, "3")])
def test_a_key_is_one_line(value, text):
    assert rendering.cell(value) == text


@pytest.mark.parametrize(
    ("value", "margin", "text"),
    [
        (1234, 5, "1,234"),
        (1234.567, 20.0, "1,235"),
        (0.12345, 0.02, "0.123"),
        (2.5, 0.0, "2.5"),
        (3.0, float("inf"), "3"),
    ],
)
def test_a_number_has_the_digits_that_its_margin_makes_meaningful(value, margin, text):
    assert rendering.figure(value, margin) == text
