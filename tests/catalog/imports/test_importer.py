"""`dp.import_catalog` reads a path or text of bounded size, and a completed draft opens a session that releases."""

from pathlib import Path

import pytest

import discreet as dp
from discreet.catalog.imports import importer
from discreet.errors import ArgumentsError, CatalogError, ParameterError

SMARTNOISE = """
"":
  clinic:
    visits:
      max_ids: 10
      patient_id: {type: int, private_id: true}
      age: {type: int, lower: 0, upper: 120}
      ward: {type: string}
"""
BIGQUERY = """
CREATE VIEW clinic.visits OPTIONS(privacy_policy='{"differential_privacy_policy": {"privacy_unit_column": "patient_id",
  "epsilon_budget": 3, "max_groups_contributed": 2}}') AS SELECT * FROM t
""".replace("\n  ", " ")
SNOWFLAKE = """
ALTER TABLE "visits" ADD PRIVACY POLICY p ENTITY KEY ("patient_id");
ALTER TABLE "visits" MODIFY COLUMN "age" SET PRIVACY DOMAIN BETWEEN (0, 120);
"""


@pytest.mark.parametrize(
    ("form", "text"), [("smartnoise", SMARTNOISE), ("bigquery", BIGQUERY), ("snowflake", SNOWFLAKE)]
)
def test_a_draft_whose_decisions_are_filled_in_opens_a_session_that_releases_a_count(form, text, tmp_path):
    draft = dp.import_catalog(text, form=form)
    with pytest.raises(dp.Refusal):
        dp.Catalog.parse(draft)
    decided = {"epsilon: DECIDE": "epsilon: 3", "max_rows: DECIDE": "max_rows: 10", "type: DECIDE": "type: integer"}
    for decision, value in decided.items():
        draft = draft.replace(decision, value)
    path = tmp_path / "catalog.yaml"
    path.write_text(draft, encoding="utf-8")
    visits = dp.datasets.visits(500)
    with dp.Session(path, sources={"visits": visits}, ledger=dp.SQLiteLedger(":memory:")) as session:
        release = session.release(dp.table("visits").agg(n=dp.count()), epsilon=1)
        assert abs(int(release.value("n")) - visits.num_rows) < 1_000
        assert float(session.remaining()) == 2


def test_a_path_is_read_and_named_in_the_draft(tmp_path):
    path = tmp_path / "metadata.yaml"
    path.write_text(SMARTNOISE, encoding="utf-8")
    by_path = dp.import_catalog(path, form="smartnoise")
    assert by_path == dp.import_catalog(str(path), form="smartnoise")
    assert "max_rows: 10  # from 'metadata.yaml', table 'clinic.visits', max_ids" in by_path
    assert str(tmp_path) not in by_path


def test_a_path_of_another_suffix_is_given_as_a_path(tmp_path):
    path = tmp_path / "metadata.txt"
    path.write_text(SMARTNOISE, encoding="utf-8")
    assert "patient_id" in dp.import_catalog(path, form="smartnoise")
    with pytest.raises(CatalogError, match="mapping"):
        dp.import_catalog("metadata.txt", form="smartnoise")


def test_text_and_files_that_are_too_long_are_refused_before_they_are_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr(importer, "LONGEST_METADATA", 100)
    path = tmp_path / "metadata.yaml"
    for size in (101, 1_000):
        path.write_text("é" * size, encoding="utf-8")
        for source in (path, "é" * size):
            with pytest.raises(CatalogError, match="too long"):
                dp.import_catalog(source, form="smartnoise")


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (Path.exists, "no file"),
        (Path.mkdir, "directory"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(write, words, tmp_path):
    path = tmp_path / "metadata.sql"
    write(path)
    with pytest.raises(CatalogError, match=words) as caught:
        dp.import_catalog(path, form="snowflake")
    assert "import_catalog" in caught.value.instead


def test_half_a_character_is_refused():
    with pytest.raises(CatalogError, match="half a character"):
        dp.import_catalog("CREATE TABLE t (a TEXT) -- \ud800", form="snowflake")


@pytest.mark.parametrize(
    ("form", "nearest"), [("smartnose", "smartnoise"), ("aws", "smartnoise"), (None, "smartnoise")]
)
def test_an_unknown_form_is_refused_with_the_nearest_one(form, nearest):
    with pytest.raises(ParameterError) as caught:
        dp.import_catalog("a: 1", form=form)
    assert caught.value.instead == f'form="{nearest}"'


def test_the_form_is_never_guessed():
    with pytest.raises(ArgumentsError):
        dp.import_catalog(SMARTNOISE)


def test_only_paths_and_text_are_sources():
    with pytest.raises(ParameterError, match="a path or text"):
        dp.import_catalog({"": {}}, form="smartnoise")
    assert importer._is_path(Path("metadata"))
