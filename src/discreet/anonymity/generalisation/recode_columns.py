"""Recoding of one column: clipped at bottom and top, then taken to a level of its hierarchy."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymity.classes.cube import Codes
from discreet.anonymity.generalisation.hierarchies.base import EVERYTHING, plain_values, text_of
from discreet.anonymity.generalisation.levels import GeneralisationLevels
from discreet.anonymity.generalisation.sources import LevelsOfValues, levels_of_column
from discreet.errors import NameNotFoundError, ParameterError, TypeMismatchError, suggestion
from discreet.exact.numbers import Number, rational, whole

Bound = Number | dt.date
Hierarchy = LevelsOfValues | GeneralisationLevels
Rule = tuple[Hierarchy, int] | int | None

_EXAMPLE = '{"age": (dp.anonymity.hierarchies.digits(1), 1), "sex": 0, "disease": None}'


@dataclass(frozen=True)
class ColumnRule:
    """What happens to one column; a column that is not a quasi-identifier is published as it is."""

    name: str
    hierarchy: Hierarchy | None
    level: int
    is_quasi: bool
    bottom: Bound | None = None
    top: Bound | None = None

    @property
    def text(self) -> str:
        """The rule in a few words, for the history of the dataset."""
        clips = [f"{word} {bound}" for word, bound in (("bottom", self.bottom), ("top", self.top)) if bound is not None]
        step = [f"level {self.level}"] if self.is_quasi else []
        return f"{self.name} ({', '.join([*step, *clips])})" if step or clips else self.name


@dataclass(frozen=True)
class CodedColumn:
    """A column as codes into its published values."""

    codes: Codes
    values: pa.Array


def rules_of(recoding: object, top: Mapping[str, Bound], bottom: Mapping[str, Bound]) -> list[ColumnRule]:
    """The rules of all columns, checked before a row is read."""
    if not isinstance(recoding, Mapping) or not recoding:
        raise ParameterError(
            f"recoding of type {type(recoding).__name__}",
            because="it maps at least one column to a hierarchy and a level",
            instead=f"recoding={_EXAMPLE}",
        )
    for name in (*top, *bottom):
        if name not in recoding:
            raise NameNotFoundError(
                f"top or bottom of {name!r}",
                because="the column is not in the recoding",
                instead=suggestion(str(name), map(str, recoding)),
            )
    return [_rule(name, rule, bottom.get(name), top.get(name)) for name, rule in recoding.items()]


def recode_column(column: pa.ChunkedArray, rule: ColumnRule) -> CodedColumn:
    """The column clipped, and at its level; level 0 keeps the type of the column."""
    encoded = _clip(plain_values(column), rule).dictionary_encode(null_encoding="encode")
    codes: Codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    if rule.level == 0 or rule.hierarchy is None:
        return CodedColumn(codes, encoded.dictionary)
    levels = levels_of_column(rule.name, rule.hierarchy, encoded.dictionary)
    if rule.level > levels.height:
        raise ParameterError(
            f"level {rule.level} of {rule.name!r}",
            because=f"its hierarchy has the levels 0 to {levels.height}",
            instead=f"level {levels.height}, the coarsest",
        )
    return CodedColumn(levels.codes[rule.level][codes], pa.array(levels.labels[rule.level], pa.large_string()))


def with_suppression(column: CodedColumn, cells: np.typing.NDArray[np.bool_]) -> CodedColumn:
    """The column as text in which some cells are `*`."""
    texts = text_of(column.values)
    place = pc.index(texts, pa.scalar(EVERYTHING, pa.large_string())).as_py()
    if place < 0:
        place, texts = len(texts), pa.concat_arrays([texts, pa.array([EVERYTHING], pa.large_string())])
    return CodedColumn(np.where(cells, place, column.codes), texts)


def _rule(name: object, rule: Any, bottom: Bound | None, top: Bound | None) -> ColumnRule:
    if rule is None:
        return ColumnRule(str(name), None, 0, False, bottom, top)
    hierarchy, level = rule if isinstance(rule, tuple) and len(rule) == 2 else (None, rule)
    is_known = isinstance(hierarchy, Hierarchy) or (hierarchy is None and level == 0)
    if not isinstance(name, str) or not is_known or isinstance(level, bool):
        raise ParameterError(
            f"recoding of {name!r}",
            because="a column has a hierarchy and a level, 0, or None",
            instead=f"recoding={_EXAMPLE}",
        )
    return ColumnRule(name, hierarchy, whole(level, "level", least=0), True, bottom, top)


def _clip(values: pa.Array, rule: ColumnRule) -> pa.Array:
    bounds = [None if each is None else _bound(each, values.type, rule.name) for each in (rule.bottom, rule.top)]
    low, high = bounds
    if low is not None and high is not None and pc.greater(low, high).as_py():
        raise ParameterError(
            f"bottom={rule.bottom} and top={rule.top} of {rule.name!r}",
            because="bottom must not be above top",
            instead=f"bottom={rule.top}, top={rule.bottom}",
        )
    # a null stays null: by default Arrow would put the bound in its place
    if low is not None:
        values = pc.max_element_wise(values, low, skip_nulls=False)
    if high is not None:
        values = pc.min_element_wise(values, high, skip_nulls=False)
    return values


def _bound(bound: Any, kind: pa.DataType, name: str) -> pa.Scalar:
    is_day = isinstance(bound, dt.date) and not isinstance(bound, dt.datetime)
    try:
        if pa.types.is_integer(kind):
            number = rational(bound, "the bound")
            if number.denominator == 1:
                return pa.scalar(number.numerator, kind)
        elif pa.types.is_floating(kind):
            return pa.scalar(float(rational(bound, "the bound")), kind)
        elif pa.types.is_date(kind) and is_day:
            return pa.scalar(bound, kind)
        elif pa.types.is_timestamp(kind) and isinstance(bound, dt.date):
            return pa.scalar(dt.datetime.combine(bound, dt.time()) if is_day else bound, kind)
    except (pa.ArrowException, OverflowError):
        pass
    raise TypeMismatchError(
        f"{bound!r} as bottom or top of {name!r}, a column of type {kind}",
        because="numbers are clipped at numbers of their type, dates at dates",
        instead="a whole number for whole numbers, or a hierarchy without top and bottom",
    )
