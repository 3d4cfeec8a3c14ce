"""The interface of frequency oracles, and what oracles of two levels have in common.

A frequency oracle estimates how many clients have each item of the domain. All of these are pure protocols in the sense
of Wang et al. (USENIX Security 2017), with one estimator: a report supports a set of slots, it supports the slot of its
value with probability p* (`true_rate`) and each other slot with probability q* (`false_rate`), and
(supporting reports - n q*)/(p* - q*) is an unbiased count of n reports.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.errors import UnsupportedError, public_class
from discreet.exact.numbers import Number
from discreet.local.oracles.fields import check_fields, check_ratio, read_ratio
from discreet.local.oracles.randomizer import Counts, Floats, LocalRandomizer, Outcome, check_slot, ratio_within


@public_class
class FrequencyOracle(LocalRandomizer):
    """An oracle that estimates how many clients have each value.

    Example:
        >>> import discreet as dp
        >>> isinstance(dp.local.oracles.KaryResponse.two_coin(), dp.local.oracles.FrequencyOracle)
        True
    """

    @property
    @abstractmethod
    def true_rate(self) -> Fraction:
        """Probability that a report supports the slot of its value."""

    @property
    @abstractmethod
    def false_rate(self) -> Fraction:
        """Probability that a report supports a given other slot."""

    @abstractmethod
    def support(self, counts: Counts) -> Floats:
        """How many reports support each slot.

        Args:
            counts: Reports by symbol, or by bit; a row for each cohort, or one row.

        Returns:
            A number for each slot.
        """

    def variance(self, frequency: float = 0.0) -> float:
        """Variance that one report adds to an estimated count.

        Args:
            frequency: Share of the clients that have the value. Default 0, for a rare value.

        Returns:
            The variance of a count of n reports, divided by n.
        """
        p, q = self.true_rate, self.false_rate
        return float(q * (1 - q) / (p - q) ** 2) + frequency * float((1 - p - q) / (p - q))

    def floor_variance(self, squares: float = 1.0) -> float:  # noqa: ARG002
        """Variance of an estimated share that more reports do not reduce: that of hash functions.

        Args:
            squares: Sum of the squared shares of all values, at most 1.

        Returns:
            0, except for local hashing.
        """
        return 0.0

    def report_variance(self, reports: int) -> float:
        """Variance of the estimated count of a rare value, divided by the number of reports.

        Args:
            reports: Number of reports.

        Returns:
            `variance()`, and for local hashing what hash functions add at this number of reports, at its largest.
        """
        return self.variance() + reports * self.floor_variance()

    def estimate(self, counts: Counts, reports: int) -> Floats:
        """Unbiased counts of all slots; they may be negative, and they need not add up.

        Args:
            counts: Reports by symbol, or by bit; a row for each cohort, or one row.
            reports: Number of reports.

        Returns:
            A number for each slot.
        """
        p, q = float(self.true_rate), float(self.false_rate)
        return (self.support(np.asarray(counts)) - reports * q) / (p - q)

    def standard_error(self, estimates: Floats, reports: int) -> Floats:
        """Standard deviation of each estimated count, with the frequency taken from the estimate.

        Args:
            estimates: Counts that `estimate` returned.
            reports: Number of reports.

        Returns:
            A number for each slot.
        """
        shares = np.clip(np.asarray(estimates, dtype=np.float64) / max(1, reports), 0.0, 1.0)
        slope = self.variance(1.0) - self.variance(0.0)
        own = reports * np.maximum(self.variance(0.0) + slope * shares, 0.0)
        squares = float(np.sum(np.square(estimates))) - float(np.sum(own))
        floor = self.floor_variance(min(1.0, max(squares, 0.0) / max(1, reports) ** 2))
        return np.sqrt(own + reports**2 * floor)

    def influence(self) -> float:
        """The most that one report, sent by anyone, adds to the estimated count of one slot.

        Returns:
            The number of honest clients that one false report is worth.
        """
        return float((1 - self.false_rate) / (self.true_rate - self.false_rate))

    @abstractmethod
    def largest_support(self, targets: Sequence[int]) -> int:
        """The most of some slots that one report supports, sent by anyone.

        Args:
            targets: Different slots.

        Returns:
            A number of slots.
        """

    @abstractmethod
    def false_counts(self, fakes: int, target: int, generator: np.random.Generator, *, is_varied: bool) -> Counts:
        """Counts of the reports of fake users, who all support one slot (a poisoning attack).

        Args:
            fakes: Number of fake users.
            target: The slot.
            generator: Where random numbers come from.
            is_varied: Whether each report is drawn among those that support the slot; False for one and the same.

        Returns:
            Reports by symbol or by bit, as an honest collection has them.
        """

    @classmethod
    def second_ratio(cls, second: Mapping[str, Any]) -> Fraction:
        """Likelihood ratio of the fresh stage of two, alone.

        Args:
            second: Parameters of the fresh stage, {"ratio": [a, b]}.

        Returns:
            The ratio.

        Raises:
            ParameterError: If the parameters are not those of a fresh stage.
        """
        check_fields({"kind": cls.kind, **second}, cls.kind, ("ratio",))
        return check_ratio(read_ratio(second["ratio"], "ratio"))

    def compose(self, second: Mapping[str, Any]) -> "FrequencyOracle":
        """The oracle of a report that is randomised twice: a permanent stage, then a fresh one.

        Args:
            second: Parameters of the fresh stage.

        Returns:
            The oracle that decodes such reports.

        Raises:
            UnsupportedError: If two stages of this oracle are not one oracle.
        """
        raise UnsupportedError(
            f"two stages of the oracle {self.kind!r} with second={dict(second)}",
            because="points and rows of this oracle would link the reports of one client",
            instead='repeat="two_stage" with the oracles "krr", "unary" or "lh"',
        )


@public_class
class TwoLevelOracle(FrequencyOracle):
    """An oracle whose symbols have two probabilities: a weight of `ratio` in the support of the value, 1 outside.

    Subclasses state the size of each support, how many symbols two supports share, and the support itself.
    """

    @classmethod
    def calibrate(cls, size: int, epsilon: Number) -> Self:
        """The response of this epsilon.

        Args:
            size: Number of slots.
            epsilon: The most that one report may lose.

        Returns:
            The oracle.

        Raises:
            ParameterError: If an argument is outside its range.
        """
        make: Callable[..., Self] = cls
        return make(size=size, ratio=ratio_within(epsilon))

    @property
    @abstractmethod
    def support_size(self) -> int:
        """Number of symbols in the support of a slot; the same for each slot."""

    @property
    @abstractmethod
    def shared_size(self) -> int:
        """Number of symbols in the supports of two slots at once; the same for each pair."""

    @abstractmethod
    def support_symbols(self, slot: int) -> Counts:
        """Symbols in the support of a slot.

        Args:
            slot: The slot.

        Returns:
            The symbols, without order.
        """

    @abstractmethod
    def is_supporting(self, symbol: int, slot: int) -> bool:
        """Whether a symbol is in the support of a slot.

        Args:
            symbol: The symbol.
            slot: The slot.

        Returns:
            Whether it is.
        """

    @property
    def alphabet(self) -> int:
        """Number of symbols."""
        return self.symbols or 0

    @property
    def total_weight(self) -> Fraction:
        """Sum of the weights of all symbols."""
        return self.ratio * self.support_size + self.alphabet - self.support_size

    @property
    def true_rate(self) -> Fraction:
        """Probability that a report supports the slot of its value."""
        return self.ratio * self.support_size / self.total_weight

    @property
    def false_rate(self) -> Fraction:
        """Probability that a report supports a given other slot."""
        return (self.ratio * self.shared_size + self.support_size - self.shared_size) / self.total_weight

    def probability(self, outcome: Outcome, slot: int) -> Fraction:
        """Probability of a symbol, given the value.

        Args:
            outcome: The symbol.
            slot: Slot of the value.

        Returns:
            The probability, exactly.

        Raises:
            ParameterError: If there is no such slot.
        """
        check_slot(slot, self.size)
        if not isinstance(outcome, int) or not 0 <= outcome < self.alphabet:
            return Fraction(0)
        return (self.ratio if self.is_supporting(outcome, slot) else Fraction(1)) / self.total_weight

    def pmf(self, slot: int) -> dict[Outcome, Fraction]:
        """Probability of each symbol, given the value.

        Args:
            slot: Slot of the value.

        Returns:
            Probabilities by symbol. They add up to one.

        Raises:
            ParameterError: If there is no such slot.
        """
        low, high = 1 / self.total_weight, self.ratio / self.total_weight
        likelier = set(self.support_symbols(check_slot(slot, self.size)).tolist())
        return {symbol: high if symbol in likelier else low for symbol in range(self.alphabet)}

    def largest_support(self, targets: Sequence[int]) -> int:
        supported = np.zeros(self.alphabet, dtype=np.int64)
        for slot in targets:
            supported[self.support_symbols(slot)] += 1
        return int(supported.max())

    def false_counts(self, fakes: int, target: int, generator: np.random.Generator, *, is_varied: bool) -> Counts:
        counts = np.zeros(self.alphabet, dtype=np.int64)
        symbols = self.support_symbols(target)
        spread = len(symbols) if is_varied else 1
        counts[symbols[:spread]] = generator.multinomial(fakes, np.full(spread, 1 / spread))
        return counts

    def weights(self, slot: int) -> Floats:
        """Probability of each symbol as a column of floats, for simulations of large alphabets.

        Args:
            slot: Slot of the value.

        Returns:
            A number for each symbol.

        Raises:
            ParameterError: If there is no such slot.
        """
        row = np.full(self.alphabet, float(1 / self.total_weight))
        row[self.support_symbols(check_slot(slot, self.size))] = float(self.ratio / self.total_weight)
        return row


def merge_cohorts(counts: Counts) -> Counts:
    """Counts of all cohorts together, for oracles whose reports mean the same in each."""
    return counts.sum(axis=0) if counts.ndim == 2 else counts
