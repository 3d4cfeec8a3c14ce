"""`discreet init`: a draft with names and declared types, in which the owner decides the rest."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet as dp
from discreet.cli.init import column_type
from discreet.errors import Refusal


def test_a_csv_file_gives_names_and_leaves_types_to_the_owner(discreet, visits_directory):
    result = discreet("init", "visits.csv", "--out", "draft.yaml")
    assert result.exit_code == 0
    text = (visits_directory / "draft.yaml").read_text()
    assert "patient_id:" in text
    assert f"{text.count('# decide:')} comments" in result.stdout
    with pytest.raises(Refusal):
        dp.Catalog.load(visits_directory / "draft.yaml")


def test_a_parquet_file_gives_declared_types_and_no_cell_changes_the_draft(discreet, visits_directory):
    for place, rows in enumerate((dp.datasets.visits(10), dp.datasets.visits(20, seed=2))):
        parquet.write_table(rows, visits_directory / "visits.parquet")
        discreet("init", "visits.parquet", "--out", f"draft{place}.yaml")
    first, second = ((visits_directory / f"draft{place}.yaml").read_text() for place in range(2))
    assert first == second
    assert "type: integer  # from the file" in first
    assert "type: date  # from the file" in first


def test_a_draft_whose_decisions_are_taken_is_a_catalog(discreet, visits_directory):
    parquet.write_table(dp.datasets.visits(300), visits_directory / "visits.parquet")
    discreet("init", "visits.parquet", "--out", "draft.yaml")
    text = (visits_directory / "draft.yaml").read_text()
    decisions = {"privacy_unit: null": "privacy_unit: patient_id", "max_rows: DECIDE": "max_rows: 10"}
    for old, new in (decisions | {"epsilon: DECIDE": "epsilon: 2"}).items():
        text = text.replace(old, new)
    (visits_directory / "catalog.yaml").write_text(text)
    assert "epsilon 2 left" in discreet("check").stdout


def test_no_row_of_a_csv_file_is_read_or_changes_the_draft(discreet, visits_directory):
    """Rows that no reader could read, rows of another file, and no row at all: the draft is the same to the byte."""
    header = b"patient_id,ward,cost\n"
    rows = {
        "ordinary": b"1,surgery,20.5\n2,oncology,7\n",
        "other": b"999999,nowhere,-1e300\n" * 50,
        "garbage": bytes(range(256)) * 64 + b'\n"never closed,,,,\n\xff\xfe\x00',
        "empty": b"",
    }
    drafts = {}
    for name, cells in rows.items():
        (visits_directory / "data.csv").write_bytes(header + cells)
        assert discreet("init", "data.csv", "--out", f"{name}.yaml").exit_code == 0, name
        drafts[name] = (visits_directory / f"{name}.yaml").read_bytes()
    assert len(set(drafts.values())) == 1
    assert b"patient_id" in drafts["garbage"]
    assert b"nowhere" not in drafts["other"]


def test_the_draft_asks_for_the_provenance_of_bounds_and_keys(discreet, visits_directory):
    discreet("init", "visits.csv", "--out", "draft.yaml")
    asked = [line for line in (visits_directory / "draft.yaml").read_text().splitlines() if "bounds: [" in line]
    assert asked
    assert all("with provenance: how they are known without the data" in line for line in asked)


def test_a_draft_for_programs(discreet):
    data = json.loads(discreet("init", "visits.csv", "--out", "draft.yaml", "--json").stdout)
    assert data == {"catalog": "draft.yaml", "decisions": 17}


def test_a_place_that_cannot_be_written_is_refused(discreet):
    error = discreet("init", "visits.csv", "--out", "nowhere/draft.yaml").exception
    assert isinstance(error, Refusal)
    assert error.instead == "--out draft.yaml"


def test_a_file_that_is_there_is_not_replaced(discreet):
    assert isinstance(discreet("init", "visits.csv").exception, Refusal)


def test_metadata_of_another_system_is_imported(discreet, visits_directory):
    policy = '{"differential_privacy_policy": {"privacy_unit_column": "patient_id", "epsilon_budget": 2}}'
    (visits_directory / "policy.json").write_text(policy)
    assert discreet("init", "policy.json", "--from", "bigquery", "--out", "draft.yaml").exit_code == 0
    assert "patient_id" in (visits_directory / "draft.yaml").read_text()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.int32(), "integer"),
        (pa.float64(), "real"),
        (pa.decimal128(9, 2), "real"),
        (pa.bool_(), "boolean"),
        (pa.date32(), "date"),
        (pa.timestamp("ms"), "timestamp"),
        (pa.large_string(), "text"),
        (pa.list_(pa.int8()), None),
    ],
)
def test_a_declared_type_is_the_type_of_a_column(kind, expected):
    assert column_type(kind) == expected


def test_a_file_with_another_delimiter_is_not_drafted_as_one_column(discreet, visits_directory):
    (visits_directory / "semi.csv").write_text("patient_id;ward\n1;A\n")
    found = discreet("init", "semi.csv", "--out", "semi.yaml")
    assert found.exit_code == 1
    assert not (visits_directory / "semi.yaml").exists()
    assert discreet("init", "semi.csv", "--out", "semi.yaml", "--delimiter", ";").exit_code == 0
