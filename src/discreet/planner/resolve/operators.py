"""Conditional values, text matches and parts of dates as typed terms, or an error that says what does not fit."""

from collections.abc import Sequence

from discreet.catalog.catalog import NUMERIC, ColumnType
from discreet.errors import ParameterError, TypeMismatchError
from discreet.plan import logical
from discreet.plan.physical import Apply, Constant, Operator, Term
from discreet.planner.resolve.terms import CASTABLE, cast, constant, refuse_documents, require_condition, term_text

_TIMES = (ColumnType.DATE, ColumnType.TIMESTAMP)
_MATCHES: dict[logical.TextPlace, Operator] = {
    "starts": "starts_with",
    "ends": "ends_with",
    "contains": "contains",
}
_TRUNCATIONS: dict[logical.TimeUnit, Operator] = {
    "year": "truncate_year",
    "quarter": "truncate_quarter",
    "month": "truncate_month",
    "week": "truncate_week",
    "day": "truncate_day",
    "hour": "truncate_hour",
    "minute": "truncate_minute",
}
_PARTS: dict[logical.CalendarPart, Operator] = {
    "year": "part_year",
    "quarter": "part_quarter",
    "month": "part_month",
    "day": "part_day",
    "weekday": "part_weekday",
    "hour": "part_hour",
}


def case(branches: Sequence[tuple[Term, Term]], otherwise: Term | None) -> Apply:
    """The value of the first condition that is true, with values of one type."""
    if not branches:
        raise ParameterError(
            "a conditional value without conditions",
            because="it has at least one condition",
            instead="dp.when(table.age >= 18, 1).otherwise(0)",
        )
    conditions = [require_condition(each, "when") for each, _ in branches]
    values = _of_one_type([*(value for _, value in branches), *([] if otherwise is None else [otherwise])])
    pairs = zip(conditions, values, strict=False)
    arguments = [part for pair in pairs for part in pair] + values[len(branches) :]
    return Apply("case", tuple(arguments), values[0].type)


def text_match(operand: Term, how: logical.TextPlace, text: str) -> Apply:
    """Whether a text starts or ends with another, or contains it."""
    if operand.type is not ColumnType.TEXT:
        to_text = ColumnType.TEXT in CASTABLE.get(operand.type, ())
        raise TypeMismatchError(
            f"{_MATCHES[how]} of {term_text(operand)}, which is of type {operand.type}",
            because="only text starts with, ends with or contains other text",
            instead=f"{term_text(operand)}.cast('text').{_MATCHES[how]}(...)" if to_text else "a column of type text",
        )
    if not 0 < len(text) <= logical.LONGEST_TEXT:
        raise ParameterError(
            f"{_MATCHES[how]} of a text of {len(text):,} characters",
            because=f"such a text has 1 to {logical.LONGEST_TEXT:,} characters",
            instead=f"{term_text(operand)}.{_MATCHES[how]}('A')",
        )
    wanted = Constant(constant(text, ColumnType.TEXT, _MATCHES[how]), ColumnType.TEXT)
    return Apply(_MATCHES[how], (operand, wanted), ColumnType.BOOLEAN)


def truncate(operand: Term, unit: logical.TimeUnit) -> Apply:
    """The start of the unit that a date or timestamp is in; its type stays."""
    return Apply(_TRUNCATIONS[unit], (_require_time(operand, f"truncate({unit!r})", unit),), operand.type)


def date_part(operand: Term, part: logical.CalendarPart) -> Apply:
    """A number of the calendar."""
    return Apply(_PARTS[part], (_require_time(operand, f"part({part!r})", part),), ColumnType.INTEGER)


def _require_time(operand: Term, call: str, unit: str) -> Term:
    if operand.type not in _TIMES:
        is_text = operand.type is ColumnType.TEXT
        raise TypeMismatchError(
            f"{call} of {term_text(operand)}, which is of type {operand.type}",
            because="only dates and timestamps have years, months and days",
            instead=f"{term_text(operand)}.cast('date').{call}" if is_text else "a column of type date or timestamp",
        )
    if operand.type is ColumnType.DATE and unit in ("hour", "minute"):
        raise TypeMismatchError(
            f"{call} of {term_text(operand)}, which is of type date",
            because=f"a date has no {unit}",
            instead=f"{term_text(operand)}.{call.partition('(')[0]}('day'), or a column of type timestamp",
        )
    return operand


def _of_one_type(values: list[Term]) -> list[Term]:
    """Values in one type: numbers widen to real, dates to timestamps, and text constants beside them are read."""
    refuse_documents(*values)
    times = {value.type for value in values} & set(_TIMES)
    if times:
        widest = ColumnType.TIMESTAMP if ColumnType.TIMESTAMP in times else ColumnType.DATE
        values = [_read_time(value, widest) for value in values]
    kinds = {value.type for value in values}
    if len(kinds) == 1:
        return values
    if kinds <= set(NUMERIC):
        return [cast(value, ColumnType.REAL) for value in values]
    if kinds == set(_TIMES):
        return [cast(value, ColumnType.TIMESTAMP) for value in values]
    first, other = values[0], next(value for value in values if value.type is not values[0].type)
    raise TypeMismatchError(
        f"branches {term_text(first)} of type {first.type} and {term_text(other)} of type {other.type}",
        because="the branches of a conditional value have one type",
        instead=_same_type_instead(first, other),
    )


def _read_time(value: Term, kind: ColumnType) -> Term:
    if isinstance(value, Constant) and value.type is ColumnType.TEXT:
        return Constant(constant(value.value, kind, "a branch"), kind)
    return value


def _same_type_instead(first: Term, other: Term) -> str:
    for one, two in ((first, other), (other, first)):
        if two.type in CASTABLE.get(one.type, ()) and not isinstance(one, Constant):
            return f"{term_text(one)}.cast({str(two.type)!r}) beside {term_text(two)}"
    return "dp.when(table.age >= 18, 1).otherwise(0), with numbers, texts, dates or truths in every branch"
