"""Persons and visits of a release are linked by an invented identifier, and are the same each time."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import UnsupportedError
from discreet.synthesis.quality.measured import measured_quality
from discreet.synthesis.rows.tables import draw_table, row_schema
from discreet.synthesis.two_level import model as two_level
from discreet.synthesis.two_level.tables import joined_batches, linked_blocks, linked_tables


@pytest.fixture(scope="module")
def state():
    owners = np.repeat(np.arange(300), np.arange(300) % 3 + 1)
    rows = pa.table(
        {
            "id": pa.array(owners),
            "year": pa.array(1950 + owners % 60),
            "ward": pa.array([["a", "b"][i % 2] for i in range(len(owners))]),
        }
    )
    facts = {"bounds": {"year": (1950, 2010)}, "keys": {"ward": ["a", "b"]}, "fixed_schema": True}
    budget = dp.Budget(epsilon=4, delta=1e-9)
    query = dp.table("t").synthesize(dp.synthesis.TwoLevelSynthesizer({"year": "min"}))
    with dp.testing.protect(rows, name="t", privacy_unit="id", max_rows=2, budget=budget, **facts) as session:
        return session.release(query, epsilon=1).state


def test_answers_state_that_person_columns_are_by_rules(state):
    table = table_of(state)
    query = dp.table("t").group_by("ward").agg(n=dp.count())
    answer = table.answer(query)
    assert [row.estimate for row in answer.rows] == pytest.approx([250, 250], rel=0.1)
    assert [row.how for row in answer.rows] == ["measured", "measured"]
    assert "by their declared rules" in str(answer)
    assert table.answer(dp.table("t").agg(middle=dp.median("year", bounds=(1950, 2010)))).rows[0].estimate > 1950


def table_of(state):
    header = {"dataset": "t", "version": 1, "guarantee": "epsilon 1", "receipt": {"id": "r"}}
    return dp.SyntheticTable(**header, name="two levels", card=(), state=state)


def test_quality_compares_persons_with_their_own_marginals(state):
    quality = table_of(state).quality()
    measured = [*state["measurements"], *state["persons"]["measurements"]]
    assert [list(each.columns) for each in quality.marginals] == [each["columns"] for each in measured]
    assert {each.name for each in quality.columns} == {"visit_count", "year", "ward"}
    (found, *_) = [each for each in quality.marginals if each.columns == ("visit_count",)]
    assert found.distance < 0.05  # of persons: of visits it would be about 1/6
    visits = measured_quality(state, table_of(state).to_arrow(), table_of(state).to_arrow())
    (wrong, *_) = [each for each in visits.marginals if each.columns == ("visit_count",)]
    assert wrong.distance > 0.1


def test_owners_cannot_compare_two_levels_with_rows(state):
    with pytest.raises(UnsupportedError, match=r"compares rows(.|\n)*TreeSynthesizer"):
        dp.synthesis.owner_quality(table_of(state), "rows that are not read")


def test_visits_name_their_person_and_persons_their_number_of_visits(state):
    tables = linked_tables(state, 500)
    persons, visits = (tables[name].to_pandas() for name in ("persons", "visits"))
    assert list(persons) == ["person_id", "visit_count", "year"]
    assert list(visits) == ["person_id", "ward"]
    assert len(visits) == 500
    assert persons["person_id"].tolist() == list(range(1, len(persons) + 1))
    assert visits.groupby("person_id").size().tolist() == persons["visit_count"].tolist()
    assert len(persons) == pytest.approx(300, abs=2)


def test_a_person_has_one_value_in_all_visits(state):
    joined = draw_table(state, 500)
    tables = linked_tables(state, 500)
    assert joined.schema == row_schema(state)
    again = tables["visits"].join(tables["persons"], "person_id").sort_by("person_id")
    assert again["year"].to_pylist() == joined["year"].to_pylist()
    assert joined["ward"].to_pylist() == tables["visits"]["ward"].to_pylist()


def test_blocks_are_joined_without_a_gap_in_identifiers(state, monkeypatch):
    monkeypatch.setattr(two_level, "PERSONS_IN_A_BLOCK", 20)
    blocks = list(linked_blocks(state, 150))
    assert blocks[0].persons.num_rows == 0
    assert len(blocks) > 3
    names = [name for block in blocks for name in block.persons.column(0).to_pylist()]
    assert names == list(range(1, len(names) + 1))
    assert sum(batch.num_rows for batch in joined_batches(state, 150)) == 150


def test_no_rows_are_tables_with_their_columns(state):
    tables = linked_tables(state, 0)
    assert {name: table.num_rows for name, table in tables.items()} == {"persons": 0, "visits": 0}
    assert tables["visits"].column_names == ["person_id", "ward"]
    assert draw_table(state, 0).num_rows == 0
