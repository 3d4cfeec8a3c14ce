"""One value, one reading: whatever form an engine stores a value in, a declared type reads it as it reads its text.

For every stored form and every declared type, on every engine: either each value reads as its plain text does, or the
pair is refused, by the types alone. In-memory tables whose types were inferred have a reading for every form.
"""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.engines.sources.inferred import SCALARS
from discreet.errors import SourceError
from discreet.planner.queries.tables import analyze
from opened import ENGINES, opener

T = dp.table("t")
TYPES = ("integer", "real", "text", "boolean", "date", "timestamp")
WHOLE = ("0", "1", "7", "-3", "4503599627370495", "4503599627370497", "9007199254740991")
REAL = ("2.5", "-2.5", "-0.5", "0.5", "1.5", "0.49999999999999994", "4503599627370495.5", "0.125")
DECIMAL = ("2.5", "-2.5", "-0.5", "0.5", "1.5", "0.1250", "7.0000", "4503599627370495.5000")
DAYS = ("2020-02-29", "0001-01-01", "9999-12-31")
MOMENTS = ("2020-02-29 13:45:00", "2020-02-29 00:00:00", "1969-12-31 23:59:59.999999", "9999-12-31 23:59:59")
ZONED = ("2020-02-29 13:45:00Z", "2020-02-29T23:30:00-03:30", "1969-12-31 23:59:59.999999+00:00")

moment = dt.datetime.fromisoformat
FORMS = {
    "integer": (pa.int64(), {text: int(text) for text in WHOLE}),
    "small integer": (pa.int16(), {text: int(text) for text in ("0", "1", "7", "-3")}),
    "wide integer": (pa.uint64(), {text: int(text) for text in WHOLE if text[0] != "-"}),
    "whole decimal": (pa.decimal128(38, 0), {text: Decimal(text) for text in WHOLE}),
    "decimal": (pa.decimal128(25, 4), {text: Decimal(text) for text in DECIMAL}),
    "real": (pa.float64(), {text: float(text) for text in (*REAL, *WHOLE)}),
    "boolean": (pa.bool_(), {"true": True, "false": False}),
    "date": (pa.date32(), {text: dt.date.fromisoformat(text) for text in DAYS}),
    "timestamp": (pa.timestamp("us"), {text: moment(text) for text in MOMENTS}),
    "timestamp with a zone": (pa.timestamp("us", "UTC"), {text: moment(text) for text in ZONED}),
}
"""Stored forms, and the values that they can hold, by their plain text."""

READ_EVERYWHERE = {
    *(("integer", declared) for declared in SCALARS),
    *(("real", declared) for declared in ("integer", "real")),
    *(("boolean", declared) for declared in SCALARS),
    *(("date", declared) for declared in ("date", "timestamp", "text")),
    *(("timestamp", declared) for declared in ("date", "timestamp")),
}


LEFT_OUT = {
    ("sqlite", "decimal", "text"): "SQLite has no decimals, and the text of one keeps its zeros",
    ("sqlite", "boolean", "text"): "its truth values are the integers 1 and 0",
    ("sqlite", "timestamp", "text"): "its times are text, in the form that a program wrote",
    ("sqlite", "timestamp with a zone", "text"): "its times are text, in the form that a program wrote",
    ("sqlite", "real", "text"): "cells have types of their own: a real among text is missing",
    ("sqlite", "real", "boolean"): "cells have types of their own: a real among truth values is missing",
}


def ask(engine: str, table: pa.Table, declared: str, place: Path, request: pytest.FixtureRequest) -> int:
    """How many rows there are in which both columns read alike, or are both missing."""
    alike = (T.plain == T.stored) | (T.plain.is_missing() & T.stored.is_missing())
    columns = {name: {"type": declared} for name in ("plain", "stored")}
    catalog = Catalog.model_validate({"tables": {"t": {"columns": columns, "privacy_unit": "dp.ROW"}}})
    asked = analyze(T.where(alike).agg(n=dp.count()).plan, catalog, Budget(epsilon=1), epsilon=1).pushdown
    opened = opener(engine, request)({"t": table}, place)
    try:
        return opened.run(opened.prepare(asked))[0][0]
    finally:
        opened.close()


def forms() -> Iterator[tuple[str, pa.Table]]:
    for form, (kind, values) in FORMS.items():
        yield form, pa.table({"plain": list(values), "stored": pa.array(list(values.values()), kind)})


def outcome(engine, table, declared, place, request):
    try:
        return ask(engine, table, declared, place, request)
    except SourceError as refusal:
        return str(refusal)


@pytest.mark.pitfall("A23")
@pytest.mark.parametrize("declared", TYPES)
@pytest.mark.parametrize(
    "engine", [pytest.param(each, marks=[pytest.mark.full] if each == "spark" else []) for each in ENGINES]
)
def test_every_stored_form_of_a_value_reads_as_its_plain_text_does(engine, declared, tmp_path, request):
    for form, table in forms():
        if (engine, form, declared) in LEFT_OUT:
            continue
        found = outcome(engine, table, declared, tmp_path, request)
        if isinstance(found, str):
            assert (form, declared) not in READ_EVERYWHERE, (form, found)
            assert found == outcome(engine, table.slice(0, 0), declared, tmp_path, request), form
        else:
            assert found == len(table), (form, declared)


EVERY_ARROW_TYPE = [
    *(pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.null()),
    *(pa.decimal128(38, 0), pa.decimal128(10, 3), pa.decimal256(60, 2), pa.string(), pa.large_string()),
    *(pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(4), pa.date32(), pa.date64()),
    *(pa.time32("s"), pa.time64("us"), pa.duration("ms"), pa.timestamp("ns"), pa.timestamp("us", "Europe/Paris")),
    *(pa.list_(pa.int64()), pa.struct([("a", pa.string())]), pa.map_(pa.string(), pa.int64())),
    *(
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.int64()),
        pa.dictionary(pa.int8(), pa.binary()),
    ),
    *(pa.month_day_nano_interval(),),
]


@pytest.mark.pitfall("A24")
def test_every_column_of_an_inferred_frame_has_a_reading_as_every_scalar_type():
    """Whatever type a reader gives to a column, the declared type decides alone whether a session opens."""
    columns = {f"c{i}": pa.array([None, None], kind) for i, kind in enumerate(EVERY_ARROW_TYPE)}
    frame = pa.table({"id": ["a", "b"], **columns})
    for declared in SCALARS:
        types = {"id": "text"} | dict.fromkeys(columns, str(declared))
        facts = {"name": "t", "privacy_unit": "id", "budget": dp.Budget(epsilon=1), "types": types, "max_rows": 1}
        with dp.testing.protect(frame, **facts) as session:
            missing = [T[name].is_missing() for name in columns]
            query = T
            for each in missing:
                query = query.where(each)
            assert session.release(query.agg(n=dp.count()), epsilon=1).value() == 2


@pytest.mark.pitfall("A24")
@pytest.mark.parametrize("declared", ["date", "timestamp", "document", "binary"])
@pytest.mark.parametrize("kind", [pa.string(), pa.date32(), pa.timestamp("us"), pa.int64(), pa.null()], ids=str)
def test_what_an_inferred_frame_cannot_be_declared_is_refused_by_the_declaration_alone(declared, kind):
    frame = pa.table({"id": ["a"], "v": pa.array([None], kind)})
    facts = {"name": "t", "privacy_unit": "id", "budget": dp.Budget(epsilon=1), "max_rows": 1}
    refusals = []
    for source in (frame, frame.drop_columns("v")):
        with (
            dp.testing.protect(source, types={"id": "text", "v": declared}, **facts) as session,
            pytest.raises(SourceError) as refusal,
        ):
            session.release(T.where(T.v.is_present()).agg(n=dp.count()), epsilon=1)
        refusals.append(str(refusal.value))
    assert refusals[0] == refusals[1]
