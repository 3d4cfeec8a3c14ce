"""Controls of everything but the noise: what an output looks like, how long it takes, and what it is computed from."""

import math
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np

from discreet.auditing.claims import claim
from discreet.auditing.controls.control import (
    SENSITIVITY,
    Control,
    Floats,
    Integers,
    discrete_laplace,
    laplace,
    on_grid,
)

_LARGE = 2.0**52
_EPSILON_OF_BATCHES = 0.25
_RATE = 0.5
_MOST_ROWS = 10
_PAUSE = 0.001


def float_sum(values: Sequence[float]) -> int:
    """A sum in doubles, rounded once: the best that floats can do, and still 64 steps apart."""
    return int(math.fsum(values))


def _noisy_float_sum(values: Sequence[float], count: int) -> Integers:
    return float_sum(values) - 2**58 + discrete_laplace(1, count)


def _clipped_mean(values: Sequence[float], count: int) -> Floats:
    clipped = np.clip(np.asarray(values), 0, 1)
    return on_grid(clipped.sum() + laplace(1, count)) / 4


def _counts(rows: Sequence[str], count: int) -> list[dict[str, int]]:
    """Counts of the keys that are in the data."""
    exact = Counter(rows)
    noise = discrete_laplace(1, count * len(exact)).reshape(count, len(exact))
    return [dict(zip(exact, (np.array(list(exact.values())) + drawn).tolist(), strict=True)) for drawn in noise]


def _each(values: Sequence[float], count: int) -> list[list[float]]:
    """Every value with noise of its own: as many numbers as there are rows."""
    noisy: list[list[float]] = on_grid(np.asarray(values) + laplace(1, (count, len(values)))).tolist()
    return noisy


def _mean_gradient(gradients: Sequence[float], count: int) -> Floats:
    """The clipped gradients with noise, over the expected batch q n, as if n were public."""
    noisy = sum(gradients) + laplace(1 / _EPSILON_OF_BATCHES, count)
    return on_grid(noisy / (_RATE * len(gradients)))


def _count_or_error(rows: Sequence[int]) -> int:
    """A count that raises an error where there are too many rows."""
    if len(rows) > _MOST_ROWS:
        raise ValueError("too many rows")
    return len(rows) + int(discrete_laplace(1, 1)[0])


def _slower(rows: Sequence[str]) -> int:
    """A count that takes longer where somebody is in the data."""
    if "ann" in rows:
        time.sleep(_PAUSE)
    return len(rows) + int(discrete_laplace(1, 1)[0])


_HALFWAY = (_LARGE,) * 32 + (_LARGE + 1,) * 32
_BEYOND = (_LARGE,) * 31 + (_LARGE + 1,) * 33

BROKEN = (
    Control(
        name="a sum of floats",
        mechanism=_noisy_float_sum,
        claim=claim(epsilon=1),
        samples=200,
        why="64 values of about 2^52: one that grows by 1 moves the rounded sum by 64",
        one=_HALFWAY,
        other=_BEYOND,
    ),
    Control(
        name="a sum of floats, before its noise",
        mechanism=float_sum,
        claim=claim(epsilon=1),
        samples=1,
        why="one evaluation on each dataset: 64 apart, and 1 is claimed",
        layer=SENSITIVITY,
        many=False,
        one=_HALFWAY,
        other=_BEYOND,
    ),
    Control(
        name="NaN passes the clipping",
        mechanism=_clipped_mean,
        one=(0.5, 0.5, 0.5),
        other=(0.5, 0.5, math.nan),
        claim=claim(epsilon=1),
        samples=200,
        why="one NaN makes every answer NaN",
    ),
    Control(
        name="keys from the data",
        mechanism=_counts,
        one=("flu", "flu", "rare"),
        other=("flu", "flu"),
        claim=claim(epsilon=1),
        samples=200,
        why="a key is there because somebody has it",
    ),
    Control(
        name="an output as long as the data",
        mechanism=_each,
        one=(0.5, 0.5, 0.5),
        other=(0.5, 0.5),
        claim=claim(epsilon=1),
        samples=200,
        why="the number of answers is the number of rows",
    ),
    Control(
        name="a batch size of n q",
        mechanism=_mean_gradient,
        one=(1.0, 1.0),
        other=(1.0, 1.0, 1.0),
        claim=claim(epsilon=_EPSILON_OF_BATCHES),
        samples=10_000,
        why="the noise is divided by the exact number of rows, so its scale shows it",
    ),
    Control(
        name="an error on one side only",
        mechanism=_count_or_error,
        one=tuple(range(_MOST_ROWS)),
        other=tuple(range(_MOST_ROWS + 1)),
        claim=claim(epsilon=1),
        samples=200,
        why="whether it fails depends on one row",
        many=False,
    ),
    Control(
        name="a slower answer on one side",
        mechanism=_slower,
        one=("ann", "bob"),
        other=("bob",),
        claim=claim(epsilon=1),
        samples=500,
        why="a millisecond more where somebody is in the data",
        many=False,
        times=True,
    ),
)
