"""What an owner checks of the ways to a unit."""

import pyarrow as pa
import pytest

import discreet as dp
import opened

CATALOG = dp.Catalog.parse("""
tables:
  visits:
    privacy_unit: patient_id
    columns: {patient_id: {type: text}, visit_id: {type: integer}, day: {type: date}}
  measurements:
    privacy_unit: {through: visits, on: {visit: visit_id}}
    columns: {visit: {type: integer}, value: {type: integer}}
  labels:
    privacy_unit: {through: measurements, on: value}
    columns: {value: {type: integer}}
""")
DAYS = pa.array([None] * 5, pa.date32())


def _sources(visits: list[int | None], measured: list[int | None]) -> dict[str, pa.Table]:
    values = pa.array(range(len(measured)), pa.int64())
    return {
        "visits": pa.table(
            {"patient_id": ["p", "q", "p", None, "r"], "visit_id": pa.array(visits, pa.int64()), "day": DAYS}
        ),
        "measurements": pa.table({"visit": pa.array(measured, pa.int64()), "value": values}),
        "labels": pa.table({"value": values}),
    }


def test_a_way_that_is_a_function_is_told_so():
    first, second = dp.verify(CATALOG, sources=_sources([1, 2, 3, 4, None], [1, 1, 3]))
    assert (first.table, first.through, first.columns) == ("measurements", "visits", ("visit",))
    assert first.ok
    assert second.ok
    assert first.lost_rows == second.lost_rows == 0
    assert "every key stands in one row" in str(first)


@pytest.mark.parametrize("engine", opened.ENGINES)
def test_keys_in_several_rows_and_rows_that_lead_nowhere_are_counted_on_every_engine(engine, tmp_path, request):
    tables = _sources([1, 1, 3, 3, 5], [1, 9, None, 5])
    sources = {name: opened.brought(engine, table, tmp_path, request) for name, table in tables.items()}
    way = dp.verify(CATALOG, sources=sources)[0]
    assert not way.ok
    assert (way.shared_keys, way.lost_rows) == (2, 2)
    assert "2 keys stand in several rows; 2 rows of 'measurements' lead nowhere" in str(way)


def test_checking_registers_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path))
    dp.verify(CATALOG, sources=_sources([1, 2, 3, 4, 5], [1]))
    assert list(tmp_path.rglob("ledger*")) == []
