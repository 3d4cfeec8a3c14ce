"""Attack rates under the headings of regulators: singling out, linkability and inference.

The three headings are those of the Article 29 Working Party (Opinion 05/2014 on Anonymisation Techniques, WP216). An
attack is run on people who are in the published data and, as a control, on people who are not: what succeeds on both is
knowledge about the population, and the difference is due to the data about the person. The idea and the formula of the
risk are those of Giomi, Boenisch, Wehmeyer and Tasnadi, A Unified Framework for Quantifying Privacy Risk in Synthetic
Data (Anonymeter), PoPETs 2023. Intervals of rates are Wilson's (Probable Inference, JASA 1927).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from discreet.anonymity.classes.column_lists import names_of
from discreet.anonymity.owners import OwnerResult, with_stamp
from discreet.engines.sources.arrow_tables import as_arrow
from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number, probability
from discreet.plots import bars as bar_figures
from discreet.plots.style import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Heading = Literal["singling out", "linkability", "inference"]


@public_class
@dataclass(frozen=True, repr=False)
class AttackRate(OwnerResult):
    """Successes of an attack among attempts.

    Attributes:
        successes: Number of attempts that succeeded.
        attempts: Number of attempts.
        level: Confidence level of the interval.

    Example:
        >>> import discreet as dp
        >>> rate = dp.anonymity.AttackRate(successes=30, attempts=100, level=0.95)
        >>> [round(end, 3) for end in rate.interval]
        [0.219, 0.396]
    """

    kind = "attack rate"

    successes: int
    attempts: int
    level: float = 0.95

    @property
    def rate(self) -> float:
        """Share of attempts that succeeded; 0 without attempts."""
        return self.successes / self.attempts if self.attempts else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's confidence interval of the probability of success; (0, 1) without attempts."""
        return wilson(self.successes, self.attempts, self.level)

    def _lines(self) -> list[str]:
        low, high = (percent(end) for end in self.interval)
        return [f"{self.successes:,} of {self.attempts:,} attempts: {percent(self.rate)} ({low} to {high})"]


@public_class
@dataclass(frozen=True, repr=False)
class AttackRisk(OwnerResult):
    """Risk under one heading: how much more often an attack succeeds on people of the published data than on others.

    Attributes:
        heading: "singling out", "linkability" or "inference".
        attack: Attempts on people whose rows were used for the published data.
        control: Attempts on people whose rows were not.
        baseline: Attempts by random guesses, without the published rows that belong together.
        level: Confidence level of the interval of the risk.
        details: What was attacked, in words.

    Example:
        >>> import discreet as dp
        >>> rates = {name: dp.anonymity.AttackRate(hits, 100) for name, hits in (("attack", 90), ("control", 20))}
        >>> risk = dp.anonymity.AttackRisk("inference", **rates, baseline=dp.anonymity.AttackRate(10, 100))
        >>> round(risk.risk, 3)
        0.875
    """

    kind = "attack risk"

    heading: Heading
    attack: AttackRate
    control: AttackRate
    baseline: AttackRate
    level: float = 0.95
    details: str = ""

    @property
    def risk(self) -> float:
        """(attack - control) / (1 - control): the excess over control; negative where control succeeds more often."""
        return _excess(self.attack.rate, self.control.rate)

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence interval of the risk, from intervals of both rates that hold together with the level."""
        half = 1 - (1 - self.level) / 2
        attack, control = (wilson(each.successes, each.attempts, half) for each in (self.attack, self.control))
        return _excess(attack[0], control[1]), _excess(attack[1], control[0])

    @property
    def is_informative(self) -> bool:
        """Whether the attack beats random guesses: its interval lies above their rate."""
        return self.attack.interval[0] > self.baseline.rate

    @property
    def verdict(self) -> str:
        """The result as a sentence. It never states that the data is without risk."""
        low, high = (_signed(end) for end in self.interval)
        name = self.heading.capitalize()
        if self.interval[0] > 0:
            return (
                f"{name}: the attack succeeds on {percent(self.attack.rate)} of people in the data and on "
                f"{percent(self.control.rate)} of others: a risk of {_signed(self.risk)} ({low} to {high})."
            )
        if self.interval[1] < 0:
            return (
                f"{name}: the attack succeeds on {percent(self.attack.rate)} of people in the data and on "
                f"{percent(self.control.rate)} of others; check that the control group is not in the published data."
            )
        if not self.is_informative:
            return (
                f"{name}: this attack does not beat random guesses, so it measures nothing; a stronger attack may "
                "succeed."
            )
        return (
            f"{name}: no difference to the control group is shown (risk between {low} and {high}); other attacks may "
            "succeed, and this is not a guarantee."
        )

    def _lines(self) -> list[str]:
        rates = (
            ("people in the data", self.attack),
            ("control group", self.control),
            ("random guesses", self.baseline),
        )
        lines = [f"{name}: {each.successes:,} of {each.attempts:,} ({percent(each.rate)})" for name, each in rates]
        return [self.verdict, *lines, *([self.details] if self.details else [])]

    def plot(self) -> "Figure":
        """The three rates with their intervals in words.

        Returns:
            A figure, with a description as its label.

        Raises:
            UnsupportedError: If matplotlib is not installed.
        """
        rates = (self.attack, self.control, self.baseline)
        notes = [f"{percent(r.rate)} ({percent(r.interval[0])} to {percent(r.interval[1])})" for r in rates]
        figure = bar_figures.bars(
            ["people in the data", "control group", "random guesses"],
            [each.rate for each in rates],
            notes,
            title=self.verdict,
            label=f"share of attempts that succeed ({percent(self.level)} intervals)",
            exposed=[True, False, False],
            is_share=True,
        )
        return with_stamp(figure)


def wilson(successes: int, attempts: int, level: float) -> tuple[float, float]:
    """Wilson's two-sided confidence interval of a probability."""
    if not attempts:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(1 - (1 - level) / 2)
    share, spread = successes / attempts, z * z / attempts
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / attempts + spread / (4 * attempts)) / (1 + spread)
    # rounding would leave the ends a little inside of 0 and 1
    return (middle - half if successes else 0.0), (middle + half if successes < attempts else 1.0)


def attack_tables(
    original: object, published: object, control: object, columns: Sequence[str], extra: Sequence[str] = ()
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """The three tables with the columns that an attack uses; the original and the control need rows."""
    names = list(dict.fromkeys(columns))
    tables = as_arrow(original, *names), as_arrow(published, *names, *extra), as_arrow(control, *names)
    for table, word in zip(tables, ("original", "published", "control"), strict=True):
        if not table.num_rows:
            raise ParameterError(
                f"{word} without rows",
                because="rates are measured on rows of all three tables",
                instead="original, published, control = people[:800], people[:800], people[800:]",
            )
    return tables


def shared_columns(columns: Sequence[str] | None, *sources: object, besides: Sequence[str] = ()) -> list[str]:
    """The named columns, or those that all tables have, `besides` left out; at least one."""
    if columns is not None:
        return list(names_of(columns, "columns"))
    first, *others = (as_arrow(source).column_names for source in sources)
    shared = [name for name in first if name not in besides and all(name in other for other in others)]
    if not shared:
        raise ParameterError(
            f"tables with {', '.join(repr(list(each)) for each in (first, *others))}",
            because="an attack compares columns that all three tables have",
            instead=f"published = published.rename_columns({first!r})",
        )
    return shared


def confidence_level(level: Number) -> float:
    """A confidence level as a float, checked."""
    number = probability(level, "level", example="0.95")
    if number <= 0:
        raise ParameterError(f"level={level}", because="a confidence level is above 0", instead="level=0.95")
    return float(number)


def fresh(generator: np.random.Generator | None) -> np.random.Generator:
    """The given generator, or one with entropy of the operating system."""
    return np.random.default_rng() if generator is None else generator


def _excess(attack: float, control: float) -> float:
    if control >= 1:
        return 0.0 if attack >= 1 else -math.inf
    return (attack - control) / (1 - control)


def _signed(share: float) -> str:
    if share == -math.inf:
        return "unbounded below"
    return percent(share) if share >= 0 else f"-{percent(min(1.0, -share))}" if share >= -1 else "below -100%"
