"""A release is saved as JSON, HTML, CSV with a sidecar, or Parquet with metadata; each has the query with it."""

import csv
import json

import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import UnsupportedError
from discreet.release.forms import sidecar

FACTS = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=4)}
WARDS = {"ward": ["surgery", "<b>", None]}
visits = dp.table("visits")


@pytest.fixture(scope="module")
def release():
    with dp.testing.protect(dp.datasets.visits(100), **FACTS) as session:
        query = visits.where(visits.age < 65).group_by("ward", keys=WARDS).agg(n=dp.count())
        return session.release(query, epsilon=0.5)


def test_a_csv_file_has_the_table_and_its_sidecar_everything(release, tmp_path):
    path = tmp_path / "visits.csv"
    release.save(path)
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["ward", "n", "n_margin"]
    assert rows[3][0] == ""
    assert sidecar(path).name == "visits.csv.json"
    assert dp.Release.load(path) == release
    assert dp.Release.load(tmp_path / "visits.csv.json") == release


def test_parquet_and_arrow_have_the_header_in_their_metadata(release, tmp_path):
    release.save(tmp_path / "visits.parquet")
    table = pq.read_table(tmp_path / "visits.parquet")
    assert table.equals(release.to_arrow())
    header = json.loads(table.schema.metadata[b"discreet"])
    assert header["guarantee"] == release.guarantee
    assert header["receipt"] == release.receipt
    assert ["where", "age < 65"] in header["document"]["query"]
    assert "outputs" not in header


def test_html_is_one_page_with_all_rows_and_everything_is_escaped(release, tmp_path):
    release.save(tmp_path / "visits.html")
    page = (tmp_path / "visits.html").read_text(encoding="utf-8")
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert "NOT PRIVATE" in page
    assert "age &lt; 65" in page
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert page.count('<th scope="row">') >= 3
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize("ending", [".tsv", ".xlsx", ".png", ".pdf", ".svg"])
def test_other_endings_are_refused_with_the_call_that_makes_them(release, tmp_path, ending):
    with pytest.raises(UnsupportedError, match=r"release\.(to_pandas|plot)\(\)"):
        release.save(tmp_path / f"visits{ending}")


def test_any_other_name_is_json(release, tmp_path):
    release.save(tmp_path / "visits")
    assert dp.Release.load(tmp_path / "visits") == release
