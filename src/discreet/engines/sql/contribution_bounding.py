"""The rows that count: read by total casts, with a unit, and of each unit no more than its contribution bounds allow.

What is kept of one unit depends on its own rows and the key alone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps
from discreet.engines.sql import expressions
from discreet.engines.sql.dialect import Dialect, Reads, StorageType
from discreet.plan.physical import (
    CountRows,
    CountValues,
    MissingUnits,
    Pushdown,
    Read,
    Scan,
    SumProducts,
    SumSteps,
    reads_of,
)

FIRST = "discreet_first"
GROUP_RANK = "discreet_group_rank"
ROW_HASH = "discreet_row_hash"
ROW_NUMBER = "discreet_row_number"
ROW_RANK = "discreet_row_rank"
TIED = "discreet_tied"
_FINE = (ColumnType.REAL, ColumnType.TIMESTAMP)
_COARSE = 2.0**20
_COARSE_UP_TO = 2.0**43
LONGEST_LIST = 2**14  # characters of keys; an ENUM takes about 45 microseconds a key, and saves about 0.2 a row


@dataclass(frozen=True)
class TableRelation:
    """A relation to read: its name, how it stores its columns, how these are read, and the key of the row hash."""

    relation: str
    stored: Mapping[str, StorageType]
    key: int
    reads: Reads


def scan_sql(scan: Scan, place: TableRelation, dialect: Dialect) -> str:
    """The rows of a source that have a unit and are in the slice: only needed columns, each by a total read.

    The columns of a joined relation were read already, where its tables are.
    """
    columns = ", ".join(
        name if scan.base else f"{place.reads[place.stored[read.column], read.type].format(name)} AS {name}"
        for read in _laid_out(scan, dialect)
        for name in (dialect.identifier(read.column),)
    )
    rows = f"SELECT {columns or '1 AS discreet_row'} FROM {place.relation}"
    named = scan.unit if scan.missing_units is MissingUnits.DROP else ()
    conditions = [f"{dialect.identifier(name)} IS NOT NULL" for name in named]
    conditions += [] if scan.within is None else [expressions.term(scan.within, dialect)]
    return f"SELECT * FROM ({rows}) AS scanned WHERE {' AND '.join(conditions)}" if conditions else rows


def bounded_rows_sql(
    scan: Scan, place: TableRelation, dialect: Dialect, stored: Mapping[SumSteps, str] | None = None
) -> str:
    """At most `max_rows` rows of each unit, chosen by a keyed hash of the row's own columns with a total tie-break.

    What is kept of one unit depends on its own rows and the key alone; rows that tie in every column are the same.
    Steps that are to be stored stand before the columns that they are made from.
    """
    rows = scan_sql(scan, place, dialect)
    columns = [f"{expressions.stored_steps(node, dialect)} AS {name}" for node, name in (stored or {}).items()]
    columns += [dialect.identifier(read.column) for read in _laid_out(scan, dialect)]
    if scan.max_rows is None:
        return f"SELECT {', '.join(columns)} FROM ({rows}) AS rows" if stored else rows
    if dialect.ranks_by_hash and _seldom_tie(scan):
        return _capped_by_hash(scan, place.key, rows, columns, dialect)
    unit = ", ".join(owner(scan, dialect))
    rank = f"row_number() OVER (PARTITION BY {unit}{_own_order(scan, place.key, dialect)}) AS {ROW_RANK}"
    first = f"{_own_hash(scan, place.key, dialect)} AS {ROW_HASH}, " if dialect.keeps_rows_whole else ""
    ranked = f"SELECT {first}*, {rank} FROM ({rows}) AS rows"
    return f"SELECT {', '.join(columns)} FROM ({ranked}) AS ranked WHERE {ROW_RANK} <= {scan.max_rows}"


def rows_of_one_answer_sql(
    question: Pushdown, place: TableRelation, dialect: Dialect, stored: Mapping[SumSteps, str]
) -> str:
    """As many rows of each unit by the same hash, ranked as narrow as one answer reads them: a sort of fewer bytes.

    Rows that tie in the hash and in all that the answer reads are the same to it, so its integers still depend on the
    unit's own rows and the key alone. Where an answer needs all columns, these are the rows that would be kept.
    """
    scan = question.scan
    if scan.max_rows is None or not dialect.narrows_rows or not _can_narrow(question):
        return bounded_rows_sql(scan, place, dialect, stored)
    needed = _columns_needed(question, stored)
    read = {dialect.identifier(name): _narrow_key(name, question, needed, dialect) for name in needed}
    unit = {dialect.identifier(name): dialect.identifier(name) for name in scan.unit}
    steps = {name: expressions.stored_steps(node, dialect) for node, name in stored.items()}
    columns = ", ".join(f"{sql} AS {name}" for name, sql in {**steps, **unit, **read}.items())
    by = (*(name for name in read if name not in owner(scan, dialect)), *steps)
    hashed = f"{_own_hash(scan, place.key, dialect)} AS {ROW_HASH}, " if by else ""
    narrow = f"SELECT {hashed}{columns} FROM ({scan_sql(scan, place, dialect)}) AS rows"
    order = _total_order(ROW_HASH, by, dialect)
    rank = f"row_number() OVER (PARTITION BY {', '.join(owner(scan, dialect))}{order})"
    return _first_ranks(narrow, rank, ROW_RANK, scan.max_rows)


def _can_narrow(question: Pushdown) -> bool:
    """Whether rows are those of one table, ordered by the engine's own hash, and no bounds on groups follow."""
    scan, caps = question.scan, question.caps
    is_bounded_again = caps.max_groups is not None or caps.max_rows_per_group is not None
    return scan.base is None and not scan.portable and not is_bounded_again


def _columns_needed(question: Pushdown, stored: Mapping[SumSteps, str]) -> Counter[str]:
    """The columns that an answer reads itself, with how many times; what only stored steps read is not among them."""
    terms = [*question.keys.columns, *([] if question.predicate is None else [question.predicate])]
    for measure in question.measures:
        match measure:
            case SumSteps() if expressions.without_centre(measure) not in stored:
                terms.append(measure.operand)
            case SumProducts():
                missed = (side for side in measure.sides if expressions.without_centre(side) not in stored)
                terms.extend(side.operand for side in missed)
            case CountRows(operand) if operand is not None and not expressions.stored_presence(operand, stored):
                terms.append(operand)
            case CountValues(operand, _):
                terms.append(operand)
    return Counter(read.column for term in terms for read in reads_of(term))


def _narrow_key(name: str, question: Pushdown, needed: Counter[str], dialect: Dialect) -> str:
    """A column; one of text that is only compared with public keys, by their numbers where an engine can do that.

    What is no key becomes missing, so the missing value must not be a key itself.
    """
    column, keys = dialect.identifier(name), question.keys
    if not dialect.one_of or needed[name] > 1 or name in question.scan.unit or keys.at_least is not None:
        return column
    for i, term in enumerate(keys.columns):
        if isinstance(term, Read) and term.column == name and term.type is ColumnType.TEXT and not keys.has_missing[i]:
            values = dict.fromkeys(map(str, keys.values[i]))
            if 0 < sum(len(value) + 1 for value in values) <= LONGEST_LIST:
                return dialect.one_of.format(column, ", ".join(map(dialect.text, values)))
    return column


def _seldom_tie(scan: Scan) -> bool:
    """Whether the rows of a unit seldom share a hash, and the unit is one column that is never missing."""
    is_simple = len(scan.unit) == 1 and scan.missing_units is MissingUnits.DROP and not scan.portable
    return is_simple and any(read.type in _FINE and read.column not in scan.unit for read in scan.columns)


def _capped_by_hash(scan: Scan, key: int, rows: str, columns: list[str], dialect: Dialect) -> str:
    """The same rows, sorted by the hash alone: rows are compared only where they tie for the last places.

    Every row whose hash is among the first is kept at first, ties included, so no choice is left to the engine; among
    them are the first rows by hash and columns. Only units that have too many so far are ranked again, by both.
    """
    unit, most = owner(scan, dialect)[0], scan.max_rows
    own = f"WINDOW own AS (PARTITION BY {unit} ORDER BY {_own_hash(scan, key, dialect)})"
    ranks = f"rank() OVER own AS {ROW_RANK}, row_number() OVER own AS {ROW_NUMBER}"
    ranked = f"SELECT * FROM (SELECT *, {ranks} FROM ({rows}) AS rows {own}) AS ranked WHERE {ROW_RANK} <= {most}"
    tied = f"SELECT DISTINCT {unit} FROM {FIRST} WHERE {ROW_NUMBER} > {most}"
    names = ", ".join(dialect.identifier(read.column) for read in scan.columns)
    again = f"row_number() OVER (PARTITION BY {unit}{_own_order(scan, key, dialect)}) AS {ROW_RANK}"
    compared = f"SELECT {names}, {again} FROM {FIRST} SEMI JOIN {TIED} USING ({unit})"
    return (
        f"WITH {FIRST} AS MATERIALIZED ({ranked}), {TIED} AS MATERIALIZED ({tied}) SELECT {', '.join(columns)} FROM ("
        f"SELECT {names} FROM {FIRST} ANTI JOIN {TIED} USING ({unit}) "
        f"UNION ALL SELECT {names} FROM ({compared}) AS compared WHERE {ROW_RANK} <= {most}) AS kept"
    )


def _laid_out(scan: Scan, dialect: Dialect) -> tuple[Read, ...]:
    """The columns in the order in which they are kept: where rows are whole, text stands behind all numbers."""
    if not dialect.keeps_rows_whole:
        return scan.columns
    return tuple(sorted(scan.columns, key=lambda read: read.type is ColumnType.TEXT))


def owner(scan: Scan, dialect: Dialect) -> tuple[str, ...]:
    """Whose a row is: the columns of the unit, all missing where one of them is, so that such rows are one unit."""
    columns = tuple(dialect.identifier(name) for name in scan.unit)
    if len(columns) < 2 or scan.missing_units is MissingUnits.DROP:
        return columns
    whole = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    return tuple(f"CASE WHEN {whole} THEN {column} END" for column in columns)


def _own_order(scan: Scan, key: int, dialect: Dialect) -> str:
    columns = tuple(dialect.identifier(read.column) for read in scan.columns)
    others = tuple(column for column in columns if column not in owner(scan, dialect))
    return _total_order(_own_hash(scan, key, dialect), others, dialect)


def _total_order(hashed: str, columns: tuple[str, ...], dialect: Dialect) -> str:
    """By a hash, then by all in which rows of one unit can differ; without such columns they are all the same."""
    return f" ORDER BY {', '.join((hashed, *_last(columns)))}" if columns else dialect.unordered


def _own_hash(scan: Scan, key: int, dialect: Dialect) -> str:
    return keyed_hash({dialect.identifier(read.column): read.type for read in scan.columns}, key, scan, dialect)


def _last(columns: Iterable[str]) -> tuple[str, ...]:
    """Engines differ in where NULL stands in an order."""
    return tuple(f"{column} NULLS LAST" for column in columns)


def keyed_hash(columns: Mapping[str, ColumnType], key: int, scan: Scan, dialect: Dialect) -> str:
    """The hash that orders the rows or the groups of a unit: the engine's own, or one that all engines share."""
    if not scan.portable:
        return dialect.keyed_hash(columns, key)
    parts = [dialect.text(str(key)), *(portable_text(column, kind, dialect) for column, kind in columns.items())]
    separator = dialect.text("|")
    return dialect.md5.format(f" || {separator} || ".join(parts))


def portable_text(column: str, kind: ColumnType, dialect: Dialect) -> str:
    """A value as text, the same on every engine; reals coarsely, because engines spell them differently.

    Values of one spelling tie in the hash, and ties are broken by the values themselves.
    """
    match kind:
        case ColumnType.TEXT:
            text = dialect.md5.format(column)  # texts of many megabytes must not meet in one
        case ColumnType.REAL:
            whole = dialect.bigint.format(f"floor({column} * {dialect.real(_COARSE)})")
            up_to = dialect.real(_COARSE_UP_TO)
            text = f"CASE WHEN {column} > -{up_to} AND {column} < {up_to} THEN {dialect.varchar.format(whole)} END"
        case ColumnType.TIMESTAMP:
            text = dialect.varchar.format(dialect.micros.format(column))
        case ColumnType.INTEGER | ColumnType.DATE:
            text = dialect.varchar.format(column)
        case _:
            text = f"CASE WHEN {column} THEN {dialect.text('t')} WHEN NOT {column} THEN {dialect.text('f')} END"
    return f"coalesce({text}, {dialect.text('~')})"


def within_groups(
    scan: Scan,
    caps: Caps,
    rows: str,
    key: int,
    dialect: Dialect,
    group: tuple[str, ...] = (),
    types: Mapping[str, ColumnType] | None = None,
) -> str:
    """Of each unit, at most so many groups and so many rows in each, chosen by keyed hashes of its own rows.

    A group is named by whole numbers, or by columns of any `types`, which may be missing.
    """
    unit, group = owner(scan, dialect), group or tuple(types or ())
    if caps.max_rows_per_group is not None:
        within = ", ".join((*unit, *group))
        rank = f"row_number() OVER (PARTITION BY {within}{_own_order(scan, key, dialect)})"
        rows = _first_ranks(rows, rank, ROW_RANK, caps.max_rows_per_group)
    if caps.max_groups is not None and group:
        named = types or dict.fromkeys(group, ColumnType.INTEGER)
        order = ", ".join((_group_hash(scan, unit, named, key, dialect), *(group if types is None else _last(group))))
        rank = f"dense_rank() OVER (PARTITION BY {', '.join(unit)} ORDER BY {order})"
        rows = _first_ranks(rows, rank, GROUP_RANK, caps.max_groups)
    return rows


def _first_ranks(rows: str, rank: str, name: str, most: int) -> str:
    """The rows of the first ranks; one rank at a time, because engines prune early only where it stands alone."""
    return f"SELECT * FROM (SELECT *, {rank} AS {name} FROM ({rows}) AS joined) AS ranked WHERE {name} <= {most}"


def _group_hash(scan: Scan, unit: tuple[str, ...], group: Mapping[str, ColumnType], key: int, dialect: Dialect) -> str:
    types = {read.column: read.type for read in scan.columns}
    columns = dict(zip(unit, (types[name] for name in scan.unit), strict=True))
    return keyed_hash(columns | dict(group), key, scan, dialect)
