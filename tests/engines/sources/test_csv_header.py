"""Headers of CSV files are read from the first line alone, and an error says what is wrong with that line."""

import codecs
from pathlib import Path

import pytest

from discreet.engines.sources.csv_header import read_header, refuse_another_delimiter
from discreet.errors import ParameterError, SourceError

ROWS = "id,city\n1,x\n"


def _read(tmp_path: Path, content: bytes, delimiter: str = ",") -> tuple[str, ...]:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    return read_header((str(path),), delimiter)


def _error(tmp_path: Path, content: bytes) -> SourceError:
    with pytest.raises(SourceError) as refusal:
        _read(tmp_path, content)
    return refusal.value


def test_names_are_read_with_and_without_a_byte_order_mark(tmp_path):
    assert _read(tmp_path, ROWS.encode()) == _read(tmp_path, codecs.BOM_UTF8 + ROWS.encode()) == ("id", "city")
    assert _read(tmp_path, b"id;city\n", ";") == ("id", "city")


@pytest.mark.parametrize("content", [b"", codecs.BOM_UTF8])
def test_an_empty_file_is_called_empty(content, tmp_path):
    refusal = _error(tmp_path, content)
    assert (refusal.what, refusal.because) == ("an empty CSV file", "the file is empty")
    assert "patient_id,ward,cost" in refusal.instead


@pytest.mark.parametrize("content", [b"\n1,2\n", b"\r1,2", codecs.BOM_UTF8 + b"\r\n1,2\r\n"])
def test_an_empty_first_line_is_not_an_empty_file(content, tmp_path):
    assert _error(tmp_path, content).what == "a CSV file whose first line is empty"


@pytest.mark.parametrize(
    ("header", "because"),
    [
        (b"city,city", "the name 'city' is there twice"),
        (b"city,id,City", "the names 'city' and 'City' differ only in case"),
        (b"id,,", "the name '' is there twice"),
    ],
)
def test_names_that_are_not_distinct_are_shown(header, because, tmp_path):
    assert _error(tmp_path, header + b"\n1,2\n").because == because


@pytest.mark.parametrize(
    ("content", "coding"),
    [
        *((ROWS.encode(coding), "UTF-16") for coding in ("utf-16", "utf-16-le", "utf-16-be")),
        ("id,Köln\n".encode("latin-1"), "LATIN1"),
    ],
)
def test_a_header_in_another_encoding_is_refused_with_utf8(content, coding, tmp_path):
    refusal = _error(tmp_path, content)
    assert refusal.because == f"a CSV file must be UTF-8, and this one looks like {coding}"
    assert f"iconv -f {coding} -t UTF-8" in refusal.instead


@pytest.mark.pitfall("A22")
@pytest.mark.parametrize("header", [b"\n", b"city,city\n", b"id,K\xf6ln\n", b'id,"g\n'])
def test_no_row_changes_an_error_about_the_header(header, tmp_path):
    rows = (b"", b"1,2\n", b"\xff\xfe\x00\n", b'"somebody\n')
    assert len({str(_error(tmp_path, header + row)) for row in rows}) == 1


def test_a_quote_that_stays_open_is_refused(tmp_path):
    assert "quotes must end in that line" in _error(tmp_path, b'id,"g\nh"\n').because


def test_a_delimiter_is_one_character(tmp_path):
    with pytest.raises(ParameterError, match="one character"):
        _read(tmp_path, ROWS.encode(), ",,")


def test_another_delimiter_is_named():
    refuse_another_delimiter("id")
    with pytest.raises(SourceError, match='separated by ";"'):
        refuse_another_delimiter("id;city")
