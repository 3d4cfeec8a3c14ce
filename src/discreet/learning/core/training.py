"""Training under a schedule that is public before the first row is read: a learner receives noisy integer sums only.

Definition
    A schedule lists, for every sum that training will ask for, the clip of a person's vector and the discrete Gaussian
    noise added to each coordinate. `NoisySums` hands out the sums in that order, and no others.

Guarantee
    A fit is one event that is known in advance: the composition of the Gaussian events of its schedule. Each has an L2
    sensitivity of the clip where people are added or removed, and of twice the clip where one is replaced. What follows
    from noisy sums is post-processing, and later sums may depend on earlier noisy ones. Proof:
    docs/proofs/learning/core/training.md.

Exactness
    Sums are 64-bit integers, noise is drawn exactly (samplers/discrete.py), and rho is rational. A clip beyond what
    sums of 64 bits allow is refused with the schedule, before the charge.

Not covered
    The time that training takes, which depends on the number of rows.

References
    Bun and Steinke, Concentrated Differential Privacy, TCC 2016, Lemma 1.7 (composition).
    Song, Chaudhuri and Sarwate, Stochastic Gradient Descent with Differentially Private Updates, GlobalSIP 2013.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from discreet import events
from discreet.errors import ParameterError
from discreet.learning.core.lattice import Integers
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.sums import LARGEST_CLIP, Step, people_sum
from discreet.mechanisms import Gaussian


class SumsOfPeople(Protocol):
    """The people of a dataset: all that is ever asked of them is a sum of clipped vectors."""

    def sum(self, step: Step) -> Integers:
        """The exact sum over people."""


@dataclass(frozen=True)
class PeopleInMemory:
    """People whose rows are encoded in this process, in blocks."""

    blocks: Sequence[EncodedRows]

    def sum(self, step: Step) -> Integers:
        """The exact sum over people."""
        return people_sum(step, self.blocks)


@dataclass(frozen=True)
class PlannedSum:
    """One sum of a schedule: the clip of a person's vector, and the noise of each coordinate."""

    clip: int
    noise: Gaussian


@dataclass(frozen=True)
class Schedule:
    """Every sum that a training asks for, in order; public."""

    sums: tuple[PlannedSum, ...]

    @property
    def event(self) -> events.Event:
        """The event of a whole training."""
        return events.compose([each.noise.event() for each in self.sums])

    @property
    def rho(self) -> Fraction:
        """The rho of a whole training."""
        return sum((each.noise.rho for each in self.sums), Fraction(0))


def planned_sum(clip: int, length: int, rho: Fraction, *, replace_one: bool = False) -> PlannedSum:
    """A sum of vectors of norm at most `clip`, with noise of this rho.

    Raises:
        ParameterError: If the clip is longer than sums of people allow; schedules are made before the charge.
    """
    if clip > LARGEST_CLIP:
        raise ParameterError(
            "a model of so many features or classes",
            because="the vector of a person would be longer than sums in 64 bits allow",
            instead="features={...} with fewer columns (359 for Ridge), or dp.learning.GradientBoostingRegressor",
        )
    moved = 2 * clip if replace_one else clip
    return PlannedSum(clip, Gaussian(squared_sensitivity=moved**2, rho=rho, dimension=length))


class NoisySums:
    """What a learner receives: the sums of its schedule with noise, in order."""

    def __init__(self, people: SumsOfPeople, schedule: Schedule) -> None:
        self._people, self._schedule, self._next = people, schedule, 0

    @property
    def left(self) -> int:
        """How many sums of the schedule are left."""
        return len(self._schedule.sums) - self._next

    def sum(self, step: Step) -> Integers:
        """The next sum of the schedule, with noise.

        Args:
            step: The rule by which rows contribute; its clip is the planned one.

        Raises:
            RuntimeError: If the schedule has no sum left, or was made for another clip.
        """
        if not self.left:
            raise RuntimeError("training asked for more sums than were charged")
        planned = self._schedule.sums[self._next]
        if step.clip != planned.clip or step.length > planned.noise.dimension:
            raise RuntimeError("training asked for another sum than the one charged")
        self._next += 1
        return self._randomize(self._people.sum(step), planned.noise)

    def public_generator(self) -> np.random.Generator:
        """Randomness that is independent of data and need not be secret, from the operating system. Noise has its own.

        Returns:
            A generator, another one at each call.
        """
        return np.random.default_rng()

    def _randomize(self, exact: Integers, noise: Gaussian) -> Integers:
        """The one place where noise meets sums of people."""
        return exact + np.asarray(noise.draw(len(exact)), dtype=np.int64)


class ExactSums(NoisySums):
    """Sums without noise, for tests: NOT PRIVATE."""

    def public_generator(self) -> np.random.Generator:
        """Randomness that is the same at each call, so that tests can repeat a training."""
        return np.random.default_rng(0)

    def _randomize(self, exact: Integers, noise: Gaussian) -> Integers:  # noqa: ARG002 - none is drawn
        return exact
