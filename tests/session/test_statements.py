"""Statements in SQL, from the call to the table: one charge, the answers of frames, and notes on what holds."""

import json

import pytest

import discreet as dp

WARDS = ("cardiology", "emergency")
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits WHERE ward IN ('cardiology', 'emergency') GROUP BY ward"


@pytest.fixture
def session():
    facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=9)}
    with dp.testing.protect(dp.datasets.visits(500), **facts) as opened:
        yield opened


def test_a_statement_is_charged_once_and_repeated_for_free(session):
    first = session.sql(BY_WARD, epsilon=0.5)
    again = session.sql(BY_WARD.replace("  ", " ").lower().replace("'", "'"), epsilon=0.5)
    assert float(session.remaining()) == 8.5
    assert again["n"] == first["n"]


def test_a_statement_repeats_the_answer_of_the_same_query_in_python(session):
    visits = dp.table("visits")
    query = visits.where(visits.ward.is_in(WARDS)).group_by("ward", keys={"ward": WARDS}).agg(n=dp.count())
    release = session.release(query, epsilon=0.5)
    table = session.sql(BY_WARD, epsilon=0.5)
    assert table.releases[0].repeated
    assert table["n"] == release["n"]
    assert float(session.remaining()) == 8.5


def test_counts_beside_a_median_are_one_charge_joined_on_the_keys(session):
    text = BY_WARD.replace("AS n", "AS n, MEDIAN(CLAMP(age, 0, 120)) AS m")
    table = session.sql(text, epsilon=1)
    assert float(session.remaining()) == 8
    assert table.columns == ("ward", "n", "m")
    assert len(table.releases) == 2
    assert table["ward"] == WARDS
    assert "ranks" in str(table)


def test_a_statement_is_explained_for_free_and_has_an_epsilon_for_a_margin(session):
    statement = dp.sql("SELECT COUNT(*) AS n FROM visits")
    assert session.explain(statement, epsilon=0.5).cost == "epsilon 0.5"
    assert session.epsilon_for(statement, margin=50) == session.epsilon_for(
        dp.table("visits").agg(n=dp.count()), margin=50
    )
    assert float(session.remaining()) == 9


def test_an_epsilon_for_two_queries_is_refused(session):
    with pytest.raises(dp.Refusal, match="several queries"):
        session.epsilon_for(dp.sql("SELECT COUNT(*), MEDIAN(CLAMP(age, 0, 99)) FROM visits"), margin=50)


def test_options_of_the_statement_and_of_the_call_must_agree(session):
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) AS n FROM visits"
    assert session.sql(text)["n"]
    assert float(session.remaining()) == 8.5
    with pytest.raises(dp.errors.SqlError, match="different ones"):
        session.sql(text, epsilon=1)


def test_after_having_or_a_limit_intervals_are_marked_as_not_holding(session):
    plain, chosen = session.sql(BY_WARD, epsilon=0.5), session.sql(f"{BY_WARD} HAVING n > 0", epsilon=0.5)
    limited = session.sql(f"{BY_WARD} ORDER BY n DESC LIMIT 1", epsilon=0.5)
    assert "not after" not in str(plain)
    assert "not after" in str(chosen)
    assert "not after" in str(limited)
    assert len(limited) == 1
    assert float(session.remaining()) == 8.5  # what follows the aggregates costs nothing


def test_unknown_keys_are_found_with_a_delta_and_the_table_says_that_keys_are_missing():
    budget = dp.Budget(epsilon=5, delta=1e-8, reserved_delta=5e-9)
    facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "max_groups": 2, "budget": budget}
    with dp.testing.protect(dp.datasets.visits(3_000), **facts) as session:
        with pytest.raises(dp.errors.SqlError, match="delta=1e-10"):
            session.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1)
        table = session.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1, delta=1e-9)
        assert "rare keys are missing" in str(table)
        with pytest.raises(dp.errors.SqlError, match="partition selection"):
            session.sql("SELECT ward, MEDIAN(CLAMP(age, 0, 99)) AS m FROM visits GROUP BY ward", epsilon=1, delta=1e-9)


def test_an_arithmetic_of_aggregates_has_the_interval_of_derived_values(session):
    table = session.sql("SELECT SUM(CLAMP(cost, 0, 5000)) / COUNT(*) AS each FROM visits", epsilon=2)
    release = table.releases[0]
    names = [output.name for output in release.outputs]
    derived = release.ratio(names[0], names[1])
    assert table.interval("each") == ((derived.low, derived.high),)


def test_ends_of_intervals_are_columns(session):
    table = session.sql(
        "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS a, DP_INTERVAL_HIGH(n) AS b FROM visits", epsilon=1
    )
    assert table.interval("n") == ((table["a"][0], table["b"][0]),)


def test_a_refused_statement_costs_nothing(session):
    for text in (
        "SELECT * FROM visits",
        "SELECT MAX(age) FROM visits",
        "DROP TABLE visits",
        "SELECT SUM(age) FROM visits",
    ):
        with pytest.raises(dp.Refusal):
            session.sql(text, epsilon=1)
    assert float(session.remaining()) == 9


def test_a_saved_table_is_computed_again_from_its_releases(session, tmp_path):
    table = session.sql(f"{BY_WARD} ORDER BY n DESC", epsilon=0.5)
    table.save(tmp_path / "table.json")
    data = json.loads((tmp_path / "table.json").read_text())
    assert dp.SqlRelease.from_json(data).to_json() == data
    data["table"]["n"][0] += 1
    with pytest.raises(dp.Refusal, match="do not follow"):
        dp.SqlRelease.from_json(data)


def test_a_table_has_the_ends_of_intervals_beside_numbers(session, tmp_path):
    table = session.sql(BY_WARD, epsilon=0.5)
    assert table.to_arrow().column_names == ["ward", "n", "n_low", "n_high"]
    for ending in ("csv", "parquet", "html"):
        table.save(tmp_path / f"table.{ending}")
        assert (tmp_path / f"table.{ending}").stat().st_size > 0
    assert "<script" not in (tmp_path / "table.html").read_text()


def test_the_dialect_of_a_session_is_that_of_its_engine(session):
    assert session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.1).dialect == "duckdb"


def test_a_method_beside_a_statement_is_refused_before_a_charge(session):
    with pytest.raises(dp.Refusal, match="a method beside a statement"):
        session.release(dp.sql("SELECT COUNT(*) FROM visits"), epsilon=1, method=dp.SmoothSensitivity())
    assert float(session.remaining()) == 9


def test_a_delta_of_the_call_must_not_contradict_that_of_the_statement(session):
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (delta = 1e-10) COUNT(*) AS n FROM visits"
    with pytest.raises(dp.errors.SqlError, match="different ones"):
        session.sql(text, epsilon=1, delta=2e-10)


def test_an_offset_leaves_out_rows_by_noisy_numbers_and_an_order_of_keys_does_not(session):
    assert "not after" in str(session.sql(f"{BY_WARD} ORDER BY n DESC OFFSET 1", epsilon=0.5))
    assert "not after" not in str(session.sql(f"{BY_WARD} ORDER BY ward LIMIT 1", epsilon=0.5))


def test_a_name_that_an_end_of_an_interval_has_is_refused(session):
    with pytest.raises(dp.errors.SqlError, match="an end of the interval of n"):
        session.sql("SELECT COUNT(*) AS n, COUNT(DISTINCT patient_id) AS n_low FROM visits", epsilon=1)


def test_named_bounds_of_an_element_of_quantiles_are_used(session):
    text = "SELECT APPROX_QUANTILES(age, 100, contribution_bounds_per_row => (0, 110))[OFFSET(50)] AS m FROM visits"
    assert session.sql(text, dialect="bigquery", epsilon=1)["m"]


def test_a_repeated_table_is_saved_and_read(session):
    session.sql(BY_WARD, epsilon=0.5)
    data = json.loads(json.dumps(session.sql(BY_WARD, epsilon=0.5).to_json()))
    assert dp.SqlRelease.from_json(data).to_json() == data


@pytest.mark.parametrize("change", [{"guarantee": "epsilon 0.001"}, {"notes": []}, {"more": 1}, {"dialect": 5}])
def test_an_edit_beside_the_numbers_of_a_table_is_found(session, change):
    data = session.sql(BY_WARD, epsilon=0.5).to_json()
    with pytest.raises(dp.Refusal, match="do not follow"):
        dp.SqlRelease.from_json(data | change)


def test_releases_of_two_charges_are_not_one_table(session):
    first, second = (session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=price).to_json() for price in (0.1, 2))
    with pytest.raises(dp.Refusal, match="do not follow"):
        dp.SqlRelease.from_json(first | {"releases": first["releases"] + second["releases"]})
