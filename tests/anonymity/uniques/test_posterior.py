"""Risk of a class under the negative binomial posterior, against 1,000 digits."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from discreet.anonymity.uniques.posterior import posterior_risk

PEOPLE = (1, 2, 3, 5, 8, 13, 23, 24, 25, 26, 40, 100, 1000)
RATIOS = (1.0001, 1.01, 1.3, 1.9, 1.99, 2.0, 2.01, 2.5, 5.0, 100.0, 1e4, 1e6, 1e9)


def exact_risk(people, weights):
    """The recursion backwards from a far index: it shrinks errors by q/p, or the series, at 1,000 digits."""
    with localcontext() as context:
        context.prec = 1000
        p = Decimal(people) / Decimal(weights)
        q = 1 - p
        if not q:
            return 1 / Decimal(people)
        risk = p / q * -p.ln() if people < 50 else None
        if risk is None:
            total = term = Decimal(1)
            for k in range(1, 3000):
                term *= q * k / (people + k)
                total += term
            return p / people * total
        for f in range(1, people):
            risk = p / q * (1 / Decimal(f) - risk)
        return risk


@pytest.mark.parametrize("people", PEOPLE)
def test_the_risk_has_full_precision_for_every_share(people):
    """The rule of the house of 2.7e-15 is what an earlier build reached."""
    weights = [people * ratio for ratio in RATIOS]
    found = posterior_risk([people] * len(weights), weights)
    exact = [exact_risk(people, each) for each in weights]
    errors = [abs(Decimal(float(a)) / b - 1) for a, b in zip(found, exact, strict=True)]
    assert max(errors) <= Decimal("2.7e-15")


def test_a_class_that_is_wholly_in_the_sample_has_one_over_its_size():
    assert posterior_risk([1, 2, 7, 500], [1, 2, 7, 500]) == pytest.approx([1, 1 / 2, 1 / 7, 1 / 500], rel=1e-15)


def test_the_risk_of_one_person_has_its_closed_form():
    p = np.array([0.01, 0.2, 0.5, 0.9])
    assert posterior_risk([1] * 4, 1 / p) == pytest.approx(p / (1 - p) * np.log(1 / p), rel=1e-14)


def test_the_risk_lies_between_one_over_the_population_and_one_over_the_sample():
    people = np.repeat(np.arange(1, 60), 20)
    weights = people * np.tile(np.geomspace(1, 1e6, 20), 59)
    risk = posterior_risk(people, weights)
    assert np.all(risk <= 1 / people * (1 + 1e-14))
    assert np.all(risk >= 1 / weights * (1 - 1e-14))


@pytest.mark.parametrize(
    ("people", "weights", "risk"),
    [
        (2, 360, "0.0054"),
        (1, 215, "0.0251"),
        (2, 152, "0.0126"),
        (1, 186, "0.0282"),
        (1, 180, "0.0290"),
        (2, 262, "0.0074"),
    ],
)
def test_the_published_example_comes_out(people, weights, risk):
    """World Bank, Statistical Disclosure Control: A Practice Guide, table of frequencies, weights and risks."""
    assert f"{float(posterior_risk([people], [weights])[0]):.4f}" == risk
