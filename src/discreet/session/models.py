"""Models: trained on sums of people, after one charge for the whole training.

Rows come from the engine in blocks of whole units. A block becomes codes of declared features at once; its cells are
dropped, and what a model receives are noisy sums.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.engines import PreparedBlocks
from discreet.events import Event
from discreet.plan import logical
from discreet.plan.fingerprint import Question
from discreet.plan.models import people_in_rows
from discreet.plan.wording import Lines
from discreet.planner import identity, wording
from discreet.planner.queries.model import ModelPlan, analyze_model
from discreet.query.models import ModelQuery
from discreet.release.model import ModelRelease, attach_release
from discreet.session.kind import QuestionKind, Request
from discreet.session.stored import Stamp, header

if TYPE_CHECKING:
    from discreet.session.pipeline import Pipeline


class TrainingRows(NamedTuple):
    """Blocks that were bound, and the declared text of each text that the cells of a column are read as."""

    blocks: PreparedBlocks
    spellings: Mapping[str, Mapping[str, str]]


class Models(QuestionKind[ModelPlan]):
    """Models to train."""

    plans = (ModelPlan,)

    def accepts(self, request: Request) -> bool:
        """A model and its target."""
        return isinstance(request.question, ModelQuery)

    def source(self, request: Request) -> logical.Relation:
        """The rows that the model is trained on."""
        relation: logical.Relation = request.question.source
        return relation

    def plan(self, request: Request, catalog: Catalog, budget: Budget) -> ModelPlan:
        """The schedule of all sums, from public facts alone."""
        asked, price = request.question, request.price
        cost: dict[str, Any] = {"epsilon": price.epsilon, "rho": price.rho, "share": price.share}
        words: dict[str, Any] = {"model": asked.model, "target": asked.target, "features": asked.features}
        return analyze_model(asked.source, catalog, budget, **words, **cost)

    def identity(self, request: Request, plan: ModelPlan, catalog: Catalog, budget: Budget) -> Question:
        """The public parameters of the model, its columns and the cost."""
        return identity.model(request.question.source, catalog, budget, request.price, plan)

    def words(self, request: Request, plan: ModelPlan, catalog: Catalog) -> tuple[Lines, ...]:  # noqa: ARG002
        """What is trained, on which columns."""
        return (wording.model(request.question.source, plan),)

    @contextmanager
    def prepare(self, request: Request, plan: ModelPlan, pipeline: "Pipeline") -> Iterator[TrainingRows]:  # noqa: ARG002
        """The blocks and the spellings of categories, without reading a row."""
        engine, names = pipeline.engine(plan.dataset), plan.training.categories
        texts = [name for name in names if plan.columns[name].type is ColumnType.TEXT]
        spelled = {name: engine.spellings(plan.pushdown, names[name]) for name in texts}
        yield TrainingRows(engine.prepare_blocks(plan.pushdown, plan.columns, plan.split.number), spelled)

    def run(self, plan: ModelPlan, prepared: TrainingRows, pipeline: "Pipeline") -> Any:
        """All people, as codes; a block with more bytes than a block may have fails the training."""
        found = pipeline.engine(plan.dataset).blocks(prepared.blocks)
        return plan.training.people([_encode(plan, prepared.spellings, rows) for _, rows in found])

    def body(self, plan: ModelPlan, noisy: dict[str, Any], stamp: Stamp) -> dict[str, Any]:
        """The model with its card."""
        return ModelRelease(
            **header(plan, "model", stamp),
            name=plan.training.name,
            target=plan.target,
            card=plan.training.words,
            state=noisy,
        ).to_json()

    def restore(
        self,
        data: dict[str, Any],
        plan: ModelPlan,
        event: Event,  # noqa: ARG002 - a model has no margin that depends on it
        confidence: Fraction,  # noqa: ARG002
        *,
        repeated: bool,
    ) -> Any:
        """The stored model, as its user has it."""
        release = replace(ModelRelease.from_json(data), repeated=repeated)
        return attach_release(plan.training.restore(release.state, release.guarantee), release)


def _encode(plan: ModelPlan, spellings: Mapping[str, Mapping[str, str]], rows: pa.Table | None) -> Any:
    """The codes of one block, with the people that its rows belong to."""
    if rows is None:
        raise MemoryError("a block of rows that is too large")
    people = None
    if plan.unit_columns:
        people = people_in_rows([rows.column(name) for name in plan.unit_columns], rows.num_rows)
    for name, spelled in spellings.items():
        if any(read != declared for read, declared in spelled.items()):
            rows = rows.set_column(rows.column_names.index(name), name, _declared_texts(rows.column(name), spelled))
    return plan.training.encode(rows.drop_columns(list(plan.unit_columns)), people)


def _declared_texts(cells: pa.ChunkedArray, spelled: Mapping[str, str]) -> pa.ChunkedArray:
    """Cells in the declared spelling; those that are not declared are missing."""
    places = pc.index_in(cells, value_set=pa.array(list(spelled), cells.type))
    return pc.take(pa.array(list(spelled.values()), cells.type), places)
