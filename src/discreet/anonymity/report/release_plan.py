"""The differentially private release that a report shows in the place of a file: its code, its cost, its error.

The query counts people by one column whose values are found by partition selection: values that are read from the data
would be published without charge. The planner explains it from public facts; nothing is charged and no row is read.
No figure of the data is in the code: bounds are constants that the owner decides, and the column follows from types and
from what the caller named. The code makes no statement about the data that the caller did not make.
There are two such pieces of code, a table and one count of all people. Which of them the file is large enough for is
reported to the owners from exact counts: a table that would be mostly empty, or noise, is not shown to them.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np

from discreet.accounting.filters import Budget
from discreet.anonymity.classes.cube import Codes, Cube
from discreet.catalog.catalog import ColumnType, Table
from discreet.catalog.privacy_unit import ROW
from discreet.engines.exact_sources import seeming_delimiter
from discreet.errors import Refusal
from discreet.ledger import SQLiteLedger
from discreet.query.aggregates import count_units
from discreet.query.frame import table as frame
from discreet.query.keys import discover
from discreet.session.session import Session

EPSILON, BUDGET = "0.5", "1"
DELTA, KEY_DELTA = "1e-9", "1e-10"
MAX_ROWS = 10
"""Rows of one person that count: the same for all data, since the owner decides it."""
PRECISION = 4
"""Counts are shown to the owner as useful where their mean is at least so many margins of error."""
TABLE, TOTAL, NOTHING = "table", "total", "nothing"
UNKNOWN = "depends on the data"
KEY_TYPES = (ColumnType.TEXT, ColumnType.INTEGER, ColumnType.BOOLEAN)
_DECISION = "your decision: further rows of a person are dropped; 1 if each has one"
_MEMORY = "or the path of its file: types in memory may depend on the rows"
_VARIABLE = "people"
_ENVIRONMENT = "PEOPLE_DATABASE"


@dataclass(frozen=True)
class ReleasePlan:
    """A differentially private release of the same data.

    Attributes:
        code: Python that makes it.
        by: The column by whose values people are counted; None for one count of all.
        epsilon: Its privacy cost.
        margin: Margin of error of each count at 95% confidence, as text; None where no plan was possible.
        keys: How values are found, in words; empty for one count.
        reason: Why there is no expected error; empty where there is one.
        least: Number of people that a value needs, to be kept in 95% of releases; 0 for one count.
        total_code: Python that counts all people.
        total_margin: Margin of error of that count; None where no plan was possible.
    """

    code: str
    by: str | None
    epsilon: str
    margin: str | None
    keys: str
    reason: str = ""
    least: int = 0
    total_code: str = ""
    total_margin: str | None = None


def release_plan(source: object, columns: Sequence[str], *, person: str | None, table: str | None) -> ReleasePlan:
    """The plan of a release that counts people by the first of these columns whose type has values to count by."""
    by = columns[0] if columns else None
    margin, total, keys, reason = None, None, "", ""
    try:
        with _explained_session(source, person=person, table=table) as session:
            name = dataset_name(source, table)
            by = _grouping(session.catalog.table(name), columns)
            margin, keys = _expected_error(session, name, by)
            total, _ = _expected_error(session, name, None)
    except Refusal as refusal:
        reason = str(refusal.because)
    codes = [_code(source, each, person=person, table=table) for each in (by, None)]
    return ReleasePlan(codes[0], by, EPSILON, margin, keys, reason, _least_people(keys), codes[1], total)


def suitable_release(plan: ReleasePlan, cube: Cube) -> str:
    """What the file is large enough for, from exact counts: a "table", the "total" of people, or "nothing".

    A table is useful where values that most releases keep have half of the people and are counted precisely.
    """
    if plan.margin is None or plan.total_margin is None:
        return TABLE
    if plan.by is not None:
        numbers = _people_by_value(cube, plan.by)
        often = numbers[numbers >= plan.least]
        if 2 * int(often.sum()) >= int(numbers.sum()) and _is_precise(plan.margin, often):
            return TABLE
    return TOTAL if _is_precise(plan.total_margin, np.array([cube.total])) else NOTHING


def _is_precise(margin: str, numbers: Codes) -> bool:
    """Whether there are counts, and their mean is several margins of error."""
    size = margin.replace(",", "")
    return len(numbers) > 0 and (size == UNKNOWN or PRECISION * Fraction(size) * len(numbers) <= int(numbers.sum()))


def _people_by_value(cube: Cube, name: str) -> Codes:
    """Number of people with each value of a column."""
    if cube.persons is None:
        numbers = np.zeros(len(cube.values[name]), np.int64)
        np.add.at(numbers, cube.codes[name], cube.people)
        return numbers
    width = cube.total or 1
    pairs = np.unique(cube.codes[name] * width + cube.persons)
    return np.bincount(pairs // width, minlength=len(cube.values[name])).astype(np.int64)


def _least_people(keys: str) -> int:
    """Number of people that a value needs to be kept in 95% of releases, from the words of the planner."""
    number = re.search(r"one of ([\d,]+) in 95%", keys)
    return int(number[1].replace(",", "")) if number else 0


def _grouping(known: Table, columns: Sequence[str]) -> str | None:
    """The first column of text, whole numbers or booleans; how many values it has is not asked."""
    return next((name for name in columns if name in known.columns and known.columns[name].type in KEY_TYPES), None)


@contextmanager
def _explained_session(source: object, *, person: str | None, table: str | None) -> Iterator[Session]:
    """A session as the code opens it, with a ledger of its own."""
    words = {"max_rows": MAX_ROWS} if person else {}
    with (
        SQLiteLedger(":memory:") as ledger,
        Session.protect(
            source,
            name=dataset_name(source, table),
            privacy_unit=person or ROW,
            budget=Budget(epsilon=Decimal(BUDGET), delta=Decimal(DELTA)),
            table=table,
            delimiter=seeming_delimiter(source),
            ledger=ledger,
            **words,  # type: ignore[arg-type]
        ) as session,
    ):
        yield session


def _expected_error(session: Session, name: str, by: str | None) -> tuple[str, str]:
    """The margin of a count and how values are found, by the planner."""
    people = frame(name)
    groups = people if by is None else people.group_by(by, keys=discover(delta=Decimal(KEY_DELTA), rule="optimal"))
    explanation = session.explain(groups.agg(people=count_units()), epsilon=Decimal(EPSILON))
    margin = explanation.outputs[0].margin
    return UNKNOWN if margin is None else f"{float(margin):,.6g}", explanation.found


def _code(source: object, by: str | None, *, person: str | None, table: str | None) -> str:
    name = dataset_name(source, table)
    place, imports = _place(source)
    unit = "dp.ROW,  # protects rows: better the column of a person" if person is None else f"{_quote(person)},"
    groups = []
    if by is not None:
        keys = f'    keys = dp.discover(delta={KEY_DELTA}, rule="optimal")'
        groups = [keys, f"    rows = rows.group_by({_quote(by)}, keys=keys)"]
    options = [f"table={_quote(table)},"] if table is not None else []
    delimiter = seeming_delimiter(source)
    options += [f"delimiter={_quote(delimiter)},"] if delimiter is not None else []
    bound = [f"# {_DECISION}", f"max_rows={MAX_ROWS},"] if person is not None else []
    lines = [
        *imports,
        "import discreet as dp",
        "",
        "with dp.protect(",
        f"    {place}",
        *(f"    {option}" for option in options),
        f"    name={_quote(name)},",
        f"    privacy_unit={unit}",
        *(f"    {each}" for each in bound),
        f"    budget=dp.Budget(epsilon={BUDGET}, delta={DELTA}),",
        ") as session:",
        f"    rows = dp.table({_quote(name)})",
        *groups,
        "    query = rows.agg(people=dp.count_units())",
        f"    print(session.release(query, epsilon={EPSILON}))",
    ]
    return "\n".join(lines)


def dataset_name(source: object, table: str | None) -> str:
    """A name for the dataset: of the table or of the file, in letters, digits and underscores."""
    text = table or (Path(source).stem if isinstance(source, str | Path) and "://" not in str(source) else _VARIABLE)
    name = re.sub(r"[^a-z0-9_]+", "_", text.lower()).strip("_")
    return name if name[:1].isalpha() else f"t_{name}".rstrip("_")


def _place(source: object) -> tuple[str, list[str]]:
    """The source as an argument, and the imports that it needs; the address of a database may hold a password."""
    if not isinstance(source, str | Path):
        return f"{_VARIABLE},  # {_MEMORY}", []
    if "://" in str(source):
        return f'os.environ["{_ENVIRONMENT}"],', ["import os", ""]
    return f"{_quote(str(source))},", []


def _quote(text: str) -> str:
    """A text as Python, in double quotes where it needs no escapes."""
    return f'"{text}"' if text.isprintable() and not set(text) & {'"', "\\"} else repr(text)
