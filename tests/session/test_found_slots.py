"""Slots are found end to end: charged before a row is read, without rare values, and used by a synthetic table."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.sql_engine import SQLEngine
from discreet.errors import Failure, ParameterError, UnboundedError

T = dp.table("people")
PEOPLE = 2_000
ROWS = pa.table(
    {
        "id": [f"p{i // 3}" for i in range(3 * PEOPLE)],
        "city": ["only one" if i == 0 else None if i % 11 == 0 else "ABCD"[i % 4] for i in range(3 * PEOPLE)],
        "cost": [float(i % 500) for i in range(3 * PEOPLE)],
        "age": [i % 90 for i in range(3 * PEOPLE)],
        "born": [dt.date(1950 + i % 4, 1 + i % 12, 1) for i in range(3 * PEOPLE)],
    }
)
FACTS = {"name": "people", "privacy_unit": "id", "max_rows": 3, "fixed_schema": True, "ledger": ":memory:"}
QUERY = T.find_slots()


def protected(rows=ROWS, protect=dp.protect, **changes):
    return protect(rows, **({"budget": dp.Budget(epsilon=8, delta=1e-9)} | FACTS | changes))


def test_slots_of_all_columns_are_found_and_used():
    with protected(bounds={"age": (0, 89)}) as session:
        found = session.release(QUERY, epsilon=3)
        left = float(session.remaining())
        assert session.release(QUERY, epsilon=3).repeated
        assert float(session.remaining()) == left < 8
        query = T.synthesize(dp.synthesis.TreeSynthesizer(), slots=found)
        assert "of 'city', 'cost', 'born', by an earlier release" in str(session.explain(query, epsilon=2))
        table = session.release(query, epsilon=2).to_arrow()
    assert found.keys == {"city": ("A", "B", "C", "D")}
    assert found.not_found == ()
    # Noise on empty bins may widen bounds (one search in fifteen ends above 700); it does not hide thousands of rows.
    assert found.edges["cost"][0] <= 100
    assert found.edges["cost"][-1] >= 300
    assert found.edges["born"][0] == dt.date(1950, 1, 1)
    assert found.edges["born"][-1] == dt.date(1954, 1, 1)
    assert set(table["city"].to_pylist()) <= {"A", "B", "C", "D", None}
    assert "search for slots from 'people'" in found.guarantee
    assert dp.FoundSlots.from_json(found.to_json()) == found


def test_the_query_comes_before_what_was_found():
    with protected(protect=dp.testing.protect) as session:
        found = session.release(T.find_slots(["city", "age"]), epsilon=1)
        words = {"columns": ["city", "age"], "keys": {"city": ["A"]}, "slots": found}
        table = session.release(T.synthesize(dp.synthesis.IndependentSynthesizer(), **words), epsilon=1)
    city, age = table.state["columns"]
    assert city["values"] == ["A"]
    assert tuple(age["edges"]) == found.edges["age"]


def test_a_table_of_texts_and_one_of_numbers_have_slots():
    for names in (["id", "city"], ["id", "cost", "age"]):
        with protected(ROWS.select(names)) as session:
            found = session.release(QUERY, epsilon=3)
            table = session.release(T.synthesize(dp.synthesis.GraphicalSynthesizer(), slots=found), epsilon=3)
        assert table.columns == tuple(names[1:])


@pytest.mark.guarantee("mechanisms/keys/gaussian")
def test_a_value_of_one_person_is_not_found():
    """With delta 1e-11 a false alarm is rarer than 1e-8 in all searches of this test."""
    alone = pa.table({"id": [f"p{i}" for i in range(300)], "city": [f"city {i}" for i in range(300)]})
    with protected(alone, max_rows=1) as session:
        for _ in range(10):
            found = session.release(T.find_slots(["city"]), epsilon=0.3, fresh=True)
            assert found.keys == {}
            assert found.not_found == ("city",)
        with pytest.raises(dp.Refusal, match="found nothing"):
            session.release(T.synthesize(dp.synthesis.TreeSynthesizer(), slots=found), epsilon=1)


def test_missing_values_are_never_a_key():
    missing = pa.table({"id": [f"p{i}" for i in range(900)], "city": pa.array([None] * 900, pa.string())})
    with protected(missing, max_rows=1) as session:
        assert session.release(T.find_slots(["city"]), epsilon=2).not_found == ("city",)


@pytest.mark.guarantee("planner.queries.found_slots")
def test_a_person_whose_values_are_missing_moves_nothing_that_is_counted():
    """Without noise, so that any difference would show: rows are left out one by one, by their own cell."""
    empty = pa.table(
        {"id": ["new"] * 3, **{name: pa.nulls(3, ROWS[name].type) for name in ("city", "cost", "age", "born")}}
    )
    states = []
    for rows in (ROWS, pa.concat_tables([ROWS, empty])):
        with protected(rows, protect=dp.testing.protect, bounds={"age": (0, 89)}) as session:
            found = session.release(T.find_slots(["city", "cost", "age", "born"]), epsilon=3)
            states.append((found.keys, found.edges))
    assert states[0] == states[1]


def test_slots_of_another_type_are_refused():
    with protected() as session:
        found = session.release(T.find_slots(["age"]), epsilon=1)
    with (
        protected(protect=dp.testing.protect, types={"age": "real"}) as session,
        pytest.raises(dp.Refusal, match="type"),
    ):
        session.explain(T.synthesize(dp.synthesis.TreeSynthesizer(), columns=["age"], slots=found), epsilon=1)


def test_slots_that_were_found_without_noise_are_for_exact_sessions_alone():
    with protected(protect=dp.testing.protect) as session:
        exact = session.release(T.find_slots(["age"]), epsilon=1)
        query = T.synthesize(dp.synthesis.TreeSynthesizer(), columns=["age"], slots=exact)
        assert not session.release(query, epsilon=1).private
    with protected() as session:
        for asked in (query, [query, T.agg(n=dp.count())]):
            with pytest.raises(dp.Refusal, match="without noise"):
                session.release(asked, epsilon=1)
        assert float(session.remaining()) == 8


class Number(int):
    """A number that prints as SQL."""

    __module__ = "numpy"
    shape = ()

    def item(self):
        return self

    def __str__(self):
        return 'CASE WHEN max("age") OVER () > 70 THEN 1000 ELSE -1000 END'

    __repr__ = __str__


class Name(str):
    """A name whose methods would run beside exact counts."""

    __slots__ = ()
    calls = 0

    def __hash__(self):
        Name.calls += 1
        return str.__hash__(self)

    def __eq__(self, other):
        Name.calls += 1
        return str.__eq__(self, other)


@pytest.mark.pitfall("A7")
@pytest.mark.parametrize(
    ("way", "number"),
    [(way, Number(60)) for way in ("slots", "edges", "bounds", "keys", "query")] + [("edges", np.int64(60))],
)
def test_a_number_of_another_class_is_a_plain_number_in_sql(monkeypatch, way, number):
    statements = []
    execute = SQLEngine.marginals

    def seen(engine, prepared):
        statements.append(str(prepared))
        return execute(engine, prepared)

    monkeypatch.setattr(SQLEngine, "marginals", seen)
    declared = {"edges": {"edges": {"age": [0, number, 100]}}, "bounds": {"bounds": {"age": (0, number)}}}
    declared["keys"] = {"keys": {"age": [5, number]}}
    with protected() as session:
        if way in ("slots", "query"):
            found = session.release(T.find_slots(["age"]), epsilon=1)
            column = {**found.columns[0], "edges": [0, number, 100]}
            query = T.synthesize(
                dp.synthesis.IndependentSynthesizer(), columns=["age"], slots=replace(found, columns=(column,))
            )
            if way == "query":
                query = replace(query, found=(replace(query.found[0], edges=(0, number, 100)),))
        else:
            query = T.synthesize(dp.synthesis.IndependentSynthesizer(), columns=["age"], **declared[way])
        table = session.release(query, epsilon=1)
    column = table.state["columns"][0]
    assert {type(each) for each in (*column["edges"], *column["values"])} == {int}
    assert statements
    assert "OVER ()" not in statements[0]


def test_names_are_plain_text_beside_exact_counts(monkeypatch):
    counted = SQLEngine.marginals

    def from_here(engine, prepared):
        Name.calls = 0
        return counted(engine, prepared)

    monkeypatch.setattr(SQLEngine, "marginals", from_here)
    with protected() as session:
        found = session.release(T.find_slots(["city"]), epsilon=1)
        column = {**found.columns[0], "name": Name("city")}
        query = T.synthesize(
            dp.synthesis.IndependentSynthesizer(), columns=["city"], slots=replace(found, columns=(column,))
        )
        for each in (query, replace(query, columns=(Name("city"),))):
            session.release(each, epsilon=1, fresh=True)
            assert Name.calls == 0


def test_edges_that_were_changed_are_refused():
    with protected() as session:
        found = session.release(T.find_slots(["age"]), epsilon=1)
        for edges in ([100, 0], [0, 0, 100], [0, "x"]):
            column = {**found.columns[0], "edges": edges}
            with pytest.raises(dp.Refusal):
                session.release(
                    T.synthesize(
                        dp.synthesis.TreeSynthesizer(), columns=["age"], slots=replace(found, columns=(column,))
                    ),
                    epsilon=1,
                )


def test_a_search_that_does_not_fit_the_budget_reads_nothing(monkeypatch):
    monkeypatch.setattr(SQLEngine, "run", lambda *_: pytest.fail("rows were read"))
    with protected() as session:
        with pytest.raises(dp.Refusal):
            session.release(QUERY, epsilon=80)
        assert float(session.remaining()) == 8


@pytest.mark.pitfall("B1")
def test_the_charge_stays_after_a_failure(monkeypatch):
    def broken(engine, prepared):
        raise ValueError("a cell: A")

    monkeypatch.setattr(SQLEngine, "run", broken)
    with protected() as session:
        with pytest.raises(Failure) as error:
            session.release(QUERY, epsilon=1)
        assert "cell" not in str(error.value)
        assert float(session.remaining()) < 8


def test_a_search_is_one_of_a_batch():
    with protected() as session:
        found, release = session.release([T.find_slots(["city"]), T.agg(n=dp.count())], epsilon=2)
    assert found.keys["city"]
    assert len(release) == 1


def test_texts_of_an_inferred_table_are_found_in_one_form_which_the_result_says():
    rows = pa.table(
        {"id": range(2_000), "sex": ["fm"[i % 2] for i in range(2_000)], "age": [i % 90 for i in range(2_000)]}
    )
    facts = {"name": "people", "privacy_unit": "id", "max_rows": 1, "budget": dp.Budget(epsilon=8, delta=1e-9)}
    with dp.protect(rows, **facts, ledger=":memory:") as session:
        found = session.release(T.find_slots(["sex"]), epsilon=3)
        assert found.keys == {"sex": ("0", "m")}
        assert "fixed_schema=True" in str(found)
        assert "fixed_schema" not in str(session.release(T.find_slots(["age"]), epsilon=1))
        assert dp.FoundSlots.from_json(found.to_json()) == found
    with dp.protect(rows, **facts, ledger=":memory:", fixed_schema=True) as session:
        found = session.release(T.find_slots(["sex"]), epsilon=3)
    assert found.keys == {"sex": ("f", "m")}
    assert "fixed_schema" not in str(found)


def test_a_column_in_which_nothing_was_found_is_not_searched_in_a_circle():
    with protected(protect=dp.testing.protect, bounds={"age": (0, 89)}) as session:
        found = session.release(T.find_slots(["city"]), epsilon=1)
        found = replace(found, columns=(), not_found=("city",))
        query = T.synthesize(dp.synthesis.IndependentSynthesizer(), columns=["age", "city"], slots=found)
        with pytest.raises(UnboundedError, match="found nothing in the column") as caught:
            session.explain(query, epsilon=1)
        assert caught.value.instead.startswith("columns=['age'], or a search with a larger epsilon")


def test_advice_names_columns_of_the_table():
    with protected() as session, pytest.raises(ParameterError) as caught:
        session.explain(T.find_slots(["id"]), epsilon=1)
    assert caught.value.instead == "columns=['city', 'cost', 'age']"
    with pytest.raises(ParameterError, match=r"it is one text, not a list\n.*columns=\['age'\]"):
        T.find_slots("age")
