"""Sentences of page one: no formula, epsilon with unit and span, numbers never too small."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.release.report import wording
from discreet.release.report.about import About
from discreet.release.report.charges import protections

PATIENT = About(unit_name="patient")


@pytest.fixture
def pure(made):
    return protections([made[1]["wards"]])[0]


@pytest.fixture
def gauss(made):
    return protections([made[1]["gauss"]])[0]


def test_epsilon_has_its_delta_unit_and_span(pure, gauss):
    assert wording.guarantee(pure) == "epsilon 0.5, delta 0"
    assert wording.guarantee(gauss) == "epsilon 0.5, delta 9e-08"
    assert wording.unit(pure) == "for one patient_id, added or removed"
    assert re.fullmatch(r"over this release from 'visits', version 1, charged on \d{4}-\d\d-\d\d", wording.span(pure))


def test_the_span_of_several_charges(made):
    found = made[1]
    (protection,) = protections([found["wards"], found["median"]])
    charges = tuple(replace(charge, version=2) for charge in protection.charges[:1])
    later = tuple(replace(charge, time="2030-01-02T00:00") for charge in protection.charges[1:])
    words = wording.span(replace(protection, charges=charges + later))
    assert "all 2 charges in this report from 'visits', versions 1 and 2, charged from" in words
    assert words.endswith(" to 2030-01-02")


def test_odds_without_a_delta(pure):
    words = wording.odds(pure, PATIENT)
    assert "one patient" in words
    assert "factor of 1.65" in words
    assert "at most 2.72" in words
    assert float(re.search(r"factor of ([\d.]+),", words)[1]) >= math.exp(0.5)
    other = wording.odds(replace(pure, unit="one patient_id, replaced by another"), About())
    assert "between any two possibilities for the data of one patient_id" in other
    assert "2.72" not in other


def test_chances_with_a_delta(gauss):
    words = wording.odds(gauss, PATIENT)
    assert "at most 1.65 times as likely with one patient in the data as without" in words
    assert "1 in 11,000,000, which is delta" in words


def test_what_an_attacker_gains(pure):
    words = wording.attacker(pure, PATIENT)
    rate = float(re.search(r"recognises at most ([\d.]+) of 100 insiders", words)[1])
    right = float(re.search(r"at most ([\d.]+) times in 100", words)[1])
    assert rate == 1.65 >= 100 * float(pure.true_positive_rate)
    assert right >= 50 * (1 + float(pure.advantage))


def test_numbers_are_rounded_to_the_side_of_more_risk():
    assert wording.percent_up(Fraction(10_001, 1_000_000)) == "1.01%"
    assert wording.chance(Fraction(1, 1_999)) == "1 in 1,900"
    assert wording.chance(Fraction(1, 3)) == "33.4%"
    assert wording.factor_text(None) == "no useful bound"


@pytest.mark.parametrize("delta", [0, 1])
def test_a_factor_beyond_all_use_is_no_number(pure, delta):
    """Also where only the factor between two values is: at 400, its exponent is 800."""
    huge = replace(pure, charges=pure.charges * 2_000)
    event = replace(pure.charges[0], cost=replace(pure.cost, delta=delta))
    for protection in (huge, replace(huge, charges=(*huge.charges, event))):
        words = wording.odds(protection, PATIENT)
        assert words.endswith("gives no useful bound on what these numbers tell about one patient.")
        assert re.findall(r"\d", words) == []
    words = wording.odds(replace(pure, charges=pure.charges * 800), PATIENT)
    assert words.endswith("any two possibilities for that data have no useful bound.")


def test_replacement_says_nothing_of_who_is_in_the_data(pure, gauss):
    for protection in (pure, gauss):
        replaced = replace(protection, unit="one patient_id, replaced by another")
        for words in (wording.odds(replaced, PATIENT), wording.attacker(replaced, PATIENT)):
            assert not re.search(r"one patient is in the data|as without|insiders|outsiders", words)
        assert "which of them is in the data" in wording.attacker(replaced, PATIENT)
    odds = wording.odds(replaced, PATIENT)
    assert "at most 1.65 times as likely with one of two possible records of one patient as with the other" in odds


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("age < 65", "age below 65"),
        ("age >= 65 and ward = 'a < b'", "age at least 65 and ward is 'a < b'"),
        ("ward ≠ 'x'", "ward is not 'x'"),
        ("a <= b or c > d", "a at most b or c above d"),
        ("a<b", "a<b"),
    ],
)
def test_signs_are_written_as_words(condition, words):
    assert wording.in_words(condition) == words


def test_rows_are_not_people(made):
    assert wording.who(protections([made[1]["row"]])[0], PATIENT) == "one row"
