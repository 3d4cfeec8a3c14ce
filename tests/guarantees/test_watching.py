"""Watching, judged by what streams tell: at one number of samples the wrong forms are caught and ours is not.

The data are those of the controls in discreet.auditing.controls.sparse_vectors: neighbours that pull apart, the first
half of the questions larger by 1 on one side, the second half on the other. Exact probabilities, where no sample is
needed, are in tests/mechanisms/threshold. Each audit has a false-alarm rate of 1e-5. In 22 audits of the wrong forms,
600 of the 1,500 samples were always enough.
"""

import math

import pytest

from discreet.auditing import Verdict, audit
from discreet.auditing.controls.sparse_vectors import BROKEN
from discreet.mechanisms.threshold import AboveThreshold

ALARM = 1e-5
SAMPLES = 1_500
HALF = 20
CONTROLS = {control.name.removeprefix("sparse vector of "): control for control in BROKEN}
ONE, OTHER = ([here] * HALF + [there] * HALF for here, there in ((0, 1), (1, 0)))


def judged(mechanism, one, other, epsilon=1, samples=SAMPLES):
    return audit(mechanism, one, other, epsilon=epsilon, samples=samples, alarm=ALARM, many=True)


def balances(mechanism):
    """How many more are above in the second half of the questions than in the first, for streams of a watch."""

    def told(values, count):
        found = []
        for _ in range(count):
            above = [answer.is_above for answer in mechanism.open().ask_many(values)]
            half = len(values) // 2
            found.append(sum(above[half:]) - sum(above[:half]))
        return found

    return told


def last_gaps(mechanism):
    """The gap of the last question where it was above and no other was, else NaN."""

    def told(values, count):
        streams = (mechanism.open().ask_many(values) for _ in range(count))
        return [math.nan if len(t) < len(values) or not t[-1].is_above else float(t[-1].gap) for t in streams]

    return told


@pytest.mark.parametrize("samples", [SAMPLES, 4 * SAMPLES])
@pytest.mark.parametrize("name", ["Lee and Clifton", "Stoddard and others", "Chen and others"])
def test_wrong_forms_are_caught(name, samples):
    control = CONTROLS[name]
    one, other = (control.one, control.other) if name.startswith("Stoddard") else (ONE, OTHER)
    assert judged(control.mechanism, one, other, samples=samples).verdict is Verdict.BROKEN


@pytest.mark.guarantee("mechanisms.threshold.above")
@pytest.mark.statistical(false_alarm=1e-5)
def test_ours_passes_at_the_same_number_of_samples(samples):
    watch = AboveThreshold(threshold=0, epsilon=1, answers=HALF)
    finding = judged(balances(watch), ONE, OTHER, samples=samples(SAMPLES))
    assert finding.verdict is Verdict.NOTHING_FOUND
    assert finding.samples == samples(SAMPLES)


@pytest.mark.parametrize("samples", [SAMPLES, 4 * SAMPLES])
def test_the_same_streams_with_a_thirtieth_of_the_noise_are_caught(samples):
    """A positive control: the audit is not blind to what these streams tell."""
    watch = AboveThreshold(threshold=0, epsilon=30, answers=HALF)
    assert judged(balances(watch), ONE, OTHER, samples=samples).verdict is Verdict.BROKEN


@pytest.mark.guarantee("mechanisms.threshold.above")
@pytest.mark.statistical(false_alarm=1e-5)
def test_a_free_gap_passes_on_the_data_that_break_a_shown_noisy_answer(samples):
    control = CONTROLS["Roth's notes, which shows noisy answers"]
    one, other = ([int(value) for value in side] for side in (control.one, control.other))
    watch = AboveThreshold(threshold=0, epsilon=3, gap=True)
    finding = judged(last_gaps(watch), one, other, epsilon=3, samples=samples(SAMPLES))
    assert finding.verdict is Verdict.NOTHING_FOUND
