"""Tables as people hand them over: their shape first, and cells by functions of each cell alone.

A shape and the names of columns are public; they are looked at before a fit is charged, and no cell is. How a cell is
read depends on that cell, never on the type that a library inferred for its column from all cells: `core/cells.py`.
Rows must be in memory: a query that runs while rows are read may fail at a cell, and say so before the charge.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.errors import ParameterError, TableShapeError
from discreet.learning.core.cells import label_text, numbers, readable_name, slots_by_name, texts
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import Integers
from discreet.learning.core.rows import Codes, EncodedRows, group_people, split_people

__all__ = [
    "CountedRows",
    "OpenRows",
    "TableView",
    "class_numbers",
    "column_places",
    "counted_rows",
    "encode_table",
    "label_text",
    "numbers",
    "of_length",
    "open_cells",
    "open_table",
    "person_numbers",
    "require_readable",
    "texts",
]


_RUNS_A_QUERY = ("__arrow_c_stream__", "__dask_graph__", "collect", "compute", "execute", "fetchall", "to_pandas")


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
    if _is_of("pandas", table) and hasattr(table, "columns"):
        view = _pandas_view(table)
    elif isinstance(table, pa.Table | pa.RecordBatch):
        view = TableView(tuple(table.schema.names), table.num_columns, table.num_rows, table.column)
    elif _is_of("polars", table) and hasattr(table, "to_series"):
        view = TableView(tuple(table.columns), table.width, table.height, table.to_series)
    else:
        view = _array_view(table)
    if not view.width:
        raise TableShapeError(
            "X with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required. Give X a column",
            because="a model needs a feature",
            instead='X[["age"]]',
        )
    return view


def _is_of(library: str, values: Any) -> bool:
    """Whether an object is of a library that holds rows in memory, or of a subclass of its classes."""
    return any(kind.__module__.partition(".")[0] == library for kind in type(values).__mro__)


def _refuse_queries(values: Any, name: str) -> None:
    """Streams, relations and lazy frames: reading them runs a query, whose errors quote cells."""
    is_held = isinstance(values, np.ndarray | list | tuple) or _is_of("pandas", values) or isinstance(values, pa.Table)
    is_series = _is_of("polars", values) and not hasattr(values, "collect")
    if not (is_held or is_series) and any(hasattr(values, method) for method in _RUNS_A_QUERY):
        raise TableShapeError(
            f"{name} that is not in memory",
            because="reading it runs a query, whose errors may quote a cell",
            instead=f"pyarrow.table({name}), or the table's own way to read all rows",
        )


def _pandas_view(table: Any) -> TableView:
    names = tuple(table.columns)
    for dtype in table.dtypes:
        _refuse_complex(getattr(dtype, "kind", "O"))
    return TableView(names, len(names), len(table), lambda place: table.iloc[:, place])


def _array_view(table: Any) -> TableView:
    array = _objects(table, "X")
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


def _objects(values: Any, name: str) -> NDArray[Any]:
    """Arrays as they are, and lists as arrays of their cells; a cell that is a list stays one cell of a row."""
    _refuse_queries(values, name)
    try:
        if not isinstance(values, list | tuple):
            return np.asarray(values)
        if not values or not isinstance(values[0], list | tuple | np.ndarray):
            return _cells_of(values)
        widths = {len(row) if isinstance(row, list | tuple | np.ndarray) else -1 for row in values}
        rows = [_cells_of(row) for row in values] if len(widths) == 1 else []
        return np.stack(rows) if rows else np.empty((0, 0, 0))
    except Exception:  # noqa: BLE001 - the text of numpy may quote a cell
        return np.empty((0, 0, 0))


def _cells_of(values: Sequence[Any]) -> NDArray[Any]:
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        found[place] = value
    return found


def open_cells(values: Any, name: str) -> Any:
    """One column of cells, such as labels or groups, as it came; none is read.

    Raises:
        TableShapeError: If it is not one column.
    """
    if isinstance(values, pa.Table) and values.num_columns == 1:
        return values.column(0)
    if isinstance(values, pa.ChunkedArray | pa.Array):
        return values
    if _is_of("pandas", values) and hasattr(values, "iloc") and len(getattr(values, "columns", (name,))) == 1:
        return values.iloc[:, 0] if hasattr(values, "columns") else values
    if _is_of("polars", values) and hasattr(values, "to_arrow"):
        values = values.to_series(0) if len(values.shape) == 2 and values.shape[1] == 1 else values
        if len(values.shape) == 1:
            return values
    array = _objects(values, name)
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
        instead="X[list(model.features)], or X.select(list(model.features)) for Arrow"
        if by_name
        else f"X.iloc[:, :{len(names)}] for pandas, X[:, :{len(names)}] for numpy",
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
        codes[:, index] = feature.encode(table.column(place))
    return codes


def require_readable(values: Iterable[object], what: str) -> None:
    """Refuse declared values that a reader of in-memory tables may have stored in another form.

    Raises:
        ParameterError: If a value reads as missing, as a date, or as a number of 2^53 and more.
    """
    for value in values:
        if not readable_name(value):
            raise ParameterError(
                f"{what} {value!r} of an in-memory table",
                because="a reader may have read such cells as missing, dates or large numbers",
                instead="a name that begins with a letter, in the declaration and in the rows",
            )


def person_numbers(groups: Any) -> NDArray[np.int64]:
    """A number for the person of each row; -1 where none is named.

    Whole numbers of 2^53 and more name nobody: one blank cell makes readers store them as floats, which merges people.
    """
    encoded = texts(groups).dictionary_encode()
    found: NDArray[np.int64] = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


@dataclass(frozen=True)
class OpenRows:
    """A table with targets and people whose shape is known, and of which no cell was read."""

    table: TableView
    target: Any
    people: Any


@dataclass(frozen=True)
class CountedRows:
    """Rows as codes, those that count: they have a target, and a person where people are named.

    Attributes:
        codes: The slot of each feature.
        target: The class number of a row, or its target in steps.
        person: The person of each row, or None where each row is a person.
        is_counted: Of all rows of the table, whether each is one of these.
    """

    codes: Codes
    target: Integers
    person: Integers | None
    is_counted: NDArray[np.bool_]

    def part(self, mask: NDArray[np.bool_]) -> list[EncodedRows]:
        """Some of these rows, in blocks of whole people."""
        person = None if self.person is None else self.person[mask]
        return split_people(group_people(self.codes[mask], self.target[mask], person))

    def blocks(self) -> list[EncodedRows]:
        """All of these rows, in blocks of whole people."""
        return split_people(group_people(self.codes, self.target, self.person))


def counted_rows(codes: Codes, target: Integers, counts: NDArray[np.bool_], groups: Any) -> CountedRows:
    """The rows that count and, where people are named, have a person."""
    person = None if groups is None else person_numbers(groups)
    counts = counts if person is None else counts & (person >= 0)
    if not counts.all():
        codes, target, person = codes[counts], target[counts], None if person is None else person[counts]
    return CountedRows(codes, target, person, counts)


def class_numbers(cells: Any, labels: Sequence[object]) -> NDArray[np.int64]:
    """The number of the class of each cell; -1 for a label that was not declared. 1 and True name one class."""
    return slots_by_name(cells, labels)
