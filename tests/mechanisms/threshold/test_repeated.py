"""Stages: exact divergences stay within those that the event states, and each stage has a threshold of its own."""

import copy
import math
import pickle
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from transcripts import Gap, probability, transcripts

from discreet.accounting import filters
from discreet.accounting.renyi import divergence_over_order
from discreet.auditing.exact import stated
from discreet.errors import BudgetError, EntropyError, ParameterError, UnsupportedError
from discreet.events import ComposedEvent, DiscreteGaussianEvent, PureEvent, RepeatedEvent, from_canonical
from discreet.events import canonical as text_of
from discreet.exact.rounding import exp_down
from discreet.mechanisms import Gaussian, Laplace, Staircase
from discreet.mechanisms.threshold import AboveThreshold, RepeatedAboveThreshold, stream
from fits import fit
from grids import over

HALF = Fraction(1, 2)
DECAYS = [(Fraction(3, 4), Fraction(7, 8)), (HALF, Fraction(1, 8)), (Fraction(7, 8), Fraction(1, 3))]
ORDERS = [2, 5, 20]
SURE = 10**9  # at scales below 10^3, noise reaches it with a probability below e^-10^5
STAGE = AboveThreshold(threshold=0, epsilon=1)

one_stage = cache(probability)


def in_stages(decays, questions, told, each=1):
    """The probability of all that is told, where a stage ends after so many above."""
    chance, start, above = Fraction(1), 0, 0
    for place, what in enumerate(told, 1):
        above += what is not False
        if place == len(told) or (above == each and what is not False):
            chance *= one_stage(*decays, tuple(questions[start:place]), tuple(told[start:place]))
            start, above = place, 0
    return chance


def coins(decays, order, *, stages, each=1, one_way=False):
    """The moment of order alpha of as many randomised responses as there are stages: e^((alpha - 1) divergence)."""
    odds = decays[0] ** -1 * decays[1] ** (-(1 if one_way else 2) * each)
    return ((odds**order + odds ** (1 - order)) / (1 + odds)) ** stages


def asked_along(plan, told):
    """The questions of an analyst who chooses by how many were above, as pairs of exact answers on neighbours."""
    return [plan[place][sum(what is not False for what in told[:place])] for place in range(len(told))]


def plans(pairs, length):
    """All analysts who choose each question by its place and by how many were above before it."""
    return product(*(product(pairs, repeat=place + 1) for place in range(length)))


def moment(decays, order, plan, length, *, stages, each=1, above=(True,)):
    """The sum of P^alpha Q^(1 - alpha) over all that can be told to an analyst."""
    total = Fraction(0)
    for told in transcripts(length, stages * each, above):
        here, there = zip(*asked_along(plan, told), strict=True)
        p, q = (in_stages(decays, side, told, each) for side in (here, there))
        total += p**order * q ** (1 - order)
    return total


@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_the_probabilities_of_all_that_can_be_told_sum_to_one(stages, each):
    questions = (0, 1, -1, 2)
    told = list(transcripts(4, stages * each))
    assert sum(in_stages(DECAYS[1], questions[: len(t)], t, each) for t in told) == 1


@pytest.mark.guarantee("mechanisms.threshold.repeated")
@pytest.mark.parametrize("decays", DECAYS, ids=str)
@pytest.mark.parametrize(("stages", "each"), [(2, 1), (3, 1), (2, 2)])
def test_the_divergence_of_stages_is_at_most_that_of_as_many_coins_for_every_analyst(decays, stages, each):
    """Analysts who choose each question by what was told before, over three of them."""
    pairs = [(0, 1), (1, 0)] if stages == each == 2 else [(0, 1), (1, 0), (0, 0)]
    for plan in plans(pairs, 3):
        for order in ORDERS[:2]:
            assert moment(decays, order, plan, 3, stages=stages, each=each) <= coins(
                decays, order, stages=stages, each=each
            )


@pytest.mark.guarantee("mechanisms.threshold.repeated")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("pairs", [[(0, 1), (0, 0)], [(1, 0), (0, 0)]], ids=["up", "down"])
def test_stages_whose_answers_move_one_way_cost_less(pairs, order):
    bound = coins(DECAYS[0], order, stages=2, one_way=True)
    assert bound < coins(DECAYS[0], order, stages=2)
    assert all(moment(DECAYS[0], order, plan, 3, stages=2) <= bound for plan in plans(pairs, 3))


@pytest.mark.guarantee("mechanisms.threshold.repeated")
@pytest.mark.parametrize("order", ORDERS)
def test_the_gap_is_free_in_every_stage(order):
    gaps = tuple(Gap(g) for g in range(6))
    for plan in plans([(0, 1), (1, 0)], 2):
        assert moment(DECAYS[0], order, plan, 2, stages=2, above=gaps) <= coins(DECAYS[0], order, stages=2)


@pytest.mark.guarantee("mechanisms.threshold.repeated")
def test_each_stage_can_reach_its_epsilon_so_no_smaller_number_of_coins_would_do():
    """Ten below and one above, three times: the ratio is more than that of two stages could be."""
    decays = DECAYS[1]
    told = ((False,) * 10 + (True,)) * 3
    here, there = ((0,) * 10 + (1,)) * 3, ((1,) * 10 + (0,)) * 3
    ratio = in_stages(decays, here, told) / in_stages(decays, there, told)
    epsilon = decays[0] ** -1 * decays[1] ** -2
    assert epsilon**2 < ratio <= epsilon**3


def divergence(law, one, other, order):
    """The Renyi divergence of two laws in floats, but for numbers at the far end that one of them leaves out."""
    p, q = law(one), law(other)
    return math.log(math.fsum(p[told] ** order * q[told] ** (1 - order) for told in p.keys() & q)) / (order - 1)


NOISES = {"none": None, "gaussian": Gaussian(sensitivity=1, rho=HALF), "laplace": Laplace(sensitivity=1, epsilon=1)}


@pytest.mark.guarantee("mechanisms.threshold.repeated")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("order", [2, 4])
def test_the_law_of_the_very_scales_that_are_drawn_keeps_what_the_event_states(noise, monotone, order):
    """Gaussian and Laplace answers included; the event is what an accountant reads."""
    each = AboveThreshold(threshold=0, epsilon=Fraction(3, 2), monotone=monotone)
    made = RepeatedAboveThreshold(each, times=2, answer_noise=NOISES[noise])
    one, other = ([0, 0, 0], [1, 1, 1]) if monotone else ([-1, 1, 0, 1], [0, 0, 1, 0])
    law, stated_divergence = stated.of_watch(made), float(order * divergence_over_order(made.event(), Fraction(order)))
    found = max(divergence(law, one, other, order), divergence(law, other, one, order))
    assert stated_divergence / 20 < found <= stated_divergence


@pytest.mark.statistical(false_alarm=1e-6)
def test_what_streams_tell_has_the_exact_probabilities(samples):
    """False-alarm rate 1e-6."""
    each, questions = AboveThreshold(threshold=5, epsilon=3), (5, 4, 6, 5)
    decays = tuple(exp_down(-1 / Fraction(scale)) for scale in each.scales.all())
    exact = {t: in_stages(decays, [q - 5 for q in questions[: len(t)]], t) for t in transcripts(4, 2)}
    streams = (RepeatedAboveThreshold(each, 2).open().ask_many(list(questions)) for _ in range(samples(1_000)))
    seen = [tuple(reply.is_above for reply in replies) for replies in streams]
    assert fit(seen, {t: float(chance) for t, chance in exact.items()}) > 1e-6


def test_the_event_is_all_stages_and_all_answers_whether_or_not_they_come():
    each, noise = AboveThreshold(threshold=0, epsilon=HALF, answers=3), Gaussian(sensitivity=1, rho=HALF)
    plain, shown = RepeatedAboveThreshold(each, 4), RepeatedAboveThreshold(each, 4, noise)
    stages = RepeatedEvent(PureEvent(each.epsilon), 4)
    assert plain.event() == ComposedEvent((stages,))
    answers = RepeatedEvent(DiscreteGaussianEvent(Fraction(noise.sigma) ** 2, Fraction(1)), 12)
    assert shown.event() == ComposedEvent((stages, answers))
    assert from_canonical(text_of(shown.event())) == shown.event()
    assert filters.cost(plain.event()).epsilon == filters.cost(PureEvent(4 * each.epsilon)).epsilon
    assert filters.cost(shown.event()).epsilon is None


@pytest.mark.pitfall("B12")
def test_a_stream_of_any_length_is_charged_the_same():
    made = RepeatedAboveThreshold(AboveThreshold(threshold=10**6, epsilon=1), 2)
    price = filters.cost(made.event())
    with made.open() as open_stream:
        assert not any(open_stream.ask_many([0] * 10_000))
        assert open_stream.left == 2
    assert filters.cost(made.event()) == price


def test_it_has_the_facts_of_its_stages():
    words = {"threshold": 2.1, "sensitivity": 3, "answers": 2, "monotone": True, "gap": True, "grid": Fraction(1, 4)}
    each = AboveThreshold(epsilon=1, **words)
    made = RepeatedAboveThreshold(each, 5)
    assert (made.threshold, made.sensitivity, made.answers) == (Fraction(9, 4), 3, 10)
    assert (made.monotone, made.gap, made.grid, made.with_answers) == (True, True, Fraction(1, 4), False)
    assert made.probability_above(2) == each.probability_above(2)
    assert made == RepeatedAboveThreshold(each, 5)
    assert hash(made) == hash(RepeatedAboveThreshold(each, 5))
    assert made != RepeatedAboveThreshold(each, 4)
    assert made != RepeatedAboveThreshold(each, 5, Gaussian(sensitivity=12, rho=1))


def beyond(scale, steps):
    """P[|Y| > steps]."""
    return 2 * math.exp(-(steps + 1) / scale) / (1 + math.exp(-1 / scale))


def some_beyond(scale, steps, count):
    """P[one of so many is farther than that from zero]."""
    return -math.expm1(count * math.log1p(-beyond(scale, steps)))


def chance_of_error(made, alpha, queries):
    """The least bound on the chance that some reply is off by more than alpha, over all ways to divide alpha."""
    thresholds = min(made.times, queries)
    return min(
        some_beyond(made.each.scales.threshold, t, thresholds)
        + some_beyond(made.each.scales.comparison, alpha - t, queries)
        for t in range(alpha)
    )


@over("beta", [0.5, 0.05, 1e-9])
@over("queries", [1, 3, 1000])
@over("times", [1, 5, 100])
def test_with_the_probability_stated_no_reply_is_farther_off_than_alpha(times, queries, beta):
    made = RepeatedAboveThreshold(AboveThreshold(threshold=0, epsilon=HALF, grid=Fraction(1, 4)), times)
    alpha = int(made.accuracy(queries, beta) * 4)
    assert chance_of_error(made, alpha, queries) <= beta * (1 + 1e-9)
    assert chance_of_error(made, alpha - 6, queries) > beta
    assert made.accuracy(queries, beta) <= made.accuracy(2 * queries, beta)


def test_one_stage_is_as_accurate_as_it_is_by_itself_and_more_stages_are_less():
    found = [RepeatedAboveThreshold(STAGE, times).accuracy(1000) for times in (1, 2, 50)]
    assert found[0] == STAGE.accuracy(1000)
    assert found == sorted(set(found))


def test_sampled_streams_are_as_accurate_as_stated():
    """False-alarm rate below 1e-15: 40 streams with a failure of at most 1e-3 each; eight failures are an alarm."""
    made = RepeatedAboveThreshold(AboveThreshold(threshold=0, epsilon=1, gap=True), 50)
    alpha = made.accuracy(100, 1e-3)
    values = [0, alpha, -alpha - 1, alpha // 2] * 25
    failures = 0
    for _ in range(40):
        pairs = list(zip(values, made.open().ask_many(values), strict=False))
        failures += not all((v >= -alpha and abs(v - t.gap) <= alpha) if t.is_above else v < alpha for v, t in pairs)
    assert failures < 8


def test_the_margin_is_that_of_the_noise_in_the_unit_of_the_answers():
    each = AboveThreshold(threshold=0, epsilon=1, sensitivity=3, grid=Fraction(1, 4))
    noise = Gaussian(sensitivity=12, rho=HALF)
    assert RepeatedAboveThreshold(each, 2, noise).margin() == noise.margin() / 4
    with pytest.raises(ParameterError, match="not shown") as refusal:
        RepeatedAboveThreshold(each, 2).margin()
    assert "answer_noise=" in refusal.value.instead


@pytest.mark.parametrize(
    "noise",
    [
        Gaussian(sensitivity=11, rho=1),
        Laplace(sensitivity=11, epsilon=1),
        Staircase(sensitivity=11, epsilon=1),
        Gaussian(sensitivity=3, rho=1, grid=Fraction(1, 4)),
        "gaussian",
        12,
    ],
    ids=repr,
)
def test_noise_for_a_smaller_sensitivity_or_on_another_grid_is_refused(noise):
    each = AboveThreshold(threshold=0, epsilon=1, sensitivity=3, grid=Fraction(1, 4))
    with pytest.raises(ParameterError, match="does not fit") as refusal:
        RepeatedAboveThreshold(each, 2, noise)
    assert "sensitivity=12" in refusal.value.instead


def test_a_sensitivity_between_two_steps_counts_as_the_larger():
    each = AboveThreshold(threshold=0, epsilon=1, sensitivity=Fraction(3, 2))
    RepeatedAboveThreshold(each, 1, Laplace(sensitivity=2, epsilon=1))
    with pytest.raises(ParameterError, match="does not fit"):
        RepeatedAboveThreshold(each, 1, Laplace(sensitivity=1, epsilon=1))


@pytest.mark.parametrize("each", [None, 1, Laplace(sensitivity=1, epsilon=1)], ids=repr)
def test_a_stage_that_is_none_is_refused(each):
    with pytest.raises(ParameterError, match="a stage of type"):
        RepeatedAboveThreshold(each, 2)


def test_stages_that_show_answers_themselves_are_refused():
    with pytest.raises(ParameterError, match="shows answers"):
        RepeatedAboveThreshold(AboveThreshold(threshold=0, epsilon=1, with_answers=True), 2)


@pytest.mark.parametrize("times", [0, -1, 1.5, True, "2", None])
def test_a_number_of_stages_that_is_none_is_refused(times):
    with pytest.raises(ParameterError):
        RepeatedAboveThreshold(STAGE, times)


@pytest.mark.pitfall("B12")
def test_it_ends_with_the_last_answer_of_the_last_stage():
    open_stream = RepeatedAboveThreshold(AboveThreshold(threshold=0, epsilon=1, answers=2), 3).open()
    assert [reply.is_above for reply in open_stream.ask_many([SURE, -SURE] * 10)] == [True, False] * 5 + [True]
    assert open_stream.is_closed
    assert open_stream._limit is None
    with pytest.raises(BudgetError, match="closed"):
        open_stream.ask(0)


@pytest.mark.pitfall("B12")
@pytest.mark.parametrize("attempt", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_open_stream_cannot_be_copied(attempt):
    with pytest.raises(UnsupportedError, match="a copy of a stream"):
        attempt(RepeatedAboveThreshold(STAGE, 2).open())


def fails(*_):
    raise EntropyError


def test_a_threshold_that_cannot_be_drawn_leaves_none_of_an_earlier_stage_in_use(monkeypatch):
    open_stream = RepeatedAboveThreshold(STAGE, 3).open()
    assert open_stream.ask_many([-SURE, SURE])[1]
    with monkeypatch.context() as without_entropy:
        without_entropy.setattr(stream.discrete, "discrete_laplace", fails)
        with pytest.raises(EntropyError):
            open_stream.ask(SURE)
    assert open_stream._limit is None
    assert open_stream.left == 2


def test_an_answer_that_cannot_be_drawn_ends_its_stage_all_the_same(monkeypatch):
    open_stream = RepeatedAboveThreshold(STAGE, 3, Gaussian(sensitivity=1, rho=1)).open()
    before = open_stream._limit
    with monkeypatch.context() as without_entropy:
        without_entropy.setattr(stream.discrete, "discrete_gaussian", fails)
        with pytest.raises(EntropyError):
            open_stream.ask(SURE)
    assert before is not None
    assert open_stream._limit is None
    assert open_stream.left == 2
