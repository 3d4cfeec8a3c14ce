"""Tables as people hand them over: their shape first, and cells by functions of each cell alone.

A shape and the names of columns are public; they are looked at before a fit is charged. How a cell is read depends on
that cell, never on the type that a library inferred for its column from all cells: numbers that stand in a column of
objects or texts are the same numbers. A cell that is neither is missing; no cell raises an error.
"""

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.errors import TableShapeError
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.rows import Codes

Floats = NDArray[np.float64]
EXACT_IN_FLOATS = 2**53
LARGEST_NAME = 10**300


@dataclass(frozen=True)
class TableView:
    """The shape of a table, and how to read a column.

    Attributes:
        names: The names of the columns; None for arrays and lists.
        width: The number of columns.
        rows: The number of rows: private, and used to loop alone.
        column: The cells of a column by its place.
    """

    names: tuple[Any, ...] | None
    width: int
    rows: int
    column: Callable[[int], Any]


def open_table(table: Any) -> TableView:
    """The shape of a table of any library; no cell is read.

    Raises:
        TableShapeError: If it is not a table with columns of real values.
    """
    if type(table).__module__.startswith("scipy.sparse"):
        raise TableShapeError(
            "a sparse matrix", because="rows are read as tables and dense arrays", instead="X.toarray()"
        )
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        view = _pandas_view(table)
    elif isinstance(table, pa.Table | pa.RecordBatch) or (hasattr(table, "__arrow_c_stream__") and _is_wide(table)):
        arrow = table if isinstance(table, pa.Table | pa.RecordBatch) else pa.table(table)
        view = TableView(tuple(arrow.schema.names), arrow.num_columns, arrow.num_rows, arrow.column)
    else:
        view = _array_view(table)
    if not view.width:
        raise TableShapeError(
            "X with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required. Give X a column",
            because="a model needs a feature",
            instead='X[["age"]]',
        )
    return view


def _is_wide(table: Any) -> bool:
    """Whether a frame of another library has columns, and is not one column itself."""
    return len(getattr(table, "shape", (0, 0))) == 2


def _pandas_view(table: Any) -> TableView:
    names = tuple(table.columns)
    for dtype in table.dtypes:
        _refuse_complex(getattr(dtype, "kind", "O"))
    return TableView(names, len(names), len(table), lambda place: _pandas_cells(table.iloc[:, place]))


def _pandas_cells(series: Any) -> Any:
    """Cells of a column; of one that Arrow does not take, as objects."""
    if str(series.dtype) != "object":
        try:
            return pa.array(series, from_pandas=True)
        except Exception:  # noqa: BLE001, S110 - categories of several types, and types of other libraries
            pass
    return series.astype(object).to_numpy()


def _array_view(table: Any) -> TableView:
    is_list = isinstance(table, list | tuple)
    try:
        array = np.array(table, dtype=object) if is_list else np.asarray(table)
    except Exception:  # noqa: BLE001 - the text of numpy may quote a cell
        array = np.empty(0)
    if array.ndim != 2:
        raise TableShapeError(
            "Expected 2D array of rows and columns. Reshape your data",
            because="X has one row for each row, and one column for each feature",
            instead="X.reshape(-1, 1) if there is a single feature, X.reshape(1, -1) if there is a single row",
        )
    _refuse_complex(array.dtype.kind)
    return TableView(None, array.shape[1], array.shape[0], lambda place: array[:, place])


def _refuse_complex(kind: str) -> None:
    if kind == "c":
        raise TableShapeError("Complex data not supported", because="features are real numbers", instead="X.real")


def open_cells(values: Any, name: str) -> Any:
    """One column of cells, such as labels or groups, as an Arrow array or a numpy array; none is read.

    Raises:
        TableShapeError: If it is not one column.
    """
    if isinstance(values, pa.ChunkedArray | pa.Array):
        return values
    if hasattr(values, "iloc") and not hasattr(values, "columns"):
        return _pandas_cells(values)
    if hasattr(values, "iloc") and len(values.columns) == 1:
        return _pandas_cells(values.iloc[:, 0])
    if hasattr(values, "to_arrow") and not _is_wide(values):
        return values.to_arrow()
    try:
        array = np.array(values, dtype=object) if isinstance(values, list | tuple) else np.asarray(values)
    except Exception:  # noqa: BLE001 - the text of numpy may quote a cell
        array = np.empty((0, 0))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise TableShapeError(
            f"{name} should be a 1d array", because="each row has one value", instead=f"{name}=table['column']"
        )
    _refuse_complex(array.dtype.kind)
    return array


def column_places(table: TableView, names: list[str], estimator: str, *, by_name: bool = True) -> list[int]:
    """Where the declared columns stand in a table; those of an array stand in the declared order.

    Raises:
        TableShapeError: If the columns are not the declared ones.
    """
    if (table.names is None or not by_name) and table.width == len(names):
        return list(range(len(names)))
    if by_name and table.names is not None and len(table.names) == len(names) and set(table.names) == set(names):
        return [table.names.index(name) for name in names]
    what = f"X has {table.width} features, but {estimator} is expecting {len(names)} features as input"
    absent = [name for name in names if name not in (table.names or names)]
    if absent and table.width == len(names):
        what = f"X without the column {absent[0]!r}, which {estimator} declares"
    raise TableShapeError(
        what,
        because="its columns are not those of the declared features",
        instead="X[list(model.features)], or X.select(list(model.features)) for Arrow",
    )


def of_length(cells: Any, table: TableView, name: str) -> Any:
    """Cells that are as many as the rows of a table.

    Raises:
        TableShapeError: If they are not.
    """
    if len(cells) != table.rows:
        raise TableShapeError(
            f"X and {name} with inconsistent numbers of rows",
            because="each row has one value",
            instead="X and y as columns of one table",
        )
    return cells


def encode_table(table: TableView, places: Sequence[int], features: Sequence[DeclaredFeature]) -> Codes:
    """The slots of all cells: one row for each row, one column for each feature."""
    codes = np.empty((table.rows, len(features)), dtype=np.uint16)
    for index, (place, feature) in enumerate(zip(places, features, strict=True)):
        cells = table.column(place)
        codes[:, index] = feature.encode(numbers(cells) if feature.is_ordered else texts(cells))
    return codes


def numbers(cells: Any) -> Floats:
    """Each cell as a number; NaN for one that is none."""
    cells = _flat(cells)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        return cells.astype(np.float64)
    if isinstance(cells, pa.Array):
        kind = cells.type
        if pa.types.is_boolean(kind):
            cells = cells.cast(pa.int8())
        if pa.types.is_integer(cells.type) or pa.types.is_floating(kind):
            found: Floats = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            return found
    return np.fromiter((_number(cell) for cell in _each(cells)), np.float64, len(cells))


def _number(cell: object) -> float:
    value = cell.item() if isinstance(cell, np.generic) else cell
    if not isinstance(value, str | int | float | Decimal):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def texts(cells: Any) -> pa.Array:
    """Each cell as the text by which values are compared; NULL for one that has none."""
    cells = _flat(cells)
    if isinstance(cells, pa.Array) and pa.types.is_large_string(cells.type):
        return cells.cast(pa.string())
    if isinstance(cells, pa.Array) and (pa.types.is_string(cells.type) or pa.types.is_integer(cells.type)):
        return cells.cast(pa.string())
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iu":
        return pa.array(cells).cast(pa.string())
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "f":
        return _float_texts(cells.astype(np.float64))
    if isinstance(cells, pa.Array) and pa.types.is_floating(cells.type):
        return _float_texts(cells.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return pa.array([_text(cell) for cell in _each(cells)], pa.string())


def _float_texts(found: Floats) -> pa.Array:
    """Whole numbers in floats, named as these numbers; other ones by their shortest digits."""
    is_whole = np.isfinite(found) & (np.floor(found) == found) & (np.abs(found) < EXACT_IN_FLOATS)
    whole = pa.array(np.where(is_whole, found, 0).astype(np.int64)).cast(pa.string())
    if is_whole.all():
        return whole
    return pc.if_else(pa.array(is_whole), whole, pa.array([_text(cell) for cell in found.tolist()], pa.string()))


def _text(cell: object) -> str | None:
    value = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dt.date):
        return str(value) if value == value else None  # noqa: PLR0124 - a time that is missing differs from itself
    if isinstance(value, int):
        return str(value) if abs(value) < LARGEST_NAME else None
    number = _number(value)
    if not math.isfinite(number):
        return None
    return str(int(number)) if number == int(number) and abs(number) < EXACT_IN_FLOATS else repr(number)


def person_numbers(groups: Any) -> NDArray[np.int64]:
    """A number for the person of each row; -1 where none is named."""
    encoded = texts(groups).dictionary_encode()
    found: NDArray[np.int64] = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def class_numbers(cells: Any, labels: Sequence[object]) -> NDArray[np.int64]:
    """The number of the class of each cell; -1 for a label that was not declared. 1 and True name one class."""
    numbers_by_name: dict[str, int] = {}
    for index, label in enumerate(labels):
        numbers_by_name.setdefault(_text(label) or "", index)
    for one, other in (("1", "True"), ("True", "1"), ("0", "False"), ("False", "0")):
        if other in numbers_by_name:
            numbers_by_name.setdefault(one, numbers_by_name[other])
    known = pa.array(list(numbers_by_name), pa.string())
    places = pc.fill_null(pc.index_in(texts(cells), value_set=known), len(known)).to_numpy(zero_copy_only=False)
    found: NDArray[np.int64] = np.array([*numbers_by_name.values(), -1], dtype=np.int64)[places]
    return found


def label_text(label: object) -> str | None:
    """The text by which a label is compared; None for a value that cannot be one."""
    return _text(label)


def _flat(cells: Any) -> Any:
    """An Arrow array in one piece and without a dictionary, or the numpy array that it was."""
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    if isinstance(cells, pa.Array) and pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    return cells


def _each(cells: Any) -> list[object]:
    found: list[object] = cells.to_pylist() if isinstance(cells, pa.Array) else list(cells)
    return found
