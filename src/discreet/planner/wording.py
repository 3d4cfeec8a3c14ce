"""A query in words: rows, conditions, groups, outputs, bounds with where they come from, and contribution bounds."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from discreet.catalog.catalog import Catalog
from discreet.exact.numbers import Number, rational, shown
from discreet.plan import logical
from discreet.plan.wording import Lines, clipped, constants, counted, measure, name, relation
from discreet.planner.queries.found_slots import SlotsPlan
from discreet.planner.queries.model import ModelPlan
from discreet.planner.queries.private_plan import AnswerPlan
from discreet.planner.queries.synthesis import SynthesisPlan
from discreet.planner.resolve.binding import Bound, bind


class SampleOptions(Protocol):
    """What the function of a sample sees, in how many blocks, and how their answers are aggregated."""

    columns: Sequence[str]
    blocks: int
    bounds: tuple[Number, Number]
    aggregate: logical.BlockAggregate


_IN_CATALOG = "from the catalog"
_IN_QUERY = "from the query"
_IN_BRANCHES = "from its branches"
_BOUNDS = "contribution bounds"


def table(query: logical.Aggregate, plan: AnswerPlan, catalog: Catalog) -> Lines:
    """A query whose answer is a table, or one number of it."""
    scope = bind(query.source, catalog)
    outputs = tuple(("output", f"{name(output.name)} = {_output(output.measure, scope)}") for output in query.outputs)
    return (*relation(query.source), *_groups(query.grouping, plan), *outputs, (_BOUNDS, contributions(plan)))


def selection(query: logical.SelectionQuery, top: int, plan: AnswerPlan, catalog: Catalog) -> Lines:
    """The candidates with the highest scores."""
    scope = bind(query.source, catalog)
    listed = f"{counted(len(query.candidates), 'candidate')} {_IN_QUERY}: {constants(query.candidates)}"
    among = plan.key_selection or listed
    side = {"equal": "is the candidate", "or above": "is the candidate or above", "below": "is below the candidate"}
    score = f"{_output(query.measure, scope)}, of rows whose {name(query.by)} {side[query.side]}"
    score += "" if query.factors is None else f", times a public factor of each candidate: {constants(query.factors)}"
    score += "" if query.near is None else f", by its distance to {shown(query.near)}"
    chosen = ("selected", f"{top:,} of {among}")
    return (*relation(query.source), chosen, ("score", score), (_BOUNDS, contributions(plan)))


def contributions(plan: AnswerPlan) -> str:
    """What one unit may contribute."""
    if plan.unit.is_row:
        return "every row, each its own unit"
    caps = plan.contribution_bounds
    bounds = {"row": (caps.max_rows, " in all"), "group": (caps.max_groups, "")}
    words = [f"{counted(most, noun)}{where}" for noun, (most, where) in bounds.items() if most is not None]
    if caps.max_rows_per_group is not None:
        words.append(f"{counted(caps.max_rows_per_group, 'row')} in each group")
    return f"of {plan.unit.label} at most {', '.join(words)}" if words else "every row"


def _groups(grouping: logical.Grouping, plan: AnswerPlan) -> Lines:
    """The columns of the groups, and where their keys come from."""
    if not grouping.columns:
        return ()
    if grouping.discovery is not None:
        return (("groups", f"by {', '.join(map(name, grouping.columns))}; keys {plan.key_selection}"),)
    is_given = grouping.rows is not None or any(values is not None for values in grouping.values)
    keys = f"{counted(plan.groups, 'public key')} {_IN_QUERY if is_given else _IN_CATALOG}"
    return (("groups", f"by {', '.join(map(name, grouping.columns))}; {keys}"),)


def _axis(column: str, given: tuple[Fraction, Fraction] | None, scope: Bound) -> str:
    """A column of moments with its bounds, and where these come from."""
    declared = scope.declared_column(logical.ColumnRef(column))
    known = given or (None if declared is None else declared.bounds)
    where = _IN_CATALOG if given is None else _IN_QUERY
    return f"{name(column)} {clipped(known)}, bounds {where}" if known else f"{name(column)} as 0 or 1"


def _output(of: logical.Measure, scope: Bound) -> str:
    """A measure with the bounds of its values, and where these come from."""
    match of:
        case logical.AutoBoundsAggregate(inner, search):
            price = f"{shown(100 * search.share, 3)}% of the privacy cost"
            return f"{measure(inner)}, values clipped to bounds found by {search.method}, for {price}"
        case logical.ClippingBounds(search=search):
            return f"{measure(of)}, found by {search.method}"
        case logical.Count() | logical.CountDistinctUnits() | logical.CountDistinct():
            return measure(of)
        case logical.Ranges() | logical.HierarchyCounts():
            return measure(of)
        case logical.MomentsMeasure(columns, bounds):
            return f"{measure(of)}, {'; '.join(map(_axis, columns, bounds, [scope] * len(columns)))}"
        case _ if of.bounds is not None:
            return f"{measure(of)}, {clipped(of.bounds)}, bounds {_IN_QUERY}"
    declared = scope.declared_column(of.operand)
    known = None if declared is None else declared.bounds
    where = _IN_CATALOG if scope.is_declared(of.operand) else _IN_BRANCHES
    return f"{measure(of)}, {clipped(known)}, bounds {where}" if known else measure(of)


def sample(source: logical.Relation, function: str, digest: str, options: "SampleOptions", plan: AnswerPlan) -> Lines:
    """A function of blocks: its name and digest, what it sees, and how the answers of blocks are aggregated."""
    seen = ", ".join(map(name, options.columns))
    called = f"{name(function)} (SHA-256 {digest}) of {seen} in {options.blocks:,} blocks of units"
    low, high = (rational(bound, "bounds") for bound in options.bounds)
    together = f"{options.aggregate} of the blocks, {clipped((low, high))}, bounds {_IN_QUERY}"
    return (
        *relation(source),
        ("function", called),
        ("aggregate", together),
        (_BOUNDS, contributions(plan)),
    )


def model(source: logical.Relation, plan: ModelPlan) -> Lines:
    """A model to train: its kind, target and features, and how it is trained."""
    return (*relation(source), *plan.training.words, (_BOUNDS, contributions(plan)))


def slots(source: logical.Relation, plan: SlotsPlan) -> Lines:
    """Slots to find: how, for each column."""
    found = tuple(("slots", f"{name(search.name)}: {search.words}") for search in plan.searches)
    return (*relation(source), *found, (_BOUNDS, contributions(plan)))


def synthesis(source: logical.Relation, plan: SynthesisPlan) -> Lines:
    """A synthetic table: the kind of synthesizer, the columns, and what is measured."""
    columns = ", ".join(f"{name(each.name)} in {each.size:,} slots" for each in plan.synthesis.columns)
    made = (("synthesizer", plan.synthesis.name), ("columns", columns))
    return (*relation(source), *made, *plan.details, (_BOUNDS, contributions(plan)))
