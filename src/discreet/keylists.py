"""Public keys as people give them: lists by column, or the rows of a public table."""

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from discreet import plan
from discreet.catalog import Value, python_value
from discreet.errors import NameNotFoundError, ParameterError, suggestion


def read(
    columns: tuple[str, ...], keys: object
) -> tuple[tuple[tuple[Value, ...] | None, ...], tuple[tuple[Value, ...], ...] | None]:
    """What a grouping is told of its keys: a list for each column or None, and the rows of a public table or None."""
    if keys is None:
        return (None,) * len(columns), None
    if isinstance(keys, Mapping):
        stray = [name for name in keys if name not in columns]
        if stray:
            raise ParameterError(
                f"keys for {stray[0]!r}",
                because="it is not among the grouping columns",
                instead=_right_keys(columns, str(stray[0]), keys[stray[0]]),
            )
        lists = {name: listed(keys[name], f"keys of {name!r}", f'keys={{"{name}": ["A", "B"]}}') for name in keys}
        return tuple(lists.get(name) for name in columns), None
    return (None,) * len(columns), _table_rows(columns, keys)


def _right_keys(columns: tuple[str, ...], stray: str, keys: object) -> str:
    """The keys under the name that was meant, or the grouping with one more column."""
    nearest = suggestion(stray, columns)
    if nearest in columns:
        return f'keys={{"{nearest}": {_shown_keys(keys)}}}'
    return f"group_by({', '.join(map(repr, (*columns, stray)))}, keys=...)"


def listed(values: object, what: str, example: str) -> tuple[Value, ...]:
    """Values as they were listed, no more of them than a release can have."""
    if isinstance(values, str | bytes | set | frozenset) or not isinstance(values, Iterable):
        raise ParameterError(
            f"{what} of type {type(values).__name__}", because="they are a list, in the order wanted", instead=example
        )
    listed = tuple(itertools.islice(values, plan.MOST_KEYS + 1))
    return listed if set(map(type, listed)) <= {int, str} else tuple(map(_key, listed))


def _key(value: object) -> Value:
    """A key as plain Python; the NaN of pandas and numpy is the missing key."""
    plain: Any = python_value(value)
    return None if isinstance(plain, float) and plain != plain else plain  # noqa: PLR0124 - only NaN differs from itself


def _table_rows(columns: tuple[str, ...], keys: Any) -> tuple[tuple[Value, ...], ...]:
    """The rows of a public table (Arrow, pandas, Polars), for the grouping columns alone, each once."""
    frame = keys.to_arrow() if hasattr(keys, "to_arrow") else keys
    is_pandas = hasattr(frame, "itertuples")
    if not is_pandas and not hasattr(frame, "column_names"):
        raise ParameterError(
            f"keys of type {type(keys).__name__}",
            because="keys are a dict of lists, or a public table (Arrow, pandas, Polars)",
            instead=f'keys={{"{columns[0]}": {_shown_keys(keys)}}}',
        )
    names = list(frame.columns if is_pandas else frame.column_names)
    for name in columns:
        if names.count(name) != 1:
            raise NameNotFoundError(
                f"column {name!r} of a table of keys",
                because="the table does not have it exactly once",
                instead=f"a table with {suggestion(name, map(str, names))!r} renamed to {name!r}",
            )
    cells = [_pandas_cells(frame[name]) if is_pandas else frame.column(name).to_pylist() for name in columns]
    return tuple(dict.fromkeys(tuple(map(_key, row)) for row in zip(*cells, strict=True)))


def _shown_keys(keys: object) -> str:
    """Keys that were given without their column, as far as they can be shown on a line."""
    if isinstance(keys, range):
        return repr(keys)
    if not isinstance(keys, list | tuple) or not 0 < len(keys) <= 12:
        return '["A", "B"]'
    return f"[{', '.join(json.dumps(key, ensure_ascii=False) if isinstance(key, str) else repr(key) for key in keys)}]"


def _pandas_cells(column: Any) -> list[Any]:
    """Cells of a pandas column, which holds whole numbers as floats where one is missing."""
    return [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in column]
