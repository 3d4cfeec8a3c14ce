"""Synthetic tables: from noisy marginals, after one charge for all of them.

The engine counts the candidate marginals in one batch. The exact counts are in private counts while the synthesis is
trained; only noisy marginals and private choices leave them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.engines import PreparedMarginals
from discreet.errors import ParameterError
from discreet.events import Event
from discreet.plan import logical
from discreet.plan.fingerprint import Question
from discreet.plan.slots import Counts
from discreet.plan.wording import Lines
from discreet.planner import identity, wording
from discreet.planner.queries.synthesis import Declarations, SynthesisPlan, analyze_synthesis
from discreet.query.synthesis import SynthesisQuery
from discreet.release.synthetic import SyntheticTable
from discreet.session.kind import QuestionKind, Request
from discreet.session.stored import Stamp, header

if TYPE_CHECKING:
    from discreet.session.pipeline import Pipeline


class SyntheticTables(QuestionKind[SynthesisPlan]):
    """Synthetic tables to make."""

    plans = (SynthesisPlan,)

    def accepts(self, request: Request) -> bool:
        """A synthesizer of a table."""
        return isinstance(request.question, SynthesisQuery)

    def source(self, request: Request) -> logical.Relation:
        """The rows that are counted."""
        relation: logical.Relation = request.question.source
        return relation

    def require_private(self, request: Request) -> None:
        """Refuse slots that were found without noise."""
        if request.question.exact_slots:
            raise ParameterError(
                "slots that were found without noise",
                because="they are a result of dp.testing, which is not private",
                instead="slots=session.release(table.find_slots(...), epsilon=0.2), of a session of dp.protect",
            )

    def plan(self, request: Request, catalog: Catalog, budget: Budget) -> SynthesisPlan:
        """The slots, the candidate marginals and the event, from public facts alone."""
        asked, price = request.question, request.price
        cost: dict[str, Any] = {"epsilon": price.epsilon, "rho": price.rho, "share": price.share}
        words: dict[str, Any] = {"synthesizer": asked.synthesizer, "columns": asked.columns}
        declared = Declarations(
            dict(asked.edges),
            dict(asked.keys),
            dict(asked.bounds),
            {each.name: each for each in asked.found},
            tuple(asked.not_found),
        )
        words |= {"declared": declared, "workload": asked.workload}
        return analyze_synthesis(asked.source, catalog, budget, **words, **cost)

    def identity(self, request: Request, plan: SynthesisPlan, catalog: Catalog, budget: Budget) -> Question:
        """The public parameters of the synthesis, its slots and the cost."""
        return identity.synthesis(request.question.source, catalog, budget, request.price, plan)

    def words(self, request: Request, plan: SynthesisPlan, catalog: Catalog) -> tuple[Lines, ...]:  # noqa: ARG002
        """What is measured and modelled."""
        return (wording.synthesis(request.question.source, plan),)

    @contextmanager
    def prepare(self, request: Request, plan: SynthesisPlan, pipeline: "Pipeline") -> Iterator[PreparedMarginals]:  # noqa: ARG002
        """The counts of all candidates, bound without reading a row."""
        yield pipeline.engine(plan.dataset).prepare_marginals(plan.batch)

    def run(self, plan: SynthesisPlan, prepared: PreparedMarginals, pipeline: "Pipeline") -> Counts:
        """The exact counts of all candidates."""
        return pipeline.engine(plan.dataset).marginals(prepared)

    def body(self, plan: SynthesisPlan, noisy: dict[str, Any], stamp: Stamp) -> dict[str, Any]:
        """The state of the table with its card."""
        return SyntheticTable(
            **header(plan, "synthetic table", stamp),
            name=plan.synthesis.name,
            card=plan.synthesis.words,
            state=noisy,
        ).to_json()

    def restore(
        self,
        data: dict[str, Any],
        plan: SynthesisPlan,  # noqa: ARG002 - the state says everything
        event: Event,  # noqa: ARG002 - it has no margin that depends on it
        confidence: Fraction,  # noqa: ARG002
        *,
        repeated: bool,
    ) -> SyntheticTable:
        """The stored table."""
        return replace(SyntheticTable.from_json(data), repeated=repeated)
