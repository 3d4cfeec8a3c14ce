"""Propose, test, release: the threshold is the least that is safe, and the exact law keeps (2 epsilon, delta)."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from small_worlds import datasets, neighbours

from discreet.accounting import prices
from discreet.errors import ParameterError
from discreet.exact.rounding import exp_down, exp_up, log_up
from discreet.mechanisms.smooth import BoundedMean, InterquartileRange, Median, ProposeTestRelease, SuppliedBounds
from discreet.mechanisms.smooth.proposing import distance, least_threshold

VALUES = range(4)
STEPS = np.arange(-3_000, 3_001)


def passing(scale, threshold):
    """P[Y > threshold] = q^(threshold + 1)/(1 + q) from below and from above."""
    step = -1 / Fraction(scale)
    low = exp_down(step * (threshold + 1)) / (1 + exp_up(step))
    return low, exp_up(step * (threshold + 1)) / (1 + exp_down(step))


@pytest.mark.guarantee("mechanisms.smooth.proposing")
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1, 7], ids=repr)
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.2, 0.9], ids=repr)
def test_unsafe_data_pass_with_at_most_delta_and_one_step_less_would_not_do(epsilon, delta):
    mechanism = ProposeTestRelease(bound=1, epsilon=epsilon, delta=delta)
    assert passing(mechanism.scale, mechanism.threshold)[1] <= mechanism.delta
    assert mechanism.threshold == 0 or passing(mechanism.scale, mechanism.threshold - 1)[0] > mechanism.delta
    assert mechanism.chance(0) == pytest.approx(float(passing(mechanism.scale, mechanism.threshold)[1]), rel=1e-9)


@pytest.mark.guarantee("mechanisms.smooth.proposing")
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("max_rows", [1, 2])
def test_the_distance_of_neighbours_differs_by_at_most_one(relation, max_rows):
    options = {"max_rows": max_rows, "neighbours": relation}
    made = [
        lambda rows: BoundedMean(total=sum(rows), count=len(rows), bounds=(0, 3), **options),
        lambda rows: Median(list(rows), bounds=(0, 3), **options),
        lambda rows: InterquartileRange(list(rows), bounds=(0, 3), **options),
    ]
    for local in made:
        for bound in (Fraction(1, 2), Fraction(2), Fraction(5)):
            known: dict[tuple[int, ...], int | None] = {}
            for rows in datasets(VALUES, 4):
                for each in (rows, *neighbours(rows, VALUES, max_rows, relation)):
                    if each not in known:
                        known[each] = distance(local(each), bound)
                around = [known[other] for other in neighbours(rows, VALUES, max_rows, relation)]
                if known[rows] is None:
                    assert set(around) == {None}
                else:
                    assert all(abs(known[rows] - other) <= 1 for other in around)
                    assert (known[rows] == 0) == (local(rows).at(0) > bound)


def law(local, bound, epsilon, threshold):
    """The probabilities of None and of each multiple of a grid of 1/2, with both tails as two more outcomes."""
    far, q = distance(local, Fraction(bound)), math.exp(-epsilon)
    ahead = far - threshold
    passes = 1 - q**ahead / (1 + q) if ahead > 0 else q ** (1 - ahead) / (1 + q)
    edges = ((STEPS[:-1] + 0.5) / 2 - float(local.value())) * epsilon / bound
    answers = np.diff(stats.laplace.cdf(edges), prepend=0, append=1)
    return np.concatenate([[1 - passes], passes * answers])


def worst_delta(bound, epsilon, threshold, relation):
    """The greatest hockey-stick divergence at 2 epsilon over all neighbours of up to five rows."""
    laws, worst = {}, 0.0

    def of(rows):
        if rows not in laws:
            laws[rows] = law(Median(list(rows), bounds=(0, 3), neighbours=relation), bound, epsilon, threshold)
        return laws[rows]

    for rows in datasets(range(0, 4, 3), 14):
        for other in neighbours(rows, range(0, 4, 3), 1, relation):
            for p, q in ((of(rows), of(other)), (of(other), of(rows))):
                worst = max(worst, np.maximum(0, p - math.exp(2 * epsilon) * q).sum())
    return worst


@pytest.mark.guarantee("mechanisms.smooth.proposing")
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("delta", [1e-2, 1e-3])
def test_the_exact_law_of_what_leaves_keeps_two_epsilon_and_delta(relation, delta):
    mechanism = ProposeTestRelease(bound=0.1, epsilon=1, delta=delta, grid=0.5)
    assert delta / 4 < worst_delta(0.1, 1.0, mechanism.threshold, relation) <= delta


@pytest.mark.pitfall("B16")
def test_the_textbooks_threshold_lets_unsafe_data_pass_a_hundred_times_too_often():
    delta = Fraction(1, 10**5)
    textbook = log_up(2 / delta) / 2
    continuous = exp_down(-textbook) / 2
    assert float(continuous) == pytest.approx(math.sqrt(1e-5 / 8), rel=1e-9)
    assert float(continuous) == pytest.approx(1.1e-3, rel=0.02)
    assert float(passing(1, math.floor(textbook))[0]) > 60e-5
    ours = ProposeTestRelease(bound=1, epsilon=1, delta=delta)
    assert (ours.threshold, math.floor(textbook)) == (11, 6)
    assert passing(1, ours.threshold)[1] <= delta


@pytest.mark.pitfall("B16")
def test_the_textbooks_threshold_breaks_two_epsilon_and_delta_on_a_median():
    delta = 1e-3
    assert worst_delta(0.1, 1.0, math.floor(math.log(2 / delta) / 2), "add_remove") > 5 * delta


def test_the_price_is_two_epsilon_and_delta_with_half_the_rho_of_that():
    for epsilon in (0.1, 0.3, 1):
        mechanism = ProposeTestRelease(bound=1, epsilon=epsilon, delta=1e-6)
        price = prices.total(mechanism.event())
        asked = Fraction(str(epsilon))
        assert 2 * asked * (1 - Fraction(1, 2**50)) <= price.epsilon <= 2 * asked
        assert price.delta == Fraction(1, 10**6)
        assert asked**2 * (1 - Fraction(1, 2**50)) <= price.rho <= asked**2


def test_data_that_break_the_bound_give_nothing_and_safe_data_an_answer():
    """False-alarm rate below 1e-12 for all 40 releases: 20 times delta, and e^-40 for each answer."""
    mechanism = ProposeTestRelease(bound=1, epsilon=1, delta=1e-14, grid=Fraction(1, 4))
    unsafe = Median([0] * 500 + [100] * 500, bounds=(0, 100))
    safe = Median([50] * 1_000, bounds=(0, 100))
    assert [mechanism.release(unsafe) for _ in range(20)] == [None] * 20
    answers = [mechanism.release(safe) for _ in range(20)]
    assert all(answer is not None and (4 * answer).denominator == 1 and abs(answer - 50) < 40 for answer in answers)


@pytest.mark.statistical(false_alarm=1e-6)
def test_it_passes_as_often_as_it_says(samples):
    """Binomial, false-alarm rate 1e-6."""
    mechanism = ProposeTestRelease(bound=1, epsilon=1, delta=0.05)
    local = SuppliedBounds(value=0, at=lambda k: 0 if k < mechanism.threshold else 9, largest=9)
    assert distance(local, Fraction(1)) == mechanism.threshold
    many = samples(600)
    released = sum(mechanism.release(local) is not None for _ in range(many))
    assert stats.binomtest(released, many, mechanism.chance(mechanism.threshold)).pvalue > 1e-6


def test_the_chance_is_that_of_the_discrete_noise():
    mechanism = ProposeTestRelease(bound=1, epsilon=0.5, delta=1e-3)
    q = math.exp(-1 / mechanism.scale)
    pmf = {y: (1 - q) / (1 + q) * q ** abs(y) for y in range(-400, 401)}
    for far in (0, 1, mechanism.threshold, mechanism.threshold + 1, 40):
        exact = sum(mass for y, mass in pmf.items() if far + y > mechanism.threshold)
        assert mechanism.chance(far) == pytest.approx(exact, rel=1e-9)


def test_a_bound_that_no_data_can_break_always_gives_an_answer():
    mechanism = ProposeTestRelease(bound=100, epsilon=1, delta=1e-9)
    local = Median([0, 100], bounds=(0, 100))
    assert distance(local, Fraction(100)) is None
    assert all(mechanism.release(local) is not None for _ in range(20))
    fixed = BoundedMean(total=5, count=50, bounds=(0, 5), neighbours="replace_one", count_is_public=True)
    assert distance(fixed, Fraction(1, 10)) is None
    assert distance(fixed, Fraction(1, 11)) == 0


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_margin_covers_noise_and_rounding(samples):
    """Binomial, false-alarm rate 1e-6."""
    mechanism = ProposeTestRelease(bound=2, epsilon=1, delta=1e-3, grid=Fraction(1, 2))
    assert mechanism.margin(0.95) == Fraction(13, 2)  # 2 ln 20 + 1/4 = 6.24, rounded up to the grid
    local = SuppliedBounds(value=Fraction(1, 3), at=lambda k: k, largest=1)
    many = samples(400)
    inside = sum(abs(mechanism.release(local) - Fraction(1, 3)) <= mechanism.margin(0.9) for _ in range(many))
    assert stats.binomtest(inside, many, 0.9, alternative="less").pvalue > 1e-6


def test_the_distance_is_the_least_one_at_which_the_bound_can_break():
    for table in ([0, 0, 3, 3, 8], [5], [0, 1, 2, 3, 4, 5, 6, 9]):
        local = SuppliedBounds(value=0, at=lambda k, table=table: table[k], largest=9, reach=len(table))
        for bound in range(9):
            slow = next((k for k in range(len(table) + 1) if local.at(k) > bound), None)
            assert distance(local, Fraction(bound)) == slow


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(1), Fraction(2**49)])
def test_a_threshold_is_found_for_any_scale(scale):
    for delta in (Fraction(1, 10**300), Fraction(1, 2), Fraction(99, 100)):
        threshold = least_threshold(scale, delta)
        assert passing(scale, threshold)[1] <= delta
        assert threshold == 0 or passing(scale, threshold - 1)[0] > delta


@pytest.mark.parametrize(
    "changed",
    [{"bound": 0}, {"bound": math.nan}, {"epsilon": 0}, {"epsilon": 1e-300}, {"delta": 0}, {"delta": 1}, {"grid": -1}],
    ids=repr,
)
def test_parameters_that_make_no_sense_are_refused_by_name(changed):
    with pytest.raises(ParameterError) as refusal:
        ProposeTestRelease(**{"bound": 1, "epsilon": 1, "delta": 1e-6} | changed)
    assert refusal.value.instead
