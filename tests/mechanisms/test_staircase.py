"""Staircase: the ratio of probabilities is within e^epsilon for L0 and Linf and not for L1, and draws fit the pmf."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import discreet as dp
from discreet.errors import ParameterError
from discreet.exact.rounding import exp_down, exp_up
from discreet.mechanisms import Laplace, Staircase
from discreet.mechanisms.staircase import LEAST_INNER, best_inner
from grids import over

positives = st.fractions(min_value=Fraction(1, 100), max_value=20, max_denominator=10**4)


def stair(y, noise):
    """How many times the probability has fallen from that of zero: exact."""
    return (abs(y) + noise.step - noise.inner) // noise.step


@pytest.mark.guarantee("mechanisms.staircase")
@settings(deadline=None, max_examples=40)
@given(step=st.integers(1, 12), inner=st.integers(1, 12), epsilon=positives)
def test_probabilities_of_neighbours_stay_within_e_to_the_epsilon_and_reach_it(step, inner, epsilon):
    noise = Staircase(sensitivity=step, epsilon=epsilon, inner=min(inner, step))
    falls = [stair(y + shift, noise) - stair(y, noise) for y in range(-60, 61) for shift in range(-step, step + 1)]
    assert max(falls) / Fraction(noise.scale) == noise.epsilon
    assert noise.epsilon <= epsilon


@pytest.mark.guarantee("mechanisms.staircase")
def test_the_guarantee_of_a_vector_follows_the_coordinates_that_move_and_how_far_each_does():
    noise = Staircase(sensitivity=3, epsilon=1, coordinates=2, inner=2)
    shifts = list(product(range(-3, 4), repeat=2))
    losses = [
        sum(stair(y - s, noise) - stair(y, noise) for y, s in zip(point, shift, strict=True)) / Fraction(noise.scale)
        for point in product(range(-8, 9), repeat=2)
        for shift in shifts
    ]
    assert max(losses) == noise.epsilon == 1


@pytest.mark.guarantee("mechanisms.staircase")
def test_calibrated_by_l1_alone_two_small_shifts_cost_twice_the_epsilon():
    wrong = Staircase(sensitivity=2, epsilon=1, inner=1)
    loss = 2 * (stair(1, wrong) - stair(0, wrong)) / Fraction(wrong.scale)
    assert loss == 2 * wrong.epsilon


@pytest.mark.statistical(false_alarm=1e-9)
def test_draws_fit_the_probabilities(samples):
    noise = Staircase(sensitivity=5, epsilon=2)
    draws = noise.draw(samples(20_000))
    reach = 12
    places = [*range(-reach, reach + 1)]
    seen = [draws.count(y) for y in places]
    expected = [len(draws) * noise.pmf(y) for y in places]
    rest = len(draws) * noise.tail(reach)
    outside = len(draws) - sum(seen)
    result = chisquare([*seen, outside], [*expected, rest], sum_check=False)
    assert result.pvalue > 1e-9


def tail_bounds(noise, t):
    """P[|Y| > t], summed stair by stair, from below and from above."""
    decay = -1 / Fraction(noise.scale)
    ratios = exp_down(decay), exp_up(decay)
    places = Counter(stair(y, noise) for y in range(-t, t + 1))
    within = [
        sum(count * round_(decay * level) for level, count in places.items()) if t >= 0 else 0
        for round_ in (exp_down, exp_up)
    ]
    totals = [2 * (noise.inner + noise.step * ratio / (1 - ratio)) - 1 for ratio in ratios]
    return 1 - within[1] / totals[0], 1 - within[0] / totals[1]


@over("confidence", [0.01, 0.5, 0.95, 1 - 1e-9])
@over("step", [1, 3, 50])
@over("epsilon", [0.2, 1, 5])
def test_a_margin_covers_and_one_step_less_does_not(epsilon, step, confidence):
    noise = Staircase(sensitivity=step, epsilon=epsilon)
    steps = int(noise.margin(confidence))
    outside = 1 - Fraction(repr(confidence))
    assert tail_bounds(noise, steps)[1] <= outside + Fraction(1, 10**40)
    assert steps == 0 or tail_bounds(noise, steps - 1)[0] > outside - Fraction(1, 10**40)


def test_at_sensitivity_one_it_is_the_discrete_laplace_mechanism():
    for epsilon in (0.1, 1, 4):
        staircase, laplace = Staircase(sensitivity=1, epsilon=epsilon), Laplace(sensitivity=1, epsilon=epsilon)
        assert [staircase.pmf(y) for y in range(30)] == pytest.approx([laplace.pmf(y) for y in range(30)], rel=1e-12)
        assert staircase.margin() == laplace.margin()


def test_its_variance_is_never_above_that_of_laplace_noise_and_far_below_at_a_large_epsilon():
    ratios = {}
    for epsilon, step in product((0.1, 1, 2, 4, 8), (1, 2, 10, 1000)):
        staircase, laplace = Staircase(sensitivity=step, epsilon=epsilon), Laplace(sensitivity=step, epsilon=epsilon)
        ratios[epsilon, step] = staircase.variance / laplace.variance
    assert max(ratios.values()) <= 1 + 1e-9
    assert ratios[4, 1000] < 0.53
    assert ratios[8, 1000] < 0.11


def test_the_inner_width_has_the_least_variance_of_all():
    for scale, step in product((0.3, 1.0, 5.0), (2, 17, 64)):
        least = max(1, math.ceil(step * LEAST_INNER))
        widths = range(least, step + 1)
        by_variance = {
            inner: Staircase(sensitivity=step, epsilon=1 / Fraction(scale), inner=inner).variance for inner in widths
        }
        chosen = best_inner(scale, step)
        assert by_variance[chosen] == pytest.approx(min(by_variance.values()), rel=1e-9)


def test_moments_are_infinite_where_the_tail_is_heavier():
    noise = Staircase(sensitivity=4, epsilon=1)
    assert noise.log_moment(0) == 0
    assert noise.log_moment(0.2499) < math.inf
    assert noise.log_moment(0.25) == math.inf


@pytest.mark.parametrize("epsilon", [1, 20, 1_000, 10**6])
@pytest.mark.parametrize("part", [1e-3, 0.5, 0.9])
def test_moments_are_those_of_the_sum_where_its_terms_exceed_every_float_too(epsilon, part):
    noise = Staircase(sensitivity=4, epsilon=epsilon)

    def log_sum(s):
        terms = [noise.log_weight(y) + s * y for y in range(-2_000, 2_001)]
        return max(terms) + math.log(math.fsum(math.exp(term - max(terms)) for term in terms))

    s = part * epsilon / 4
    assert noise.log_moment(s) == pytest.approx(log_sum(s) - log_sum(0), rel=1e-9, abs=1e-12)
    assert noise.log_moment(-s) == noise.log_moment(s)


@pytest.mark.parametrize(
    "words",
    [{"inner": 0}, {"inner": 11}, {"coordinates": 0}, {"epsilon": 0}, {"sensitivity": 2**63}, {"epsilon": 1e-20}],
)
def test_what_cannot_be_drawn_is_refused(words):
    with pytest.raises(ParameterError):
        Staircase(**{"sensitivity": 10, "epsilon": 1} | words)


ROWS = pa.table({"id": range(300), "ward": ["A", "B"] * 150, "cost": [i % 90 for i in range(300)]})


class TestPlanned:
    def session(self):
        budget = dp.Budget(epsilon=100, ceiling=100)
        return dp.protect(ROWS, name="t", privacy_unit="id", max_rows=1, budget=budget, ledger=":memory:")

    def query(self, **outputs):
        table = dp.table("t")
        return table.group_by("ward", keys={"ward": ["A", "B"]}).agg(**outputs)

    def test_it_is_chosen_where_its_margin_is_the_smallest_and_costs_no_more(self):
        session = self.session()
        total = self.query(total=dp.sum("cost", bounds=(0, 100)))
        assert "discrete staircase" in str(session.explain(total, epsilon=6))
        assert "discrete Laplace" in str(session.explain(total, epsilon=0.5))
        chosen = session.explain(total, epsilon=6).outputs[0].margin
        plain = session.explain(total, epsilon=6, mechanism="laplace").outputs[0].margin
        assert chosen < plain / 3
        release = session.release(total, epsilon=6)
        assert release.measured[0].mechanism == "discrete staircase"
        assert release.measured[0].shape[0] == 100

    def test_it_is_never_chosen_at_sensitivity_one(self):
        counts = self.query(n=dp.count())
        for epsilon in (0.1, 1, 6, 20):
            assert "discrete Laplace" in str(self.session().explain(counts, epsilon=epsilon))

    def test_it_can_be_asked_for_and_a_saved_release_has_its_noise_again(self):
        session = self.session()
        release = session.release(self.query(total=dp.sum("cost", bounds=(0, 100))), epsilon=1, mechanism="staircase")
        again = dp.Release.from_json(release.to_json())
        assert again.measured == release.measured
        assert again.measured[0].noise == Staircase(sensitivity=100, epsilon=1)
        assert again.total("total").margin > 0

    def test_where_answers_are_weighted_sums_it_is_refused(self):
        table = dp.table("t")
        for query in (
            table.ranges("cost", ranges=[(0, 50), (50, 100)]),
            table.agg(middle=dp.median("cost", bounds=(0, 100))),
        ):
            with pytest.raises(ParameterError, match="mechanism='laplace'"):
                self.session().explain(query, epsilon=1, mechanism="staircase")

    def test_a_stored_answer_of_laplace_noise_is_repeated_for_free(self):
        """The fingerprint says what was asked, and the one of format 0 is that of the plan with Laplace noise."""
        session = self.session()
        total = self.query(total=dp.sum("cost", bounds=(0, 100)))
        first = session.release(total, epsilon=6)
        left = session.remaining().epsilon
        assert session.release(total, epsilon=6).repeated
        assert session.remaining().epsilon == left
        assert first.repeated is False
