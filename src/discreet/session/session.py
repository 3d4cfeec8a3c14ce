"""A session: explain a query for free, release its answer for a charge, see what remains of the budget.

session = dp.protect("visits.csv", privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2))
session.release(query, epsilon=0.5)
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, Unpack, overload

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, Value
from discreet.catalog.privacy_unit import Row
from discreet.catalog.time_slice import Slice
from discreet.engines import Statements, public_location, source_of
from discreet.errors import public_class, short_traceback
from discreet.exact import Number, positive, whole
from discreet.ledger import Entry, Ledger
from discreet.planner.budget.price import Price
from discreet.planner.expected_error import Sizes, errors_by_group
from discreet.planner.explain import batch_explanation, explanation, least_epsilon, widest_margin
from discreet.planner.queries.private_plan import AnswerPlan
from discreet.planner.queries.sparse_vector import Threshold
from discreet.planner.queries.tables import MechanismName
from discreet.query import hints
from discreet.query.applications import Application
from discreet.query.frame import Frame, Query
from discreet.query.methods import Method
from discreet.query.scores import Choice
from discreet.release.estimate import Estimate
from discreet.release.expected_error import ErrorsByEpsilon
from discreet.release.explanation import BatchExplanation, Explanation
from discreet.release.release import Release
from discreet.release.remaining import Remaining, remaining_of_analyst
from discreet.release.selection import Selection
from discreet.sandbox.modules import allowed_modules
from discreet.session import draft_catalog
from discreet.session.above_threshold import SparseVector
from discreet.session.arguments import (
    Once,
    Preview,
    Question,
    Spend,
    checked_fresh,
    confidence_of,
    refuse_several,
    request_of,
)
from discreet.session.online_ranges import OnlineRanges
from discreet.session.pipeline import OWNER, Pipeline
from discreet.session.stored import CONFIDENCE

__all__ = ["Session", "protect"]


@public_class
class Session:
    """Tables under a privacy budget: explain, release, remaining. Usable from several threads at once."""

    _pipeline_class = Pipeline

    @short_traceback
    def __init__(
        self,
        catalog: Catalog | str | Path,
        *,
        sources: Mapping[str, object] | None = None,
        ledger: str | Path | Ledger | None = None,
        analyst: str = OWNER,
        memory_limit: str | None = None,
        threads: int | None = None,
        modules: Sequence[str] = (),
    ) -> None:
        facts = (catalog if isinstance(catalog, Catalog) else Catalog.load(catalog)).model_copy(deep=True)
        beside = Path() if isinstance(catalog, Catalog) else Path(catalog).parent
        self.analyst = analyst
        self._modules = allowed_modules(modules)
        given = dict(sources or {})
        opened = {name: draft_catalog.opened_source(name, t, given, beside) for name, t in facts.tables.items()}
        self.ledger = self._pipeline_class.opened_ledger(ledger)
        self._pipeline = self._pipeline_class(
            facts,
            opened,
            given,
            self.ledger,
            analyst=analyst,
            memory_limit=memory_limit,
            threads=None if threads is None else whole(threads, "threads"),
        )

    @property
    def catalog(self) -> Catalog:
        """A copy of the public facts: what was registered does not change under an open session."""
        return self._pipeline.catalog.model_copy(deep=True)

    def close(self) -> None:
        """Give back the engine; prepared tables and spill files are deleted."""
        self._pipeline.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        fixed_schema: bool = False,
        row_local: bool = False,
        ledger: str | Path | Ledger | None = None,
        analyst: str = OWNER,
        memory_limit: str | None = None,
        threads: int | None = None,
        modules: Sequence[str] = (),
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
        rows                roughly how many rows there are; used to predict errors and to choose a strategy
        delimiter, table    of a CSV file; in a DuckDB or SQLite file, or in PostgreSQL
        fixed_schema        your statement about an in-memory table: its column types were declared to whatever read it,
                            and do not depend on the rows; recorded with the registration
        row_local           your statement about a view: each of its rows is computed from rows of one unit alone
        ledger              where spending is remembered: a path, or a ledger; one at home otherwise
        analyst             who asks, for the history; an "owner" sees how far a long query is
        memory_limit, threads   what the engine may use
        modules             what functions of `Frame.apply` may import beside numpy, pyarrow and parts of Python that
                            only compute: ("pandas", "scipy.stats"); these are imported outside the sandbox
        """
        known, part = draft_catalog.name_slice(draft_catalog.name_of(source, name, table), slice)
        stated = Statements(fixed_schema=fixed_schema, row_local=row_local)
        opened = source_of(source, delimiter=delimiter, table=table, stated=stated)
        by_column = draft_catalog.by_column(keys=keys, bounds=bounds, types=types, missing=missing)
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
            "fixed_schema": fixed_schema,
            "row_local": row_local,
            "source": public_location(str(source)) if isinstance(source, str | Path) else None,
        }
        words = draft_catalog.Words(privacy_unit, budget, version, by_column, facts, part)
        kept = cls._pipeline_class.opened_ledger(ledger)
        return cls(
            draft_catalog.one_table_catalog(known, opened, words, kept),
            sources={known: opened},
            ledger=kept,
            analyst=analyst,
            memory_limit=memory_limit,
            threads=threads,
            modules=modules,
        )

    @overload
    def explain(self, query: Question, *, method: Method | None = None, **price: Unpack[Preview]) -> Explanation: ...

    @overload
    def explain(self, query: Sequence[Question], **price: Unpack[Spend]) -> BatchExplanation: ...

    @short_traceback
    def explain(
        self,
        query: Question | Sequence[Question],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        mechanism: MechanismName | None = None,
        method: Method | None = None,
        weights: Sequence[Number] | None = None,
        confidence: Number = CONFIDENCE,
        sizes: Sizes | None = None,
    ) -> Explanation | BatchExplanation:
        """What a question would cost and how wrong it would be; free, because nothing is read.

        Args:
            query: A question (`Frame.agg`, `Frame.choose`, `Frame.apply`), or a list of them.
            epsilon: What it may spend; rho, delta, mechanism, method, weights and confidence are as for `release`.
            sizes: How large groups are, from public knowledge or an earlier release of counts: each group is then shown
                with its expected relative error. `{"A": 500, "B": 40}`, or rows in all.

        Returns:
            An explanation to print; of a list, one of all of them.

        Raises:
            Refusal: If the question cannot be answered; nothing is spent.
        """
        level = confidence_of(confidence)
        request = request_of(query, self._modules, Price(epsilon, rho, delta, mechanism), method, weights)
        kind, plan, budget = self._pipeline.plan(request)
        with kind.prepare(request, plan, self._pipeline):
            spent = self.ledger.spent(plan.dataset)
        if isinstance(request.question, tuple):
            together = batch_explanation(plan, budget, spent, level)
            return replace(together, fits=together.fits and self._pipeline.fits_others(plan, plan.cost))
        text = explanation(plan, budget, spent, level, sizes)
        return replace(text, fits=text.fits and self._pipeline.fits_others(plan, plan.cost))

    @overload
    def release(self, query: Query, **price: Unpack[Once]) -> Release: ...

    @overload
    def release(self, query: Query, *, method: Method, **price: Unpack[Once]) -> Estimate: ...

    @overload
    def release(self, query: Choice, **price: Unpack[Once]) -> Selection: ...

    @overload
    def release(self, query: Application, **price: Unpack[Once]) -> Estimate: ...

    @overload
    def release(self, query: Sequence[Query], **price: Unpack[Once]) -> list[Release]: ...

    @overload
    def release(self, query: Sequence[Question], **price: Unpack[Once]) -> list[Any]: ...

    @short_traceback
    def release(
        self,
        query: Question | Sequence[Question],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        mechanism: MechanismName | None = None,
        method: Method | None = None,
        weights: Sequence[Number] | None = None,
        confidence: Number = CONFIDENCE,
        fresh: bool = False,
        idempotency_key: str | None = None,
    ) -> Any:
        """Charge, then answer. The same question again returns the stored answer at no cost, unless `fresh`.

        Args:
            query: A question (`Frame.agg`, `Frame.choose`, `Frame.apply`), or a list of them: a batch, which is charged
                once and answered in order.
            epsilon: What it may spend.
            rho: The same in zero-concentrated differential privacy, under a budget with a delta.
            delta: Of a batch: it is charged as one event of (epsilon, delta), from the delta that the budget reserves,
                with the least noise that meets this.
            mechanism: The additive noise: "laplace", "gaussian" or "staircase". Default: what the budget asks for.
            method: `dp.SmoothSensitivity()` or `dp.ProposedBound(...)`, for one mean, median or interquartile range.
            weights: Of a batch: how the cost is divided over its questions. Default: evenly.
            confidence: How often margins hold. Default 0.95.
            fresh: Charge and answer anew, where the same question was answered before.
            idempotency_key: A key of your own for a retry: whatever happened in between, it is charged once.

        Returns:
            A `Release` for a table, a `Selection` for a choice, an `Estimate` for a method or a function; a list for a
            batch.

        Raises:
            Refusal: If the question cannot be answered or does not fit the budget; nothing is spent.
            Failure: If it fails after the charge.
        """
        level = confidence_of(confidence)
        checked_fresh(fresh)
        request = request_of(query, self._modules, Price(epsilon, rho, delta, mechanism), method, weights)
        return self._pipeline.answer(request, level, fresh=fresh, idempotency_key=idempotency_key)

    @short_traceback
    def expected_errors(
        self,
        query: Query,
        *,
        epsilons: Sequence[Number],
        sizes: Sizes | None = None,
        output: str | None = None,
        mechanism: MechanismName | None = None,
    ) -> ErrorsByEpsilon:
        """The expected relative error of an output in every group, for several epsilons side by side; free.

        Args:
            query: A query of counts, sums and means by public keys.
            epsilons: The epsilons to compare.
            sizes: As for `explain`. Default: the declared rows, spread evenly.
            output: The output. Default: the first.
            mechanism: The additive noise, as for `release`.

        Returns:
            A table to print or plot.

        Raises:
            Refusal: If errors are not known in advance for such a query.
        """

        def plan_at(epsilon: Fraction) -> AnswerPlan:
            return self._plan(query, Price(epsilon, mechanism=mechanism))

        return errors_by_group(plan_at, epsilons, sizes, output)

    @short_traceback
    def epsilon_for(
        self,
        query: Question,
        *,
        margin: Number,
        output: str | None = None,
        mechanism: MechanismName | None = None,
        method: Method | None = None,
        confidence: Number = CONFIDENCE,
    ) -> float:
        """Accuracy first: the least epsilon for which every output (or the named one) is within the margin.

        Args:
            query: A question.
            margin: The largest margin of error.
            output: The output that has to meet it. Default: all of them.
            mechanism: The additive noise, as for `release`, and so is `method`.
            confidence: How often the margin holds. Default 0.95.

        Returns:
            The epsilon, to three digits and rounded up.

        Raises:
            ParameterError: If the margin is not public in advance, or no epsilon reaches it.
        """
        level = confidence_of(confidence)
        wanted = positive(margin, "margin")

        def margin_at(epsilon: Fraction) -> Fraction | None:
            plan = self._plan(query, Price(epsilon, mechanism=mechanism), method)
            return widest_margin(plan.explain_outputs(level), output)

        return float(least_epsilon(margin_at, wanted))

    @short_traceback
    def above_threshold(
        self,
        table: str | Frame | None = None,
        *,
        threshold: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
        answers: int = 1,
        sensitivity: Number = 1,
        monotone: bool = False,
        with_answers: bool = False,
        gap: bool = False,
        grid: Number = 1,
    ) -> SparseVector:
        """Sparse vector technique: which of any number of queries are above a threshold, for one cost.

        Use it as `with session.above_threshold(...) as vector`. Opening charges for all of it. It ends after so many
        answers above, however many queries are below.

        Args:
            table: The table that is asked. Default: the only one.
            threshold: What answers are compared with.
            epsilon: What it may spend, or `rho` in zero-concentrated differential privacy.
            answers: How many may be above before it ends.
            sensitivity: The most that one unit moves any answer; a query that it can move farther is refused.
            monotone: Only counts, and sums of values of at least zero, are asked: less noise, under "add_remove".
            with_answers: An answer above comes with its noisy number, for a part of the cost.
            gap: An answer above comes with how far above, which is free.
            grid: What answers are whole multiples of: that of the sums, where sums are asked.

        Returns:
            The open mechanism, to be asked by `ask`.

        Raises:
            Refusal: If the cost does not fit the budget.
        """
        options = Threshold(threshold, answers, sensitivity, monotone, with_answers, gap, grid)
        return SparseVector.build(self._pipeline, table, options, Price(epsilon, rho))

    @short_traceback
    def online_ranges(
        self,
        table: Frame,
        column: str,
        *,
        edges: Sequence[Any],
        total: int,
        threshold: Number,
        corrections: int = 10,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> OnlineRanges:
        """Any number of ranges of a column, one after another, for one cost: `with session.online_ranges(...) as r`.

        Args:
            table: `dp.table("visits")`, with any where and derive.
            column: The column.
            edges: Public values that ranges may end at, smallest first.
            total: How many rows there are, roughly: a public number, or one that was released.
            threshold: How wrong an answer may be before it is corrected.
            corrections: How many corrections there may be before it ends.
            epsilon: What it may spend, or `rho` in zero-concentrated differential privacy.

        Returns:
            The open mechanism, to be asked by `ask`.

        Raises:
            Refusal: If the cost does not fit the budget.
        """
        options: dict[str, Any] = {"total": total, "threshold": threshold, "corrections": corrections}
        return OnlineRanges.build(self._pipeline, table, column, tuple(edges), Price(epsilon, rho), **options)

    @short_traceback
    def remaining(self, table: str | None = None) -> Remaining:
        """What is left of the budget of a table (the only one, if there is one), and of the analyst's quota."""
        name = self._pipeline.table_name(table)
        budget, spent, table_facts = (
            self.ledger.budget(name),
            self.ledger.spent(name),
            self._pipeline.catalog.table(name),
        )
        left = Remaining(name, budget.epsilon_left(spent), budget, table_facts.unit, table_facts.part)
        share = self.ledger.share(name, self.analyst)
        return remaining_of_analyst(left, spent, self.analyst, share.quota, share.spent)

    @short_traceback
    def history(self, table: str | None = None) -> list[Entry]:
        """Every charge so far, oldest first."""
        return self.ledger.history(self._pipeline.table_name(table))

    def __str__(self) -> str:
        stamp = "" if self._pipeline.is_private else "NOT PRIVATE "
        return "\n".join(
            [
                f"{stamp}session of {self.analyst!r}",
                *(f"  {self.remaining(n)}" for n in self._pipeline.catalog.protected_tables),
            ]
        )

    __repr__ = __str__

    if not TYPE_CHECKING:  # a checker still finds names that are not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise hints.unknown_call("a session", name, hints.SESSION, dir(type(self)), "session.{}(...)")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _plan(self, query: object, price: Price, method: Method | None = None) -> AnswerPlan:
        """The private plan of one query at a privacy cost."""
        refuse_several(query)
        _, plan, _ = self._pipeline.plan(request_of(query, self._modules, price, method, None))
        one: AnswerPlan = plan
        return one


protect = Session.protect
