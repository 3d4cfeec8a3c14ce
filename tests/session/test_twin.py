"""Generated twins: the facts of the catalog, and keys that match over joins."""

import datetime as dt

import pyarrow.compute as pc

import discreet as dp
from discreet.plan import logical
from discreet.session.twin import MOST_ROWS, ROWS, Twin, links_of

TABLES = """
catalog: discreet.catalog/1
tables:
  visits:
    privacy_unit: patient_id
    max_rows: 4
    rows: 2000
    budget: {epsilon: 2}
    columns:
      patient_id: {type: text}
      visit_id: {type: text}
      ward: {type: text, keys: [A, B, C]}
      diagnosis: {type: text}
      cost: {type: real, bounds: [-10, 20], grid: 0.5}
      age: {type: integer, bounds: [0, 110]}
      urgent: {type: boolean}
      day: {type: date, keys: [2026-01-01, 2026-01-02]}
      seen: {type: timestamp}
      note: {type: document}
      scan: {type: binary}
  letters:
    privacy_unit: {through: visits, on: visit_id}
    rows: 500
    budget: {epsilon: 2}
    columns: {visit_id: {type: text}, pages: {type: integer, bounds: [0, 50]}}
  patients:
    privacy_unit: patient_id
    max_rows: 1
    budget: {epsilon: 2}
    columns: {patient_id: {type: text}, year: {type: integer}}
  wards:
    public: true
    columns: {name: {type: text}, beds: {type: integer}}
"""


def catalog(text=TABLES):
    return dp.Catalog.parse(text)


def test_values_are_within_the_public_facts():
    table = Twin(catalog()).tables["visits"]
    assert 1_800 < table.num_rows <= 2_200
    assert set(table["ward"].to_pylist()) == {"A", "B", "C"}
    assert set(table["day"].to_pylist()) == {dt.date(2026, 1, 1), dt.date(2026, 1, 2)}
    assert set(table["urgent"].to_pylist()) == {False, True}
    assert pc.min_max(table["cost"]).as_py() == {"min": -10.0, "max": 20.0}
    assert all(2 * cost == round(2 * cost) for cost in table["cost"].to_pylist())
    assert 0 <= pc.min(table["age"]).as_py() < pc.max(table["age"]).as_py() <= 110
    assert set(table["note"].to_pylist()) == {"generated data"}
    times = table["patient_id"].value_counts().field("counts").to_pylist()
    assert (min(times), max(times)) == (1, 4)


def test_the_same_catalog_gives_the_same_rows():
    one, other = (Twin(catalog()).tables for _ in range(2))
    assert all(one[name].equals(other[name]) for name in one)


def test_declared_rows_are_bounded_and_undeclared_ones_have_a_default():
    text = "privacy_unit: patient_id\n    max_rows: 1\n"
    assert Twin(catalog()).tables["patients"].num_rows == ROWS
    many = TABLES.replace(text, f"{text}    rows: 90000000\n")
    assert Twin(catalog(many)).tables["patients"].num_rows == MOST_ROWS
    few = TABLES.replace(text, f"{text}    population: 7\n")
    assert Twin(catalog(few)).tables["patients"].num_rows == 7


def test_rows_that_lead_to_a_unit_find_one_row_each():
    tables = Twin(catalog()).tables
    keys = tables["visits"]["visit_id"].to_pylist()
    assert len(set(keys)) == len(keys)
    assert tables["letters"].num_rows == 500
    assert set(tables["letters"]["visit_id"].to_pylist()) <= set(keys)


def test_units_are_the_same_in_every_table():
    tables = Twin(catalog()).tables
    assert set(tables["visits"]["patient_id"].to_pylist()) <= set(tables["patients"]["patient_id"].to_pylist())


def test_a_public_table_has_each_key_of_the_join_once():
    joined = dp.table("visits").join(dp.table("wards"), on={"ward": "name"}).agg(n=dp.count())
    links = links_of(joined.plan.source, catalog())
    assert links == [(("visits", "ward"), ("wards", "name"))]
    wards = Twin(catalog(), links).tables["wards"]
    assert sorted(wards["name"].to_pylist()) == ["A", "B", "C"]


def test_keys_of_one_side_of_a_join_are_those_of_both():
    links = [(("visits", "diagnosis"), ("wards", "name"))]
    text = TABLES.replace("name: {type: text}", "name: {type: text, keys: [X, Y]}")
    tables = Twin(catalog(text), links).tables
    assert set(tables["visits"]["diagnosis"].to_pylist()) == {"X", "Y"} == set(tables["wards"]["name"].to_pylist())


def test_columns_that_are_computed_link_nothing():
    visits = logical.Derive(logical.TableRef("visits"), "ward", logical.Literal("A"))
    assert links_of(logical.Join(visits, "wards", (("ward", "name"),)), catalog()) == []
    named = logical.Derive(logical.TableRef("visits"), "place", logical.ColumnRef("ward"))
    assert links_of(logical.Join(named, "wards", (("place", "name"),)), catalog()) == [
        (("visits", "ward"), ("wards", "name"))
    ]


def test_a_slice_has_days_of_its_own_period():
    text = """
catalog: discreet.catalog/1
tables:
  visits-2026-10:
    privacy_unit: dp.ROW
    budget: {epsilon: 2}
    slice: {of: visits, column: day, start: 2026-10-01, end: 2026-11-01}
    columns: {day: {type: date}}
"""
    days = Twin(catalog(text)).tables["visits-2026-10"]["day"]
    assert pc.min_max(days).as_py() == {"min": dt.date(2026, 10, 1), "max": dt.date(2026, 10, 31)}
