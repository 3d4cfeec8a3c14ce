"""Several queries that are fixed in advance, charged at once and answered in order."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.events import Event
from discreet.ledger import Receipt
from discreet.plan import logical
from discreet.plan.fingerprint import Question
from discreet.planner import identity
from discreet.planner.batch import BatchPlan, analyze_batch
from discreet.planner.budget.price import Price
from discreet.planner.queries.private_plan import AnswerPlan
from discreet.session.kind import QuestionKind, Request

if TYPE_CHECKING:
    from discreet.session.pipeline import Pipeline

BATCH = "batch"


class Batches(QuestionKind[BatchPlan]):
    """A tuple of queries of the other kinds."""

    plans = (BatchPlan,)

    def __init__(self, kinds: tuple[QuestionKind[Any], ...]) -> None:
        self._kinds = kinds

    def accepts(self, request: Request) -> bool:
        """Several queries."""
        return isinstance(request.question, tuple)

    def source(self, request: Request) -> logical.Relation:
        """The rows of the first query; all are of one dataset."""
        first = self.parts(request)[0]
        return self._of(first).source(first)

    def plan(self, request: Request, catalog: Catalog, budget: Budget) -> BatchPlan:
        """The privacy cost of the batch, divided over its queries by their weights."""

        def plan_of(part: Request, within: Budget, price: Price) -> AnswerPlan:
            asked = replace(part, price=price)
            plan: AnswerPlan = self._of(asked).plan(asked, catalog, within)
            return plan

        return analyze_batch(self.parts(request), plan_of, budget, request.price, weights=request.weights)

    def identity(self, request: Request, plan: BatchPlan, catalog: Catalog, budget: Budget) -> Question:
        """Each query, and the privacy cost of the batch."""
        parts = [
            self._of(each).identity(each, part, catalog, budget)
            for each, part in zip(self.parts(request), plan.parts, strict=True)
        ]
        return identity.batch(parts, budget, request.price, request.weights)

    @contextmanager
    def prepare(self, request: Request, plan: BatchPlan, pipeline: "Pipeline") -> Iterator[tuple[Any, ...]]:
        """Every query in turn."""
        with ExitStack() as stack:
            pairs = zip(self.parts(request), plan.parts, strict=True)
            yield tuple(stack.enter_context(self._of(each).prepare(each, part, pipeline)) for each, part in pairs)

    def run(self, plan: BatchPlan, prepared: tuple[Any, ...], pipeline: "Pipeline") -> list[Any]:
        """The exact answer of every query."""
        return [self._for(part).run(part, ready, pipeline) for part, ready in zip(plan.parts, prepared, strict=True)]

    def body(self, plan: BatchPlan, noisy: list[Any], receipt: Receipt, *, is_private: bool) -> dict[str, Any]:
        """Every answer; each says what all of them reveal together."""
        text = plan.guarantee(f"all {len(plan.parts):,} releases of one batch from", plan.pushdown.scan.version)
        bodies = []
        for place, (part, answer) in enumerate(zip(plan.parts, noisy, strict=True)):
            body = self._for(part).body(part, answer, receipt, is_private=is_private)
            bodies.append(body | {"guarantee": text} | ({"place": place} if place else {}))
        return {BATCH: bodies}

    def restore(
        self, data: dict[str, Any], plan: BatchPlan, event: Event, confidence: Fraction, *, repeated: bool
    ) -> list[Any]:
        """The stored answers, in the order of the queries."""
        stored = zip(data[BATCH], plan.parts, strict=True)
        return [self._for(part).restore(body, part, event, confidence, repeated=repeated) for body, part in stored]

    def parts(self, request: Request) -> list[Request]:
        """A request for each query, without a privacy cost of its own."""
        return [Request(question, Price()) for question in request.question]

    def _of(self, request: Request) -> QuestionKind[Any]:
        return next(kind for kind in self._kinds if kind.accepts(request))

    def _for(self, plan: AnswerPlan) -> QuestionKind[Any]:
        return next(kind for kind in self._kinds if isinstance(plan, kind.plans))
