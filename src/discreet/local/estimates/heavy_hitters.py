"""Heavy hitters of a domain too large to list: a prefix tree, level by level.

Users are divided into as many groups as there are levels, at random, by the operator. The group of a level reports
prefixes of one length: those that survived the level before, each with all continuations. What does not begin with a
surviving prefix is reported as "other", the default slot. So every user reports once, with the whole epsilon.

    tree = PrefixTree(alphabet="01", lengths=(8, 16, 24), epsilon=1, reports=300_000)
    while not tree.is_finished:
        state = ...                # reports of the next group: client.report(tree.prefix(value)) with tree.task
        tree = tree.extend(state)
    tree.result

A prefix survives if its estimate is above a threshold that about one prefix without users passes at each level. A value
is found if its prefixes survive every level, so its share has to be well above the threshold (Bassily, Nissim, Stemmer
and Thakurta, Practical Locally Private Heavy Hitters, JMLR 2020; Wang, Li and Jha, Locally Differentially Private Heavy
Hitter Identification, TDSC 2021).
"""

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number
from discreet.local.estimates.frequencies import FrequencyEstimates, estimate
from discreet.local.estimates.listing import SHOWN, listing
from discreet.local.oracles.randomizer import Floats
from discreet.local.task import Task
from discreet.plan.wording import counted
from discreet.release.forms import pandas_frame

if TYPE_CHECKING:
    import pandas as pd

    from discreet.local.collector.accumulator import Accumulator

LARGEST_LEVEL = 2**20
OTHER = ""


@public_class
@dataclass(frozen=True, eq=False, repr=False)
class HeavyHitters:
    """Frequent values, largest estimate first; none is a result too.

    Attributes:
        values: The values.
        shares: Estimated share of each value in the last group.
        low: Lower end of each interval.
        high: Upper end of each interval.
        confidence: Probability that all intervals hold at once, over all candidates of the last level.
        reports: Number of reports of the last group.
        threshold: Share that a candidate of the last level had to exceed.

    Example:
        >>> PrefixTree(alphabet="01", lengths=(2,), epsilon=1, reports=1_000).result is None
        True
    """

    values: tuple[str, ...]
    shares: Floats
    low: Floats
    high: Floats
    confidence: float
    reports: int
    threshold: float

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        what = f"{counted(len(self), 'frequent value')}, above a share of {self.threshold:.2%}"
        heading = (
            f"{what}; {counted(self.reports, 'report')}; with probability {self.confidence:.15g} all intervals hold"
        )
        rows = zip(self.values[:SHOWN], self.shares, self.low, self.high, strict=False)
        return listing(heading, (_share_row(*row) for row in rows), len(self) - SHOWN)

    def to_arrow(self) -> pa.Table:
        """The values as an Arrow table.

        Returns:
            The columns value, share, low and high.
        """
        values = pa.array(self.values, pa.string())
        return pa.table({"value": values, "share": self.shares, "low": self.low, "high": self.high})

    def to_pandas(self) -> "pd.DataFrame":
        """The values as a pandas frame.

        Returns:
            The columns value, share, low and high.

        Raises:
            UnsupportedError: If pandas is not installed.
        """
        return pandas_frame(self.to_arrow())


@public_class
@dataclass(frozen=True)
class PrefixTree:
    """A search for frequent texts, level by level.

    Args:
        alphabet: The characters of values. The first one fills up shorter values.
        lengths: Length of the prefixes at each level, rising; the last one is the length of values.
        epsilon: The loss of one user, who reports at one level only.
        reports: Expected number of users, over all levels.
        width: The most prefixes that survive a level.
        max_bytes: Largest length of a report.
        parents: Prefixes that survived the level before.
        level: Number of the level, from 0.
        result: The frequent values, after the last level.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> tree = PrefixTree(alphabet="01", lengths=(2, 4), epsilon=1, reports=10_000)
        >>> tree.candidates
        ('00', '01', '10', '11')
        >>> tree.prefix("1101")
        '11'
    """

    alphabet: str
    lengths: tuple[int, ...]
    epsilon: Number | str
    reports: int
    width: int = 64
    max_bytes: int = 40
    parents: tuple[str, ...] = (OTHER,)
    level: int = 0
    result: HeavyHitters | None = None

    def __post_init__(self) -> None:
        steps = np.diff((0, *self.lengths))
        is_right = len(set(self.alphabet)) == len(self.alphabet) >= 2 and len(steps) and min(steps) > 0
        if not is_right or self.width < 1:
            raise ParameterError(
                f"alphabet={self.alphabet!r}, lengths={self.lengths}, width={self.width}",
                because="characters of the alphabet differ, lengths rise from above 0, and width is at least 1",
                instead='PrefixTree(alphabet="0123456789abcdef", lengths=(2, 4, 6, 8), epsilon=1, reports=1_000_000)',
            )
        largest = max(
            min(self.width, len(self.alphabet) ** low) * len(self.alphabet) ** step
            for low, step in zip((0, *self.lengths), map(int, steps), strict=False)
        )
        if largest > LARGEST_LEVEL:
            raise ParameterError(
                f"a level of {largest:,} prefixes",
                because=f"each level has at most {LARGEST_LEVEL:,}",
                instead="more levels, or a smaller width",
            )

    @property
    def is_finished(self) -> bool:
        """Whether there is no further level."""
        return self.result is not None

    @property
    def candidates(self) -> tuple[str, ...]:
        """The prefixes of this level: the surviving ones, each with all continuations."""
        length = self.lengths[self.level] - (self.lengths[self.level - 1] if self.level else 0)
        continuations = ["".join(each) for each in itertools.product(self.alphabet, repeat=length)]
        return tuple(parent + each for parent in self.parents for each in continuations)

    @cached_property
    def task(self) -> Task:
        """The task of this level. Slot 0 is the default: all other prefixes."""
        return Task.choose(
            domain=(OTHER, *self.candidates),
            epsilon=self.epsilon,
            n=max(1, self.reports // len(self.lengths)),
            max_bytes=self.max_bytes,
            question=f"the first {self.lengths[self.level]} characters",
            name=f"level {self.level}",
        )

    def prefix(self, value: str) -> str:
        """What a user of this level reports.

        Args:
            value: The user's value.

        Returns:
            The prefix; the client reports the default slot if it is not a candidate.

        Raises:
            ParameterError: If the value is not text.
        """
        if not isinstance(value, str):
            raise ParameterError(
                f"a value of type {type(value).__name__}",
                because="the tree is of prefixes of texts",
                instead=f'tree.prefix("{self.alphabet[:2]}")',
            )
        return value.ljust(self.lengths[-1], self.alphabet[0])[: self.lengths[self.level]]

    def extend(self, accumulator: "Accumulator", confidence: float = 0.95) -> "PrefixTree":
        """The next level, from the counts of this one.

        Args:
            accumulator: The counts of the reports of this level's group.
            confidence: Probability that all intervals of the result hold at once.

        Returns:
            The tree at the next level, or with its result.

        Raises:
            ParameterError: If there is no further level, or the counts are those of another task.
        """
        if self.is_finished:
            raise ParameterError("a level after the last one", because="the tree has its result", instead="tree.result")
        estimates = estimate(self.task, accumulator, confidence)
        threshold = _threshold(self.task, estimates)
        order = np.argsort(-estimates.estimates[1:], kind="stable")[: self.width] + 1
        slots = [int(slot) for slot in order if estimates.estimates[slot] > threshold]
        parents = tuple(str(estimates.values[slot]) for slot in slots)  # noqa: PD011 - not a frame of pandas
        if parents and self.level + 1 < len(self.lengths):
            return replace(self, parents=parents, level=self.level + 1)
        return replace(self, parents=parents, result=_result(estimates, slots, parents, threshold))


def _share_row(value: str, share: float, low: float, high: float) -> tuple[str, str, str]:
    return value, f"{share:>8.2%}", f" {low:.2%} to {high:.2%}"


def _threshold(task: Task, estimates: FrequencyEstimates) -> float:
    """The count that about one prefix without users passes, among all of a level."""
    size = len(estimates)
    deviation = float(task.oracle.standard_error(np.zeros(size), estimates.reports)[0])  # type: ignore[attr-defined]
    return NormalDist().inv_cdf(1 - 1 / size) * deviation


def _result(estimates: FrequencyEstimates, slots: list[int], values: tuple[str, ...], threshold: float) -> HeavyHitters:
    number = estimates.reports
    columns = (estimates.estimates[slots] / number, estimates.low[slots] / number, estimates.high[slots] / number)
    # The last level may be missing: then no prefix was frequent, and no value is.
    return HeavyHitters(values, *columns, estimates.confidence, number, threshold / number)
