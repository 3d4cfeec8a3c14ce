"""The header of CSV files: the column names in the first line, or an error that says what is wrong with that line.

Nothing behind the first line is read, so no cell can change an error.
"""

import codecs
import csv
import re
from pathlib import Path

from discreet.engines.sources.arrow_types import distinct_names
from discreet.errors import ParameterError, SourceError

_LONGEST_HEADER = 1_000_000


def read_header(paths: tuple[str, ...], delimiter: str) -> tuple[str, ...]:
    """The header that all files share; rows are read by position, so another order would swap columns."""
    headers = {_names(path, delimiter) for path in paths}
    if len(headers) != 1:
        raise SourceError(
            "CSV files with different headers",
            because="their columns are not the same, or not in the same order",
            instead="files with one and the same header line, or Parquet files",
        )
    return headers.pop()


def refuse_another_delimiter(column: str) -> None:
    """Refuse a header that is one name by the usual delimiter and several by another."""
    for other, text in ((";", ";"), ("\t", "\\t"), ("|", "|")):
        if other in column:
            raise SourceError(
                "a CSV file whose header is a single name",
                because=f'its names seem to be separated by "{text}"',
                instead=f'delimiter="{text}" (delimiter: "{text}" in a catalog), or delimiter="," for one column',
            )


def _names(path: str, delimiter: str) -> tuple[str, ...]:
    """The names in the first line; nothing behind that line is decoded, so no cell can change an error about it."""
    if len(delimiter) != 1:
        raise ParameterError(f"delimiter={delimiter!r}", because="it is one character", instead='delimiter=","')
    try:
        with Path(path).open("rb") as file:
            start = file.readline(_LONGEST_HEADER)
        line = re.split(rb"[\r\n]", start, maxsplit=1)[0]
        names = next(csv.reader([line.decode("utf-8-sig")], delimiter=delimiter, strict=True), [])
    except UnicodeDecodeError:
        raise _not_utf8(line) from None
    except (OSError, csv.Error):
        raise SourceError(
            "a CSV file whose header cannot be read",
            because="its first line must be column names, and quotes must end in that line",
            instead=_header_example(delimiter),
        ) from None
    if b"\0" in line:  # UTF-16 without a byte order mark may decode as UTF-8
        raise _not_utf8(line)
    if not names:
        is_empty = start.removeprefix(codecs.BOM_UTF8) == b""
        raise SourceError(
            "an empty CSV file" if is_empty else "a CSV file whose first line is empty",
            because="the file is empty" if is_empty else "the first line holds the column names",
            instead=_header_example(delimiter),
        )
    return distinct_names(names)


def _header_example(delimiter: str) -> str:
    return f"a file whose first line is, for example, {delimiter.join(('patient_id', 'ward', 'cost'))!r}"


def _not_utf8(header: bytes) -> SourceError:
    coding = "UTF-16" if b"\0" in header else "LATIN1"
    return SourceError(
        "a CSV file whose header is not UTF-8",
        because=f"a CSV file must be UTF-8, and this one looks like {coding}",
        instead=f"the same file in UTF-8: iconv -f {coding} -t UTF-8 visits.csv > visits-utf8.csv",
    )
