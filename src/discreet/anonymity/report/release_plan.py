"""The differentially private release that a report shows in the place of a file: its code, its cost, its error.

The query counts people by one column whose values are found by partition selection: values that are read from the data
would be published without charge. The planner explains it from public facts; nothing is charged and no row is read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from discreet.accounting.filters import Budget
from discreet.anonymity.classes.cube import Cube
from discreet.catalog.privacy_unit import ROW
from discreet.errors import Refusal
from discreet.ledger import SQLiteLedger
from discreet.query.aggregates import count_units
from discreet.query.frame import table as frame
from discreet.query.keys import discover
from discreet.session.session import Session

EPSILON, BUDGET = "0.5", "1"
DELTA, KEY_DELTA = "1e-9", "1e-10"
MOST_KEYS = 200
"""Columns with more values make no table that anybody reads."""
SEVERAL_ROWS = 10
"""Rows of one person that count, where people have several; the owner decides it."""
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
    """

    code: str
    by: str | None
    epsilon: str
    margin: str | None
    keys: str
    reason: str = ""


def release_plan(
    source: object, cube: Cube, columns: Sequence[str], *, person: str | None, table: str | None
) -> ReleasePlan:
    """The plan of a release that counts people by the first of these columns that has few values."""
    by = _grouping(cube, columns)
    rows = 1 if cube.persons is None else SEVERAL_ROWS
    code = _code(source, by, person=person, rows=rows, table=table)
    try:
        margin, keys = _expected_error(source, by, person=person, rows=rows, table=table)
    except Refusal as refusal:
        return ReleasePlan(code, by, EPSILON, None, "", str(refusal.because))
    return ReleasePlan(code, by, EPSILON, margin, keys)


def _grouping(cube: Cube, columns: Sequence[str]) -> str | None:
    """The first column with few values that are text, whole numbers or booleans."""
    for name in columns:
        kind = cube.values[name].type
        is_key = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)
        if (is_key or pa.types.is_boolean(kind)) and 1 < len(cube.values[name]) <= MOST_KEYS:
            return name
    return None


def _expected_error(
    source: object, by: str | None, *, person: str | None, rows: int, table: str | None
) -> tuple[str, str]:
    """The margin of a count and how values are found, by the planner."""
    budget = Budget(epsilon=Decimal(BUDGET), delta=Decimal(DELTA))
    words = {"max_rows": rows} if person else {}
    with (
        SQLiteLedger(":memory:") as ledger,
        Session.protect(
            source,
            name=dataset_name(source, table),
            privacy_unit=person or ROW,
            budget=budget,
            table=table,
            ledger=ledger,
            fixed_schema=_is_in_memory(source),
            **words,  # type: ignore[arg-type]
        ) as session,
    ):
        people = frame(dataset_name(source, table))
        groups = people if by is None else people.group_by(by, keys=discover(delta=Decimal(KEY_DELTA), rule="optimal"))
        explanation = session.explain(groups.agg(people=count_units()), epsilon=Decimal(EPSILON))
    margin = explanation.outputs[0].margin
    return "depends on the data" if margin is None else f"{float(margin):,.6g}", explanation.found


def _code(source: object, by: str | None, *, person: str | None, rows: int, table: str | None) -> str:
    name = dataset_name(source, table)
    place, imports = _place(source)
    unit = "dp.ROW,  # protects rows: better the column of a person" if person is None else f"{_quote(person)},"
    groups = []
    if by is not None:
        keys = f'    keys = dp.discover(delta={KEY_DELTA}, rule="optimal")'
        groups = [keys, f"    rows = rows.group_by({_quote(by)}, keys=keys)"]
    options = [f"table={_quote(table)},"] if table is not None else []
    options += ["fixed_schema=True,  # its types were declared, not inferred"] if _is_in_memory(source) else []
    bound = [f"max_rows={rows},  # decide it by how the data is collected"] if person is not None else []
    lines = [
        *imports,
        "import discreet as dp",
        "",
        "with dp.protect(",
        f"    {place},",
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
    """The source as code, and the imports that it needs; the address of a database may hold a password."""
    if isinstance(source, str | Path):
        if "://" in str(source):
            return f'os.environ["{_ENVIRONMENT}"]', ["import os", ""]
        return _quote(str(source)), []
    return _VARIABLE, []


def _is_in_memory(source: object) -> bool:
    return not isinstance(source, str | Path)


def _quote(text: str) -> str:
    """A text as Python, in double quotes where it needs no escapes."""
    return f'"{text}"' if text.isprintable() and not set(text) & {'"', "\\"} else repr(text)
