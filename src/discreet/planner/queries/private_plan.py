"""The base of private plans: the event, the published delta and the guarantee, in one place.

A plan whose answer is a table is a `TablePlan`. The session knows nothing else about it: it charges the event, hands
over the exact integers, and stores and reads back what the plan makes of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps, Unit
from discreet.catalog.time_slice import Slice
from discreet.events import ComposedEvent, Event, total_delta
from discreet.mechanisms import AdditiveNoise
from discreet.plan.fingerprint import canonical
from discreet.plan.physical import CountRows, Pushdown, SumSteps
from discreet.planner.budget.allocation import Spending
from discreet.planner.sensitivity.sensitivity import Sensitivity
from discreet.release.explanation import ExplainedOutput
from discreet.release.guarantee import Guarantee
from discreet.release.release import Key, MeasuredColumn, OutputColumn, Release
from discreet.release.values.columns import measured_column

Labels = tuple[tuple[str, ...] | None, ...]


@dataclass(frozen=True)
class HiddenMargin:
    """Why the margin of an output is not public in advance, and what has one; for errors."""

    because: str
    instead: str


BY_GROUP_SIZE = HiddenMargin(
    "its margin depends on the number of rows in each group, which is private",
    "rows=... in the catalog (a public, approximate size), or output=... with the name of a count or a sum",
)
"""That of a mean, a variance or a std."""


@dataclass(frozen=True, kw_only=True)
class PrivatePlan(ABC):
    """Everything that is public about a query before it is answered, of any kind.

    Attributes:
        dataset: The dataset that is charged.
        unit: The privacy unit.
        spending: What was asked for, and the epsilon of the guarantee.
        slice: The part of a table that the guarantee is for, or None for the whole table.
    """

    dataset: str
    unit: Unit
    spending: Spending
    slice: Slice | None = None

    @property
    @abstractmethod
    def event(self) -> Event:
        """What an answer does, for the accountants."""

    @property
    def delta(self) -> Fraction:
        """The published delta: that of the conversion from rho, and those that parts of the event have of their own."""
        return self.spending.delta + total_delta(self.event)

    def guarantee(self, span: str, version: int, *, rest: str = "") -> str:
        """What an answer reveals, in words: `span` says of what, such as 'this release from'."""
        part = "" if self.slice is None else f", {self.slice.statement(self.unit)}"
        text = f"{span} {self.dataset!r}, version {version}{part}{self._other_datasets()}{rest}"
        return str(Guarantee(self.spending.epsilon, self.delta, self.unit, text))

    def _other_datasets(self) -> str:
        """The other protected tables that an answer rests on; the guarantee of each covers it."""
        questions = [part.pushdown for part in getattr(self, "parts", (self,)) if hasattr(part, "pushdown")]
        read = dict.fromkeys(each for question in questions for each in question.scan.datasets)
        others = [(name, version) for name, version in read if name != self.dataset]
        return "".join(f", and {name!r}, version {version}" for name, version in others)


@dataclass(frozen=True, kw_only=True)
class AnswerPlan(PrivatePlan):
    """A query that is answered once: what the engine is asked, and what becomes of its exact answer.

    `noisy` is the result of `randomize` on the exact answer; only the plan itself reads it.
    """

    pushdown: Pushdown

    @property
    def pushdowns(self) -> tuple[Pushdown, ...]:
        """All that the engine is asked; one query, except for plans of several."""
        return (self.pushdown,)

    @property
    def columns_read(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        return tuple(sorted({name for asked in self.pushdowns for name in asked.columns_read}))

    @property
    @abstractmethod
    def noise(self) -> str:
        """The kind of noise, in words."""

    @property
    def caveat(self) -> str:
        """What the guarantee does not cover of this answer, as sentences; empty where it covers all."""
        return ""

    @property
    def contribution_bounds(self) -> Caps:
        """What one unit may contribute."""
        return self.pushdown.caps

    @property
    def groups(self) -> int:
        """How many answers there are to each output."""
        return len(self.pushdown.keys.rows)

    @property
    def key_selection(self) -> str:
        """How keys are found, in words, where they are not known."""
        return ""

    @property
    def details(self) -> tuple[tuple[str, str], ...]:
        """Further public facts for its explanation, with their labels."""
        return ()

    @property
    def clamps_values(self) -> bool:
        """Whether values outside public bounds count as the nearest bound."""
        return any(isinstance(measure, SumSteps) for measure in self.pushdown.measures)

    @property
    def missing_cells(self) -> str:
        """What cells that are missing or cannot be read do, in words: "which ..."."""
        sums = [measure for measure in self.pushdown.measures if isinstance(measure, SumSteps)]
        substitutes = [each.missing is not None for each in sums]
        if not any(substitutes):
            return "are left out"
        declared = "count as the number that the catalog declares for them"
        return declared if all(substitutes) else f"are left out, or {declared}"

    @abstractmethod
    def randomize(self, exact: Any) -> Any:
        """The exact answer with fresh noise."""

    @abstractmethod
    def combine(self, exact: Any) -> Any:
        """The answer without noise; for additive noise, the integers that get it."""

    @abstractmethod
    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """Each output in words, with its margin where it is public in advance."""

    def hidden_margin(self, output: ExplainedOutput) -> HiddenMargin:  # noqa: ARG002 - plans of several causes read it
        """Why the margin of an output is not public in advance."""
        return BY_GROUP_SIZE


@dataclass(frozen=True, kw_only=True)
class TablePlan(AnswerPlan):
    """A query whose answer is a table: keys, then outputs with their margins."""

    caps: Caps

    @property
    def contribution_bounds(self) -> Caps:
        """What one unit may contribute."""
        return self.caps

    @property
    @abstractmethod
    def post_processing(self) -> tuple[str, ...]:
        """What is done to noisy integers before they are shown, in words."""

    @abstractmethod
    def keys(self, noisy: Any) -> tuple[Key, ...]:
        """The grouping columns with their keys."""

    @abstractmethod
    def measurements(self, noisy: Any) -> tuple[MeasuredColumn, ...]:
        """The raw noisy integers, with what a reader needs to reuse them."""

    @abstractmethod
    def outputs(self, noisy: Any, confidence: Fraction) -> tuple[OutputColumn, ...]:
        """Values and margins, from what is noisy alone."""

    def restore_noisy(self, release: Release) -> Any:
        """What is noisy, as a stored release holds it."""
        return [measured.steps for measured in release.measured]


@dataclass(frozen=True, kw_only=True)
class WorkloadPlan(TablePlan):
    """Counts of bins that a strategy measures: each part of the strategy has noise of its own."""

    name: str
    sensitivities: tuple[Sensitivity, ...]
    noises: tuple[AdditiveNoise, ...]

    @property
    def kind(self) -> type[AdditiveNoise]:
        """The kind of noise, which all parts share."""
        return self.spending.kind

    @property
    def event(self) -> Event:
        """The noise of every part."""
        return ComposedEvent(tuple(noise.event() for noise in self.noises))

    def randomize(self, exact: Sequence[Sequence[int]]) -> list[list[int]]:
        """The integers of each part, with fresh noise."""
        pairs = zip(self.noises, self.combine(exact), strict=True)
        return [list(map(int, noise.release(column))) for noise, column in pairs]

    def measurements(self, noisy: Sequence[Sequence[int]]) -> tuple[MeasuredColumn, ...]:
        """The raw noisy integers of each part."""
        parts = zip(self.noises, self.sensitivities, noisy, self.places, strict=True)
        measure = canonical(CountRows())
        return tuple(
            measured_column(measure, noise, moved, column, Fraction(1), places)
            for noise, moved, column, places in parts
        )

    @property
    @abstractmethod
    def places(self) -> tuple[str, ...]:
        """What the integers of each part stand for."""

    @property
    def squares(self) -> list[float]:
        """Squared widths of the noises: in proportion to the variances, and what margins are proved with."""
        return [noise.width**2 for noise in self.noises]


class PublicKeys:
    """Plans whose keys are public and whose noisy integers are columns, one row for each key."""

    pushdown: Pushdown
    group_columns: tuple[str, ...]
    labels: Labels = ()

    def keys(self, noisy: Any) -> tuple[Key, ...]:  # noqa: ARG002 - the keys do not depend on it
        """The public keys; a column with labels shows those."""
        keys = self.pushdown.keys
        return tuple(
            _key(name, column.type, values, self.labels[i] if self.labels else None)
            for i, (name, column, values) in enumerate(zip(self.group_columns, keys.columns, keys.values, strict=False))
        )


def _key(name: str, kind: ColumnType, values: list[Any], labels: tuple[str, ...] | None) -> Key:
    if labels is None:
        return Key(name, kind, tuple(values))
    return Key(name, ColumnType.TEXT, tuple(None if value is None else labels[value] for value in values))
