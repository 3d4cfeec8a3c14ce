"""What every kind of question has in common once it was analyzed: a price, a promise in words, a table to be made.

A kind of question whose answer is a table is a `TablePlan`. The session knows nothing else about it: it charges the
event, hands over the exact integers, and stores and reads back what the plan makes of them.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

from discreet.accounting.filters import Cost
from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps, Unit
from discreet.catalog.time_slice import Slice
from discreet.events import Event
from discreet.plan.physical import Pushdown
from discreet.planner.budget.allocation import Spending
from discreet.release.explanation import ExplainedOutput
from discreet.release.guarantee import Guarantee
from discreet.release.release import Key, Measured, Output, Release

Labels = tuple[tuple[str, ...] | None, ...]


class Priced(Protocol):
    """What is asked of one dataset, for a price."""

    @property
    def dataset(self) -> str:
        """The dataset that is charged."""

    @property
    def unit(self) -> Unit:
        """Whom the promise protects."""

    @property
    def spending(self) -> Spending:
        """What was asked for, in the terms of the promise."""

    @property
    def delta(self) -> Fraction:
        """The delta that its epsilon stands beside."""

    @property
    def slice(self) -> Slice | None:
        """The part of a table that the promise is for, or None for a whole one."""


class TablePlan(Priced, Protocol):
    """A question whose answer is a table: keys, then outputs with their margins.

    `noisy` is whatever `randomize` makes of an engine's integers; only the plan itself reads it.
    """

    @property
    def pushdown(self) -> Pushdown:
        """What the engine is asked."""

    @property
    def event(self) -> Event:
        """What a release does, for the accountants."""

    @property
    def cost(self) -> Cost:
        """The price under both filters."""

    @property
    def caps(self) -> Caps:
        """What one unit may contribute."""

    @property
    def noise(self) -> str:
        """The kind of noise, in words."""

    @property
    def post_processing(self) -> tuple[str, ...]:
        """What is done to noisy integers before they are shown, in words."""

    def randomize(self, exact: Any) -> Any:
        """The exact integers with fresh noise."""

    def combined(self, exact: Any) -> Any:
        """The same without noise, for tests."""

    def keys(self, noisy: Any) -> tuple[Key, ...]:
        """The grouping columns with their keys."""

    def measured(self, noisy: Any) -> tuple[Measured, ...]:
        """The raw noisy integers, with what a reader needs to reuse them."""

    def outputs(self, noisy: Any, confidence: Fraction) -> tuple[Output, ...]:
        """Values and margins, from what is noisy alone."""

    def stored(self, release: Release) -> Any:
        """What is noisy, as a stored release holds it."""

    def explained(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """Each output in words, with its margin where it is public in advance."""


class PublicKeys:
    """Plans whose keys are public and whose noisy integers are columns, one row for each key."""

    pushdown: Pushdown
    group_columns: tuple[str, ...]
    labels: Labels = ()

    def keys(self, noisy: Any) -> tuple[Key, ...]:  # noqa: ARG002 - the keys do not depend on it
        """The public keys; a column with labels shows those."""
        rows, columns = self.pushdown.keys.rows, self.pushdown.keys.columns
        return tuple(
            _key(name, column.type, [row[i] for row in rows], self.labels[i] if self.labels else None)
            for i, (name, column) in enumerate(zip(self.group_columns, columns, strict=False))
        )

    def stored(self, release: Release) -> list[Sequence[int]]:
        """The noisy integers, as a stored release holds them."""
        return [measured.steps for measured in release.measured]


def guarantee(asked: Priced, span: str, version: int, *, rest: str = "") -> str:
    """What an answer reveals, in words: `span` says of what, such as 'this release from'."""
    part = "" if asked.slice is None else f", {asked.slice.statement(asked.unit)}"
    said = f"{span} {asked.dataset!r}, version {version}{part}{_beside(asked)}{rest}"
    return str(Guarantee(asked.spending.epsilon, asked.delta, asked.unit, said))


def _beside(asked: Priced) -> str:
    """The other protected tables that an answer rests on; the promise of each covers it."""
    questions = [part.pushdown for part in getattr(asked, "parts", (asked,)) if hasattr(part, "pushdown")]
    read = dict.fromkeys(each for question in questions for each in question.scan.datasets)
    others = [(name, version) for name, version in read if name != asked.dataset]
    return "".join(f", and {name!r}, version {version}" for name, version in others)


def _key(name: str, kind: ColumnType, values: list[Any], labels: tuple[str, ...] | None) -> Key:
    if labels is None:
        return Key(name, kind, tuple(values))
    return Key(name, ColumnType.TEXT, tuple(None if value is None else labels[value] for value in values))
