"""Each family beside plain noise is a callable with neighbours and a claim, and the same call finds a broken one."""

from fractions import Fraction

import pytest

from discreet.auditing import claims
from discreet.auditing.self_audit.mechanisms import families
from discreet.auditing.statistical.audit import audit
from discreet.mechanisms import AboveThreshold, Exponential, smooth

FAMILIES = families()


def test_every_family_is_there_under_a_claim_of_its_own():
    assert len(FAMILIES) == 25
    assert {type(made.claim).__name__ for made in FAMILIES.values()} == {"ApproximateDP", "ConcentratedDP"}
    for made in FAMILIES.values():
        assert made.mechanism(made.one) is not ...


@pytest.mark.parametrize("number", [6_000, 24_000])
@pytest.mark.parametrize(
    ("name", "mechanism"),
    [
        ("exponential", Exponential(sensitivity=Fraction(1, 4), epsilon=1, grid=Fraction(1, 4)).release),
        (
            "above threshold",
            lambda values: [
                reply.is_above
                for reply in AboveThreshold(threshold=5, epsilon=1, sensitivity=Fraction(1, 8), grid=Fraction(1, 8))
                .open()
                .ask_many(values)
            ],
        ),
        (
            "median, pareto noise",
            lambda rows: smooth.Smooth(noise="pareto", epsilon=12, grid=Fraction(1, 8)).release(
                smooth.Median(rows, bounds=(0, 8))
            ),
        ),
    ],
    ids=["a quarter of the sensitivity", "an eighth of it", "twelve times epsilon"],
)
def test_the_same_neighbours_find_too_little_noise(name, mechanism, number):
    """Missed in fewer than 1e-5 of runs: the loss is three times the claim or more, in events that are frequent."""
    made = FAMILIES[name]
    finding = audit(
        mechanism, made.one, made.other, claim=claims.claim(epsilon=1), samples=number, alarm=1e-3, name=name
    )
    assert finding.is_broken
