"""The fingerprints of release 0.1.0, format 0: under them the ledger finds what was answered before format 1.

Format 0 took in the names of classes, sentences about mechanisms, the planned event and the version. All of them are
frozen here, so that they can be renamed everywhere else. Nothing is charged under these names any more.
"""

from collections.abc import Mapping

from discreet import events
from discreet.exact.numbers import shown
from discreet.mechanisms.keys import GaussianThreshold, LaplaceThreshold, Optimal
from discreet.mechanisms.selection import Exponential, PermuteAndFlip, TopK
from discreet.mechanisms.smooth import ProposeTestRelease
from discreet.plan.fingerprint import Context, Form, Forms, digest
from discreet.planner.batch import BatchPlan
from discreet.planner.queries.aggregate import AggregatePlan
from discreet.planner.queries.auto_bounds import AutoBoundsPlan
from discreet.planner.queries.hierarchy import HierarchyPlan
from discreet.planner.queries.moments import MomentsPlan
from discreet.planner.queries.online_ranges import OnlineRangesPlan
from discreet.planner.queries.partition_selection import DiscoveryPlan
from discreet.planner.queries.quantile_methods import ByChoice
from discreet.planner.queries.quantiles import QuantilePlan
from discreet.planner.queries.ranges import RangePlan
from discreet.planner.queries.sample_and_aggregate import SampleAndAggregatePlan
from discreet.planner.queries.selection import SelectionPlan
from discreet.planner.queries.smooth_sensitivity import LocalReading, SmoothPlan
from discreet.planner.queries.sparse_vector import SparseVectorPlan
from discreet.planner.queries.top_keys import TopKeysPlan
from discreet.planner.resolve.measures import MeasureShare, Recipe
from discreet.planner.sensitivity.sensitivity import DRAWN_FORMS
from discreet.workloads.ranges import Levels, MatrixStrategy

VERSION = "0.1.0"

OWN_FORMS: Forms = {
    **DRAWN_FORMS,
    MeasureShare: Form("", "Part", "measure share"),
    Recipe: Form("", "Recipe", "name kind parts grid centre bounds"),
    LocalReading: Form("", "Reading", "measure grid low high centre max_rows neighbours"),
}
"""With classes of the planner, which later formats do not hold."""

MECHANISMS: Mapping[type, str] = {
    Optimal: "Optimal",
    LaplaceThreshold: "LaplaceThreshold",
    GaussianThreshold: "GaussianThreshold",
    Exponential: "Exponential",
    PermuteAndFlip: "PermuteAndFlip",
    TopK: "TopK",
}

_MADE_BY = {
    "laplace": "Laplace noise on the scale of the smooth sensitivity, which is private",
    "pareto": "Pareto noise on the scale of the smooth sensitivity, which is private",
    "student_t": "Student's t noise on the scale of the smooth sensitivity, which is private",
    "laplace_log_normal": "Laplace log-normal noise on the scale of the smooth sensitivity, which is private",
}

Plan = (
    AggregatePlan
    | DiscoveryPlan
    | HierarchyPlan
    | RangePlan
    | MomentsPlan
    | QuantilePlan
    | AutoBoundsPlan
    | SelectionPlan
    | TopKeysPlan
    | SmoothPlan
    | SampleAndAggregatePlan
    | SparseVectorPlan
    | OnlineRangesPlan
)


def former_fingerprints(plan: object, context: Context) -> tuple[str, ...]:
    """The fingerprint that 0.1.0 gave to a plan, if it had such plans; later kinds are stored under format 1 alone."""
    parts = plan.parts if isinstance(plan, BatchPlan) else (plan,)
    if not all(isinstance(part, Plan) for part in parts):
        return ()
    return (fingerprint(plan, context),)  # type: ignore[arg-type]


def fingerprint(plan: Plan | BatchPlan, context: Context) -> str:
    """The fingerprint that 0.1.0 gave to a plan that it had."""
    if isinstance(plan, BatchPlan):
        parts = [fingerprint(part, context) for part in plan.parts]  # type: ignore[arg-type]
        return digest(("batch", *parts, events.canonical(_pair(plan.event))))
    if isinstance(plan, AggregatePlan) and plan.has_other_noise:  # 0.1.0 had one kind, that of the privacy budget
        plan = plan.with_spending(plan.spending.only(plan.spending.kind))
    around = _context(context)
    if isinstance(plan, DiscoveryPlan):
        answers = fingerprint(plan.answers, context)
        return digest((answers, MECHANISMS[type(plan.rule)], events.canonical(plan.event)))
    if isinstance(plan, SparseVectorPlan | OnlineRangesPlan):
        return digest((around, plan.description))
    parts_asked = (plan.dataset, plan.unit, plan.pushdown, *_own(plan), events.canonical(plan.event))
    marked = {HierarchyPlan: ("hierarchy",), RangePlan: ("ranges",)}.get(type(plan), ())
    return digest((around, *marked, *parts_asked), OWN_FORMS)


def _pair(event: events.Event) -> events.Event:
    """A batch with a delta as it was charged: by its epsilon and delta alone."""
    return (
        events.ApproximateEvent(event.epsilon, event.delta)
        if isinstance(event, events.ApproximateConcentratedEvent)
        else event
    )


def _context(context: Context) -> str:
    noise = "with noise" if context.is_private else "without noise"
    registered = " and ".join(str(sequence) for _, sequence in context.registered)
    beside = "".join(f", {name!r} {state}" for name, state in context.public)
    return f"{VERSION}, registered {registered}, {noise}{beside}"


def _own(plan: object) -> tuple[object, ...]:  # noqa: C901 - one case per plan
    """What a kind of plan adds to the dataset, the unit, the engine's query and the event."""
    match plan:
        case AggregatePlan():
            drawn = tuple(noised.measure for noised in plan.noisy_measures)
            return plan.group_columns, plan.recipes, drawn, *((plan.labels,) if plan.labels else ())
        case HierarchyPlan():
            return plan.name, plan.measure
        case RangePlan():
            return plan.column, plan.name, plan.shown, plan.workload.pairs, _places(plan)
        case MomentsPlan():
            return "moments", plan.name, plan.axes_names, plan.products
        case QuantilePlan():
            found = tuple((one.name, one.probability) for one in plan.quantiles)
            return plan.group_columns, found, plan.low, plan.grid, _method_name(plan)
        case AutoBoundsPlan():
            return plan.query.outputs, plan.query.grouping, plan.grid
        case SelectionPlan():
            ordered = None if plan.query.side == "equal" else plan.query.candidates
            scored = (plan.query.side, ordered, plan.factors, plan.target, plan.denominator)
            return *scored, MECHANISMS[type(plan.mechanism)]
        case TopKeysPlan():
            return plan.mechanism.limit, plan.mechanism.bar
        case SmoothPlan():
            return plan.name, plan.reading, *_smooth(plan)
        case SampleAndAggregatePlan():
            asked = (tuple(plan.columns.items()), plan.blocks, plan.name)
            return *asked, plan.function, plan.default, plan.mechanism
    raise TypeError(type(plan).__name__)


def _places(plan: RangePlan) -> tuple[str, ...]:
    match plan.strategy:
        case Levels(tree, kept):
            size = tree.branching
            return tuple("bins" if n == 0 else f"sums of {size**n} bins beside each other" for n in kept)
        case MatrixStrategy(matrix):
            return (f"rows of the strategy matrix {matrix.name}",)
    raise TypeError(type(plan.strategy).__name__)


def _method_name(plan: QuantilePlan) -> str:
    method = plan.method
    if isinstance(method, ByChoice):
        is_pure = isinstance(method.selections[0].event(), events.PureEvent)
        return "permute and flip by ranks" if is_pure else "the exponential mechanism by ranks"
    assert method.noise.levels[0] is not None  # noqa: S101 - leaves are always measured
    return f"{method.noise.levels[0].name} noise on a tree of {method.tree.branching} branches"


def _smooth(plan: SmoothPlan) -> tuple[object, ...]:
    """The sentence about the noise, its grid, and the bound that was proposed."""
    if isinstance(plan.mechanism, ProposeTestRelease):
        bound = plan.mechanism.bound
        made = f"Laplace noise on the scale of a proposed bound of {shown(bound)}, after a test"
        return made, plan.mechanism.grid, bound
    return _MADE_BY[plan.noise_name or ""], plan.mechanism.grid, None
