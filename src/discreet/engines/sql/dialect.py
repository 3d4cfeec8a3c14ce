"""What one engine's SQL looks like: names, constants, types and the few functions that differ between engines.

A dialect is data. `casts` builds the total reads and casts from it, the other modules of `engines/sql` everything else;
an engine that has a dialect, a way to list its columns and a way to run a query is an engine.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from discreet.catalog.catalog import ColumnType


class StorageType(StrEnum):
    """How an engine holds a column: the declared types, and the forms that are read as one of them."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    WIDE = "wide integer"
    DECIMAL = "decimal"
    ZONED = "timestamp with a zone"
    OTHER = "other"


DRAFTED: Mapping[StorageType, ColumnType] = {
    StorageType.INTEGER: ColumnType.INTEGER,
    StorageType.WIDE: ColumnType.INTEGER,
    StorageType.REAL: ColumnType.REAL,
    StorageType.DECIMAL: ColumnType.REAL,
    StorageType.TEXT: ColumnType.TEXT,
    StorageType.BOOLEAN: ColumnType.BOOLEAN,
    StorageType.DATE: ColumnType.DATE,
    StorageType.TIMESTAMP: ColumnType.TIMESTAMP,
    StorageType.ZONED: ColumnType.TIMESTAMP,
    StorageType.OTHER: ColumnType.DOCUMENT,
}
"""What an owner most likely means by a column that is stored so."""

LIMITED = "NULLIF(NULLIF(GREATEST(LEAST({0}, {1}), -{1}), {1}), -{1})"
"""A real {0} within the bound {1} on both sides, or missing; the operand stands once, so text within text stays short.

NULL, NaN and what is too large become the bound, and the bound becomes NULL: here it helps that LEAST and GREATEST
ignore NULL, and that NaN is larger than every number. An engine that turns NULLIF into a CASE needs another form,
because expressions within expressions would double with every step.
"""

Reads = Mapping[tuple[StorageType, ColumnType], str]
Functions = Mapping[tuple[str, ColumnType], str]


@dataclass(frozen=True)
class Dialect:
    """The templates of one engine; `{0}` and so on stand for SQL that has been emitted already.

    `reads` says for each pair of a stored and a declared type how one is read as the other; a pair that is not there
    has no reading. `functions` has the text matches and parts of dates, by operator and type of operand. `keyed_hash`
    orders the rows of a unit where only this engine must agree with itself. `same` joins two values of one type of
    which both may be missing; whether such a join is quick depends on its form. An engine that `keeps_rows_whole` finds
    a number sooner when no text stands before it, and sorts by it sooner; one that `groups_by_unit` counts distinct
    units sooner from one row for each unit and group; one that `ranks_by_hash` sorts by one fixed-width number so much
    sooner that ranking the few units with ties again pays. One that `narrows_rows` ranks the rows of a single answer
    sooner when they hold only what that answer reads. `one_of` is a text {0} as one of the texts {1} or missing, in few
    bytes, `number_of` the number of that text in the list. `tiny` is the narrowest integer that holds 0 to 255. `part`
    is one of {1} equal parts by a hash, `part_of_text` by an md5 in hexadecimal digits; `together` brings the rows of
    one part together. `search` says how many of the constants of a type, spelled and in order, are at most a value,
    which stands in it once; where a value is a column, a tree of comparisons with `few_edges` is quicker.
    """

    name: str
    reads: Reads
    functions: Functions
    keyed_hash: Callable[[Mapping[str, ColumnType], int], str]
    micros: str
    whole: str
    large_sum: str
    centred: str = "{0} - {1} * {2}"
    small_step: str = "CAST({0} AS INTEGER)"
    small_sum: str = "sum({0})"
    large_step: str = "CAST({0} AS BIGINT)"
    md5: str = "md5({0})"
    limited: str = LIMITED
    quotient: str = "({0} / NULLIF({1}, 0))"
    record: str = "row({0})"
    unordered: str = ""
    one_of: str = ""
    number_of: str = ""
    tiny: str = "SMALLINT"
    part: str = "({0} % {1})"
    part_of_text: str = ""
    together: str = "ORDER BY {0}"
    search: Callable[[str, Sequence[str], ColumnType], str] | None = None
    few_edges: int = 0
    keeps_rows_whole: bool = False
    groups_by_unit: bool = False
    ranks_by_hash: bool = False
    narrows_rows: bool = True
    quote: str = '"'
    text: Callable[[str], str] = field(default=lambda value: "'" + value.replace("'", "''") + "'")
    real: Callable[[float], str] = field(default=lambda value: f"CAST('{finite(value)}' AS DOUBLE)")
    same: Callable[[str, str, ColumnType], str] = field(
        default=lambda one, other, _: f"{one} IS NOT DISTINCT FROM {other}"
    )
    varchar: str = "CAST({0} AS VARCHAR)"
    bigint: str = "CAST({0} AS BIGINT)"
    date: str = "DATE {0}"
    timestamp: str = "TIMESTAMP {0}"

    def identifier(self, name: str) -> str:
        """A name as a quoted identifier."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote


def finite(value: float) -> str:
    """A double with an exponent, as SQL reads it back bit for bit; only finite ones are ever emitted."""
    if not math.isfinite(value):
        raise ValueError("not finite")
    return repr(value) if "e" in repr(value) else f"{value!r}e0"
