"""No record of a CSV file vanishes from an owner's exact counts: it is read, or the file is refused with its line."""

import csv
import io
import random
from pathlib import Path

import pytest

from discreet.engines.sources import csv_records
from discreet.engines.sources.csv_records import require_readable
from discreet.errors import SourceError

GOOD = b"zip,sex\n" + b"10115,M\n" * 20


def _write(tmp_path: Path, content: bytes) -> tuple[str]:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    return (str(path),)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"77777\n1,F\n", "1 row of 'people.csv' that cannot be read, the first in line 22"),
        (b"77777\n1,F\n8\n", "2 rows of 'people.csv' that cannot be read, the first in line 22"),
        (b"77777,M,x\n", "the row has 3 cells, and the header 2"),
        (b'"77777,M\n1,F\n', "a quote is not closed"),
        (b'5,"M\n1,F\n1,F\n6,"F\n1,F\n', "stands in the middle of a cell"),
        ("Köln,M\n".encode("latin-1"), "iconv -f LATIN1"),
        ("5,Ä\n".encode("latin-1") * 3, "3 rows"),
    ],
)
def test_a_record_that_cannot_be_read_is_refused_with_its_line(tmp_path: Path, line: bytes, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        require_readable(_write(tmp_path, GOOD + line), 2, ",")
    assert words in str(caught.value)
    assert "line 22" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        b"\xef\xbb\xbf" + GOOD + b"1,F",
        GOOD.replace(b"\n", b"\r\n") + b"\r\n1,F\r\n",
        GOOD + b'"7\n""8"",",M\n\n"",""\n',
        GOOD + "Köln,♀\n7\0001,F\n".encode(),
        b"zip,sex\n",
    ],
)
def test_a_file_by_the_standard_is_readable_without_counting(tmp_path: Path, content: bytes) -> None:
    assert require_readable(_write(tmp_path, content), 2, ",") is None


@pytest.mark.parametrize("line", [b'7"7"7,M\n', b"1,F\r", b"1,F,\n"])
def test_records_of_another_form_are_counted_one_by_one(tmp_path: Path, line: bytes) -> None:
    assert require_readable(_write(tmp_path, GOOD + line + b"2,F\n"), 2, ",") == 22


@pytest.mark.parametrize("piece", [7, 64])
def test_pieces_of_a_file_end_with_records(tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_records, "_PIECE", piece)
    draws = random.Random(4)  # noqa: S311 - cells of a test
    cells = ["", "a", 'b"', "c\nd", ",", "é" * 9, '""', "x\r\ny"]
    for ends in ("\n", "\r\n"):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator=ends)
        writer.writerow(["a", "b", "c"])
        writer.writerows([draws.choice(cells) for _ in range(3)] for _ in range(200))
        content = text.getvalue().encode()
        assert require_readable(_write(tmp_path, content), 3, ",") is None
        with pytest.raises(SourceError, match="the row has 2 cells"):
            require_readable(_write(tmp_path, content + b"1,2" + ends.encode() + b"1,2,3"), 3, ",")
