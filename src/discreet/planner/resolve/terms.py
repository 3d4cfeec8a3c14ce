"""Typed terms: constants, casts and values brought to one type, or an error that says what does not fit."""

import datetime as dt
from typing import Any

from discreet.catalog.catalog import NUMERIC, UNSTRUCTURED, ColumnType, Value, is_of_type, python_value
from discreet.errors import ParameterError, TypeMismatchError
from discreet.plan import logical
from discreet.plan.physical import Apply, Constant, Operator, Read, Term

_CASTS: dict[ColumnType, Operator] = {
    ColumnType.INTEGER: "to_integer",
    ColumnType.REAL: "to_real",
    ColumnType.TEXT: "to_text",
    ColumnType.DATE: "to_date",
    ColumnType.TIMESTAMP: "to_timestamp",
}
CASTABLE: dict[ColumnType, tuple[ColumnType, ...]] = {
    ColumnType.INTEGER: (ColumnType.REAL, ColumnType.TEXT),
    ColumnType.REAL: (ColumnType.INTEGER,),
    ColumnType.TEXT: (ColumnType.INTEGER, ColumnType.REAL, ColumnType.DATE, ColumnType.TIMESTAMP),
    ColumnType.BOOLEAN: (ColumnType.INTEGER,),
    ColumnType.DATE: (ColumnType.TIMESTAMP, ColumnType.TEXT),
    ColumnType.TIMESTAMP: (ColumnType.DATE,),
}


EXAMPLES: dict[ColumnType, str] = {
    ColumnType.INTEGER: "40",
    ColumnType.REAL: "12.5",
    ColumnType.TEXT: '"A"',
    ColumnType.BOOLEAN: "True",
    ColumnType.DATE: '"2026-01-31"',
    ColumnType.TIMESTAMP: '"2026-01-31 12:00"',
}


def constant(value: Value | logical.Scalar, kind: ColumnType, place: str) -> logical.Scalar:
    """A value as a constant of the type; dates may be written as ISO text."""
    plain: Any = python_value(value)
    if kind is not ColumnType.TEXT and isinstance(plain, str):
        plain = _parse_date(plain, kind, place)
    if isinstance(plain, dt.datetime) and plain.tzinfo is not None:
        plain = plain.astimezone(dt.UTC).replace(tzinfo=None)
    if not is_of_type(plain, kind):
        raise _unfit(plain, kind, place)
    result: logical.Scalar = plain + 0.0 if kind is ColumnType.REAL else plain
    return result


def _unfit(value: object, kind: ColumnType, place: str) -> ParameterError | TypeMismatchError:
    if kind is ColumnType.TEXT and isinstance(value, str):
        return ParameterError(
            f"a text in {place} with a NUL or half a character",
            because="no engine stores such text in one way",
            instead='plain text, such as "A"',
        )
    return TypeMismatchError(
        f"{value!r} in {place}",
        because=f"it is compared with values of type {kind}",
        instead=f"a constant of type {kind}, such as {EXAMPLES[kind]}",
    )


def cast(term: Term, kind: ColumnType) -> Term:
    """A total cast, where the pair of types has one."""
    if term.type is kind:
        return term
    if kind not in CASTABLE.get(term.type, ()):
        raise TypeMismatchError(
            f"a cast from {term.type} to {kind}",
            because="the two have no cast that means the same on every engine",
            instead=" or ".join(f"{term_text(term)}.cast({str(to)!r})" for to in CASTABLE.get(term.type, ()))
            or f"{term_text(term)}.is_missing()",
        )
    return Apply(_CASTS[kind], (term,), kind)


def alike(left: Term, right: Term, operator: str) -> tuple[Term, Term]:
    """Both sides in one type: numbers widen, and a text constant beside a date is read as one."""
    refuse_documents(left, right)
    if isinstance(right, Constant) and right.type is not left.type:
        right = _widened_constant(right, left.type)
    if isinstance(left, Constant) and left.type is not right.type:
        left = _widened_constant(left, right.type)
    if left.type is right.type:
        return left, right
    if left.type in NUMERIC and right.type in NUMERIC:
        return cast(left, ColumnType.REAL), cast(right, ColumnType.REAL)
    if {left.type, right.type} == {ColumnType.DATE, ColumnType.TIMESTAMP}:
        return cast(left, ColumnType.TIMESTAMP), cast(right, ColumnType.TIMESTAMP)
    raise TypeMismatchError(
        f"{operator} between {term_text(left)} of type {left.type} and {term_text(right)} of type {right.type}",
        because="values of different types are never equal, and never in order",
        instead=f"{term_text(left)} {operator} {EXAMPLES[left.type]}" + _cast_between(left, right),
    )


def _cast_between(left: Term, right: Term) -> str:
    for side, other in ((left, right), (right, left)):
        if other.type in CASTABLE[side.type] and not isinstance(side, Constant):
            return f", or {term_text(side)}.cast({str(other.type)!r}) beside {term_text(other)}"
    return ""


def _widened_constant(term: Constant, kind: ColumnType) -> Constant:
    if kind in (ColumnType.DATE, ColumnType.TIMESTAMP) and term.type is ColumnType.TEXT:
        return Constant(constant(term.value, kind, "a comparison"), kind)
    return term


def require_condition(term: Term, place: str) -> Term:
    """A term that is true or false."""
    if term.type is not ColumnType.BOOLEAN:
        raise TypeMismatchError(
            f"{place} of {term_text(term)}, which is of type {term.type}",
            because="a condition is true or false",
            instead=f"{term_text(term)} == {EXAMPLES[term.type]}"
            if term.type in EXAMPLES
            else f"{term_text(term)}.is_missing()",
        )
    return term


def refuse_documents(*terms: Term) -> None:
    """Documents and binary values stand in no expression."""
    for term in terms:
        if term.type in UNSTRUCTURED:
            raise TypeMismatchError(
                f"{term_text(term)} of type {term.type} in an expression",
                because="documents and binary values have no values that are public in advance",
                instead=f"{term_text(term)}.is_missing(), or a column that the owner extracted from it",
            )


def _parse_date(text: str, kind: ColumnType, place: str) -> object:
    try:
        if kind is ColumnType.DATE:
            return dt.date.fromisoformat(text)
        return dt.datetime.fromisoformat(text) if kind is ColumnType.TIMESTAMP else text
    except ValueError:
        raise TypeMismatchError(
            f"{text!r} in {place}", because=f"it is no {kind} in ISO form", instead=EXAMPLES[kind]
        ) from None


def term_text(term: Term) -> str:
    """A column or a constant as it could be typed."""
    if isinstance(term, Read):
        return f"table[{term.column!r}]"
    return repr(term.value) if isinstance(term, Constant) else "(...)"
