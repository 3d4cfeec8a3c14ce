"""Loss distributions: never below the truth, within half a percent of it, for batches fixed in advance."""

import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting import dp_event, privacy_accountant
from dp_accounting import pld as theirs
from dp_accounting.pld import privacy_loss_distribution as distributions
from scipy.optimize import brentq
from scipy.stats import binom, norm

from discreet import events
from discreet.accounting import approximate, concentrated, pld, renyi
from discreet.errors import AccountingError, ParameterError
from discreet.mechanisms.hockey_stick import delta_up
from grids import over

COUNTS = [1, 2, 5, 10, 22, 46, 100, 215, 464, 1000, 2154, 4642, 10_000]
RELATIONS = privacy_accountant.NeighboringRelation


def gaussian_delta(shift: float, epsilon: float) -> float:
    return norm.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon + norm.logcdf(-shift / 2 - epsilon / shift))


def gaussian_epsilon(shift: float, delta: float) -> float:
    return brentq(lambda e: gaussian_delta(shift, e) - delta, 0, shift**2 / 2 + 40 * shift, xtol=1e-13)


def hockey_stick(upper: np.ndarray, lower: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(0, upper - math.exp(epsilon) * lower).sum())


def laplace_pair(scale: float, shift: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Discrete Laplace noise at 0 and at `shift`, on -reach..reach."""
    at = np.arange(-reach, reach + 1)
    height = math.tanh(0.5 / scale)
    return height * np.exp(-np.abs(at) / scale), height * np.exp(-np.abs(at - shift) / scale)


@pytest.mark.guarantee("accounting.pld")
@over("count", COUNTS)
@over("delta", [1e-5, 1e-9])
def test_gaussian_releases_are_within_half_a_percent_above_the_closed_form(count, delta):
    event = events.RepeatedEvent(events.GaussianEvent(400, 1), count)
    truth = gaussian_epsilon(math.sqrt(count) / 20, delta)
    assert truth <= pld.epsilon(event, delta) <= truth * 1.005
    assert pld.epsilon(event, delta) <= concentrated.epsilon(event, delta)
    assert pld.epsilon(event, delta) <= renyi.conversion(event, delta).epsilon
    assert truth <= concentrated.epsilon(event, delta)
    assert truth <= renyi.conversion(event, delta).epsilon


@pytest.mark.parametrize("count", COUNTS)
def test_composed_discrete_gaussian_releases_stay_near_the_closed_form(count):
    """With sigma 20 and many releases the discrete sum is within a few parts in ten thousand of the continuous one."""
    event = events.RepeatedEvent(events.DiscreteGaussianEvent(400, 1), count)
    truth = gaussian_epsilon(math.sqrt(count) / 20, 1e-6)
    assert pld.epsilon(event, 1e-6) == pytest.approx(truth, rel=5e-4)
    if count >= 100:
        assert truth * (1 - 1e-6) <= pld.epsilon(event, 1e-6)
    assert pld.epsilon(event, 1e-6) <= concentrated.epsilon(event, 1e-6)


@pytest.mark.pitfall("B14")
@pytest.mark.parametrize(("sigma", "shift"), [(0.7, 1), (1.0, 1), (3.0, 2), (20.0, 7), (200.0, 70)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_one_discrete_gaussian_release_has_the_delta_of_its_exact_sum(sigma, shift, epsilon):
    event = events.DiscreteGaussianEvent(Fraction(sigma) ** 2, shift**2)
    truth = float(delta_up(sigma, shift, Fraction(epsilon)))
    found = pld.delta(event, epsilon)
    assert found >= truth * (1 - 1e-9)
    assert found <= truth * 1.01 + 1e-14


@pytest.mark.pitfall("B14")
def test_noise_calibrated_by_the_continuous_formula_has_three_times_its_delta():
    sigma = dp_accounting.get_sigma_gaussian(8.0, 1e-6)
    assert pld.delta(events.GaussianEvent(Fraction(sigma) ** 2, 1), 8) == pytest.approx(1e-6, rel=1e-3)
    assert pld.delta(events.DiscreteGaussianEvent(Fraction(sigma) ** 2, 1), 8) == pytest.approx(3e-6, rel=0.01)


@pytest.mark.parametrize(("scale", "shift"), [(1, 1), (4, 3), (10, 1), (50, 200)])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 0.9])
def test_one_discrete_laplace_release_has_the_delta_of_its_exact_sum(scale, shift, epsilon):
    truth = hockey_stick(*laplace_pair(scale, shift, 40 * scale + shift), epsilon)
    found = pld.delta(events.DiscreteLaplaceEvent(scale, shift), epsilon)
    assert truth - 1e-13 <= found <= truth + 2e-4 * max(truth, 0.01)


@pytest.mark.parametrize("shifts", [(1, 1), (2, 1), (3, 4)])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.6])
def test_spreading_a_sensitivity_over_a_vector_never_reveals_more(shifts, epsilon):
    """The lemma of the proof page: one coordinate that moves all of it dominates every way to spread it."""
    pairs = [laplace_pair(4, shift, 120) for shift in shifts]
    upper = np.multiply.outer(pairs[0][0], pairs[1][0]).ravel()
    lower = np.multiply.outer(pairs[0][1], pairs[1][1]).ravel()
    whole = hockey_stick(*laplace_pair(4, sum(shifts), 200), epsilon)
    assert hockey_stick(upper, lower, epsilon) <= whole + 1e-12


def gaussian_vector_delta(shifts: tuple[int, int], epsilon: float) -> float:
    """Discrete Gaussian noise of sigma 3 on two coordinates that move by these steps."""
    at = np.arange(-40, 41)
    weights = np.exp(-(at**2) / 18.0)
    weights /= weights.sum()
    upper = np.multiply.outer(weights, weights).ravel()
    lower = np.multiply.outer(np.roll(weights, shifts[0]), np.roll(weights, shifts[1])).ravel()
    return hockey_stick(upper, lower, epsilon)


@pytest.mark.parametrize("shifts", [(2, 1), (2, 2), (0, 2)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_a_vector_under_gaussian_noise_is_covered_by_its_rho(shifts, epsilon):
    squared = sum(shift**2 for shift in shifts)
    event = events.DiscreteGaussianEvent(9, squared, 2)
    assert gaussian_vector_delta(shifts, epsilon) <= pld.delta(event, epsilon)
    by_rho = pld.delta(events.ConcentratedEvent(Fraction(squared, 18)), epsilon)
    assert pld.delta(event, epsilon) == pytest.approx(by_rho, rel=1e-9)


@pytest.mark.parametrize("squared", [2, 3])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_a_vector_that_moves_by_single_steps_is_summed_exactly(squared, epsilon):
    truth = gaussian_vector_delta((1, 1), epsilon)
    found = pld.delta(events.DiscreteGaussianEvent(9, squared, 2), epsilon)
    assert truth - 1e-13 <= found <= truth * 1.01 + 1e-13
    assert gaussian_vector_delta((1, 0), epsilon) <= found


@pytest.mark.parametrize("rho", ["0.0005", "0.05", "0.5", "20"])
@pytest.mark.parametrize("delta", ["1e-5", "1e-9"])
def test_a_rho_alone_converts_as_tightly_as_the_conversion(rho, delta):
    event = events.ConcentratedEvent(Fraction(rho))
    exact = float(concentrated.epsilon(event, Fraction(delta)))
    assert exact * (1 - 1e-9) <= pld.epsilon(event, Fraction(delta)) <= exact * 1.002


@pytest.mark.pitfall("B7")
def test_ten_coins_are_counted_ten_times():
    coin = events.PureEvent(Fraction(math.log(3)))
    ten = pld.epsilon(events.RepeatedEvent(coin, 10), 1e-6)
    assert ten == pytest.approx(float(approximate.optimal(epsilon=coin.epsilon, count=10, delta=1e-6)), rel=1e-6)
    accountant = theirs.PLDAccountant(RELATIONS.REPLACE_ONE)
    accountant.compose(dp_event.RandomizedResponseDpEvent(0.5, 2), 10)
    assert accountant.get_epsilon(1e-6) < 1.1 < ten


@pytest.mark.pitfall("B7")
def test_replacing_one_vector_of_norm_c_moves_it_by_two_c():
    """The event carries the sensitivity under the relation of its unit: 4 C^2 when one is replaced."""
    replaced = pld.epsilon(events.GaussianEvent(25, 4), 1e-6)
    accountant = theirs.PLDAccountant(RELATIONS.REPLACE_ONE)
    accountant.compose(dp_event.GaussianDpEvent(5.0))
    assert replaced == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-4)
    assert replaced == pytest.approx(gaussian_epsilon(2 / 5, 1e-6), rel=1e-4)


@pytest.mark.parametrize("count", [1, 30])
@pytest.mark.parametrize(
    ("ours", "make"),
    [
        (events.LaplaceEvent(10, 1), lambda step: distributions.from_laplace_mechanism(10.0, 1.0, True, step)),
        (events.GaussianEvent(100, 1), lambda step: distributions.from_gaussian_mechanism(10.0, 1.0, True, step)),
        (
            events.DiscreteLaplaceEvent(10, 2),
            lambda step: distributions.from_discrete_laplace_mechanism(0.1, 2, True, step, use_connect_dots=True),
        ),
        (
            events.DiscreteGaussianEvent(100, 4),
            lambda step: distributions.from_discrete_gaussian_mechanism(
                10.0, 2, None, True, step, use_connect_dots=True
            ),
        ),
    ],
)
def test_dp_accounting_agrees_for_each_kind_of_noise(ours, make, count):
    reached = make(1e-4).self_compose(count).get_epsilon_for_delta(1e-6)
    assert pld.epsilon(events.RepeatedEvent(ours, count), 1e-6) == pytest.approx(reached, rel=1e-3)


def test_events_of_every_kind_compose():
    parts = (
        events.LaplaceEvent(10, 1),
        events.ApproximateEvent(0.1, 1e-9),
        events.DiscreteLaplaceEvent(7, 3),
        events.DiscreteLaplaceEvent(7, Fraction(5, 2)),
        events.ConcentratedEvent(0.01, 1e-10),
        events.RepeatedEvent(events.GaussianEvent(100, 3), 2),
        events.DiscreteGaussianEvent(100, 3, 3),
        events.DiscreteGaussianEvent(100, 3),
        events.DiscreteGaussianEvent(10**12, 10**10),
        events.PureEvent(0),
    )
    together = events.ComposedEvent(parts)
    found = pld.epsilon(together, 1e-6)
    assert found <= renyi.conversion(together, 1e-6).epsilon
    assert found <= concentrated.epsilon(together, 1e-6)
    assert found >= pld.epsilon(events.ComposedEvent(parts[:-2]), 1e-6)


def test_epsilon_and_delta_are_inverse():
    event = events.RepeatedEvent(events.DiscreteLaplaceEvent(20, 1), 40)
    epsilon = pld.epsilon(event, 1e-6)
    assert pld.delta(event, epsilon) == pytest.approx(1e-6, rel=1e-3)


def test_a_delta_alone_is_lost_and_nothing_else():
    assert pld.delta(events.ConcentratedEvent(0, 1e-7), 1) == pytest.approx(1e-7, rel=1e-6)
    assert pld.delta(events.ApproximateEvent(0, 1e-7), 1) == pytest.approx(1e-7, rel=1e-6)
    repeated = events.RepeatedEvent(events.ConcentratedEvent(0, 1e-7), 40)
    assert pld.delta(repeated, 1) == pytest.approx(4e-6, rel=1e-6)
    both = events.ComposedEvent((events.ConcentratedEvent(0.1, 1e-7), events.ApproximateEvent(0, 1e-7)))
    assert pld.epsilon(both, 1e-6) == pytest.approx(pld.epsilon(events.ConcentratedEvent(0.1), 8e-7), rel=1e-4)


@pytest.mark.guarantee("accounting.pld")
@pytest.mark.parametrize("range_", [0.1, 1.0, 6.0])
def test_one_event_of_bounded_range_has_the_largest_delta_that_its_coins_reach(range_):
    event = events.BoundedRangeEvent(Fraction(range_))
    for epsilon in (0.02 * range_, 0.5 * range_, 0.9 * range_):
        worst = 0.0
        for loss in np.linspace(epsilon, range_, 2_000)[:-1]:
            heads = -math.expm1(loss - range_) / -math.expm1(-range_)
            worst = max(worst, heads * -math.expm1(epsilon - loss))
        found = pld.delta(event, epsilon)
        assert worst * (1 - 1e-9) <= found <= worst * (1 + 1e-3) + 1e-12
        assert found <= pld.delta(events.PureEvent(Fraction(range_)), epsilon)


@pytest.mark.parametrize("count", [2, 10, 40])
def test_several_events_of_bounded_range_are_above_the_worst_of_their_coins(count):
    """Coins of one loss t each, composed by their binomial sum: a lower bound on the truth."""
    event = events.RepeatedEvent(events.BoundedRangeEvent(Fraction(1, 4)), count)
    found = pld.epsilon(event, 1e-6)
    assert found <= concentrated.epsilon(event, 1e-6) * (1 + 1e-4)
    assert found <= pld.epsilon(events.RepeatedEvent(events.PureEvent(Fraction(1, 4)), count), 1e-6)
    times = np.arange(count + 1)
    for loss in np.linspace(0.005, 0.245, 49):
        heads = -math.expm1(loss - 0.25) / -math.expm1(-0.25)
        masses = binom.pmf(times, count, heads)
        losses = times * loss + (count - times) * (loss - 0.25)
        truth = float((masses * np.maximum(0, -np.expm1(found - losses))).sum())
        assert truth <= 1e-6 * (1 + 1e-6)


def test_events_of_bounded_range_compose_with_others():
    both = events.ComposedEvent((events.RepeatedEvent(events.BoundedRangeEvent(0.2), 5), events.GaussianEvent(100, 1)))
    parts = [pld.epsilon(part, 5e-7) for part in both.events]
    assert max(parts) < pld.epsilon(both, 1e-6) <= sum(parts)
    assert pld.delta(events.BoundedRangeEvent(0), 1) == 0


def test_nothing_reveals_nothing():
    assert pld.epsilon(events.ComposedEvent(()), 1e-6) == 0
    assert pld.delta(events.PureEvent(0), 1) == 0


def test_a_delta_that_doubles_cannot_carry_is_refused():
    with pytest.raises(AccountingError, match="doubles"):
        pld.epsilon(events.PureEvent(1), 1e-15)
    with pytest.raises(AccountingError, match="doubles"):
        pld.epsilon(events.RepeatedEvent(events.PureEvent(0.001), 10**6), 1e-9)
    with pytest.raises(AccountingError, match="deltas of the events"):
        pld.epsilon(events.ApproximateEvent(1, 1e-5), 1e-6)


def test_the_allowance_covers_the_rounding_of_the_fourier_transforms():
    """Ten thousand composed releases at a delta of 1e-10, where rounding is largest against delta."""
    event = events.RepeatedEvent(events.DiscreteGaussianEvent(100, 1), 10_000)
    assert pld.epsilon(event, 1e-10) >= gaussian_epsilon(10, 1e-10) * (1 - 1e-9)


def test_what_is_not_known_is_refused():
    with pytest.raises(AccountingError, match="privacy cost is not known"):
        pld.epsilon(object(), 1e-6)
    with pytest.raises(ParameterError):
        pld.delta(events.PureEvent(1), 0)


@pytest.mark.parametrize(("rate", "sigma", "count"), [(0.01, 1, 1_000), (0.1, 2, 200), (0.5, 10, 100)])
def test_a_sampled_sum_has_the_loss_of_continuous_noise(rate, sigma, count):
    fine = events.SampledGaussianEvent(rate, sigma**2 * 10**12, 10**12)
    pair = distributions.from_gaussian_mechanism(sigma, 1, sampling_prob=float(rate))
    composed = pair.self_compose(count).get_epsilon_for_delta(1e-5)
    found = pld.epsilon(events.RepeatedEvent(fine, count), 1e-5)
    assert found == pytest.approx(composed, rel=2e-3)
    assert found <= renyi.conversion(events.RepeatedEvent(fine, count), 1e-5).epsilon


@pytest.mark.parametrize(("rate", "sigma", "shift"), [(0.01, 100, 100), (0.2, 60, 120), (0.5, 300, 30)])
def test_the_loss_of_a_sampled_sum_is_at_least_that_of_discrete_noise(rate, sigma, shift):
    event = events.SampledGaussianEvent(rate, sigma**2, shift**2)
    values = np.arange(-60 * sigma, 60 * sigma + 1, dtype=np.float64)
    here = np.exp(-(values**2) / (2 * sigma**2))
    here /= here.sum()
    mixed = (1 - float(rate)) * here + float(rate) * here * np.exp(shift * (2 * values - shift) / (2 * sigma**2))
    for reached in (0.01, 0.1, 0.5):
        added = np.maximum(mixed - math.exp(reached) * here, 0).sum()
        removed = np.maximum(here - math.exp(reached) * mixed, 0).sum()
        assert max(added, removed) <= pld.delta(event, reached) <= 1.1 * max(added, removed) + 1e-9


def test_a_sampled_sum_of_coarse_noise_counts_by_its_rho():
    coarse = events.SampledGaussianEvent(0.1, 80, 1)
    assert pld.epsilon(coarse, 1e-5) == pld.epsilon(events.ConcentratedEvent(Fraction(1, 160)), 1e-5)
