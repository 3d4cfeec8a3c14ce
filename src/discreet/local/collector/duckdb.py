"""Counting reports in Parquet with DuckDB: GROUP BY cohort, payload with COUNT(*).

Bitmaps and lists of slots are scanned by DuckDB and counted by numpy over Arrow batches. Where files may contain
duplicates, an inner GROUP BY report_id keeps the report of the least cohort and payload, so that the result does not
depend on the order of rows. Its memory grows with the reports of one shard; count shard by shard, or let DuckDB spill.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import duckdb

from discreet.errors import SourceError, short_traceback
from discreet.home.durable_files import publish
from discreet.local.collector.accumulator import Accumulator
from discreet.local.collector.counting import partial_key
from discreet.local.collector.groups import GroupCounts, check_columns
from discreet.local.report_format import SHARD_DIGITS

if TYPE_CHECKING:
    from discreet.local.task import Task

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]

_ROWS = 65_536
_TYPES = {"BLOB", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_OWN = "CASE path_in_schema WHEN 'task' THEN $task::BLOB::VARCHAR ELSE $batch::BIGINT::VARCHAR END"
_IS_OWN = f"stats_min_value = {_OWN} AND stats_max_value = {_OWN} AND stats_null_count = 0"
_STATISTICS = f"SELECT coalesce(bool_and(coalesce({_IS_OWN}, false)), false)"
_LEAST = "SELECT report_id, min({'cohort': cohort, 'payload': payload}) AS least FROM {source}"
_OF_BATCH = "task = $task::BLOB AND batch = $batch::BIGINT"
_SHARD = f"('0x' || sha256(report_id)[:{SHARD_DIGITS}])::UBIGINT % $shards"


@short_traceback
def count_parquet(
    task: "Task",
    paths: Paths,
    *,
    batch: int = 0,
    shard: int = 0,
    shards: int = 1,
    has_duplicates: bool = True,
    refused: Mapping[str, int] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Accumulator:
    """Count the reports of one batch in Parquet files, with DuckDB.

    Args:
        task: The task.
        paths: A file, a pattern such as `"reports/*.parquet"`, or several of them.
        batch: The batch to count. Reports of other tasks and batches are left out.
        shard: The shard to count, by a hash of the ids.
        shards: The number of shards.
        has_duplicates: Whether a report may be there twice. False skips the search: for files of
            `deduplicate_parquet`, which are counted with its shard and number of shards.
        refused: Number of malformed reports, as `write_reports` returned it; counted in this partial.
        settings: Settings of DuckDB, such as `{"memory_limit": "4GB", "temp_directory": "/tmp"}`.

    Returns:
        An accumulator of one partial count.

    Raises:
        ParameterError: If there is no such shard.
        SourceError: If the files cannot be read, or their columns are not those of reports.

    Example:
        >>> import discreet as dp
        >>> task = dp.local.Task.choose(domain=["red", "green", "blue"], epsilon=1, n=1_000)
        >>> report = dp.local.Client(task.assignment(0)).report("red")
        >>> _ = dp.local.collector.write_reports(task, [report, report], "reports.parquet")
        >>> dp.local.collector.count_parquet(task, "reports.parquet").reports
        1
    """
    key = partial_key(shard, shards)
    groups = GroupCounts(task)
    with _reports(task, paths, settings) as connection:
        # Files without duplicates hold one shard each: to hash the ids again would cost more than the count.
        where, values = _rows_of(task, batch, shard, shards if has_duplicates else 1)
        if has_duplicates:
            least = f"{_LEAST.replace('{source}', 'reports')} WHERE {where} GROUP BY report_id"
            _add(connection, groups, f"SELECT least.cohort, least.payload FROM ({least})", values)
        elif _is_one_batch(connection, paths, values):
            _add(connection, groups, "SELECT cohort, payload FROM reports", {})
        else:
            _add(connection, groups, f"SELECT cohort, payload FROM reports WHERE {where}", values)
    groups.add_refused(refused or {})
    return Accumulator.partial(task, groups.counts, groups.reports, key=key, batch=batch, refused=groups.refused)


@short_traceback
def deduplicate_parquet(
    task: "Task",
    paths: Paths,
    folder: str | PathLike[str],
    *,
    batch: int = 0,
    shards: int = 1,
    settings: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write the reports of one batch without duplicates, one Parquet file a shard.

    Args:
        task: The task.
        paths: A file, a pattern such as `"reports/*.parquet"`, or several of them.
        folder: Directory for the files.
        batch: The batch.
        shards: The number of shards. More of them need less memory; with more than one, reports are written twice.
        settings: Settings of DuckDB.

    Returns:
        The files, by shard.

    Raises:
        SourceError: If the files cannot be read, or their columns are not those of reports.

    Example:
        >>> import discreet as dp
        >>> task = dp.local.Task.choose(domain=["red", "green", "blue"], epsilon=1, n=1_000)
        >>> report = dp.local.Client(task.assignment(0)).report("red")
        >>> _ = dp.local.collector.write_reports(task, [report, report], "reports.parquet")
        >>> files = dp.local.collector.deduplicate_parquet(task, "reports.parquet", ".", shards=2)
        >>> parts = [
        ...     dp.local.collector.count_parquet(task, file, shard=shard, shards=2, has_duplicates=False)
        ...     for shard, file in enumerate(files)
        ... ]
        >>> dp.local.collector.merge(parts).reports
        1
    """
    partial_key(0, shards)
    files = [Path(folder) / f"batch-{batch}-shard-{shard}-of-{shards}.parquet" for shard in range(shards)]
    with _reports(task, paths, settings) as connection, TemporaryDirectory(dir=folder) as parts:
        sources = _partition(connection, task, batch, shards, Path(parts))
        for source, file in zip(sources, files, strict=True):
            draft = Path(parts) / file.name
            least = f"{_LEAST.replace('{source}', source)} WHERE {_OF_BATCH} GROUP BY report_id"
            select = f"SELECT $task AS task, least.cohort, $batch AS batch, report_id, least.payload FROM ({least})"
            values = {"task": task.id, "batch": batch}
            connection.execute(f"COPY ({select}) TO '{_text(draft)}' (FORMAT parquet)", values)
            publish(draft, file)
    return files


def _partition(connection: duckdb.DuckDBPyConnection, task: "Task", batch: int, shards: int, folder: Path) -> list[str]:
    """Reports by shard, in files: every id is hashed once. One shard needs no files."""
    if shards == 1:
        return ["reports"]
    rows = f"SELECT *, {_SHARD} AS shard FROM reports WHERE {_OF_BATCH}"
    values = {"task": task.id, "batch": batch, "shards": shards}
    connection.execute(f"COPY ({rows}) TO '{_text(folder)}' (FORMAT parquet, PARTITION_BY (shard))", values)
    names = [folder / f"shard={shard}" for shard in range(shards)]
    empty = "(SELECT * FROM reports LIMIT 0)"  # a shard without reports has no file
    return [f"read_parquet('{_text(name)}/*.parquet')" if name.exists() else empty for name in names]


def _rows_of(task: "Task", batch: int, shard: int, shards: int) -> tuple[str, dict[str, Any]]:
    """The condition on rows of one shard of a batch, and its values."""
    values: dict[str, Any] = {"task": task.id, "batch": batch}
    if shards == 1:
        return _OF_BATCH, values
    return f"{_OF_BATCH} AND {_SHARD} = $shard", values | {"shard": shard, "shards": shards}


def _add(connection: duckdb.DuckDBPyConnection, groups: GroupCounts, rows: str, values: dict[str, Any]) -> None:
    """Group symbols in DuckDB; count the bits of bitmaps over Arrow batches."""
    if groups.has_symbols:
        grouped = f"SELECT cohort, payload, count(*) AS reports FROM ({rows}) GROUP BY cohort, payload"
        groups.add_groups(connection.sql(grouped, params=values).to_arrow_table())
    else:
        for block in connection.sql(rows, params=values).to_arrow_reader(_ROWS):
            groups.add_rows(block)


def _is_one_batch(connection: duckdb.DuckDBPyConnection, paths: Paths, values: dict[str, Any]) -> bool:
    """Whether all rows are of one batch of one task, by the statistics of the files: then no condition is needed.

    DuckDB skips row groups by the same statistics. A file without them is read with the condition.
    """
    query = f"{_STATISTICS} FROM parquet_metadata([{_path_literals(paths)}]) WHERE path_in_schema IN ('task', 'batch')"
    ((is_one,),) = connection.execute(query, values).fetchall()
    return bool(is_one)


@contextmanager
def _reports(task: "Task", paths: Paths, settings: Mapping[str, str] | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the view `reports`."""
    if not _path_literals(paths):
        raise _without_files(paths)
    try:
        with duckdb.connect(config=dict(settings or {})) as connection:
            connection.execute("SET preserve_insertion_order = false")
            connection.execute(f"CREATE VIEW reports AS SELECT * FROM read_parquet([{_path_literals(paths)}])")
            types = connection.execute("DESCRIBE reports").fetchall()
            check_columns(task, {name: kind != "BLOB" if kind in _TYPES else None for name, kind, *_ in types})
            yield connection
    except duckdb.Error as error:
        if "No files found" in str(error):
            raise _without_files(paths) from None
        # The text of a driver may echo a cell: the class alone says what kind of fault it was.
        raise SourceError(
            "reports in Parquet",
            because=f"DuckDB could not read or write them ({type(error).__name__})",
            instead='count_parquet(task, "reports/*.parquet", settings={"temp_directory": "/path/with/room"})',
        ) from None


def _without_files(paths: Paths) -> SourceError:
    named = [paths] if isinstance(paths, str | PathLike) else list(paths)
    return SourceError(
        f"reports in {', '.join(repr(fspath(each)) for each in named) or 'no files'}",
        because="no such file is there",
        instead='write_reports(task, reports, "reports.parquet"), then count_parquet(task, "reports.parquet")',
    )


def _path_literals(paths: Paths) -> str:
    """Paths as literals of SQL."""
    return ", ".join(f"'{_text(path)}'" for path in ([paths] if isinstance(paths, str | PathLike) else paths))


def _text(path: str | PathLike[str]) -> str:
    """A path inside single quotes of SQL."""
    return fspath(path).replace("'", "''")
