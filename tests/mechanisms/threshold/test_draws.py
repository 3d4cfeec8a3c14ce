"""A sparse vector draws a threshold for each stage, a comparison for each question and an answer for each shown one."""

from fractions import Fraction

import pytest

import draws as record
from discreet.events import ComposedEvent, DiscreteGaussianEvent, DiscreteLaplaceEvent, PureEvent, RepeatedEvent
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.threshold import Above, AboveThreshold, Below, RepeatedAboveThreshold

WAYS = pytest.mark.parametrize("monotone", [False, True], ids=["any way", "one way"])
SHOWN = pytest.mark.parametrize("with_answers", [False, True], ids=["told", "shown"])


def drawn(watch, *, shown=0):
    """The records of a stream that opens and is asked at most 16 questions, so many of which are above."""
    scales = [Fraction(scale) for scale in watch.scales.all()]
    answers = [record.Laplace(scales[2], 1)] * shown if watch.with_answers else []
    return [record.Laplace(scales[0], 1), record.Laplace(scales[1], 16), *answers]


def price(calls, sensitivity, answers, *, one_way):
    """The epsilon of a stream by its proof, from the scales that were drawn with."""
    threshold, comparison, *shown = [call.scale for call in calls]
    first = sensitivity / threshold
    second = (1 if one_way else 2) * answers * sensitivity / comparison
    third = answers * sensitivity / shown[0] if shown else Fraction(0)
    return max(first + max(second, third), second + third) if one_way else first + second + third


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.threshold.above.AboveThreshold", "mechanisms.threshold.stream.Stream")
@WAYS
@SHOWN
@pytest.mark.parametrize("answers", [1, 3])
@pytest.mark.parametrize("grid", [Fraction(1), Fraction(1, 4)])
def test_the_price_of_a_stream_is_that_of_the_scales_it_draws_with(draws, monotone, with_answers, answers, grid):
    epsilon, sensitivity = Fraction(2), Fraction(3, 2)
    words = {"sensitivity": sensitivity, "answers": answers, "monotone": monotone, "with_answers": with_answers}
    watch = AboveThreshold(threshold=10, epsilon=epsilon, grid=grid, **words)
    stream = watch.open()
    replies = stream.ask_many([10**6] * (answers + 2))
    assert len(replies) == answers
    assert draws.calls == drawn(watch, shown=answers)
    spent = price(draws.calls[: 2 + with_answers], sensitivity / grid, answers, one_way=monotone)
    assert watch.event() == PureEvent(spent)
    assert epsilon * (1 - Fraction(1, 2**50)) < spent <= epsilon


@pytest.mark.pitfall("B23")
@WAYS
@SHOWN
@pytest.mark.parametrize("grid", [Fraction(1), Fraction(1, 4)])
def test_what_is_told_is_the_exact_answer_with_each_of_its_own_draws(draws, monotone, with_answers, grid):
    watch = AboveThreshold(
        threshold=10, epsilon=1, answers=2, gap=True, grid=grid, monotone=monotone, with_answers=with_answers
    )
    draws.give(7)  # of the threshold
    stream = watch.open()
    draws.give(*range(100, 116))  # of the comparisons, the last of which is taken first
    draws.give(31)  # of the first answer that is shown
    steps = 10 / grid
    below, above = (steps + 7 - 115 - 1) * grid, (steps + 7 - 114) * grid
    assert stream.ask(below) == Below()
    assert stream.ask(above) == Above(above + 31 * grid if with_answers else None, gap=0)
    third = (steps + 7 - 113 + 50) * grid
    draws.give(-8)
    shown = third - 8 * grid if with_answers else None
    assert stream.ask_many([third]) == [Above(shown, gap=50 * grid)]
    assert stream.is_closed
    assert draws.calls == drawn(watch, shown=2)


@pytest.mark.pitfall("B23")
def test_no_draw_of_a_comparison_is_used_twice(draws):
    """Of 100 questions each shows its own noise: 16 are drawn first, then 32, then 64."""
    watch = AboveThreshold(threshold=0, epsilon=1, answers=100, gap=True)
    stream = watch.open()
    gaps = [reply.gap for reply in stream.ask_many([1000] * 70)] + [stream.ask(1000).gap for _ in range(30)]
    scale = Fraction(watch.scales.comparison)
    assert draws.calls[1:] == [record.Laplace(scale, count) for count in (16, 32, 64)]
    assert len(set(gaps)) == 100
    assert {gap - 1000 + draws.returned[0] for gap in gaps} <= set(draws.returned[1:])


@pytest.mark.pitfall("B23")
def test_every_opening_draws_a_threshold_of_its_own(draws):
    watch = AboveThreshold(threshold=5, epsilon=1)
    watch.open(), watch.open()
    assert draws.calls == [record.Laplace(Fraction(watch.scales.threshold), 1)] * 2


NOISES = {"none": None, "gaussian": Gaussian(sensitivity=6, rho=1), "laplace": Laplace(sensitivity=6, epsilon=1)}


def answer_of(noise):
    """The draws of one shown answer, and the events that it is charged as."""
    if noise is None:
        return [], []
    if isinstance(noise, Gaussian):
        variance = Fraction(noise.sigma) ** 2
        return [record.Gaussian(variance, 1)], [DiscreteGaussianEvent(variance, Fraction(36))]
    scale = Fraction(noise.scale)
    return [record.Laplace(scale, 1)], [DiscreteLaplaceEvent(scale, Fraction(6))]


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.threshold.repeated.RepeatedAboveThreshold")
@WAYS
@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize(("times", "answers"), [(1, 1), (3, 1), (2, 2), (1, 3)])
def test_the_price_of_stages_is_that_of_all_the_scales_they_draw_with(draws, monotone, name, times, answers):
    """A threshold for each stage, and a number for each answer above: as many as are charged for, and no more."""
    each = AboveThreshold(
        threshold=10, epsilon=1, sensitivity=Fraction(3, 2), answers=answers, monotone=monotone, grid=Fraction(1, 4)
    )
    watch = RepeatedAboveThreshold(each, times, NOISES[name])
    replies = watch.open().ask_many([10**6] * (times * answers + 2))
    assert len(replies) == times * answers
    threshold, comparison = draws.calls[:2]
    shown, charged = answer_of(NOISES[name])
    first = [threshold, comparison, *shown * answers]
    assert draws.calls == first + [threshold, *shown * answers] * (times - 1)
    assert (threshold.count, comparison.count) == (1, 16)
    stages = RepeatedEvent(PureEvent(price(draws.calls[:2], Fraction(6), answers, one_way=monotone)), times)
    assert watch.event() == ComposedEvent((stages, *(RepeatedEvent(event, times * answers) for event in charged)))


@pytest.mark.pitfall("B23")
def test_each_stage_compares_with_a_threshold_of_its_own(draws):
    """The gap is that of the stage that the answer ends, and the next question meets the next threshold."""
    each = AboveThreshold(threshold=10, epsilon=1, gap=True)
    draws.give(7)  # of the first threshold
    stream = RepeatedAboveThreshold(each, 3, NOISES["gaussian"]).open()
    draws.give(*[0] * 16)  # of the comparisons
    draws.give(5, -20)  # of the first answer, and of the second threshold
    assert stream.ask_many([16, 17, -11]) == [Below(), Above(17 + 5, gap=0), Below()]
    draws.give(3, 100)  # of the second answer, and of the third threshold
    assert stream.ask_many([-10, 109]) == [Above(-10 + 3, gap=0), Below()]
    draws.give(-1)  # of the last answer, after which nothing is drawn
    assert stream.ask_many([111, 10**6]) == [Above(111 - 1, gap=1)]
    assert stream.is_closed
    assert [type(call) for call in draws.calls].count(record.Gaussian) == 3
    assert draws.calls.count(record.Laplace(Fraction(each.scales.threshold), 1)) == 3
    assert len(draws.calls) == 7


@pytest.mark.pitfall("B23")
def test_a_stage_of_several_answers_keeps_its_threshold_until_the_last_of_them(draws):
    draws.give(0)
    stream = RepeatedAboveThreshold(AboveThreshold(threshold=0, epsilon=1, answers=2), 2).open()
    draws.give(*[0] * 16)
    draws.give(50)  # of the second threshold
    assert [bool(reply) for reply in stream.ask_many([0, -1, 0, 0, 49, 50, -1, 50])] == [
        *(True, False, True),
        *(False, False, True, False, True),
    ]
