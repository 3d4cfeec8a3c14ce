"""`dp.preview`: the answer that a release would be, on generated data that cannot be taken for the dataset."""

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
