"""What an engine is asked: a typed, bounded query whose answer is a small table of integers.

Analysis builds it from public facts; every engine answers it with the same integers. Terms carry their types; derived
columns have been substituted, so a term reads only columns of the source. The vocabulary of operators is closed:
engines/sql has one template for each, and all of them are total.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple

from discreet.catalog.catalog import ColumnType, Value
from discreet.catalog.privacy_unit import Caps
from discreet.plan.canonical_values import plain, sha256, sha256_of_single_integers
from discreet.plan.logical import Scalar

Operator = Literal[
    "eq", "ne", "lt", "le", "gt", "ge",
    "and", "or", "not", "in", "missing",
    "add", "subtract", "multiply", "divide",
    "to_integer", "to_real", "to_text", "to_date", "to_timestamp", "bin",
    "case", "starts_with", "ends_with", "contains",
    "truncate_year", "truncate_quarter", "truncate_month", "truncate_week", "truncate_day", "truncate_hour",
    "truncate_minute",
    "part_year", "part_quarter", "part_month", "part_day", "part_weekday", "part_hour",
]  # fmt: skip
"""A "case" has a condition and a value in turn, and a last value where it has an otherwise."""


@dataclass(frozen=True)
class Read:
    """A column of the source, read through a total cast to its declared type."""

    column: str
    type: ColumnType


@dataclass(frozen=True)
class Constant:
    """A typed constant."""

    value: Scalar
    type: ColumnType


@dataclass(frozen=True)
class Apply:
    """An operator on terms."""

    operator: Operator
    arguments: tuple["Term", ...]
    type: ColumnType


Term = Read | Constant | Apply


def case_parts(case: Apply) -> tuple[tuple[tuple[Term, Term], ...], Term | None]:
    """The branches of a case, each a condition and its value, and the value where none is true."""
    paired = len(case.arguments) // 2 * 2
    branches = tuple(zip(case.arguments[:paired:2], case.arguments[1:paired:2], strict=True))
    return branches, case.arguments[-1] if len(case.arguments) > paired else None


def reads_of(term: Term) -> Iterator[Read]:
    """The columns that a term reads, each as often as it stands there."""
    if isinstance(term, Read):
        yield term
    for each in term.arguments if isinstance(term, Apply) else ():
        yield from reads_of(each)


class MissingUnits(StrEnum):
    """What becomes of rows whose unit is missing."""

    DROP = "drop"
    ONE_UNIT = "one_unit"


@dataclass(frozen=True)
class Scan:
    """The rows that are read: which columns of which version, whose they are, and how many rows a unit keeps.

    Where they are to be `portable`, every engine keeps the same rows of a unit, by a slower hash.
    Where a condition `within` stands, rows that do not meet it are not there: they are gone before any contribution
    bound chooses. Where there is a `base`, its rows are scanned in the place of the table's own, which then gives the
    key and the version.
    """

    table: str
    version: int
    columns: tuple[Read, ...]
    unit: tuple[str, ...]
    missing_units: MissingUnits
    max_rows: int | None
    portable: bool = False
    within: Term | None = None
    base: "Base | None" = None

    @property
    def leaves(self) -> "tuple[Rows, ...]":
        """The tables that are read, as they stand in the base; a plain table is the only one."""
        if self.base is not None:
            return leaves(self.base)
        return (Rows(self.table, self.version, tuple(NamedColumn(read.column, read) for read in self.columns)),)

    @property
    def datasets(self) -> tuple[tuple[str, int], ...]:
        """The protected tables that are read, each once with its version, the scan's own first."""
        own = (self.table, self.version)
        return tuple(dict.fromkeys([own, *((e.table, e.version) for e in self.leaves if not e.is_public)]))


@dataclass(frozen=True)
class CountRows:
    """The number of rows where the operand is present (every row where there is none)."""

    operand: Term | None = None


@dataclass(frozen=True)
class CountUnits:
    """The number of different units."""


@dataclass(frozen=True)
class CountValues:
    """The number of values of a public domain that occur."""

    operand: Term
    domain: tuple[Value, ...]


@dataclass(frozen=True)
class SumSteps:
    """The sum of (clamp(round(operand / grid), low, high) - centre)^power over rows where the operand is present.

    Where `missing` is given, it stands for a missing operand, in steps of the grid.
    """

    operand: Term
    grid: Fraction
    low: int
    high: int
    centre: int = 0
    missing: int | None = None
    power: int = 1


@dataclass(frozen=True)
class SumProducts:
    """The sum over all rows of the product of two numbers of steps, each less its centre.

    Both sides have a step for a missing operand, so that every row has a product.
    """

    left: SumSteps
    right: SumSteps

    @property
    def sides(self) -> tuple[SumSteps, SumSteps]:
        """Both numbers of steps."""
        return self.left, self.right


Integers = CountRows | CountUnits | CountValues | SumSteps | SumProducts


def operands(measure: Integers) -> tuple[Term, ...]:
    """The terms that a measure reads."""
    match measure:
        case SumProducts(left, right):
            return left.operand, right.operand
        case CountUnits() | CountRows(None):
            return ()
        case CountRows(Read() | Constant() | Apply() as operand) | CountValues(operand) | SumSteps(operand):
            return (operand,)
    raise TypeError(type(measure).__name__)


@dataclass(frozen=True)
class NamedColumn:
    """A column of a table, under the name that it has in the whole."""

    name: str
    read: Read


@dataclass(frozen=True)
class Rows:
    """The rows of one table that are in its slice; the condition reads the table's own columns."""

    table: str
    version: int
    columns: tuple[NamedColumn, ...]
    within: Term | None = None
    is_public: bool = False


@dataclass(frozen=True)
class JoinedRows:
    """Pairs of rows where each term of the left one equals the named column of the right one; missing equals nothing.

    Where it keeps the unmatched, a row of the left side without a partner stands beside missing values.
    """

    left: "Base"
    right: "Base"
    on: tuple[tuple[Term, str], ...]
    keeps_unmatched: bool = False


@dataclass(frozen=True)
class Average:
    """The mean of the steps over the rows of a unit that have them."""

    steps: SumSteps


@dataclass(frozen=True)
class Extreme:
    """The smallest or the largest value of a unit's rows."""

    operand: Term
    is_largest: bool


@dataclass(frozen=True)
class CountKinds:
    """How many different values a unit's rows have."""

    operand: Term


@dataclass(frozen=True)
class Feature:
    """A number about the rows of one unit."""

    name: str
    of: CountRows | SumSteps | Average | Extreme | CountKinds
    type: ColumnType


@dataclass(frozen=True)
class PerUnit:
    """One row for each unit that has rows which meet the predicate: its columns, and its features."""

    source: "Base"
    predicate: Term | None
    unit: tuple[str, ...]
    missing_units: MissingUnits
    features: tuple[Feature, ...]


Base = Rows | JoinedRows | PerUnit


def leaves(base: Base) -> tuple[Rows, ...]:
    """The tables at the bottom of a relation, from left to right."""
    match base:
        case Rows():
            return (base,)
        case JoinedRows(left, right):
            return (*leaves(left), *leaves(right))
        case PerUnit(source):
            return leaves(source)


@dataclass(frozen=True)
class Keys:
    """The public keys of a grouping, in the order of the answer; no columns means one row for everything.

    The last `inner` columns divide a group into parts, such as the bins of a distribution: contribution bounds are for
    whole groups. Keys are open where `at_least` is given: the answer holds those that at least so many units have, and
    their rows.
    """

    columns: tuple[Term, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ((),)
    inner: int = 0
    at_least: int | None = None

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """The number of the group that each row is a part of."""
        outer = len(self.columns) - self.inner
        numbers: dict[tuple[Value, ...], int] = {}
        return tuple(numbers.setdefault(row[:outer], len(numbers)) for row in self.rows)

    @cached_property
    def values(self) -> tuple[list[Value], ...]:
        """The keys column by column."""
        return tuple([row[i] for row in self.rows] for i in range(len(self.columns)))

    @cached_property
    def has_missing(self) -> tuple[bool, ...]:
        """Whether the missing value is among the keys of each column."""
        return tuple(None in column for column in self.values)

    @cached_property
    def canonical_rows(self) -> object:
        """The rows as they stand in the fingerprint of a query; many of them as their own digest, made once."""
        if len(self.rows) <= MOST_WRITTEN:
            return plain(self.rows)
        is_single = len(self.columns) == 1 and set(map(type, self.values[0])) == {int}
        found = sha256_of_single_integers(self.values[0]) if is_single else sha256(plain(self.rows))  # type: ignore[arg-type]
        return {"count": len(self.rows), "sha256": found}


class KeyedTable(NamedTuple):
    """What an engine answers where keys are open: the keys in their own order, and one list of integers per measure."""

    keys: tuple[tuple[Value, ...], ...]
    columns: list[list[int]]

    def at(self, places: Sequence[int]) -> "KeyedTable":
        """Some of the keys, by their places."""
        return KeyedTable(
            tuple(self.keys[place] for place in places),
            [[column[place] for place in places] for column in self.columns],
        )


@dataclass(frozen=True)
class Pushdown:
    """The whole query. `caps.max_rows` has been applied by the scan; the other two hold for the final grouping."""

    scan: Scan
    predicate: Term | None
    keys: Keys
    caps: Caps
    measures: tuple[Integers, ...]

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The only columns that an engine may touch; with their tables, where there are several."""
        if self.scan.base is None:
            return tuple(read.column for read in self.scan.columns)
        found = [f"{leaf.table}.{each.read.column}" for leaf in self.scan.leaves for each in leaf.columns]
        return tuple(dict.fromkeys(found))


MOST_WRITTEN = 1_000
