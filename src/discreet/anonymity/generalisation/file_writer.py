"""Writing a generalised table: complete, durable, and in the history of its dataset before it has its name."""

import hashlib
import os
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
from pyarrow import csv, parquet

from discreet.errors import ParameterError
from discreet.home.durable_files import draft_file, fits
from discreet.ledger.opening import open_ledger
from discreet.ledger.records.other_release import LONGEST_WHAT

if TYPE_CHECKING:
    from discreet.ledger.ledger import Ledger

_KIND = "generalised"
_ENDINGS = (".csv", ".parquet")
_CHUNK = 1 << 20


def write(
    table: pa.Table, path: Path, description: str, ledger: "str | Path | Ledger | None", dataset: str | None
) -> str:
    """Write the table and return the SHA-256 of the file; the ledger has its entry before the file has its name."""
    _require_place(path)
    if (ledger is None) != (dataset is None):
        raise ParameterError(
            f"dataset={dataset!r} {'without' if ledger is None else 'with'} a ledger",
            because="an entry needs a ledger and the name of a dataset",
            instead='write("people.csv", ledger="ledger.sqlite", dataset="people")',
        )
    with _ledger_at(ledger) as opened:
        return _write(table, path, description, opened, dataset)


def _ledger_at(ledger: "str | Path | Ledger | None") -> "AbstractContextManager[Ledger | None]":
    """The ledger at a location, which is closed afterwards, or the one that is given, which stays open."""
    if isinstance(ledger, str | Path):
        if "://" not in str(ledger) and not Path(ledger).is_file():
            raise ParameterError(
                f"ledger={str(ledger)!r}",
                because="there is no ledger at this path",
                instead="the path of the ledger in which dp.protect recorded the dataset",
            )
        opened = open_ledger(ledger)
        return closing(opened)
    if ledger is not None and not hasattr(ledger, "add_other_release"):
        raise ParameterError(
            f"a ledger of type {type(ledger).__name__}",
            because="it is neither a ledger nor the location of one",
            instead='ledger=dp.SQLiteLedger("ledger.sqlite")',
        )
    return nullcontext(ledger)


def _write(table: pa.Table, path: Path, description: str, ledger: "Ledger | None", dataset: str | None) -> str:
    def write_table(file: BinaryIO) -> None:
        if path.suffix.lower() == ".csv":
            csv.write_csv(table, file)
        else:
            # metadata of the source could name columns that are left out
            parquet.write_table(table.replace_schema_metadata(None), file)

    with draft_file(path, write_table) as draft:
        digest = _sha256(draft)
        if ledger is not None and dataset is not None:
            ledger.add_other_release(dataset, _text(path, description), kind=_KIND, sha256=digest)
    return digest


def _require_place(path: Path) -> None:
    if path.suffix.lower() not in _ENDINGS:
        raise ParameterError(
            f"a generalised table at {str(path)!r}",
            because="it is written as CSV or Parquet",
            instead=f"write({str(path.with_suffix('.csv') if path.name else Path('people.csv'))!r})",
        )
    if not fits(path):
        raise ParameterError(
            f"a file name of {len(os.fsencode(path.name)):,} bytes",
            because="the file system does not take a name or a path as long",
            instead=f"write({'people' + path.suffix.lower()!r})",
        )
    if path.is_dir() or not path.parent.is_dir():
        raise ParameterError(
            f"a generalised table at {str(path)!r}",
            because="there is no such directory",
            instead=f"write({path.name!r})",
        )


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _text(path: Path, description: str) -> str:
    """The release in words: names of columns and their levels, and no figure of the data."""
    text = f"{path.name}: {description}"
    return text if len(text) <= LONGEST_WHAT else f"{text[: LONGEST_WHAT - 3]}..."
