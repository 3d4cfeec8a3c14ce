"""Models: trained on sums of people, after one charge for the whole training.

Rows come from the engine in blocks of whole units. A block becomes codes of declared features at once; its cells are
dropped, and what a model receives are noisy sums.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.engines import ClusterEngine, PreparedBlocks, spellings
from discreet.engines.sql.model_rows import Spellings, encode_block, pack_block
from discreet.events import Event
from discreet.plan import logical
from discreet.plan.fingerprint import Question
from discreet.plan.models import LARGEST_LOCAL_SIZE, longest_text
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
    """Blocks that were bound, the declared text of each text that cells are read as, and what is given back at last.

    `is_in_cluster` says that codes stay in the engine, which gives sums alone.
    """

    blocks: PreparedBlocks
    spellings: Spellings
    end: ExitStack
    is_in_cluster: bool


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
        words |= {"holdout": asked.holdout, "search": asked.search}
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
        engine: Any = pipeline.engine(plan.dataset)
        names = plan.training.categories
        texts = [name for name in names if plan.columns[name].type is ColumnType.TEXT]
        texts = texts if engine.has_inferred(plan.pushdown.scan) else []
        spelled = {name: spellings(names[name]) for name in texts}
        longest = {name: max(most, longest_text(list(spelled.get(name, ())))) for name, most in plan.longest.items()}
        blocks = engine.prepare_blocks(plan.pushdown, plan.columns, plan.blocks)
        short = replace(blocks.split, longest=tuple(longest.items()), owners=plan.unit_columns)
        blocks = replace(blocks, split=short)
        is_large = plan.training.size > LARGEST_LOCAL_SIZE and isinstance(engine, ClusterEngine)
        is_large = is_large and plan.training.has_sums_in_cluster
        with ExitStack() as end:
            yield TrainingRows(blocks, spelled, end, is_large and engine.has_modules(plan.training.modules))

    def run(self, plan: ModelPlan, prepared: TrainingRows, pipeline: "Pipeline") -> Any:
        """All people, as codes; a block may have any number of bytes, so none fails the training after its charge."""
        engine: Any = pipeline.engine(plan.dataset)
        words = (plan.training, plan.unit_columns, prepared.spellings)
        if prepared.is_in_cluster:
            people = engine.people(
                prepared.blocks, partial(pack_block, dict(prepared.blocks.split.longest), *words), plan.training.add
            )
            return prepared.end.enter_context(people)
        blocks = []
        for _, rows in engine.blocks(prepared.blocks, largest=None):
            blocks.append(encode_block(*words, rows))
        return plan.training.people(blocks)

    def body(self, plan: ModelPlan, noisy: dict[str, Any], stamp: Stamp) -> dict[str, Any]:
        """The model with its card."""
        return ModelRelease(
            **header(plan, "model", stamp),
            name=plan.training.name,
            target=plan.target,
            card=plan.training.card(noisy),
            state=noisy,
        ).to_json()

    def restore(
        self,
        data: dict[str, Any],
        plan: ModelPlan,
        event: Event,  # noqa: ARG002 - a model has no margin that depends on it
        confidence: Fraction,
        *,
        repeated: bool,
    ) -> Any:
        """The stored model, as its user has it; its scores have intervals at this confidence."""
        release = replace(ModelRelease.from_json(data), repeated=repeated)
        state, scores = release.state, release.state.get("evaluation")
        if scores is not None:
            state = state | {"evaluation": scores | {"confidence": float(confidence)}}
        return attach_release(plan.training.restore(state, release.guarantee), release)
