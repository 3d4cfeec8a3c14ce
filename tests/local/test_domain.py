"""Domains of tasks."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local import SlotDomain
from discreet.local.domain import decimal_or_fraction, number_text, read_number
from grids import over

RANGE = SlotDomain(low=Fraction(-1), high=Fraction(1), steps=4)


def test_slots_of_each_form():
    assert SlotDomain(size=4).slot(3) == 3
    assert [SlotDomain(size=4).slot(value) for value in (4, -1, "3", True, 2.0)] == [None] * 5
    words = SlotDomain.read(["yes", "no"])
    assert (words.slot("no"), words.slot("perhaps"), words.label(0), words.size) == (1, None, "yes", 2)


def test_numbers_are_clamped_and_rounded_to_the_nearest_step_half_a_step_upwards():
    assert [RANGE.slot(x) for x in (-5, -1, -0.76, -0.75, -0.74, 0, 0.25, 1, 9)] == [0, 0, 0, 1, 1, 2, 3, 4, 4]
    assert [RANGE.label(slot) for slot in range(RANGE.size)] == [Fraction(n, 2) for n in range(-2, 3)]
    with pytest.raises(ParameterError):
        RANGE.slot(float("nan"))


@over("domain", (SlotDomain(size=7), SlotDomain(values=("a", "b")), RANGE))
def test_a_domain_is_read_from_its_json(domain):
    assert SlotDomain.from_json(domain.to_json()) == domain
    assert SlotDomain.read(domain) is domain


@over(
    "domain",
    (
        1,
        0,
        True,
        "words",
        ["a"],
        ["a", "a"],
        ["a", 1],
        {},
        {"size": 4, "values": ["a"]},
        {"low": 1, "high": 1, "steps": 4},
    ),
)
def test_domains_that_are_not_of_one_form_are_refused(domain):
    with pytest.raises(ParameterError):
        SlotDomain.read(domain)


def test_mixed_forms_are_refused():
    for fields in ({"size": 5, "low": 0}, {"values": ("a", "b"), "low": 0}, {"low": 0, "high": 1}, {"steps": 4}):
        with pytest.raises(ParameterError):
            SlotDomain(**fields)


def test_texts_are_plain_and_can_be_written():
    assert {type(value) for value in SlotDomain.read(list(np.array(["a", "b"]))).values} == {str}
    with pytest.raises(ParameterError, match="surrogates"):
        SlotDomain(values=("a", "\ud800"))


@over(
    ("number", "text"),
    ((1, "1"), (0.1, "0.1"), (Fraction(1, 3), "1/3"), (-0.05, "-0.05"), (Fraction(5, 4), "1.25"), (100, "100")),
)
def test_numbers_are_written_as_decimals_or_fractions(number, text):
    assert decimal_or_fraction(number, "epsilon") == text
    assert number_text(read_number(text, "epsilon")) == text


@over("text", ("", "1e9", "1/0", "nan", "\u0661", " 1", "1_0", "0x1", "9" * 60, "1//2"))
def test_texts_that_are_not_numbers_are_refused(text):
    with pytest.raises(ParameterError):
        read_number(text, "epsilon")
