"""The verbs whose answers are tables: explain, release, epsilon_for; for one question, or for several at once."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypedDict, Unpack, overload

from discreet.errors import ParameterError, short_traceback
from discreet.exact import Number, positive
from discreet.planner import identity
from discreet.planner.batch import analyze_batch
from discreet.planner.expected_error import Sizes, errors_by_group
from discreet.planner.explain import explained, explained_batch, least_epsilon
from discreet.planner.queries.private_plan import TablePlan
from discreet.planner.queries.tables import AggregatePlan, MechanismName
from discreet.planner.registry import planned
from discreet.query.frame import Query
from discreet.release.expected_error import ErrorsByEpsilon
from discreet.release.explanation import BatchExplanation, Explanation
from discreet.release.release import Release
from discreet.session.answering import Answering, restored, restored_batch
from discreet.session.arguments import asked_query, confidence_of, is_batch
from discreet.session.stored import CONFIDENCE


class Price(TypedDict, total=False):
    """What a table may cost, and how sure its margins are."""

    epsilon: Number | None
    rho: Number | None
    delta: Number | None
    mechanism: MechanismName | None
    weights: Sequence[Number] | None
    confidence: Number


class Planned(Price, total=False):
    """The same for an explanation: with public sizes of groups, it says how wrong each is expected to be."""

    sizes: Sizes | None


class Once(Price, total=False):
    """The same for an answer: whether it is new, and the key of a retry."""

    fresh: bool
    request: str | None


class Releasing(Answering):
    """The gate with the verbs that answer with tables."""

    @overload
    def explain(self, query: Query, **price: Unpack[Planned]) -> Explanation: ...

    @overload
    def explain(self, query: Sequence[Query], **price: Unpack[Price]) -> BatchExplanation: ...

    @short_traceback
    def explain(
        self,
        query: Query | Sequence[Query],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        mechanism: MechanismName | None = None,
        weights: Sequence[Number] | None = None,
        confidence: Number = CONFIDENCE,
        sizes: Sizes | None = None,
    ) -> Explanation | BatchExplanation:
        """What the query would cost and how wrong it would be; free, because nothing is read.

        sizes  how large groups are, from public knowledge or from an earlier release of counts: each group is then
               shown with its expected relative error, the smallest marked; {"A": 500, "B": 40}, or rows in all
        """
        level = confidence_of(confidence)
        price: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "mechanism": mechanism}
        if is_batch(query, weights=weights, delta=delta):
            plans = [asked_query(each).plan for each in query]
            budget = self._budget_of(plans[0].source)
            batch = analyze_batch(plans, self._catalog, budget, **price, delta=delta, weights=weights)
            for part in batch.parts:
                self._prepared(part)
            together = explained_batch(batch, budget, self.ledger.spent(batch.dataset), level)
            return replace(together, fits=together.fits and self._fits_others(batch, batch.cost))
        asked = asked_query(query).plan
        budget = self._budget_of(asked.source)
        private = planned(asked, self._catalog, budget, **price)
        self._prepared(private)
        told = explained(private, budget, self.ledger.spent(private.dataset), level, sizes)
        return replace(told, fits=told.fits and self._fits_others(private, private.cost))

    @overload
    def release(self, query: Query, **price: Unpack[Once]) -> Release: ...

    @overload
    def release(self, query: Sequence[Query], **price: Unpack[Once]) -> list[Release]: ...

    @short_traceback
    def release(
        self,
        query: Query | Sequence[Query],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        mechanism: MechanismName | None = None,
        weights: Sequence[Number] | None = None,
        confidence: Number = CONFIDENCE,
        fresh: bool = False,
        request: str | None = None,
    ) -> Release | list[Release]:
        """Charge, then answer. The same question again returns the stored answer at no cost, unless `fresh`.

        query    a question, or a list of them: a batch, which is charged once and answered in order
        weights  of a batch: how the price is divided over its questions; evenly, unless you say
        delta    of a batch: it is charged as one event of (epsilon, delta), from the delta that the promise reserved,
                 with the least noise that meets this
        request  a key of your own for a retry: whatever happened in between, it is charged once
        """
        level = confidence_of(confidence)
        price: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "mechanism": mechanism}
        if is_batch(query, weights=weights, delta=delta):
            plans = [asked_query(each).plan for each in query]
            budget = self._budget_of(plans[0].source)
            shares = None if weights is None else tuple(weights)
            batch = analyze_batch(plans, self._catalog, budget, **price, delta=delta, weights=shares)
            ready = tuple(self._prepared(part) for part in batch.parts)
            asked_for = identity.batch(plans, self._catalog, budget, identity.Price(**price, delta=delta), shares)
            payload, repeated = self._asked(batch, asked_for, request, fresh=fresh, prepared=ready)
            return restored_batch(payload, batch, level, repeated=repeated)
        asked = asked_query(query).plan
        budget = self._budget_of(asked.source)
        private = planned(asked, self._catalog, budget, **price)
        known = private.pushdown.keys if isinstance(private, AggregatePlan) else None
        question = identity.table(asked, self._catalog, budget, identity.Price(**price), known)
        payload, repeated = self._asked(private, question, request, fresh=fresh)
        return restored(payload, private, level, repeated=repeated)

    @short_traceback
    def errors(
        self,
        query: Query,
        *,
        epsilons: Sequence[Number],
        sizes: Sizes | None = None,
        output: str | None = None,
        mechanism: MechanismName | None = None,
    ) -> ErrorsByEpsilon:
        """The expected relative error of an output in every group, for several epsilons side by side; free.

        sizes  as for explain: from public knowledge or an earlier release; the declared rows, spread evenly, otherwise
        """
        asked = asked_query(query).plan
        budget = self._budget_of(asked.source)

        def planned_at(epsilon: Fraction) -> TablePlan:
            return planned(asked, self._catalog, budget, epsilon=epsilon, mechanism=mechanism)

        return errors_by_group(planned_at, epsilons, sizes, output)

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
        level = confidence_of(confidence)
        wanted = positive(margin, "margin")
        asked = asked_query(query).plan
        budget = self._budget_of(asked.source)
        names = [made.name for made in asked.outputs]
        if output is not None and output not in names:
            raise ParameterError(
                f"output={output!r}", because="the query has no such output", instead=f"one of {names}"
            )

        def margin_at(epsilon: Fraction) -> Fraction | None:
            private = planned(asked, self._catalog, budget, epsilon=epsilon, mechanism=mechanism)
            margins = [told.margin for told in private.explained(level) if output in (None, told.name)]
            known = [found for found in margins if found is not None]
            return max(known) if known and len(known) == len(margins) else None

        return float(least_epsilon(margin_at, wanted))
