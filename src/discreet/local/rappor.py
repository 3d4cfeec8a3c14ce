"""Bloom-filter RAPPOR: a decoder of reports that other clients made, with the epsilon that they really have.

Definition
    A client of cohort j sets h of k bits for a word: byte i of MD5(j as 4 bytes big-endian || word in UTF-8), modulo k,
    for i = 0 .. h - 1. The permanent randomized response of a word sets each bit to 1 and to 0 with probability f/2
    each, and keeps it otherwise. A report, the instantaneous randomized response, has a 1 with probability q where the
    permanent bit is 1, and p where it is 0.
Guarantee
    All reports of one word lose at most 2 h ln((1 - f/2)/(f/2)) together. One report loses at most h |ln r| with
    r = q* (1 - p*)/(p* (1 - q*)), p* = p + f (q - p)/2 and q* = q - f (q - p)/2. Both are reached by words without a
    common bit. A client with several words loses the first for each. Proof: docs/proofs/local/rappor.md.
Exactness
    Rationals, of the probabilities that clients of google/rappor use. They replace a bit where a number of seven bits
    is below 128 f. The client in Python compares with 128 f itself, so f is rounded up to a multiple of 1/128. The
    client in C++ rounds f down, which loses more than stated, and p and q down to multiples of 1/256, with 1 refused
    because it has none. Logarithms are rounded up. Decoding is in floats, of numbers that are private already.
Not covered
    The cohort, which is sent in clear and must be assigned by the operator. The key of the permanent response: bits of
    HMAC-SHA256 are taken for random. Words that a client sends besides. Reports that show when a word changes.
References
    Erlingsson, Pihur and Korolova, RAPPOR, CCS 2014. Lawson and Hanson, Solving Least Squares Problems, 1974.
    Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 1979.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number, probability, rational, whole
from discreet.exact.rounding import log_up
from discreet.local.estimates.intervals import confidence_level
from discreet.local.estimates.listing import printable, whole_text
from discreet.local.oracles.randomizer import Counts, Floats

_STEPS_OF_F = 128
_STEPS_IN_CPP = 256
_MOST_HASHES = 16
_MOST_BITS = 256
_STILL = 1e-10


@public_class
@dataclass(frozen=True)
class RapporCandidate:
    """What is estimated of one word.

    Attributes:
        word: The word.
        count: Number of clients, at least 0, by non-negative least squares.
        estimate: The same by least squares, unbiased if all frequent words are candidates; it may be negative.
        standard_error: Standard deviation of `estimate`.
        interval: Interval of the stated confidence, for this word alone.
        is_significant: Whether the word occurs at all, by Holm's correction over all candidates.

    Example:
        >>> import discreet as dp
        >>> dp.local.RapporCandidate("cat", 10.0, 10.0, 2.0, (6.1, 13.9), True).word
        'cat'
    """

    word: str
    count: float
    estimate: float
    standard_error: float
    interval: tuple[float, float]
    is_significant: bool

    def __str__(self) -> str:
        low, high = map(whole_text, self.interval)
        verdict = "significant" if self.is_significant else "not significant"
        return f"{printable(self.word)}: {whole_text(self.estimate)} clients, {low} to {high}, {verdict}"


@public_class
@dataclass(frozen=True)
class BloomRappor:
    """Parameters of Bloom-filter RAPPOR, as its clients have them.

    Args:
        bits: Number k of bits, at most 256.
        hashes: Number h of hash functions, at most 16.
        cohorts: Number m of cohorts.
        f: Probability that the permanent response replaces a bit, as clients are configured; the client rounds it.
        p: Probability of a 1 in a report where the permanent bit is 0.
        q: Probability of a 1 in a report where the permanent bit is 1. One-time RAPPOR has p = 0 and q = 1.
        client: The client of google/rappor, "python" or "cpp", which round differently. Default "python".

    Raises:
        ParameterError: If an argument is outside its range, or reports say nothing.

    Example:
        >>> import discreet as dp
        >>> rappor = dp.local.BloomRappor(bits=32, hashes=2, cohorts=64, f=0.3, p=0.5, q=0.75)
        >>> float(rappor.f), round(float(rappor.permanent_epsilon), 3), round(float(rappor.report_epsilon), 3)
        (0.3046875, 6.865, 1.504)
    """

    bits: int
    hashes: int
    cohorts: int
    f: Fraction
    p: Fraction
    q: Fraction
    client: Literal["python", "cpp"] = "python"

    def __post_init__(self) -> None:
        for name, most in (("bits", _MOST_BITS), ("hashes", _MOST_HASHES), ("cohorts", 2**32)):
            if whole(getattr(self, name), name) > most:
                raise ParameterError(
                    f"{name}={getattr(self, name)}",
                    because=f"bits are bytes of MD5 modulo their number, so there are at most {most:,} {name}",
                    instead=f"{name}={min(most, 32)}",
                )
        if self.client not in ("python", "cpp"):
            raise ParameterError(
                f"client={self.client!r}",
                because="the two clients round probabilities differently, and no other is known here",
                instead='client="python", or client="cpp"',
            )
        for name in ("f", "p", "q"):
            object.__setattr__(self, name, self._as_in_client(name, self._read_chance(name)))
        if not 0 < self.f < 1 or self.p == self.q or not all(0 < rate < 1 for rate in self.rates):
            raise ParameterError(
                f"f={self.f}, p={self.p}, q={self.q}",
                because="f, once rounded by the client, is above 0 and below 1, and p differs from q",
                instead="f=0.5, p=0.5, q=0.75",
            )

    def _read_chance(self, name: str) -> Fraction:
        """A probability; p and q may be 1, as in one-time RAPPOR, which sends the permanent response itself."""
        if name != "f" and rational(getattr(self, name), name) == 1:
            if self.client == "python":
                return Fraction(1)
            raise ParameterError(
                f'{name}=1 with client="cpp"',
                because="the client in C++ compares a byte with a byte, and 256 is none",
                instead=f'{name}=0.999, or client="python"',
            )
        return probability(getattr(self, name), name, example="0.5")

    def _as_in_client(self, name: str, given: Fraction) -> Fraction:
        """A probability as the client has it."""
        steps = _STEPS_OF_F if name == "f" else _STEPS_IN_CPP
        if self.client == "cpp":
            return Fraction(math.floor(given * steps), steps)
        return Fraction(math.ceil(given * steps), steps) if name == "f" else given

    @property
    def rates(self) -> tuple[Fraction, Fraction]:
        """Probabilities p* and q* of a 1 in a report, for a bit that the word does not set and for one that it sets."""
        half = self.f * (self.q - self.p) / 2
        return self.p + half, self.q - half

    @property
    def permanent_ratio(self) -> Fraction:
        """Largest likelihood ratio of any number of reports of one word."""
        return ((1 - self.f / 2) / (self.f / 2)) ** (2 * self.hashes)

    @property
    def report_ratio(self) -> Fraction:
        """Largest likelihood ratio of one report."""
        low, high = sorted(self.rates)
        return (high * (1 - low) / (low * (1 - high))) ** self.hashes

    @property
    def permanent_epsilon(self) -> Fraction:
        """Loss of any number of reports of one word, rounded up."""
        return log_up(self.permanent_ratio)

    @property
    def report_epsilon(self) -> Fraction:
        """Loss of one report, rounded up."""
        return log_up(self.report_ratio)

    def bloom_bits(self, word: str, cohort: int) -> tuple[int, ...]:
        """Bits that a word sets in a cohort; bit 0 is the lowest of a report.

        Args:
            word: The word.
            cohort: Number of the cohort, from 0.

        Returns:
            Sorted numbers of bits, without repeats.

        Example:
            >>> import discreet as dp
            >>> rappor = dp.local.BloomRappor(bits=16, hashes=2, cohorts=64, f=0.5, p=0.5, q=0.75)
            >>> rappor.bloom_bits("foo", 0)
            (6,)
        """
        digest = hashlib.md5(cohort.to_bytes(4, "big") + word.encode(), usedforsecurity=False).digest()
        return tuple(sorted({byte % self.bits for byte in digest[: self.hashes]}))

    def bit_counts(self, counts: Counts, reports: Sequence[int]) -> Floats:
        """Unbiased numbers of clients whose word sets each bit.

        Args:
            counts: Ones of all reports, by cohort and bit.
            reports: Reports of each cohort.

        Returns:
            Estimates by cohort and bit.

        Raises:
            ParameterError: If the shapes are others, or a bit has more ones than reports.
        """
        ones, sizes = self._read_counts(counts, reports)
        low, high = map(float, self.rates)
        estimates: Floats = (ones - sizes[:, None] * low) / (high - low)
        return estimates

    def decode(
        self,
        counts: Counts,
        reports: Sequence[int],
        candidates: Sequence[str],
        *,
        confidence: Number = 0.95,
        false_alarm: Number = 0.05,
    ) -> list[RapporCandidate]:
        """How many clients have each of some words.

        Weighted least squares over all bits of all cohorts, with a term for words that are not candidates. Standard
        errors hold for independent clients in random cohorts; they grow with the residuals, if those are larger.

        Args:
            counts: Ones of all reports, by cohort and bit.
            reports: Reports of each cohort.
            candidates: Different words, fewer than half of the number of bits in all cohorts.
            confidence: Probability with which the interval of one word holds. Default 0.95.
            false_alarm: Probability, over all candidates, that a word that nobody has is significant. Default 0.05.

        Returns:
            An estimate for each candidate, in their order.

        Raises:
            ParameterError: If counts, candidates or probabilities are outside their range.
        """
        level, alarm = confidence_level(confidence), float(probability(false_alarm, "false_alarm", example="0.05"))
        _check_candidates(candidates, self.bits * self.cohorts)
        sizes = np.asarray(reports, dtype=np.float64)
        observed = self.bit_counts(counts, reports).ravel()
        design = self._design(candidates, sizes / max(1.0, sizes.sum()))
        variances = self._noise_variances(np.asarray(counts), sizes).ravel()
        rooted = design / np.sqrt(variances)[:, None]
        target = observed / np.sqrt(variances)
        if np.linalg.matrix_rank(rooted) < rooted.shape[1]:
            raise _alike()
        gram = np.linalg.inv(rooted.T @ rooted)
        solved, bounded = gram @ (rooted.T @ target), non_negative_least_squares(rooted, target)
        errors = self._standard_errors(rooted, gram @ rooted.T, solved, bounded, target, sizes)
        reach = NormalDist().inv_cdf((1 + level) / 2)
        significant = holm(
            [1 - NormalDist().cdf(value / error) for value, error in zip(solved, errors, strict=True)][:-1], alarm
        )
        return [
            RapporCandidate(
                word,
                float(count),
                float(value),
                float(error),
                (float(value - reach * error), float(value + reach * error)),
                found,
            )
            for word, count, value, error, found in zip(candidates, bounded, solved, errors, significant, strict=False)
        ]

    def _read_counts(self, counts: Counts, reports: Sequence[int]) -> tuple[Floats, Floats]:
        ones, sizes = _floats(counts), _floats(reports)
        is_shaped = ones.shape == (self.cohorts, self.bits) and sizes.shape == (self.cohorts,)
        # NaN fails every comparison, so it is refused too
        if not is_shaped or not (np.isfinite(sizes).all() and (ones >= 0).all() and (ones <= sizes[:, None]).all()):
            raise ParameterError(
                "counts that are not those of this RAPPOR",
                because=f"there is a row of {self.bits} counts for each of {self.cohorts} cohorts, at most its reports",
                instead="counts of shape (cohorts, bits), and the reports of each cohort",
            )
        return ones, sizes

    def _design(self, candidates: Sequence[str], shares: Floats) -> Floats:
        """A column for each candidate, and one for clients with other words, spread over all bits."""
        columns = np.zeros((self.cohorts, self.bits, len(candidates) + 1))
        for cohort in range(self.cohorts):
            for place, word in enumerate(candidates):
                columns[cohort, list(self.bloom_bits(word, cohort)), place] = shares[cohort]
        columns[:, :, -1] = shares[:, None] * (1 - (1 - 1 / self.bits) ** self.hashes)
        return columns.reshape(self.cohorts * self.bits, -1)

    def _noise_variances(self, counts: Counts, sizes: Floats) -> Floats:
        """Variance of each estimated bit count, at the share of ones that was seen, kept away from zero."""
        low, high = map(float, self.rates)
        seen = np.clip(counts / np.maximum(sizes[:, None], 1.0), min(low, high), max(low, high))
        variances: Floats = np.maximum(sizes[:, None], 1.0) * seen * (1 - seen) / (high - low) ** 2
        return variances

    def _standard_errors(
        self, rooted: Floats, gain: Floats, solved: Floats, bounded: Floats, target: Floats, sizes: Floats
    ) -> Floats:
        """By noise in bits, at least as large as residuals show, and by the random cohorts of clients."""
        residuals, freedom = target - rooted @ solved, max(1, len(target) - len(solved))
        noise = np.square(gain).sum(axis=1) * max(1.0, float(residuals @ residuals) / freedom)
        shares = sizes / max(1.0, sizes.sum())
        for place in np.flatnonzero(bounded > 0):
            steps = (gain * rooted[:, place]).reshape(len(gain), self.cohorts, self.bits).sum(axis=2)
            steps = np.divide(steps, shares, out=np.zeros_like(steps), where=shares > 0)
            noise += bounded[place] * (np.square(steps) @ shares - np.square(steps @ shares))
        errors: Floats = np.sqrt(noise)
        return errors


def non_negative_least_squares(design: Floats, target: Floats) -> Floats:
    """The numbers of at least zero whose combination of columns is closest to a target, by Lawson and Hanson.

    Args:
        design: A column for each number, independent of each other.
        target: What is fitted.

    Returns:
        The numbers.

    Example:
        >>> import numpy as np
        >>> non_negative_least_squares(np.eye(2), np.array([1.0, -1.0])).tolist()
        [1.0, 0.0]
    """
    gram, moments = design.T @ design, design.T @ target
    solution = np.zeros(len(moments))
    passive = np.zeros(len(moments), dtype=bool)
    tolerance = _STILL * max(1.0, float(np.abs(moments).max()))
    for _ in range(10 * len(moments)):
        slopes = np.where(passive, -np.inf, moments - gram @ solution)
        if slopes.max() <= tolerance:
            break
        passive[int(slopes.argmax())] = True
        solution = _feasible(gram, moments, solution, passive)
    return solution


def _feasible(gram: Floats, moments: Floats, solution: Floats, passive: NDArray[np.bool_]) -> Floats:
    """The least squares over passive columns; columns that would be negative leave it on the way."""
    while True:
        trial: Floats = np.zeros_like(solution)
        trial[passive] = np.linalg.solve(gram[np.ix_(passive, passive)], moments[passive])
        below = passive & (trial <= 0)
        if not below.any():
            return trial
        steps = solution[below] / (solution[below] - trial[below])
        solution = solution + steps.min() * (trial - solution)
        passive &= solution > _STILL * max(1.0, float(solution.max()))
        solution[~passive] = 0.0


def holm(chances: Sequence[float], false_alarm: float) -> list[bool]:
    """Holm's correction: which hypotheses are rejected, so that a true one is among them with at most this probability.

    Args:
        chances: A p-value for each hypothesis.
        false_alarm: The probability.

    Returns:
        Whether each is rejected.

    Example:
        >>> holm([0.01, 0.04, 0.03], 0.05)
        [True, False, False]
    """
    order = sorted(range(len(chances)), key=chances.__getitem__)
    rejected = [False] * len(chances)
    for rank, place in enumerate(order):
        if chances[place] > false_alarm / (len(chances) - rank):
            break
        rejected[place] = True
    return rejected


def _floats(values: object) -> Floats:
    """Numbers as an array; without any where they are none."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.zeros(0)


def _check_candidates(candidates: Sequence[str], cells: int) -> None:
    is_listed = not isinstance(candidates, str) and all(isinstance(word, str) for word in candidates)
    if not is_listed or len(set(candidates)) != len(candidates) or not 0 < len(candidates) < cells / 2:
        raise ParameterError(
            "candidates that are not a list of different words",
            because=f"there are {cells:,} bit counts, which tell fewer than half as many words apart",
            instead='candidates=["cat", "dog"]',
        )


def _alike() -> ParameterError:
    return ParameterError(
        "candidates that RAPPOR cannot tell apart",
        because="the bits of some of them are a combination of those of others",
        instead="fewer candidates, or a collection of more cohorts",
    )
