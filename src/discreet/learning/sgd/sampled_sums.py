"""Noisy sums of clipped gradients over Poisson samples of people: the only way by which a network meets rows.

Definition
    In every step each person is in the sample with probability `rate`, independently of all others and of all earlier
    steps. The gradients of a sampled person's rows are rounded to whole steps, added, and scaled to an L2 norm of at
    most `CLIP`. People are added, and discrete Gaussian noise is added to each coordinate. A step with an empty
    sample is a step like any other.

Guarantee
    A training is one event that is known before a row is read: a sampled Gaussian event, repeated once for each step.
    Neighbours differ by one person more or less; no guarantee is stated for a replaced person. The noise of the event
    is that of the object which draws it. It rests on one condition: the gradient of a row depends on that row and on
    the public weights alone. Proof: docs/proofs/learning/sgd/sampled_sums.md.

Exactness
    The rate is rational and is drawn exactly, with randomness of the operating system. Vectors, norms and sums are
    64-bit integers, and noise is drawn exactly (samplers/discrete.py). Gradients are floats: in a batch of rows the
    last bits of one gradient may depend on the other rows of the batch. `rows_at_once=1` computes each row alone.

Not covered
    Replaced people; a sample that is published; the time that a step takes, which depends on the size of the sample.

References
    Abadi and others, Deep Learning with Differential Privacy, CCS 2016.
    Mironov, Talwar and Zhang, Renyi Differential Privacy of the Sampled Gaussian Mechanism, 2019.
    Casacuberta, Shoemate, Vadhan and Wagaman, Widespread Underestimation of Sensitivity in Differentially Private
    Libraries and How to Fix It, CCS 2022 (floats).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet import events
from discreet.accounting.sampled_gaussian import least_variance
from discreet.errors import ParameterError
from discreet.exact.rounding import sqrt_double_up
from discreet.learning.core.lattice import Integers
from discreet.learning.core.rows import Codes, EncodedRows
from discreet.learning.core.training import PlannedSum, Schedule
from discreet.learning.sgd.vectors import CLIP, LARGEST_LENGTH, MOST_ROWS, clip_vectors, lattice_steps
from discreet.mechanisms import Gaussian
from discreet.mechanisms.poisson import poisson_sample

MOST_STEPS = 1_000_000
_ENTRIES_AT_ONCE = 1 << 24
"""Entries of the vectors of people that are in memory together, a public number."""


class GradientRule(Protocol):
    """The gradients of rows under public weights."""

    def gradients(self, codes: Codes, target: Integers) -> NDArray[np.floating]:
        """One gradient for each row, which depends on this row and the public weights alone."""


@dataclass(frozen=True)
class SampledSchedule(Schedule):
    """Every step of a training, from public facts alone: all steps are alike.

    Attributes:
        sums: None; sums of all people are not part of it.
        rate: Probability that a person is in the sample of a step.
        steps: Number of steps.
        size: Declared number of people.
        noise: Noise of each coordinate, in steps of the lattice.
    """

    sums: tuple[PlannedSum, ...] = field(default=(), init=False)
    rate: Fraction
    steps: int
    size: int
    noise: Gaussian

    @property
    def step_event(self) -> events.SampledGaussianEvent:
        """The event of one step: made of the rate that is drawn and of the noise that is drawn."""
        return events.SampledGaussianEvent(self.rate, Fraction(self.noise.sigma) ** 2, self.noise.squared_sensitivity)

    @property
    def event(self) -> events.Event:
        """The event of a whole training."""
        return events.RepeatedEvent(self.step_event, self.steps)

    @property
    def rho(self) -> Fraction:
        """A rho that holds at every order: that of a training without sampling."""
        return self.steps * self.noise.rho

    @property
    def expected_people(self) -> Fraction:
        """The public divisor of every sum: rate times declared size, never the size of a sample."""
        return self.rate * self.size


def sampled_schedule(
    *,
    rate: Fraction,
    steps: int,
    size: int,
    length: int,
    rho: Fraction,
    orders: Sequence[Fraction],
    replace_one: bool = False,
) -> SampledSchedule:
    """The schedule with the least noise at which all steps cost at most rho at every one of the orders.

    Args:
        rate: Probability that a person is in the sample of a step.
        steps: Number of steps.
        size: Declared number of people.
        length: Number of coordinates of a gradient.
        rho: Bound on the sum of the Renyi divergences of all steps, divided by the order.
        orders: That of the budget, and that at which the guarantee of the fit is converted.
        replace_one: Whether neighbours differ by a replaced person, which is refused.

    Returns:
        The schedule.

    Raises:
        ParameterError: If neighbours replace a person, or a number is outside its range.
    """
    _refuse(rate, steps, length, replace_one=replace_one)
    squared = Fraction(CLIP**2)
    variance = max(
        least_variance(rate=rate, squared_sensitivity=squared, steps=steps, rho=rho, order=order) for order in orders
    )
    sigma = sqrt_double_up(variance)
    noise = Gaussian.with_sigma(sigma=sigma, squared_sensitivity=squared, dimension=length)
    return SampledSchedule(rate=rate, steps=steps, size=size, noise=noise)


def _refuse(rate: Fraction, steps: int, length: int, *, replace_one: bool) -> None:
    if replace_one:
        raise ParameterError(
            'stochastic gradient descent with neighbours="replace_one"',
            because="the privacy of Poisson samples is proved for people added or removed",
            instead='neighbours="add_remove"',
        )
    if not 0 < rate <= 1 or rate.denominator > 1 << 62:
        raise ParameterError(
            "a sampling rate outside 0 to 1",
            because="the rate is the probability that a person is in a batch",
            instead="sampling_rate=0.02",
        )
    if not 1 <= steps <= MOST_STEPS:
        raise ParameterError(
            f"{steps:,} steps", because=f"a training has from 1 to {MOST_STEPS:,} steps", instead="steps=500"
        )
    if length > LARGEST_LENGTH:
        raise ParameterError(
            f"a network of {length:,} weights",
            because=f"squares of more than {LARGEST_LENGTH:,} coordinates may leave 64 bits",
            instead="hidden=(64,), or another smaller network",
        )


class SampledSums:
    """What training receives: noisy sums over fresh samples of people, as many as were charged.

    Args:
        blocks: Rows, in blocks of whole people.
        schedule: The schedule that was charged.
        norm: The norm of a gradient that is `CLIP` steps.
        rows_at_once: Rows whose gradients are computed together; 1 computes each row alone. They are fewer where
            the network has so many weights that their vectors would fill the memory.
    """

    def __init__(
        self, blocks: Sequence[EncodedRows], schedule: SampledSchedule, *, norm: float, rows_at_once: int
    ) -> None:
        self._blocks, self._schedule, self._norm = blocks, schedule, norm
        self._rows = max(1, min(rows_at_once, _ENTRIES_AT_ONCE // schedule.noise.dimension))
        self._next = 0

    @property
    def left(self) -> int:
        """How many steps of the schedule are left."""
        return self._schedule.steps - self._next

    def mean_gradient(self, rule: GradientRule) -> NDArray[np.float64]:
        """The noisy sum of the next step, divided by the expected number of people in a sample.

        Args:
            rule: Gradients of rows under the public weights of this step.

        Returns:
            A gradient in its own unit: a function of the noisy integer sum and of public facts.

        Raises:
            RuntimeError: If the schedule has no step left.
        """
        if not self.left:
            raise RuntimeError("training asked for more steps than were charged")
        self._next += 1
        exact = self._sum(rule)
        noisy = self._randomize(exact)
        unit = self._norm / CLIP / float(self._schedule.expected_people)
        return noisy.astype(np.float64) * unit

    def _sum(self, rule: GradientRule) -> Integers:
        """The exact sum over a fresh sample; zero for an empty one."""
        total = np.zeros(self._schedule.noise.dimension, dtype=np.int64)
        for block in self._blocks:
            for vectors in self._person_vectors(block, self._sample(block.people), rule):
                total += clip_vectors(vectors).sum(axis=0)
        return total

    def _sample(self, people: int) -> Integers:
        """The numbers of the sampled people."""
        return poisson_sample(people, self._schedule.rate)

    def _randomize(self, exact: Integers) -> Integers:
        """The one place where noise meets sums of people."""
        return exact + np.asarray(self._schedule.noise.draw(len(exact)), dtype=np.int64)

    def _person_vectors(self, block: EncodedRows, sample: Integers, rule: GradientRule) -> Iterator[Integers]:
        """The vectors of sampled people, a few people at once: the integer sums of their rows."""
        if len(block) > MOST_ROWS:
            raise OverflowError("a block of too many rows")
        starts = np.arange(len(block), dtype=np.int64) if block.starts is None else block.starts
        ends = np.append(starts[1:], len(block))
        for people in _parts(sample, self._rows):
            counts = ends[people] - starts[people]
            owners = np.repeat(np.arange(len(people)), counts)
            rows = np.concatenate([np.arange(starts[one], ends[one]) for one in people])
            vectors = np.zeros((len(people), self._schedule.noise.dimension), dtype=np.int64)
            for some in _parts(np.arange(len(rows)), self._rows):
                found = rule.gradients(block.codes[rows[some]], block.target[rows[some]])
                steps = lattice_steps(found, self._norm)
                if len(rows) == len(people):
                    vectors[some] = steps
                else:
                    np.add.at(vectors, owners[some], steps)
            yield vectors


class ExactSampledSums(SampledSums):
    """Sums without noise over all people, for tests: NOT PRIVATE."""

    def _sample(self, people: int) -> Integers:
        return np.arange(people, dtype=np.int64)

    def _randomize(self, exact: Integers) -> Integers:
        return exact


def _parts(numbers: Integers, largest: int) -> Iterable[Integers]:
    return (numbers[low : low + largest] for low in range(0, len(numbers), largest))
