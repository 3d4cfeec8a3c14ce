"""A control: a mechanism of which the answer is known, so that an audit can be audited.

A broken one must be caught, or nothing that the run did not find means anything. A right one, most
of them on the very edge of their claims, must not be. Each is wrong in one way only: noise that is not the fault itself
stands on a grid of 2^-20, because plain floats are a fault of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.auditing.claims import Claim
from discreet.auditing.sensitivity import audit
from discreet.auditing.statistical import audit as statistical

STATISTICS = statistical.LAYER
SENSITIVITY = audit.LAYER

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

_STEPS = 2.0**20

# The noise of controls judges audits and protects nobody: numpy's will do.
random = np.random.default_rng()


@dataclass(frozen=True, kw_only=True)
class Control:
    """A mechanism with its claim, the two datasets that show what it is, and what catching it may take.

    `mechanism(dataset, count)` makes so many outcomes where `many`, `mechanism(dataset)` one elsewhere. It is audited
    `repeats` times with at most `samples` runs on each dataset, and must be caught `needed` times; a right one never.
    `needs` names a package without which it is skipped; `at_once` says that all samples are those of one release.
    """

    name: str
    mechanism: Callable[..., Any]
    one: Any
    other: Any
    claim: Claim
    samples: int
    why: str
    layer: str = STATISTICS
    is_broken: bool = True
    many: bool = True
    times: bool = False
    at_once: bool = False
    repeats: int = 1
    needed: int = 1
    needs: str | None = None


def laplace(scale: float, size: int | tuple[int, ...]) -> Floats:
    """Continuous Laplace noise, as far as doubles go."""
    return random.laplace(0, scale, size)


def discrete_laplace(scale: float, size: int) -> Integers:
    """Discrete Laplace noise: the difference of two geometric draws."""
    stop = -np.expm1(-1 / scale)
    return random.geometric(stop, size) - random.geometric(stop, size)


def on_grid(values: Floats) -> Floats:
    """The nearest multiples of 2^-20: what is released when the last bits of a double must say nothing."""
    return np.round(values * _STEPS) / _STEPS
