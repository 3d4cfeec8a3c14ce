"""Gaussian: rho and (epsilon, delta) hold for the very double that is drawn, and margins are the least."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance
from opendp.mod import enable_features
from scipy.stats import binomtest, norm

import discreet as dp
from discreet.errors import AccountingError, ParameterError, Refusal
from discreet.exact.rounding import brief_up
from discreet.exact.zcdp import delta_of, epsilon_of, rho_of
from discreet.mechanisms import Gaussian
from discreet.mechanisms.gaussian import analytic_sigma, classic_sigma, renyi_sigma
from discreet.mechanisms.hockey_stick import delta_up
from grids import over

enable_features("contrib")

HOSTILE = [math.nan, math.inf, 1e999, 0, -0.0, -1, True, "0.1", [1]]
positives = st.fractions(min_value=Fraction(1, 10**4), max_value=10**4, max_denominator=10**6)


def renyi_divergence(sigma, shift, alpha):
    """The Renyi divergence of order alpha between Y and Y + shift, by its sum, with 60 digits."""
    with decimal.localcontext() as context:
        context.prec = 60
        twice_variance = 2 * Decimal(sigma) ** 2
        farthest = math.ceil(float(alpha) * shift + 30 * sigma)
        reach = range(-farthest, farthest + 1)
        total = sum((-Decimal(y * y) / twice_variance).exp() for y in reach)
        power = sum(
            ((-alpha * y * y + (alpha - 1) * (y - shift) ** 2) / twice_variance).exp() for y in map(Decimal, reach)
        )
        return (power / total).ln() / (alpha - 1)


@pytest.mark.guarantee("mechanisms.gaussian")
@over("sigma", [0.3, 0.5, 1.0, 2.7])
@over("shift", [1, 2, 5])
@over("alpha", [Decimal("1.01"), Decimal("1.5"), Decimal(2), Decimal(10)])
def test_the_renyi_divergence_of_every_order_is_within_rho_times_the_order(sigma, shift, alpha):
    rho = Gaussian.with_sigma(sigma=sigma, sensitivity=shift).rho
    assert Fraction(renyi_divergence(sigma, shift, alpha)) <= rho * Fraction(alpha) * (1 + Fraction(1, 10**40))


@settings(deadline=None)
@given(
    squared=positives, rho=positives, grid=st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=100)
)
def test_the_rho_of_the_event_is_at_most_the_rho_asked_for(squared, rho, grid):
    mechanism = Gaussian(squared_sensitivity=squared, rho=rho, grid=grid)
    event = mechanism.event()
    assert event.variance == Fraction(mechanism.sigma) ** 2
    assert event.squared_sensitivity == squared / grid**2
    assert event.squared_sensitivity / (2 * event.variance) == mechanism.rho
    assert rho * (1 - Fraction(1, 10**15)) < mechanism.rho <= rho


def test_a_sensitivity_and_its_square_are_the_same_mechanism():
    assert Gaussian(sensitivity=3, rho=0.1) == Gaussian(squared_sensitivity=9, rho=0.1)
    assert Gaussian(squared_sensitivity=2, rho=1).sigma == 1


@pytest.mark.parametrize("sigma", [0.1, 3.3, 1e6, 7, Fraction(1, 3)])
def test_a_given_sigma_is_kept_where_it_is_a_double_and_rounded_up_elsewhere(sigma):
    mechanism = Gaussian.with_sigma(sigma=sigma, sensitivity=2, dimension=3, grid=Fraction(1, 4))
    assert Fraction(mechanism.sigma) >= Fraction(sigma)
    assert not isinstance(sigma, float) or mechanism.sigma == sigma
    assert mechanism.rho == 64 / (2 * Fraction(mechanism.sigma) ** 2)
    assert mechanism.event().dimension == 3


def test_the_sampling_librarys_own_price_agrees_from_the_safe_side():
    integers = vector_domain(atom_domain(T="i64"))
    for rho in (0.001, 0.1, 0.5, 3):
        for sensitivity in (1, 2, 50):
            mechanism = Gaussian(sensitivity=sensitivity, rho=rho)
            theirs = Fraction(make_gaussian(integers, l2_distance(T=float), mechanism.sigma).map(float(sensitivity)))
            assert mechanism.rho <= theirs <= mechanism.rho * (1 + Fraction(1, 2**50))


@pytest.mark.guarantee("mechanisms.gaussian")
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1, 1e-6), (8, 1e-6), (2, 0.1)])
@pytest.mark.parametrize("sensitivity", [1, 5, 10**5])
def test_a_scalar_calibrated_to_epsilon_and_delta_keeps_them_with_less_noise_than_through_rho(
    sensitivity, epsilon, delta
):
    mechanism = Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta)
    assert delta_up(mechanism.sigma, sensitivity, Fraction(str(epsilon))) <= Fraction(str(delta))
    assert mechanism.delta(epsilon) <= Fraction(str(delta))
    vector = Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta, dimension=2)
    assert mechanism.sigma < vector.sigma < 1.8 * mechanism.sigma


def test_calibration_matches_the_known_value_at_1_and_1e_6():
    assert Gaussian(sensitivity=1, epsilon=1, delta=1e-6).sigma == pytest.approx(4.2304, abs=1e-3)
    wide = Gaussian(sensitivity=10**6, epsilon=1, delta=1e-6).sigma / 10**6
    assert wide == pytest.approx(analytic_sigma(1, 1, 1e-6), rel=2e-4)


def test_a_vector_goes_through_rho():
    mechanism = Gaussian(sensitivity=2, epsilon=1, delta=1e-6, dimension=4)
    assert mechanism.rho <= rho_of(Fraction(1), Fraction(1, 10**6))
    assert epsilon_of(mechanism.rho, Fraction(1, 10**6)) <= 1 + Fraction(1, 10**12)
    assert mechanism.delta(1) == brief_up(delta_of(mechanism.rho, Fraction(1)))


def test_a_sensitivity_between_grid_steps_counts_the_whole_steps_that_fit():
    """Answers on the grid cannot move by 1.9 steps, only by 1; by less than a step is taken as a step."""
    whole = Gaussian(sensitivity=1, epsilon=1, delta=1e-6).sigma
    assert Gaussian(sensitivity=1.9, epsilon=1, delta=1e-6).sigma == pytest.approx(whole, rel=2e-4)
    assert Gaussian(sensitivity=0.5, epsilon=1, delta=1e-6).delta(1) <= Fraction(1, 10**6)


@pytest.mark.pitfall("B14")
def test_at_8_and_1e_6_the_continuous_formula_would_miss_delta_by_a_factor_of_three():
    continuous = analytic_sigma(1, 8, 1e-6)
    true_delta = delta_up(continuous, 1, Fraction(8))
    assert true_delta / Fraction(1, 10**6) == pytest.approx(3, abs=0.1)
    theirs = privacy_loss_distribution.from_discrete_gaussian_mechanism(continuous, 1, pessimistic_estimate=False)
    assert theirs.get_delta_for_epsilon(8.0) > 2.9e-6
    assert Gaussian(sensitivity=1, epsilon=8, delta=1e-6).delta(8) <= Fraction(1, 10**6)


@pytest.mark.parametrize("sigma", [0.2, 0.5, 1.0, 1.9, 2.1, 10.0, 63.0])
def test_the_pmf_sums_to_one_and_agrees_with_cdf_tail_and_variance(sigma):
    mechanism = Gaussian.with_sigma(sigma=sigma, sensitivity=1)
    reach = math.ceil(12 * sigma) + 3
    assert math.fsum(mechanism.pmf(y) for y in range(-reach, reach + 1)) == pytest.approx(1, abs=1e-13)
    for y in range(-3, 4):
        assert mechanism.pmf(y) == pytest.approx(mechanism.pmf(0) * math.exp(-y * y / (2 * sigma**2)), rel=1e-12)
        assert mechanism.cdf(y) - mechanism.cdf(y - 1) == pytest.approx(mechanism.pmf(y), rel=1e-9, abs=1e-14)
    for t in (0, 1, 5):
        inside = math.fsum(mechanism.pmf(y) for y in range(-t, t + 1))
        assert mechanism.coverage(t) == pytest.approx(inside, abs=1e-13)
    spread = math.fsum(y * y * mechanism.pmf(y) for y in range(-reach, reach + 1))
    assert mechanism.variance == pytest.approx(spread, rel=1e-10)
    assert mechanism.standard_deviation == pytest.approx(math.sqrt(spread), rel=1e-10)


@pytest.mark.parametrize("t", [0, 30, 100, 200, 400])
def test_wide_tails_agree_with_the_sum(t):
    mechanism = Gaussian.with_sigma(sigma=65.0, sensitivity=1)
    summed = math.fsum(mechanism.pmf(y) for y in range(t + 1, t + 1500))
    assert mechanism.tail(t) == pytest.approx(2 * summed, rel=1e-7)
    assert mechanism.cdf(t) == pytest.approx(1 - summed, abs=1e-8)


def test_probabilities_far_out_are_zero_and_not_an_error():
    for sigma in (1.0, 1e6):
        mechanism = Gaussian.with_sigma(sigma=sigma, sensitivity=1)
        assert mechanism.pmf(10**400) == mechanism.tail(10**400) == mechanism.cdf(-(10**400)) == 0
        assert mechanism.cdf(10**400) == mechanism.tail(-1) == 1


@over("sigma", [0.2, 1.0, 10.0, 63.0, 65.0, 1e4, 2.0**50])
@over("confidence", [0.01, 0.5, 0.95, 1 - 1e-9])
def test_a_margin_covers_and_one_step_less_does_not(sigma, confidence):
    mechanism = Gaussian.with_sigma(sigma=sigma, sensitivity=1)
    steps = int(mechanism.margin(confidence))
    assert mechanism.coverage(steps) >= confidence - 1e-15
    if sigma < 2**50:  # beyond, one step is less than floats can tell
        assert steps == 0 or mechanism.coverage(steps - 1) < confidence
    if sigma > 1000:
        assert steps / sigma == pytest.approx(norm.ppf((1 + confidence) / 2), rel=1e-2 / sigma + 1e-7, abs=1 / sigma)


@pytest.mark.parametrize("count", [1, 2, 10**6])
@pytest.mark.parametrize("sigma", [0.5, 10.0, 1e4])
def test_a_simultaneous_margin_covers_all_draws_and_one_step_less_does_not(sigma, count):
    mechanism = Gaussian.with_sigma(sigma=sigma, sensitivity=1)
    steps = int(mechanism.simultaneous_margin(count, 0.9))
    assert count * math.log1p(-mechanism.tail(steps)) >= math.log(0.9)
    assert steps == 0 or count * math.log1p(-mechanism.tail(steps - 1)) < math.log(0.9)


def test_margins_speak_the_answers_own_terms():
    fine = Gaussian.with_sigma(sigma=10.0, sensitivity=1, grid=Fraction(1, 10))
    assert fine.margin() == Gaussian.with_sigma(sigma=10.0, sensitivity=1).margin() / 10
    assert fine.coverage(fine.margin()) >= 0.95
    assert fine.standard_deviation == pytest.approx(1)


@pytest.mark.statistical(false_alarm=1e-6)
def test_released_answers_stay_within_the_margin_as_often_as_it_says(samples):
    """False-alarm rate 1e-6."""
    mechanism = Gaussian(sensitivity=2, rho=0.5)
    margin, many = mechanism.margin(0.9), samples(5_000)
    within = sum(abs(y - 100) <= margin for y in mechanism.release([100] * many))
    assert binomtest(within, many, mechanism.coverage(margin)).pvalue > 1e-6


def test_an_epsilon_below_zero_has_no_delta():
    with pytest.raises(ParameterError, match="epsilon"):
        Gaussian(sensitivity=1, rho=1).delta(-1)


@pytest.mark.parametrize(
    "parameters",
    [
        {"rho": 1},
        {"sensitivity": 1, "squared_sensitivity": 1, "rho": 1},
        {"sensitivity": 1},
        {"sensitivity": 1, "epsilon": 1},
        {"sensitivity": 1, "delta": 1e-6},
        {"sensitivity": 1, "rho": 1, "epsilon": 1, "delta": 1e-6},
        {"sensitivity": 1, "rho": 1, "delta": 1e-6},
    ],
    ids=repr,
)
def test_an_unclear_price_or_sensitivity_is_refused_with_code_that_works(parameters):
    with pytest.raises(ParameterError) as refusal:
        Gaussian(**parameters)
    for code in refusal.value.instead.split(", or "):
        assert eval(code, {"Gaussian": Gaussian, "dp": dp})  # noqa: S307 - the corrected code is code


@over("value", HOSTILE)
@over("name", ["sensitivity", "squared_sensitivity", "rho", "epsilon", "delta", "grid", "sigma", "dimension"])
def test_numbers_that_are_none_are_refused_by_name(name, value):
    good = {"sensitivity": 1} if name != "squared_sensitivity" else {}
    good |= {"epsilon": 1, "delta": 1e-6} if name in ("epsilon", "delta") else {"rho": 1}
    make = Gaussian
    if name == "sigma":
        make, good = Gaussian.with_sigma, {"sensitivity": 1}
    with pytest.raises(Refusal, match=name) as refusal:
        make(**good | {name: value})
    assert f"{name}=" in refusal.value.instead


@pytest.mark.parametrize("delta", [1, 1.5, math.nan, 0, -1e-9], ids=repr)
def test_deltas_that_are_no_small_probability_are_refused(delta):
    with pytest.raises(Refusal, match="delta"):
        Gaussian(sensitivity=1, epsilon=1, delta=delta)


@pytest.mark.parametrize(
    "parameters",
    [
        {"sensitivity": 1, "rho": 1e-320},
        {"sensitivity": 1e300, "rho": 1e-300},
        {"sensitivity": 1, "rho": 1, "grid": 1e-20},
        {"sensitivity": 1e-320, "rho": 1},
        {"sensitivity": 1, "rho": 1e300},
        {"sensitivity": 1, "epsilon": 1e-20, "delta": 1e-30},
        {"sensitivity": 1, "epsilon": 1e300, "delta": 1e-6},
        {"sensitivity": 1e40, "epsilon": 1, "delta": 1e-6},
    ],
    ids=repr,
)
def test_sigmas_beyond_the_sampler_are_refused(parameters):
    with pytest.raises(ParameterError, match="steps of the grid") as refusal:
        Gaussian(**parameters)
    assert eval(refusal.value.instead.split(":")[0], {"Gaussian": Gaussian})  # noqa: S307 - the corrected code is code


def test_an_epsilon_and_delta_that_no_rho_reaches_are_refused():
    with pytest.raises(Refusal) as refusal:
        Gaussian(sensitivity=1, epsilon=1e-320, delta=1e-300)
    assert eval(f"Gaussian(sensitivity=1, {refusal.value.instead})", {"Gaussian": Gaussian})  # noqa: S307


def test_the_classic_formula_gives_the_textbooks_value_and_is_refused_from_1_on():
    assert classic_sigma(1, 0.5, 1e-5) == pytest.approx(2 * math.sqrt(2 * math.log(1.25e5)))
    for epsilon in (1, 1.0, 8):
        with pytest.raises(AccountingError, match="epsilon >= 1"):
            classic_sigma(1, epsilon, 1e-5)


def test_the_analytic_formula_solves_its_equation_and_is_refused_where_floats_lose_it():
    for epsilon, delta in ((0.1, 1e-9), (1, 1e-6), (8, 1e-6), (100, 1e-3)):
        sigma = analytic_sigma(3, epsilon, delta) / 3
        reached = norm.sf(epsilon * sigma - 1 / (2 * sigma)) - math.exp(epsilon) * norm.sf(
            epsilon * sigma + 1 / (2 * sigma)
        )
        assert reached == pytest.approx(delta, rel=1e-6)
    for epsilon, delta in ((501, 1e-6), (1e-9, 1e-12)):
        with pytest.raises(AccountingError, match="extreme"):
            analytic_sigma(1, epsilon, delta)


def test_the_renyi_formula_is_the_square_root_and_needs_an_order_above_1():
    assert renyi_sigma(2, 20, 0.1) == pytest.approx(20)
    for alpha in (1, 0.5, -3):
        with pytest.raises(ParameterError, match="alpha"):
            renyi_sigma(1, alpha, 1)


@over("formula", [classic_sigma, analytic_sigma, renyi_sigma])
@over("value", HOSTILE)
def test_formulas_for_study_refuse_what_is_no_number(formula, value):
    good = {classic_sigma: (1, 0.5, 1e-6), analytic_sigma: (1, 1, 1e-6), renyi_sigma: (1, 2, 1)}[formula]
    for place in range(3):
        arguments = list(good)
        arguments[place] = value
        with pytest.raises(Refusal):
            formula(*arguments)
