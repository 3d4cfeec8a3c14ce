"""Every simple event has one price, and prices add up exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import events
from discreet.accounting.prices import EventCost, price, total
from discreet.errors import AccountingError

TENTH = Fraction(1, 10)


@pytest.mark.guarantee("accounting.prices")
@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (events.PureEvent(TENTH), EventCost(TENTH, Fraction(1, 200), Fraction(0))),
        (events.PureEvent(5), EventCost(Fraction(5), Fraction(5), Fraction(0))),
        (events.BoundedRangeEvent(TENTH), EventCost(TENTH, Fraction(1, 800), Fraction(0))),
        (events.BoundedRangeEvent(10), EventCost(Fraction(10), Fraction(10), Fraction(0))),
        (events.ApproximateConcentratedEvent(TENTH, 1e-9, 0.25), EventCost(TENTH, Fraction(1, 4), Fraction(1, 10**9))),
        (events.ApproximateEvent(TENTH, 1e-9), EventCost(TENTH, Fraction(1, 200), Fraction(1, 10**9))),
        (events.ConcentratedEvent(TENTH, 1e-9), EventCost(None, TENTH, Fraction(1, 10**9))),
        (events.DiscreteLaplaceEvent(30, 3), EventCost(TENTH, Fraction(1, 200), Fraction(0))),
        (events.LaplaceEvent(10, 1), EventCost(TENTH, Fraction(1, 200), Fraction(0))),
        (events.GaussianEvent(100, 1), EventCost(None, Fraction(1, 200), Fraction(0))),
        (events.DiscreteGaussianEvent(100, 2, 2), EventCost(None, Fraction(1, 100), Fraction(0))),
    ],
)
def test_the_price_of_a_simple_event(event, expected):
    assert price(event) == expected
    assert total(events.RepeatedEvent(event, 7)) == EventCost(
        None if expected.epsilon is None else 7 * expected.epsilon, 7 * expected.rho, 7 * expected.delta
    )


def divergence(upper: np.ndarray, lower: np.ndarray, alpha: float) -> float:
    return float(np.logaddexp.reduce(alpha * np.log(upper) + (1 - alpha) * np.log(lower))) / (alpha - 1)


@pytest.mark.guarantee("accounting.prices")
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0])
def test_laws_of_bounded_range_are_within_its_rho_at_every_order_and_some_come_near(epsilon):
    """Random laws, and the coins with losses t and t - epsilon, which are the worst; both directions."""
    generator = np.random.default_rng(8)
    rho = float(price(events.BoundedRangeEvent(Fraction(epsilon))).rho)
    pairs = []
    for share in np.linspace(0.001, 0.999, 150):
        upper = (1 - math.exp(share * epsilon - epsilon)) / -math.expm1(-epsilon)
        pairs.append((np.array([upper, 1 - upper]), np.array([upper, (1 - upper) * math.exp(epsilon)])))
    for _ in range(150):
        size = generator.integers(2, 8)
        law = generator.dirichlet(np.full(size, 0.5)) + 1e-12
        pairs.append((law, law * np.exp(generator.uniform(0, epsilon, size))))
    nearest = 0.0
    for one, other in pairs:
        here, there = one / one.sum(), other / other.sum()
        losses = np.log(here / there)
        assert losses.max() - losses.min() <= epsilon + 1e-9
        for alpha in (1.001, 1.5, 2.0, 5.0, 30.0, 400.0):
            found = max(divergence(here, there, alpha), divergence(there, here, alpha)) / alpha
            assert found <= rho * (1 + 1e-6)
            nearest = max(nearest, found / rho)
    assert nearest > (0.99 if epsilon <= 0.3 else 0.6)


def test_one_gaussian_answer_leaves_no_finite_epsilon():
    both = events.ComposedEvent((events.PureEvent(1), events.GaussianEvent(100, 1), events.PureEvent(1)))
    assert total(both) == EventCost(None, 1 + Fraction(1, 200), Fraction(0))


def test_nothing_costs_nothing():
    assert total(events.ComposedEvent(())) == EventCost(Fraction(0), Fraction(0), Fraction(0))


@pytest.mark.parametrize("thing", ["PureEvent", None, 0.1, object()])
def test_what_is_no_event_has_no_price(thing):
    with pytest.raises(AccountingError, match="its privacy cost is not known"):
        total(thing)
