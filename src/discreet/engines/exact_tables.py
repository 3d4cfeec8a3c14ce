"""Exact GROUP BY for the owner of a source, on the engine that holds its rows.

Nothing here is charged, bounded or noisy: the callers are tools for owners. A table is opened by what `dp.protect`
takes, and one statement groups its rows by some columns and counts rows or people; only groups leave the engine, as
Arrow batches in the same types on every engine.

Values are compared as they are stored. NaN is missing, -0.0 is 0.0, and text is compared by its bytes, so that no
collation merges two spellings. Decimals are numbers, unless one has more digits than a double holds: then all are text.
Days and times outside the years 1 to 9999 are missing. Times of which one is finer than microseconds are text, and so
are all bytes that are not UTF-8, in hexadecimal digits. A column of text (CSV, objects of pandas, SQLite) has the type
that it seems to have, unless a cell does not have that form, or is a number that a double does not hold: then it is
text.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.catalog.catalog import ColumnType
from discreet.engines import registry
from discreet.engines.exact_sources import open_source
from discreet.engines.prepared import RegisteredSource
from discreet.engines.sources import csv_records
from discreet.engines.sources.arrow_types import LosslessRead
from discreet.engines.sources.source import Source, unreadable_column
from discreet.engines.sources.workspace import Workspace
from discreet.engines.sql.blocks import TYPES
from discreet.engines.sql.dialect import StorageType
from discreet.engines.sql_engine import SQLEngine
from discreet.errors import NameNotFoundError, SourceError, suggestion

COUNT = "discreet_count"
"""Name of the last column of every batch: the number of rows, or of people where `person` is given.

Where a column of the source has that name, the last column has a longer one; readers take it by its place.
"""

_TABLE = "rows"
_NATURAL = {
    StorageType.INTEGER: ColumnType.INTEGER,
    StorageType.WIDE: ColumnType.TEXT,
    StorageType.REAL: ColumnType.REAL,
    StorageType.DECIMAL: ColumnType.REAL,
    StorageType.BOOLEAN: ColumnType.BOOLEAN,
    StorageType.DATE: ColumnType.DATE,
    StorageType.TIMESTAMP: ColumnType.TIMESTAMP,
    StorageType.ZONED: ColumnType.TIMESTAMP,
}
_PLAIN = {
    ("duckdb", StorageType.INTEGER): "{0}",
    ("duckdb", StorageType.REAL): "CASE WHEN NOT isnan({0}) THEN CAST({0} AS DOUBLE) + 0.0e0 END",
    ("postgres", StorageType.REAL): "CASE WHEN {0} <> 'NaN' THEN CAST({0} AS double precision) + float8 '0' END",
    ("spark", StorageType.REAL): "CASE WHEN NOT isnan({0}) THEN CAST({0} AS DOUBLE) + CAST(0 AS DOUBLE) END",
}
"""How columns are read where the total reads of a charged query would lose a digit, an infinity or time."""

_ODD_TEXT = {
    ColumnType.INTEGER: "{1} IS NULL OR {2} <> {0}",
    ColumnType.REAL: "({1} IS NULL OR lower({0}) IN ('true', 'false')) AND lower({0}) <> 'nan' OR ("
    "length(rtrim(replace(regexp_replace(split_part(lower({0}), 'e', 1), '^ *[+-]?[0.]*', ''), '.', ''), '0 ')) > 15 "
    "AND {2} <> trim({0}))",
    ColumnType.BOOLEAN: "{1} IS NULL OR lower({0}) NOT IN ('true', 'false')",
    ColumnType.DATE: "{1} IS NULL OR length({0}) <> 10",
    ColumnType.TIMESTAMP: "{1} IS NULL",
}
"""Whether text {0} is more than its reading {1}, which prints as {2}.

Decimals of up to 15 digits are different doubles; a longer one is read as a double only if that prints the same.
"""

_ODD_CELL = {
    ColumnType.INTEGER: "typeof({0}) <> 'integer'",
    ColumnType.REAL: "typeof({0}) NOT IN ('integer', 'real')",
    ColumnType.BOOLEAN: "typeof({0}) <> 'integer' OR {0} NOT IN (0, 1)",
    ColumnType.TEXT: "typeof({0}) <> 'text' OR {1} IS NULL",
    ColumnType.DATE: "typeof({0}) <> 'text' OR length({0}) <> 10 OR {1} IS NULL",
    ColumnType.TIMESTAMP: "typeof({0}) <> 'text' OR {1} IS NULL",
}
# Cells of SQLite have types of their own; a cell of another type is the same value as the text that it prints.
_ANY_CELL = (
    "CASE typeof({0}) WHEN 'integer' THEN CAST({0} AS TEXT) WHEN 'real' THEN printf('%!.17g', {0} + 0.0) "
    "WHEN 'text' THEN CASE WHEN is_unicode(CAST({0} AS BLOB)) AND substr({0}, 1, 3) <> char(65533) || '0x' THEN {0} "
    "ELSE char(65533) || '0x' || hex(CAST({0} AS BLOB)) END "
    "WHEN 'blob' THEN char(65533) || '0x' || hex({0}) END COLLATE BINARY"
)
_NOT_TEXT = "\ufffd0x"
"""What stands before the hexadecimal digits of bytes that are not text; text that begins so is written in them too."""

_MANY_DIGITS = (
    "{1} <> 'NaN' AND ({2} IS NULL OR ({2} = 0 AND {0} <> 0) "
    "OR length(trim(BOTH '0' FROM replace(replace({1}, '-', ''), '.', ''))) > 15)"
)
"""Whether decimal {0}, which prints as {1} and is read as {2}, may be the same double as another decimal."""

# A numeric of PostgreSQL has a scale of its own, and 1.0 is 1.00; NaN is missing.
_DECIMAL_TEXT = "CASE WHEN {0} LIKE '%.%' THEN rtrim(rtrim({0}, '0'), '.') WHEN {0} <> 'NaN' THEN {0} END"
_SQLITE, _DUCKDB = "sqlite", "duckdb"
_MOST_ROWS, _FEW_ROWS = 2**25, 4
"""Rows that are sorted in memory here, and rows a person up to which they are not grouped first."""

_SOME_ROWS, _MOSTLY = 2**15, 0.95
"""Rows that are looked at, and the share of distinct ones from which on rows are not grouped first."""


@contextmanager
def open_table(
    source: object, *, table: str | None = None, memory_limit: str | None = None, threads: int | None = None
) -> Iterator["ExactTable"]:
    """Open a source on its engine for exact counts; it is closed at the end of the block.

    Args:
        source: A path, frame or table, as for `dp.protect`. A CSV file may have `;`, tabs or `|` between its columns.
        table: Name of the table, where the source is a database. Default: the only one of a DuckDB or SQLite file.
        memory_limit: Memory of the engine, such as "4GB"; beyond it DuckDB spills to disk. Default: the engine's own.
        threads: Number of threads of the engine. Default: the engine's own.

    Yields:
        The table.
    """
    opened = open_source(source, table)
    kind = registry.engine_of(opened)
    engine = kind({_TABLE: RegisteredSource(opened, 0)}, Workspace(), memory_limit=memory_limit, threads=threads)
    try:
        rows = ExactTable(opened, engine)
        _require_all_rows(opened, rows)
        yield rows
    finally:
        engine.close()


class ExactTable:
    """Rows of one source on its engine; made by `open_table`."""

    def __init__(self, source: Source, engine: SQLEngine) -> None:
        self._source, self._engine = source, engine
        self._place = engine.place(_TABLE)
        self._lossless, self._reads = engine.lossless_reads(_TABLE), dict[str, str]()
        self._types: dict[str, ColumnType] = {}
        self._texts: set[str] = set()
        self._bytes: set[str] = set()
        self._finer: set[str] = set()
        self._numbers: dict[str, tuple[int, int]] = {}
        self._unnamed: dict[str, int] = {}

    @property
    def columns(self) -> dict[str, ColumnType]:
        """The columns that can be grouped by, with the types they seem to have; no row is read."""
        return {name: kind for name in self._place.stored if (kind := self._seeming_type(name)) is not None}

    def column_types(self, names: Sequence[str]) -> dict[str, ColumnType]:
        """The types of columns; those of text are checked against all cells."""
        unknown = [name for name in dict.fromkeys(names) if name not in self._types]
        for name in unknown:
            self._require(name)
            self._keep_nanoseconds(name)
        seeming = {name: self._require(name) for name in unknown}
        doubtful = [name for name in unknown if self._is_doubtful(name, seeming[name])]
        odd = self._odd_columns({name: seeming[name] for name in doubtful})
        self._texts |= odd
        self._types |= {name: ColumnType.TEXT if name in odd else kind for name, kind in seeming.items()}
        for name in unknown:
            self._keep_bytes(name)
        return {name: self._types[name] for name in names}

    def _keep_nanoseconds(self, name: str) -> None:
        """Read times as text where one of them is finer than microseconds: those of a second are then different."""
        read = self._lossless.get(name)
        if read is None or read.is_needed is None:
            return
        finer = self._engine.place(_TABLE, {**self._reads, name: read.is_needed}).relation
        if self._figures([f"count(CASE WHEN {self._engine.dialect.identifier(name)} THEN 1 END)"], finer)[0]:
            self._read_losslessly(name, read)
            self._place = replace(self._place, stored={**self._place.stored, name: StorageType.TEXT})
            self._finer.add(name)

    def _keep_bytes(self, name: str) -> None:
        """Group text of frames by its bytes, which are decoded in the groups: what is not text has no other form."""
        read = self._lossless.get(name)
        if read is not None and read.is_needed is None and self._types[name] is ColumnType.TEXT:
            self._read_losslessly(name, read)
            self._bytes.add(name)

    def _read_losslessly(self, name: str, read: LosslessRead) -> None:
        self._reads[name] = read.sql
        self._place = replace(self._place, relation=self._engine.place(_TABLE, self._reads).relation)

    def groups(self, columns: Sequence[str], *, person: str | None = None) -> Iterator[pa.RecordBatch]:
        """Distinct combinations of values with their number of rows or people, in no order; a missing cell is a value.

        Args:
            columns: Names of columns. A person's column may be among them: then groups are pairs.
            person: Column that names the person of a row; a row without one is a person of its own. Default: rows
                are counted.

        Yields:
            Batches with `columns` in the types of `column_types` and the count last, as 64-bit integers. Text has long
            or short offsets.
        """
        types = self.column_types([*columns, *([person] if person else [])])
        who = self._read(person, types[person]) if person else None
        chosen = {name: types[name] for name in columns}
        yield from self._batches(chosen, self._groups_sql(chosen, who))

    def parts(self, columns: Sequence[str], person: str | None = None) -> Iterator[pa.RecordBatch]:
        """Combinations of values, and of a person where one is named, with numbers of rows; one may come several times.

        Where most rows are combinations of their own, DuckDB gives the rows as they are: for the caller, who sorts them
        anyway, that takes less time than a GROUP BY that merges nearly nothing. Beyond 2^25 rows they are grouped.
        """
        names = list(dict.fromkeys([*columns, *([person] if person else [])]))
        types = self.column_types(names)
        if self._may_sort_rows(person):
            reads = [f"{self._read(name, kind)} AS c{i}" for i, (name, kind) in enumerate(types.items())]
            count = f"CAST(1 AS BIGINT) AS c{len(reads)}"
            rows = self._batches(types, f"SELECT {', '.join([*reads, count])} FROM {self._place.relation}")
            first = next(rows, None)
            if first is not None and (person is not None or _are_rows_distinct(first)):
                yield first
                yield from rows
                return
            rows.close()
        yield from self.groups(names)

    def _may_sort_rows(self, person: str | None) -> bool:
        """Whether the rows are few enough to be sorted by the caller, and few for each person."""
        if self._engine.dialect.name != _DUCKDB or self._source.kind == "csv":
            return False
        rows, people = self.totals() if person is None else self.least_totals(person)
        return rows <= min(_MOST_ROWS, _FEW_ROWS * people)

    def least_totals(self, person: str) -> tuple[int, int]:
        """Number of rows, and a number of people that is never too large; where they are equal it is exact.

        DuckDB counts distinct hashes: different hashes are different persons, and sorting integers is quicker than
        COUNT(DISTINCT).
        """
        if person not in self._numbers:
            hashes = self._hashes(person) if self._engine.dialect.name == _DUCKDB else None
            self._numbers[person] = self.totals(person) if hashes is None else hashes
        return self._numbers[person]

    def unnamed_rows(self, person: str) -> int:
        """Number of rows without a person; each of them counts as one."""
        if person not in self._unnamed:
            who = self._read(person, self.column_types([person])[person])
            self._unnamed[person] = self._figures([f"count(*) - count({who})"])[0]
        return self._unnamed[person]

    def _hashes(self, person: str) -> tuple[int, int] | None:
        """Number of rows, and of distinct hashes and rows without a person; None where rows are too many to sort."""
        who = self._read(person, self.column_types([person])[person])
        hashed = f"CASE WHEN {who} IS NOT NULL THEN CAST(hash({who}) >> 1 AS BIGINT) END"
        parts, rows, unnamed = [], 0, 0
        sql = f"SELECT {hashed} AS c0 FROM {self._place.relation}"
        for batch in self._engine.stream(_TABLE, sql, pa.schema([("c0", pa.int64())])):
            rows, unnamed = rows + len(batch), unnamed + batch.column(0).null_count
            if rows > _MOST_ROWS:
                return None
            parts.append(batch.column(0).drop_null().to_numpy())
        self._unnamed[person] = unnamed
        ordered = np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.int64)
        return rows, unnamed + int(np.count_nonzero(ordered[1:] != ordered[:-1])) + min(len(ordered), 1)

    def _batches(self, types: Mapping[str, ColumnType], sql: str) -> Generator[pa.RecordBatch, None, None]:
        """The batches of a statement with columns c0, c1 and so on, the count last, under their names."""
        names = list(types)
        last = COUNT
        while last in types:  # two columns of one name could be read for each other
            last += "_"
        schema = pa.schema([*(pa.field(name, self._arrow_type(types[name])) for name in names), (last, pa.int64())])
        stream = pa.schema([pa.field(f"c{i}", field.type) for i, field in enumerate(schema)])
        for i, name in enumerate(names):
            if name in self._bytes:
                stream = stream.set(i, pa.field(f"c{i}", pa.binary()))
        for batch in self._engine.stream(_TABLE, sql, stream):
            columns = [_decode(cells, field.type) for cells, field in zip(batch.columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _arrow_type(self, kind: ColumnType) -> pa.DataType:
        """Batches of DuckDB have text with short offsets, which a cast would only copy."""
        is_short = kind is ColumnType.TEXT and self._engine.dialect.name == _DUCKDB
        return pa.string() if is_short else TYPES[kind]

    def totals(self, person: str | None = None) -> tuple[int, int]:
        """Number of rows and of people; without `person` each row is a person."""
        columns = ["count(*)"]
        if person is not None:
            columns.append(_people(self._read(person, self.column_types([person])[person])))
        figures = self._figures(columns)
        return figures[0], figures[-1]

    def _groups_sql(self, types: Mapping[str, ColumnType], person: str | None) -> str:
        names = [f"c{i}" for i in range(len(types))]
        reads = [f"{self._read(name, kind)} AS c{i}" for i, (name, kind) in enumerate(types.items())]
        reads += [f"{person} AS p"] if person else []
        rows = f"SELECT {', '.join(reads) or '1 AS c'} FROM {self._place.relation}"
        group = f" GROUP BY {', '.join(names)}" if names else ""
        count = f"{_people('p') if person else 'count(*)'} AS c{len(names)}"
        return f"SELECT {', '.join([*names, count])} FROM ({rows}) AS t{group}"

    def _figures(self, columns: Sequence[str], relation: str | None = None) -> list[int]:
        """Counts over all rows, or over those of another relation."""
        selects = ", ".join(f"{each} AS c{i}" for i, each in enumerate(columns))
        schema = pa.schema([pa.field(f"c{i}", pa.int64()) for i in range(len(columns))])
        batches = list(self._engine.stream(_TABLE, f"SELECT {selects} FROM {relation or self._place.relation}", schema))
        row = pa.Table.from_batches(batches, schema).to_pylist()[0]
        return [int(row[f"c{i}"]) for i in range(len(columns))]

    def _odd_columns(self, seeming: Mapping[str, ColumnType]) -> set[str]:
        """The columns that have a cell of another form than their type; a column of a document has."""
        odd = {name: condition for name, kind in seeming.items() if (condition := self._odd(name, kind))}
        counts = self._figures([f"count(CASE WHEN {each} THEN 1 END)" for each in odd.values()]) if odd else []
        found = {name for name, count in zip(odd, counts, strict=True) if count}
        return found | (set(seeming) - set(odd))

    def _odd(self, name: str, kind: ColumnType) -> str | None:
        quoted = self._engine.dialect.identifier(name)
        read = self._read(name, kind) if kind in TYPES else ""
        if self._place.stored[name] is StorageType.DECIMAL:
            text = self._engine.dialect.varchar.format(quoted)
            return f"{quoted} IS NOT NULL AND {_MANY_DIGITS.format(quoted, f'({text})', f'({read})')}"
        form = (_ODD_CELL if self._engine.dialect.name == _SQLITE else _ODD_TEXT).get(kind)
        printed = self._engine.dialect.varchar.format(read)
        return form and f"{quoted} IS NOT NULL AND ({form.format(quoted, f'({read})', f'({printed})')})"

    def _is_doubtful(self, name: str, kind: ColumnType) -> bool:
        """Whether the type is guessed from some cells, or none of the column's own."""
        stored = self._place.stored[name]
        return stored in (StorageType.OTHER, StorageType.DECIMAL) or (
            stored is StorageType.TEXT and kind is not ColumnType.TEXT
        )

    def _read(self, name: str, kind: ColumnType) -> str:
        """SQL of a column in a type."""
        dialect, stored = self._engine.dialect, self._place.stored[name]
        quoted = dialect.identifier(name)
        if dialect.name == _SQLITE and name in self._texts:
            return _ANY_CELL.format(quoted)
        if dialect.name == _SQLITE and kind is ColumnType.REAL:
            return f"(CAST({quoted} AS REAL) + 0.0)"
        if stored is StorageType.DECIMAL and kind is ColumnType.TEXT:
            text = dialect.varchar.format(quoted)
            return text if dialect.name == "spark" else f"({_DECIMAL_TEXT.format(f'({text})')})"
        plain = _PLAIN.get((dialect.name, stored))
        return (plain or self._place.reads[stored, kind]).format(quoted)

    def _require(self, name: str) -> ColumnType:
        if name in self._source.unreadable:
            raise unreadable_column("the source", name, self._source)
        if name not in self._place.stored:
            raise NameNotFoundError(
                f"column {name!r}",
                because="the source has no column of that name",
                instead=suggestion(name, self._place.stored),
            )
        kind = self._seeming_type(name)
        if kind is None:
            raise SourceError(
                f"column {name!r}, which is nested, binary or a time of day",
                because="values are compared as numbers, text, dates or times",
                instead="a column of text or numbers that the owner prepared",
            )
        return kind

    def _seeming_type(self, name: str) -> ColumnType | None:
        stored = self._place.stored[name]
        if name in self._finer:
            return ColumnType.TEXT
        if stored is StorageType.TEXT:
            kind = self._guesses.get(name, ColumnType.TEXT)
            return kind if kind in TYPES and (stored, kind) in self._place.reads else ColumnType.TEXT
        if stored is StorageType.OTHER and self._engine.dialect.name == _SQLITE:
            return self._guesses.get(name, ColumnType.TEXT)
        return _NATURAL.get(stored)

    @cached_property
    def _guesses(self) -> Mapping[str, ColumnType]:
        """The types that columns of text seem to have, where the source says nothing of them."""
        has_guesses = self._source.kind in ("csv", _SQLITE) or self._source.looks is not None
        return registry.draft(self._source) if has_guesses else {}


def _require_all_rows(source: Source, rows: ExactTable) -> None:
    """Refuse CSV files with a row that the engine leaves out: it may be the row of somebody who is alone."""
    if source.kind != "csv":
        return
    records = csv_records.require_readable(source.paths, len(source.columns), source.delimiter)
    if records is not None and (read := rows.totals()[0]) != records:
        raise csv_records.unread_records(source.paths, records, read)


def _are_rows_distinct(batch: pa.RecordBatch) -> bool:
    """Whether a GROUP BY would merge few rows, judged by the first ones."""
    some = pa.Table.from_batches([batch.slice(0, _SOME_ROWS)]).rename_columns(
        [f"c{i}" for i in range(batch.num_columns)]
    )
    return len(some.group_by(some.column_names).aggregate([])) >= _MOSTLY * len(some)


def _decode(cells: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cells in a type; bytes that are not text are written in hexadecimal digits, and no two alike."""
    if cells.type == kind:
        return cells
    try:
        found = cells.cast(kind)
    except pa.ArrowInvalid:
        return pa.array([None if cell is None else _text_of(cell) for cell in cells.to_pylist()], kind)
    if pa.types.is_binary(cells.type) and pc.any(pc.starts_with(found, _NOT_TEXT)).as_py():
        return pa.array([None if cell is None else _text_of(cell) for cell in cells.to_pylist()], kind)
    return found


def _text_of(cell: bytes) -> str:
    try:
        text = cell.decode()
    except UnicodeDecodeError:
        text = _NOT_TEXT
    return f"{_NOT_TEXT}{cell.hex().upper()}" if text.startswith(_NOT_TEXT) else text


def _people(person: str) -> str:
    """People of a group of rows; each row without a person is one."""
    return f"count(DISTINCT {person}) + count(*) - count({person})"
