"""The table of integers where keys are not known: groups by what rows hold, named, and only those of enough units.

A group is chosen among those of a unit by a keyed hash of the unit and of the key itself, with a tie-break on the key:
there is no list of keys to number them by. Keys of too few units do not leave the engine.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from discreet.catalog.catalog import ColumnType, Value
from discreet.engines.sql import aggregates, contribution_bounding, expressions
from discreet.engines.sql.blocks import TYPES
from discreet.engines.sql.counting import CountByRow, CountByUnit
from discreet.engines.sql.dialect import Dialect
from discreet.plan.physical import CountUnits, KeyedTable, Pushdown, SumSteps


def found_sql(
    question: Pushdown, rows: str, key: int, dialect: Dialect, stored: Mapping[SumSteps, str] | None = None
) -> str:
    """One row for each key that enough units have: the key, then the measures as digits."""
    tally = CountByUnit() if aggregates.is_grouped_by_unit(question, dialect) else CountByRow()
    parts = [aggregates.measure(each, question.scan, dialect, stored or {}, tally) for each in question.measures]
    terms = {f"{aggregates.GROUP}{i}": expressions.term(term, dialect) for i, term in enumerate(question.keys.columns)}
    where = "" if question.predicate is None else f" WHERE {expressions.term(question.predicate, dialect)}"
    if question.caps.max_groups is None and question.caps.max_rows_per_group is None:
        source, groups = tally.source(f"FROM {rows}{where}", terms, contribution_bounding.owner(question.scan, dialect))
    else:
        source, groups = (
            _bounded_rows(question, f"FROM {rows}{where}", terms, key, dialect),
            {name: name for name in terms},
        )
    columns = [f"{group} AS {name}" for name, group in groups.items()]
    measures = [f"{part} AS m{i}" for i, part in enumerate(parts)]
    grouped = f"SELECT {', '.join([*columns, *measures])} {source} GROUP BY {', '.join(groups)}"
    digits = [dialect.varchar.format(f"m{i}") + f" AS d{i}" for i in range(len(parts))]
    enough = f"m{question.measures.index(CountUnits())} >= {question.keys.at_least}"
    return f"SELECT {', '.join([*groups, *digits])} FROM ({grouped}) AS grouped WHERE {enough}"


def _bounded_rows(question: Pushdown, source: str, terms: Mapping[str, str], key: int, dialect: Dialect) -> str:
    named = ", ".join(f"{term} AS {name}" for name, term in terms.items())
    types = dict(zip(terms, (column.type for column in question.keys.columns), strict=True))
    rows = f"SELECT *, {named} {source}"
    bounded = contribution_bounding.within_groups(question.scan, question.caps, rows, key, dialect, types=types)
    return f"FROM ({bounded}) AS kept"


def schema(question: Pushdown) -> pa.Schema:
    """The columns of such an answer: keys in their types, and whole numbers of any size as digits."""
    keys = [pa.field(f"{aggregates.GROUP}{i}", TYPES[term.type]) for i, term in enumerate(question.keys.columns)]
    return pa.schema([*keys, *(pa.field(f"d{i}", TYPES[ColumnType.TEXT]) for i in range(len(question.measures)))])


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterable[tuple[Any, ...]]:
    """The rows of batches as plain Python."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def parse_keys(question: Pushdown, rows: Iterable[tuple[Any, ...]]) -> KeyedTable:
    """Keys in the order of their own values, the missing one last, with their integers."""
    width = len(question.keys.columns)
    ordered = sorted(rows, key=lambda row: _order(row[:width]))
    places = range(width, width + len(question.measures))
    return KeyedTable(
        tuple(tuple(row[:width]) for row in ordered), [[int(row[place]) for row in ordered] for place in places]
    )


def _order(key: tuple[Value, ...]) -> tuple[tuple[bool, Any], ...]:
    return tuple((value is None, 0 if value is None else value) for value in key)
