"""Files of the commands `discreet local`: values to encode, reports behind their lengths, accumulators, estimates.

A file of reports is each report behind its length, 4 bytes big-endian. Parquet has the columns of
`dp.local.collector.write_reports`. A file that ends with `.parquet` is read and written as Parquet.
"""

import csv
import math
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Never

from discreet.errors import ParameterError, Refusal, SourceError
from discreet.home.durable_files import SHARED, write_file

if TYPE_CHECKING:
    from discreet.local.collector.accumulator import Accumulator
    from discreet.local.task import Task

LENGTH_BYTES = 4
LONGEST_REPORT = 2**24
_ACCUMULATOR = b"discreet.local.accumulator/"
_PARQUET = b"PAR1"


@contextmanager
def advise(instead: str) -> Iterator[None]:
    """Errors of the library with advice for the command line in the place of Python."""
    try:
        yield
    except Refusal as error:
        raise type(error)(error.what, because=error.because, instead=instead) from None


def read_task(path: Path) -> "Task":
    """The task in a file."""
    from discreet.local.task import Task  # noqa: PLC0415 - help does not wait for numpy

    advice = "discreet local task --values values.txt --epsilon 1 --n 1000000 --out task.json"
    try:
        with advise(advice):
            return Task.load(path)
    except OSError:
        _refuse_file(path, "a task", advice)


def read_values(path: Path, column: str | None, task: "Task") -> Iterator[Any]:
    """The values of a text file, one a line, or of a column of CSV, in the type of the domain; None where it has none.

    A value that is not of this type is outside of the domain: the client reports the default for it.
    """
    read = _number if task.domain.is_numeric else _slot if task.domain.to_json().get("size") else str
    try:
        with _open(path) as lines:
            texts = (line.rstrip("\r\n") for line in lines) if column is None else _column(lines, column)
            yield from map(read, texts)
    except (OSError, UnicodeDecodeError, csv.Error):
        _refuse_file(path, "values", "a text file in UTF-8 with one value on each line, or CSV with --column NAME")


@contextmanager
def _open(path: Path) -> Iterator[Iterator[str]]:
    if str(path) == "-":
        yield sys.stdin
        return
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield file


def _column(lines: Iterator[str], column: str) -> Iterator[str]:
    rows = csv.reader(lines)
    header = next(rows, [])
    if header.count(column) != 1:
        raise ParameterError(
            f"--column {column!r}",
            because="the first line of the file does not have it once",
            instead=f"--column {header[0]!r}" if header else "a CSV file whose first line has names",
        )
    place = header.index(column)
    return (row[place] if place < len(row) else "" for row in rows)


def _slot(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def encode_values(task: "Task", values: Iterator[Any], batch: int) -> tuple[list[bytes], int]:
    """A report of each value, in random order, and how many values are outside of the domain."""
    from discreet.local.client import Client  # noqa: PLC0415 - help does not wait for it

    clients: dict[int, Client] = {}
    reports, outside = [], 0
    default = task.domain.label(task.default)
    for value in values:
        cohort = secrets.randbelow(task.cohorts)
        if cohort not in clients:
            clients[cohort] = Client(task.assignment(cohort), hash=task.hash)
        is_inside = value is not None and (task.domain.is_numeric or task.domain.slot(value) is not None)
        outside += not is_inside
        chosen = value if is_inside else float(default) if task.domain.is_numeric else default
        reports.append(clients[cohort].report(chosen, batch))
    secrets.SystemRandom().shuffle(reports)
    return reports, outside


def write_reports(task: "Task", reports: Sequence[bytes], path: Path) -> None:
    """Write reports as Parquet, or each behind its length."""
    try:
        if path.suffix.lower() == ".parquet":
            from discreet.local.collector import parquet  # noqa: PLC0415 - needs pyarrow

            parquet.write_reports(task, reports, path)
            return
        with path.open("wb") as file:
            file.writelines(chain.from_iterable((len(each).to_bytes(LENGTH_BYTES, "big"), each) for each in reports))
    except OSError:
        refuse_place(path)


def read_reports(path: Path) -> Iterator[bytes]:
    """The reports of a file that has each behind its length."""
    with path.open("rb") as file:
        while head := file.read(LENGTH_BYTES):
            length = int.from_bytes(head, "big")
            report = file.read(length) if len(head) == LENGTH_BYTES and length <= LONGEST_REPORT else b""
            if len(report) != length or not length:
                raise SourceError(
                    f"reports in {str(path)!r}",
                    because="a length does not fit: the file is cut off, or of another format",
                    instead="a file of `discreet local encode`, or each report behind its length, 4 bytes big-endian",
                )
            yield report


def collect_files(task: "Task", paths: Sequence[Path], *, batch: int, shard: int, shards: int) -> "Accumulator":
    """Counts of the reports in files, each report once, merged with the accumulators among the files."""
    from discreet.local.collector.accumulator import merge  # noqa: PLC0415 - needs numpy

    kinds = {path: _kind(path) for path in paths}
    states = [read_accumulator(path) for path, kind in kinds.items() if kind == "accumulator"]
    tables = [path for path, kind in kinds.items() if kind == "parquet"]
    streams = [path for path, kind in kinds.items() if kind == "reports"]
    if tables or streams:
        facts = {"batch": batch, "shard": shard, "shards": shards}
        states.append(_count(task, tables, streams, facts))
    advice = "one `discreet local collect` of all files of reports, or one for each --shard of the same --shards"
    with advise(advice):
        return merge(states)


def _count(task: "Task", tables: list[Path], streams: list[Path], facts: dict[str, Any]) -> "Accumulator":
    """Counts of report files; where some are Parquet all of them become so, since duplicates must meet."""
    from discreet.local.collector.counting import count_reports  # noqa: PLC0415 - needs numpy
    from discreet.local.collector.duckdb import count_parquet  # noqa: PLC0415 - needs DuckDB
    from discreet.local.collector.parquet import write_reports as write_parquet  # noqa: PLC0415 - needs pyarrow

    reports = chain.from_iterable(map(read_reports, streams))
    if not tables:
        return count_reports(task, reports, **facts)
    with TemporaryDirectory(prefix="discreet-local-") as folder:
        converted = Path(folder) / "reports.parquet"
        refused = write_parquet(task, reports, converted) if streams else {}
        files = [_literal(path) for path in (*tables, *([converted] if streams else []))]
        with advise("Parquet files of this task, from `discreet local encode task.json values.txt --out r.parquet`"):
            return count_parquet(task, files, refused=refused if facts["shard"] == 0 else {}, **facts)


def _literal(path: Path) -> str:
    """A path in which DuckDB finds no pattern."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in str(path))


def _kind(path: Path) -> str:
    """What is in a file, by its first bytes."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_ACCUMULATOR))
    except OSError:
        _refuse_file(path, "reports", "discreet local encode task.json values.txt --out reports.bin")
    if start == _ACCUMULATOR:
        return "accumulator"
    return "parquet" if start.startswith(_PARQUET) else "reports"


def read_accumulator(path: Path) -> "Accumulator":
    """The accumulator in a file."""
    from discreet.local.collector.accumulator import Accumulator  # noqa: PLC0415 - needs numpy

    advice = "discreet local collect task.json reports.bin --out counts.acc"
    try:
        with advise(advice):
            return Accumulator.from_bytes(path.read_bytes())
    except OSError:
        _refuse_file(path, "an accumulator", advice)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file that appears when it is complete."""
    try:
        write_file(path, lambda file: file.write(content), mode=SHARED)
    except OSError:
        refuse_place(path)


def refuse_place(path: Path) -> Never:
    """Refuse a file that cannot be written."""
    raise ParameterError(
        f"--out {str(path)!r}",
        because="the file cannot be written",
        instead=f"--out {path.name!r} in a directory that is there and may be written",
    ) from None


def _refuse_file(path: Path, what: str, instead: str) -> Never:
    raise ParameterError(
        f"{what} in {str(path)!r}", because="the file is not there, or cannot be read", instead=instead
    ) from None
