"""The only table of a file and the delimiter of a header need not be named for exact counts."""

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.exact_sources import open_source, seeming_delimiter, table_name
from discreet.errors import SourceError


def _file(tmp_path: Path, ending: str, *tables: str) -> Path:
    path = tmp_path / f"a.{ending}"
    connection = duckdb.connect(str(path)) if ending == "duckdb" else sqlite3.connect(path)
    with closing(connection):
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (zip TEXT, sex TEXT)")
            connection.execute(f"INSERT INTO {table} VALUES ('1', 'f'), ('1', 'f')")
        connection.execute("CREATE VIEW shown AS SELECT 1 AS zip")
        connection.commit()
    return path


@pytest.mark.parametrize("ending", ["duckdb", "sqlite"])
def test_the_only_table_of_a_file_is_the_default(tmp_path: Path, ending: str) -> None:
    path = _file(tmp_path, ending, "visits")
    assert table_name(path, None) == "visits"
    assert dp.anonymity.measure(path, ["zip"]).k == 2
    assert "visits in a." in dp.anonymity.risk_report(path, ["zip"]).text()


@pytest.mark.parametrize("ending", ["duckdb", "sqlite"])
def test_one_of_several_tables_is_named_by_the_owner(tmp_path: Path, ending: str) -> None:
    path = _file(tmp_path, ending, "visits", "wards")
    with pytest.raises(SourceError, match="table='visits' or table='wards'"):
        dp.anonymity.cube(path, ["zip"])
    assert dp.anonymity.measure(path, ["zip"], table="wards").k == 2


@pytest.mark.parametrize("ending", ["duckdb", "sqlite"])
def test_a_misspelt_table_is_no_table_of_the_file(tmp_path: Path, ending: str) -> None:
    path = _file(tmp_path, ending, "visits")
    with pytest.raises(SourceError, match=r"(?s)no table 'visit' in 'a.*instead  table='visits'"):
        dp.anonymity.measure(path, ["zip"], table="visit")
    with pytest.raises(SourceError, match="which is a view"):
        dp.anonymity.measure(path, ["zip"], table="shown")


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_file_with_another_delimiter_is_read_by_every_function(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "semi.csv"
    path.write_text(f"zip{delimiter}sex\n" + f"1{delimiter}f\n2{delimiter}m\n" * 3)
    assert open_source(path, None).columns == ("zip", "sex")
    assert dp.anonymity.measure(path, ["zip", "sex"]).k == 3
    assert dp.anonymity.minimal_uniques(path, ["zip", "sex"]).people == 6
    code = dp.anonymity.risk_report(path, ["zip"]).findings.plan.code
    assert "    delimiter=" in code
    compile(code, "plan", "exec")


def test_a_header_with_commas_has_the_usual_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("zip,a;b\n1,2\n")
    assert seeming_delimiter(path) is None
    assert seeming_delimiter(pa.table({"a": [1]})) is None
