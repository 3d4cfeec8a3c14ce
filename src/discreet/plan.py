"""What is asked: frozen nodes and expressions, built without data and without behaviour.

A plan is a chain  Table -> (Where | Derive)* -> Aggregate.  Names are resolved and types checked by analysis/, against
the catalog; here a column is only a name.
"""

import datetime as dt
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal as Choice

from discreet.catalog import ColumnType, Value

Scalar = str | int | float | bool | dt.date | dt.datetime

DEEPEST = 100
MOST_NODES = 2_000
MOST_KEYS = 2_000_000
MOST_EDGES = 10_000
EDGES_IN_A_PART = 10

Comparison = Choice["==", "!=", "<", "<=", ">", ">="]
Arithmetic = Choice["+", "-", "*", "/"]


@dataclass(frozen=True)
class Column:
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


Expression = Column | Literal | Compare | Both | Either | Not | IsIn | IsMissing | Combine | Cast | Bin


@dataclass(frozen=True)
class Count:
    """How many rows."""


@dataclass(frozen=True)
class CountUnits:
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
class Median:
    """The median of a clamped value on a public grid; only noise that fits the data covers it."""

    operand: Expression
    bounds: tuple[Fraction, Fraction] | None = None
    grid: Fraction | None = None


@dataclass(frozen=True)
class InterquartileRange:
    """The upper quartile of a clamped value less the lower one; only noise that fits the data covers it."""

    operand: Expression
    bounds: tuple[Fraction, Fraction] | None = None
    grid: Fraction | None = None


Bounded = Sum | Mean | Median | InterquartileRange
Measure = Count | CountUnits | CountDistinct | Bounded


@dataclass(frozen=True)
class Output:
    """A named aggregate and its share of the budget."""

    name: str
    measure: Measure
    weight: Fraction = Fraction(1)


@dataclass(frozen=True)
class Table:
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


Relation = Table | Where | Derive


@dataclass(frozen=True)
class Grouping:
    """Columns to group by; their public keys, or None to take them from the catalog; caps for this grouping."""

    columns: tuple[str, ...] = ()
    values: tuple[tuple[Value, ...] | None, ...] = ()
    rows: tuple[tuple[Value, ...], ...] | None = None
    max_groups: int | None = None
    max_rows_per_group: int | None = None


@dataclass(frozen=True)
class Aggregate:
    """The question: outputs, for each key of a grouping."""

    source: Relation
    outputs: tuple[Output, ...]
    grouping: Grouping = field(default_factory=Grouping)


Side = Choice["equal", "or above", "below"]


@dataclass(frozen=True)
class Contest:
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


Question = Aggregate
"""Questions whose answers are tables."""
