"""From one SELECT to queries and to what is done with their noisy answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.catalog.catalog import Catalog
from discreet.query.aggregates import Aggregation
from discreet.query.frame import Query
from discreet.query.keys import discover
from discreet.sql_queries import groups as grouping
from discreet.sql_queries.aggregates import aggregation, is_aggregate, is_quantile
from discreet.sql_queries.expressions import constant_of, literal
from discreet.sql_queries.groups import Group
from discreet.sql_queries.nodes import arguments, refusal
from discreet.sql_queries.noisy_columns import (
    Arithmetic,
    Column,
    Condition,
    Constant,
    IntervalEnd,
    KeyOf,
    Order,
    OutputOf,
    Recipe,
)
from discreet.sql_queries.parsing import Parsed
from discreet.sql_queries.privacy_clause import PrivacyClause
from discreet.sql_queries.relations import rows, views_of
from discreet.sql_queries.scope import Scope, matching

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
_REALS = (exp.DType.DOUBLE, exp.DType.FLOAT)
_FRACTIONS = (exp.Avg, exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.PercentileCont)
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
    recipe: Recipe
    options: Mapping[str, Fraction | str]


def translate(parsed: Parsed, dialect: str, catalog: Catalog, delta: Fraction | None = None) -> Translation:
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
    condition = None if having is None else statement.column(arguments(having, "this")[0])
    ordered = () if order is None else tuple(statement.read_order(each) for each in arguments(order, "expressions")[0])
    most, skipped = _number(limit), _number(offset)
    if (most is not None or skipped) and not ordered:
        raise refusal(
            select,
            what="LIMIT without ORDER BY",
            because="which rows stay would be arbitrary",
            instead="ORDER BY n DESC LIMIT 10",
        )
    recipe = Recipe(columns, condition, ordered, most, skipped or 0)
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
    if type(value) is not int:
        raise refusal(node, because="it is a whole number", instead="LIMIT 10")
    return value


def _has_fraction(node: exp.Expr) -> bool:
    """Whether some part of a quotient is not a whole number, so that the quotient keeps its fraction."""
    return any(
        isinstance(part, _FRACTIONS)
        or (isinstance(part, exp.Cast) and part.to.this in _REALS)
        or (isinstance(part, exp.Literal) and not part.is_string and not str(part.this).isdigit())
        for part in node.walk()
    )


def _generated_name(node: exp.Expr) -> str:
    """A name for a column that has none: count, sum_cost."""
    if not isinstance(node, exp.Func | exp.Filter | exp.WithinGroup):
        return "value"
    columns = [column.name for column in node.find_all(exp.Column)]
    called = next(part.key for part in node.walk() if isinstance(part, exp.AggFunc | exp.Func))
    return "_".join([called, *columns[:1]]) if not isinstance(node, exp.Count) else called


@dataclass
class _Statement:
    """A statement while it is read: aggregates are gathered from SELECT, HAVING and ORDER BY."""

    scope: Scope
    clause: PrivacyClause
    listed: list[exp.Expr]
    delta: Any
    groups: list[Group] = field(default_factory=list)
    outputs: dict[str, Aggregation] = field(default_factory=dict)
    places: dict[exp.Expr, str] = field(default_factory=dict)
    shown: dict[str, Column] = field(default_factory=dict)

    def read_groups(self, group: exp.Group | None) -> None:
        """The expressions of GROUP BY, of which some are numbers or names of columns of the table."""
        if group is None:
            return
        listed, takes_all = arguments(group, "expressions", "all")
        if takes_all:
            listed = [item.unalias() for item in self.listed if not any(is_aggregate(part) for part in item.walk())]
        for node in listed:
            meant, name = self._meant(node)
            is_known = any(each.node == meant for each in self.groups)
            if is_known:
                raise refusal(node, because="it stands in GROUP BY twice", instead="GROUP BY of each column once")
            self.groups.append(grouping.group(meant, name, self.scope, has_delta=self.delta is not None))

    def _meant(self, node: exp.Expr) -> tuple[exp.Expr, str]:
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
            if name is not None and is_column and aliases[name] != node:
                raise refusal(
                    node,
                    because="a column of the table and one of SELECT have this name",
                    instead=f"GROUP BY {aliases[name].sql(self.scope.dialect)}, or another name in SELECT",
                )
            if name is not None and not is_column:
                return aliases[name], name
        named = next((item.alias for item in self.listed if isinstance(item, exp.Alias) and item.unalias() == node), "")
        return node, named or (node.name if isinstance(node, exp.Column) else f"group_{len(self.groups) + 1}")

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
        if not self.outputs:
            raise refusal(
                self.listed[0] if self.listed else exp.Null(),
                because="only aggregates are released, never rows",
                instead="SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
            )
        return dict(self.shown)

    def column(self, node: exp.Expr, name: str = "") -> Column:
        """An expression over aggregates and grouping columns."""
        known = next((each for each in self.groups if each.node == node), None)
        if known is not None:
            return KeyOf(known.column, known.keys, known.shown) if known.shown else KeyOf(known.column)
        if is_aggregate(node):
            return self._output(node, name)
        if (value := literal(node)) is not None:
            return Constant(value)
        if type(node) in _SIGNS:
            return self._arithmetic(node)
        if type(node) in _TESTS:
            left, right = arguments(node, "this", "expression")
            return Condition(_TESTS[type(node)], (self.column(left), self.column(right)))
        return self._other_column(node)

    def _other_column(self, node: exp.Expr) -> Column:
        match node:
            case exp.Paren():
                return self.column(arguments(node, "this")[0])
            case exp.Neg():
                return Arithmetic("-", Constant(0), self.column(arguments(node, "this")[0]))
            case exp.Column() if (match_ := matching(node.this, self.shown)) is not None and not node.table:
                return self.shown[match_]
            case exp.Anonymous() if str(node.this).upper() in _ENDS and len(node.expressions) == 1:
                return IntervalEnd(self.column(node.expressions[0]), _ENDS[str(node.this).upper()])
            case exp.Cast() | exp.TryCast() if node.to.this in _REALS:
                return self.column(arguments(node, "this", "to")[0])
            case exp.Not():
                return Condition("not", (self.column(arguments(node, "this")[0]),))
            case exp.Is() if isinstance(node.expression, exp.Null):
                return Condition("is null", (self.column(node.this),))
            case exp.Between():
                value, low, high = (self.column(each) for each in arguments(node, "this", "low", "high"))
                return Condition("and", (Condition(">=", (value, low)), Condition("<=", (value, high))))
            case exp.In():
                operand, values = arguments(node, "this", "expressions")
                listed = tuple(Constant(constant_of(each, "an element of IN")) for each in values)
                return Condition("in", (self.column(operand), *listed))
        raise self._not_grouped(node)

    def _arithmetic(self, node: exp.Expr) -> Arithmetic:
        left, right, is_typed = arguments(node, "this", "expression", "typed")
        if is_typed and not _has_fraction(node):
            raise refusal(
                node,
                because="in this dialect whole numbers divided by whole numbers lose their fraction",
                instead=f"1.0 * {node.sql(self.scope.dialect)}",
            )
        return Arithmetic(_SIGNS[type(node)], self.column(left), self.column(right))

    def read_order(self, node: exp.Ordered) -> Order:
        """An element of ORDER BY; a number is a column of SELECT."""
        operand, descending, nulls_first = arguments(node, "this", "desc", "nulls_first")
        number = literal(operand)
        if type(number) is int and 1 <= number <= len(self.shown):
            return Order(list(self.shown.values())[number - 1], bool(descending), bool(nulls_first))
        return Order(self.column(operand), bool(descending), bool(nulls_first))

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
        caps = {
            name: int(value) if (value := self.clause.options.get(option)) is not None else None
            for name, option in (
                ("max_groups", "max_groups_contributed"),
                ("max_rows_per_group", "max_rows_contributed"),
            )
        }
        return frame.group_by(*(each.column for each in self.groups), keys=keys or None, **caps).agg(**outputs)

    def _output(self, node: exp.Expr, name: str) -> OutputOf:
        """An aggregate, which is asked once however often it stands in the statement."""
        if node not in self.places:
            made = aggregation(node, self.scope, self.clause.bounds)
            self.places[node] = self._free(name or _generated_name(node))
            self.outputs[self.places[node]] = made
        return OutputOf(self.places[node])

    def _free(self, name: str) -> str:
        taken = {*self.outputs, *self.shown, *(each.column for each in self.groups)}
        return next(each for each in grouping.numbered(name) if each not in taken)

    def _not_grouped(self, node: exp.Expr) -> Exception:
        if isinstance(node, exp.Star):
            return refusal(node, because="rows are never released", instead="SELECT COUNT(*) AS n FROM visits")
        if isinstance(node, exp.Column):
            self.scope.column(node)
        return refusal(
            node,
            because="it is neither an aggregate nor in GROUP BY"
            if isinstance(node, exp.Column)
            else "beside aggregates there are grouping columns, constants, arithmetic and comparisons",
            instead="GROUP BY of it, or COUNT(*), SUM(...), AVG(...)",
        )
