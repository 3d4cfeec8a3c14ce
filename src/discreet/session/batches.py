"""Several queries that are fixed in advance, charged at once and answered in order."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.events import Event
from discreet.plan import logical
from discreet.plan.fingerprint import Question
from discreet.plan.wording import Lines
from discreet.planner import identity
from discreet.planner.batch import BatchPlan, analyze_batch
from discreet.planner.budget.price import Price
from discreet.planner.queries.private_plan import AnswerPlan
from discreet.session.kind import Body, QuestionKind, Request, Sign
from discreet.session.stored import Stamp

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
        first = self.requests(request)[0]
        return self._of(first).source(first)

    def require_private(self, request: Request) -> None:
        """Refuse each query that an exact result is part of."""
        for part in self.requests(request):
            self._of(part).require_private(part)

    def plan(self, request: Request, catalog: Catalog, budget: Budget) -> BatchPlan:
        """The privacy cost of the batch, divided over its queries by their weights."""

        def plan_of(part: Request, within: Budget, price: Price) -> AnswerPlan:
            asked = replace(part, price=price)
            plan: AnswerPlan = self._of(asked).plan(asked, catalog, within)
            return plan

        return analyze_batch(self.requests(request), plan_of, budget, request.price, weights=request.weights)

    def identity(self, request: Request, plan: BatchPlan, catalog: Catalog, budget: Budget) -> Question:
        """Each query, and the privacy cost of the batch."""
        parts = [
            self._of(each).identity(each, part, catalog, budget)
            for each, part in zip(self.requests(request), plan.parts, strict=True)
        ]
        return identity.batch(parts, budget, request.price, request.weights)

    @contextmanager
    def prepare(self, request: Request, plan: BatchPlan, pipeline: "Pipeline") -> Iterator[tuple[Any, ...]]:
        """Every query in turn."""
        with ExitStack() as stack:
            pairs = zip(self.requests(request), plan.parts, strict=True)
            yield tuple(stack.enter_context(self._of(each).prepare(each, part, pipeline)) for each, part in pairs)

    def run(self, plan: BatchPlan, prepared: tuple[Any, ...], pipeline: "Pipeline") -> list[Any]:
        """The exact answer of every query."""
        return [self._for(part).run(part, ready, pipeline) for part, ready in zip(plan.parts, prepared, strict=True)]

    def words(self, request: Request, plan: BatchPlan, catalog: Catalog) -> tuple[Lines, ...]:
        """Each query in turn."""
        pairs = zip(self.requests(request), plan.parts, strict=True)
        return tuple(lines for each, part in pairs for lines in self._of(each).words(each, part, catalog))

    def parts(self, plan: BatchPlan) -> tuple[AnswerPlan, ...]:
        """The plan of each query."""
        return plan.parts

    def body(self, plan: BatchPlan, noisy: list[Any], stamp: Stamp) -> Body:
        """Every answer; each says what all of them reveal together."""
        text = plan.guarantee(f"all {len(plan.parts):,} releases of one batch from", plan.pushdown.scan.version)
        bodies = []
        parts = zip(plan.parts, noisy, stamp.documents, strict=True)
        for place, (part, answer, document) in enumerate(parts):
            body = self._for(part).body(part, answer, stamp._replace(documents=(document,)))
            bodies.append(body | {"guarantee": text} | ({"place": place} if place else {}))
        return {BATCH: bodies}

    def sign(self, body: Body, signed: Sign) -> tuple[Body, str]:
        """Every answer with a signature of its own."""
        answers = [signed(each) for each in body[BATCH]]
        return {BATCH: [each for each, _ in answers]}, f'{{"{BATCH}":[{",".join(text for _, text in answers)}]}}'

    def restore(self, data: Body, plan: BatchPlan, event: Event, confidence: Fraction, *, repeated: bool) -> list[Any]:
        """The stored answers, in the order of the queries."""
        stored = zip(data[BATCH], plan.parts, strict=True)
        return [self._for(part).restore(body, part, event, confidence, repeated=repeated) for body, part in stored]

    def requests(self, request: Request) -> list[Request]:
        """A request for each query, without a privacy cost of its own."""
        return [Request(question, Price()) for question in request.question]

    def _of(self, request: Request) -> QuestionKind[Any]:
        return next(kind for kind in self._kinds if kind.accepts(request))

    def _for(self, plan: AnswerPlan) -> QuestionKind[Any]:
        return next(kind for kind in self._kinds if isinstance(plan, kind.plans))
