"""Counts of DuckDB over Parquet are those of this process, bit for bit."""

import random
import secrets

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import ParameterError, SourceError
from discreet.local.collector.accumulator import merge
from discreet.local.collector.counting import count_reports
from discreet.local.collector.duckdb import count_parquet, deduplicate_parquet
from discreet.local.collector.parquet import arrow_table, write_reports
from discreet.local.collector.reports import read_reports
from local_reports import bitmap_task, report, subset_task, symbol_reports, symbol_task

TASK = symbol_task(6, cohorts=3)
TASKS = {"symbols": TASK, "bitmaps": bitmap_task(20, cohorts=2), "slots": subset_task(1_000, 3, cohorts=2)}


def reports_of(task, number=400):
    if task.oracle.symbols:
        return symbol_reports(task, number)
    slots = [sorted(random.sample(range(20), 3)) for _ in range(number)]
    return [report(task, task.oracle.payload(tuple(each)), cohort=secrets.randbelow(2)) for each in slots]


@pytest.mark.parametrize("name", TASKS)
def test_counts_are_those_of_this_process_with_and_without_duplicates(name, tmp_path):
    task = TASKS[name]
    sent = reports_of(task)
    write_reports(task, sent, tmp_path / "once.parquet")
    write_reports(task, sent[::3] + sent[::5], tmp_path / "again.parquet")
    expected = count_reports(task, sent)
    assert count_parquet(task, tmp_path / "once.parquet", has_duplicates=False) == expected
    assert count_parquet(task, tmp_path / "*.parquet") == expected
    assert count_parquet(task, [tmp_path / "again.parquet", tmp_path / "once.parquet"]) == expected


@pytest.mark.parametrize("name", TASKS)
def test_shards_are_those_of_this_process(name, tmp_path):
    task = TASKS[name]
    sent = reports_of(task)
    write_reports(task, sent * 2, tmp_path / "reports.parquet")
    for shard in range(3):
        part = count_parquet(task, tmp_path / "reports.parquet", shard=shard, shards=3)
        assert part == count_reports(task, sent, shard=shard, shards=3)


@pytest.mark.parametrize("name", TASKS)
def test_deduplicated_shards_are_counted_without_a_search(name, tmp_path):
    task = TASKS[name]
    sent = reports_of(task)
    write_reports(task, sent * 2, tmp_path / "reports.parquet")
    files = deduplicate_parquet(task, tmp_path / "reports.parquet", tmp_path, shards=3)
    facts = [{"shard": shard, "shards": 3, "has_duplicates": False} for shard in range(3)]
    parts = [count_parquet(task, file, **fact) for file, fact in zip(files, facts, strict=True)]
    assert parts == [count_reports(task, sent, shard=shard, shards=3) for shard in range(3)]
    assert merge(parts).reports == 400


def test_of_reports_with_one_id_the_least_counts_as_in_this_process(tmp_path):
    sent = [report(TASK, s, cohort=c, report_id=bytes(16)) for c, s in [(2, 0), (1, 5), (1, 3), (2, 5)]]
    for order in range(4):
        write_reports(TASK, sent[order:] + sent[:order], tmp_path / f"{order}.parquet")
        assert count_parquet(TASK, tmp_path / f"{order}.parquet") == count_reports(TASK, sent)


def test_other_tasks_and_batches_are_left_out(tmp_path):
    other = symbol_task(6, cohorts=3, name="another")
    write_reports(other, symbol_reports(other, 7), tmp_path / "other.parquet")
    write_reports(TASK, symbol_reports(TASK, 5, batch=2**32 - 1), tmp_path / "late.parquet")
    write_reports(TASK, symbol_reports(TASK, 3), tmp_path / "now.parquet")
    assert count_parquet(TASK, tmp_path / "*.parquet").reports == 3
    assert count_parquet(TASK, tmp_path / "*.parquet", batch=2**32 - 1).reports == 5


@pytest.mark.parametrize("statistics", [True, False])
def test_other_tasks_and_batches_are_left_out_of_files_without_duplicates_too(statistics, tmp_path):
    """Statistics of a file may prove that no condition is needed, and only then there is none."""
    other = symbol_task(6, cohorts=3, name="another")
    mixed = pa.concat_tables(
        arrow_table(task, read_reports(task, symbol_reports(task, number, batch=batch)))
        for task, number, batch in [(TASK, 3, 0), (TASK, 5, 1), (other, 7, 0)]
    )
    pure = arrow_table(TASK, read_reports(TASK, symbol_reports(TASK, 11)))
    for name, table in {"mixed": mixed, "pure": pure, "none": pure.slice(0, 0)}.items():
        pq.write_table(table, tmp_path / f"{name}.parquet", write_statistics=statistics)
    counts = {"mixed": 3, "pure": 11, "none": 0, "*": 14}
    for name, number in counts.items():
        assert count_parquet(TASK, tmp_path / f"{name}.parquet", has_duplicates=False).reports == number
    assert count_parquet(TASK, tmp_path / "pure.parquet", batch=1, has_duplicates=False).reports == 0
    assert count_parquet(other, tmp_path / "pure.parquet", has_duplicates=False).reports == 0


def test_reports_that_were_refused_before_are_counted(tmp_path):
    refused = write_reports(TASK, [*symbol_reports(TASK, 3), b"noise"], tmp_path / "reports.parquet")
    assert count_parquet(TASK, tmp_path / "reports.parquet", refused=refused).refused == {"length": 1}


def test_rows_out_of_range_are_refused(tmp_path):
    path = tmp_path / "reports.parquet"
    values = ", ".join(f"('{i:032}', {c}, {p})" for i, (c, p) in enumerate([(0, 1), (0, 6), (3, 1), (-1, 1), (0, -1)]))
    task_id = "".join(f"\\x{byte:02x}" for byte in TASK.id)
    columns = f"'{task_id}'::BLOB AS task, c AS cohort, 0 AS batch, from_hex(i) AS report_id, p::BIGINT AS payload"
    duckdb.sql(f"COPY (SELECT {columns} FROM (VALUES {values}) t(i, c, p)) TO '{path}'")
    for has_duplicates in (True, False):
        state = count_parquet(TASK, path, has_duplicates=has_duplicates)
        assert (state.reports, dict(state.refused)) == (1, {"cohort": 2, "payload": 2})


def test_files_that_are_not_reports_are_refused_without_a_cell(tmp_path):
    duckdb.sql(f"COPY (SELECT 'secret' AS task) TO '{tmp_path}/other.parquet'")
    (tmp_path / "text.parquet").write_text("secret")
    for name in ("other", "text", "none"):
        with pytest.raises(SourceError) as error:
            count_parquet(TASK, tmp_path / f"{name}.parquet")
        assert "secret" not in str(error.value)


def test_a_name_of_a_file_is_never_sql(tmp_path):
    folder = tmp_path / "it's"
    folder.mkdir()
    write_reports(TASK, symbol_reports(TASK, 3), folder / "reports.parquet")
    (file,) = deduplicate_parquet(TASK, folder / "reports.parquet", folder)
    assert count_parquet(TASK, file).reports == 3


def test_a_shard_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="numbered from 0"):
        count_parquet(TASK, tmp_path / "none.parquet", shard=2, shards=2)
    with pytest.raises(ParameterError, match="numbered from 0"):
        deduplicate_parquet(TASK, tmp_path / "none.parquet", tmp_path, shards=0)


@pytest.mark.parametrize("paths", [[], "nothing/*.parquet", ["none.parquet"]])
def test_files_that_are_not_there_are_the_reason_of_the_refusal(paths):
    with pytest.raises(SourceError, match="no such file is there") as caught:
        count_parquet(TASK, paths)
    assert "temp_directory" not in caught.value.instead


def test_another_table_is_refused_with_all_of_its_columns(tmp_path):
    pq.write_table(pa.table({"id": [1], "name": ["x"], "task": ["y"]}), tmp_path / "other.parquet")
    with pytest.raises(SourceError) as caught:
        count_parquet(TASK, tmp_path / "other.parquet")
    assert caught.value.what.endswith("the columns id, name, task")
    assert caught.value.because.startswith("missing: cohort, batch, report_id, payload; of another type")
