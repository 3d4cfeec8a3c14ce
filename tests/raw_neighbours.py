"""Neighbours that start where owners start: raw text or records, then a reader, then discreet with declared types.

A reader chooses the type of a column from all of its cells, so two datasets that differ in one person's lines may be
stored in other forms. Whatever the forms are, exact integers move by at most the sensitivity that noise is calibrated
to, and a refusal says the same with and without that person. An error of the reader itself, before discreet sees
anything, is its owner's to see: such pairs are counted and left out.
"""

import io
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.json

import discreet as dp
from discreet import testing
from discreet.catalog.catalog import ColumnType
from discreet.errors import Refusal
from discreet.release.release import Release
from raw_pairs import ROW, SCALARS, Form, Pair, Record, pair, raw, wide_pair

KEY = 20_261_116
TABLES = 16
ALONE = 25
"""One pair in so many goes through `dp.testing.protect`, the others through sessions of several tables."""

Read = Callable[[Sequence[Record], str, Path], Any]


class Reader(NamedTuple):
    """A way from raw lines to what an owner hands to `dp.protect`."""

    form: Form
    read: Read
    is_typed: bool = False
    is_strict: bool = False
    left_out: tuple[str, ...] = ()


def _of_text(read: Callable[[io.StringIO], Any]) -> Read:
    return lambda _, text, __: read(io.StringIO(text))


def _of_bytes(read: Callable[[io.BytesIO], Any]) -> Read:
    return lambda _, text, __: read(io.BytesIO(text.encode()))


def _of_file(read: Callable[[str], Any], ending: str) -> Read:
    def through(_: Sequence[Record], text: str, path: Path) -> Any:
        file = path.with_suffix(ending)
        file.write_bytes(text.encode(errors="surrogateescape"))
        return read(str(file))

    return through


def _of_records(read: Callable[[list[Record]], Any]) -> Read:
    return lambda records, _, __: read([dict(record) for record in records])


def _computed(query: str) -> duckdb.DuckDBPyRelation:
    """A relation that can be read: it is computed when it is used, and an error then is one of the reader."""
    relation = duckdb.connect().sql(query)
    relation.to_arrow_table()
    return relation


def _duckdb_csv(path: str) -> duckdb.DuckDBPyRelation:
    """Header and delimiter are given: where they are guessed from the cells, the columns themselves may change."""
    return _computed(f"SELECT * FROM read_csv('{path}', header = true, delim = ',', quote = '\"')")


def _duckdb_json(path: str) -> duckdb.DuckDBPyRelation:
    return _computed(f"SELECT * FROM read_json('{path}', format = 'newline_delimited', sample_size = -1)")


def _from_pylist(records: list[Record]) -> pa.Table:
    """With the fields of all records: alone, the function takes those of the first."""
    names = dict.fromkeys(name for record in records for name in record)
    return pa.Table.from_pylist([dict.fromkeys(names) | record for record in records])


READERS: dict[str, Reader] = {
    "pandas.read_csv": Reader("csv", _of_text(pd.read_csv)),
    "pandas.read_csv, pyarrow types": Reader("csv", _of_text(lambda f: pd.read_csv(f, dtype_backend="pyarrow"))),
    "pandas.read_csv, nullable types": Reader(
        "csv", _of_text(lambda f: pd.read_csv(f, dtype_backend="numpy_nullable"))
    ),
    "pandas.read_csv, pyarrow engine": Reader("csv", _of_bytes(lambda f: pd.read_csv(f, engine="pyarrow"))),
    "pandas.read_json": Reader("json", _of_text(lambda f: pd.read_json(f, lines=True))),
    "pandas.DataFrame": Reader("records", _of_records(pd.DataFrame)),
    "pandas.DataFrame of JSON": Reader("json", lambda _, text, __: pd.DataFrame(map(json.loads, text.splitlines()))),
    "polars.read_csv": Reader("csv", _of_bytes(lambda f: pl.read_csv(f, infer_schema_length=None))),
    "polars.read_csv, dates": Reader(
        "csv", _of_bytes(lambda f: pl.read_csv(f, infer_schema_length=None, try_parse_dates=True))
    ),
    "polars.read_ndjson": Reader("json", _of_bytes(lambda f: pl.read_ndjson(f, infer_schema_length=None))),
    # with strict=False Polars drops everybody's numbers beside one nested value or one of bytes, and beside one real it
    # turns moments into reals: before anything of ours sees them, so docs/limits.md names it
    "polars.DataFrame": Reader(
        "records",
        _of_records(lambda rows: pl.DataFrame(rows, strict=False, infer_schema_length=None)),
        left_out=("bytes", "moments", "nested"),
    ),
    "pyarrow.csv": Reader("csv", _of_bytes(pa.csv.read_csv)),
    "pyarrow.json": Reader("json", _of_bytes(pa.json.read_json), is_strict=True),
    "pyarrow.Table.from_pylist": Reader("records", _of_records(_from_pylist), is_strict=True),
    "duckdb relation of CSV": Reader("csv", _of_file(_duckdb_csv, ".csv")),
    "duckdb CSV as pandas": Reader("csv", _of_file(lambda path: _duckdb_csv(path).df(), ".csv")),
    "duckdb CSV as Arrow": Reader("csv", _of_file(lambda path: _duckdb_csv(path).to_arrow_table(), ".csv")),
    "duckdb CSV as Polars": Reader("csv", _of_file(lambda path: _duckdb_csv(path).pl(), ".csv")),
    "duckdb relation of JSON": Reader("json", _of_file(_duckdb_json, ".json")),
    "discreet": Reader("csv", _of_file(Path, ".csv"), is_typed=True),
}


class Refused(NamedTuple):
    """An exception in the place of an answer."""

    kind: str
    text: str
    is_refusal: bool


Outcome = Release | Refused


@dataclass
class Tally:
    """What became of the pairs of one reader."""

    reader: str
    answered: int = 0
    refused: int = 0
    unread: int = 0
    violations: list[str] = field(default_factory=list)

    @property
    def judged(self) -> int:
        """Pairs that reached discreet."""
        return self.answered + self.refused

    def __str__(self) -> str:
        unread = self.unread / max(1, self.judged + self.unread)
        return (
            f"{self.reader:34} {self.judged:7,} pairs, {self.refused:6,} refused on both sides, "
            f"{unread:6.1%} not read, {len(self.violations)} violations"
        )


def tally(reader: str, pairs: int, first_seed: int, place: Path, readers: Mapping[str, Reader] = READERS) -> Tally:
    """Judge so many pairs that a reader can read, from a seed on."""
    found, seed = Tally(reader), first_seed
    while found.judged < pairs and found.unread < 4 * pairs + 100:
        block = [_named(seed + i, readers[reader]) for i in range(min(TABLES, max(1, pairs - found.judged)))]
        seed += len(block)
        ready = [(one, sides) for one in block if (sides := _read(one, readers[reader], place, found)) is not None]
        for one, before, after in _answers(ready):
            _judge(one, before, after, found)
    return found


def _named(seed: int, reader: Reader) -> Pair:
    facts = {"with_times": reader.is_typed, "is_strict": reader.is_strict, "left_out": reader.left_out}
    return pair(seed, reader.form, table=f"t{seed}", **facts)


def _read(one: Pair, reader: Reader, place: Path, found: Tally) -> tuple[Any, Any] | None:
    """Both sides as the reader gives them; None where it fails on one of them."""
    before, after = (
        _source(reader, records, place / f"{one.seed}-{name}")
        for records, name in ((one.before, "before"), (one.after, "after"))
    )
    found.unread += before is None or after is None
    return None if before is None or after is None else (before, after)


def _source(reader: Reader, records: Sequence[Record], path: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return reader.read(records, raw(records, reader.form), path)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - whatever a reader raises on strange lines, a panic of Polars too
        return None


def _answers(ready: Sequence[tuple[Pair, tuple[Any, Any]]]) -> Iterator[tuple[Pair, Outcome, Outcome]]:
    """Outcomes of both sides; sessions of many tables take a fraction of the time."""
    alone = [each for each in ready if each[0].seed % ALONE == 0]
    together = [each for each in ready if each[0].seed % ALONE]
    for one, sides in alone:
        before, after = (_protected(one, side) for side in sides)
        yield one, before, after
    before_all, after_all = (_together([(one, sides[i]) for one, sides in together]) for i in range(2))
    for one, _ in together:
        yield one, before_all[one.seed], after_all[one.seed]


def _facts(one: Pair) -> dict[str, Any]:
    """What is declared of a pair."""
    return dict(one.facts)


def _protected(one: Pair, source: Any) -> Outcome:
    facts = _facts(one)
    unit, budget = facts.pop("privacy_unit"), dp.Budget(**facts.pop("budget"))
    types = {name: fact["type"] for name, fact in facts.pop("columns").items()}
    whom = dp.ROW if unit == "dp.ROW" else unit
    words = {"name": f"t{one.seed}", "privacy_unit": whom, "budget": budget, "types": types, "analyst": "ana", **facts}
    try:
        session = testing.protect(source, threads=1, **words)
    except Exception as error:  # noqa: BLE001 - judged by its class and text
        return _refused(error)
    with session:
        return _released(session, one)


def _together(cases: Sequence[tuple[Pair, Any]]) -> dict[int, Outcome]:
    """Outcomes by seed; a session that is refused is opened again in halves, until one table is left."""
    if not cases:
        return {}
    tables = {f"t{one.seed}": _facts(one) for one, _ in cases}
    try:
        catalog = dp.Catalog.model_validate({"tables": tables})
        sources = {f"t{one.seed}": source for one, source in cases}
        session = testing.Session(catalog, sources=sources, ledger=":memory:", analyst="ana", threads=1)
    except Exception as error:  # noqa: BLE001 - judged by its class and text
        if len(cases) == 1:
            return {cases[0][0].seed: _refused(error)}
        half = len(cases) // 2
        return _together(cases[:half]) | _together(cases[half:])
    with session:
        return {one.seed: _released(session, one) for one, _ in cases}


def _released(session: testing.Session, one: Pair) -> Outcome:
    """The exact answer; two neighbours share the key that orders the rows of a unit."""
    name = f"t{one.seed}"
    session._pipeline.engines[name].adopt(name, KEY)
    try:
        return session.release(one.query, epsilon=1)
    except Exception as error:  # noqa: BLE001 - judged by its class and text
        return _refused(error)


def _refused(error: Exception) -> Refused:
    return Refused(type(error).__name__, str(error), isinstance(error, Refusal))


def _judge(one: Pair, before: Outcome, after: Outcome, found: Tally) -> None:
    """Count a pair, and describe it where its two sides tell more of one person than is accounted for."""
    if isinstance(before, Refused) and isinstance(after, Refused):
        found.refused += 1
    else:
        found.answered += 1
    if wrong := ", ".join(_wrong(before, after)):
        found.violations.append(_report(one, found.reader, wrong, before, after))


def _wrong(before: Outcome, after: Outcome) -> Iterable[str]:
    if not isinstance(before, Refused) and not isinstance(after, Refused):
        return _moved(before, after)
    return [] if before == after and before.is_refusal else ["refusals that differ, or an error that is none"]


def _moved(before: Release, after: Release) -> Iterable[str]:
    """The measures that moved by more than noise is calibrated to."""
    if before.keys != after.keys or len(before.measured) != len(after.measured):
        yield "other keys or measures"
        return
    for one, other in zip(before.measured, after.measured, strict=True):
        apart = [abs(x - y) for x, y in zip(one.steps, other.steps, strict=True)]
        squared = sum(x * x for x in apart)
        calibrated = (one.measure, one.scale, one.l1, one.l2_squared, one.grid)
        if calibrated != (other.measure, other.scale, other.l1, other.l2_squared, other.grid):
            yield "other noise"
        if sum(apart) > one.l1 or squared > one.l2_squared:
            yield f"{one.measure} moved by {sum(apart)}, sensitivity {one.l1}"


def _report(one: Pair, reader: str, wrong: str, before: Outcome, after: Outcome) -> str:
    """All that is needed to see a pair again."""
    raw_texts = "\n--- the other:\n".join(one.sides())
    lines = [
        f"{reader}, seed {one.seed}: {wrong}",
        f"declared {one.facts}",
        *(f"{column.name}: {column.shape} {column.pool}" for column in one.columns),
        f"asked {one.asked}",
        *(str(side if isinstance(side, Refused) else list(side)) for side in (before, after)),
    ]
    return "\n  ".join(lines) + f"\n--- one:\n{raw_texts}"


def again(reader: str, seed: int, place: Path) -> str:
    """One pair by itself, for whoever looks into a violation."""
    one = _named(seed, READERS[reader])
    sides = _read(one, READERS[reader], place, Tally(reader))
    if sides is None:
        return f"{reader} does not read seed {seed}"
    before, after = (_protected(one, side) for side in sides)
    return _report(one, reader, ", ".join(_wrong(before, after)) or "nothing wrong", before, after)


def readings(source: Any, names: Sequence[str]) -> dict[int, dict[tuple[str, str], Any]]:
    """What every cell of a source reads as under every declared type, by the number of its row."""
    types = dict.fromkeys(names, "text") | {ROW: "integer"}
    facts = {"name": "t", "privacy_unit": dp.ROW, "budget": dp.Budget(epsilon=1), "types": types}
    with testing.protect(source, threads=1, **facts) as session:
        engine = session._pipeline.engines["t"]
        place, quoted = engine._place("t"), engine.dialect.identifier
        asked = [(name, kind) for name in names for kind in SCALARS]
        cells = [place.reads[place.stored[name], ColumnType(kind)].format(quoted(name)) for name, kind in asked]
        with engine._use_connection("t") as connected:
            rows = connected.execute(f"SELECT {quoted(ROW)}, {', '.join(cells)} FROM {place.relation}").fetchall()
    return {row[0]: dict(zip(asked, row[1:], strict=True)) for row in rows}


def changed_readings(reader: str, seed: int, place: Path) -> list[str] | None:
    """Cells of other people that read otherwise because of one person; None where the reader fails."""
    chosen = READERS[reader]
    sides, read = wide_pair(seed, chosen.form, is_strict=chosen.is_strict, left_out=chosen.left_out), []
    names = [name for name in sides[0][0] if name != ROW]
    for records, name in zip(sides, ("before", "after"), strict=True):
        source = _source(chosen, records, place / f"{seed}-{name}")
        if source is None:
            return None
        try:
            read.append(readings(source, names))
        except Exception as error:  # noqa: BLE001 - any error tells of the one cell that it comes from
            return [f"{reader}, seed {seed}, {name}: {error!r} {sides}"]
    before, after = read
    her = next(record for record in sides[1] if record[ROW] == 0)
    cells = {record[ROW]: record for record in sides[0]}
    return [
        f"{reader}, seed {seed}, {column} as {kind}: {cells[row][column]!r} reads as {value!r}, and as "
        f"{after[row][column, kind]!r} beside {her[column]!r}"
        for row, values in before.items()
        for (column, kind), value in values.items()
        if repr(value) != repr(after[row][column, kind])
    ]
