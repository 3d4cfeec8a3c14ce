"""Counts of Spark over Parquet are those of this process, bit for bit."""

import pytest

from discreet.errors import SourceError, UnsupportedError
from discreet.local.collector.counting import count_reports
from discreet.local.collector.duckdb import deduplicate_parquet
from discreet.local.collector.parquet import write_reports
from discreet.local.collector.spark import count_spark
from local_reports import bitmap_task, report, symbol_reports, symbol_task

TASK = symbol_task(6, cohorts=3)


def test_counts_are_those_of_this_process_with_and_without_duplicates(spark, tmp_path):
    sent = symbol_reports(TASK, 400)
    other = symbol_task(6, cohorts=3, name="another")
    write_reports(TASK, sent, tmp_path / "once.parquet")
    write_reports(TASK, sent[::3] + symbol_reports(TASK, 9, batch=1), tmp_path / "again.parquet")
    write_reports(other, symbol_reports(other, 9), tmp_path / "other.parquet")
    paths = [tmp_path / f"{name}.parquet" for name in ("once", "again", "other")]
    assert count_spark(spark, TASK, paths[0], has_duplicates=False) == count_reports(TASK, sent)
    assert count_spark(spark, TASK, paths, refused={"length": 2}).reports == 400
    for shard in range(2):
        part = count_spark(spark, TASK, spark.read.parquet(str(tmp_path)), shard=shard, shards=2)
        assert part == count_reports(TASK, sent, shard=shard, shards=2)


def test_files_of_duckdb_are_counted_by_spark(spark, tmp_path):
    sent = symbol_reports(TASK, 100)
    write_reports(TASK, sent * 2, tmp_path / "reports.parquet")
    (file,) = deduplicate_parquet(TASK, tmp_path / "reports.parquet", tmp_path)
    assert count_spark(spark, TASK, file, has_duplicates=False) == count_reports(TASK, sent)


def test_of_reports_with_one_id_the_least_counts_on_spark_too(spark, tmp_path):
    sent = [report(TASK, s, cohort=c, report_id=bytes(16)) for c, s in [(2, 0), (1, 5), (1, 3), (2, 5)]]
    write_reports(TASK, sent, tmp_path / "reports.parquet")
    assert count_spark(spark, TASK, tmp_path / "reports.parquet") == count_reports(TASK, sent)


def test_bitmaps_and_other_columns_are_refused_on_spark(spark, tmp_path):
    with pytest.raises(UnsupportedError, match="count_parquet"):
        count_spark(spark, bitmap_task(), tmp_path)
    with pytest.raises(SourceError, match="missing: task, cohort, batch"):
        count_spark(spark, TASK, spark.range(3))
