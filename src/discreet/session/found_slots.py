"""Slots of columns that are found privately: several searches, after one charge for all of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.engines import PreparedQuery
from discreet.events import Event
from discreet.plan import logical
from discreet.plan.fingerprint import Question
from discreet.plan.slots import SlotColumn
from discreet.plan.wording import Lines
from discreet.planner import identity, wording
from discreet.planner.queries.found_slots import SlotsPlan, analyze_slots
from discreet.query.found_slots import SlotsQuery
from discreet.release.found_slots import FoundSlots
from discreet.session.kind import QuestionKind, Request
from discreet.session.stored import Stamp, header

if TYPE_CHECKING:
    from discreet.session.pipeline import Pipeline


class SlotSearches(QuestionKind[SlotsPlan]):
    """Searches for slots of columns."""

    plans = (SlotsPlan,)

    def accepts(self, request: Request) -> bool:
        """A search for slots."""
        return isinstance(request.question, SlotsQuery)

    def source(self, request: Request) -> logical.Relation:
        """The rows that are counted."""
        relation: logical.Relation = request.question.source
        return relation

    def plan(self, request: Request, catalog: Catalog, budget: Budget) -> SlotsPlan:
        """The search of each column and the event, from public facts alone."""
        asked, price = request.question, request.price
        cost: dict[str, Any] = {"epsilon": price.epsilon, "rho": price.rho, "share": price.share}
        words: dict[str, Any] = {"columns": asked.columns, "delta": asked.delta, "bins": asked.bins}
        return analyze_slots(asked.source, catalog, budget, **words, **cost)

    def identity(self, request: Request, plan: SlotsPlan, catalog: Catalog, budget: Budget) -> Question:
        """The columns with what is declared of them, the bins, the delta and the cost."""
        return identity.slots(request.question.source, catalog, budget, request.price, plan)

    def words(self, request: Request, plan: SlotsPlan, catalog: Catalog) -> tuple[Lines, ...]:  # noqa: ARG002
        """How the slots of each column are found."""
        return (wording.slots(request.question.source, plan),)

    @contextmanager
    def prepare(self, request: Request, plan: SlotsPlan, pipeline: "Pipeline") -> Iterator[tuple[PreparedQuery, ...]]:  # noqa: ARG002
        """The engine's query of each column, bound without reading a row."""
        yield tuple(pipeline.prepare(search.plan) for search in plan.searches)

    def run(self, plan: SlotsPlan, prepared: tuple[PreparedQuery, ...], pipeline: "Pipeline") -> list[Any]:
        """The exact answer of each column."""
        return [pipeline.exact(plan.dataset, each) for each in prepared]

    def reads_inferred(self, plan: SlotsPlan, pipeline: "Pipeline") -> bool:
        """Whether texts are those of an in-memory table whose column types were inferred."""
        return pipeline.engine(plan.dataset).has_inferred(plan.pushdown.scan)

    def body(self, plan: SlotsPlan, noisy: list[SlotColumn | None], stamp: Stamp) -> dict[str, Any]:
        """The slots that were found."""
        pairs = zip(plan.searches, noisy, strict=True)
        return FoundSlots(
            **header(plan, "search for slots", stamp),
            columns=tuple(column.to_json() for column in noisy if column is not None),
            not_found=tuple(search.name for search, column in pairs if column is None),
            inferred=stamp.is_inferred,
        ).to_json()

    def restore(
        self,
        data: dict[str, Any],
        plan: SlotsPlan,  # noqa: ARG002 - the slots say everything
        event: Event,  # noqa: ARG002 - it has no margin that depends on it
        confidence: Fraction,  # noqa: ARG002
        *,
        repeated: bool,
    ) -> FoundSlots:
        """The stored slots."""
        return replace(FoundSlots.from_json(data), repeated=repeated)
