"""Aggregates of a statement: each accepted call has one translation into an aggregate of a frame."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.plan import logical
from discreet.query import aggregates as of_rows
from discreet.query import quantiles
from discreet.query.aggregates import Aggregation
from discreet.query.conditional import when
from discreet.query.expression import Expr
from discreet.query.sql.expressions import constant_of, expression, literal
from discreet.query.sql.nodes import ACCEPTED, arguments, refusal, sql_text
from discreet.query.sql.privacy_clause import PER_GROUP, PER_ROW, Bounds, NamedBounds
from discreet.query.sql.scope import Scope

_BoundsByPlace = Mapping[int, NamedBounds]
_Verb = Callable[..., Aggregation]
_VALUES: dict[type[exp.Expr], _Verb] = {
    exp.Sum: of_rows.sum,
    exp.Avg: of_rows.mean,
    exp.Variance: of_rows.variance,
    exp.VariancePop: of_rows.variance,
    exp.Stddev: of_rows.std,
    exp.StddevSamp: of_rows.std,
    exp.StddevPop: of_rows.std,
    exp.Median: quantiles.median,
}
_QUANTILES = (exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile)
_COUNTS = (exp.Count, exp.CountIf, exp.ApproxDistinct)
_EXTREMES = (exp.Min, exp.Max)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is the call of an aggregate, one that is accepted or another."""
    return isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup) or _is_element_of_quantiles(node)


def is_quantile(made: Aggregation) -> bool:
    """Whether an aggregate is a quantile, which is answered by a query of its own."""
    return isinstance(made.measure, logical.MedianMeasure | logical.QuantileMeasure)


def aggregation(node: exp.Expr, scope: Scope, bounds: _BoundsByPlace) -> Aggregation:
    """The aggregate of a call; `bounds` are the named ones of the statement, by where the name of the call begins."""
    if isinstance(node, exp.Filter):
        inner, where = arguments(node, "this", "expression")
        return _call(inner, scope, bounds, expression(arguments(where, "this")[0], scope))
    return _call(node, scope, bounds, None)


def _call(node: exp.Expr, scope: Scope, bounds: _BoundsByPlace, only: Expr | None) -> Aggregation:
    if isinstance(node, _COUNTS):
        if _bounds_by_name(node, bounds) is not None:
            raise refusal(node, because="a count has no bounds", instead="COUNT(*)")
        return _count(node, scope, only)
    if type(node) in _VALUES:
        (operand,) = arguments(node, "this")
        _require(operand, node)
        return _of_value(_VALUES[type(node)], node, operand, scope, bounds, only)
    operand, probability = _quantile(node)
    if operand is not None:

        def verb(value: Expr, **given: Any) -> Aggregation:
            return quantiles.quantile(value, probability, **given)

        return _of_value(verb, node, operand, scope, bounds, only)
    if isinstance(node, _EXTREMES):
        share = "0.99" if isinstance(node, exp.Max) else "0.01"
        raise refusal(
            node,
            because="the largest or smallest value of a table is one person's",
            instead=f"PERCENTILE_CONT({share}) WITHIN GROUP (ORDER BY x), and PERCENTILE_CONT(x, {share}) in BigQuery",
        )
    raise refusal(node, because="no such aggregate is translated", instead=f"COUNT, SUM, AVG, MEDIAN; {ACCEPTED}")


def _require(operand: exp.Expr | None, node: exp.Expr) -> None:
    if operand is None:
        raise refusal(node, because="it is an aggregate of nothing", instead="COUNT(*), SUM(x), AVG(x)")


def _count(node: exp.Expr, scope: Scope, only: Expr | None) -> Aggregation:
    if isinstance(node, exp.ApproxDistinct):
        return _distinct(node, [arguments(node, "this")[0]], scope, only)
    (operand,) = arguments(node, "this")
    _require(operand, node)
    if isinstance(operand, exp.Distinct) and isinstance(node, exp.Count):
        return _distinct(node, arguments(operand, "expressions")[0], scope, only)
    if isinstance(node, exp.CountIf):
        return _number_of(expression(operand, scope), only)
    if isinstance(operand, exp.Star):
        arguments(operand)
        return of_rows.count() if only is None else _number_of(only, None)
    if literal(operand) is not None:
        return of_rows.count() if only is None else _number_of(only, None)
    return _number_of(~expression(operand, scope).is_missing(), only)


def _number_of(condition: Expr, only: Expr | None) -> Aggregation:
    """The number of rows that meet a condition, as a sum of zeros and ones."""
    both = condition if only is None else condition & only
    return of_rows.sum(when(both, 1).otherwise(0), bounds=(0, 1))


def _distinct(node: exp.Expr, listed: list[exp.Expr], scope: Scope, only: Expr | None) -> Aggregation:
    values = [expression(each, scope) for each in listed]
    if only is not None:
        raise refusal(node, because="distinct values are counted of all rows", instead="the condition in WHERE")
    if scope.is_unit(values):
        return of_rows.count_units()
    fact = scope.fact(values[0]) if len(values) == 1 else None
    if fact is None or fact.keys is None:
        unit = ", ".join(scope.table.unit.columns)
        raise refusal(
            node,
            because="distinct values are counted of the privacy unit, or of a column whose keys the catalog declares",
            instead=f"COUNT(DISTINCT {unit})" if unit else "keys: [...] for the column in the catalog",
        )
    return of_rows.count_distinct(values[0])


def _of_value(
    verb: _Verb, node: exp.Expr, operand: exp.Expr, scope: Scope, bounds: _BoundsByPlace, only: Expr | None
) -> Aggregation:
    inner, clamped = _clipping(operand)
    value = expression(inner, scope)
    named = _named_bounds(node, bounds, scope)
    if named is not None and clamped is not None:
        raise refusal(node, because="it has bounds twice", instead=f"{PER_ROW} => (0, 10), or LEAST and GREATEST")
    known = named or clamped or _catalog_bounds(value, scope)
    if known is None:
        name = sql_text(inner, scope.dialect)
        raise refusal(
            node,
            because="its values have no bounds, so one unit could change the answer without limit",
            instead=f"LEAST(GREATEST({name}, 0), 100) in the place of {name}, with bounds from public knowledge, "
            "or bounds in the catalog",
        )
    is_declared = only is None and known == _catalog_bounds(value, scope)
    counted = value if only is None else when(only, value)
    return verb(counted) if is_declared else verb(counted, bounds=known)


def _catalog_bounds(value: Expr, scope: Scope) -> Bounds | None:
    """Bounds from the catalog, or of the constants and columns that a CASE chooses from."""
    node = value.node
    if isinstance(node, logical.Case):
        chosen = [each for _, each in node.branches] + ([] if node.otherwise is None else [node.otherwise])
        known = [_catalog_bounds(Expr(each), scope) for each in chosen]
        found = [pair for pair in known if pair is not None]
        return (min(low for low, _ in found), max(high for _, high in found)) if len(found) == len(known) else None
    if isinstance(node, logical.Literal):
        is_number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        return (Fraction(node.value), Fraction(node.value)) if is_number else None  # type: ignore[arg-type]
    fact = scope.fact(value)
    return None if fact is None or fact.bounds is None else (Fraction(fact.bounds[0]), Fraction(fact.bounds[1]))


def call_start(node: exp.Expr) -> int:
    """Where the name of an aggregate begins; -1 where it is not known."""
    while isinstance(node, exp.Filter | exp.Bracket):
        node = node.this
    return int(node.meta.get("start", -1))


def _bounds_by_name(node: exp.Expr, bounds: _BoundsByPlace) -> NamedBounds | None:
    return bounds.get(call_start(node))


def _named_bounds(node: exp.Expr, bounds: _BoundsByPlace, scope: Scope) -> Bounds | None:
    """Bounds given by name. Those of a group hold for the sum of a unit's rows, which must then be one row."""
    named = _bounds_by_name(node, bounds)
    if named is None:
        return None
    table = scope.table
    is_one_row = table.unit.is_row or scope.has_one_row_each or 1 in (table.max_rows, table.max_rows_per_group)
    if named.name == PER_GROUP and not is_one_row:
        low, high = named.bounds
        raise refusal(
            node,
            because="a unit may have several rows in a group, and values are clipped row by row",
            instead=f"{PER_ROW} => ({low}, {high}), which clips each row",
        )
    return named.bounds


def _clipping(node: exp.Expr) -> tuple[exp.Expr, Bounds | None]:
    """The value inside LEAST(GREATEST(x, 0), 10), GREATEST(LEAST(x, 10), 0) or CLAMP(x, 0, 10), and its bounds."""
    node = node.unnest()
    if isinstance(node, exp.Anonymous) and str(node.this).upper() == "CLAMP" and len(node.expressions) == 3:
        inner, low, high = node.expressions
        return inner, _pair(node, constant_of(low, "a bound"), constant_of(high, "a bound"))
    outer, inner = _limit(node), None
    if outer is not None:
        inner = _limit(outer[0])
    if outer is None or inner is None or type(node) is type(outer[0].unnest()):
        return node, None
    limits = {type(node): outer[1], type(outer[0].unnest()): inner[1]}
    return inner[0], _pair(node, limits[exp.Greatest], limits[exp.Least])


def _limit(node: exp.Expr) -> tuple[exp.Expr, Any] | None:
    node = node.unnest()
    if not isinstance(node, exp.Least | exp.Greatest):
        return None
    value, others, _ = arguments(node, "this", "expressions", "ignore_nulls")
    if len(others) != 1:
        return None
    limit = literal(others[0])
    return (value, limit) if isinstance(limit, int | Decimal) else None


def _pair(node: exp.Expr, low: Any, high: Any) -> Bounds:
    if not all(isinstance(each, int | Decimal) and not isinstance(each, bool) for each in (low, high)) or low > high:
        raise refusal(node, because="bounds are two numbers, the lower one first", instead="LEAST(GREATEST(x, 0), 100)")
    return Fraction(low), Fraction(high)


def _quantile(node: exp.Expr) -> tuple[exp.Expr | None, Any]:
    """The operand and the probability of a quantile in any of its forms; nothing where it is not one."""
    if isinstance(node, exp.WithinGroup):
        inner, order = arguments(node, "this", "expression")
        if isinstance(inner, exp.PercentileCont | exp.PercentileDisc):
            (share,) = arguments(inner, "this")
            (listed,) = arguments(order, "expressions")
            if len(listed) != 1:
                raise refusal(node, because="a quantile has one column", instead="WITHIN GROUP (ORDER BY x)")
            (ordered,) = listed
            operand, _, desc = arguments(ordered, "this", "nulls_first", "desc")
            probability = _probability(share)
            return operand, 1 - probability if desc else probability
    if _is_element_of_quantiles(node):
        return _element_of_quantiles(node)
    if isinstance(node, _QUANTILES):
        name = "quantile" if isinstance(node, exp.Quantile | exp.ApproxQuantile) else "expression"
        operand, share = arguments(node, "this", name)
        if share is not None:
            return operand, _probability(share)
    return None, None


def _is_element_of_quantiles(node: exp.Expr) -> bool:
    return isinstance(node, exp.Bracket) and isinstance(node.this, exp.ApproxQuantiles)


def _element_of_quantiles(node: exp.Expr) -> tuple[exp.Expr, Fraction]:
    """APPROX_QUANTILES(x, n)[OFFSET(i)] is the quantile i / n."""
    inner, places, offset, _ = arguments(node, "this", "expressions", "offset", "safe")
    operand, parts = arguments(inner, "this", "expression")
    if parts is None or len(places) != 1:
        raise refusal(node, because="one quantile is taken", instead="APPROX_QUANTILES(x, 100)[OFFSET(50)]")
    number, place = constant_of(parts, "the number of parts"), constant_of(places[0], "an offset")
    at = place - (offset or 0) if type(place) is int else 0
    if not (type(number) is int and type(place) is int and 0 < at < number):
        raise refusal(node, because="the ends of the quantiles are one person's values", instead="[OFFSET(1)]")
    return operand, Fraction(at, number)


def _probability(node: exp.Expr) -> Fraction:
    value = constant_of(node, "a probability")
    if not isinstance(value, int | Decimal) or isinstance(value, bool) or not 0 < value < 1:
        raise refusal(node, because="a probability is above 0 and below 1", instead="0.5")
    return Fraction(value)
