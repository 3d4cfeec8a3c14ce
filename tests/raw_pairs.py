"""Neighbours as raw text or records, with the types that an owner declares and a query that an analyst asks.

Everything follows from a seed and a form: "csv" text, "json" lines, or "records" in memory. One person's lines differ:
they are there or not, or are replaced by other lines.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import discreet as dp
import raw_cells
import raw_expressions as expressions
from discreet.query.frame import Aggregation, Frame, Query
from raw_cells import Cell, Pick, as_number, written

Form = Literal["csv", "json", "records"]
Record = dict[str, Cell]

SCALARS = ("integer", "real", "text", "boolean")
TIMES = ("date", "timestamp")
ID_TYPES = ("text", "text", "integer")
NAMES = ("age", "cost", "ward", "day")
BUDGET = {"epsilon": 9}
OTHER_CASE, ONLY_HERS, UNDECLARED = "Age", "rare", "note"
NESTED = (list, dict, tuple)
BOUNDS = ((0, 1), (0, 2), (-1, 3), (2, 5))
ALIKE = {"text": ("text",), "small": ("text", "integer")}
"""Ids that are present and distinct under a declared type: rows without an id may then be one unit, hers alone."""


@dataclass(frozen=True)
class Column:
    """A declared column, and the cells that other people have in it."""

    name: str
    shape: str
    pool: tuple[Cell, ...]
    declared: str


@dataclass(frozen=True)
class Pair:
    """Two datasets, what is declared of both, and what is asked of both."""

    seed: int
    form: Form
    before: tuple[Record, ...]
    after: tuple[Record, ...]
    columns: tuple[Column, ...]
    facts: dict[str, Any]
    query: Query
    asked: str

    def sides(self) -> tuple[str, str]:
        """Both datasets as raw text."""
        before, after = (raw(side, self.form).encode(errors="backslashreplace") for side in (self.before, self.after))
        return before.decode(), after.decode()


def raw(records: Sequence[Record], form: Form) -> str:
    """Records as the text that a reader gets, or, in memory, as Python shows them."""
    if form == "csv":
        names = list(dict.fromkeys(name for record in records for name in record))
        lines = [",".join(written(record.get(name)) for name in names) for record in records]
        return "\n".join([",".join(names), *lines]) + "\n"
    if form == "json":
        return "".join(json.dumps(record) + "\n" for record in records)
    return "".join(f"{record!r},\n" for record in records)


def pair(
    seed: int,
    form: Form,
    *,
    with_times: bool = False,
    is_strict: bool = False,
    left_out: Sequence[str] = (),
    table: str = "t",
) -> Pair:
    """The pair of a seed; for a strict reader, which fails on mixed cells, everybody's are of one kind."""
    pick = Pick(dp.testing.generator(seed))
    id_shape, id_type = pick.one(list(raw_cells.IDS)), pick.one(ID_TYPES)
    columns = _columns(pick, form, left_out, with_times=with_times, is_strict=is_strict)
    others = _others(pick, raw_cells.IDS[id_shape], columns, form)
    own = raw_cells.BROKEN * 8 if with_times else ()
    hers = [_hers(pick, columns, form, left_out, own) for _ in range(2)]
    if is_strict:
        hers = [[_of_one_kind(pick, row, others[0]) for row in rows] for rows in hers]
    how = pick.one(("add_remove", "add_remove", "replace_one"))
    is_row = pick.chance(0.1)
    if is_row:
        hers = [rows[:1] for rows in hers]
    before = _put(pick, others, hers[0]) if how == "replace_one" else others
    facts = _facts(pick, how, "dp.ROW" if is_row else "id", is_alike=id_type in ALIKE.get(id_shape, ()))
    facts["columns"] = {"id": {"type": id_type}} | {each.name: {"type": each.declared} for each in columns}
    query, asked = _question(pick, dp.table(table), columns, is_capped=is_row or "max_rows" in facts)
    return Pair(seed, form, tuple(before), tuple(_put(pick, others, hers[1])), columns, facts, query, asked)


def _columns(
    pick: Pick, form: Form, left_out: Sequence[str], *, with_times: bool, is_strict: bool
) -> tuple[Column, ...]:
    shapes = raw_cells.SHAPES | ({} if form == "csv" else raw_cells.IN_RECORDS)
    shapes |= raw_cells.ONLY_IN_MEMORY if form == "records" else {}
    kinds = (*SCALARS, *TIMES) if with_times else SCALARS
    found = []
    for name in NAMES[: pick.whole(2, len(NAMES))]:
        shape = pick.one([each for each in shapes if each not in left_out])
        pool = [as_number(cell) if form != "csv" and pick.chance(0.7) else cell for cell in shapes[shape](pick)]
        pool = [cell for cell in pool if not is_strict or _kind(cell) is _kind(pool[0])]
        declared = pick.one(TIMES) if shape in ("dates", "times") and with_times else pick.one(kinds)
        found.append(Column(name, shape, tuple(pool), declared))
    if pick.chance(0.02) and not with_times:
        found[-1] = Column(found[-1].name, "dates", ("2020-01-01", "2020-01-02"), pick.one(TIMES))
    if form != "csv" and pick.chance(0.2):
        found.append(Column(ONLY_HERS, "only hers", (), pick.one(SCALARS)))
    return tuple(found)


def _others(pick: Pick, id_of: Any, columns: Sequence[Column], form: Form) -> list[Record]:
    """People with one row or a few, who now and then have a cell that is missing."""
    rows, holes = [], pick.one((0, 0, 0.1))
    note = pick.chance(0.2)
    for person in range(pick.whole(12, 24)):
        for _ in range(pick.one((1, 1, 1, 2))):
            row = {"id": id_of(person)}
            for column in columns:
                if column.pool:
                    row[column.name] = (None if form != "csv" else "") if pick.chance(holes) else pick.one(column.pool)
            rows.append(row | ({UNDECLARED: 1} if note else {}))
    return rows


def _hers(
    pick: Pick, columns: Sequence[Column], form: Form, left_out: Sequence[str], own_cells: Sequence[Cell] = ()
) -> list[Record]:
    """One person's rows: any cell may be hostile, the id too; in JSON she may have fields that nobody else has."""
    ids = raw_cells.HOSTILE_IDS + (() if form == "csv" else raw_cells.HOSTILE_IDS_IN_JSON)
    cells = (*raw_cells.TEXTS, *own_cells, *(() if form == "csv" else raw_cells.IN_JSON * 3))
    cells += raw_cells.IN_MEMORY * 4 if form == "records" else ()
    unread = (*(NESTED if "nested" in left_out else ()), *((bytes,) if "bytes" in left_out else ()))
    ids, cells = (tuple(each for each in some if not isinstance(each, unread)) for some in (ids, cells))
    own = pick.one(ids) if pick.chance(0.5) else "zoe"
    rows = []
    for _ in range(pick.one((1, 1, 1, 2, 3))):
        row = {"id": own}
        for column in columns:
            row[column.name] = pick.one(cells) if not column.pool or pick.chance(0.6) else pick.one(column.pool)
        if form != "csv" and pick.chance(0.1):
            row[OTHER_CASE] = pick.one((1, "x", None))
        if form != "csv" and pick.chance(0.1):
            row[UNDECLARED] = pick.one(cells)
        rows.append(row)
    return rows


def _kind(cell: Cell) -> type:
    """What a strict reader tells apart: it takes whole numbers beside others, and what is missing beside anything."""
    return float if isinstance(cell, int | float) and not isinstance(cell, bool) else type(cell)


def _of_one_kind(pick: Pick, row: Record, other: Record) -> Record:
    """A row whose cells are missing, or like another's, where they are of another kind; never with another's id."""
    return {
        name: cell
        if name not in other or _kind(cell) is _kind(other[name])
        else pick.one((None, None if name == "id" else other[name]))
        for name, cell in row.items()
    }


def _put(pick: Pick, others: list[Record], hers: list[Record]) -> list[Record]:
    """Her rows first, last, or somewhere; CSV lines have everybody's fields."""
    place = pick.one((0, len(others), pick.whole(0, len(others))))
    shared = {UNDECLARED: 1} if UNDECLARED in others[0] else {}
    return [*others[:place], *(shared | row for row in hers), *others[place:]]


def _facts(pick: Pick, how: str, unit: str, *, is_alike: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"privacy_unit": unit, "neighbours": how, "budget": BUDGET}
    facts["sampling"] = pick.one(("fast", "fast", "portable"))
    if unit == "dp.ROW":
        return facts
    if is_alike and pick.chance(0.3):
        facts["missing_units"] = "one_unit"
    if pick.chance(0.75):
        facts["max_rows"] = pick.one((1, 1, 2))
    return facts


def _question(pick: Pick, table: Frame, columns: Sequence[Column], *, is_capped: bool) -> tuple[Query, str]:
    """Conditions, groups and measures over several columns at once."""
    rows, said = table, []
    if pick.chance(0.4):
        rows, words = _where(pick, table, pick.one(columns))
        said.append(words)
    if pick.chance(0.3):
        condition = expressions.condition(pick, table, pick.one(columns))
        rows = rows.where(condition)
        said.append(str(condition))
    measures = _measures(pick, table, columns, is_capped=is_capped)
    if pick.chance(0.15):
        key, values = expressions.key(pick, table, pick.one(columns))
        said.append(f"by {key} of {values}")
        asked = rows.derive(key=key).group_by("key", keys={"key": values}).agg(**measures)
        return asked, f"{'; '.join(said)}; {list(measures)}"
    groups = [each for each in columns if each.declared in ("text", "boolean", "integer") and pick.chance(0.5)][:1]
    if groups:
        keys = {each.name: _values(pick, each) for each in groups}
        said.append(f"by {keys}")
        limits = {"max_groups": 1} if pick.chance(0.2) else {}
        return rows.group_by(*keys, keys=keys, **limits).agg(
            **measures
        ), f"{'; '.join(said)}; {list(measures)} {limits}"
    return rows.agg(**measures), f"{'; '.join(said)}; {list(measures)}"


def _measures(pick: Pick, table: Frame, columns: Sequence[Column], *, is_capped: bool) -> dict[str, Aggregation]:
    found: dict[str, Aggregation] = {"units": dp.count_units()}
    counted = next((each for each in columns if each.declared in ("text", "boolean", "integer")), None)
    if counted is not None and pick.chance(0.4):
        found["values"] = dp.count_distinct(counted.name, domain=_values(pick, counted))
    if not is_capped:
        return found
    found["rows"] = dp.count()
    for column in columns:
        if column.declared in ("integer", "real"):
            grid = {"grid": pick.one((1, 0.5))} if column.declared == "real" else {}
            found[f"sum_{column.name}"] = dp.sum(column.name, bounds=pick.one(BOUNDS), **grid)
        elif column.declared == "text" and pick.chance(0.3):
            kind, grid = pick.one((("integer", {}), ("real", {"grid": 1})))
            found[f"cast_{column.name}"] = dp.sum(table[column.name].cast(kind), bounds=pick.one(BOUNDS), **grid)
    if pick.chance(0.3):
        found["case"] = dp.sum(expressions.number(pick, table, pick.one(columns)), bounds=pick.one(BOUNDS), grid=0.5)
    return found


def _where(pick: Pick, table: Frame, column: Column) -> tuple[Frame, str]:
    cell = table[column.name]
    if column.declared in TIMES or pick.chance(0.3):
        return (
            (table.where(cell.is_missing()), f"{column.name} missing") if pick.chance(0.3) else _present(table, column)
        )
    values = _values(pick, column)
    if column.declared in ("integer", "real"):
        value = values[0]
        chosen = pick.one(("eq", "le", "in", "between"))
        made = {"eq": cell == value, "le": cell <= value, "in": cell.is_in(values)}
        condition = made[chosen] if chosen in made else cell.between(min(values), max(values))
        return table.where(condition), f"{column.name} {chosen} {values}"
    if column.declared == "text" and pick.chance(0.5):
        return table.where(~(cell == values[0])), f"{column.name} != {values[0]!r}"
    return table.where(cell.is_in(values)), f"{column.name} in {values}"


def _present(table: Frame, column: Column) -> tuple[Frame, str]:
    return table.where(table[column.name].is_present()), f"{column.name} present"


def _values(pick: Pick, column: Column) -> list[Any]:
    """Public values of a column: those that other people have, in the declared type, and another."""
    cells = [*column.pool, *pick.some(raw_cells.TEXTS, 1 if pick.chance(0.2) else 0)]
    match column.declared:
        case "boolean":
            return [True, False]
        case "integer":
            return sorted({*_numbers(cells, whole=True), 0, pick.one((1, 2, 5))})
        case "real":
            return _numbers(cells, whole=False) or [0.5]
    texts = [written(cell) for cell in cells if cell is not None and written(cell)]
    spelled = {dp_spelling(text): text for text in texts}
    return list(spelled.values())[: pick.whole(1, 4)] or ["a"]


def dp_spelling(text: str) -> Any:
    """What two texts share that a reader may store alike, roughly: most lists of keys are then accepted."""
    number = as_number(text.strip())
    return text.casefold() if isinstance(number, str) else float(number)


def _numbers(cells: Sequence[Cell], *, whole: bool) -> list[Any]:
    found = [as_number(cell.strip() if isinstance(cell, str) else cell) for cell in cells]
    numbers = [each for each in found if isinstance(each, int | float) and abs(each) < 2**62]
    return sorted({int(each) if whole else each for each in numbers})


ROW = "row"
WIDTH = {"csv": 12, "json": 8, "records": 2}
"""Columns at once; one cell makes some readers fail on all of them."""


def wide_pair(
    seed: int, form: Form, *, is_strict: bool = False, left_out: Sequence[str] = ()
) -> tuple[list[Record], list[Record]]:
    """Two datasets of several columns that differ in one person's row; a number of each row that no reader changes."""
    pick = Pick(dp.testing.generator(seed))
    found = [_columns(pick, form, left_out, with_times=False, is_strict=is_strict) for _ in range(WIDTH[form])]
    columns = [replace(each[0], name=f"c{i}") for i, each in enumerate(found)]
    others = [{ROW: 1 + i} | row for i, row in enumerate(_others(pick, str, columns, form))]
    her = _hers(pick, columns, form, left_out)[0]
    her = {ROW: 0} | {name: cell for name, cell in her.items() if name[1:].isdigit()}
    if is_strict:
        her = _of_one_kind(pick, her, others[0])
    rows = [{name: cell for name, cell in row.items() if name not in ("id", UNDECLARED)} for row in others]
    return rows, _put(pick, rows, [her])
