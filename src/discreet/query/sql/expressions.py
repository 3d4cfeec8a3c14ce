"""Scalar expressions of a statement: each accepted node has one translation, and every other node is refused."""

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

from sqlglot import exp

from discreet.catalog.catalog import ColumnType
from discreet.errors import SqlError
from discreet.plan import logical
from discreet.query.conditional import when
from discreet.query.expression import Expr, as_expr
from discreet.query.sql.constants import ARITHMETIC, combine
from discreet.query.sql.limits import number
from discreet.query.sql.nodes import ACCEPTED, arguments, refusal, sql_text
from discreet.query.sql.scope import Scope

_TYPES: dict[exp.DType, str] = {
    **dict.fromkeys((exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT), "integer"),
    **dict.fromkeys((exp.DType.DOUBLE, exp.DType.FLOAT), "real"),
    **dict.fromkeys((exp.DType.VARCHAR, exp.DType.TEXT), "text"),
    exp.DType.DATE: "date",
    **dict.fromkeys((exp.DType.TIMESTAMP, exp.DType.DATETIME, exp.DType.TIMESTAMPNTZ), "timestamp"),
}
_ISO = {
    "date": re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "timestamp": re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?"),
}
_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute")
_UNIT_NAMES = {"MM": "month", "MON": "month", "YYYY": "year", "YY": "year", "ISOWEEK": "week", "WEEK(MONDAY)": "week"}
_PARTS = {"YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "DAY": "day", "HOUR": "hour", "ISODOW": "weekday"}

Translation = Callable[[Any, Scope], Expr]


def expression(node: exp.Expr, scope: Scope) -> Expr:
    """The expression of a node, over columns of the frame."""
    if not isinstance(node, exp.Expr):
        raise SqlError("a call without its argument", because="nothing stands in its brackets", instead=ACCEPTED)
    translation = TRANSLATIONS.get(type(node))
    if translation is None:
        raise _no_translation(node)
    return translation(node, scope)


def literal(node: exp.Expr) -> Any:
    """The constant that a node is; None where it is not one."""
    match node:
        case exp.Literal():
            return node.this if node.is_string else _number(node)
        case exp.Boolean():
            return bool(node.this)
        case exp.Neg():
            inner = literal(node.this)
            return -inner if isinstance(inner, int | Decimal) and not isinstance(inner, bool) else None
        case exp.Paren():
            return literal(node.this)
        case exp.Cast() | exp.TryCast() if isinstance(node.this, exp.Literal) and node.this.is_string:
            return _moment(node)
    return None


def constant(node: exp.Expr) -> Any:
    """The constant that a node is, or that arithmetic of constants gives; None where it is not one."""
    inner = node.unnest()
    if not isinstance(inner, ARITHMETIC):
        return literal(node)
    if inner.meta.get(_VARIES):  # or a long sum would be looked through once for each of its terms
        return None
    left, right = arguments(inner, "this", "expression")
    found = combine(inner, constant(left), right if isinstance(right, exp.Interval) else constant(right))
    inner.meta[_VARIES] = found is None
    return found


_VARIES = "discreet_varies"


def constant_of(node: exp.Expr, what: str) -> Any:
    """The constant that a node is; anything else is refused."""
    value = literal(node)
    if value is None:
        raise refusal(node, because=f"{what} is a constant", instead="a number, or text in single quotes")
    return value


def operands(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that AND joins at the top of a condition."""
    inner = node.unnest()
    if not isinstance(inner, exp.And):
        return [inner]
    return [*operands(inner.this), *operands(inner.expression)]


def has_fraction(node: logical.Expression, scope: Scope) -> bool:
    """Whether an expression is a real number in every dialect; sums and products of whole numbers are whole."""
    match node:
        case logical.Literal(value):
            return isinstance(value, float)
        case logical.Combine("/", _, _):
            return True
        case logical.Combine(_, left, right):
            return has_fraction(left, scope) or has_fraction(right, scope)
        case logical.Case(branches, otherwise):
            chosen = [value for _, value in branches] + ([] if otherwise is None else [otherwise])
            return any(has_fraction(value, scope) for value in chosen)
        case logical.ColumnRef() | logical.Cast():
            return scope.kind(Expr(node)) is ColumnType.REAL
    return False


def _number(node: exp.Literal) -> int | Decimal:
    text = str(node.this)
    if number(text) is None:
        raise refusal(node, because="it is not a plain number", instead="12 or 12.5")
    return int(text) if text.isascii() and text.isdigit() else Decimal(text)


def _moment(node: exp.Cast) -> dt.date | None:
    """A constant date or time. A text with a zone is refused, as dialects read it in different ways; times are UTC."""
    _, to = arguments(node, "this", "to")
    kind = "timestamp" if to.this is exp.DType.TIMESTAMPTZ else _TYPES.get(to.this)
    read = {"date": dt.date.fromisoformat, "timestamp": dt.datetime.fromisoformat}.get(str(kind))
    if read is None or to.expressions:
        return None
    text = str(node.this.this)
    try:
        if _ISO[str(kind)].fullmatch(text):
            return read(text)
    except ValueError:
        pass
    raise refusal(
        node,
        because=f"the text is not a {kind} in ISO form without a zone",
        instead="DATE '2026-01-31' or TIMESTAMP '2026-01-31 12:00'",
    )


def _constant(node: exp.Expr, _: Scope) -> Expr:
    return as_expr(literal(node))


def _two(build: Callable[[Expr, Expr], Expr]) -> Translation:
    def translate(node: exp.Expr, scope: Scope) -> Expr:
        left, right = arguments(node, "this", "expression")
        _refuse_null(node, left, right)
        return build(expression(left, scope), expression(right, scope))

    return translate


def _arithmetic(build: Callable[[Expr, Expr], Expr]) -> Translation:
    """Arithmetic of expressions; that of constants is computed here, exactly."""
    of_expressions = _two(build)

    def translate(node: exp.Expr, scope: Scope) -> Expr:
        known = constant(node)
        return of_expressions(node, scope) if known is None else as_expr(known)

    return translate


def _comparison(build: Callable[[Expr, Expr], Expr], mirror: Callable[[Expr, Expr], Expr]) -> Translation:
    """A comparison; a constant on its left side changes place, as in Python, so that 'A' = ward is ward = 'A'."""

    def turned(left: Expr, right: Expr) -> Expr:
        is_turned = isinstance(left.node, logical.Literal) and not isinstance(right.node, logical.Literal)
        return mirror(right, left) if is_turned else build(left, right)

    return _two(turned)


def _refuse_null(node: exp.Expr, *sides: exp.Expr) -> None:
    if any(isinstance(side, exp.Null) for side in sides):
        raise refusal(node, because="a comparison with NULL is never true", instead="x IS NULL, or x IS NOT NULL")


def _divide(node: exp.Div, scope: Scope) -> Expr:
    left, right, is_typed = arguments(node, "this", "expression", "typed")
    one, other = expression(left, scope), expression(right, scope)
    if is_typed and not (has_fraction(one.node, scope) or has_fraction(other.node, scope)):
        raise refusal(
            node,
            because="in this dialect whole numbers divided by whole numbers lose their fraction",
            instead=f"1.0 * {sql_text(node, scope.dialect)}",
        )
    return one / other


def _not(node: exp.Not, scope: Scope) -> Expr:
    (operand,) = arguments(node, "this")
    return ~expression(operand, scope)


def _is(node: exp.Is, scope: Scope) -> Expr:
    left, right, is_negated = arguments(node, "this", "expression", "negate")
    if not isinstance(right, exp.Null):
        raise refusal(node, because="IS is read with NULL alone", instead="x IS NULL, or x = TRUE")
    is_missing = expression(left, scope).is_missing()
    return ~is_missing if is_negated else is_missing


def _in(node: exp.In, scope: Scope) -> Expr:
    if isinstance(node.args.get("query"), exp.Expr):
        raise refusal(node, because=_INSTEAD[exp.Subquery][0], instead="a JOIN, or ward IN ('A', 'B')")
    operand, values = arguments(node, "this", "expressions")
    if not values:
        raise refusal(node, because="IN takes a list of constants", instead="ward IN ('A', 'B')")
    return expression(operand, scope).is_in([constant_of(value, "an element of IN") for value in values])


def _between(node: exp.Between, scope: Scope) -> Expr:
    operand, low, high = arguments(node, "this", "low", "high")
    value = expression(operand, scope)
    return (value >= expression(low, scope)) & (value <= expression(high, scope))


def _negative(node: exp.Neg, scope: Scope) -> Expr:
    known = literal(node)
    return as_expr(known) if known is not None else -expression(arguments(node, "this")[0], scope)


def _cast(node: exp.Cast, scope: Scope) -> Expr:
    operand, to = arguments(node, "this", "to")
    known = literal(node)
    if known is not None:
        return as_expr(known)
    kind = _TYPES.get(to.this)
    if kind is None or to.expressions:
        raise refusal(
            node,
            because=f"a cast is to {', '.join(sorted(set(_TYPES.values())))}, without a length",
            instead="CAST(x AS BIGINT), CAST(x AS DOUBLE), CAST(x AS VARCHAR), CAST(x AS DATE)",
        )
    arguments(to, "this", "expressions")
    value = expression(operand, scope)
    if kind == "integer" and has_fraction(value.node, scope):
        raise refusal(
            node,
            because="engines round a real number in different ways, or cut it off",
            instead="the number itself: cost >= 12.5, or GROUP BY FLOOR(cost)",
        )
    return value.cast(kind)


def _coalesce(node: exp.Coalesce, scope: Scope) -> Expr:
    first, rest = arguments(node, "this", "expressions")
    value = expression(first, scope)
    for other in rest:
        value = value.fill_missing(expression(other, scope))
    return value


def _case(node: exp.Case, scope: Scope) -> Expr:
    subject, ifs, default = arguments(node, "this", "ifs", "default")
    made: Any = None
    for branch in ifs:
        condition, value = arguments(branch, "this", "true")
        is_met = expression(condition, scope)
        is_met = is_met if subject is None else expression(subject, scope) == is_met
        made = (when if made is None else made.when)(is_met, expression(value, scope))
    return _otherwise(made, default, scope)


def _if(node: exp.If, scope: Scope) -> Expr:
    condition, value, default = arguments(node, "this", "true", "false")
    return _otherwise(when(expression(condition, scope), expression(value, scope)), default, scope)


def _otherwise(made: Any, default: exp.Expr | None, scope: Scope) -> Expr:
    is_missing = default is None or isinstance(default, exp.Null)
    return cast(Expr, made if is_missing else made.otherwise(expression(cast(exp.Expr, default), scope)))


def _like(node: exp.Like, scope: Scope) -> Expr:
    operand, pattern, is_negated = arguments(node, "this", "expression", "negate")
    text = constant_of(pattern, "a pattern")
    value, inner = expression(operand, scope), str(text).strip("%")
    if not isinstance(text, str) or any(sign in inner for sign in "%_\\") or not inner:
        raise refusal(
            node,
            because="a pattern is text with % at its start, its end, or both",
            instead="name LIKE 'A%', name LIKE '%son', name LIKE '%and%'",
        )
    matches = {
        (True, True): lambda: value == inner,
        (True, False): lambda: value.starts_with(inner),
        (False, True): lambda: value.ends_with(inner),
        (False, False): lambda: value.contains(inner),
    }[not text.startswith("%"), not text.endswith("%")]()
    return ~matches if is_negated else matches


def _starts_with(node: exp.StartsWith, scope: Scope) -> Expr:
    operand, text = arguments(node, "this", "expression")
    prefix = constant_of(text, "a prefix")
    if not isinstance(prefix, str):
        raise refusal(node, because="a prefix is text", instead="STARTS_WITH(name, 'A')")
    return expression(operand, scope).starts_with(prefix)


def _truncate(node: exp.Expr, scope: Scope) -> Expr:
    operand, unit = arguments(node, "this", "unit")
    name = _unit_name(unit)
    known = _UNIT_NAMES.get(name, name.lower())
    if known.startswith("week(") or (name == "WEEK" and scope.dialect == "bigquery"):
        raise refusal(node, because="weeks begin on Monday here", instead="DATE_TRUNC(day, WEEK(MONDAY))")
    if known not in _UNITS:
        raise refusal(node, because=f"the units are {', '.join(_UNITS)}", instead="DATE_TRUNC('month', day)")
    return expression(operand, scope).truncate(known)


def _unit_name(unit: exp.Expr | None) -> str:
    if isinstance(unit, exp.WeekStart):
        return f"WEEK({arguments(unit, 'this')[0].name.upper()})"
    return str(unit.this).upper() if isinstance(unit, exp.Var | exp.Literal) else ""


def _extract(node: exp.Extract, scope: Scope) -> Expr:
    part, operand = arguments(node, "this", "expression")
    name = _PARTS.get(str(part.this).upper() if isinstance(part, exp.Var | exp.Literal) else "")
    if name is None:
        raise refusal(
            node,
            because=f"the parts are {', '.join(_PARTS)}",
            instead="EXTRACT(MONTH FROM day), EXTRACT(ISODOW FROM day)",
        )
    return expression(operand, scope).part(name)


def _part(name: str) -> Translation:
    def translate(node: exp.Expr, scope: Scope) -> Expr:
        (operand,) = arguments(node, "this")
        if isinstance(operand, exp.TsOrDsToDate):  # what sqlglot writes around the operand in some dialects
            (operand,) = arguments(operand, "this")
        return expression(operand, scope).part(name)

    return translate


def _range_bucket(node: exp.RangeBucket, scope: Scope) -> Expr:
    operand, edges = arguments(node, "this", "expression")
    if not isinstance(edges, exp.Array):
        raise refusal(node, because="its edges are a list of constants", instead="RANGE_BUCKET(age, [18, 65])")
    return expression(operand, scope).bin([constant_of(edge, "an edge") for edge in edges.expressions])


def _width_bucket(node: exp.WidthBucket, scope: Scope) -> Expr:
    operand, *limits = arguments(node, "this", "min_value", "max_value", "num_buckets")
    constants = [None if each is None else constant_of(each, "a limit of WIDTH_BUCKET") for each in limits]
    if not all(isinstance(each, int | Decimal) and not isinstance(each, bool) for each in constants):
        raise refusal(node, because="its limits are numbers", instead="WIDTH_BUCKET(age, 0, 100, 10)")
    low, high, buckets = (Fraction(each) for each in constants if each is not None)
    if buckets.denominator != 1 or not (1 <= buckets <= logical.MOST_EDGES - 1 and low < high):
        raise refusal(
            node, because="limits increase, and there are 1 bucket or more", instead="WIDTH_BUCKET(age, 0, 100, 10)"
        )
    steps = range(int(buckets) + 1)
    return expression(operand, scope).bin([exact(low + (high - low) * step / buckets) for step in steps])


def exact(value: Fraction) -> int | float:
    """A number as a constant: whole numbers stay whole."""
    return value.numerator if value.denominator == 1 else float(value)


TRANSLATIONS: dict[type[exp.Expr], Translation] = {
    exp.Column: lambda node, scope: scope.column(node),
    exp.Paren: lambda node, scope: expression(arguments(node, "this")[0], scope),
    exp.Literal: _constant,
    exp.Boolean: _constant,
    exp.Neg: _negative,
    exp.EQ: _comparison(lambda a, b: a == b, lambda a, b: a == b),
    exp.NEQ: _comparison(lambda a, b: a != b, lambda a, b: a != b),
    exp.LT: _comparison(lambda a, b: a < b, lambda a, b: a > b),
    exp.LTE: _comparison(lambda a, b: a <= b, lambda a, b: a >= b),
    exp.GT: _comparison(lambda a, b: a > b, lambda a, b: a < b),
    exp.GTE: _comparison(lambda a, b: a >= b, lambda a, b: a <= b),
    exp.And: _two(lambda a, b: a & b),
    exp.Or: _two(lambda a, b: a | b),
    exp.Not: _not,
    exp.Add: _arithmetic(lambda a, b: a + b),
    exp.Sub: _arithmetic(lambda a, b: a - b),
    exp.Mul: _arithmetic(lambda a, b: a * b),
    exp.Div: _divide,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Coalesce: _coalesce,
    exp.Case: _case,
    exp.If: _if,
    exp.Like: _like,
    exp.StartsWith: _starts_with,
    exp.TimestampTrunc: _truncate,
    exp.DateTrunc: _truncate,
    exp.DatetimeTrunc: _truncate,
    exp.Extract: _extract,
    exp.Year: _part("year"),
    exp.Quarter: _part("quarter"),
    exp.Month: _part("month"),
    exp.Day: _part("day"),
    exp.DayOfMonth: _part("day"),
    exp.Hour: _part("hour"),
    exp.WidthBucket: _width_bucket,
    exp.RangeBucket: _range_bucket,
}
"""Every scalar node that is accepted. Decisions for others are in `_INSTEAD`."""

_INSTEAD: dict[type[exp.Expr], tuple[str, str]] = {
    exp.ILike: ("patterns tell capitals from small letters", "name LIKE 'A%' OR name LIKE 'a%'"),
    exp.RegexpLike: ("regular expressions differ from engine to engine", "name LIKE 'A%'"),
    exp.SimilarTo: ("regular expressions differ from engine to engine", "name LIKE 'A%'"),
    exp.Mod: ("% does not mean the same on every engine", "a column that the owner prepared"),
    exp.IntDiv: ("integer division does not mean the same on every engine", "WIDTH_BUCKET(age, 0, 100, 10)"),
    exp.Subquery: ("a subquery inside an expression reads rows of other units", "a JOIN, or a subquery in FROM"),
    exp.Exists: ("a subquery inside an expression reads rows of other units", "a JOIN, or a subquery in FROM"),
    exp.Window: ("a window shows rows of other units beside a row", "GROUP BY"),
    exp.Null: ("NULL is used in IS NULL, and in ELSE", "x IS NULL"),
    exp.Star: ("* stands for columns only inside COUNT(*)", "COUNT(*)"),
    exp.DPipe: ("text is not put together", "GROUP BY of both columns"),
    exp.Rand: ("noise is drawn by discreet alone", "the statement without it"),
    exp.Interval: ("arithmetic with dates differs from engine to engine", "DATE '2026-01-01' + INTERVAL '90' DAY"),
    exp.CurrentDate: ("a statement means the same on every day", "DATE '2026-01-31'"),
    exp.CurrentTimestamp: ("a statement means the same at every time", "TIMESTAMP '2026-01-31 12:00'"),
    exp.Placeholder: ("parameters are not filled in", "the value itself"),
    exp.Parameter: ("parameters are not filled in", "the value itself"),
}


def known_reason(node: exp.Expr) -> SqlError | None:
    """The refusal of a node that has a reason of its own; None for others."""
    for kind, (because, instead) in _INSTEAD.items():
        if isinstance(node, kind):
            return refusal(node, because=because, instead=instead)
    return None


def _no_translation(node: exp.Expr) -> SqlError:
    if (known := known_reason(node)) is not None:
        return known
    if isinstance(node, exp.AggFunc):
        return refusal(
            node,
            because="an aggregate stands in SELECT, HAVING or ORDER BY, and not inside another one",
            instead="HAVING for conditions on aggregates, or a subquery in FROM that groups by the privacy unit",
        )
    if isinstance(node, exp.Func):
        return refusal(
            node, because="no such function is translated", instead=f"a column prepared by the owner; {ACCEPTED}"
        )
    return refusal(node, because=f"{node.key.upper()} has no translation here", instead=ACCEPTED)
