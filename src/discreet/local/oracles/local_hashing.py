"""Local hashing (OLH): k-ary response on a hash of the value, with hash functions that the task assigns to cohorts.

Definition
    A client of cohort c with slot x hashes y = h_c(x) into g buckets, and reports y by k-ary response over g with ratio
    r. h_c(x) = ((A x^2 + B x + C) mod (2^31 - 1)) mod g, with A, B and C from SHA-256 of the id of the task, "hash" and
    c. The client never chooses a hash function.

Guarantee
    If r <= e^epsilon, one report is epsilon-locally differentially private for every hash function. The largest
    likelihood ratio is r where two slots have different hashes, and 1 where not. Two stages are the oracle of the same
    kind with the ratio that `compose` states. Proof: docs/proofs/local/oracles/local_hashing.md.

Exactness
    Probabilities, given the hash function, are rationals. Variances and estimates are floats. Estimates are unbiased
    over the choice of hash functions; with those of one task they have an error whose variance is the sum of squared
    shares over k (g - 1), for k cohorts, and which more reports do not reduce: `floor_variance`. It needs hashes of
    each three slots that are independent, which a polynomial of degree two gives up to 2^-30.

Not covered
    Several reports of one client: their losses add, unless the report is memoised. A cohort is public, and splits the
    clients of a batch.

References
    Wang, Blocki, Li and Jha, Locally Differentially Private Protocols for Frequency Estimation, USENIX Security 2017,
    Section 4.3. Wegman and Carter, New Hash Functions and Their Use in Authentication and Set Equality, 1981.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number
from discreet.local.oracles.fields import LARGEST_SIZE, Fields, check_ratio, check_size, ratio_field, whole_field
from discreet.local.oracles.krr import KaryResponse
from discreet.local.oracles.oracle import FrequencyOracle
from discreet.local.oracles.randomizer import Counts, Floats, Outcome, check_slot, ratio_within

PRIME = 2**31 - 1


@public_class
@dataclass(frozen=True)
class LocalHashing(FrequencyOracle):
    """Local hashing with assigned hash functions.

    Args:
        size: Number of slots, at least 2.
        buckets: Number g of buckets, at least 2.
        ratio: Likelihood ratio of the true bucket to another, above 1.
        task_id: The id of the task, which hash functions are derived from. Default: zeros, for study.
        cohorts: Number k of hash functions.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.LocalHashing.calibrate(1024, epsilon=1)
        >>> oracle.buckets, round(oracle.variance(), 2)
        (4, 3.69)
    """

    kind: ClassVar[str] = "lh"
    title: ClassVar[str] = "local hashing"
    FIELDS: ClassVar[Fields] = {"size": whole_field(), "buckets": whole_field(name="range"), "ratio": ratio_field}

    size: int
    buckets: int
    ratio: Fraction
    task_id: bytes = bytes(8)
    cohorts: int = 1

    def __post_init__(self) -> None:
        check_size(self.size)
        check_size(self.buckets)
        check_ratio(self.ratio)

    @classmethod
    def calibrate(cls, size: int, epsilon: Number) -> Self:
        """The number of buckets of least variance, for this epsilon.

        Args:
            size: Number of slots.
            epsilon: The most that one report may lose.

        Returns:
            The oracle.

        Raises:
            ParameterError: If an argument is outside its range.
        """
        ratio = ratio_within(epsilon)
        near = min(max(2, math.floor(ratio) + 1), LARGEST_SIZE - 1)
        return min((cls(size, number, ratio) for number in (near, near + 1)), key=lambda oracle: oracle.variance())

    def bind(self, task_id: bytes, cohorts: int) -> Self:
        """The oracle with the hash functions of one task.

        Args:
            task_id: The first 8 bytes of the hash of the task.
            cohorts: Number of cohorts of the task.

        Returns:
            The oracle that knows its hash functions.
        """
        return replace(self, task_id=task_id, cohorts=cohorts)

    @property
    def response(self) -> KaryResponse:
        """The response over buckets."""
        return KaryResponse(self.buckets, self.ratio)

    @property
    def symbols(self) -> int:
        """Number of buckets."""
        return self.buckets

    @property
    def true_rate(self) -> Fraction:
        """Probability that a report is in the bucket of its value."""
        return self.response.true_rate

    @property
    def false_rate(self) -> Fraction:
        """Probability that a report is in the bucket of a given other value, over the choice of hash functions."""
        return Fraction(1, self.buckets)

    def floor_variance(self, squares: float = 1.0) -> float:
        """Variance of an estimated share that more reports do not reduce.

        Args:
            squares: Sum of the squared shares of all values, at most 1.

        Returns:
            The sum over k (g - 1).
        """
        return squares / (self.cohorts * (self.buckets - 1))

    def coefficients(self, cohort: int) -> tuple[int, int, int]:
        """The numbers A, B and C of a hash function.

        Args:
            cohort: Number of the cohort.

        Returns:
            Three numbers from 0 to 2^31 - 2.
        """
        digest = hashlib.sha256(self.task_id + b"hash" + cohort.to_bytes(2, "big")).digest()
        a, b, c = (int.from_bytes(digest[start : start + 8], "big") % PRIME for start in (0, 8, 16))
        return a, b, c

    def hashes(self, cohort: int) -> Counts:
        """Buckets of all slots in one cohort.

        Args:
            cohort: Number of the cohort.

        Returns:
            A bucket for each slot.
        """
        (a, b, c), slots = self.coefficients(cohort), np.arange(self.size, dtype=np.int64)
        # Two steps of 31 + 24 bits: a x^2 at once would not fit into 64.
        hashed: Counts = ((a * slots + b) % PRIME * slots + c) % PRIME % self.buckets
        return hashed

    def bucket(self, slot: int, cohort: int) -> int:
        """The bucket of one slot in one cohort.

        Args:
            slot: The slot.
            cohort: Number of the cohort.

        Returns:
            The bucket.

        Raises:
            ParameterError: If there is no such slot.
        """
        (a, b, c), x = self.coefficients(cohort), check_slot(slot, self.size)
        return (a * x * x + b * x + c) % PRIME % self.buckets

    def probability(self, outcome: Outcome, slot: int, cohort: int = 0) -> Fraction:
        """Probability of a bucket, given the value and the cohort.

        Args:
            outcome: The bucket.
            slot: Slot of the value.
            cohort: Number of the cohort.

        Returns:
            The probability, exactly.
        """
        return self.response.probability(outcome, self.bucket(slot, cohort))

    def pmf(self, slot: int, cohort: int = 0) -> dict[Outcome, Fraction]:
        """Probability of each bucket, given the value and the cohort.

        Args:
            slot: Slot of the value.
            cohort: Number of the cohort.

        Returns:
            Probabilities by bucket. They add up to one.
        """
        return self.response.pmf(self.bucket(slot, cohort))

    def support(self, counts: Counts) -> Floats:
        """Reports in the bucket of each slot, over all cohorts.

        Args:
            counts: Reports by cohort and bucket.

        Returns:
            A number for each slot.

        Raises:
            ParameterError: If there is not a row for each cohort.
        """
        rows = counts.reshape(-1, self.buckets)
        if len(rows) != self.cohorts:
            raise ParameterError(
                f"counts of {len(rows)} cohorts",
                because=f"the task has {self.cohorts} cohorts, each with its own hash function",
                instead="counts of shape (cohorts, buckets)",
            )
        supporting = np.zeros(self.size, dtype=np.int64)
        for cohort in np.flatnonzero(rows.any(axis=1)).tolist():
            supporting += rows[cohort][self.hashes(cohort)]
        return supporting.astype(np.float64)

    def largest_support(self, targets: Sequence[int]) -> int:
        hashes = (self.hashes(cohort)[list(targets)] for cohort in range(self.cohorts))
        return int(max(np.bincount(each).max() for each in hashes))

    def false_counts(self, fakes: int, target: int, generator: np.random.Generator, *, is_varied: bool) -> Counts:  # noqa: ARG002
        counts = np.zeros((self.cohorts, self.buckets), dtype=np.int64)
        cohorts = generator.multinomial(fakes, np.full(self.cohorts, 1 / self.cohorts))
        counts[np.arange(self.cohorts), [self.bucket(target, each) for each in range(self.cohorts)]] = cohorts
        return counts

    def compose(self, second: Mapping[str, Any]) -> "LocalHashing":
        """The oracle of a memoised bucket that is randomised again.

        Args:
            second: The ratio of the fresh stage, {"ratio": [a, b]}.

        Returns:
            The oracle that decodes such reports.
        """
        return replace(self, ratio=self.response.compose(second).ratio)
