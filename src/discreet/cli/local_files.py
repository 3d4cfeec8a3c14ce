"""Files of the commands `discreet local`: values to encode, reports behind their lengths, accumulators, estimates.

A file of reports is each report behind its length, 4 bytes big-endian. Parquet has the columns of
`dp.local.collector.write_reports`. A file that ends with `.parquet` is read and written as Parquet.
"""

import csv
import math
import secrets
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Never

from discreet.cli.local_outputs import ACCUMULATOR, LENGTH_BYTES, PARQUET
from discreet.errors import ParameterError, Refusal, SourceError
from discreet.home.durable_files import SHARED, write_file
from discreet.local.report_format import BATCH, HEADER_BYTES, TASK_ID

if TYPE_CHECKING:
    from discreet.local.collector.accumulator import Accumulator
    from discreet.local.task import Task

LONGEST_REPORT = 2**24
BLANK = object()
"""A line or a cell without a value."""


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
    """The values of a text file, one a line, or of a column of CSV, in the type of the domain.

    `BLANK` is a line or a cell without a value. None is a value that is not of this type, so outside of the domain.
    Spaces around a value are left out, unless the domain has the value with them.
    """
    kept = frozenset(task.domain.to_json().get("values", ()))
    read = _number if task.domain.is_numeric else _slot if task.domain.to_json().get("size") else str
    instead = "a text file in UTF-8 with one value on each line, or CSV with --column NAME"
    with _reading(path, "values", instead), _open(path) as lines:
        for text in (line.rstrip("\r\n") for line in lines) if column is None else _column(lines, column):
            value = text if text in kept else text.strip()
            yield read(value) if value or value in kept else BLANK


def read_list(path: Path) -> tuple[list[str], int]:
    """The different values of a text file, one a line, and how many lines are blank; without spaces around values."""
    instead = "a text file in UTF-8, one value on each line; or --domain 1024"
    with _reading(path, "values", instead):
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    values = list(filter(None, lines))
    repeated = [value for value, times in Counter(values).items() if times > 1]
    if len(values) < 2 or repeated:
        because = f"some are there twice or more: {', '.join(map(ascii, repeated[:3]))}" if repeated else ""
        raise ParameterError(
            f"values in {str(path)!r}",
            because=because or f"a domain has two or more values, and the file has {len(values)}",
            instead="each value on one line, as `sort --unique` writes them" if repeated else instead,
        )
    return values, len(lines) - len(values)


@contextmanager
def _reading(path: Path, what: str, instead: str) -> Iterator[None]:
    """Errors of reading a text file, each with its own reason."""
    try:
        yield
    except OSError:
        _refuse_file(path, what, instead)
    except UnicodeDecodeError:
        because = "the file is not text in UTF-8"
        raise ParameterError(f"{what} in {str(path)!r}", because=because, instead=f"iconv, or {instead}") from None
    except csv.Error as error:
        raise ParameterError(f"{what} in {str(path)!r}", because=f"it is not CSV: {error}", instead=instead) from None


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


@dataclass(frozen=True)
class EncodedValues:
    """Reports of values, with exact counts that the holder of the values should keep.

    Attributes:
        reports: A report of each value, in random order.
        outside: Number of values outside of the domain, reported as the default.
        blank: Number of lines without a value, which have no report.
    """

    reports: list[bytes]
    outside: int
    blank: int


def encode_values(task: "Task", values: Iterator[Any], batch: int) -> EncodedValues:
    """A report of each value, in random order."""
    from discreet.local.client import Client, ClientError  # noqa: PLC0415 - help does not wait for it

    clients: dict[int, Client] = {}
    reports, outside, blank = [], 0, 0
    default, known = task.domain.label(task.default), frozenset(task.domain.to_json().get("values", ()))
    try:
        for value in values:
            if value is BLANK:
                blank += 1
                continue
            cohort = secrets.randbelow(task.cohorts)
            if cohort not in clients:
                clients[cohort] = Client(task.assignment(cohort), hash=task.hash)
            # a list of values is searched in a set: `slot` would compare with each
            is_inside = value in known if known else value is not None
            if not known and not task.domain.is_numeric:
                is_inside = task.domain.slot(value) is not None
            outside += not is_inside
            chosen = value if is_inside else float(default) if task.domain.is_numeric else default
            reports.append(clients[cohort].report(chosen, batch))
    except ClientError as error:
        what, because, instead = error.args
        raise ParameterError(what, because=because, instead=instead) from None
    secrets.SystemRandom().shuffle(reports)
    return EncodedValues(reports, outside, blank)


def write_reports(task: "Task", reports: Sequence[bytes], path: Path) -> None:
    """Write reports as Parquet, or each behind its length."""
    try:
        if path.suffix.lower() == ".parquet":
            from discreet.local.collector import parquet  # noqa: PLC0415 - needs pyarrow

            parquet.write_reports(task, reports, path)
            return
    except ParameterError:
        refuse_place(path)
    write_bytes(path, b"".join(len(each).to_bytes(LENGTH_BYTES, "big") + each for each in reports))


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


@dataclass(frozen=True)
class CollectedFiles:
    """What files of a collection have.

    Attributes:
        state: The counts.
        batches: Number of reports of the task by batch, as they stand in the files, so with duplicates.
    """

    state: "Accumulator"
    batches: Mapping[int, int]

    @property
    def other_batches(self) -> dict[int, int]:
        """Number of reports that were left out, by batch."""
        return {batch: number for batch, number in sorted(self.batches.items()) if batch != self.state.batch}


def collect_files(
    task: "Task", paths: Sequence[Path], *, batch: int | None, shard: int | None, shards: int | None
) -> CollectedFiles:
    """Counts of the reports in files, each report once, merged with the accumulators among the files."""
    from discreet.local.collector.accumulator import merge  # noqa: PLC0415 - needs numpy

    kinds = {path: _kind(path) for path in paths}
    states = {path: read_accumulator(path) for path, kind in kinds.items() if kind == "accumulator"}
    tables = [path for path, kind in kinds.items() if kind == "parquet"]
    streams = [path for path, kind in kinds.items() if kind == "reports"]
    for path, state in states.items():
        require_task(task, state)
        batch = state.batch if batch is None else batch
        _check_batch(path, state, batch)
        if not tables and not streams:
            _check_shard(path, state, shard, shards)
    facts = {"batch": batch or 0, "shard": shard or 0, "shards": shards or 1}
    batches: Counter[int] = Counter()
    found = [*states.values(), *([_count(task, tables, streams, batches, facts)] if tables or streams else [])]
    with advise("one `discreet local collect` of all files of reports, or one for each --shard of the same --shards"):
        return CollectedFiles(merge(found), batches)


def require_task(task: "Task", state: "Accumulator") -> None:
    """Refuse counts of another task."""
    if state.task != task.hash:
        raise ParameterError(
            f"counts of the task {state.task[:16]}",
            because=f"the task in the file is {task.hash[:16]}",
            instead="the file of the task that clients were given",
        )


def _check_batch(path: Path, state: "Accumulator", batch: int) -> None:
    if state.batch != batch:
        raise ParameterError(
            f"batch {batch} with {str(path)!r}",
            because=f"the file has batch {state.batch}, and counts of several batches are not merged",
            instead=f"--batch {state.batch}, with files of this batch alone",
        )


def _check_shard(path: Path, state: "Accumulator", shard: int | None, shards: int | None) -> None:
    """Refuse a shard that was stated where only counts are merged, and these are of others."""
    for key in state.partials:
        if (shard is not None and key.shard != shard) or (shards is not None and key.shards != shards):
            raise ParameterError(
                f"--shard {shard or 0} --shards {shards or 1} with {str(path)!r}",
                because=f"the file has shard {key.shard} of {key.shards}, and reports alone are divided into shards",
                instead="the same command without --shard and --shards",
            )


def _count(
    task: "Task", tables: list[Path], streams: list[Path], batches: "Counter[int]", facts: dict[str, Any]
) -> "Accumulator":
    """Counts of report files; where some are Parquet all of them become so, since duplicates must meet."""
    from discreet.local.collector.counting import count_reports  # noqa: PLC0415 - needs numpy
    from discreet.local.collector.duckdb import count_parquet  # noqa: PLC0415 - needs DuckDB
    from discreet.local.collector.parquet import write_reports as write_parquet  # noqa: PLC0415 - needs pyarrow

    reports = _tally(task, chain.from_iterable(map(read_reports, streams)), batches)
    if not tables:
        return count_reports(task, reports, **facts)
    with TemporaryDirectory(prefix="discreet-local-") as folder:
        converted = Path(folder) / "reports.parquet"
        refused = write_parquet(task, reports, converted) if streams else {}
        files = [_literal(path) for path in (*tables, *([converted] if streams else []))]
        with advise("Parquet files of this task, from `discreet local encode task.json values.txt --out r.parquet`"):
            state = count_parquet(task, files, refused=refused if facts["shard"] == 0 else {}, **facts)
    for path in tables:
        _tally_table(task, path, batches)
    return state


def _tally(task: "Task", reports: Iterator[bytes], batches: "Counter[int]") -> Iterator[bytes]:
    """The reports, while those of the task are counted by batch."""
    for report in reports:
        if len(report) > HEADER_BYTES and report[TASK_ID] == task.id:
            batches[int.from_bytes(report[BATCH], "big")] += 1
        yield report


def _tally_table(task: "Task", path: Path, batches: "Counter[int]") -> None:
    import pyarrow.compute as pc  # noqa: PLC0415 - help does not wait for it
    import pyarrow.parquet as pq  # noqa: PLC0415

    with pq.ParquetFile(path) as file:
        for block in file.iter_batches(columns=["task", "batch"]):
            own = block.filter(pc.equal(block.column("task"), task.id)).column("batch")
            batches.update({row["values"]: row["counts"] for row in own.value_counts().to_pylist()})


def _literal(path: Path) -> str:
    """A path in which DuckDB finds no pattern."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in str(path))


def _kind(path: Path) -> str:
    """What is in a file, by its first bytes."""
    try:
        with path.open("rb") as file:
            start = file.read(len(ACCUMULATOR))
    except OSError:
        _refuse_file(path, "reports", "discreet local encode task.json values.txt --out reports.bin")
    if start == ACCUMULATOR:
        return "accumulator"
    return "parquet" if start.startswith(PARQUET) else "reports"


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
