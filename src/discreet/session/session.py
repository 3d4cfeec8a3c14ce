"""A session: explain a query for free, release its answer for a charge, see what remains of the budget.

session = dp.protect("visits.csv", privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2))
session.release(query, epsilon=0.5)
"""

import html
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Unpack, overload

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number
from discreet.ledger import Entry
from discreet.mechanisms import Laplace
from discreet.planner.budget.price import Price
from discreet.planner.expected_error import Sizes
from discreet.planner.explain import batch_explanation, explanation
from discreet.planner.queries.private_plan import AnswerPlan, TablePlan
from discreet.planner.queries.sparse_vector import Threshold
from discreet.planner.queries.tables import MechanismName
from discreet.query import hints
from discreet.query.applications import Application
from discreet.query.found_slots import SlotsQuery
from discreet.query.frame import Frame, Query
from discreet.query.methods import Method
from discreet.query.models import ModelQuery
from discreet.query.scores import Choice
from discreet.query.sql.statement import Statement
from discreet.query.synthesis import SynthesisQuery
from discreet.release.estimate import Estimate
from discreet.release.explanation import BatchExplanation, Explanation
from discreet.release.found_slots import FoundSlots
from discreet.release.release import Release
from discreet.release.remaining import Remaining, remaining_of_analyst
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.release.selection import Selection
from discreet.release.sql_release import SqlRelease
from discreet.release.synthetic import SyntheticTable
from discreet.session.above_threshold import SparseVector
from discreet.session.accuracy import AccuracySession
from discreet.session.arguments import (
    Once,
    Preview,
    Question,
    Spend,
    checked_fresh,
    confidence_of,
    request_of,
)
from discreet.session.kind import Request
from discreet.session.online_ranges import OnlineRanges

__all__ = ["Session", "protect"]


@public_class
class Session(AccuracySession):
    """Tables under a privacy budget: explain queries for free, release answers for a charge, see what remains.

    A session may be used from several threads at once. `dp.protect` opens one over a single source.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
        >>> with dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2)) as session:
        ...     release = session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)
        >>> float(session.remaining())
        1.5
    """

    @overload
    def explain(self, query: Statement, **price: Unpack[Preview]) -> Explanation | BatchExplanation: ...

    @overload
    def explain(self, query: Question, *, method: Method | None = None, **price: Unpack[Preview]) -> Explanation: ...

    @overload
    def explain(self, query: Sequence[Question], **price: Unpack[Spend]) -> BatchExplanation: ...

    @short_traceback
    def explain(
        self,
        query: Question | Statement | Sequence[Question],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        mechanism: MechanismName | None = None,
        method: Method | None = None,
        weights: Sequence[Number] | None = None,
        confidence: Number = DEFAULT_CONFIDENCE,
        sizes: Sizes | None = None,
    ) -> Explanation | BatchExplanation:
        """Privacy cost and margins of error of a query; free, because no row is read.

        Args:
            query: A query (`Frame.agg`, `Frame.choose`, `Frame.apply`, `Frame.fit`, `dp.sql`), or a list of them.
            epsilon: Privacy cost of the query.
            rho: The same in zero-concentrated differential privacy, under a budget with a delta.
            delta: Of a batch, as for `release`. Default: none.
            mechanism: "laplace", "gaussian" or "staircase", as for `release`. Default: chosen by the budget.
            method: `dp.SmoothSensitivity()` or `dp.ProposedBound(...)`, as for `release`. Default: none.
            weights: Of a batch: how the cost is divided over its queries. Default: evenly.
            confidence: Probability with which margins of error hold. Default 0.95.
            sizes: Sizes of the groups in rows, from public knowledge or an earlier release: `{"A": 500, "B": 40}`, or
                rows in all. The expected relative error of each group is then shown. Default: none.

        Returns:
            An explanation to print; for a list, one of the whole batch.

        Raises:
            Refusal: If the query cannot be answered; nothing is spent.

        Example:
            >>> import discreet as dp
            >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
            >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
            >>> explanation = session.explain(dp.table("visits").agg(n=dp.count()), epsilon=0.5)
            >>> explanation.cost, explanation.fits, int(explanation.outputs[0].margin)
            ('epsilon 0.5', True, 60)
        """
        level = confidence_of(confidence)
        price = Price(epsilon, rho, delta, mechanism)
        if isinstance(query, Statement):
            query, price = (translated := self._translate(query, price, method)).queries, translated.price
        request = request_of(query, self._modules, price, method, weights)
        kind, plan, budget = self._pipeline.plan(request)
        with kind.prepare(request, plan, self._pipeline):
            spent = self.ledger.spent(plan.dataset)
        if isinstance(request.question, tuple):
            together = batch_explanation(plan, budget, spent, level)
            return replace(together, fits=together.fits and self._pipeline.fits_others(plan))
        text = explanation(plan, budget, spent, level, sizes, pure=self._pure_plan(request, plan))
        return replace(text, fits=text.fits and self._pipeline.fits_others(plan))

    @overload
    def release(self, query: Query, **price: Unpack[Once]) -> Release: ...

    @overload
    def release(self, query: Query, *, method: Method, **price: Unpack[Once]) -> Estimate: ...

    @overload
    def release(self, query: Statement, **price: Unpack[Once]) -> SqlRelease: ...

    @overload
    def release(self, query: Choice, **price: Unpack[Once]) -> Selection: ...

    @overload
    def release(self, query: Application, **price: Unpack[Once]) -> Estimate: ...

    @overload
    def release(self, query: ModelQuery, **price: Unpack[Once]) -> Any: ...

    @overload
    def release(self, query: SynthesisQuery, **price: Unpack[Once]) -> SyntheticTable: ...

    @overload
    def release(self, query: SlotsQuery, **price: Unpack[Once]) -> FoundSlots: ...

    @overload
    def release(self, query: Sequence[Query], **price: Unpack[Once]) -> list[Release]: ...

    @overload
    def release(self, query: Sequence[Question], **price: Unpack[Once]) -> list[Any]: ...

    @short_traceback
    def release(
        self,
        query: Question | Statement | Sequence[Question],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        mechanism: MechanismName | None = None,
        method: Method | None = None,
        weights: Sequence[Number] | None = None,
        confidence: Number = DEFAULT_CONFIDENCE,
        fresh: bool = False,
        idempotency_key: str | None = None,
    ) -> Any:
        """Charge, then answer. The same query again returns the stored answer at no cost, unless `fresh`.

        Args:
            query: A query (`Frame.agg`, `Frame.choose`, `Frame.apply`, `Frame.fit`, `dp.sql`), or a list of them: a
                batch, which is charged once and answered in order.
            epsilon: Privacy cost of the query.
            rho: The same in zero-concentrated differential privacy, under a budget with a delta.
            delta: Of a batch: it is charged as one event of (epsilon, delta), with the least noise that meets this. The
                delta is taken from the reserved part of the budget's delta. Default: none.
            mechanism: Additive noise: "laplace", "gaussian" or "staircase". Default: chosen by the budget.
            method: `dp.SmoothSensitivity()` or `dp.ProposedBound(...)`, for one mean, median or interquartile range.
                Default: none.
            weights: Of a batch: how the cost is divided over its queries. Default: evenly.
            confidence: Probability with which margins of error hold. Default 0.95.
            fresh: Charge again and draw new noise, where the same query was answered before. Default False.
            idempotency_key: A text of your own: all retries with it are one charge. Default: none.

        Returns:
            A `Release` for a table, a `SqlRelease` for a statement, a `Selection` for a choice, an `Estimate` for a
            method or a function, the fitted model for a model, a `SyntheticTable` for a synthesizer, `FoundSlots`
            for slots; a list for a batch.

        Raises:
            Refusal: If the query cannot be answered or does not fit the budget; nothing is spent.
            Failure: If it fails after the charge.

        Example:
            >>> import discreet as dp
            >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
            >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
            >>> release = session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)
            >>> int(release.margin("n")[0])
            60
        """
        level = confidence_of(confidence)
        checked_fresh(fresh)
        price = Price(epsilon, rho, delta, mechanism)
        translated = self._translate(query, price, method) if isinstance(query, Statement) else None
        if translated is not None:
            query, price = translated.queries, translated.price
        request = request_of(query, self._modules, price, method, weights)
        answer = self._pipeline.answer(request, level, fresh=fresh, idempotency_key=idempotency_key)
        return answer if translated is None else translated.result(answer)

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
        answers above, for any number of queries below. Under a budget with a delta the noise of the threshold may be
        drawn again after each answer above, where that makes replies more accurate.

        Args:
            table: The table of the queries. Default: the only one.
            threshold: Number that answers are compared with.
            epsilon: Privacy cost of all queries together.
            rho: The same in zero-concentrated differential privacy, under a budget with a delta.
            answers: Number of answers above before it ends. Default 1.
            sensitivity: Largest change of any answer by one unit; a query with a larger one is refused. Default 1.
            monotone: Only counts, and sums of values of at least zero, are asked: less noise, under "add_remove".
                Default False.
            with_answers: Whether an answer above comes with its noisy number, for a part of the cost. Default False.
            gap: Whether an answer above comes with its noisy distance from the threshold, at no cost. Default False.
            grid: Answers are multiples of it: the grid of the sums, where sums are asked. Default 1.

        Returns:
            The open mechanism, to be asked by `ask`.

        Raises:
            Refusal: If the cost does not fit the budget.

        Example:
            >>> import discreet as dp
            >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
            >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
            >>> with session.above_threshold(threshold=100, sensitivity=10, epsilon=0.5) as vector:
            ...     bool(vector.ask(dp.table("visits").agg(n=dp.count())))
            True
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
        """Online range queries: any number of ranges of a column, one after another, for one cost.

        Use it as `with session.online_ranges(...) as ranges`. Opening charges for all of it.

        Args:
            table: `dp.table("visits")`, with any where and derive.
            column: Name of the column.
            edges: Public values that ranges may end at, smallest first.
            total: Approximate number of rows: a public number, or one that was released.
            threshold: Error of an answer, in rows, above which it is corrected.
            corrections: Number of corrections before it ends. Default 10.
            epsilon: Privacy cost of all ranges together.
            rho: The same in zero-concentrated differential privacy, under a budget with a delta.

        Returns:
            The open mechanism, to be asked by `ask`.

        Raises:
            Refusal: If the cost does not fit the budget.

        Example:
            >>> import discreet as dp
            >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
            >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
            >>> options = {"edges": range(0, 101, 10), "total": 300, "threshold": 100}
            >>> with session.online_ranges(dp.table("visits"), "age", **options, epsilon=0.5) as ranges:
            ...     answer = ranges.ask(20, 40)
        """
        options: dict[str, Any] = {"total": total, "threshold": threshold, "corrections": corrections}
        return OnlineRanges.build(self._pipeline, table, column, tuple(edges), Price(epsilon, rho), **options)

    @short_traceback
    def remaining(self, table: str | None = None) -> Remaining:
        """What is left of the budget of a table, and of the analyst's quota.

        Args:
            table: Name of the table. Default: the only one.

        Returns:
            The rest of the budget; `float()` of it is the epsilon.

        Raises:
            NameNotFoundError: If there is no such table.
            ParameterError: If the session has several tables and none is named.

        Example:
            >>> import discreet as dp
            >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
            >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
            >>> float(session.remaining())
            2.0
        """
        name = self._pipeline.table_name(table)
        budget, spent, table_facts = (
            self.ledger.budget(name),
            self.ledger.spent(name),
            self._pipeline.catalog.table(name),
        )
        largest, pure = budget.epsilon_left(spent), budget.laplace_left(spent)
        left = Remaining(
            name,
            largest,
            budget,
            table_facts.unit,
            table_facts.part,
            pure_epsilon=pure if pure < largest else None,
            earlier=tuple(self.ledger.earlier_budgets(name)),
        )
        share = self.ledger.share(name, self.analyst)
        return remaining_of_analyst(left, spent, self.analyst, share.quota, share.spent)

    @short_traceback
    def history(self, table: str | None = None) -> list[Entry]:
        """All charges of a table, oldest first.

        Args:
            table: Name of the table. Default: the only one.

        Returns:
            The entries of the ledger: registration, charges and their outcome.

        Raises:
            NameNotFoundError: If there is no such table.
            ParameterError: If the session has several tables and none is named.

        Example:
            >>> import discreet as dp
            >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
            >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
            >>> release = session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)
            >>> len(session.history())
            2
        """
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

    def _pure_plan(self, request: Request, plan: AnswerPlan) -> TablePlan | None:
        """The table with Laplace noise of the epsilon that was asked for, where the plan has another cost."""
        if not isinstance(plan, TablePlan) or not plan.spending.orders or request.price.mechanism is not None:
            return None
        asked = replace(request, price=replace(request.price, mechanism=Laplace.tag))
        with suppress(ParameterError):
            pure: TablePlan = self._pipeline.plan(asked)[1]
            return pure
        return None


protect = Session.protect
