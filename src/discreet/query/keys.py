"""Keys as people give them: lists by column, the rows of a public table, or a word that they are to be found."""

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

from discreet.catalog.catalog import Value, python_value
from discreet.errors import NameNotFoundError, ParameterError, TypeMismatchError, short_traceback, suggestion
from discreet.exact.numbers import Number, positive, probability, whole
from discreet.plan import logical

_EXAMPLE = '["A", "B"]'
_MOST_SHOWN = 12
_WORDS = ("auto", "automatic", "discover", "unknown", "all")


@dataclass(frozen=True)
class Discover:
    """Keys that are not known, to be found privately."""

    delta: Fraction
    rule: logical.KeyRule | None = None
    at_least: int = 1
    weight: Fraction = Fraction(1)


@short_traceback
def discover(
    *, delta: Number | None = None, rule: logical.KeyRule | None = None, at_least: int = 1, weight: Number = 1
) -> Discover:
    """Partition selection: unknown keys are found privately, for a part of epsilon.

    Args:
        delta: Probability that a key reveals the presence of one unit; the budget must have reserved it.
        rule: "optimal" (keys alone), "laplace" or "gaussian" (with noisy numbers of units). Default: chosen.
        at_least: Keys of fewer units are never released. Default 1.
        weight: Share of the query's privacy cost, relative to its outputs. Default 1.

    Returns:
        A request for `keys=` of `group_by`, or for the candidates of `choose`.

    Raises:
        ParameterError: If delta is missing, or an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> query = dp.table("visits").group_by("ward", keys=dp.discover(delta=1e-10)).agg(n=dp.count())
    """
    if rule is not None and rule not in get_args(logical.KeyRule):
        raise ParameterError(
            f"rule={rule!r}",
            because="keys are kept by one of three rules",
            instead=" or ".join(f"rule={name!r}" for name in get_args(logical.KeyRule)),
        )
    return Discover(_small(delta), rule, whole(at_least, "at_least"), positive(weight, "weight"))


def _small(delta: object) -> Fraction:
    """A delta above zero; text that is a number is told as one."""
    if delta is None:
        raise ParameterError(
            "discover() without a delta",
            because="partition selection needs a delta",
            instead="dp.discover(delta=1e-10)",
        )
    try:
        positive(delta, "delta")
        return probability(delta, "delta")
    except ParameterError as refusal:
        raise ParameterError(
            refusal.what,
            because="delta is a number above 0 and far below 1",
            instead=f"dp.discover(delta={_number_in(delta) or '1e-10'})",
        ) from None


def _number_in(text: object) -> str:
    """A number that was written as text."""
    try:
        return f"{float(text):g}" if isinstance(text, str) and 0 < float(text) < 1 else ""
    except ValueError:
        return ""


def _require_call(columns: tuple[str, ...], keys: object) -> None:
    """Refuse dp.discover without its call, and words for it."""
    told = list(keys.values()) if isinstance(keys, Mapping) else [keys]
    if any(callable(each) or (isinstance(each, str) and each in _WORDS) for each in told):
        named = ", ".join(f'"{name}"' for name in columns)
        raise ParameterError(
            "keys that are not a list" if isinstance(keys, Mapping) else f"keys of type {type(keys).__name__}",
            because="keys are a list, or dp.discover with a delta",
            instead=f"group_by({named}, keys=dp.discover(delta=1e-10))",
        )


def split_discovery(columns: tuple[str, ...], keys: object) -> tuple[logical.Discovery | None, object]:
    """What is to be found, and the keys that are given beside it."""
    _require_call(columns, keys)
    if isinstance(keys, Discover):
        return _discovery(columns, keys), None
    if not isinstance(keys, Mapping):
        return None, keys
    asked = {name: each for name, each in keys.items() if isinstance(each, Discover)}
    if not asked:
        return None, keys
    given = {name: each for name, each in keys.items() if name not in asked}
    first = next(iter(asked.values()))
    if any(each != first for each in asked.values()) or not set(asked) <= set(columns):
        raise ParameterError(
            "keys that are discovered column by column",
            because="keys of several columns are found together, at one delta, among the grouping columns",
            instead=f"group_by({', '.join(map(repr, columns))}, keys=dp.discover(delta=1e-10))",
        )
    return _discovery(tuple(name for name in columns if name in asked), first), given


def _discovery(columns: tuple[str, ...], asked: Discover) -> logical.Discovery:
    return logical.Discovery(columns, asked.delta, asked.rule, asked.at_least, asked.weight)


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
        lists = {
            name: list_values(keys[name], f"keys of {name!r}", f'keys={{"{name}": {_EXAMPLE}}}', name) for name in keys
        }
        return tuple(lists.get(name) for name in columns), None
    return (None,) * len(columns), _table_rows(columns, keys)


def _right_keys(columns: tuple[str, ...], stray: str, keys: object) -> str:
    """The keys under the name that was meant, or the grouping with one more column."""
    nearest = suggestion(stray, columns)
    if nearest in columns:
        return f'keys={{"{nearest}": {_shown_keys(keys)}}}'
    return f"group_by({', '.join(map(repr, (*columns, stray)))}, keys=...)"


def list_values(values: object, what: str, example: str, column: str = "cost") -> tuple[Value, ...]:
    """Values as they were listed, no more of them than a release can have."""
    if isinstance(values, str | bytes | set | frozenset) or not isinstance(values, Iterable):
        raise ParameterError(
            f"{what} of type {type(values).__name__}", because="they are a list, in the order wanted", instead=example
        )
    listed = tuple(itertools.islice(values, logical.MOST_KEYS + 1))
    if set(map(type, listed)) <= {int, str}:
        return listed
    plain = tuple(map(_key, listed))
    _refuse_floats(plain, what, example, column)
    return plain


def _refuse_floats(keys: Sequence[Any], what: str, example: str, column: str) -> None:
    """Refuse keys that are floats: a real column has no keys, and those of an integer column are whole numbers."""
    floats = [key for key in keys if isinstance(key, float)]
    if not floats:
        return
    are_whole = all(key.is_integer() for key in floats)
    wholes = [int(key) if isinstance(key, float) and are_whole else key for key in keys]
    shown = _shown_keys(wholes) if len(keys) <= _MOST_SHOWN else "range(0, 100)"
    edges = sorted({int(key) if key.is_integer() else key for key in floats if math.isfinite(key)})
    bins = f'table["{column}"].bin({edges if 0 < len(edges) <= _MOST_SHOWN else [0, 10, 20]}) for a real column'
    raise TypeMismatchError(
        f"{what} with the float {floats[0]!r}",
        because="keys of an integer column are whole numbers, and a real column has bins instead",
        instead=f"{example.replace(_EXAMPLE, shown)}, or {bins}" if are_whole else bins,
    )


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
                instead=_right_column(name, list(map(str, names))),
            )
    cells = [_pandas_cells(frame[name]) if is_pandas else frame.column(name).to_pylist() for name in columns]
    rows = tuple(dict.fromkeys(tuple(map(_key, row)) for row in zip(*cells, strict=True)))
    for name, values in zip(columns, zip(*rows, strict=True), strict=False):
        _refuse_floats(values, f"a table of keys of {name!r}", f"an integer column {name!r}", name)
    return rows


def _right_column(name: str, names: list[str]) -> str:
    """The column that was meant, or what a table of keys has to have."""
    nearest = suggestion(name, names)
    if nearest in names and nearest != name:
        return f'"{nearest}" instead of "{name}", or a table whose column is named "{name}"'
    return f'a table of keys with one column named "{name}"; this one has {", ".join(map(repr, names[:12]))}'


def _shown_keys(keys: object) -> str:
    """Keys that were given without their column, as far as they can be shown on a line."""
    if isinstance(keys, range):
        return repr(keys)
    if not isinstance(keys, list | tuple) or not 0 < len(keys) <= _MOST_SHOWN:
        return _EXAMPLE
    return f"[{', '.join(json.dumps(key, ensure_ascii=False) if isinstance(key, str) else repr(key) for key in keys)}]"


def _pandas_cells(column: Any) -> list[Any]:
    """Cells of a pandas column, which holds whole numbers as floats where one is missing."""
    return [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in column]
