"""Subset selection: a random set of slots of a fixed size, which more likely has the client's slot in it.

Definition
    A client with slot x of d slots reports a set S of w slots, with P[S | x] proportional to r for sets with x in them
    and to 1 for others. The set has x in it with probability w r/(w r + d - w). Draw: a number below w a + (d - w) b,
    with r = a/b, decides whether x is in the set; Floyd's algorithm draws the other w - 1 or w of d - 1 slots.

Guarantee
    If r <= e^epsilon, one report is epsilon-locally differentially private. The largest likelihood ratio is r. With
    w = 1 it is k-ary randomized response. Proof: docs/proofs/local/oracles/subset.md.

Exactness
    Probabilities are rationals and draws are integers below a whole number. `epsilon` is ln r rounded up. Variances and
    estimates are floats.

Not covered
    Several reports of one client: their losses add, unless the report is memoised. False reports: one supports w slots.

References
    Ye and Barg, Optimal Schemes for Discrete Distribution Estimation Under Locally Differential Privacy, IEEE
    Transactions on Information Theory 2018. Wang et al., Local Private Mutual Information, 2016. Bentley and Floyd,
    A Sample of Brilliance, 1987.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number
from discreet.local.oracles import bitmaps
from discreet.local.oracles.fields import Fields, check_ratio, check_size, ratio_field, whole_field
from discreet.local.oracles.oracle import FrequencyOracle, merge_cohorts
from discreet.local.oracles.randomizer import (
    Counts,
    Floats,
    Outcome,
    byte_width,
    check_slot,
    impossible_payload,
    ratio_within,
)
from discreet.local.oracles.unary import too_many_outcomes

LARGEST_PMF = 100_000


@public_class
@dataclass(frozen=True)
class SubsetSelection(FrequencyOracle):
    """Subset selection: the oracle of least variance where long reports are allowed.

    Args:
        size: Number of slots, at least 2.
        subset: Number of slots in a report, below the size.
        ratio: Likelihood ratio of a set with the client's slot to one without, above 1.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.SubsetSelection.calibrate(1024, epsilon=1)
        >>> oracle.subset, round(oracle.variance(), 2)
        (275, 3.67)
    """

    kind: ClassVar[str] = "subset"
    title: ClassVar[str] = "subset selection"
    FIELDS: ClassVar[Fields] = {"size": whole_field(), "subset": whole_field(1), "ratio": ratio_field}

    size: int
    subset: int
    ratio: Fraction

    def __post_init__(self) -> None:
        check_size(self.size)
        check_ratio(self.ratio)
        if not 1 <= check_size(self.subset, least=1) < self.size:
            raise ParameterError(
                f"subset={self.subset}",
                because=f"a report has at least one and fewer than all of {self.size:,} slots",
                instead="SubsetSelection.calibrate(1024, epsilon=1)",
            )

    @classmethod
    def calibrate(cls, size: int, epsilon: Number, payload_bytes: int | None = None) -> Self:
        """The number of slots of least variance, for this epsilon.

        Args:
            size: Number of slots.
            epsilon: The most that one report may lose.
            payload_bytes: Largest length of the payload. Default: any.

        Returns:
            The oracle.

        Raises:
            ParameterError: If an argument is outside its range.
        """
        ratio = ratio_within(epsilon)
        most = check_size(size) - 1
        if payload_bytes is not None and bitmaps.bitmap_bytes(size) > payload_bytes:
            most = max(1, payload_bytes // byte_width(size))
        best = math.floor(size / (ratio + 1))
        sets = {min(max(1, number), most) for number in (best, best + 1)}
        return min((cls(size, number, ratio) for number in sorted(sets)), key=lambda oracle: oracle.variance())

    @property
    def symbols(self) -> None:
        """None: a report is a set of slots."""
        return

    @property
    def is_bitmap(self) -> bool:
        """Whether reports are bitmaps, which are then no longer than lists of slots."""
        return bitmaps.bitmap_bytes(self.size) <= self.subset * byte_width(self.size)

    @property
    def payload_bytes(self) -> int:
        """Length of the bitmap or of the list."""
        return bitmaps.bitmap_bytes(self.size) if self.is_bitmap else self.subset * byte_width(self.size)

    @property
    def true_rate(self) -> Fraction:
        """Probability that the client's slot is in the set."""
        inside = self.ratio * self.subset
        return inside / (inside + self.size - self.subset)

    @property
    def false_rate(self) -> Fraction:
        """Probability that a given other slot is in the set."""
        return (self.subset - self.true_rate) / (self.size - 1)

    def payload(self, outcome: Outcome) -> bytes:
        """The bitmap or the list of an outcome.

        Args:
            outcome: The sorted slots.

        Returns:
            The bytes on the wire.
        """
        slots: tuple[int, ...] = outcome  # type: ignore[assignment]
        if self.is_bitmap:
            return bitmaps.pack(slots, self.size)
        return b"".join(slot.to_bytes(byte_width(self.size), "big") for slot in slots)

    def outcome(self, payload: bytes) -> Outcome:
        """The sorted slots of a payload, after range checks.

        Args:
            payload: The bytes on the wire.

        Returns:
            The slots.

        Raises:
            ParameterError: If the payload does not have the right number of different, sorted slots.
        """
        if self.is_bitmap:
            slots = bitmaps.unpack(payload, self.size, self.kind)
        else:
            width = byte_width(self.size)
            parts = [payload[start : start + width] for start in range(0, len(payload), width)]
            slots = tuple(int.from_bytes(part, "big") for part in parts)
        ordered = all(one < other for one, other in itertools.pairwise(slots))
        if len(payload) != self.payload_bytes or len(slots) != self.subset or not ordered or slots[-1] >= self.size:
            raise impossible_payload(self.kind)
        return slots

    def probability(self, outcome: Outcome, slot: int) -> Fraction:
        """Probability of a set, given the value.

        Args:
            outcome: The sorted slots.
            slot: Slot of the value.

        Returns:
            The probability, exactly.

        Raises:
            ParameterError: If there is no such slot.
        """
        if isinstance(outcome, int) or len(set(outcome)) != self.subset or not set(outcome) <= set(range(self.size)):
            return Fraction(0)
        if check_slot(slot, self.size) in outcome:
            return self.true_rate / math.comb(self.size - 1, self.subset - 1)
        return (1 - self.true_rate) / math.comb(self.size - 1, self.subset)

    def pmf(self, slot: int) -> dict[Outcome, Fraction]:
        """Probability of each set, given the value; for at most 100,000 sets.

        Args:
            slot: Slot of the value.

        Returns:
            Probabilities by sorted slots. They add up to one.

        Raises:
            ParameterError: If there are more sets.
        """
        if math.comb(self.size, self.subset) > LARGEST_PMF:
            raise too_many_outcomes(math.comb(self.size, self.subset))
        outcomes = itertools.combinations(range(self.size), self.subset)
        return {outcome: self.probability(outcome, slot) for outcome in outcomes}

    def support(self, counts: Counts) -> Floats:
        """Reports that have each slot in their set.

        Args:
            counts: Reports by slot in the set; a row for each cohort, or one row.

        Returns:
            A number for each slot.
        """
        return merge_cohorts(counts).astype(np.float64)

    def largest_support(self, targets: Sequence[int]) -> int:
        return min(len(targets), self.subset)

    def false_counts(self, fakes: int, target: int, generator: np.random.Generator, *, is_varied: bool) -> Counts:
        others = np.delete(np.arange(self.size), target)
        draws = fakes if is_varied else 1
        counts = np.zeros(self.size, dtype=np.int64)
        for _ in range(draws):
            counts[generator.choice(others, size=self.subset - 1, replace=False)] += 1
        if not is_varied:
            counts *= fakes
        counts[target] = fakes
        return counts
