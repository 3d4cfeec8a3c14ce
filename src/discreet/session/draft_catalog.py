"""Drafting a catalog for one table: the owner's words, and types read from the source once and then frozen.

Types that the owner does not declare are taken from the ledger where the dataset is registered already, and are read
from the source only the first time. Afterwards no cell can change how a column is read. A first time there is also
where nothing was charged yet and the owner corrects the path or the delimiter: then the columns are others.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import ROW_IN_TEXT, Catalog, ColumnType, Table, Value, nearest_type, validate
from discreet.catalog.columns import is_time, time_bounds_advice
from discreet.catalog.privacy_unit import Row, unit_of
from discreet.catalog.time_slice import EXAMPLE, Slice
from discreet.engines import Source, Statements, draft, has_tables, resolve_location, source_of, unreadable_column
from discreet.engines.sources.files import public_location
from discreet.errors import BudgetError, NameNotFoundError, ParameterError, SourceError, suggestion
from discreet.exact.numbers import Number
from discreet.ledger import Dataset, Ledger, Registration
from discreet.ledger import RegisteredSlice as KeptSlice
from discreet.ledger.records import source_identity
from discreet.ledger.records.registration import another_source
from discreet.query.aggregates import checked_bounds

_LAST_PART = re.compile(r'"(?P<quoted>(?:[^"]|"")+)"$|(?P<bare>[^."]+)$')


@dataclass(frozen=True)
class Declaration:
    """What an owner may say of a table besides its source, as `protect` takes it."""

    privacy_unit: str | Sequence[str] | Row | None
    budget: Budget | None
    version: int
    columns: Mapping[str, Mapping[str, Any]]
    table: Mapping[str, Any]
    slice: Slice | None = None


def name_of(source: object, given: object, table: str | None = None) -> str:
    """The dataset's name: the owner's word, or the last part of a table's name, or the stem of a file or directory."""
    if isinstance(given, str):
        return given
    if given is None and isinstance(table, str) and (last := _LAST_PART.search(table)):
        return (last["quoted"] or last["bare"]).replace('""', '"')
    if given is None and isinstance(source, str | Path):
        stem = Path(public_location(str(source))).name.split(".")[0]
        if stem and "*" not in stem and "?" not in stem:
            return stem
    raise ParameterError(
        "a dataset without a name",
        because="the budget is kept by name, and a frame or a glob has none",
        instead='name="visits"',
    )


def name_slice(name: str, given: object) -> tuple[str, Slice | None]:
    """The dataset that a slice of a table is: named after the table and the period, unless it is named otherwise."""
    if given is None:
        return name, None
    if not isinstance(given, Slice):
        raise ParameterError(
            f"a slice of type {type(given).__name__}",
            because="a slice is by a column, from one moment until before another",
            instead=f"slice={EXAMPLE}",
        )
    table = given.of or name.removesuffix(f"-{given.period}")
    own = name if given.of not in (None, name) else f"{table}-{given.period}"
    return own, replace(given, of=table)


def by_column(
    *,
    keys: Mapping[str, Sequence[Value]] | None,
    bounds: Mapping[str, tuple[Number, Number]] | None,
    types: Mapping[str, str] | None,
    missing: Mapping[str, Number] | None,
    bins: Mapping[str, Mapping[str, int] | Sequence[Number]] | None,
) -> dict[str, dict[str, Any]]:
    """The declared facts of each column, by column."""
    facts: dict[str, Mapping[str, Any]] = {
        "keys": {column: _key_list(values, column) for column, values in _mapping(keys, "keys").items()},
        "bounds": {column: _bounds(pair, column) for column, pair in _mapping(bounds, "bounds").items()},
        "type": {column: _type(kind, column) for column, kind in _mapping(types, "types").items()},
        "missing": _mapping(missing, "missing"),
        "bins": _mapping(bins, "bins"),
    }
    said: dict[str, dict[str, Any]] = {}
    for fact, values in facts.items():
        for column, value in values.items():
            said.setdefault(column, {})[fact] = value
    return said


_EXAMPLES = {
    "keys": 'keys={"ward": ["A", "B"]}',
    "bounds": 'bounds={"cost": (0, 5000)}',
    "types": 'types={"age": "integer"}',
    "missing": 'missing={"cost": 0}',
    "bins": 'bins={"cost": {"log": 32}}',
}


def _bounds(given: object, column: str) -> object:
    """The bounds of a column of numbers. Dates are refused with the query that takes their bounds."""
    ends = list(given) if isinstance(given, tuple | list) else []
    if any(is_time(end) for end in ends):
        raise ParameterError(
            f"bounds of {column!r} that are dates or times",
            because="bounds of a table are of numbers; a query for a synthetic table takes those of dates and times",
            instead=time_bounds_advice(column, ends),
        )
    try:
        return checked_bounds(given)
    except ParameterError as error:
        advice = error.instead.removeprefix("bounds=")
        raise ParameterError(
            f"{error.what}, of {column!r}", because=error.because, instead=f"bounds={{{column!r}: {advice}}}"
        ) from None


def _mapping(given: object, what: str) -> Mapping[str, Any]:
    if given is None or isinstance(given, Mapping):
        return given or {}
    raise ParameterError(
        f"{what} of type {type(given).__name__}", because=f"{what} are given by column", instead=_EXAMPLES[what]
    )


def _type(kind: object, column: str) -> object:
    nearest = nearest_type(str(kind))
    if kind in tuple(ColumnType):
        return kind
    raise ParameterError(
        f"the type {kind!r} of {column!r}",
        because=f"types are {', '.join(ColumnType)}",
        instead=f'types={{"{column}": "{nearest}"}}',
    )


def _key_list(values: object, column: str) -> list[Value]:
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping):
        return list(values)
    raise ParameterError(
        f"keys of {column!r} of type {type(values).__name__}", because="keys are a list", instead=_EXAMPLES["keys"]
    )


def one_table_catalog(name: str, source: Source, words: Declaration, ledger: Ledger) -> Catalog:
    """A catalog of one table."""
    if not isinstance(words.budget, Budget):
        whom = 'privacy_unit="patient_id", max_rows=10, ' if words.privacy_unit is None else ""
        raise BudgetError(
            f"no dp.Budget for {name!r}",
            because="every protected dataset needs a privacy budget",
            instead=f"{whom}budget=dp.Budget(epsilon=2), or dp.Budget(epsilon=2, delta=1e-9)",
        )
    unit = unit_of(words.privacy_unit, words.table["neighbours"])  # type: ignore[arg-type]
    types = _types(name, source, words, ledger)
    for column in (*words.columns, *unit.columns, *([words.slice.column] if words.slice else [])):
        is_declared = source.undeclared is not None and "type" in words.columns.get(column, {})
        if column in source.unreadable and not is_declared:
            raise unreadable_column(name, column, source)
        if column not in types:
            raise _no_column(column, types, is_unit=column in unit.columns)
    columns = {column: {**words.columns.get(column, {}), "type": kind} for column, kind in types.items()}
    data = {
        **words.table,
        "columns": columns,
        "privacy_unit": ROW_IN_TEXT if unit.is_row else unit.columns,
        "version": words.version,
        "budget": words.budget.arguments,
        "slice": words.slice and vars(words.slice),
    }
    return Catalog(tables={name: validate(Table, data, f"table {name!r}")})


def _no_column(column: str, types: Mapping[str, str], *, is_unit: bool) -> NameNotFoundError:
    nearest = suggestion(column, types)
    instead = repr(nearest) if nearest in types else nearest
    if is_unit and column.casefold() in ("row", "rows", "dp.row"):
        instead = "privacy_unit=dp.ROW, without quotes"
    return NameNotFoundError(f"column {column!r}", because="the source has no column of that name", instead=instead)


def _types(name: str, source: Source, words: Declaration, ledger: Ledger) -> dict[str, str]:
    declared = {column: str(said["type"]) for column, said in words.columns.items() if "type" in said}
    kept = ledger.registration(name, words.version)
    _refuse_another_source(name, source, words, kept, ledger)
    if kept is not None and not _is_corrected(kept, source, words):
        known: dict[str, str] = dict(json.loads(kept.facts)["columns"])
    elif source.columns and all(column in declared for column in source.columns):
        known = dict.fromkeys(source.columns if source.undeclared is None else declared, "")
    else:
        kinds = draft(source)
        before = ledger.registration(name) if kept is None else None
        seen: dict[str, str] = {} if before is None or not before.is_charged else json.loads(before.facts)["columns"]
        names = source.columns if len(source.columns) == len(kinds) else tuple(kinds)  # a sniffer renames strange ones
        drafted_now = zip(names, kinds.values(), strict=True)
        known = {column: seen.get(column, str(kind)) for column, kind in drafted_now}
        if source.undeclared is not None:
            known = {column: kind for column, kind in known.items() if not _clashes(column, {**known, **declared})}
            known |= declared
    # a ledger gives columns by name: in another order they would be another query, which is charged again
    turns = {column: turn for turn, column in enumerate(source.columns)}
    ordered = sorted(known, key=lambda column: (turns.get(column, len(turns)), column))
    return {column: declared.get(column, known[column]) for column in ordered}


def _clashes(column: str, others: Iterable[str]) -> bool:
    """Whether another column has the same name in another case, as one field of one person's record may have."""
    return any(other != column and other.casefold() == column.casefold() for other in others)


def _refuse_another_source(
    name: str, source: Source, words: Declaration, kept: Registration | None, ledger: Ledger
) -> None:
    """Refuse a file that is not the one registered before its columns are held against those of the other."""
    newest = ledger.registration(name)
    if kept is not None and kept.is_charged and newest is not None:
        refusal = another_source(name, words.version, source.identity, kept, newest.version)
        if refusal is not None:
            raise refusal


def _is_corrected(kept: Registration, source: Source, words: Declaration) -> bool:
    """Whether the owner names another source, or another way to split its lines, before anything was charged."""
    if kept.is_charged:
        return False
    delimiter = json.loads(kept.facts).get("delimiter")
    return not source_identity.is_same(kept.source, source.identity) or delimiter != words.table["delimiter"]


def open_source(name: str, table: Table, given: Mapping[str, object], beside: Path) -> Source:
    """The source of a table: given with the session, or named in the catalog and found beside it."""
    data = given.get(name, None if table.source is None else resolve_location(table.source, beside))
    if isinstance(data, Source):
        return _with_declared_types(data, table)
    if data is None:
        raise SourceError(
            f"table {name!r} without a source",
            because="neither the catalog nor the session says where its rows are",
            instead=f'source: {name}.csv in the catalog, or Session(catalog, sources={{"{name}": frame}})',
        )
    stated = Statements(fixed_schema=table.fixed_schema, row_local=table.row_local or table.public)
    within = table.relation if has_tables(data) else None
    return _with_declared_types(source_of(data, delimiter=table.delimiter, table=within, stated=stated), table)


def _with_declared_types(source: Source, table: Table) -> Source:
    """A source with the declared types of its columns; those of public data may depend on its rows."""
    return (
        source
        if table.public
        else source.with_declared_types({name: fact.type for name, fact in table.columns.items()})
    )


def dataset_of(name: str, table: Table, source: str) -> Dataset:
    """What the ledger keeps of a table: the facts that the meaning of every answer rests on."""
    if table.budget is None:
        raise BudgetError(
            f"table {name!r} without a budget",
            because="every protected dataset needs a privacy budget",
            instead="budget: {epsilon: 2, delta: 1e-9} in the catalog, or budget=dp.Budget(epsilon=2)",
        )
    budget = Budget(**vars(table.budget))
    budget.check_population(table.population)
    return Dataset(
        name=name,
        version=table.version,
        source=source,
        facts=table.frozen_facts(),
        unit=table.unit.label,
        neighbours=table.unit.neighbours,
        budget=budget,
        population=table.population,
        slice=None if table.slice is None else KeptSlice(table.slice.of, str(table.slice.start), str(table.slice.end)),
    )
