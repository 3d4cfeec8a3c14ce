"""A synthetic table is a query of a session: charged whole before a row is read, stored, and found again."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.sql_engine import SQLEngine
from discreet.errors import Failure

T = dp.table("people")
ROWS = pa.table(
    {
        "id": [f"p{i // 2}" for i in range(600)],
        "age": [i % 90 for i in range(600)],
        "sex": ["FM"[i % 2] for i in range(600)],
        "income": [["no", "yes", None][i % 3] for i in range(600)],
    }
)
FACTS = {"privacy_unit": "id", "max_rows": 2, "bounds": {"age": (0, 89)}}
KEYS = {"keys": {"sex": ["F", "M"], "income": ["no", "yes"]}}
BUDGET = dp.Budget(epsilon=4, delta=1e-9)
QUERY = T.synthesize(dp.synthesis.IndependentSynthesizer())


def protected(protect=dp.protect, rows=ROWS, **changes):
    words = {"name": "people", "budget": BUDGET, "ledger": ":memory:"} | FACTS | KEYS | changes
    return protect(rows, **words)


def measured(table):
    return {tuple(each["columns"]): each["values"] for each in table.state["measurements"]}


def test_an_exact_table_has_the_counts_of_the_rows():
    with protected(dp.testing.protect) as session:
        table = session.release(QUERY, epsilon=1)
    assert measured(table)[("sex",)] == [300, 300, 0]
    assert measured(table)[("income",)] == [200, 200, 200]
    assert table.rows == 600
    assert not table.private
    assert table.to_arrow()["income"].null_count == 200


def test_a_private_table_has_noise_and_its_guarantee():
    with protected() as session:
        table = session.release(QUERY, epsilon=1)
        left = float(session.remaining())
    assert measured(table)[("sex",)] != [300, 300, 0]
    assert "epsilon 1, delta 9e-10" in table.guarantee
    assert table.private
    assert left < 4
    assert table.to_arrow(50).num_rows == 50


def test_the_same_table_is_charged_once_and_has_the_same_rows():
    with protected() as session:
        first = session.release(QUERY, epsilon=1)
        left = float(session.remaining())
        again = session.release(T.synthesize(dp.synthesis.IndependentSynthesizer()), epsilon=1)
        assert again == first
        assert again.repeated
        assert again.to_arrow().equals(first.to_arrow())
        assert float(session.remaining()) == left
        fresh = session.release(QUERY, epsilon=1, fresh=True)
        assert fresh.state != first.state
        assert float(session.remaining()) < left


@pytest.mark.parametrize(
    "other",
    [
        T.synthesize(dp.synthesis.IndependentSynthesizer(), columns=["age"]),
        T.synthesize(dp.synthesis.IndependentSynthesizer(), edges={"age": [0, 50, 90]}),
        T.where(T.age > 3).synthesize(dp.synthesis.IndependentSynthesizer()),
        T.synthesize(dp.synthesis.TreeSynthesizer()),
    ],
    ids=["columns", "edges", "rows", "synthesizer"],
)
def test_another_table_is_another_charge(other):
    with protected() as session:
        session.release(QUERY, epsilon=0.5)
        left = float(session.remaining())
        assert not session.release(other, epsilon=0.5).repeated
        assert float(session.remaining()) < left


def test_a_table_is_explained_before_anything_is_spent():
    with protected() as session:
        text = str(session.explain(QUERY, epsilon=1))
        assert float(session.remaining()) == 4
    assert "independent columns" in text
    assert "the rhos of noisy marginals and choices add" in text
    assert "of one id at most 2 rows in all" in text


@pytest.mark.parametrize("kind", ["IndependentSynthesizer", "TreeSynthesizer", "GraphicalSynthesizer"])
def test_the_margin_of_a_slot_is_stated_in_advance_solved_for_and_kept(kind):
    query = dp.table("people").synthesize(getattr(dp.synthesis, kind)())
    with protected() as session:
        epsilon = session.epsilon_for(query, margin=60)
        table, *columns = session.explain(query, epsilon=epsilon).outputs
        assert 50 < table.margin <= 60
        assert session.epsilon_for(query, margin=60, output=columns[0].name) <= epsilon
        released = session.release(query, epsilon=epsilon)
    for output in columns:
        missing = dp.table("people").where(dp.table("people")[output.name].is_missing()).agg(n=dp.count())
        (row,) = released.answer(missing).rows
        assert row.upper == max(row.measured + output.margin, 0)


def test_a_table_that_does_not_fit_the_budget_reads_nothing(monkeypatch):
    monkeypatch.setattr(SQLEngine, "marginals", lambda *_: pytest.fail("rows were read"))
    with protected() as session:
        with pytest.raises(dp.Refusal):
            session.release(QUERY, epsilon=40)
        assert float(session.remaining()) == 4


@pytest.mark.pitfall("B1")
def test_the_charge_is_there_before_a_row_is_read_and_stays_after_a_failure(monkeypatch):
    seen = []

    def broken(engine, prepared):
        seen.append(float(session.remaining()))
        raise ValueError("a cell: F")

    monkeypatch.setattr(SQLEngine, "marginals", broken)
    with protected() as session:
        with pytest.raises(Failure) as error:
            session.release(QUERY, epsilon=1)
        assert seen[0] < 4
        assert float(session.remaining()) == seen[0]
    assert "cell" not in str(error.value)
    assert error.value.__context__ is None


def test_tables_and_counts_are_one_batch():
    with protected(dp.testing.protect) as session:
        table, count = session.release([QUERY, T.agg(n=dp.count())], epsilon=1)
    assert isinstance(table, dp.SyntheticTable)
    assert int(count["n"][0]) == 600


def test_a_preview_is_of_generated_rows():
    with protected() as session:
        table = dp.preview(session.catalog, QUERY, epsilon=1)
        assert float(session.remaining()) == 4
    assert set(table.columns) == {"age", "sex", "income"}


def test_a_report_shows_the_card_of_a_table():
    with protected() as session:
        text = dp.report(session.release(QUERY, epsilon=1)).to_html()
    assert "Synthetic rows are drawn from marginals with noise" in text
    assert "columns independent of each other" in text


SYNTHESIZERS = [getattr(dp.synthesis, name) for name in dir(dp.synthesis) if name.endswith("Synthesizer")]


@pytest.mark.parametrize("synthesizer", SYNTHESIZERS)
def test_no_cell_that_is_not_declared_is_in_a_release(synthesizer):
    canary = pa.table({"id": ["canary-id"], "age": [12_345_678], "sex": ["canary-sex"], "income": ["canary"]})
    with protected(rows=pa.concat_tables([ROWS, canary])) as session:
        table = session.release(T.synthesize(synthesizer()), epsilon=1)
    assert "canary" not in str(table.to_json())
    assert "12345678" not in str(table.to_json())
    assert np.max(table.to_arrow()["age"].drop_null().to_numpy()) <= 89


@pytest.mark.parametrize("kind", [dp.synthesis.TreeSynthesizer, dp.synthesis.GraphicalSynthesizer])
def test_constraints_hold_in_the_rows_of_a_release_and_are_part_of_the_query(kind):
    never = dp.synthesis.Exclusion({"sex": "F", "income": "no"})
    query = T.synthesize(kind(constraints=[never]))
    with protected() as session:
        table = session.release(query, epsilon=1)
        left = float(session.remaining())
        free = session.release(T.synthesize(kind()), epsilon=1)
        assert float(session.remaining()) < left
    rows = table.to_arrow(500).to_pylist()
    assert not [row for row in rows if row["sex"] == "F" and row["income"] == "no"]
    assert free.state["measurements"] != table.state["measurements"]


DATES = ROWS.append_column("born", pa.array([dt.date(1950 + i % 50, 1, 1) for i in range(600)]))


def test_slots_that_the_query_declares_need_nothing_in_the_catalog():
    words = {"keys": {"sex": ["F", "M"], "income": ["no", "yes"]}, "edges": {"age": [0, 30, 60, 90]}}
    query = T.synthesize(
        dp.synthesis.TreeSynthesizer(), **words, bounds={"born": (dt.date(1950, 1, 1), dt.date(1999, 12, 31))}
    )
    with protected(dp.testing.protect, rows=DATES, keys={}, bounds={}, fixed_schema=True) as session:
        table = session.release(query, epsilon=1)
        with pytest.raises(dp.Refusal, match="possible values are not public"):
            session.release(T.synthesize(dp.synthesis.TreeSynthesizer()), epsilon=1)
    found = measured(table)
    assert found[("age",)] == [210, 210, 180, 0]
    assert found[("sex",)] == [300, 300, 0]
    assert sum(found[("born",)]) == 600
    assert found[("born",)][-1] == 0


def test_persons_and_visits_are_one_charge_and_found_again():
    two_level = dp.synthesis.TwoLevelSynthesizer({"sex": "min"})
    with protected() as session:
        text = str(session.explain(T.synthesize(two_level), epsilon=1))
        assert "'sex' by min" in text
        first = session.release(T.synthesize(two_level), epsilon=1)
        left = float(session.remaining())
        again = session.release(T.synthesize(dp.synthesis.TwoLevelSynthesizer({"sex": "min"})), epsilon=1)
        assert again.repeated
        assert again.to_tables()["visits"].equals(first.to_tables()["visits"])
        assert float(session.remaining()) == left
        other = session.release(T.synthesize(dp.synthesis.TwoLevelSynthesizer({"sex": "max"})), epsilon=1)
        assert not other.repeated


def test_exact_persons_have_their_own_columns_and_numbers_of_visits():
    with protected(dp.testing.protect) as session:
        table = session.release(T.synthesize(dp.synthesis.TwoLevelSynthesizer({"sex": "min"})), epsilon=1)
    persons = {tuple(each["columns"]): each["values"] for each in table.state["persons"]["measurements"]}
    assert persons["visit_count",] == [0, 300, 0]
    assert persons["sex",] == [300, 0, 0]  # each person has an F and an M
    assert measured(table)[("income",)] == [200, 200, 200]
    assert table.to_tables()["persons"].num_rows == 300
    assert table.quality().rows == 600
