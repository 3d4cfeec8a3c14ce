"""Unary encoding: one bit for each slot, each randomised on its own.

Definition
    A client with slot x of d slots reports d independent bits: bit x is 1 with probability p, every other bit with
    probability q < p. The symmetric form has q = 1 - p, as one report of basic RAPPOR; the optimal one has p = 1/2 and
    q = 1/(r + 1). Draw: for each slot in order, a number below the denominator is compared with the numerator.

Guarantee
    The largest likelihood ratio is p (1 - q)/((1 - p) q). If it is at most e^epsilon, one report is epsilon-locally
    differentially private. Two stages are the oracle of the same kind with the probabilities that `compose` states.
    Proof: docs/proofs/local/oracles/unary.md.

Exactness
    Probabilities are rationals and draws are integers below a whole number. `epsilon` is rounded up. Variances and
    estimates are floats.

Not covered
    Several reports of one client: their losses add, unless the report is memoised. False reports: one may support all
    slots at once.

References
    Wang, Blocki, Li and Jha, Locally Differentially Private Protocols for Frequency Estimation, USENIX Security 2017,
    Section 4.2. Erlingsson, Pihur and Korolova, RAPPOR, CCS 2014.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number, positive
from discreet.local.oracles import bitmaps
from discreet.local.oracles.fields import Fields, check_fields, check_size, ratio_field, read_ratio, whole_field
from discreet.local.oracles.oracle import FrequencyOracle, merge_cohorts
from discreet.local.oracles.randomizer import Counts, Floats, Outcome, check_slot, ratio_within

LARGEST_PMF = 16


@public_class
@dataclass(frozen=True)
class UnaryEncoding(FrequencyOracle):
    """Unary encoding: a bitmap with a bit for each slot.

    Args:
        size: Number of slots, at least 2.
        one: Probability p that the bit of the client's slot is 1.
        zero: Probability q that another bit is 1.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.UnaryEncoding.optimal(1024, epsilon=1)
        >>> round(oracle.variance(), 2)
        3.68
    """

    kind: ClassVar[str] = "unary"
    title: ClassVar[str] = "unary encoding"
    FIELDS: ClassVar[Fields] = {"size": whole_field(), "one": ratio_field, "zero": ratio_field}

    size: int
    one: Fraction
    zero: Fraction
    ratio: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_size(self.size)
        object.__setattr__(self, "ratio", bit_ratio(self.one, self.zero))

    @classmethod
    def optimal(cls, size: int, epsilon: Number) -> Self:
        """The form of least variance for rare values: a fair coin for the client's slot.

        Args:
            size: Number of slots.
            epsilon: The most that one report may lose.

        Returns:
            The oracle.

        Raises:
            ParameterError: If an argument is outside its range.
        """
        return cls(size, Fraction(1, 2), 1 / (ratio_within(epsilon) + 1))

    @classmethod
    def symmetric(cls, size: int, epsilon: Number) -> Self:
        """The form in which every bit is kept with the same probability, as in basic RAPPOR.

        Args:
            size: Number of slots.
            epsilon: The most that one report may lose.

        Returns:
            The oracle.

        Raises:
            ParameterError: If an argument is outside its range.
        """
        root = ratio_within(positive(epsilon, "epsilon") / 2)
        return cls(size, root / (root + 1), 1 / (root + 1))

    @property
    def symbols(self) -> None:
        """None: a report is a bitmap."""
        return

    @property
    def payload_bytes(self) -> int:
        """Length of the bitmap."""
        return bitmaps.bitmap_bytes(self.size)

    @property
    def true_rate(self) -> Fraction:
        """The probability p."""
        return self.one

    @property
    def false_rate(self) -> Fraction:
        """The probability q."""
        return self.zero

    def payload(self, outcome: Outcome) -> bytes:
        """The bitmap of an outcome.

        Args:
            outcome: Sorted slots whose bit is 1.

        Returns:
            The bytes on the wire.
        """
        return bitmaps.pack(outcome, self.size)  # type: ignore[arg-type]

    def outcome(self, payload: bytes) -> Outcome:
        """The sorted slots whose bit is 1, after range checks.

        Args:
            payload: The bytes on the wire.

        Returns:
            The slots.

        Raises:
            ParameterError: If the length is wrong, or a bit that stands for no slot is 1.
        """
        return bitmaps.unpack(payload, self.size, self.kind)

    def probability(self, outcome: Outcome, slot: int) -> Fraction:
        """Probability of a bitmap, given the value.

        Args:
            outcome: Sorted slots whose bit is 1.
            slot: Slot of the value.

        Returns:
            The probability, exactly.

        Raises:
            ParameterError: If there is no such slot.
        """
        if isinstance(outcome, int) or len(set(outcome)) < len(outcome) or not set(outcome) <= set(range(self.size)):
            return Fraction(0)
        own = check_slot(slot, self.size) in outcome
        others = len(outcome) - own
        rest = self.zero**others * (1 - self.zero) ** (self.size - 1 - others)
        return rest * (self.one if own else 1 - self.one)

    def pmf(self, slot: int) -> dict[Outcome, Fraction]:
        """Probability of each bitmap, given the value; for at most 16 slots.

        Args:
            slot: Slot of the value.

        Returns:
            Probabilities by sorted slots. They add up to one.

        Raises:
            ParameterError: If there are more than 16 slots.
        """
        if self.size > LARGEST_PMF:
            raise too_many_outcomes(2**self.size)
        outcomes = (chosen for n in range(self.size + 1) for chosen in itertools.combinations(range(self.size), n))
        return {outcome: self.probability(outcome, slot) for outcome in outcomes}

    def support(self, counts: Counts) -> Floats:
        """Reports whose bit of each slot is 1.

        Args:
            counts: Reports by bit; a row for each cohort, or one row.

        Returns:
            A number for each slot.
        """
        return merge_cohorts(counts).astype(np.float64)

    def largest_support(self, targets: Sequence[int]) -> int:
        return len(targets)

    def false_counts(self, fakes: int, target: int, generator: np.random.Generator, *, is_varied: bool) -> Counts:
        counts = np.zeros(self.size, dtype=np.int64)
        if is_varied:
            counts = generator.binomial(fakes, float(self.zero), size=self.size)
        counts[target] = fakes
        return counts

    @classmethod
    def second_ratio(cls, second: Mapping[str, Any]) -> Fraction:
        """Likelihood ratio of the fresh stage of two, alone, for values that differ in two bits.

        Args:
            second: Probabilities of the fresh stage, {"one": [n, d], "zero": [n, d]}.

        Returns:
            The ratio.

        Raises:
            ParameterError: If the probabilities are outside their range.
        """
        check_fields({"kind": cls.kind, **second}, cls.kind, ("one", "zero"))
        return bit_ratio(read_ratio(second["one"], "one"), read_ratio(second["zero"], "zero"))

    def compose(self, second: Mapping[str, Any]) -> "UnaryEncoding":
        """The oracle of a memoised bitmap whose bits are randomised again.

        Args:
            second: Probabilities of the fresh stage, {"one": [n, d], "zero": [n, d]}.

        Returns:
            The oracle that decodes such reports.

        Raises:
            ParameterError: If the probabilities are outside their range.
        """
        self.second_ratio(second)
        one, zero = read_ratio(second["one"], "one"), read_ratio(second["zero"], "zero")
        return UnaryEncoding(
            self.size, self.one * one + (1 - self.one) * zero, self.zero * one + (1 - self.zero) * zero
        )


def bit_ratio(one: object, zero: object) -> Fraction:
    """The largest likelihood ratio of two bitmaps of which two bits were swapped before they were randomised."""
    if not (isinstance(one, Fraction) and isinstance(zero, Fraction) and 0 < zero < one < 1):
        raise ParameterError(
            f"one={one}, zero={zero}",
            because="the probabilities of a bit are Fractions with 0 < zero < one < 1",
            instead="UnaryEncoding.optimal(1024, epsilon=1)",
        )
    return one * (1 - zero) / ((1 - one) * zero)


def too_many_outcomes(number: int) -> ParameterError:
    """The error for a list of outcomes that is too long."""
    return ParameterError(
        f"a list of 2^{math.log2(number):.0f} outcomes",
        because="pmf lists every outcome",
        instead="probability(outcome, slot)",
    )
