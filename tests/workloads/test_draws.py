"""A stream of ranges draws as the one sparse vector that it is priced as."""

from fractions import Fraction

import pytest

import draws as record
from discreet.events import PureEvent
from discreet.workloads.stream import Online


@pytest.mark.pitfall("B23")
@pytest.mark.draws("workloads.stream.Online", "workloads.stream.OnlineStream")
@pytest.mark.parametrize("rows", [1, 3])
def test_a_stream_draws_a_threshold_comparisons_and_an_answer_for_each_correction(draws, rows):
    online = Online(bins=4, total=400, threshold=50, epsilon=1, corrections=2, rows=rows)
    stream = online.open([200, 200, 0, 0])
    draws.give(*[0] * 16, 5)
    first = stream.ask(0, 1)  # 100 more than the even histogram says: corrected from above
    draws.give(-7)
    second = stream.ask(2, 4)  # 130 less than it says: corrected from below
    threshold, comparison, answer = (Fraction(scale) for scale in online.above_threshold.scales.all())
    assert draws.calls == [
        record.Laplace(threshold, 1),
        record.Laplace(comparison, 16),
        record.Laplace(answer, 1),
        record.Laplace(answer, 1),
    ]
    spent = rows / threshold + 2 * 2 * rows / comparison + 2 * rows / answer
    assert online.event() == PureEvent(spent)
    assert 1 - Fraction(1, 2**50) < spent <= 1
    assert (first.value, first.corrected) == (205, True)
    assert (second.value, second.corrected) == (7, True)
