"""Above threshold: exact probabilities stay within e^epsilon and reach it, wrong forms do not, prices are safe."""

import copy
import math
import pickle
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transcripts import Gap, Shown, at_least, mass, neighbours, probability, transcripts

from discreet.accounting import filters
from discreet.errors import ParameterError
from discreet.events import PureEvent, from_canonical
from discreet.events import canonical as text_of
from discreet.exact.rounding import exp_down, exp_up
from discreet.mechanisms import Laplace
from discreet.mechanisms.threshold import AboveThreshold
from grids import over

HALF, EIGHTH = Fraction(1, 2), Fraction(1, 8)
DECAYS = [(Fraction(3, 4), Fraction(7, 8)), (HALF, HALF), (Fraction(7, 8), Fraction(1, 3))]
HOSTILE = [math.nan, math.inf, 1e999, 0, -1, True, "0.1", None, [1]]

positives = st.fractions(min_value=Fraction(1, 10**4), max_value=10**4, max_denominator=10**6)

told_of = cache(probability)


def allowed(threshold, comparison, *, answers, sensitivity=1, one_way=False):
    """e^epsilon, a rational where the decays are."""
    return threshold**-sensitivity * comparison ** (-(1 if one_way else 2) * answers * sensitivity)


def worst(decays, questions, answers, *, sensitivity=1, one_way=False, above=(True,)):
    """The largest ratio of probabilities over all neighbours of these questions and all that can be told of them."""
    return max(
        told_of(*decays, here[: len(told)], told) / told_of(*decays, there[: len(told)], told)
        for here in questions
        for there in neighbours(here, sensitivity, one_way=one_way)
        for told in transcripts(len(here), answers, above)
    )


def ratio(decays, here, there, told):
    below = told_of(*decays, there, told)
    return told_of(*decays, here, told) / below if below else math.inf


def farthest(decays, answers, *, one_way=False, above=True, below=12):
    """The ratio at what a neighbour makes least likely: many below, then all above."""
    up = 0 if one_way else 1
    told = (False,) * below + (above,) * answers
    return ratio(decays, (0,) * below + (up,) * answers, (1,) * below + (0,) * answers, told)


@pytest.mark.parametrize("answers", [1, 2, 3])
@pytest.mark.parametrize("questions", [(0, 1, -1), (2, 2, 2), (-3, 0, 4)])
def test_the_probabilities_of_all_that_can_be_told_sum_to_one(questions, answers):
    told = list(transcripts(3, answers))
    assert len(set(told)) == len(told)
    assert sum(probability(HALF, EIGHTH, questions[: len(t)], t) for t in told) == 1


@pytest.mark.guarantee("mechanisms.threshold.above")
@pytest.mark.parametrize("one_way", [False, True], ids=["general", "monotone"])
@pytest.mark.parametrize("answers", [1, 2])
@pytest.mark.parametrize("decays", DECAYS, ids=str)
def test_probabilities_of_neighbours_stay_within_e_to_the_epsilon(decays, answers, one_way):
    questions = list(product((-1, 0, 2), repeat=3))
    found = worst(decays, questions, answers, one_way=one_way)
    assert 1 < found <= allowed(*decays, answers=answers, one_way=one_way)


@pytest.mark.guarantee("mechanisms.threshold.above")
@pytest.mark.parametrize("one_way", [False, True], ids=["general", "monotone"])
@pytest.mark.parametrize("answers", [1, 2])
def test_the_gap_is_free(answers, one_way):
    questions = list(product((-1, 0, 1), repeat=2))
    gaps = [Gap(0), Gap(1), Gap(7)]
    found = worst(DECAYS[0], questions, answers, one_way=one_way, above=gaps)
    assert worst(DECAYS[0], questions, answers, one_way=one_way) <= found
    assert found <= allowed(*DECAYS[0], answers=answers, one_way=one_way)


def test_the_probabilities_of_all_gaps_sum_to_that_of_being_above():
    gaps = sum(probability(HALF, EIGHTH, (1, 0), (False, Gap(g))) for g in range(60))
    above = probability(HALF, EIGHTH, (1, 0), (False, True))
    assert above - EIGHTH**58 < gaps < above


@pytest.mark.guarantee("mechanisms.threshold.above")
@pytest.mark.parametrize("one_way", [False, True], ids=["general", "monotone"])
def test_a_larger_sensitivity_costs_as_many_times_as_much(one_way):
    questions = list(product((-1, 0, 2), repeat=2))
    found = worst(DECAYS[0], questions, 1, sensitivity=2, one_way=one_way)
    assert worst(DECAYS[0], questions, 1, one_way=one_way) < found
    assert found <= allowed(*DECAYS[0], answers=1, sensitivity=2, one_way=one_way)


@pytest.mark.guarantee("mechanisms.threshold.above")
@pytest.mark.parametrize("above", [True, Gap(2)], ids=["above", "gap"])
@pytest.mark.parametrize("one_way", [False, True], ids=["general", "monotone"])
@pytest.mark.parametrize("answers", [1, 2, 3])
def test_the_epsilon_is_reached_but_for_one_part_in_a_million_by_twelve_below(answers, one_way, above):
    decays = (HALF, EIGHTH)
    found = farthest(decays, answers, one_way=one_way, above=above)
    stated = allowed(*decays, answers=answers, one_way=one_way)
    assert found <= stated < found ** (1 + Fraction(1, 10**6))


def test_the_longer_the_stream_the_nearer_to_its_epsilon_and_never_beyond():
    decays = DECAYS[0]
    found = [farthest(decays, 1, below=below) for below in (1, 2, 4, 8, 16)]
    assert found == sorted(found)
    assert found[-1] < allowed(*decays, answers=1) < found[-1] * Fraction(1001, 1000)


def shown_ratio(decays, fresh, here, there, told, answers):
    """The ratio where every answer above is shown with fresh noise, too."""
    shown = zip(told, here, there, answers, strict=True)
    by_answers = math.prod(mass(fresh, a - q) / mass(fresh, a - other) for t, q, other, a in shown if t)
    return ratio(decays, here, there, told) * by_answers


def allowed_with_answers(decays, fresh, *, answers, one_way):
    """e^epsilon: the product of the three parts, or, one way, the larger of the two that a neighbour can reach."""
    threshold, comparisons, shown = (decays[0] ** -1, decays[1] ** -answers, fresh**-answers)
    if one_way:
        return max(threshold * max(comparisons, shown), comparisons * shown)
    return threshold * comparisons**2 * shown


@pytest.mark.guarantee("mechanisms.threshold.above")
@pytest.mark.parametrize("fresh", [Fraction(2, 3), Fraction(19, 20)], ids=str)
@pytest.mark.parametrize("one_way", [False, True], ids=["general", "monotone"])
def test_answers_with_fresh_noise_cost_their_share_and_no_more(one_way, fresh):
    found = max(
        shown_ratio(DECAYS[0], fresh, here, there, told, answers)
        for here in product((0, 1), repeat=2)
        for there in neighbours(here, 1, one_way=one_way)
        for told in transcripts(2, 2)
        if len(told) == 2
        for answers in product((-2, 0, 1, 3), repeat=2)
    )
    assert 1 < found <= allowed_with_answers(DECAYS[0], fresh, answers=2, one_way=one_way)


@pytest.mark.guarantee("mechanisms.threshold.above")
@pytest.mark.parametrize("answers", [1, 2])
@pytest.mark.parametrize(
    ("one_way", "decays", "fresh", "below", "above", "shown"),
    [
        (False, (HALF, EIGHTH), HALF, (0, 1), (1, 0), 3),
        (True, (HALF, EIGHTH), Fraction(3, 4), (0, 1), (0, 0), 3),  # threshold and comparisons: cheap answers are free
        (True, (EIGHTH, HALF), Fraction(1, 4), (0, 1), (0, 1), -3),  # threshold and answers
        (True, (Fraction(7, 8), EIGHTH), Fraction(1, 4), (0, 0), (1, 0), 3),  # comparisons and answers
    ],
)
def test_the_epsilon_with_answers_is_reached(answers, one_way, decays, fresh, below, above, shown):
    here, there = ((below[side],) * 30 + (above[side],) * answers for side in (0, 1))
    told = (False,) * 30 + (True,) * answers
    found = shown_ratio(decays, fresh, here, there, told, (shown,) * len(told))
    stated = allowed_with_answers(decays, fresh, answers=answers, one_way=one_way)
    assert found <= stated < found ** (1 + Fraction(1, 100))


X = Fraction(9, 10)
WRONG = {
    # claim, decays of threshold and comparisons, answers before it ends (as many as asked: never), what breaks it
    "Roth": (X**-2, (X, X), Shown(1), 1),
    "Lee and Clifton": (X**-4, (X, X**3), True, 1),
    "Stoddard et al.": (X**-2, (X, Fraction(0)), True, 1),
    "Chen et al.": (X**-2, (X, X), True, 4),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_published_forms_that_are_wrong_exceed_their_claims_in_the_same_computation(name):
    claim, decays, above, answers = WRONG[name]
    assert farthest(decays, answers, above=above, below=4) > claim


@pytest.mark.parametrize("below", [10, 20, 40])
def test_a_shown_answer_that_decided_costs_more_with_every_question_before_it(below):
    assert farthest((X, X), 1, above=Shown(1), below=below) > X ** -(below // 10)


def test_lee_and_clifton_spend_what_the_constants_say_and_no_more():
    for answers in (1, 2):
        stated = allowed(X, X**3, answers=answers)
        assert stated == (X**-1) ** (1 + 6 * answers)
        assert stated * Fraction(99, 100) < farthest((X, X**3), answers, below=30) <= stated


def test_a_threshold_drawn_again_after_each_above_is_right_with_noise_that_grows_with_the_answers():
    """Dwork and Roth: each stretch up to an answer above is a stream of its own."""
    decays = DECAYS[0]

    def again(questions, told):
        ends = [0, *(place + 1 for place, t in enumerate(told) if t), len(told)]
        stretches = [slice(start, end) for start, end in pairwise(ends) if start < end]
        return math.prod(told_of(*decays, questions[part], told[part]) for part in stretches)

    found = max(
        again(here[: len(told)], told) / again(there[: len(told)], told)
        for here in product((-1, 0, 2), repeat=3)
        for there in neighbours(here, 1)
        for told in transcripts(3, 2)
    )
    assert found <= allowed(*decays, answers=1) ** 2


def decays_of(mechanism):
    """e^(-1/scale) of the very doubles that are drawn, to 56 digits."""
    return tuple(exp_down(-1 / Fraction(scale)) for scale in mechanism.scales.all()[:2])


@pytest.mark.guarantee("mechanisms.threshold.above")
@pytest.mark.parametrize("words", [{}, {"monotone": True}, {"answers": 2}, {"gap": True, "shares": (1, 3)}], ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(5, 2)], ids=str)
def test_streams_of_the_scales_that_are_drawn_keep_the_price_of_the_event(epsilon, words):
    mechanism = AboveThreshold(threshold=0, epsilon=epsilon, **words)
    above, one_way = (Gap(2) if mechanism.gap else True), mechanism.monotone
    found = max(
        farthest(decays_of(mechanism), mechanism.answers, one_way=one_way, above=above, below=6),
        worst(decays_of(mechanism), [(0, 0), (2, -1)], mechanism.answers, one_way=one_way, above=(above,)),
    )
    assert 1 < found <= exp_up(mechanism.event().epsilon) <= exp_up(epsilon)


@settings(deadline=None)
@given(
    epsilon=positives,
    sensitivity=positives,
    grid=positives,
    answers=st.integers(1, 1000),
    monotone=st.booleans(),
    with_answers=st.booleans(),
)
def test_the_price_is_at_most_the_epsilon_asked_for_and_belongs_to_the_doubles_that_are_drawn(
    epsilon, sensitivity, grid, answers, monotone, with_answers
):
    words = {"sensitivity": sensitivity, "grid": grid, "answers": answers, "monotone": monotone}
    mechanism = AboveThreshold(threshold=0, epsilon=epsilon, with_answers=with_answers, **words)
    steps, scales = sensitivity / grid, mechanism.scales
    of_threshold, of_comparisons, *of_answers = mechanism.parts
    assert of_threshold == steps / Fraction(scales.threshold)
    assert of_comparisons == (1 if monotone else 2) * answers * steps / Fraction(scales.comparison)
    assert of_answers == ([answers * steps / Fraction(scales.answer)] if with_answers else [])
    assert epsilon * (1 - Fraction(1, 10**14)) < mechanism.epsilon <= epsilon
    assert monotone or mechanism.epsilon == sum(mechanism.parts)
    assert max(mechanism.parts) < mechanism.epsilon <= sum(mechanism.parts)
    assert mechanism.event() == PureEvent(epsilon=mechanism.epsilon)
    assert from_canonical(text_of(mechanism.event())) == mechanism.event()
    assert mechanism.with_answers == with_answers


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("answers", [1, 2, 4, 25, 1000, 10**6])
def test_epsilon_is_divided_so_that_the_comparison_is_least_noisy(answers, monotone):
    mechanism = AboveThreshold(threshold=0, epsilon=1, answers=answers, monotone=monotone)
    times = answers if monotone else 2 * answers
    assert float(mechanism.parts[1] / mechanism.parts[0]) == pytest.approx(times ** (2 / 3), abs=1e-3)

    def variance(share):
        return (1 / share) ** 2 + (times / (1 - share)) ** 2

    share = float(mechanism.parts[0])
    assert variance(share) <= min(variance(share * 0.97), variance(share * 1.03))


def test_answers_take_half_of_epsilon_unless_shares_say_otherwise():
    words = {"threshold": 0, "epsilon": 1, "with_answers": True, "answers": 4}
    *_, of_answers = AboveThreshold(**words).parts
    assert float(of_answers) == pytest.approx(0.5, abs=1e-12)
    shares = AboveThreshold(**words, shares=(1, 2, Fraction(1, 2))).parts
    assert [float(part) for part in shares] == pytest.approx([2 / 7, 4 / 7, 1 / 7], abs=1e-12)
    free = AboveThreshold(**words, monotone=True, shares=(1, 2, 1))
    alone = AboveThreshold(threshold=0, epsilon=1, answers=4, monotone=True, shares=(1, 2))
    assert free.epsilon == alone.epsilon
    assert free.scales.all()[:2] == alone.scales.all()
    assert AboveThreshold(threshold=0, epsilon=1, shares=(1, 1)).scales.threshold == 2.0
    assert AboveThreshold(threshold=0, epsilon=1, shares=(1, 1)).scales.comparison == 4.0


@pytest.mark.pitfall("B12")
def test_a_stream_of_any_length_is_one_event():
    mechanism = AboveThreshold(threshold=10**6, epsilon=1, answers=2)
    price = filters.cost(mechanism.event())
    for count in (10, 100_000):
        with mechanism.open() as stream:
            assert [told.is_above for told in stream.ask_many([0] * count)] == [False] * count
            assert stream.left == 2
    assert filters.cost(mechanism.event()) == price == filters.cost(PureEvent(mechanism.epsilon))


@pytest.mark.parametrize(
    ("threshold", "grid", "rounded"),
    [(3, 1, 3), (2.5, 1, 3), (-2.5, 1, -2), (Fraction(1, 3), Fraction(1, 4), Fraction(1, 2))],
)
def test_a_threshold_off_the_grid_is_rounded_up(threshold, grid, rounded):
    mechanism = AboveThreshold(threshold=threshold, epsilon=1, grid=grid)
    assert mechanism.threshold == rounded
    assert mechanism == AboveThreshold(threshold=rounded, epsilon=1, grid=grid)
    assert hash(mechanism) == hash(AboveThreshold(threshold=rounded, epsilon=1, grid=grid))


def beyond(scale, steps):
    """P[|Y| > steps]."""
    return 2 * math.exp(-(steps + 1) / scale) / (1 + math.exp(-1 / scale))


def chance_of_error(scales, alpha, queries):
    """The least bound on the chance that some question is off by more than alpha, over all ways to divide alpha."""
    return min(
        beyond(scales.threshold, t) - math.expm1(queries * math.log1p(-beyond(scales.comparison, alpha - t)))
        for t in range(alpha)
    )


@over("beta", [0.5, 0.05, 1e-9, 1e-150])
@over("queries", [1, 10, 10**5])
@over("grid", [1, Fraction(1, 4)])
def test_with_the_probability_stated_no_answer_is_farther_off_than_alpha(grid, queries, beta):
    mechanism = AboveThreshold(threshold=0, epsilon=Fraction(1, 2), answers=3, grid=grid)
    alpha = mechanism.accuracy(queries, beta) / grid
    assert alpha == int(alpha)
    assert chance_of_error(mechanism.scales, int(alpha), queries) <= beta * (1 + 1e-9)
    assert mechanism.accuracy(queries, beta) <= mechanism.accuracy(2 * queries, beta)


@pytest.mark.parametrize("answers", [1, 2, 25])
@pytest.mark.parametrize("beta", [0.05, 1e-6])
def test_accuracy_is_within_two_steps_of_the_best_division(answers, beta):
    mechanism = AboveThreshold(threshold=0, epsilon=1, answers=answers)
    alpha = mechanism.accuracy(1000, beta)
    assert chance_of_error(mechanism.scales, alpha - 3, 1000) > beta


def test_sampled_streams_are_as_accurate_as_stated():
    """False-alarm rate below 1e-15: 40 streams with a failure of at most 1e-3 each; eight failures are an alarm."""
    mechanism = AboveThreshold(threshold=0, epsilon=1, answers=100, gap=True)
    alpha = mechanism.accuracy(200, 1e-3)
    values = [0, alpha, -alpha - 1, alpha // 2] * 50
    failures = 0
    for _ in range(40):
        told = mechanism.open().ask_many(values)
        pairs = list(zip(values, told, strict=False))
        right = all((v >= -alpha and abs(v - t.gap) <= alpha) if t.is_above else v < alpha for v, t in pairs)
        failures += not right
    assert failures < 8


@over("words", [{}, {"monotone": True}, {"answers": 5}, {"shares": (1, 100)}])
@over("value", [-40, -1, 0, 1, 7])
def test_the_probability_of_being_above_is_that_of_the_exact_sum(words, value):
    mechanism = AboveThreshold(threshold=0, epsilon=1, **words)
    exact = probability(*decays_of(mechanism), (value,), (True,))
    assert mechanism.probability_above(value) == pytest.approx(float(exact), rel=1e-14)


def test_the_probability_of_being_above_is_told_in_the_terms_of_the_grid_and_at_extreme_scales():
    fine = AboveThreshold(threshold=1, epsilon=1, sensitivity=1, grid=Fraction(1, 10))
    coarse = AboveThreshold(threshold=10, epsilon=1, sensitivity=10)
    assert fine.probability_above(Fraction(7, 10)) == coarse.probability_above(7)
    assert fine.probability_above(10**6) == 1
    assert fine.probability_above(-(10**6)) == 0
    wide = AboveThreshold(threshold=0, epsilon=1e-14)
    assert 0.5 < wide.probability_above(0) < 0.5 + 1e-14
    one, other = wide.scales.all()
    far = other**2 * math.exp(-(10**14) / other) - one**2 * math.exp(-(10**14) / one)
    assert wide.probability_above(-(10**14)) == pytest.approx(far / (2 * (other**2 - one**2)), rel=1e-9)


def test_margins_of_shown_answers_are_those_of_their_noise():
    mechanism = AboveThreshold(threshold=0, epsilon=1, answers=2, with_answers=True, grid=Fraction(1, 2))
    noise = Laplace.with_scale(scale=mechanism.scales.answer, sensitivity=1, grid=Fraction(1, 2))
    assert mechanism.margin() == noise.margin()
    assert mechanism.margin(0.99) == noise.margin(0.99)
    with pytest.raises(ParameterError, match="not shown") as refusal:
        AboveThreshold(threshold=0, epsilon=1).margin()
    assert "with_answers=True" in refusal.value.instead


@over("value", HOSTILE)
@over("name", ["epsilon", "sensitivity", "grid", "answers"])
def test_numbers_that_are_none_are_refused_by_name_with_code_that_works(name, value):
    with pytest.raises(ParameterError, match=name) as refusal:
        AboveThreshold(**{"threshold": 0, "epsilon": 1} | {name: value})
    assert f"{name}=" in refusal.value.instead


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "1", None])
def test_thresholds_that_are_no_numbers_are_refused(value):
    with pytest.raises(ParameterError, match="threshold"):
        AboveThreshold(threshold=value, epsilon=1)


@pytest.mark.parametrize("name", ["monotone", "with_answers", "gap"])
@pytest.mark.parametrize("value", [0, 1, "yes", None])
def test_what_is_said_or_not_is_true_or_false(name, value):
    with pytest.raises(ParameterError, match=name) as refusal:
        AboveThreshold(threshold=0, epsilon=1, **{name: value})
    assert f"{name}=True" in refusal.value.instead


@pytest.mark.parametrize("shares", [(), (1,), (1, 2, 3), "12", 7, (1, 0), (1, -1), (1, math.nan)], ids=repr)
def test_shares_are_as_many_positive_numbers_as_there_are_parts(shares):
    with pytest.raises(ParameterError, match="shares") as refusal:
        AboveThreshold(threshold=0, epsilon=1, shares=shares)
    assert refusal.value.instead.startswith("shares=")
    with pytest.raises(ParameterError, match="3 numbers") as refusal:
        AboveThreshold(threshold=0, epsilon=1, with_answers=True, shares=(1, 2))
    assert "answers" in refusal.value.because


@pytest.mark.parametrize(
    ("words", "way_out"),
    [
        ({"epsilon": 1e-30}, "larger epsilon"),
        ({"epsilon": 1e30}, "smaller epsilon"),
        ({"epsilon": 1, "grid": 1e-20}, "coarser grid"),
        ({"epsilon": 1, "answers": 10**20}, "larger epsilon"),
    ],
)
def test_scales_beyond_the_sampler_are_refused_with_a_way_out(words, way_out):
    with pytest.raises(ParameterError, match="steps of the grid") as refusal:
        AboveThreshold(**({"threshold": 0} | words))
    assert way_out in refusal.value.instead
    assert eval(refusal.value.instead.split(":")[0], {"AboveThreshold": AboveThreshold})  # noqa: S307 - it is code


@pytest.mark.parametrize("beta", [0, 1, -0.1, 5, math.nan, True, Fraction(1, 10**201)])
def test_chances_of_error_outside_their_range_are_refused(beta):
    with pytest.raises(ParameterError, match="beta"):
        AboveThreshold(threshold=0, epsilon=1).accuracy(10, beta)
    with pytest.raises(ParameterError, match="queries"):
        AboveThreshold(threshold=0, epsilon=1).accuracy(0, 0.1)


def test_parameters_are_keyword_only_and_cannot_be_changed():
    mechanism = AboveThreshold(threshold=0, epsilon=1)
    with pytest.raises(TypeError):
        AboveThreshold(0, 1)
    with pytest.raises(AttributeError):
        mechanism.answers = 100
    assert copy.copy(mechanism) == pickle.loads(pickle.dumps(mechanism)) == mechanism  # noqa: S301 - our own


def test_tails_and_masses_of_the_reference_agree():
    for y in range(-5, 6):
        assert at_least(EIGHTH, y) - at_least(EIGHTH, y + 1) == mass(EIGHTH, y)
