"""Controls of thresholds: keys shown when their noisy count is high, answers given when the data seem far from unsafe.

Keys. A key is shown where its count plus discrete Laplace noise of scale 1 is above 5. A key of one unit is then shown
with probability P[Y > 4] = e^-5/(1 + 1/e), which is the delta; with >= it is P[Y >= 4], 2.7 times as likely. The noise
of every key is its own, so the keys of one release are as many independent runs.

Propose, test, release. Data whose local sensitivity is above the proposal have distance 0 and pass with probability
P[Lap(1/epsilon) > threshold]: delta where the threshold is ln(1/(2 delta))/epsilon, and sqrt(delta/8) where it is the
textbook's ln(2/delta)/(2 epsilon). Here delta is 0.01, which makes that 0.035; at 1e-5 it would be 0.0011.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from discreet.auditing.claims import claim
from discreet.auditing.controls.control import (
    Booleans,
    Control,
    Floats,
    Integers,
    discrete_laplace,
    laplace,
    on_grid,
)

KEYS = 100_000

_THRESHOLD = 5
_DELTA_OF_KEYS = math.exp(-5) / (1 + math.exp(-1))
_DELTA = 0.01
_PROPOSAL = 1.0
_BOUNDS = (0.0, 1_000.0)


def _selected_keys(kept: Callable[[Integers], Booleans]) -> Callable[[int, int], Booleans]:
    """One release of so many keys, each with the same number of units: which of them are shown."""

    def release(units: int, keys: int) -> Booleans:
        return kept(units + discrete_laplace(1, keys)) & (units > 0)

    return release


def distance(values: Sequence[float], proposal: float) -> int:
    """How many values must be replaced before the median's local sensitivity can exceed the proposal."""
    ordered, middle = sorted(values), len(values) // 2
    low, high = _BOUNDS

    def at(place: int) -> float:
        return low if place < 0 else high if place >= len(ordered) else ordered[place]

    for replaced in range(len(ordered)):
        reach = range(replaced + 2)
        if max(at(middle + above) - at(middle + above - replaced - 1) for above in reach) > proposal:
            return replaced
    return len(ordered)


def _propose_test_release(threshold: float) -> Callable[[Sequence[float], int], Floats]:
    """The median by propose-test-release at epsilon 1; NaN where the test refuses."""

    def release(values: Sequence[float], count: int) -> Floats:
        passes = distance(values, _PROPOSAL) + laplace(1, count) > threshold
        answers = on_grid(sorted(values)[len(values) // 2] + laplace(_PROPOSAL, count))
        return np.where(passes, answers, np.nan)

    return release


_MEDIAN_HIGH = (0.0,) * 5 + (1_000.0,) * 6
_MEDIAN_LOW = (0.0,) * 6 + (1_000.0,) * 5

BROKEN = (
    Control(
        name="a threshold with >= instead of >",
        mechanism=_selected_keys(lambda noisy: noisy >= _THRESHOLD),
        claim=claim(epsilon=1, delta=round(_DELTA_OF_KEYS, 6)),
        why="a key of one unit is shown with 0.0134, and 0.0049 is claimed; each of 100,000 keys of a release is a run",
        one=1,
        other=0,
        samples=KEYS,
        at_once=True,
    ),
    Control(
        name="propose-test-release with the textbook's threshold",
        mechanism=_propose_test_release(math.log(2 / _DELTA) / 2),
        claim=claim(epsilon=2, delta=_DELTA),
        why="unsafe data pass with probability 0.035, and 0.01 is claimed",
        one=_MEDIAN_HIGH,
        other=_MEDIAN_LOW,
        samples=20_000,
    ),
)

RIGHT = (
    Control(
        name="a threshold with >",
        mechanism=_selected_keys(lambda noisy: noisy > _THRESHOLD),
        claim=claim(epsilon=1, delta=round(_DELTA_OF_KEYS, 6)),
        why="delta is the probability itself",
        is_broken=False,
        one=1,
        other=0,
        samples=KEYS,
        at_once=True,
    ),
    Control(
        name="propose-test-release with its true threshold",
        mechanism=_propose_test_release(math.log(1 / (2 * _DELTA))),
        claim=claim(epsilon=2, delta=_DELTA),
        why="unsafe data pass with probability delta",
        is_broken=False,
        one=_MEDIAN_HIGH,
        other=_MEDIAN_LOW,
        samples=20_000,
    ),
)
