"""Sample and aggregate: any function of a table made private by asking it about many small parts.

    from discreet.mechanisms import sampled

    mean = sampled.ClippedMean(bounds=(0, 120), chunks=1_000, epsilon=0.5)
    mean.release(answers)        # one answer for each block of whole units
    mean.margin()                # of the noise: 0.72
    sampled.PrivateMedian(bounds=(0, 120), chunks=1_000, epsilon=0.5).release(answers)
    sampled.SelfBoundedMean(bounds=(-1_000_000, 1_000_000), chunks=1_000, epsilon=2).release(answers)

Rows are split into blocks so that no unit is in two (engines), a function is asked about each block alone (sandbox),
and the answers, which one unit can move arbitrarily but only one or two of, are aggregated here. The contract of the
family: `event()` says what a release does, `margin(confidence)` how far the noise goes, `release(answers)` takes one
number for each block, in any order, and shows none of them in a message.
"""

from discreet.mechanisms.sampled.clipped_mean import ClippedMean
from discreet.mechanisms.sampled.private_quantile import PrivateMedian, PrivateQuantile
from discreet.mechanisms.sampled.self_bounded import Found, SelfBoundedMean
from discreet.mechanisms.sampled.steps import Answer, Steps

__all__ = ["Answer", "ClippedMean", "Found", "PrivateMedian", "PrivateQuantile", "SelfBoundedMean", "Steps"]
