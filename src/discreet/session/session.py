"""A session: explain a question for free, release its answer for a charge, see what remains of the budget.

session = dp.protect("visits.csv", privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2))
session.release(query, epsilon=0.5)
"""

import html
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, Unpack, overload

from discreet.errors import public_class, short_traceback
from discreet.exact import Number, positive
from discreet.ledger import Entry
from discreet.planner.budget.price import Price
from discreet.planner.expected_error import Sizes, errors_by_group
from discreet.planner.explain import explained, explained_batch, least_epsilon, widest_margin
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
from discreet.release.selection import Chosen
from discreet.session.above_threshold import SparseVector
from discreet.session.arguments import (
    Once,
    Planned,
    Question,
    Spend,
    checked_fresh,
    confidence_of,
    refuse_several,
    request_of,
)
from discreet.session.online_ranges import OnlineRanges
from discreet.session.opening import OpenSession
from discreet.session.stored import CONFIDENCE

__all__ = ["Session", "protect"]


@public_class
class Session(OpenSession):
    """Tables under a privacy budget: explain, release, remaining. Usable from several threads at once."""

    @overload
    def explain(self, query: Question, *, method: Method | None = None, **price: Unpack[Planned]) -> Explanation: ...

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
        with kind.prepared(request, plan, self._pipeline):
            spent = self.ledger.spent(plan.dataset)
        if isinstance(request.question, tuple):
            together = explained_batch(plan, budget, spent, level)
            return replace(together, fits=together.fits and self._pipeline.fits_others(plan, plan.cost))
        text = explained(plan, budget, spent, level, sizes)
        return replace(text, fits=text.fits and self._pipeline.fits_others(plan, plan.cost))

    @overload
    def release(self, query: Query, **price: Unpack[Once]) -> Release: ...

    @overload
    def release(self, query: Query, *, method: Method, **price: Unpack[Once]) -> Estimate: ...

    @overload
    def release(self, query: Choice, **price: Unpack[Once]) -> Chosen: ...

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
            A `Release` for a table, a `Chosen` for a choice, an `Estimate` for a method or a function; a list for a
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
            return widest_margin(plan.explained(level), output)

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
        return SparseVector.planned(self._pipeline, table, options, Price(epsilon, rho))

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
        return OnlineRanges.planned(self._pipeline, table, column, tuple(edges), Price(epsilon, rho), **options)

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
                *(f"  {self.remaining(n)}" for n in self._pipeline.catalog.protected),
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
        """The private plan of one question at a price."""
        refuse_several(query)
        _, plan, _ = self._pipeline.plan(request_of(query, self._modules, price, method, None))
        one: AnswerPlan = plan
        return one


protect = Session.protect
