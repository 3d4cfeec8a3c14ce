"""Loss of a sequence of reports of one client over time, and the exact adversary that it bounds.

Definition
    A client reports a value at each of T times. The pattern of a sequence of values says which of its times have equal
    values. A memoised client has a permanent outcome (the permanent randomized response of RAPPOR) for each of the
    first `max_values` distinct values, and one more for all values after these, drawn for the default. In two stages
    every report is a fresh randomisation of the permanent outcome (the instantaneous randomized response). epsilon is
    the loss of a permanent outcome, epsilon_second that of one fresh stage alone.

Guarantee
    For two sequences with the same pattern, the likelihoods of all reports differ by a factor of at most e^loss.
    Fresh: T epsilon. Memoised: epsilon for each distinct value, at most `max_values` of them. Two stages: for each of
    these values the lesser of epsilon and epsilon_second times its reports.
    For two sequences of any patterns. Fresh: T epsilon. Memoised: unbounded, since reports show when a value changes.
    Two stages: T epsilon_second for k-ary response and local hashing; for unary encoding of d slots T d log m, where m
    is the largest ratio of the fresh stage for one bit. Proof: docs/proofs/local/longitudinal.md.

Exactness
    Losses and likelihoods are rationals. log m is rounded up.

Not covered
    Which sequences have the same pattern: the number of distinct values of a person is private, the bound by
    `max_values` is public. Times at which a client reports or not. Secrets that are not random, and adversaries that
    distinguish HMAC-SHA256 from a random function. Losses of other tasks of the person: they add up.

References
    Erlingsson, Pihur and Korolova, RAPPOR, CCS 2014; Arcolezi, Couchot, Al Bouna and Xiao, Improving the Utility of
    Locally Differentially Private Protocols for Longitudinal and Multidimensional Frequency Estimates, Digital
    Communications and Networks 10(2), 2024.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.rounding import log_up
from discreet.local.domain import read_number
from discreet.local.oracles import LocalRandomizer
from discreet.local.oracles.fields import read_ratio
from discreet.local.oracles.krr import KaryResponse
from discreet.local.oracles.local_hashing import LocalHashing
from discreet.local.oracles.randomizer import Outcome
from discreet.local.oracles.unary import UnaryEncoding
from discreet.local.task import Task


@public_class
@dataclass(frozen=True)
class SequenceLoss:
    """Loss of a sequence of reports, in epsilon.

    Attributes:
        same_pattern: Against sequences in which the same times have equal values.
        any_pattern: Against all sequences of as many values; None where it is unbounded.

    Example:
        >>> SequenceLoss(Fraction(3), None).any_pattern is None
        True
    """

    same_pattern: Fraction
    any_pattern: Fraction | None


@short_traceback
def sequence_loss(task: Task, slots: Sequence[int]) -> SequenceLoss:
    """The loss of the reports of a sequence of values.

    The number of distinct values is private: show the result to the client only, and `largest_loss` to others.

    Args:
        task: The task.
        slots: Slot of the value at each time.

    Returns:
        The loss against sequences of the same pattern, and of any.

    Raises:
        ParameterError: If a slot is not one of the task.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.KaryResponse.calibrate(5, 2)
        >>> task = dp.local.Task(dp.local.SlotDomain(size=5), "2", oracle, repeat="memoised", max_values=3)
        >>> dp.local.longitudinal.sequence_loss(task, [0, 0, 1, 0, 1]).same_pattern
        Fraction(4, 1)
    """
    _check_slots(task, slots)
    reports = Counter(memo for memo in memos(slots, task.max_values) if memo is not None)
    return _loss(task, len(slots), list(reports.values()))


@short_traceback
def largest_loss(task: Task, reports: int) -> SequenceLoss:
    """The loss of as many reports of any values: a public number.

    Args:
        task: The task.
        reports: Number of reports of one client.

    Returns:
        The loss against sequences of the same pattern, and of any.

    Raises:
        ParameterError: If the number of reports is negative.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.KaryResponse.calibrate(5, 2)
        >>> task = dp.local.Task(dp.local.SlotDomain(size=5), "2", oracle, repeat="memoised", max_values=3)
        >>> dp.local.longitudinal.largest_loss(task, 365).same_pattern
        Fraction(6, 1)
    """
    if reports < 0:
        raise ParameterError(f"reports={reports}", because="a number of reports is not negative", instead="reports=365")
    values = min(reports, task.oracle.size, reports if task.max_values is None else task.max_values)
    if not values:
        return _loss(task, reports, [])
    share, more = divmod(reports, values)
    return _loss(task, reports, [share + (number < more) for number in range(values)])


@short_traceback
def memos(slots: Sequence[int], max_values: int | None) -> list[int | None]:
    """Which permanent outcome stands behind each report.

    Args:
        slots: Slot of the value at each time.
        max_values: How many distinct values a client may visit; None for no limit.

    Returns:
        For each time the slot, or None for the outcome of the default that all later values share.

    Example:
        >>> memos([4, 2, 4, 1, 0], max_values=2)
        [4, 2, 4, None, None]
    """
    visited = set(list(dict.fromkeys(slots))[:max_values])
    return [slot if slot in visited else None for slot in slots]


@short_traceback
def pattern(slots: Sequence[int]) -> list[int]:
    """Which times have equal values: for each time the first one with the same value.

    Args:
        slots: Slot of the value at each time.

    Returns:
        Numbers of times.

    Example:
        >>> pattern([4, 2, 4])
        [0, 1, 0]
    """
    first: dict[int, int] = {}
    return [first.setdefault(slot, time) for time, slot in enumerate(slots)]


@short_traceback
def sequence_likelihood(task: Task, outcomes: Sequence[Outcome], slots: Sequence[int], cohort: int = 0) -> Fraction:
    """The exact probability of all reports of a client, given its values.

    Args:
        task: The task.
        outcomes: What was reported at each time: symbols, or sorted slots of bitmaps.
        slots: Slot of the value at each time.
        cohort: Cohort of the client. Default 0.

    Returns:
        The probability, over permanent outcomes and fresh randomness.

    Raises:
        ParameterError: If a slot is not one of the task.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.KaryResponse.two_coin()
        >>> task = dp.local.Task(dp.local.SlotDomain(size=2), "1.0987", oracle, repeat="memoised")
        >>> likelihood = dp.local.longitudinal.sequence_likelihood
        >>> likelihood(task, [1, 1], [1, 1]), likelihood(task, [1, 0], [1, 1])
        (Fraction(3, 4), Fraction(0, 1))
    """
    _check_slots(task, slots)
    times = list(zip(outcomes, slots, strict=True))
    if task.repeat == "fresh":
        return prod((_pmf(task.oracle, outcome, slot, cohort) for outcome, slot in times), start=Fraction(1))
    blocks: dict[int | None, list[Outcome]] = {}
    for outcome, memo in zip(outcomes, memos(slots, task.max_values), strict=True):
        blocks.setdefault(memo, []).append(outcome)
    default = task.default
    parts = (_block(task, block, default if memo is None else memo, cohort) for memo, block in blocks.items())
    return prod(parts, start=Fraction(1))


@short_traceback
def most_likely_value(task: Task, outcomes: Sequence[Outcome], cohort: int = 0, *, is_redrawn: bool = False) -> int:
    """The longitudinal attack: the value of greatest likelihood of a client that reported one value again and again.

    Args:
        task: The task.
        outcomes: What was reported at each time.
        cohort: Cohort of the client. Default 0.
        is_redrawn: Whether the client drew new permanent outcomes for each report, as clients without memoisation do.

    Returns:
        The slot; the first of several that are equally likely.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.KaryResponse.calibrate(5, 2)
        >>> task = dp.local.Task(dp.local.SlotDomain(size=5), "2", oracle, repeat="memoised")
        >>> dp.local.longitudinal.most_likely_value(task, [3, 3, 3])
        3
    """
    seen, decoder = Counter(outcomes), task.decoder

    def likelihood(slot: int) -> Fraction:
        if is_redrawn or task.repeat == "fresh":
            parts = (_pmf(decoder, outcome, slot, cohort) ** times for outcome, times in seen.items())
            return prod(parts, start=Fraction(1))
        return sequence_likelihood(task, outcomes, [slot] * len(outcomes), cohort)

    return max(range(task.oracle.size), key=likelihood)


def _check_slots(task: Task, slots: Sequence[int]) -> None:
    if not all(0 <= slot < task.oracle.size for slot in slots):
        raise ParameterError(
            "a sequence of values",
            because=f"a slot is not from 0 to {task.oracle.size - 1}",
            instead="slots=[task.domain.slot(value) for value in values]",
        )


def _loss(task: Task, total: int, reports: Sequence[int]) -> SequenceLoss:
    """The loss of values that have so many reports each, of which there are `total` with those of the default."""
    epsilon = read_number(task.epsilon, "epsilon")
    if task.repeat == "fresh":
        return SequenceLoss(total * epsilon, total * epsilon)
    if task.second is None or task.epsilon_second is None:
        return SequenceLoss(len(reports) * epsilon, None if total > 1 else total * epsilon)
    second = read_number(task.epsilon_second, "epsilon_second")
    same = sum((min(epsilon, number * second) for number in reports), Fraction(0))
    one = min(epsilon, second) if total == 1 else None
    return SequenceLoss(same, total * _any_report(task, task.second, second) if one is None else one)


def _any_report(task: Task, second: Mapping[str, object], epsilon_second: Fraction) -> Fraction:
    """The loss of one fresh stage for any two permanent outcomes: those of unary encoding differ in every bit."""
    if not isinstance(task.oracle, UnaryEncoding):
        return epsilon_second
    one, zero = read_ratio(second["one"], "one"), read_ratio(second["zero"], "zero")
    return task.oracle.size * log_up(max(one / zero, (1 - zero) / (1 - one)))


def _block(task: Task, outcomes: Sequence[Outcome], slot: int, cohort: int) -> Fraction:
    """The probability of all reports behind which there is one permanent outcome."""
    if task.second is None:
        same = all(outcome == outcomes[0] for outcome in outcomes)
        return _pmf(task.oracle, outcomes[0], slot, cohort) if same else Fraction(0)
    if isinstance(task.oracle, UnaryEncoding):
        return _bits(task.oracle, task.second, outcomes, slot)
    ratio = read_ratio(task.second["ratio"], "ratio")
    symbols = task.oracle.symbols or 0
    fresh = KaryResponse(symbols, ratio)
    seen = Counter(outcomes)
    likelihood = Fraction(0)
    for symbol in range(symbols):
        given = prod(
            (fresh.probability(outcome, symbol) ** times for outcome, times in seen.items()), start=Fraction(1)
        )
        likelihood += _pmf(task.oracle, symbol, slot, cohort) * given
    return likelihood


def _bits(oracle: UnaryEncoding, second: Mapping[str, object], outcomes: Sequence[Outcome], slot: int) -> Fraction:
    """The same for bitmaps: their bits are independent."""
    chances = (read_ratio(second["zero"], "zero"), read_ratio(second["one"], "one"))
    ones = Counter(bit for outcome in outcomes if isinstance(outcome, tuple) for bit in outcome)
    likelihood = Fraction(1)
    for bit in range(oracle.size):
        share = oracle.one if bit == slot else oracle.zero
        times, others = ones[bit], len(outcomes) - ones[bit]
        zero, one = (chance**times * (1 - chance) ** others for chance in chances)
        likelihood *= (1 - share) * zero + share * one
    return likelihood


def _pmf(oracle: LocalRandomizer, outcome: Outcome, slot: int, cohort: int) -> Fraction:
    if isinstance(oracle, LocalHashing):
        return oracle.probability(outcome, slot, cohort)
    return oracle.probability(outcome, slot)
