"""Smooth sensitivity and propose-test-release: for answers that one unit could move far, and on this data does not.

    from discreet.mechanisms import smooth

    ages = smooth.Median([31, 35, 36, 36, 38, 44, 52], bounds=(0, 120))
    smooth.Smooth(noise="pareto", epsilon=1).release(ages)
    smooth.ProposeTestRelease(bound=5, epsilon=1, delta=1e-6).release(ages)     # an answer, or None

A local object (local.py, quantiles.py) holds the exact answer and how far one unit can move it on all data within k
units. `Smooth` adds noise on the scale of the smooth sensitivity, `ProposeTestRelease` noise on the scale of a bound
that was proposed, where the data is far from breaking it. Both are exact, and both say nothing about the data but the
noisy answer: a smooth sensitivity is private, so no margin comes with it.
"""

from discreet.mechanisms.smooth.fitting import Smooth
from discreet.mechanisms.smooth.local import BoundedMean, Local, SuppliedBounds
from discreet.mechanisms.smooth.proposing import ProposeTestRelease
from discreet.mechanisms.smooth.quantiles import InterquartileRange, Median, Quantile, StepCounts

__all__ = [
    "BoundedMean",
    "InterquartileRange",
    "Local",
    "Median",
    "ProposeTestRelease",
    "Quantile",
    "Smooth",
    "StepCounts",
    "SuppliedBounds",
]
