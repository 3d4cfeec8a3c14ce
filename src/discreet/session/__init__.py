"""The gate: the only place that releases. A query is explained for free, charged before data is read, answered once.

session = dp.protect("visits.csv", privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2))
session.explain(query, epsilon=0.5)
session.release(query, epsilon=0.5)
"""

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

from discreet import drafting, hints
from discreet.accounting.filters import Budget
from discreet.analysis import MechanismName, PrivatePlan, analyze
from discreet.analysis.explaining import explained, least_epsilon
from discreet.catalog import Value
from discreet.engines import Prepared, public_location, source_of
from discreet.errors import ParameterError, short_traceback
from discreet.exact import Number, positive, probability
from discreet.explanation import Explanation
from discreet.frame import Query
from discreet.guarantee import Guarantee
from discreet.ledger import Entry, Ledger, Receipt
from discreet.release import Key, Release
from discreet.remaining import Remaining
from discreet.session.gate import OWNER, Asked, Gate, table_name
from discreet.slice import Slice
from discreet.unit import Row
from discreet.version import __version__

__all__ = ["Session", "protect", "table_name"]

CONFIDENCE = 0.95


class Session(Gate):
    """Tables under promises: explain, release, remaining. Usable from several threads at once."""

    @classmethod
    @short_traceback
    def protect(
        cls,
        source: object,
        *,
        privacy_unit: str | Sequence[str] | Row | None = None,
        budget: Budget | None = None,
        name: str | None = None,
        version: int = 1,
        slice: Slice | None = None,  # noqa: A002 - the word of the catalog
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        neighbours: Literal["add_remove", "replace_one"] = "add_remove",
        keys: Mapping[str, Sequence[Value]] | None = None,
        bounds: Mapping[str, tuple[Number, Number]] | None = None,
        types: Mapping[str, str] | None = None,
        missing: Mapping[str, Number] | None = None,
        missing_units: Literal["drop", "one_unit"] = "drop",
        sampling: Literal["fast", "portable"] = "fast",
        population: int | None = None,
        rows: int | None = None,
        delimiter: str | None = None,
        table: str | None = None,
        ledger: str | Path | Ledger | None = None,
        analyst: str = OWNER,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> Self:
        """Put a file or a frame under a promise, in one call.

        Types that are not declared are read from the source once and frozen. What is said here is public.

        source              a path, glob or directory (CSV, Parquet, DuckDB), s3:// or gs://, a pandas, Polars or
                            Arrow table, a Spark DataFrame, or postgresql://host/database with table=
        privacy_unit        whom to protect: a column, several, or dp.ROW; you must say it
        budget              what all answers together may reveal of one unit: dp.Budget(epsilon=2)
        name, version       the dataset that the budget belongs to, and the number of its version
        slice               the rows of one period alone, with a budget of their own: dp.Slice("visited", "2026-10-01",
                            "2026-11-01"); visits.csv is then asked as dp.table("visits-2026-10")
        max_rows            how many rows of one unit count; the others are left out
        max_groups          how many groups one unit counts in
        max_rows_per_group  how many rows of one unit count in each group
        neighbours          "add_remove" one unit, or "replace_one"
        keys                groups by column: {"ward": ["A", "B"]}
        bounds              values are moved into them: {"cost": (0, 5_000)}
        types               {"age": "integer"}, where they should not be read from the source
        missing             what a missing number counts as: {"cost": 0}; it is skipped otherwise
        missing_units       rows without a unit: "drop" them, or count them as "one_unit"
        sampling            which rows of a unit count: by the engine's own hash ("fast"), or "portable"
        population          how many people there are in all, to judge delta by
        rows                roughly how many rows there are; used only to predict errors
        delimiter, table    of a CSV file; in a DuckDB or SQLite file, or in PostgreSQL
        ledger              where spending is remembered: a path, or a ledger; one at home otherwise
        analyst             who asks, for the history; an "owner" sees how far a long query is
        memory_limit, threads   what the engine may use
        """
        known, part = drafting.sliced(drafting.name_of(source, name, table), slice)
        opened = source_of(source, delimiter=delimiter, table=table)
        by_column = drafting.by_column(keys=keys, bounds=bounds, types=types, missing=missing)
        facts = {
            "neighbours": neighbours,
            "max_rows": max_rows,
            "max_groups": max_groups,
            "max_rows_per_group": max_rows_per_group,
            "missing_units": missing_units,
            "sampling": sampling,
            "population": population,
            "rows": rows,
            "delimiter": delimiter,
            "relation": table,
            "source": public_location(str(source)) if isinstance(source, str | Path) else None,
        }
        words = drafting.Words(privacy_unit, budget, version, by_column, facts, part)
        kept = cls._open_ledger(ledger)
        return cls(
            drafting.drafted(known, opened, words, kept),
            sources={known: opened},
            ledger=kept,
            analyst=analyst,
            memory_limit=memory_limit,
            threads=threads,
        )

    @short_traceback
    def explain(
        self,
        query: Query,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        mechanism: MechanismName | None = None,
        confidence: Number = CONFIDENCE,
    ) -> Explanation:
        """What the query would cost and how wrong it would be; free, because nothing is read."""
        budget = self._budget_of(query)
        private = analyze(query.plan, self._catalog, budget, epsilon=epsilon, rho=rho, mechanism=mechanism)
        self._prepared(private)
        return explained(private, budget, self.ledger.spent(private.dataset), _confidence(confidence))

    @short_traceback
    def release(
        self,
        query: Query,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        mechanism: MechanismName | None = None,
        confidence: Number = CONFIDENCE,
        fresh: bool = False,
        request: str | None = None,
    ) -> Release:
        """Charge, then answer. The same question again returns the stored answer at no cost, unless `fresh`.

        `request` is a key of your own for a retry: whatever happened in between, it is charged once.
        """
        level = _confidence(confidence)
        if not isinstance(fresh, bool):
            raise ParameterError(f"fresh={fresh!r}", because="it is True or False", instead="fresh=True")
        budget = self._budget_of(query)
        private = analyze(query.plan, self._catalog, budget, epsilon=epsilon, rho=rho, mechanism=mechanism)
        prepared = self._prepared(private)
        question = private.question(self._circumstances(private.dataset))
        payload, repeated = self._answered(private, prepared, question, request, fresh=fresh)
        return _restored(payload, private, level, repeated=repeated)

    @short_traceback
    def epsilon_for(
        self,
        query: Query,
        *,
        margin: Number,
        output: str | None = None,
        mechanism: MechanismName | None = None,
        confidence: Number = CONFIDENCE,
    ) -> float:
        """Accuracy first: the least epsilon for which every output (or the named one) is within the margin."""
        level = _confidence(confidence)
        wanted = positive(margin, "margin")
        budget = self._budget_of(query)
        names = [made.name for made in query.plan.outputs]
        if output is not None and output not in names:
            raise ParameterError(
                f"output={output!r}", because="the query has no such output", instead=f"one of {names}"
            )

        def margin_at(epsilon: Fraction) -> Fraction | None:
            private = analyze(query.plan, self._catalog, budget, epsilon=epsilon, mechanism=mechanism)
            chosen = [made for made in private.recipes if output in (None, made.name)]
            margins = [private.margin(made, level, private.rows_per_group) for made in chosen]
            known = [found for found in margins if found is not None]
            return max(known) if len(known) == len(margins) else None

        return float(least_epsilon(margin_at, wanted))

    @short_traceback
    def remaining(self, table: str | None = None) -> Remaining:
        """What is left of the promise of a table (the only one, if there is one)."""
        name = self._the_table(table)
        budget, spent, table_facts = self.ledger.budget(name), self.ledger.spent(name), self._catalog.table(name)
        return Remaining(name, budget.epsilon_left(spent), budget, table_facts.unit, table_facts.part)

    @short_traceback
    def history(self, table: str | None = None) -> list[Entry]:
        """Every charge so far, oldest first."""
        return self.ledger.history(self._the_table(table))

    def __str__(self) -> str:
        stamp = "" if self._is_private else "NOT PRIVATE "
        return "\n".join(
            [f"{stamp}session of {self.analyst!r}", *(f"  {self.remaining(n)}" for n in self._catalog.tables)]
        )

    __repr__ = __str__

    if not TYPE_CHECKING:  # a checker still finds names that are not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise hints.unknown_call("a session", name, hints.SESSION, dir(type(self)), "session.{}(...)")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _body(self, asked: Asked, prepared: Prepared, receipt: Receipt) -> dict[str, Any]:
        match asked:
            case PrivatePlan():
                noisy = self._noisy(asked, self._exact(asked.dataset, prepared))
                return self._made(asked, noisy, receipt).to_json()
        raise TypeError(type(asked).__name__)

    def _noisy(self, private: PrivatePlan, exact: list[list[int]]) -> list[list[int]]:
        return private.randomize(exact)

    def _made(self, private: PrivatePlan, noisy: list[list[int]], receipt: Receipt) -> Release:
        rows, level = private.pushdown.keys.rows, _confidence(CONFIDENCE)
        keys = tuple(
            Key(name, column.type, tuple(row[i] for row in rows))
            for i, (name, column) in enumerate(zip(private.group_columns, private.pushdown.keys.columns, strict=True))
        )
        delta = private.delta if private.spending.mechanism == "gaussian" else Fraction(0)
        part = "" if private.slice is None else f", {private.slice.statement(private.unit)}"
        span = f"this release from {private.dataset!r}, version {private.pushdown.scan.version}{part}"
        clamped = tuple(f"{m.name}: clamped to its bounds" for m in private.recipes if m.kind == "mean")
        return Release(
            dataset=private.dataset,
            version=private.pushdown.scan.version,
            keys=keys,
            outputs=private.outputs(noisy, level),
            measured=private.measured(noisy),
            confidence=level,
            guarantee=str(Guarantee(private.spending.epsilon, delta, private.unit, span)),
            unit=str(private.unit),
            columns_read=private.pushdown.columns_read,
            post_processing=clamped,
            receipt=json.loads(receipt.to_json()),
            private=self._is_private,
            library=__version__,
        )


def _confidence(value: Number) -> Fraction:
    level = probability(value, "confidence", example="0.95")
    if level == 0:
        raise ParameterError("confidence=0", because="such a margin says nothing", instead="confidence=0.95")
    return level


def _restored(payload: bytes, private: PrivatePlan, confidence: Fraction, *, repeated: bool) -> Release:
    """The stored release, with its margins at the confidence asked for: they follow from the stored integers."""
    release = replace(Release.from_json(json.loads(payload)), repeated=repeated)
    if release.confidence == confidence:
        return release
    outputs = private.outputs([measured.steps for measured in release.measured], confidence)
    return replace(release, outputs=outputs, confidence=confidence)


protect = Session.protect
