"""Hierarchy files as ARX writes them."""

import pyarrow as pa
import pytest

import discreet as dp

from_arx = dp.anonymity.hierarchies.from_arx


def test_column_i_is_level_i(tmp_path):
    path = tmp_path / "marital.csv"
    path.write_text("Divorced;spouse not present;*\r\nMarried-AF-spouse;spouse present;*\r\n", encoding="utf-8")
    levels = from_arx(path).levels(pa.array(["Married-AF-spouse", "Divorced"]))
    assert levels.labels == (
        ("Married-AF-spouse", "Divorced"),
        ("spouse not present", "spouse present"),
        ("*",),
    )
    assert levels.codes[1].tolist() == [1, 0]


def test_quotes_delimiters_and_character_sets(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes('"a;b";"say ""x""";*\nc;\'é\';*\n'.encode("latin-1"))
    levels = from_arx(path, encoding="latin-1").levels(pa.array(["a;b", "c"]))
    assert levels.labels[1] == ('say "x"', "'é'")
    path.write_text("a,x,*\nb,y,*\n", encoding="utf-8")
    assert from_arx(path, delimiter=",").height == 2
    with pytest.raises(dp.errors.SourceError):
        from_arx(path, encoding="no such")
    with pytest.raises(dp.errors.ParameterError):
        from_arx(path, delimiter=";;")


def test_files_that_are_not_monotone_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;x;1;*\nb;x;2;*\n", encoding="utf-8")
    with pytest.raises(dp.errors.ParameterError) as caught:
        from_arx(path)
    assert caught.value.because == "values alike at level 1 must be alike above it"


def test_lines_of_other_lengths_and_broken_quotes_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;x;*\nb;x\n", encoding="utf-8")
    with pytest.raises(dp.errors.ParameterError):
        from_arx(path)
    path.write_text('a;"x;*\n', encoding="utf-8")
    with pytest.raises(dp.errors.SourceError):
        from_arx(path)


def test_a_line_break_of_unicode_stays_in_its_cell(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\u2028b;x;*\n", encoding="utf-8")
    assert from_arx(path).levels(pa.array(["a\u2028b"])).labels[1] == ("x",)
