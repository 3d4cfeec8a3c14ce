"""A subquery that groups by the privacy unit: one row for each unit, with features of its rows as columns."""

from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.plan import logical
from discreet.query import aggregates, joins
from discreet.query.expression import Expr
from discreet.query.sql.aggregates import aggregation, is_aggregate
from discreet.query.sql.expressions import expression
from discreet.query.sql.nodes import arguments, refusal, sql_text
from discreet.query.sql.scope import NamedTable, Scope
from discreet.query.sql.types import feature_type


def per_unit(select: exp.Select, scope: Scope, name: str) -> Scope:
    """The rows of a subquery with GROUP BY of the privacy unit; any other grouping is refused."""
    listed, group, *_ = arguments(select, "expressions", "group", "from_", "where", "joins", "with_")
    (columns,) = arguments(group, "expressions")
    by = [expression(column, scope) for column in columns or ()]
    if not scope.is_unit(by):
        raise refusal(
            group,
            because=f"a subquery groups by the privacy unit ({', '.join(scope.table.unit.columns) or 'the row'}) alone",
            instead="one SELECT with GROUP BY, or GROUP BY of the unit in the subquery",
        )
    features: dict[str, Any] = {}
    shown: dict[str, Expr] = {}
    for item in listed:
        inner, alias = item.unalias(), item.alias_or_name
        if alias.casefold() in {name.casefold() for name in shown}:
            raise refusal(item, because="the subquery has two columns of this name", instead="another name for one")
        if not is_aggregate(inner):
            shown[alias] = _unit_column(inner, by, scope)
            continue
        if not alias:
            raise refusal(item, because="a column of a subquery has a name", instead=f"{sql_text(item)} AS value")
        features[alias] = _feature(inner, scope)
        shown[alias] = Expr(logical.ColumnRef(alias))
    facts = {column: scope.facts[column] for column in scope.table.unit.columns if column in scope.facts}
    frame = scope.frame.per_unit(**features)
    known = {column: fact.type for column, fact in scope.facts.items()} | dict(scope.features)
    return replace(
        scope,
        frame=frame,
        sources=(NamedTable(name, shown),),
        facts=facts,
        conditions=(),
        features={feature: feature_type(made.measure, known) for feature, made in features.items()},
        has_one_row_each=True,
    )


def _unit_column(node: exp.Expr, by: list[Expr], scope: Scope) -> Expr:
    found = expression(node, scope)
    if found.node not in [each.node for each in by]:
        raise refusal(node, because="a column beside GROUP BY is grouped or aggregated", instead="MAX(x) AS x")
    return found


def _feature(node: exp.Expr, scope: Scope) -> aggregates.Aggregation | joins.OfUnit:
    if isinstance(node, exp.Min | exp.Max):
        (operand,) = arguments(node, "this")
        verb = joins.largest if isinstance(node, exp.Max) else joins.smallest
        return verb(expression(operand, scope))
    return aggregation(node, scope, {})
