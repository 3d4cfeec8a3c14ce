"""From one SELECT to queries and to what is done with their noisy answers."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.catalog.catalog import Catalog, ColumnType
from discreet.errors import Refusal, SqlError
from discreet.plan import logical
from discreet.query.aggregates import Aggregation
from discreet.query.expression import Expr
from discreet.query.frame import Query
from discreet.query.keys import discover
from discreet.query.sql import groups as grouping
from discreet.query.sql.aggregates import aggregation, call_start, is_aggregate, is_quantile
from discreet.query.sql.expressions import constant_of, has_fraction, known_reason, literal
from discreet.query.sql.groups import Group
from discreet.query.sql.nodes import arguments, refusal, sql_text
from discreet.query.sql.parsing import SelectTree
from discreet.query.sql.privacy_clause import PrivacyClause
from discreet.query.sql.relations import check_views, rows, views_of
from discreet.query.sql.scope import Scope, matching
from discreet.release.noisy_columns import (
    HIGH,
    LOW,
    Arithmetic,
    Column,
    Condition,
    ConstantColumn,
    IntervalEnd,
    KeyOf,
    Order,
    OutputOf,
    TableRecipe,
)

_SIGNS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_TESTS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "and",
    exp.Or: "or",
}
_LOGICAL = (exp.And, exp.Or)
_REALS = (exp.DType.DOUBLE, exp.DType.FLOAT)
_OF_VALUES = (logical.Sum, logical.QuantileMeasure)
_FRACTIONS = (logical.Mean, logical.Variance, logical.Deviation, logical.MedianMeasure)
_CONSTANTS: dict[ColumnType, tuple[type, ...]] = {
    ColumnType.INTEGER: (int, Decimal),
    ColumnType.REAL: (int, Decimal),
    ColumnType.TEXT: (str,),
    ColumnType.BOOLEAN: (bool,),
    ColumnType.DATE: (dt.date,),
    ColumnType.TIMESTAMP: (dt.datetime,),
}
_ENDS = {"DP_INTERVAL_LOW": False, "DP_INTERVAL_HIGH": True}


@dataclass(frozen=True)
class Translation:
    """The queries of a statement, and how its table is made of their answers.

    Attributes:
        queries: Queries of frames; several are one batch.
        recipe: How the table is computed from the releases.
        options: What the statement itself says of epsilon and delta.
    """

    queries: tuple[Query, ...]
    recipe: TableRecipe
    options: Mapping[str, Fraction | str]


def translate(parsed: SelectTree, dialect: str, catalog: Catalog, delta: Fraction | None = None) -> Translation:
    """The queries and the table of a statement; `delta` is the one of the call, for keys that are not known."""
    select = parsed.select
    listed, group, having, order, limit, offset, *_ = arguments(
        select, "expressions", "group", "having", "order", "limit", "offset", "from_", "where", "joins", "with_"
    )
    scope = rows(select, catalog, dialect, views_of(select, {}))
    options = parsed.clause.options
    _check_unit(options, scope, select)
    given = delta if delta is not None else options.get("delta")
    statement = _Statement(scope, parsed.clause, listed, given)
    statement.read_groups(group)
    columns = statement.read_columns()
    condition = None if having is None else statement.condition(arguments(having, "this")[0])
    ordered = () if order is None else tuple(statement.read_order(each) for each in arguments(order, "expressions")[0])
    most, skipped = _number(limit), _number(offset)
    if (most is not None or skipped) and not ordered:
        raise refusal(
            select,
            what="LIMIT without ORDER BY",
            because="which rows stay would be arbitrary",
            instead="ORDER BY n DESC LIMIT 10",
        )
    statement.check_bounds(select)
    check_views(select)
    if parsed.dropped is not None:
        raise parsed.dropped
    recipe = TableRecipe(columns, condition, ordered, most, skipped or 0)
    return Translation(statement.queries(), recipe, options)


def _check_unit(options: Mapping[str, Fraction | str], scope: Scope, select: exp.Select) -> None:
    named = options.get("privacy_unit_column")
    if named is not None and [str(named).casefold()] != [each.casefold() for each in scope.table.unit.columns]:
        raise refusal(
            select,
            what=f"privacy_unit_column = {named}",
            because=f"the owner declared another privacy unit: {scope.table.unit}",
            instead=f"privacy_unit_column = {', '.join(scope.table.unit.columns) or '...'}, or the option left out",
        )


def _number(node: exp.Expr | None) -> int | None:
    if node is None:
        return None
    value = constant_of(arguments(node, "expression")[0], "LIMIT")
    if type(value) is not int or value < 0:
        raise refusal(node, because="it is a whole number, and not below zero", instead="LIMIT 10")
    return value


def _generated_name(node: exp.Expr) -> str:
    """A name for a column that has none: count, sum_cost."""
    if not isinstance(node, exp.Func | exp.Filter | exp.WithinGroup):
        return "value"
    columns = [column.name for column in node.find_all(exp.Column)]
    called = next(part.key for part in node.walk() if isinstance(part, exp.AggFunc | exp.Func))
    return "_".join([called, *columns[:1]]) if not isinstance(node, exp.Count) else called


def _is_of(kind: ColumnType, value: object) -> bool:
    """Whether a constant is of a type; whole numbers and truth values, dates and times are different ones."""
    return isinstance(value, _CONSTANTS.get(kind, ())) and not (
        (isinstance(value, bool) and kind is not ColumnType.BOOLEAN)
        or (isinstance(value, dt.datetime) and kind is ColumnType.DATE)
    )


@dataclass
class _Statement:
    """A statement while it is read: aggregates are gathered from SELECT, HAVING and ORDER BY."""

    scope: Scope
    clause: PrivacyClause
    listed: list[exp.Expr]
    delta: Any
    groups: list[Group] = field(default_factory=list)
    outputs: dict[str, Aggregation] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    bounded: set[int] = field(default_factory=set)
    shown: dict[str, Column] = field(default_factory=dict)

    def read_groups(self, group: exp.Group | None) -> None:
        """The expressions of GROUP BY, of which some are numbers or names of columns of the table."""
        if group is None:
            return
        listed, takes_all = arguments(group, "expressions", "all")
        if not takes_all and not listed:
            raise refusal(group, because="nothing is grouped by", instead="GROUP BY ward")
        if takes_all:
            listed = [item.unalias() for item in self.listed if not any(is_aggregate(part) for part in item.walk())]
        for node in listed:
            inner, name = self._group_item(node)
            if self._group(inner) is not None:
                raise refusal(node, because="it stands in GROUP BY twice", instead="GROUP BY of each column once")
            self.groups.append(grouping.group(inner, name, self.scope, has_delta=self.delta is not None))

    def _group_item(self, node: exp.Expr) -> tuple[exp.Expr, str]:
        """What an element of GROUP BY stands for, and its name in the table."""
        number = literal(node)
        if type(number) is int:
            if not 1 <= number <= len(self.listed):
                raise refusal(node, because="SELECT has no column of that number", instead="GROUP BY 1")
            item = self.listed[number - 1]
            return item.unalias(), item.alias_or_name or f"group_{number}"
        if isinstance(node, exp.Column) and node.args.get("table") is None:
            aliases = {item.alias: item.unalias() for item in self.listed if isinstance(item, exp.Alias)}
            name = matching(node.this, aliases)
            is_column = any(matching(node.this, source.columns) is not None for source in self.scope.sources)
            if name is not None and is_column and not self._is_same(aliases[name], node):
                raise refusal(
                    node,
                    because="a column of the table and one of SELECT have this name",
                    instead=f"GROUP BY {sql_text(aliases[name], self.scope.dialect)}, or another name in SELECT",
                )
            if name is not None and not is_column:
                return aliases[name], name
        same = (item.alias for item in self.listed if isinstance(item, exp.Alias) and item.unalias() == node)
        return node, next(same, "") or (node.name if isinstance(node, exp.Column) else f"group_{len(self.groups) + 1}")

    def _group(self, node: exp.Expr) -> Group | None:
        """The group that an expression is."""
        return next((each for each in self.groups if self._is_same(each.node, node)), None)

    def _is_same(self, one: exp.Expr, other: exp.Expr) -> bool:
        """Whether two expressions are the same, under all names that their columns have: ward, visits.ward and WARD."""
        if one == other:
            return True
        if type(one.unnest()) is not type(other.unnest()):
            return False
        try:
            return self.scope.with_frame_names(one.unnest()) == self.scope.with_frame_names(other.unnest())
        except Refusal:  # a name of a column of SELECT
            return False

    def read_columns(self) -> Mapping[str, Column]:
        """The columns of SELECT, in their order."""
        for item in self.listed:
            inner = item.unalias()
            name = (
                item.alias_or_name if isinstance(item, exp.Alias | exp.Column) else self._free(_generated_name(inner))
            )
            if name in self.shown:
                raise refusal(item, because="two columns of SELECT have this name", instead=f"AS {self._free(name)}")
            self.shown[name] = self.column(inner, name)
        for name in self.shown:
            clash = next((name + end for end in (LOW, HIGH) if name + end in self.shown), None)
            if clash is not None:
                raise refusal(
                    self.listed[0],
                    what=f"the name {clash}",
                    because=f"an end of the interval of {name} has it",
                    instead=f"another name for one of the columns {name} and {clash}",
                )
        if not self.outputs:
            raise refusal(
                self.listed[0] if self.listed else exp.Null(),
                because="only aggregates are released, never rows",
                instead="SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
            )
        return dict(self.shown)

    def column(self, node: exp.Expr, name: str = "") -> Column:
        """An expression over aggregates and grouping columns."""
        if not isinstance(node, exp.Expr):
            raise SqlError("a call without its argument", because="nothing stands in its brackets", instead="COUNT(*)")
        known = self._group(node)
        if known is not None:
            return KeyOf(known.column, known.keys, known.shown) if known.shown else KeyOf(known.column)
        if is_aggregate(node):
            return self._output(node, name)
        if (value := literal(node)) is not None:
            return ConstantColumn(value)
        if type(node) in _SIGNS:
            return self._arithmetic(node)
        if type(node) in _TESTS:
            left, right = arguments(node, "this", "expression")
            read = self.condition if isinstance(node, _LOGICAL) else self.column
            return self._comparison(node, _TESTS[type(node)], read(left), read(right))
        return self._other_column(node)

    def condition(self, node: exp.Expr) -> Column:
        """An expression that is true or false."""
        found = self.column(node)
        match found:
            case Condition():
                return found
            case ConstantColumn(value) if isinstance(value, bool):
                return found
            case KeyOf() if self._kind(found) is ColumnType.BOOLEAN:
                return found
        raise refusal(node, because="a condition is true or false", instead="HAVING COUNT(*) > 100")

    def _kind(self, key: KeyOf) -> ColumnType:
        """The type of the keys of a grouping column."""
        (group,) = [each for each in self.groups if each.column == key.column]
        value = group.derived if group.derived is not None else Expr(logical.ColumnRef(group.column))
        return self.scope.kind(value)

    def _comparison(self, node: exp.Expr, sign: str, *columns: Column) -> Condition:
        """A comparison; constants of another type than the column beside them are refused, as they are never equal."""
        constants = [column.value for column in columns if isinstance(column, ConstantColumn)]
        for column in columns:
            if isinstance(column, ConstantColumn | Condition):
                continue
            kind = self._kind(column) if isinstance(column, KeyOf) else ColumnType.REAL
            if not all(_is_of(kind, each) for each in constants):
                raise refusal(
                    node,
                    because=f"a constant of another type is beside a value of type {kind}",
                    instead="n > 100, ward = 'A', month >= DATE '2026-01-01'",
                )
        return Condition(sign, columns)

    def _other_column(self, node: exp.Expr) -> Column:
        match node:
            case exp.Paren():
                return self.column(arguments(node, "this")[0])
            case exp.Neg():
                return Arithmetic("-", ConstantColumn(0), self.column(arguments(node, "this")[0]))
            case exp.Column() if (alias := self._alias(node)) is not None and not self._is_column(node):
                return self.shown[alias]
            case exp.Anonymous() if str(node.this).upper() in _ENDS and len(node.expressions) == 1:
                return IntervalEnd(self._number(node.expressions[0]), _ENDS[str(node.this).upper()])
            case exp.Cast() | exp.TryCast() if node.to.this in _REALS:
                operand, to = arguments(node, "this", "to")
                arguments(to, "this")
                return self.column(operand)
            case exp.Not():
                return Condition("not", (self.condition(arguments(node, "this")[0]),))
            case exp.Is() if isinstance(node.expression, exp.Null):
                operand, _, is_negated = arguments(node, "this", "expression", "negate")
                is_missing = Condition("is null", (self.column(operand),))
                return Condition("not", (is_missing,)) if is_negated else is_missing
            case exp.Between():
                value, low, high = (self.column(each) for each in arguments(node, "this", "low", "high"))
                ends = self._comparison(node, ">=", value, low), self._comparison(node, "<=", value, high)
                return Condition("and", ends)
            case exp.In():
                return self._in(node)
        raise self._no_group(node)

    def _in(self, node: exp.In) -> Condition:
        operand, values = arguments(node, "this", "expressions")
        if not values:
            raise refusal(node, because="IN takes a list of constants", instead="ward IN ('A', 'B')")
        listed = tuple(ConstantColumn(constant_of(each, "an element of IN")) for each in values)
        return self._comparison(node, "in", self.column(operand), *listed)

    def _arithmetic(self, node: exp.Expr) -> Arithmetic:
        left, right, is_typed = arguments(node, "this", "expression", "typed")
        if is_typed and not (self._has_fraction(left) or self._has_fraction(right)):
            raise refusal(
                node,
                because="in this dialect whole numbers divided by whole numbers lose their fraction",
                instead=f"1.0 * {sql_text(node, self.scope.dialect)}",
            )
        return Arithmetic(_SIGNS[type(node)], self._number(left), self._number(right))

    def _number(self, node: exp.Expr) -> Column:
        """An expression that is a number."""
        found = self.column(node)
        is_number = isinstance(found, OutputOf | Arithmetic | IntervalEnd)
        if isinstance(found, ConstantColumn):
            is_number = _is_of(ColumnType.REAL, found.value)
        if isinstance(found, KeyOf):
            is_number = self._kind(found) in (ColumnType.INTEGER, ColumnType.REAL)
        if not is_number:
            raise refusal(node, because="arithmetic is of numbers", instead="COUNT(*) * 2")
        return found

    def _has_fraction(self, node: exp.Expr) -> bool:
        """Whether a noisy number is known not to be a whole number in its dialect, so that a quotient is none."""
        node = node.unnest()
        if isinstance(node, exp.Neg) or (isinstance(node, exp.Cast) and node.to.this not in _REALS):
            return self._has_fraction(node.this)
        if isinstance(node, exp.Column) and (alias := self._alias(node)) is not None:
            return any(self._has_fraction(item.unalias()) for item in self.listed if item.alias == alias)
        if type(node) in _SIGNS:
            return isinstance(node, exp.Div) or any(map(self._has_fraction, (node.this, node.expression)))
        if is_aggregate(node):
            measure = aggregation(node, self.scope, self.clause.bounds).measure
            is_real = isinstance(measure, _OF_VALUES) and has_fraction(measure.operand, self.scope)
            return is_real or isinstance(measure, _FRACTIONS) or node.find(exp.PercentileCont) is not None
        return isinstance(node, exp.Cast) or isinstance(literal(node), Decimal)

    def _alias(self, node: exp.Column) -> str | None:
        """The column of SELECT that a name stands for."""
        is_plain = isinstance(node.this, exp.Identifier) and not node.table
        return matching(node.this, self.shown) if is_plain else None

    def _is_column(self, node: exp.Column) -> bool:
        """Whether a table of FROM has a column of that name."""
        return any(matching(node.this, source.columns) is not None for source in self.scope.sources)

    def read_order(self, node: exp.Ordered) -> Order:
        """An element of ORDER BY; a number is a column of SELECT, and a name is first looked for there."""
        operand, descending, nulls_first = arguments(node, "this", "desc", "nulls_first")
        number = literal(operand)
        if number is not None and not (type(number) is int and 1 <= number <= len(self.shown)):
            raise refusal(node, because="SELECT has no column of that number", instead="ORDER BY 1")
        column = None
        if number is not None:
            column = list(self.shown.values())[number - 1]
        elif isinstance(operand, exp.Column) and (alias := self._alias(operand)) is not None:
            column = self.shown[alias]
        return Order(self.column(operand) if column is None else column, bool(descending), bool(nulls_first))

    def check_bounds(self, select: exp.Select) -> None:
        """Refuse named bounds that no aggregate of the statement used."""
        if set(self.clause.bounds) - self.bounded:
            raise refusal(
                select,
                what=f"bounds by name: {', '.join(sorted({each.name for each in self.clause.bounds.values()}))}",
                because="they stand in the call of an aggregate of the outer SELECT, after its value",
                instead="SUM(LEAST(GREATEST(x, 0), 10)) at any other place",
            )

    def queries(self) -> tuple[Query, ...]:
        """A query of counts, sums and means, and one of quantiles, where there are some."""
        quantiles = {name: made for name, made in self.outputs.items() if is_quantile(made)}
        others = {name: made for name, made in self.outputs.items() if name not in quantiles}
        if quantiles and any(each.is_unknown for each in self.groups):
            raise refusal(
                self.listed[0],
                what="a quantile of groups that are not known",
                because="partition selection finds groups for counts, sums and means",
                instead="first SELECT ward, COUNT(*) AS n ... GROUP BY ward with delta; "
                "then the quantile with WHERE ward IN (...) and the keys that were found",
            )
        return tuple(self._query(part) for part in (others, quantiles) if part)

    def _query(self, outputs: Mapping[str, Aggregation]) -> Query:
        frame = grouping.derive(self.scope.frame, self.groups)
        if not self.groups:
            return frame.agg(**outputs)
        keys: dict[str, Any] = {each.column: each.keys for each in self.groups if each.keys is not None}
        found = discover(delta=self.delta) if any(each.is_unknown for each in self.groups) else None
        keys |= {each.column: found for each in self.groups if each.is_unknown}
        given = self.clause.options.get("max_groups_contributed")
        most = None if given is None else int(given)
        return frame.group_by(*(each.column for each in self.groups), keys=keys or None, max_groups=most).agg(**outputs)

    def _output(self, node: exp.Expr, name: str) -> OutputOf:
        """An aggregate, which is asked once however often it stands in the statement."""
        made = aggregation(node, self.scope, self.clause.bounds)
        self.bounded.add(call_start(node))
        asked = repr(made)
        if asked not in self.places:
            self.places[asked] = self._free(name or _generated_name(node))
            self.outputs[self.places[asked]] = made
        return OutputOf(self.places[asked])

    def _free(self, name: str) -> str:
        taken = {*self.outputs, *self.shown, *(each.column for each in self.groups)}
        return next(each for each in grouping.name_numbers(name) if each not in taken)

    def _no_group(self, node: exp.Expr) -> Exception:
        if isinstance(node, exp.Star):
            return refusal(node, because="rows are never released", instead="SELECT COUNT(*) AS n FROM visits")
        if isinstance(node, exp.Column):
            self.scope.column(node)
        if (known := known_reason(node)) is not None:
            return known
        return refusal(
            node,
            because="it is neither an aggregate nor in GROUP BY"
            if isinstance(node, exp.Column)
            else "beside aggregates there are grouping columns, constants, arithmetic and comparisons",
            instead="GROUP BY of it, or COUNT(*), SUM(...), AVG(...)",
        )
