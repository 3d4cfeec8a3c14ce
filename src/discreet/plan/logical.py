"""What is asked: frozen nodes and expressions, built without data and without behaviour.

A plan is a chain  TableRef -> (Where | Derive | Join | GroupByUnit)* -> Aggregate.  Names are resolved and types
checked by planner/, against the catalog; here a column is only a name.
"""

import datetime as dt
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal as Choice

from discreet.catalog.catalog import ColumnType, Value

Scalar = str | int | float | bool | dt.date | dt.datetime

DEEPEST = 100
MOST_NODES = 2_000
MOST_STEPS = 1_000
MOST_KEYS = 2_000_000
MOST_EDGES = 10_000
EDGES_IN_A_PART = 10
LONGEST_TEXT = 1_000

Comparison = Choice["==", "!=", "<", "<=", ">", ">="]
Arithmetic = Choice["+", "-", "*", "/"]
TextPlace = Choice["starts", "ends", "contains"]
TimeUnit = Choice["year", "quarter", "month", "week", "day", "hour", "minute"]
CalendarPart = Choice["year", "quarter", "month", "day", "weekday", "hour"]


@dataclass(frozen=True)
class ColumnRef:
    """A column of the table, or one derived before."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A constant."""

    value: Scalar


@dataclass(frozen=True)
class Compare:
    """Two values held against each other; missing on either side gives missing."""

    operator: Comparison
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True)
class Both:
    """Logical and, with missing values as SQL has them."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True)
class Either:
    """Logical or, with missing values as SQL has them."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True)
class Not:
    """Logical negation."""

    operand: "Expression"


@dataclass(frozen=True)
class IsIn:
    """Membership in a list of constants."""

    operand: "Expression"
    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class IsMissing:
    """Whether a value is missing (NULL, NaN, an infinity, or a cell that does not fit its type)."""

    operand: "Expression"


@dataclass(frozen=True)
class Combine:
    """Arithmetic, total: division by zero and results that are no number are missing."""

    operator: Arithmetic
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True)
class Cast:
    """A total cast: what does not fit is missing."""

    operand: "Expression"
    type: ColumnType


@dataclass(frozen=True)
class Bin:
    """How many of some increasing constants are at most the value; missing where the value is."""

    operand: "Expression"
    edges: tuple[Scalar, ...]


@dataclass(frozen=True)
class Case:
    """The value of the first condition that is true; a missing condition is not true.

    Where no condition is true, it is `otherwise`, or missing where that is None.
    """

    branches: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression | None" = None


@dataclass(frozen=True)
class TextMatch:
    """Whether a text starts or ends with another, or contains it; by code points, with their case."""

    operand: "Expression"
    how: TextPlace
    text: str


@dataclass(frozen=True)
class Truncate:
    """The start of the year, quarter, month, week (Monday), day, hour or minute that a date or timestamp is in."""

    operand: "Expression"
    unit: TimeUnit


@dataclass(frozen=True)
class DatePart:
    """A number of the calendar: year, quarter, month, day, weekday (Monday 1 to Sunday 7) or hour."""

    operand: "Expression"
    part: CalendarPart


Expression = (
    ColumnRef
    | Literal
    | Compare
    | Both
    | Either
    | Not
    | IsIn
    | IsMissing
    | Combine
    | Cast
    | Bin
    | Case
    | TextMatch
    | Truncate
    | DatePart
)


@dataclass(frozen=True)
class Count:
    """How many rows."""


@dataclass(frozen=True)
class CountDistinctUnits:
    """How many different units."""


@dataclass(frozen=True)
class CountDistinct:
    """How many of the public values of an expression occur."""

    operand: Expression
    domain: tuple[Value, ...] | None = None


@dataclass(frozen=True)
class Sum:
    """The sum of a clamped value on a public grid."""

    operand: Expression
    bounds: tuple[Fraction, Fraction] | None = None
    grid: Fraction | None = None


@dataclass(frozen=True)
class Mean:
    """The mean of a clamped value: a centred sum over a count."""

    operand: Expression
    bounds: tuple[Fraction, Fraction] | None = None
    grid: Fraction | None = None


@dataclass(frozen=True)
class Variance:
    """The mean squared distance of a clamped value from its mean."""

    operand: Expression
    bounds: tuple[Fraction, Fraction] | None = None
    grid: Fraction | None = None


@dataclass(frozen=True)
class Deviation:
    """The standard deviation of a clamped value: the root of its variance."""

    operand: Expression
    bounds: tuple[Fraction, Fraction] | None = None
    grid: Fraction | None = None


@dataclass(frozen=True)
class MedianMeasure:
    """The median of a clamped value on a public grid: with a margin in ranks, or by smooth sensitivity."""

    operand: Expression
    bounds: tuple[Fraction, Fraction] | None = None
    grid: Fraction | None = None


@dataclass(frozen=True)
class QuantileMeasure:
    """Quantile of a column, on a public grid; `rows` is the approximate number of rows of a group."""

    operand: Expression
    probability: Fraction
    bounds: tuple[Fraction, Fraction] | None = None
    grid: Fraction | None = None
    rows: int | None = None


@dataclass(frozen=True)
class InterquartileRangeMeasure:
    """The upper quartile of a clamped value less the lower one; only by smooth sensitivity or propose-test-release."""

    operand: Expression
    bounds: tuple[Fraction, Fraction] | None = None
    grid: Fraction | None = None


@dataclass(frozen=True)
class Search:
    """Automatic clipping bounds: the share of the privacy cost, and the method."""

    share: Fraction
    method: Choice["histogram", "growth"] = "histogram"


@dataclass(frozen=True)
class AutoBoundsAggregate:
    """A sum or a mean whose bounds are found first."""

    measure: Sum | Mean
    search: Search


@dataclass(frozen=True)
class ClippingBounds:
    """Automatic clipping bounds of a value, for the whole privacy cost."""

    operand: Expression
    grid: Fraction | None
    search: Search


@dataclass(frozen=True)
class Ranges:
    """How many rows are in each of some ranges: edges in order, and pairs of places among them."""

    operand: ColumnRef
    edges: tuple[Scalar, ...]
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class HierarchyCounts:
    """How many rows are in each area of every level, from coarse to fine, and in each area that crosses them."""

    levels: tuple[str, ...]
    crossing: tuple[str, ...] = ()


Products = Choice["all", "squares"]


@dataclass(frozen=True)
class MomentsMeasure:
    """Sums of products of columns on public lattices: of all pairs, or of each column with itself."""

    columns: tuple[str, ...]
    bounds: tuple[tuple[Fraction, Fraction] | None, ...]
    products: Products = "all"


Bounded = Sum | Mean | Variance | Deviation | MedianMeasure | QuantileMeasure | InterquartileRangeMeasure
Measure = (
    Count
    | CountDistinctUnits
    | CountDistinct
    | Bounded
    | AutoBoundsAggregate
    | ClippingBounds
    | Ranges
    | HierarchyCounts
    | MomentsMeasure
)


@dataclass(frozen=True)
class Output:
    """A named aggregate and its share of the budget."""

    name: str
    measure: Measure
    weight: Fraction = Fraction(1)


@dataclass(frozen=True)
class TableRef:
    """A table of the catalog."""

    name: str


@dataclass(frozen=True)
class Where:
    """Rows for which a predicate is true."""

    source: "Relation"
    predicate: Expression


@dataclass(frozen=True)
class Derive:
    """A column computed from the row it stands in."""

    source: "Relation"
    name: str
    expression: Expression


@dataclass(frozen=True)
class Join:
    """Rows beside those of a table that equal them in pairs of columns; `names` are given to columns of that table."""

    source: "Relation"
    table: str
    on: tuple[tuple[str, str], ...]
    how: Choice["inner", "left"] = "inner"
    names: tuple[tuple[str, str], ...] = ()
    max_rows: int | None = None


@dataclass(frozen=True)
class UnitExtreme:
    """The smallest or the largest value of an expression over the rows of one unit."""

    operand: Expression
    is_largest: bool


@dataclass(frozen=True)
class UnitFeature:
    """A named number about the rows of one unit."""

    name: str
    measure: Measure | UnitExtreme


@dataclass(frozen=True)
class GroupByUnit:
    """One row for each unit: its own columns, and its features."""

    source: "Relation"
    features: tuple[UnitFeature, ...]


Relation = TableRef | Where | Derive | Join | GroupByUnit


KeyRule = Choice["optimal", "laplace", "gaussian"]
SmoothNoise = Choice["laplace", "pareto", "student_t", "laplace_log_normal"]
BlockAggregate = Choice["mean", "median", "mean with bounds of its own"]


@dataclass(frozen=True)
class Discovery:
    """How keys that are not known are found: in which columns, at what delta, by which rule, for which share.

    Keys of fewer units than `at_least` are never considered.
    """

    columns: tuple[str, ...]
    delta: Fraction
    rule: KeyRule | None = None
    at_least: int = 1
    weight: Fraction = Fraction(1)


@dataclass(frozen=True)
class Grouping:
    """Columns to group by; their public keys, or None for those of the catalog; contribution bounds.

    A column with `labels` holds numbers from zero on, and each is shown as its label.
    """

    columns: tuple[str, ...] = ()
    values: tuple[tuple[Value, ...] | None, ...] = ()
    rows: tuple[tuple[Value, ...], ...] | None = None
    max_groups: int | None = None
    max_rows_per_group: int | None = None
    labels: tuple[tuple[str, ...] | None, ...] = ()
    discovery: Discovery | None = None


@dataclass(frozen=True)
class Aggregate:
    """Aggregates for each key of a grouping."""

    source: Relation
    outputs: tuple[Output, ...]
    grouping: Grouping = field(default_factory=Grouping)


Side = Choice["equal", "or above", "below"]


@dataclass(frozen=True)
class SelectionQuery:
    """Which candidate has the highest score: a measure of the rows whose column is equal to it, or above, or below.

    A score is multiplied by the candidate's own public factor; with `near`, it is minus its distance to that number.
    """

    source: Relation
    measure: Measure
    by: str
    side: Side
    candidates: tuple[Value | float, ...]
    factors: tuple[Fraction, ...] | None = None
    near: Fraction | None = None
    max_rows_per_group: int | None = None
    discovery: Discovery | None = None


Question = Aggregate
"""Queries whose answers are tables."""
