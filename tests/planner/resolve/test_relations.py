"""What joins become: relations whose rows each have one unit, or a refusal with the join to write instead."""

import pytest

import discreet as dp
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.errors import NameNotFoundError, ParameterError, TypeMismatchError, UnitError, UnsupportedError
from discreet.plan.physical import JoinedRows, PerUnit, Read, Rows
from discreet.planner.queries.tables import AggregatePlan, analyze
from discreet.planner.resolve.binding import bind
from discreet.query.frame import Frame, relation_of

CATALOG = Catalog.parse("""
tables:
  patients:
    privacy_unit: id
    columns: {id: {type: text}, sex: {type: text, keys: [f, m]}, ward: {type: text}}
  visits:
    privacy_unit: {through: patients, on: {patient: id}}
    max_rows: 10
    rows: 1000
    version: 3
    columns: {visit: {type: integer}, patient: {type: text}, ward: {type: text, keys: [A, B]}, cost: {type: real}}
  measurements:
    privacy_unit: {through: visits, on: visit}
    max_rows: 20
    columns: {visit: {type: integer}, id: {type: integer}, value: {type: real, bounds: [0, 10]}}
  drugs:
    privacy_unit: patient
    neighbours: add_remove
    max_rows: 5
    columns: {patient: {type: text}, dose: {type: real}, visit: {type: integer}, day: {type: date}}
  recent:
    privacy_unit: patient
    max_rows: 5
    slice: {of: all, column: day, start: 2026-01-01, end: 2026-02-01}
    columns: {patient: {type: text}, day: {type: date}}
  swapped:
    privacy_unit: patient
    neighbours: replace_one
    columns: {patient: {type: text}}
  pairs:
    privacy_unit: [patient, house]
    columns: {patient: {type: text}, house: {type: text}}
  letters:
    privacy_unit: dp.ROW
    columns: {ward: {type: text}, pages: {type: integer}}
  wards:
    public: true
    columns: {ward: {type: text}, beds: {type: integer, bounds: [0, 50]}, kind: {type: text, keys: [hot, cold]}}
""")
NAMES = ("patients", "visits", "measurements", "drugs", "letters", "wards", "swapped", "pairs", "recent")
PATIENTS, VISITS, MEASUREMENTS, DRUGS, LETTERS, WARDS, SWAPPED, PAIRS, RECENT = map(dp.table, NAMES)


def private(frame: Frame) -> AggregatePlan:
    return analyze(frame.agg(n=dp.count()).plan, CATALOG, Budget(epsilon=1), epsilon=1)


def columns(frame: Frame) -> list[str]:
    return list(bind(relation_of(frame), CATALOG).table.columns)


def test_a_public_table_brings_its_columns_and_facts_and_the_caps_stay():
    scope = bind(relation_of(DRUGS.join(WARDS, on={"patient": "ward"})), CATALOG)
    assert list(scope.table.columns) == ["patient", "dose", "visit", "day", "beds", "kind"]
    assert scope.table.column("beds").bounds == (0, 50)
    assert scope.table.caps.max_rows == 5


def test_a_join_may_have_a_cap_of_its_own_which_holds_for_what_it_gives():
    made = private(DRUGS.join(WARDS, on={"patient": "ward"}, max_rows=30))
    assert made.caps.max_rows == made.pushdown.scan.max_rows == 30


def test_only_columns_that_are_used_are_read_of_each_table():
    made = private(DRUGS.join(WARDS, on={"patient": "ward"}).where(WARDS.beds > 3))
    assert made.pushdown.columns_read == ("drugs.patient", "wards.ward", "wards.beds")
    assert made.pushdown.scan.datasets == (("drugs", 1),)


def test_a_table_whose_unit_is_two_joins_away_is_joined_to_it_and_all_are_charged():
    made = private(MEASUREMENTS)
    assert made.pushdown.columns_read == (
        "measurements.visit",
        "visits.visit",
        "visits.patient",
        "patients.id",
    )
    assert made.pushdown.scan.datasets == (("measurements", 1), ("visits", 3), ("patients", 1))
    assert str(made.unit) == "one id, added or removed"
    assert made.caps.max_rows == 20


def test_a_unit_that_a_column_of_the_table_equals_keeps_the_name_of_that_column():
    assert private(VISITS).pushdown.scan.unit == ("patient",)
    assert columns(VISITS) == ["visit", "patient", "ward", "cost"]


def test_a_join_with_the_table_that_leads_to_the_unit_costs_no_other_join():
    frame = MEASUREMENTS.join(VISITS, on="visit")
    made = private(frame.where(VISITS.cost > 1))
    assert [leaf.table for leaf in made.pushdown.scan.leaves] == ["measurements", "visits", "patients"]
    assert columns(frame) == ["visit", "id", "value", "patient", "ward", "cost"]
    again = frame.join(PATIENTS, on={"patient": "id"}, names={"ward": "home"})
    assert [leaf.table for leaf in private(again).pushdown.scan.leaves] == ["measurements", "visits", "patients"]
    assert columns(again)[-2:] == ["sex", "home"]


def test_tables_of_one_unit_are_joined_by_it_and_by_other_columns():
    made = private(DRUGS.join(VISITS, on=["patient", "visit"]).where(VISITS.cost > 2))
    assert made.pushdown.scan.datasets == (("drugs", 1), ("visits", 3), ("patients", 1))
    assert made.pushdown.scan.unit == ("patient",)
    assert made.caps.max_rows == 5
    assert made.declared_rows is None


def test_a_slice_stays_a_slice_in_a_join():
    scan = private(DRUGS.join(RECENT, on="patient", names={"day": "seen"})).pushdown.scan
    assert scan.within is None
    assert scan.leaves[1].within is not None


@pytest.mark.parametrize(
    ("frame", "error", "words"),
    [
        (DRUGS.join(VISITS, on="visit"), UnitError, "on=['patient', 'visit']"),
        (VISITS.join(MEASUREMENTS, on="visit"), UnitError, 'dp.table("measurements").join(dp.table("visits"), on='),
        (VISITS.derive(patient=VISITS.ward).join(DRUGS, on="patient"), UnitError, "belong to two units"),
        (VISITS.join(VISITS, on="patient"), UnsupportedError, "squared"),
        (VISITS.join(DRUGS, on="patient", how="left"), UnsupportedError, 'how="inner"'),
        (MEASUREMENTS.join(VISITS, on="visit", how="left"), UnsupportedError, 'how="inner"'),
        (DRUGS.join(SWAPPED, on="patient"), UnitError, "one protects"),
        (DRUGS.join(PAIRS, on="patient"), UnitError, "one protects"),
        (DRUGS.join(LETTERS, on={"patient": "ward"}), UnitError, "one protects"),
        (LETTERS.join(WARDS, on="ward"), UnitError, "and each would be a unit"),
        (LETTERS.per_unit(n=dp.count()), UnitError, "one row already"),
        (VISITS.join(WARDS, on={"visit": "ward"}), TypeMismatchError, 'cast("text")'),
        (VISITS.join(WARDS, on={"cost": "beds"}), TypeMismatchError, 'cast("integer")'),
        (VISITS.join(WARDS, on={"ward": "wards"}), NameNotFoundError, "'ward' or 'beds' or 'kind'"),
        (VISITS.join(WARDS, on="ward", names={"bed": "b"}), NameNotFoundError, "'ward' or 'beds' or 'kind'"),
        (VISITS.join(WARDS, on="ward", names={"beds": "Cost"}), ParameterError, 'names={"beds": "wards_beds"}'),
        (VISITS.join(WARDS, on="ward", names={"beds": "b" * 61}), ParameterError, "1 to 60 visible bytes"),
        (VISITS.join(WARDS, on="ward", names={"beds": "discreet_x"}), ParameterError, "a plain name"),
        (VISITS.derive(kind=VISITS.cost).join(WARDS, on="ward"), ParameterError, 'names={"kind": "wards_kind"}'),
        (VISITS.per_unit(patient=dp.count()), ParameterError, "per_unit(patient_of_unit=...)"),
        (WARDS.where(WARDS.beds > 3), UnsupportedError, "protects nobody"),
    ],
)
def test_joins_whose_rows_would_belong_to_several_units_are_refused_with_what_to_write(frame, error, words):
    with pytest.raises(error) as caught:
        private(frame)
    assert words in str(caught.value)


def test_a_public_table_may_be_joined_twice_under_other_names():
    twice = DRUGS.join(WARDS, on={"patient": "ward"}).join(
        WARDS, on={"patient": "ward"}, names={"beds": "more", "kind": "other"}
    )
    assert columns(twice)[-4:] == ["beds", "kind", "more", "other"]


def test_units_have_one_row_each_which_no_cap_has_to_enforce_until_they_are_joined_again():
    alone = VISITS.where(VISITS.cost > 1).per_unit(n=dp.count())
    made = private(alone)
    assert (made.caps.max_rows, made.pushdown.scan.max_rows) == (1, None)
    assert isinstance(made.pushdown.scan.base, PerUnit)
    assert made.pushdown.predicate is None
    joined = private(alone.join(DRUGS, on="patient"))
    assert (joined.caps.max_rows, joined.pushdown.scan.max_rows) == (1, 1)


def test_features_that_nobody_asks_for_are_not_computed_nor_their_columns_read():
    frame = VISITS.per_unit(n=dp.count(), total=dp.sum("cost", bounds=(0, 100)))
    made = private(frame.where(VISITS.n > 1))
    assert "visits.cost" not in made.pushdown.columns_read
    assert [feature.name for feature in made.pushdown.scan.base.features] == ["n"]


def test_the_key_and_version_of_a_joined_question_are_those_of_its_first_table():
    scan = private(VISITS.join(DRUGS, on="patient", names={"visit": "other"})).pushdown.scan
    assert (scan.table, scan.version) == ("visits", 3)


def test_a_plain_question_is_what_it_was():
    scan = private(DRUGS).pushdown.scan
    assert scan.base is None
    assert scan.leaves == (Rows("drugs", 1, scan.leaves[0].columns),)
    assert scan.datasets == (("drugs", 1),)


def test_equality_of_units_is_in_the_condition_of_every_join_of_protected_tables():
    base = private(DRUGS.join(VISITS, on=["visit", "patient"])).pushdown.scan.base
    assert isinstance(base, JoinedRows)
    assert Read("patient", "text") in [term for term, _ in base.on]
