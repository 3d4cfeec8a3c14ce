"""The table of a statement: rows that HAVING leaves, in their order, with numbers as text."""

import json

import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.release.noisy_columns import Values
from discreet.release.sql_release import _cell

FACTS = {"name": "people", "privacy_unit": dp.ROW, "budget": dp.Budget(epsilon=9)}


@pytest.fixture(scope="module")
def session():
    with dp.testing.protect(dp.datasets.people(1_000), **FACTS) as opened:
        yield opened


def test_rows_are_left_out_ordered_and_limited(session):
    text = "SELECT sex, COUNT(*) AS n FROM people WHERE sex IN ('female', 'male') GROUP BY sex"
    plain = session.sql(text, epsilon=1)
    least, most = sorted(plain["n"])
    assert session.sql(f"{text} ORDER BY n DESC", epsilon=1)["n"] == (most, least)
    assert session.sql(f"{text} ORDER BY n LIMIT 1", epsilon=1)["n"] == (least,)
    assert session.sql(f"{text} ORDER BY n LIMIT 1 OFFSET 1", epsilon=1)["n"] == (most,)
    assert session.sql(f"{text} HAVING COUNT(*) > {least}", epsilon=1)["n"] == (most,)
    assert len(session.sql(f"{text} HAVING n < 0", epsilon=1)) == 0


def test_an_empty_table_is_printed_and_converted(session):
    text = "SELECT sex, COUNT(*) AS n FROM people WHERE sex IN ('female', 'male') GROUP BY sex HAVING n < 0"
    empty = session.sql(text, epsilon=1)
    assert str(empty).count("\n") >= 3
    assert empty.to_arrow().num_rows == 0


def test_an_unknown_column_is_refused_with_the_nearest_one(session):
    table = session.sql("SELECT COUNT(*) AS number FROM people", epsilon=1)
    with pytest.raises(ParameterError) as refused:
        table["numbers"]
    assert refused.value.instead == "number"


def test_rows_are_dictionaries_with_the_ends_of_intervals(session):
    (row,) = session.sql("SELECT COUNT(*) AS n FROM people", epsilon=1)
    assert list(row) == ["n", "n_low", "n_high"]
    assert row["n_low"] < row["n"] < row["n_high"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (Values((5,), (3.0,), (7.0,)), "5 ± 2"),
        (Values((5.0,), (1.0,), (6.0,)), "5.0 (1.0 to 6.0)"),
        (Values((5.5,), (None,), (6.0,)), "5.5 (no interval)"),
        (Values((None,), (None,), (None,)), "(missing)"),
        (Values(("a\x1b",)), "a\\x1b"),
        (Values((True,)), "True"),
        (Values((3,), texts=("3 ± 10 ranks",)), "3 ± 10 ranks"),
    ],
)
def test_a_number_is_shown_with_its_interval(values, text):
    assert _cell(values, 0) == text


@pytest.mark.parametrize("name", ["table.json", "table.csv"])
def test_a_saved_table_is_loaded(tmp_path, name):
    session = dp.testing.protect(
        dp.datasets.visits(100), name="visits", privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2)
    )
    table = session.sql("SELECT urgent, COUNT(*) AS n FROM visits GROUP BY urgent", epsilon=0.5)
    table.save(tmp_path / name)
    assert str(dp.SqlRelease.load(tmp_path / name)) == str(table)


@pytest.mark.parametrize("kind", ["query", "statement"])
def test_a_csv_file_with_other_numbers_than_its_sidecar_is_not_loaded(tmp_path, kind):
    session = dp.testing.protect(
        dp.datasets.visits(100), name="visits", privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2)
    )
    query = dp.table("visits").agg(n=dp.count())
    table = session.release(query if kind == "query" else dp.sql("SELECT COUNT(*) AS n FROM visits"), epsilon=0.5)
    table.save(tmp_path / "table.csv")
    text = (tmp_path / "table.csv").read_text()
    (tmp_path / "table.csv").write_text(text.replace(str(table["n"][0]), "7"))
    with pytest.raises(ParameterError, match="sidecar"):
        type(table).load(tmp_path / "table.csv")


def test_a_table_whose_formula_names_an_unknown_output_is_damaged(session):
    """Found by the fuzzer: the search for the output ended inside a generator, as a RuntimeError."""
    table = session.sql("SELECT COUNT(*) AS n, COUNT(*) / 2 AS half FROM people", epsilon=1)
    data = json.loads(json.dumps(table.to_json()).replace('["output", "n"]', '["output", "nobody"]'))
    assert "nobody" in str(data)
    with pytest.raises(ParameterError, match="damaged"):
        dp.SqlRelease.from_json(data)
