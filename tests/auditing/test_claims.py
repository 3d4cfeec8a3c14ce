"""Claims: what an event says of a parameter, and that every line is really implied by the promise it comes from."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import laplace

from discreet.auditing.claims import ApproximateDP, ConcentratedDP, GaussianDP, claim
from discreet.errors import ParameterError
from grids import over

probabilities = st.floats(1e-6, 1 - 1e-6)
LEVELS = np.linspace(-6, 7, 261)
PLACES = [0.0, 1e-300, 1e-9, 1e-3, 0.05, 0.2, 0.5, 0.9, 1.0]


def laplace_pairs(epsilon):
    """(p, q) of the events {x >= t} and {x < t} for noise of scale 1/epsilon around 1 and around 0."""
    above = [laplace.sf(LEVELS, loc=at, scale=1 / epsilon) for at in (1, 0)]
    below = [laplace.cdf(LEVELS, loc=at, scale=1 / epsilon) for at in (0, 1)]
    return ordinary([*zip(*above, strict=True), *zip(*below, strict=True)])


def gaussian_pairs(mu):
    above, below = (ndtr(mu - LEVELS), ndtr(-LEVELS)), (ndtr(LEVELS), ndtr(LEVELS - mu))
    return ordinary([*zip(*above, strict=True), *zip(*below, strict=True)])


def ordinary(pairs):
    """Those whose complements are doubles with enough digits left."""
    return [(p, q) for p, q in pairs if q > 1e-300 and 1 - p > 1e-7]


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_a_laplace_pair_never_contradicts_its_own_epsilon_and_comes_to_it(epsilon):
    found = [claim(epsilon=epsilon).lower_bound(p, q) for p, q in laplace_pairs(epsilon)]
    assert max(found) == pytest.approx(epsilon, rel=1e-7)


@pytest.mark.parametrize("mu", [0.1, 1, 3])
def test_every_event_of_a_gaussian_pair_finds_its_mu(mu):
    pairs = gaussian_pairs(mu)
    assert [claim(mu=mu).lower_bound(p, q) for p, q in pairs] == pytest.approx([mu] * len(pairs), rel=1e-6)


@pytest.mark.parametrize("mu", [0.1, 1, 3])
def test_a_gaussian_pair_never_contradicts_its_rho_and_finds_more_than_half_of_it(mu):
    rho = mu**2 / 2
    found = [claim(rho=rho).lower_bound(p, q) for p, q in gaussian_pairs(mu)]
    assert 0.5 * rho < max(found) <= rho * (1 + 1e-6)


@over("place", PLACES)
@over("parameter", [0.01, 0.5, 1, 4])
def test_every_line_holds_for_the_pairs_that_keep_the_promise(parameter, place):
    of = {
        claim(epsilon=parameter): laplace_pairs(parameter),
        claim(mu=parameter): gaussian_pairs(parameter),
        claim(rho=parameter): gaussian_pairs(math.sqrt(2 * parameter)),
    }
    for promise, pairs in of.items():
        slope, intercept = promise.line(place)
        assert slope >= 1
        assert intercept >= 0
        assert all(p <= slope * q + intercept + 1e-12 for p, q in pairs)


def largest_here(rho, there):
    """The largest probability that a coin may have against another, by every order of a dense grid."""
    orders = 1 + np.geomspace(1e-4, 1e5, 4000)

    def is_allowed(p):
        event = orders * np.log(p) + (1 - orders) * np.log(there)
        rest = orders * np.log1p(-p) + (1 - orders) * np.log1p(-there)
        return bool((np.logaddexp(event, rest) <= (orders - 1) * orders * rho + 1e-15).all())

    low, high = there, 1 - 1e-15
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_allowed(middle) else (low, middle)
    return low


@pytest.mark.parametrize("rho", [0.005, 0.1, 0.5, 2])
def test_the_lines_of_rho_hold_for_the_worst_coins_and_touch_them(rho):
    for there in (1e-6, 1e-3, 0.02, 0.1, 0.3):
        here = largest_here(rho, there)
        bounds = [line.slope * there + line.intercept for line in (claim(rho=rho).line(at) for at in PLACES)]
        assert all(bound >= here * (1 - 1e-6) for bound in bounds)
        nearest = claim(rho=rho).line(there)
        assert nearest.slope * there + nearest.intercept <= here * 1.2


@settings(deadline=None, max_examples=60)
@given(p=probabilities, q=probabilities)
def test_what_is_found_is_where_the_lines_begin_to_hold(p, q):
    for promise, rounding in ((ApproximateDP, 1e-9), (GaussianDP, 1e-6)):
        found = promise(Fraction(0)).lower_bound(p, q)
        if found < 1e-6:
            continue
        above, below = (promise(Fraction(found * factor)) for factor in (1 + rounding, 1 - 1e-3))
        for here, there in ((p, q), (1 - q, 1 - p)):
            slope, intercept = above.line(there)
            assert here <= slope * there + intercept + 1e-12
        sides = [(here, there, below.line(there)) for here, there in ((p, q), (1 - q, 1 - p))]
        assert any(here > line.slope * there + line.intercept for here, there, line in sides)


@settings(deadline=None, max_examples=60)
@given(p=probabilities, q=probabilities)
def test_more_here_or_less_there_never_finds_less(p, q):
    for promise in (claim(epsilon=1), claim(epsilon=1, delta=0.01), claim(rho=0.5), claim(mu=1)):
        found = promise.lower_bound(p, q)
        assert promise.lower_bound(min(1 - 1e-9, p * 1.01), q) >= found - 1e-9
        assert promise.lower_bound(p, q * 0.99) >= found - 1e-9


@pytest.mark.parametrize(
    "promise", [claim(epsilon=1), claim(epsilon=1, delta=0.01), claim(rho=0.5), claim(mu=1)], ids=str
)
def test_impossible_events_find_infinity_and_equal_ones_nothing(promise):
    assert promise.lower_bound(0.5, 0.0) == math.inf
    assert promise.lower_bound(1.0, 0.5) == math.inf
    for same in (0.0, 0.3, 1.0):
        assert promise.lower_bound(same, same) == 0
    assert promise.lower_bound(0.2, 0.5) == 0


@pytest.mark.parametrize(
    "promise", [claim(epsilon=1), claim(epsilon=1, delta=0.01), claim(rho=0.5), claim(mu=1)], ids=str
)
def test_many_at_once_are_the_same_as_one_by_one(promise):
    here, there = np.array([0.5, 0.9, 0.2, 0.01]), np.array([0.2, 0.1, 0.4, 0.001])
    assert promise.lower_bounds(here, there).tolist() == [
        promise.lower_bound(*pair) for pair in zip(here, there, strict=True)
    ]
    parameters = np.array([0.1, promise.value, 3.0])
    slopes, intercepts = promise.lines(parameters, 0.1)
    assert (slopes[1], intercepts[1]) == pytest.approx(promise.line(0.1))
    assert slopes[0] * 0.1 + intercepts[0] < slopes[1] * 0.1 + intercepts[1] < slopes[2] * 0.1 + intercepts[2]


def test_delta_is_allowed_and_no_more():
    promise = claim(epsilon=1, delta=0.01)
    assert promise.lower_bound(math.e * 0.1 + 0.01, 0.1) == pytest.approx(1)
    assert promise.lower_bound(0.01, 0.0) == 0
    assert promise.lower_bound(0.011, 0.0) == math.inf


def test_promises_beyond_doubles_have_lines_that_say_nothing():
    for promise in (claim(epsilon=10_000), claim(rho=10_000), claim(mu=10_000)):
        slope, intercept = promise.line(0.1)
        assert slope * 0.1 + intercept >= 1


def test_a_claim_is_read_in_the_terms_it_was_made_in():
    assert claim(epsilon=1) == ApproximateDP(Fraction(1))
    assert claim(epsilon=0.1, delta=1e-6) == ApproximateDP(Fraction(1, 10), Fraction(1, 10**6))
    assert claim(rho=0.5) == ConcentratedDP(Fraction(1, 2))
    assert claim(mu=2) == GaussianDP(Fraction(2))
    assert [claim(epsilon=0).value, claim(rho=0.5).value, claim(mu=2).value] == [0, 0.5, 2]
    named = [claim(epsilon=1), claim(epsilon=0.1, delta=1e-6), claim(rho=0.5), claim(mu=2)]
    assert [str(promise) for promise in named] == ["epsilon 1", "epsilon 0.1, delta 1e-06", "rho 0.5", "mu 2"]
    assert [promise.parameter for promise in named] == ["epsilon", "epsilon", "rho", "mu"]


@pytest.mark.parametrize(
    "words",
    [{}, {"delta": 0.1}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": 0.1}, {"mu": 0}, {"epsilon": -1}, {"rho": True}],
    ids=str,
)
def test_claims_that_contradict_themselves_are_refused(words):
    with pytest.raises(ParameterError):
        claim(**words)


def test_the_curve_of_gaussian_noise_is_touched_where_it_is_asked():
    for there in (1e-6, 0.01, 0.2):
        slope, intercept = claim(mu=1).line(there)
        assert slope * there + intercept == pytest.approx(float(ndtr(ndtri(there) + 1)), rel=1e-9)
