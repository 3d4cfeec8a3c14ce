"""What an owner checks before a table is registered whose unit is in another one: that the way to it is a function.

A row of such a table belongs to the unit of the row that it leads to. Where a key stands in several rows there, it
would lead to several units; where it stands in none, the row belongs to nobody and is left out. Checking reads the
rows and tells exact numbers, so it is the owner's own act: nothing of it is charged, stored or released.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.catalog.catalog import Catalog, ColumnType, Table, Through
from discreet.catalog.privacy_unit import Caps
from discreet.engines import Engine, engines_of
from discreet.errors import short_traceback
from discreet.plan.physical import (
    Apply,
    Base,
    Constant,
    CountRows,
    Feature,
    JoinedRows,
    Keys,
    MissingUnits,
    NamedColumn,
    PerUnit,
    Pushdown,
    Read,
    Rows,
    Scan,
    Term,
)
from discreet.planner.resolve.time_slices import within
from discreet.session import draft_catalog

_TIMES = "discreet_times"


@dataclass(frozen=True)
class Way:
    """A way to a unit: how many keys stand in several rows of the table it leads to, and how many rows lead nowhere."""

    table: str
    through: str
    columns: tuple[str, ...]
    shared_keys: int
    lost_rows: int

    @property
    def ok(self) -> bool:
        """Whether each row leads to one row at most."""
        return self.shared_keys == 0

    def __str__(self) -> str:
        keys = f"{self.shared_keys:,} keys stand in several rows" if self.shared_keys else "every key stands in one row"
        lost = f"{self.lost_rows:,} rows of {self.table!r} lead nowhere and are left out"
        return f"{self.table!r} through {self.through!r}, by {', '.join(map(repr, self.columns))}: {keys}; {lost}"


@short_traceback
def verify(catalog: Catalog | str | Path, *, sources: Mapping[str, object] | None = None) -> list[Way]:
    """Check that each row of a table leads to one privacy unit, where the unit is in another table.

    It is for the owner of the data: it reads rows and reports exact numbers. Nothing is charged, stored or released.

    Args:
        catalog: A catalog, or the path of one in YAML.
        sources: Sources by the name of their table, where the catalog names none. Default: none.

    Returns:
        One result for each table whose unit is in another one; `ok` is false where a key leads to several units.

    Raises:
        Refusal: If the catalog or a source cannot be used.

    Example:
        >>> import discreet as dp
        >>> catalog = dp.Catalog.parse('''
        ... catalog: discreet.catalog/1
        ... tables:
        ...   visits:
        ...     privacy_unit: patient_id
        ...     max_rows: 10
        ...     columns: {patient_id: {type: integer}}
        ... ''')
        >>> dp.verify(catalog, sources={"visits": dp.datasets.visits(100)})
        []
    """
    known = catalog if isinstance(catalog, Catalog) else Catalog.load(catalog)
    beside = Path() if isinstance(catalog, Catalog) else Path(catalog).parent
    given = dict(sources or {})
    opened = {name: draft_catalog.open_source(name, table, given, beside) for name, table in known.tables.items()}
    engines = engines_of(opened, memory_limit=None, threads=None)
    try:
        return [
            _way(name, table, table.privacy_unit, known, engines[name])
            for name, table in known.tables.items()
            if isinstance(table.privacy_unit, Through)
        ]
    finally:
        for engine in dict.fromkeys(engines.values()):
            engine.close()


def _way(name: str, table: Table, way: Through, catalog: Catalog, engine: Engine) -> Way:
    holder = catalog.table(way.through)
    theirs = {column: f"discreet_key_{i}" for i, (_, column) in enumerate(way.on)}
    there = _rows(way.through, holder, theirs)
    once = PerUnit(
        there,
        None,
        tuple(theirs.values()),
        MissingUnits.DROP,
        (Feature(_TIMES, CountRows(), ColumnType.INTEGER),),
    )
    times = Read(_TIMES, ColumnType.INTEGER)
    several = Apply("gt", (times, Constant(1, ColumnType.INTEGER)), ColumnType.BOOLEAN)
    here = _rows(name, table, {own: own for own, _ in way.on})
    on = tuple((Read(own, table.column(own).type), theirs[column]) for own, column in way.on)
    lost = Apply("missing", (times,), ColumnType.BOOLEAN)
    return Way(
        name,
        way.through,
        tuple(own for own, _ in way.on),
        shared_keys=_count_rows(way.through, holder.version, once, several, engine),
        lost_rows=_count_rows(name, table.version, JoinedRows(here, once, on, keeps_unmatched=True), lost, engine),
    )


def _rows(name: str, table: Table, names: Mapping[str, str]) -> Rows:
    columns = tuple(NamedColumn(to, Read(c, table.column(c).type)) for c, to in names.items())
    return Rows(name, table.version, columns, within(table))


def _count_rows(name: str, version: int, base: Base, predicate: Term, engine: Engine) -> int:
    """How many rows of a relation meet a condition."""
    read = (Read(_TIMES, ColumnType.INTEGER),)
    scan = Scan(name, version, read, (), MissingUnits.DROP, None, base=base)
    question = Pushdown(scan, predicate, Keys(), Caps(), (CountRows(),))
    exact: Any = engine.run(engine.prepare(question))
    return int(exact[0][0])
