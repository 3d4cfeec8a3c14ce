"""The result of linkage states its figures and says who may see them."""

from fractions import Fraction

import pytest

from discreet.anonymity.linkage.linkage_risk import ControlMatches, LearnedValues, LinkageRisk, NextColumn
from discreet.anonymity.owners import STAMP

RISK = LinkageRisk(
    on=("zip", "name"),
    approximate=("name",),
    nulls="value",
    published_rows=9,
    published_people=8,
    people=10,
    candidates=((0, 2), (1, 5), (3, 3)),
    correct=4,
    wrong=1,
    among_candidates=6,
    expected_correct=4.7,
    learned=LearnedValues("ill", 8, 6, 5, 7, 3, ((1.0, 6),)),
    next_columns=(NextColumn("age", 7.0),),
    control=ControlMatches(20, 18, 1, 1),
    excluded=(1, 2),
)


def test_people_have_no_one_or_several_candidates():
    assert (RISK.no_candidate, RISK.one_candidate, RISK.several_candidates) == (2, 5, 3)
    assert RISK.odds == ((Fraction(1), 5), (Fraction(1, 3), 3))


def test_the_text_states_every_figure():
    text = str(RISK)
    for part in (
        "zip, name (approximate)",
        "5 of 10 people (50%) have one candidate: 4 correct and 1 wrong",
        "2 have none and 3 have several",
        "4.7 people on average",
        "likeliest value is right for 7 of 8, the commonest value of the file for 3",
        "seek is 'age': 7 unique matches",
        "control group: 5% of 20 people",
        "left out for missing cells: 1 published rows, 2 others",
        STAMP,
    ):
        assert part in text
    assert "private" not in text.replace(STAMP, "")
    assert "safe" not in text


def test_parts_have_a_text_of_their_own():
    assert "1 of 20" in str(RISK.control)
    assert "7 people" in str(RISK.next_columns[0])
    assert "6 people" in str(LearnedValues("ill", 8, 6, None, None, None, ()))


def test_without_the_truth_matches_are_not_called_correct():
    bare = LinkageRisk(("zip",), (), "value", 1, 1, 1, ((1, 1),))
    assert "is not known" in bare.verdict


def test_the_figure_has_a_bar_for_each_number_of_candidates():
    pytest.importorskip("matplotlib")
    label = RISK.plot().get_label()
    assert "3 to 5 3 people" in label
    assert label.endswith(STAMP)
