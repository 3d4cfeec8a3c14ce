"""How a cell is read: by what it says, never by the type that a reader inferred for its column from all cells.

One person's cell decides whether pandas, Polars or pyarrow stores the cells of everybody else as integers, reals, truth
values, bytes or text. So every stored form of a value reads alike, by the rules of decision 047: a text that spells a
number is that number, true and false are 1 and 0, reals have 15 significant digits. A cell that has no reading is
missing; no cell raises an error.

Columns of sources with declared types are read by the same functions. There a text that some reader would take for a
missing value or a date, or a whole number of 2^53 and more, keeps its own name. In-memory tables never have such names:
`readable_name` says which values they can have.
"""

import datetime as dt
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.engines.sources.inferred import BLANKS, EXACT, FALSE, NUMBER, PREFIXED, TRUE, canonical_text
from discreet.learning.core.lattice import Floats

_LARGEST, _SMALLEST = 1e150, 1e-150
_DIGITS = 15
_POWERS = np.array([float(10**power) for power in range(23)])
_LARGEST_NAME = 10**300
_TEXT = pa.large_string()
_PLAIN = "^([1-9][0-9]{0,14}|0|[A-Za-z]+[0-9]+)$"  # texts that are their own canonical form, such as p1042


def numbers(cells: Any) -> Floats:
    """Each cell as a number; NaN for one that is none.

    >>> numbers(["00501", 501, 501.0, True, "true", "x"]).tolist()
    [501.0, 501.0, 501.0, 1.0, 1.0, nan]
    """
    column = _column(cells)
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if pa.types.is_integer(column.type) or pa.types.is_floating(kind):
        found: Floats = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return _round(found)
    coded = pc.dictionary_encode(column)
    values = [_number(text) for text in coded.dictionary.to_pylist()]
    places = pc.fill_null(coded.indices, len(values)).to_numpy(zero_copy_only=False)
    return _round(np.array([*values, math.nan], dtype=np.float64)[places])


def texts(cells: Any, *, has_declared_types: bool = False) -> pa.Array:
    """Each cell as the text by which values are compared; NULL for one that has none.

    >>> texts(["00501", 501, 501.0, "Ward A", "n/a"]).to_pylist()
    ['501', '501', '501', 'Ward A', None]
    """
    column = _column(cells)
    kind = column.type
    if pa.types.is_boolean(kind):
        return pc.if_else(column, pa.scalar("1", _TEXT), pa.scalar("0", _TEXT))
    if pa.types.is_integer(kind):
        return _integer_texts(column, has_declared_types=has_declared_types)
    if pa.types.is_floating(kind):
        return _float_texts(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    coded = pc.dictionary_encode(column)
    names = _canonical_names(coded.dictionary, keep=has_declared_types)
    return names.take(coded.indices)


def label_text(label: object) -> str | None:
    """The text by which a declared value is compared; None for a value that cannot be one."""
    raw = _spelling(label)
    if raw is None:
        return None
    known = canonical_text(raw)
    return raw if known is None else known


def readable_name(value: object) -> bool:
    """Whether every reader of an in-memory table leaves a value in a form that can be compared."""
    raw = _spelling(value)
    return raw is not None and canonical_text(raw) is not None


def slots_by_name(cells: Any, values: Sequence[object]) -> NDArray[np.int64]:
    """The place of each cell among declared values; -1 for one that is none of them."""
    known = pa.array([label_text(value) for value in values], _TEXT)
    places = pc.index_in(texts(cells, has_declared_types=True), value_set=known, skip_nulls=True)
    found: NDArray[np.int64] = pc.fill_null(places, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _number(text: str) -> float:
    trimmed = text.strip(BLANKS)
    if re.fullmatch(NUMBER, trimmed):
        return float(trimmed)
    if re.fullmatch(PREFIXED, trimmed):
        whole = int(trimmed, 0)
        return float(whole - 2**64 if 2**63 <= whole < 2**64 else whole)
    if re.fullmatch(TRUE, trimmed):
        return 1.0
    return 0.0 if re.fullmatch(FALSE, trimmed) else math.nan


def _round(found: Floats) -> Floats:
    """Reals to 15 significant digits, which readers agree on; whole numbers that are exact in floats as they are.

    A quotient of two whole numbers that are exact in floats is the float nearest to the decimal.
    """
    sizes = np.abs(found)
    found = np.where(sizes < _LARGEST, np.where(sizes < _SMALLEST, 0.0, found), math.nan)
    is_open = np.isfinite(found) & ~((np.floor(found) == found) & (sizes < 2 * EXACT))
    if not is_open.any():
        return found
    rest = found[is_open]
    shift = _DIGITS - 1 - _exponents(np.abs(rest))
    is_near = np.abs(shift) < len(_POWERS)
    power = _POWERS[np.where(is_near, np.abs(shift), 0)]
    near = np.where(shift >= 0, np.rint(rest * power) / power, np.rint(rest / power) * power)
    for place in np.flatnonzero(~is_near):
        near[place] = float(f"{rest[place]:.{_DIGITS - 1}e}")
    found[is_open] = near
    return found


def _exponents(sizes: Floats) -> NDArray[np.int64]:
    """The power of ten of the first digit; logarithms alone may be wrong by one beside a power of ten."""
    found = np.floor(np.log10(sizes))
    found = np.where(sizes < np.power(10.0, found), found - 1, found)
    found = np.where(sizes >= np.power(10.0, found + 1), found + 1, found)
    return found.astype(np.int64)


def _integer_texts(column: pa.Array, *, has_declared_types: bool) -> pa.Array:
    names = column.cast(_TEXT)
    if has_declared_types or column.type.bit_width < 64:
        return names
    is_exact = pc.less(column, pa.scalar(EXACT, column.type))
    if pa.types.is_signed_integer(column.type):
        is_exact = pc.and_(is_exact, pc.greater(column, pa.scalar(-EXACT, column.type)))
    return pc.if_else(is_exact, names, pa.scalar(None, _TEXT))


def _float_texts(found: Floats) -> pa.Array:
    """Whole numbers named as these numbers; other ones by the canonical form of their digits."""
    is_whole = np.isfinite(found) & (np.floor(found) == found) & (np.abs(found) < EXACT)
    whole = pa.array(np.where(is_whole, found, 0).astype(np.int64)).cast(_TEXT)
    if is_whole.all():
        return whole
    parts, places = np.unique(np.where(is_whole, 0.0, found), return_inverse=True)
    names = pa.array([canonical_text(repr(part)) for part in parts.tolist()], _TEXT)
    return pc.if_else(pa.array(is_whole), whole, names.take(pa.array(places.reshape(-1))))


def _canonical_names(distinct: pa.Array, *, keep: bool) -> pa.Array:
    is_plain = pc.match_substring_regex(distinct, _PLAIN).to_numpy(zero_copy_only=False)
    names: list[str | None] = []
    for text, plain in zip(distinct.to_pylist(), is_plain, strict=True):
        known = text if plain else canonical_text(text)
        names.append(text if known is None and keep else known)
    return pa.array(names, _TEXT)


def _column(cells: Any) -> pa.Array:
    """Cells of any library as one Arrow array without a dictionary; those that have no place in it are missing."""
    if hasattr(cells, "iloc"):
        cells = _pandas_cells(cells)
    elif hasattr(cells, "to_arrow"):
        cells = _polars_cells(cells)
    if isinstance(cells, pa.Array):
        cells = pa.chunked_array([cells])
    if isinstance(cells, pa.ChunkedArray):
        chunks = [_flat(chunk) for chunk in cells.chunks]
        return pa.concat_arrays(chunks) if chunks else pa.array([], _TEXT)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf" and cells.dtype.itemsize <= 8:
        return pa.array(cells.astype(cells.dtype.newbyteorder("=")))
    return pa.array([_spelling(cell) for cell in cells], _TEXT)


def _pandas_cells(series: Any) -> Any:
    """Cells of a column; of one that Arrow does not take, as objects."""
    if str(series.dtype) != "object":
        try:
            return pa.array(series, from_pandas=True)
        except Exception:  # noqa: BLE001, S110 - categories of several types, and types of other libraries
            pass
    return series.astype(object).to_numpy()


def _polars_cells(series: Any) -> Any:
    try:
        return series.to_arrow()
    except Exception:  # noqa: BLE001 - objects of Python
        return series.to_list()


def _flat(chunk: pa.Array) -> pa.Array:
    """An array of truth values, numbers or valid texts, without a dictionary."""
    if pa.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    if pa.types.is_run_end_encoded(chunk.type):
        chunk = pc.run_end_decode(chunk)
    kind = chunk.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return chunk
    if pa.types.is_decimal(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        found = chunk.cast(_TEXT)  # days beyond the calendar print as "<value out of range: ...>"
        return pc.if_else(pc.starts_with(found, "<"), pa.scalar(None, _TEXT), found)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if is_text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return _decode(chunk.cast(pa.large_binary()))
    return pa.nulls(len(chunk), _TEXT)


def _decode(chunk: pa.Array) -> pa.Array:
    """Bytes as text; a cell that is not valid UTF-8 is missing. Readers store a column with one such cell as bytes."""
    try:
        return chunk.cast(_TEXT)
    except pa.ArrowInvalid:
        return pa.array([_spelling(cell) for cell in chunk.to_pylist()], _TEXT)


def _spelling(cell: object) -> str | None:
    """An object of Python as text; None for a missing value, and for what is no scalar."""
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return None
    value = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(value, bytes | str):
        return _valid_text(value)
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return str(value) if abs(value) < _LARGEST_NAME else None
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else None
    if isinstance(value, dt.date | dt.time):
        return str(value) if value == value else None  # noqa: PLR0124 - a time that is missing differs from itself
    return None


def _valid_text(value: bytes | str) -> str | None:
    try:
        return value.decode() if isinstance(value, bytes) else value.encode().decode()
    except UnicodeError:
        return None
