"""Names become columns and expressions become typed terms, or an error says what does not fit.

Derived columns are substituted where they are used, so that a term reads only columns of the source and no later step
can mistake a redefined column for the declared one.
"""

import datetime as dt
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.catalog.catalog import (
    NUMERIC,
    Catalog,
    Column,
    ColumnType,
    Table,
    Through,
    Value,
    is_of_type,
)
from discreet.errors import KeysError, ParameterError, TypeMismatchError, UnsupportedError, suggestion
from discreet.plan import logical
from discreet.plan.logical import DEEPEST, EDGES_IN_A_PART, MOST_EDGES, MOST_NODES, MOST_STEPS
from discreet.plan.physical import Apply, Constant, Operator, Read, Term
from discreet.planner.resolve import operators, per_unit, relations
from discreet.planner.resolve.case_bounds import case_bounds
from discreet.planner.resolve.relations import Origin
from discreet.planner.resolve.terms import (
    CASTABLE,
    alike,
    cast,
    constant,
    refuse_documents,
    require_condition,
    term_text,
)

_DEEPEST_TERM = DEEPEST + 20
_LARGEST_TERM = 2 * MOST_NODES
_LONGEST_SHOWN = 200
_ORDERED = (*NUMERIC, ColumnType.DATE, ColumnType.TIMESTAMP)
_COMPARISONS: dict[logical.Comparison, Operator] = {
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
_ARITHMETIC: dict[logical.Arithmetic, Operator] = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}


@dataclass(frozen=True)
class Bound:
    """A chain of steps, resolved: the table, what each derived name stands for, and one predicate.

    Where tables were joined, or units gathered, there is an origin, and the table has public facts of what it gives.
    """

    name: str
    table: Table
    derived: Mapping[str, Term]
    predicate: Term | None = None
    origin: Origin | None = None

    def term(self, expression: logical.Expression) -> Term:
        """An expression as a typed term."""
        return _require_size(_bind(expression, self))

    def is_declared(self, expression: logical.Expression) -> bool:
        """Whether an expression is a column of the catalog that nothing redefined."""
        return isinstance(expression, logical.ColumnRef) and expression.name not in self.derived

    def declared_column(self, expression: logical.Expression) -> Column | None:
        """The public facts of a value: those of the catalog, or the bounds that the branches of a case have."""
        if isinstance(expression, logical.ColumnRef) and self.is_declared(expression):
            return self.table.column(expression.name)
        term = self.term(expression)
        bounds = case_bounds(term, lambda read: self.table.column(read.column).bounds)
        return None if bounds is None else Column(type=term.type, bounds=bounds)

    def restrict(self, condition: Term) -> "Bound":
        """The same rows, of which only those count that meet a condition."""
        both = condition if self.predicate is None else _apply("and", self.predicate, condition)
        return replace(self, predicate=both)


def bind(relation: logical.Relation, catalog: Catalog) -> Bound:
    """Resolve a chain of steps against the catalog."""
    steps: list[logical.Where | logical.Derive | logical.Join | logical.GroupByUnit] = []
    while not isinstance(relation, logical.TableRef):
        steps.append(relation)
        relation = relation.source
    if len(steps) > MOST_STEPS:
        raise ParameterError(
            f"a query of {len(steps):,} steps",
            because=f"a query has at most {MOST_STEPS:,} calls of where, derive, join and per_unit",
            instead="fewer steps, or a column prepared by the owner",
        )
    scope = _open_table(relation.name, catalog)
    for step in reversed(steps):
        scope = _apply_step(scope, step, catalog)
    return scope


def _open_table(name: str, catalog: Catalog) -> Bound:
    table = catalog.table(name)
    if table.public:
        raise UnsupportedError(
            f"a query to the public table {name!r}",
            because="it protects nobody, and has no budget",
            instead=f'dp.table("visits").join(dp.table("{name}"), on=...), or the table itself, without noise',
        )
    if not isinstance(table.privacy_unit, Through):
        return Bound(name, table, {})
    led = relations.origin(name, catalog)
    return Bound(name, led.table, {}, origin=led)


def _apply_step(
    scope: Bound, step: logical.Where | logical.Derive | logical.Join | logical.GroupByUnit, catalog: Catalog
) -> Bound:
    match step:
        case logical.Where():
            return _apply_where(scope, step)
        case logical.Derive():
            return _apply_derive(scope, step)
        case logical.Join():
            keys = [scope.term(logical.ColumnRef(own)) for own, _ in step.on]
            of = scope.origin or relations.origin(scope.name, catalog)
            made = relations.join(of, step, keys, catalog, scope.derived)
            return replace(scope, table=made.table, origin=made)
        case logical.GroupByUnit():
            of = scope.origin or relations.origin(scope.name, catalog)
            gathered = per_unit.features(step, scope.term, scope.declared_column)
            made = relations.per_unit(of, scope.predicate, gathered)
            return Bound(scope.name, made.table, {}, origin=made)


def _apply_where(scope: Bound, step: logical.Where) -> Bound:
    condition = require_condition(scope.term(step.predicate), "where")
    both = condition if scope.predicate is None else _require_size(_apply("and", scope.predicate, condition))
    return replace(scope, predicate=both)


def _apply_derive(scope: Bound, step: logical.Derive) -> Bound:
    return replace(scope, derived={**scope.derived, step.name: scope.term(step.expression)})


def key_constant(value: Value, kind: ColumnType, place: str) -> Value:
    """A key as a constant of the type, or the missing key; no type that has keys is real."""
    return None if value is None else constant(value, kind, place)  # type: ignore[return-value]


KEY_EXAMPLES: dict[ColumnType, str] = {
    ColumnType.TEXT: '["A", "B"]',
    ColumnType.INTEGER: "range(0, 100)",
    ColumnType.DATE: '["2026-01-01", "2026-01-02"]',
    ColumnType.TIMESTAMP: '["2026-01-01 00:00"]',
    ColumnType.BOOLEAN: "[False, True]",
}


def reads(term: Term) -> tuple[Read, ...]:
    """The columns that a term reads, each once."""
    if isinstance(term, Read):
        return (term,)
    if isinstance(term, Constant):
        return ()
    return tuple(dict.fromkeys(read for argument in term.arguments for read in reads(argument)))


def _bind(expression: logical.Expression, scope: Bound) -> Term:  # noqa: C901 - one case per node
    match expression:
        case logical.ColumnRef(name):
            return scope.derived[name] if name in scope.derived else Read(name, scope.table.column(name).type)
        case logical.Literal(value):
            return _literal(value)
        case logical.Compare(operator, left, right):
            return _compare(
                operator, *_refuse_unknown_key_constants(operator, _bind(left, scope), _bind(right, scope), scope)
            )
        case logical.Both(left, right):
            return _apply(
                "and", require_condition(_bind(left, scope), "&"), require_condition(_bind(right, scope), "&")
            )
        case logical.Either(left, right):
            return _apply("or", require_condition(_bind(left, scope), "|"), require_condition(_bind(right, scope), "|"))
        case logical.Not(operand):
            return _apply("not", require_condition(_bind(operand, scope), "~"))
        case logical.IsMissing(operand):
            return _apply("missing", _bind(operand, scope))
        case logical.IsIn(operand, values):
            return _membership(_refuse_unknown_keys(_bind(operand, scope), values, scope, ".is_in([{}])"), values)
        case logical.Combine(operator, left, right):
            return _arithmetic(operator, _bind(left, scope), _bind(right, scope))
        case logical.Cast(operand, kind):
            return cast(_bind(operand, scope), kind)
        case logical.Bin(operand, edges):
            return _bin(_bind(operand, scope), edges)
        case _:
            return _bind_operator(expression, scope)


def _bind_operator(
    expression: logical.Case | logical.TextMatch | logical.Truncate | logical.DatePart, scope: Bound
) -> Term:
    match expression:
        case logical.Case(branches, otherwise):
            ways = [(_bind(condition, scope), _bind(value, scope)) for condition, value in branches]
            return operators.case(ways, None if otherwise is None else _bind(otherwise, scope))
        case logical.TextMatch(operand, how, text):
            return operators.text_match(_bind(operand, scope), how, text)
        case logical.Truncate(operand, unit):
            return operators.truncate(_bind(operand, scope), unit)
        case logical.DatePart(operand, part):
            return operators.date_part(_bind(operand, scope), part)


def _refuse_unknown_key_constants(
    operator: logical.Comparison, left: Term, right: Term, scope: Bound
) -> tuple[Term, Term]:
    """A constant that the declared keys of a text column do not have is a misspelt one: nothing would equal it."""
    for side, other in ((left, right), (right, left)):
        if operator == "==" and isinstance(other, Constant):
            _refuse_unknown_keys(side, (other.value,), scope, " == {}")
    return left, right


def _refuse_unknown_keys(operand: Term, values: tuple[logical.Scalar, ...], scope: Bound, form: str) -> Term:
    is_text = isinstance(operand, Read) and operand.type is ColumnType.TEXT
    keys = scope.table.columns[operand.column].keys if isinstance(operand, Read) and is_text else None
    for value in values:
        if keys is not None and isinstance(value, str) and value not in keys:
            known = [key for key in keys if isinstance(key, str)]
            nearest = suggestion(value, known)
            raise KeysError(
                f"{value[:_LONGEST_SHOWN]!r} beside {term_text(operand)}",
                because="the catalog declares the keys of this column, and it is not among them",
                instead=term_text(operand) + form.format(repr(nearest)) if nearest in known else nearest,
            )
    return operand


def _literal(value: logical.Scalar) -> Constant:
    kinds = {bool: ColumnType.BOOLEAN, int: ColumnType.INTEGER, float: ColumnType.REAL, str: ColumnType.TEXT}
    kind = kinds.get(type(value))
    if kind is None:
        kind = ColumnType.TIMESTAMP if isinstance(value, dt.datetime) else ColumnType.DATE
    if kind is ColumnType.INTEGER and not is_of_type(value, kind):
        raise ParameterError(
            "a whole number beyond 64 bits", because="columns hold 64-bit integers", instead="a number within 2**63"
        )
    return Constant(constant(value, kind, "a constant"), kind)


def _compare(operator: logical.Comparison, left: Term, right: Term) -> Term:
    left, right = alike(left, right, operator)
    if operator not in ("==", "!=") and left.type not in _ORDERED:
        raise TypeMismatchError(
            f"{operator} between values of type {left.type}",
            because="their order differs from engine to engine",
            instead="== or is_in([...])",
        )
    return _apply(_COMPARISONS[operator], left, right)


def _membership(operand: Term, values: tuple[logical.Scalar, ...]) -> Term:
    refuse_documents(operand)
    if not values:
        raise ParameterError("is_in([])", because="nothing is in an empty list", instead='is_in(["A", "B"])')
    if operand.type is ColumnType.INTEGER and any(isinstance(value, float) for value in values):
        operand = cast(operand, ColumnType.REAL)
    known: list[Any] = [constant(value, operand.type, "is_in") for value in values]
    constants = (Constant(value, operand.type) for value in sorted(set(known)))
    return Apply("in", (operand, *constants), ColumnType.BOOLEAN)


def _bin(operand: Term, edges: tuple[logical.Scalar, ...]) -> Term:
    refuse_documents(operand)
    if operand.type not in _ORDERED:
        raise TypeMismatchError(
            f"bin of {term_text(operand)}, which is of type {operand.type}",
            because="its values have no order that all engines share",
            instead=f"{term_text(operand)} == True"
            if operand.type is ColumnType.BOOLEAN
            else f"{term_text(operand)}.cast('integer').bin([18, 30, 45])",
        )
    operand, edges = _on_one_scale(operand, edges)
    known: list[Any] = [constant(edge, operand.type, "bin") for edge in edges]
    if not 0 < len(known) <= MOST_EDGES:
        raise ParameterError(
            f"bin of {len(known):,} edges",
            because=f"there are 1 to {MOST_EDGES:,} of them",
            instead=f"{term_text(operand)}.bin([18, 30, 45])",
        )
    for one, other in itertools.pairwise(known):
        if one >= other:
            raise ParameterError(
                f"bin with {_edge_text(other)} after {_edge_text(one)}",
                because=f"edges increase, each once, as values of type {operand.type}",
                instead="bin(sorted(set(edges)))",
            )
    return Apply("bin", (operand, *(Constant(edge, operand.type) for edge in known)), ColumnType.INTEGER)


def _on_one_scale(operand: Term, edges: tuple[logical.Scalar, ...]) -> tuple[Term, tuple[logical.Scalar, ...]]:
    """Value and edges of one type: edges that are whole numbers are so beside whole numbers, and days begin at 0:00."""
    if operand.type is ColumnType.INTEGER and any(isinstance(edge, float) for edge in edges):
        if all(_is_whole(edge) for edge in edges):
            return operand, tuple(int(edge) for edge in edges)  # type: ignore[arg-type]
        operand = cast(operand, ColumnType.REAL)
    if operand.type is ColumnType.DATE and any(isinstance(edge, dt.datetime) for edge in edges):
        operand = cast(operand, ColumnType.TIMESTAMP)
    if operand.type is ColumnType.TIMESTAMP:
        edges = tuple(_midnight(edge) if type(edge) is dt.date else edge for edge in edges)
    return operand, edges


def _is_whole(edge: logical.Scalar) -> bool:
    if isinstance(edge, float):
        return edge.is_integer() and is_of_type(int(edge), ColumnType.INTEGER)
    return is_of_type(edge, ColumnType.INTEGER)


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time())


def _edge_text(edge: object) -> str:
    return repr(str(edge)) if isinstance(edge, dt.date) else repr(edge)


def _arithmetic(operator: logical.Arithmetic, left: Term, right: Term) -> Term:
    for side in (left, right):
        if side.type not in NUMERIC:
            raise TypeMismatchError(
                f"{term_text(left)} {operator} {term_text(right)}",
                because=f"{term_text(side)} is of type {side.type}",
                instead=_numbers_instead(operator, left, right, side),
            )
    arguments = (cast(left, ColumnType.REAL), cast(right, ColumnType.REAL))
    return Apply(_ARITHMETIC[operator], arguments, ColumnType.REAL)


def _numbers_instead(operator: str, left: Term, right: Term, wrong: Term) -> str:
    """The same arithmetic with a number in place of a constant, or with a cast of a column that has one."""
    if isinstance(wrong, Constant):
        return f"{term_text(left)} {operator} 10" if wrong is right else f"10 {operator} {term_text(right)}"
    if ColumnType.REAL in CASTABLE.get(wrong.type, ()):
        return f"numbers on both sides; where the text holds numbers, {term_text(wrong)}.cast('real')"
    return "numbers on both sides"


def _apply(operator: Operator, *arguments: Term) -> Apply:
    return Apply(operator, arguments, ColumnType.BOOLEAN)


def _require_size(term: Term) -> Term:
    """Substitution can double a term with every derived column; refuse before it is walked or printed."""
    depth, nodes = _extent(term, {})
    if depth > _DEEPEST_TERM or nodes > _LARGEST_TERM:
        raise ParameterError(
            f"a condition or column of depth {depth} and {nodes:,} parts, with the derived columns that it uses",
            because=f"expressions stay within depth {_DEEPEST_TERM} and {_LARGEST_TERM:,} parts",
            instead="is_in([...]) for long lists of alternatives, or a column prepared by the owner",
        )
    return term


def _extent(term: Term, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Depth and number of parts; shared parts are measured once and counted as often as they are printed.

    The edges of a bin are a list that is searched, not parts that are computed: ten of them count as one.
    """
    if not isinstance(term, Apply):
        return 1, 1
    if id(term) not in known:
        measured = term.arguments[:1] if term.operator == "bin" else term.arguments
        parts = [_extent(argument, known) for argument in measured]
        edges = -(-(len(term.arguments) - len(measured)) // EDGES_IN_A_PART)
        known[id(term)] = 1 + max(depth for depth, _ in parts), 1 + edges + sum(nodes for _, nodes in parts)
    return known[id(term)]
