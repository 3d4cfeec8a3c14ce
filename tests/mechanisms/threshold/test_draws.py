"""A sparse vector draws its threshold once, a comparison for each question and an answer for each that is shown."""

from fractions import Fraction

import pytest

import draws as record
from discreet.events import PureEvent
from discreet.mechanisms.threshold import Above, AboveThreshold, Below

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
