"""Outcomes of reconstruction are drawn beside one another, and a curve names its bound."""

import pytest

import discreet as dp
from discreet.attacks import reconstruction

PEOPLE, QUESTIONS = 64, 256


@pytest.fixture
def generator():
    return dp.testing.generator(11)


@pytest.fixture
def bits(generator):
    return reconstruction.secret_bits(PEOPLE, generator=generator)


def test_a_curve_rises_with_epsilon_and_names_its_bound():
    curve = reconstruction.curve([0.1, 10_000], people=32, questions=64, runs=2, generator=dp.testing.generator(5))
    (_, little, _), (_, much, _) = curve.points
    assert little < 0.9 < much
    assert "55% at 0.1, 88% at 1, " in curve.with_epsilon
    assert "100% at 10,000" in curve.plot().get_label()


def test_outcomes_are_drawn_beside_one_another(bits, generator):
    first, second = (
        reconstruction.against(publisher, bits, questions=QUESTIONS, called=name, generator=generator)
        for name, publisher in (("exact", reconstruction.exact(bits)), ("rounded", reconstruction.rounding(bits)))
    )
    label = first.plot(second).get_label()
    assert "exact 100% of bits from 256 counts" in label
    assert "guessing 50% of bits" in label
