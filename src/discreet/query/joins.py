"""Joins and features of units, as people write them: visits.join(wards, on="ward"), visits.per_unit(n=dp.count()).

What a join may do is decided by analysis, against the catalog; here names and pairs of names are made of what was said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import ParameterError, TypeMismatchError, short_traceback
from discreet.exact.numbers import whole
from discreet.plan import logical
from discreet.query.aggregates import Aggregation
from discreet.query.expression import Expr
from discreet.query.expression_text import expression_text

_PAIRS = 'on="ward", on=["patient_id", "visit_id"], or on={"ward_id": "id"}'


@dataclass(frozen=True)
class OfUnit:
    """A feature that only a unit has, for `per_unit`."""

    measure: logical.UnitExtreme


@short_traceback
def smallest(column: str | Expr) -> OfUnit:
    """Smallest value among the rows of one unit, for `per_unit`.

    Args:
        column: Name of a column, or an expression.

    Returns:
        A feature of a unit.

    Raises:
        TypeMismatchError: If `column` is neither a name nor an expression.

    Example:
        >>> import discreet as dp
        >>> patients = dp.table("visits").per_unit(youngest=dp.smallest("age"))
    """
    return OfUnit(logical.UnitExtreme(_operand(column, "smallest"), is_largest=False))


@short_traceback
def largest(column: str | Expr) -> OfUnit:
    """Largest value among the rows of one unit, for `per_unit`.

    Args:
        column: Name of a column, or an expression.

    Returns:
        A feature of a unit.

    Raises:
        TypeMismatchError: If `column` is neither a name nor an expression.

    Example:
        >>> import discreet as dp
        >>> patients = dp.table("visits").per_unit(oldest=dp.largest("age"))
    """
    return OfUnit(logical.UnitExtreme(_operand(column, "largest"), is_largest=True))


def only_of_a_unit(name: str, feature: OfUnit) -> TypeMismatchError:
    """The refusal of a feature of units where an aggregate of all rows is asked for."""
    verb, share = ("largest", "0.99") if feature.measure.is_largest else ("smallest", "0.01")
    operand = feature.measure.operand
    column = f'"{operand.name}"' if isinstance(operand, logical.ColumnRef) else expression_text(operand)
    return TypeMismatchError(
        f"agg({name}=dp.{verb}(...))",
        because=f"the {verb} value of a table is one person's; dp.{verb} is per unit",
        instead=f"agg({name}=dp.quantile({column}, {share}, bounds=(0, 100))), "
        f'or per_unit({name}=dp.{verb}({column})).agg(average=dp.mean("{name}", bounds=(0, 100)))',
    )


def join(
    source: logical.Relation, other: logical.Relation, on: object, how: object, names: object, max_rows: int | None
) -> logical.Join:
    """The plan of a join with a table of the catalog."""
    if not isinstance(other, logical.TableRef):
        raise ParameterError(
            "a join with a table that has conditions or columns of its own",
            because="what is joined is a table of the catalog as it is",
            instead='.join(dp.table("wards"), on="ward"), and where(...) or derive(...) after it',
        )
    if how not in ("inner", "left"):
        raise ParameterError(
            f"how={how!r}",
            because="every row must come from a unit of this table",
            instead='how="inner" or how="left"',
        )
    given: Any = names or {}
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for pair in given.items() for each in pair):
        raise ParameterError(
            f"names of type {type(given).__name__}",
            because="they say what columns of the other table are called here",
            instead='names={"name": "ward_name"}',
        )
    most = None if max_rows is None else whole(max_rows, "max_rows")
    return logical.Join(source, other.name, _pairs(on), how, tuple(given.items()), most)


def per_unit(source: logical.Relation, features: Mapping[str, object]) -> logical.GroupByUnit:
    """The plan of features, one row for each unit."""
    if not features:
        raise ParameterError("per_unit() of nothing", because="it has no features", instead="per_unit(n=dp.count())")
    for name, value in features.items():
        if not isinstance(value, Aggregation | OfUnit):
            raise TypeMismatchError(
                f"per_unit({name}=...) of type {type(value).__name__}",
                because="a feature is an aggregate of the rows of one unit",
                instead=f'per_unit({name}=dp.count()), dp.sum("cost", bounds=(0, 1000)), dp.largest("age")',
            )
    made = (logical.UnitFeature(n, v.measure) for n, v in features.items() if isinstance(v, Aggregation | OfUnit))
    return logical.GroupByUnit(source, tuple(made))


def table_of(other: object, kind: type[Any]) -> Any:
    """The other side of a join, which is a table too."""
    if isinstance(other, kind):
        return other
    name = other if isinstance(other, str) else "wards"
    raise ParameterError(
        f"a join with a thing of type {type(other).__name__}",
        because="only public tables, or tables of the same unit, are joined",
        instead=f'.join(dp.table("{name}"), on=...)',
    )


def _pairs(on: object) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[object, object]] = []
    if isinstance(on, str):
        pairs = [(on, on)]
    elif isinstance(on, Mapping):
        pairs = list(on.items())
    elif isinstance(on, Sequence):
        pairs = [(each, each) for each in on]
    known = tuple((one, other) for one, other in pairs if isinstance(one, str) and isinstance(other, str))
    if not known or len(known) != len(pairs) or any(len(set(side)) < len(known) for side in zip(*known, strict=True)):
        raise ParameterError(
            "a join without pairs of columns, each once", because="rows meet where columns are equal", instead=_PAIRS
        )
    return known


def _operand(column: object, verb: str) -> logical.Expression:
    if isinstance(column, str):
        return logical.ColumnRef(column)
    if isinstance(column, Expr):
        return column.node
    raise TypeMismatchError(
        f"dp.{verb} of type {type(column).__name__}",
        because="it takes a column, by name or as an expression",
        instead=f'dp.{verb}("age")',
    )
