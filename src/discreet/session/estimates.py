"""One number about a whole table: by a method whose noise follows the data, or by a function of blocks of rows."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.engines import PreparedBlocks, Workspace
from discreet.events import Event
from discreet.plan import logical
from discreet.plan.fingerprint import Question
from discreet.plan.wording import Lines
from discreet.planner import identity, wording
from discreet.planner.queries.sample_and_aggregate import AggregateValue, SampleAndAggregatePlan, analyze_sample
from discreet.planner.queries.smooth_sensitivity import SmoothPlan, analyze_smooth
from discreet.query.applications import Application
from discreet.query.methods import ProposedBound, SmoothSensitivity
from discreet.release.estimate import Estimate
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.release.values.rendering import Figure
from discreet.sandbox import Sandbox, blocks, transport
from discreet.session.kind import QuestionKind, Request
from discreet.session.stored import Stamp, header, is_charged_for, planned_otherwise

if TYPE_CHECKING:
    from discreet.session.pipeline import Pipeline

Estimated = TypeVar("Estimated", SmoothPlan, SampleAndAggregatePlan)


class Sampling(NamedTuple):
    """Blocks that were bound, and the sandbox that will see them."""

    blocks: PreparedBlocks
    box: Sandbox


class _Estimates(QuestionKind[Estimated]):
    """What all estimates share: how they are restored."""

    def restore(
        self, data: dict[str, Any], plan: Estimated, event: Event, confidence: Fraction, *, repeated: bool
    ) -> Estimate:
        """The stored estimate, with its margin at the confidence asked for."""
        stored = replace(Estimate.from_json(data), repeated=repeated)
        if stored.confidence == confidence or stored.value is None:
            return replace(stored, confidence=confidence)
        is_alike = stored.made.startswith(plan.made) and stored.margin == _margin(plan, stored.confidence)
        if not is_charged_for(stored.receipt, event) or not is_alike:
            raise planned_otherwise(confidence)
        return replace(stored, margin=_margin(plan, confidence), confidence=confidence)


class SmoothEstimates(_Estimates[SmoothPlan]):
    """Smooth sensitivity and propose-test-release."""

    plans = (SmoothPlan,)

    def accepts(self, request: Request) -> bool:
        """A query with a method."""
        return request.method is not None

    def source(self, request: Request) -> logical.Relation:
        """The rows of the query."""
        relation: logical.Relation = request.question.plan.source
        return relation

    def plan(self, request: Request, catalog: Catalog, budget: Budget) -> SmoothPlan:
        """With the parameters of the method."""
        price = request.price
        cost: dict[str, Any] = {"epsilon": price.epsilon, "rho": price.rho, "delta": price.delta}
        return analyze_smooth(request.question.plan, catalog, budget, **_parameters(request), **cost)

    def identity(self, request: Request, plan: SmoothPlan, catalog: Catalog, budget: Budget) -> Question:  # noqa: ARG002
        """The query, the method and the cost."""
        return identity.estimate(request.question.plan, catalog, budget, request.price, **_parameters(request))

    def words(self, request: Request, plan: SmoothPlan, catalog: Catalog) -> tuple[Lines, ...]:
        """The query and the method."""
        return ((*wording.table(request.question.plan, plan, catalog), ("method", plan.made)),)

    def body(self, plan: SmoothPlan, noisy: Fraction | None, stamp: Stamp) -> dict[str, Any]:
        """The estimate."""
        return _body(plan, noisy, plan.made, stamp)


class Applications(_Estimates[SampleAndAggregatePlan]):
    """Sample and aggregate."""

    plans = (SampleAndAggregatePlan,)

    def accepts(self, request: Request) -> bool:
        """A function of blocks."""
        return isinstance(request.question, Application)

    def source(self, request: Request) -> logical.Relation:
        """The rows that are divided into blocks."""
        relation: logical.Relation = request.question.source
        return relation

    def plan(self, request: Request, catalog: Catalog, budget: Budget) -> SampleAndAggregatePlan:
        """The function enters by the digest of its bytes."""
        price, words = request.price, _words(request.question)
        cost: dict[str, Any] = {"epsilon": price.epsilon, "rho": price.rho, "share": price.share}
        return analyze_sample(request.question.source, catalog, budget, **words, **cost)

    def identity(self, request: Request, plan: SampleAndAggregatePlan, catalog: Catalog, budget: Budget) -> Question:  # noqa: ARG002
        """The function, the blocks and the cost."""
        words = _words(request.question)
        return identity.sample(request.question.source, catalog, budget, request.price, **words)

    @contextmanager
    def prepare(self, request: Request, plan: SampleAndAggregatePlan, pipeline: "Pipeline") -> Iterator[Sampling]:
        """The blocks, and a sandbox that refuses a function which it cannot run."""
        bound = pipeline.prepare_blocks(plan)
        with Sandbox(
            _packed_function(request.question), limits=blocks.limits_or_default(request.question.limits)
        ) as box:
            yield Sampling(bound, box)

    def run(self, plan: SampleAndAggregatePlan, prepared: Sampling, pipeline: "Pipeline") -> list[Fraction]:
        """What the function says of each block; the rows go to its processes, and nowhere else."""
        found = pipeline.engine(plan.dataset).blocks(prepared.blocks)
        with closing(Workspace()) as room:
            answers: list[Fraction] = prepared.box.outputs(found, default=plan.default, directory=room.path)
        return answers

    def words(self, request: Request, plan: SampleAndAggregatePlan, catalog: Catalog) -> tuple[Lines, ...]:  # noqa: ARG002
        """The function by its name and digest, and how blocks are aggregated."""
        packed, options = _packed_function(request.question), request.question.options
        return (wording.sample(request.question.source, packed.name, packed.digest, options, plan),)

    def body(self, plan: SampleAndAggregatePlan, noisy: AggregateValue, stamp: Stamp) -> dict[str, Any]:
        """The estimate, with what was released about how it was made."""
        return _body(plan, noisy.value, noisy.made, stamp)


def _parameters(request: Request) -> dict[str, Any]:
    """The noise that was asked for, or the bound that was proposed."""
    match request.method:
        case SmoothSensitivity(noise=noise):
            return {"noise": noise, "bound": None}
        case ProposedBound(bound=bound):
            return {"noise": None, "bound": bound}
    raise TypeError(type(request.method).__name__)


def _packed_function(question: Application) -> transport.PackedFunction:
    """The function as bytes: the session packed it when it was asked."""
    packed: transport.PackedFunction = question.function
    return packed


def _words(question: Application) -> dict[str, Any]:
    """What planner and fingerprint take of a function: its options, its bytes and how it runs."""
    packed, limits = _packed_function(question), blocks.limits_or_default(question.limits)
    made = {"function": (packed.name, packed.digest), "runs": limits.fingerprint_text}
    return asdict(question.options) | made


def _body(plan: SmoothPlan | SampleAndAggregatePlan, value: Fraction | None, made: str, stamp: Stamp) -> dict[str, Any]:
    return Estimate(
        **header(plan, "estimate", stamp),
        name=plan.name,
        value=None if value is None else _figure(value),
        made=made,
        margin=None if value is None else _margin(plan, DEFAULT_CONFIDENCE),
    ).to_json()


def _margin(plan: SmoothPlan | SampleAndAggregatePlan, confidence: Fraction) -> Figure | None:
    margin = plan.margin(confidence)
    return None if margin is None else _figure(margin)


def _figure(value: Fraction) -> Figure:
    return value.numerator if value.denominator == 1 else value.numerator / value.denominator
