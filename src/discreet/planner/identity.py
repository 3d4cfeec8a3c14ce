"""What was asked, with every name resolved against the catalog: what the fingerprint of a query is made of.

Two calls that ask the same thing in other words are the same query: derived columns are substituted, conditions are
one predicate, keys and bounds that the catalog declares stand where the call left them open. Nothing that the planner
chooses is in it: no noise, no strategy, no default grid, no way to combine measures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.catalog.privacy_unit import Caps
from discreet.exact.numbers import Number, positive, rational, whole
from discreet.plan import logical, physical
from discreet.plan.fingerprint import Question
from discreet.plan.physical import Keys, Term
from discreet.planner.budget.price import Price
from discreet.planner.queries.found_slots import SlotsPlan
from discreet.planner.queries.model import ModelPlan
from discreet.planner.queries.moments import lattice_measures
from discreet.planner.queries.ranges import merge_bins
from discreet.planner.queries.sparse_vector import Threshold
from discreet.planner.queries.synthesis import SynthesisPlan
from discreet.planner.resolve import keys
from discreet.planner.resolve.binding import Bound, bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.resolve.measures import recipe
from discreet.planner.sensitivity import contribution_bounds

_VALUES: Mapping[type, str] = {
    logical.Sum: "sum",
    logical.Mean: "mean",
    logical.Variance: "variance",
    logical.Deviation: "deviation",
    logical.MedianMeasure: "quantile",
    logical.QuantileMeasure: "quantile",
    logical.InterquartileRangeMeasure: "interquartile range",
    logical.ClippingBounds: "bounds",
}
_HALF = Fraction(1, 2)

Parts = dict[str, object]


def table(
    query: logical.Aggregate, catalog: Catalog, budget: Budget, price: Price, known: Keys | None = None
) -> Question:
    """A query whose answer is a table; `known` are its keys, where the planner resolved them already."""
    return Question("table", _aggregate(query, catalog, known), price.canonical_parts(budget))


def batch(questions: Sequence[Question], budget: Budget, price: Price, weights: Sequence[Number] | None) -> Question:
    """Several queries in their order, at one privacy cost that is divided by weights."""
    given = [Fraction(1)] * len(questions) if weights is None else [positive(each, "weights") for each in weights]
    shares = [weight / sum(given) for weight, _ in zip(given, questions, strict=True)]
    if all(each.kind == "table" for each in questions):
        parts: Parts = {"tables": [each.parts for each in questions], "shares": shares}
    else:
        parts = {"questions": [{"is": each.kind} | dict(each.parts) for each in questions], "shares": shares}
    return Question("batch", parts, price.canonical_parts(budget, is_converted=price.delta is None))


def selection(
    query: logical.SelectionQuery, catalog: Catalog, budget: Budget, price: Price, top: int, known: Keys | None = None
) -> Question:
    """A selection among candidates that are public or to be found; `known` are its keys, where they are resolved."""
    scope = bind(query.source, catalog)
    unit = scope.table.unit
    caps = contribution_bounds.effective(unit, scope.table.caps, None, query.max_rows_per_group)
    measure, terms = _measure(logical.Output("score", query.measure), scope)
    parts: Parts = {
        "measure": measure,
        "by": scope.term(logical.ColumnRef(query.by)),
        "side": query.side,
        "candidates": query.candidates,
        "factors": query.factors,
        "near": query.near,
        "top": whole(top, "top"),
        "unknown keys": query.discovery,
    }
    public = Keys((scope.term(logical.ColumnRef(query.by)),), ())
    if query.side == "equal":
        listed: Any = (None if query.discovery else query.candidates,)
        grouping = logical.Grouping((query.by,), listed, None, None, query.max_rows_per_group, (), query.discovery)
        scope, public = (scope, known) if known is not None else _keys(grouping, scope)
        parts |= {"candidates": public}
    return Question("selection", parts | _rows(scope, public, caps, terms), price.canonical_parts(budget))


def estimate(
    query: logical.Aggregate, catalog: Catalog, budget: Budget, price: Price, **words: Number | str | None
) -> Question:
    """One number by smooth sensitivity, with its `noise`, or by propose-test-release, with its `bound`."""
    asked: Parts = {
        name: value if value is None or isinstance(value, str) else rational(value, name)
        for name, value in words.items()
    }
    return Question("estimate", _aggregate(query, catalog) | asked, price.canonical_parts(budget))


def sample(
    source: logical.Relation,
    catalog: Catalog,
    budget: Budget,
    price: Price,
    *,
    columns: Sequence[str],
    blocks: int,
    bounds: tuple[Number, Number],
    default: Number | None,
    grid: Number | None,
    **words: object,
) -> Question:
    """A function of blocks: its bytes and limits, what it sees, and how its answers are aggregated."""
    scope, (low, high) = bind(source, catalog), bounds
    seen = [(name, scope.term(logical.ColumnRef(name))) for name in dict.fromkeys(columns)]
    caps = contribution_bounds.effective(scope.table.unit, scope.table.caps, None, None)
    numbers: Parts = {
        "chunks": whole(blocks, "blocks"),
        "bounds": (rational(low, "bounds"), rational(high, "bounds")),
        "default": None if default is None else rational(default, "default"),
        "grid": None if grid is None else rational(grid, "grid"),
    }
    rows = _rows(scope, Keys(), caps, [term for _, term in seen])
    return Question("sample", {"columns": seen} | numbers | words | rows, price.canonical_parts(budget))


def model(source: logical.Relation, catalog: Catalog, budget: Budget, price: Price, plan: ModelPlan) -> Question:
    """A model to train: its public parameters, with what the catalog declares, and the columns that it reads."""
    scope = bind(source, catalog)
    names = [name for name in (*plan.training.features, plan.target) if name is not None]
    read = [(name, plan.columns[name]) for name in names]
    caps = contribution_bounds.effective(scope.table.unit, scope.table.caps, None, None)
    asked: Parts = {"estimator": plan.tag, "model": plan.training.parameters, "columns": read}
    rows = _rows(scope, Keys(), caps, [term for _, term in read])
    return Question("model", asked | rows, price.canonical_parts(budget))


def synthesis(
    source: logical.Relation, catalog: Catalog, budget: Budget, price: Price, plan: SynthesisPlan
) -> Question:
    """A synthetic table: the synthesizer with its public parameters, and the columns with their slots."""
    scope = bind(source, catalog)
    read = [(each.column.name, each.term) for each in plan.batch.columns]
    slots = [(column.name, column.edges, column.values) for column in plan.synthesis.columns]
    caps = contribution_bounds.effective(scope.table.unit, scope.table.caps, None, None)
    asked: Parts = {"synthesizer": plan.tag, "synthesis": plan.synthesis.parameters, "columns": read, "slots": slots}
    asked |= {"workload": plan.workload}
    rows = _rows(scope, Keys(), caps, [term for _, term in read])
    return Question("synthesis", asked | rows, price.canonical_parts(budget))


def slots(source: logical.Relation, catalog: Catalog, budget: Budget, price: Price, plan: SlotsPlan) -> Question:
    """Slots to find: the columns with what is declared of them, the most bins, and the delta of partition selection."""
    scope, columns = bind(source, catalog), list[tuple[object, ...]]()
    for search in plan.searches:
        term, declared = (
            scope.term(logical.ColumnRef(search.name)),
            scope.declared_column(logical.ColumnRef(search.name)),
        )
        columns.append((search.name, term, declared.bounds if declared else None, declared.grid if declared else None))
    caps = contribution_bounds.effective(scope.table.unit, scope.table.caps, None, None)
    asked: Parts = {"columns": columns, "bins": plan.bins, "delta": plan.own_delta}
    rows = _rows(scope, Keys(), caps, [term for _, term, *_ in columns])  # type: ignore[misc]
    return Question("slots", asked | rows, price.canonical_parts(budget))


def sparse_vector(name: str, catalog: Catalog, budget: Budget, price: Price, options: Threshold) -> Question:
    """A threshold that any number of queries are compared with."""
    facts = catalog.table(name)
    asked = {each: value if isinstance(value, bool) else rational(value, each) for each, value in vars(options).items()}
    parts: Parts = {"table": name, "version": facts.version, "unit": facts.unit}
    return Question("above threshold", parts | asked, price.canonical_parts(budget))


def online_ranges(
    source: logical.Relation,
    column: str,
    edges: Sequence[logical.Scalar],
    catalog: Catalog,
    budget: Budget,
    price: Price,
    **words: Number,
) -> Question:
    """Any number of ranges of a column between public edges."""
    scope = bind(source, catalog)
    binned = scope.term(logical.Bin(logical.ColumnRef(column), tuple(edges)))
    caps = contribution_bounds.effective(scope.table.unit, scope.table.caps, None, None)
    asked: Parts = {name: rational(value, name) for name, value in words.items()}
    return Question(
        "online ranges", {"bins": binned} | asked | _rows(scope, Keys(), caps, [binned]), price.canonical_parts(budget)
    )


def _aggregate(query: logical.Aggregate, catalog: Catalog, known: Keys | None = None) -> Parts:
    """Rows, outputs and groups of a table."""
    bare, grouping = bind(query.source, catalog), query.grouping
    scope, public = (bare, known) if known is not None else _keys(grouping, bare)
    unit = bare.table.unit
    caps = contribution_bounds.effective(unit, bare.table.caps, grouping.max_groups, grouping.max_rows_per_group)
    outputs, terms = [], list[Term]()
    for output in query.outputs:
        measure, read = _measure(output, bare)
        outputs.append({"name": output.name, "weight": output.weight, "measure": measure})
        terms += read
    groups: Parts = {
        "columns": grouping.columns,
        "keys": public,
        "labels": grouping.labels,
        "unknown keys": grouping.discovery,
    }
    return {"outputs": outputs, "groups": groups} | _rows(scope, public, caps, terms)


def _keys(grouping: logical.Grouping, scope: Bound) -> tuple[Bound, Keys]:
    return (
        (scope, keys.resolve(grouping, scope)) if grouping.discovery is None else keys.resolve_unknown(grouping, scope)
    )


def _rows(scope: Bound, public: Keys, caps: Caps, terms: Sequence[Term]) -> Parts:
    """Which rows count, whose they are, and how many of one unit: what the scan says beside the columns it reads."""
    asked = lower_query(scope, public, caps, (), tuple(terms))
    return {
        "scan": replace(asked.scan, columns=()),  # each term says what it reads
        "predicate": asked.predicate,
        "unit": scope.table.unit,
        "contribution bounds": caps,
    }


def _measure(output: logical.Output, scope: Bound) -> tuple[object, list[Term]]:
    """A measure with its names resolved, and the terms that it reads."""
    measure = output.measure
    match measure:
        case logical.Count() | logical.CountDistinctUnits() | logical.HierarchyCounts():
            return measure, []
        case logical.CountDistinct():
            ((part),) = recipe(output, scope).parts
            values = part.measure
            assert isinstance(values, physical.CountValues)  # noqa: S101 - of different values it is
            return values, [values.operand]
        case logical.Ranges():
            edges, workload = merge_bins(measure)
            binned = scope.term(logical.Bin(measure.operand, edges))
            shown = [f"[{measure.edges[low]}, {measure.edges[high]})" for low, high in measure.pairs]
            asked = {"column": measure.operand.name, "bins": binned, "ranges": workload.pairs, "shown": shown}
            return {"is": "ranges"} | asked, [binned]
        case logical.MomentsMeasure():
            terms = [each.operand for each in lattice_measures(measure, scope)]
            return _moments(measure, terms, scope), terms
        case logical.AutoBoundsAggregate():
            inner, terms = _value(measure.measure, scope)
            return {"is": "automatic bounds", "of": inner, "search": measure.search}, terms
        case _:
            return _value(measure, scope)


def _moments(measure: logical.MomentsMeasure, terms: list[Term], scope: Bound) -> Parts:
    """Sums of products: each column with its bounds and missing values, as asked or as declared; not the lattice."""
    columns = []
    for name, term, bounds in zip(measure.columns, terms, measure.bounds, strict=True):
        declared = scope.declared_column(logical.ColumnRef(name))
        known = bounds or (declared.bounds if declared else None)
        columns.append((name, term, known, declared.missing if declared else "skip"))
    return {"is": "moments", "columns": columns, "products": measure.products}


def _value(measure: logical.Bounded | logical.ClippingBounds, scope: Bound) -> tuple[Parts, list[Term]]:
    """What is summed, averaged or ranked: the term, its bounds, grid and missing values, as asked or as declared."""
    term, declared = scope.term(measure.operand), scope.declared_column(measure.operand)
    bounds = None if isinstance(measure, logical.ClippingBounds) else measure.bounds
    parts: Parts = {
        "is": _VALUES[type(measure)],
        "value": term,
        "bounds": bounds or (declared.bounds if declared else None),
        "grid": measure.grid or (declared.grid if declared else None),
        "missing": declared.missing if declared else "skip",
    }
    match measure:
        case logical.MedianMeasure():
            parts |= {"probability": _HALF, "rows": None}
        case logical.QuantileMeasure():
            parts |= {"probability": measure.probability, "rows": measure.rows}
        case logical.ClippingBounds():
            parts |= {"search": measure.search}
    return parts, [term]
