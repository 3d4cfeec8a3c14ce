"""Above threshold in stages: each has noise of its own on the threshold, for privacy budgets with a delta.

Definition
    A stage is a stream of AboveThreshold that ends after m answers above. Stage s draws its own noise R_s of the
    threshold; each query draws its own N_i. When a stage ends, the next one begins, until `times` = r stages have
    ended. With `answer_noise`, each of the c = r m answers above also shows q_i + V_i, where V_i is fresh noise of that
    mechanism: discrete Gaussian, for example. With `gap`, it also shows the gap of its own stage.

Guarantee
    If no answer of neighbouring datasets differs by more than `sensitivity`, a whole stream costs at most r times the
    pure event of one stage and, with answers, c times the event of the noise, by any accountant that adds up the costs
    of events chosen after earlier answers. At an order alpha its Renyi divergence is at most the sum of theirs. The gap
    is free in each stage, and `monotone` holds for each stage. It holds for queries chosen after earlier answers, for
    any number of them, and while other releases go on. Proof: docs/proofs/mechanisms/threshold/repeated.md.

Exactness
    The event is made of the scales and sigmas that are drawn. `accuracy` and `margin` are decided in rationals, but for
    the margin of Gaussian noise; `probability_above` is a float, for display.

Not covered
    Whether `sensitivity` and `monotone` are true of the queries. A stage that does not end costs as much as one that
    does. With times > 1 a pure epsilon is better spent on one threshold: r stages pay for r of them.

References
    Dwork and Roth, The Algorithmic Foundations of Differential Privacy, 2014, Section 3.6 (Sparse and NumericSparse, by
    advanced composition); Lyu, Su and Li, Understanding the Sparse Vector Technique for Differential Privacy, PVLDB
    10(6), 2017; Zhu and Wang, Improving Sparse Vector Technique with Renyi Differential Privacy, NeurIPS 2020.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.events import ComposedEvent, RepeatedEvent
from discreet.exact.numbers import Number, whole
from discreet.mechanisms import lattice
from discreet.mechanisms.additive import AdditiveNoise
from discreet.mechanisms.lattice import Scalar
from discreet.mechanisms.threshold.above import AboveThreshold, accuracy, not_shown
from discreet.mechanisms.threshold.stream import Stream

_EXAMPLE = "RepeatedAboveThreshold(AboveThreshold(threshold=1_000, epsilon=0.1), times=10)"


@public_class
@dataclass(frozen=True, init=False)
class RepeatedAboveThreshold:
    """AboveThreshold in stages: the noise of the threshold is drawn again after each stage.

    Under a privacy budget with a delta the costs of the stages add up like those of separate releases. With many
    answers above, that needs less noise than one threshold for all of them.

    Args:
        each: AboveThreshold of one stage, without shown answers.
        times: Number of stages. Default 1.
        answer_noise: Noise of each shown answer, in steps of the grid of `each`. Default: answers are not shown.

    Raises:
        ParameterError: If the stages show answers themselves, or the noise does not fit their sensitivity.

    Example:
        >>> import discreet as dp
        >>> each = dp.mechanisms.AboveThreshold(threshold=1_000, epsilon=0.1)
        >>> noise = dp.mechanisms.Gaussian(sensitivity=1, rho=0.01)
        >>> above = dp.mechanisms.RepeatedAboveThreshold(each, times=10, answer_noise=noise)
        >>> above.answers, above.accuracy(queries=1_000), above.margin()
        (10, 499, 14)
    """

    each: AboveThreshold
    times: int
    answer_noise: AdditiveNoise | None

    @short_traceback
    def __init__(self, each: AboveThreshold, times: int = 1, answer_noise: AdditiveNoise | None = None) -> None:
        _require_stage(each)
        if answer_noise is not None:
            _require_noise(answer_noise, each)
        object.__setattr__(self, "each", each)
        object.__setattr__(self, "times", whole(times, "times"))
        object.__setattr__(self, "answer_noise", answer_noise)

    @property
    def threshold(self) -> Scalar:
        """Number that answers are compared with, on the grid."""
        return self.each.threshold

    @property
    def sensitivity(self) -> Fraction:
        """Sensitivity of each query."""
        return self.each.sensitivity

    @property
    def answers(self) -> int:
        """Number of answers above before the stream ends."""
        return self.times * self.each.answers

    @property
    def monotone(self) -> bool:
        """Whether one unit changes all answers in the same direction."""
        return self.each.monotone

    @property
    def gap(self) -> bool:
        """Whether an answer above comes with its noisy distance from the threshold."""
        return self.each.gap

    @property
    def grid(self) -> Fraction:
        """Answers are multiples of it."""
        return self.each.grid

    @property
    def with_answers(self) -> bool:
        """Whether an answer above comes with the number itself, under fresh noise."""
        return self.answer_noise is not None

    def event(self) -> ComposedEvent:
        """Event of a whole stream, for accountants: all stages and all shown answers, whether or not they come.

        Returns:
            The event.
        """
        stages = RepeatedEvent(self.each.event(), self.times)
        if self.answer_noise is None:
            return ComposedEvent((stages,))
        return ComposedEvent((stages, RepeatedEvent(self.answer_noise.event(), self.answers)))

    @short_traceback
    def open(self) -> Stream:
        """Open a stream of queries; the noise of the first threshold is drawn now. Charge the event before.

        Returns:
            The open stream.
        """
        return Stream(
            threshold=lattice.steps(self.threshold, self.grid),
            scales=self.each.scales,
            answers=self.each.answers,
            grid=self.grid,
            shows_gap=self.gap,
            answer_noise=self.answer_noise,
            stages=self.times,
        )

    @short_traceback
    def accuracy(self, queries: int, beta: Number = 0.05) -> Scalar:
        """Accuracy: with probability 1 - beta, only values within this distance of the threshold are misreported.

        Args:
            queries: Number of queries of all stages together.
            beta: Probability with which the bound may fail. Default 0.05.

        Returns:
            The distance, a multiple of the grid. A shown gap is within it too.

        Raises:
            ParameterError: If an argument is outside its range.
        """
        return accuracy(self.each, queries, beta, stages=self.times)

    @short_traceback
    def margin(self, confidence: Number = 0.95) -> Scalar:
        """Margin of error of a shown answer.

        Args:
            confidence: Probability with which the noise stays within it. Default 0.95.

        Returns:
            The least such multiple of the grid.

        Raises:
            ParameterError: If answers are not shown.
        """
        if self.answer_noise is None:
            raise not_shown("RepeatedAboveThreshold(..., answer_noise=Gaussian(sensitivity=1, rho=0.01))")
        return lattice.value_of(int(self.answer_noise.margin(confidence)), self.grid)

    @short_traceback
    def probability_above(self, value: Scalar) -> float:
        """Probability that a first query of a value is reported above, in floats.

        Args:
            value: The exact value.

        Returns:
            The probability.

        Raises:
            ParameterError: If the value is not on the grid.
        """
        return self.each.probability_above(value)


class _OneNumber(NamedTuple):
    """The norms of one integer."""

    l0: int
    l1: int
    l2_squared: int
    linf: int


def _require_stage(each: object) -> None:
    if not isinstance(each, AboveThreshold):
        raise ParameterError(
            f"a stage of type {type(each).__name__}", because="a stage is an AboveThreshold", instead=_EXAMPLE
        )
    if each.with_answers:
        raise ParameterError(
            "a stage that shows answers",
            because="shown answers are events of their own, beside the stages",
            instead="AboveThreshold(..., with_answers=False), and answer_noise=Gaussian(sensitivity=1, rho=0.01)",
        )


def _require_noise(noise: object, each: AboveThreshold) -> None:
    steps = math.ceil(each.sensitivity / each.grid)
    if isinstance(noise, AdditiveNoise) and noise.grid == 1 and noise.covers(_OneNumber(1, steps, steps**2, steps)):
        return
    raise ParameterError(
        "answer_noise that does not fit the stages",
        because=f"it is additive noise on whole steps of the grid, for a sensitivity of {steps} steps",
        instead=f"answer_noise=Gaussian(sensitivity={steps}, rho=0.01)",
    )
