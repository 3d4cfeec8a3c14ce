"""`dp.preview`: the answer that a release would be, on generated data that cannot be taken for the dataset."""

from dataclasses import replace

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import NameNotFoundError, ParameterError, UnsupportedError

FACTS = """
catalog: discreet.catalog/1
tables:
  visits:
    source: nowhere.csv
    privacy_unit: patient_id
    max_rows: 10
    rows: 3000
    budget: {epsilon: 2}
    columns:
      patient_id: {type: integer}
      visit_id: {type: integer}
      ward: {type: text, keys: [A, B]}
      age: {type: integer, bounds: [0, 110]}
  letters:
    source: nowhere-else.csv
    privacy_unit: {through: visits, on: visit_id}
    max_rows: 10
    rows: 2000
    budget: {epsilon: 2}
    columns: {visit_id: {type: integer}, pages: {type: integer, bounds: [0, 50]}}
  wards:
    source: wards.csv
    public: true
    columns: {ward: {type: text}, floor: {type: integer, keys: [1, 2]}}
"""


@pytest.fixture(scope="module")
def catalog():
    return dp.Catalog.parse(FACTS)


def by_ward():
    return dp.table("visits").group_by("ward").agg(n=dp.count())


def test_noise_and_margins_are_those_of_a_release(catalog):
    found = dp.preview(catalog, by_ward(), epsilon=0.5)
    facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "keys": {"ward": ["A", "B"]}}
    with dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2)) as session:
        planned = session.explain(by_ward(), epsilon=0.5)
    assert found.margin("n")[0] == planned.outputs[0].margin
    assert abs(sum(found["n"]) - 3_000) < 1_000  # 60 rows is the 95% margin of each; 400 off is beyond any chance


def test_everything_that_is_shown_says_generated_data(catalog):
    found = dp.preview(catalog, by_ward(), epsilon=0.5)
    assert found.dataset == "visits (generated data)"
    assert found.receipt["dataset"] == "visits (generated data)"
    for text in (str(found), found._repr_html_(), found._page(), found._title(found.outputs)):
        assert "generated data" in text.lower()
    assert "spent" not in str(found)
    table = dp.preview(catalog, dp.sql("SELECT COUNT(*) AS n FROM visits"), epsilon=0.5)
    for text in (str(table), table._repr_html_(), table._page()):
        assert "GENERATED DATA" in text


def test_a_form_without_a_label_is_refused(catalog, tmp_path):
    found = dp.preview(catalog, by_ward(), epsilon=0.5)
    for name in ("table.csv", "table.parquet"):
        with pytest.raises(UnsupportedError, match="without its label"):
            found.save(tmp_path / name)
    found.save(tmp_path / "table.html")
    assert "GENERATED DATA" in (tmp_path / "table.html").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["table.html"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT floor, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY floor",
        "SELECT ward, COUNT(*) AS n FROM letters JOIN visits USING (visit_id) GROUP BY ward",
    ],
    ids=["public", "through"],
)
def test_rows_of_joined_tables_match(catalog, text):
    """2,000 rows or more match; noise of this epsilon is below 300 but with probability 1e-12."""
    assert sum(dp.preview(catalog, dp.sql(text), epsilon=2)["n"]) > 1_500


def test_other_queries_are_previewed_as_they_are_released(catalog):
    chosen = dp.preview(catalog, dp.table("visits").choose(["A", "B"], score=dp.score(by="ward")), epsilon=0.5)
    assert "GENERATED DATA" in str(chosen)
    batch = dp.preview(catalog, [by_ward(), dp.table("visits").agg(age=dp.mean("age"))], epsilon=0.5)
    assert [release.dataset for release in batch] == ["visits (generated data)"] * 2


def test_refusals_name_the_tables_of_the_catalog(catalog):
    with pytest.raises(NameNotFoundError) as refusal:
        dp.preview(catalog, dp.table("visit").agg(n=dp.count()), epsilon=0.5)
    assert refusal.value.instead == 'dp.table("visits")'


def test_a_session_gives_the_catalog_of_a_preview():
    facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
    with dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2)) as session:
        found = dp.preview(session.catalog, dp.table("visits").agg(n=dp.count()), epsilon=0.5)
        assert float(session.remaining()) == 2
        with pytest.raises(ParameterError, match="a preview of a session"):
            dp.preview(session, dp.table("visits").agg(n=dp.count()), epsilon=0.5)
    assert found.value() > 5_000


def released(epsilon=1, **facts):
    """A synthetic table of 600 visits, most of them in one ward; and the catalog."""
    rows = pa.table({"patient_id": range(600), "visit_id": range(600), "ward": ["A"] * 500 + ["B"] * 100})
    words = {"privacy_unit": "patient_id", "max_rows": 1, "keys": {"ward": ["A", "B"]}} | facts
    budget = dp.Budget(epsilon=4, delta=1e-9)
    with dp.protect(rows, name="visits", budget=budget, ledger=":memory:", **words) as session:
        kind = dp.synthesis.IndependentSynthesizer()
        query = dp.table("visits").synthesize(kind, columns=["ward"])
        return session.release(query, epsilon=epsilon), session.catalog, float(session.remaining())


def test_a_preview_on_a_synthetic_table_has_its_rows_and_its_label():
    table, catalog, _ = released(4)
    found = dp.preview(catalog, by_ward(), epsilon=4, synthetic=table)
    rows = table.to_arrow()["ward"].to_pylist()
    assert abs(found["n"][0] - rows.count("A")) < 50  # the 95% margin is 5
    assert found.dataset == "visits (synthetic table)"
    assert "(generated data)" not in str(found)
    for text in (str(found), found._repr_html_(), found._page()):
        assert "SYNTHETIC DATA: a preview on the rows of a released synthetic table" in text
    assert "spent" not in str(found)
    with pytest.raises(UnsupportedError, match="generated data"):
        found.save("table.csv")
    assert int(dp.preview(catalog, dp.table("visits").agg(n=dp.count_units()), epsilon=4, synthetic=table)["n"][0]) > 0


def test_a_column_that_the_synthetic_table_does_not_have_is_refused():
    table, catalog, _ = released()
    visits = dp.table("visits")
    query = visits.where(visits.visit_id > 3).agg(n=dp.count())
    with pytest.raises(ParameterError, match="does not have that column"):
        dp.preview(catalog, query, epsilon=1, synthetic=table)
    with pytest.raises(ParameterError, match="a synthetic table that was released"):
        dp.preview(catalog, by_ward(), epsilon=1, synthetic=table.to_arrow())


def test_a_synthetic_table_of_another_dataset_is_refused(catalog):
    table, _, _ = released()
    other = dp.Catalog.parse(FACTS.replace("visits", "stays"))
    with pytest.raises(NameNotFoundError, match="visits"):
        dp.preview(other, dp.table("stays").agg(n=dp.count()), epsilon=1, synthetic=table)
    assert len(dp.preview(catalog, by_ward(), epsilon=1, synthetic=table)) == 2


def test_a_public_table_joins_the_rows_of_a_synthetic_one(catalog):
    table, _, _ = released()
    joined = dp.sql("SELECT floor, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY floor")
    found = dp.preview(catalog, joined, epsilon=1, synthetic=table)
    assert abs(sum(found["n"]) - table.rows) < 300


def test_a_preview_on_a_synthetic_table_of_testing_is_marked():
    table, catalog, _ = released()
    exact = dp.preview(catalog, by_ward(), epsilon=4, synthetic=replace(table, private=False))
    assert exact.dataset == "visits (synthetic table without noise) (generated data)"
    for text in (str(exact), exact._repr_html_(), exact._page()):
        assert "NOT PRIVATE: rows of a synthetic table made without noise" in text
        assert "SYNTHETIC DATA" in text
    assert "NOT PRIVATE" not in str(dp.preview(catalog, by_ward(), epsilon=4, synthetic=table))
