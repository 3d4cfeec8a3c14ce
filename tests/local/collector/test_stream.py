"""A stream counts each report of its batch once, also where it is killed, replayed, or fed with duplicates."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import ParameterError, SourceError, UnsupportedError
from discreet.local.collector.accumulator import merge
from discreet.local.collector.counting import count_reports
from discreet.local.collector.parquet import write_reports
from discreet.local.collector.stream import read_partials, start_stream
from local_reports import bitmap_task, symbol_reports, symbol_task

TASK = symbol_task(6, cohorts=3)
TESTS = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
from pathlib import Path
import discreet as dp
from servers import start_spark
place = Path(sys.argv[1])
task = dp.local.Task.load(place / "task.json")
spark = start_spark(place / "spark")
folders = {"partials": place / "partials", "checkpoint": place / "checkpoint"}
query = dp.local.collector.start_stream(spark, task, place / "reports", **folders, max_files=1, is_continuous=False)
query.awaitTermination()
"""


def write_files(place, files, per_file):
    """Files whose reports come again in the next file, and in the last."""
    (place / "reports").mkdir()
    sent = [symbol_reports(TASK, per_file) for _ in range(files)]
    late = symbol_reports(TASK, 10, batch=7)
    for i, own in enumerate(sent):
        again = sent[i - 1][::2] if i else []
        everything = [each for reports in sent for each in reports[::3]] if i == files - 1 else []
        write_reports(TASK, own + own[:5] + again + everything + late, place / "reports" / f"{i}.parquet")
    return [each for reports in sent for each in reports]


def run(spark, place, **options):
    folders = {"partials": place / "partials", "checkpoint": place / "checkpoint"}
    query = start_stream(spark, TASK, place / "reports", **folders, max_files=1, is_continuous=False, **options)
    query.awaitTermination()
    return merge(read_partials(place / "partials"))


def assert_counts(total, sent):
    expected = count_reports(TASK, sent)
    assert np.array_equal(total.counts, expected.counts)
    assert np.array_equal(total.cohort_reports, expected.cohort_reports)


def test_a_stream_of_spark_counts_duplicates_in_and_across_micro_batches_once(spark, tmp_path):
    sent = write_files(tmp_path, 3, 60)
    total = run(spark, tmp_path)
    assert_counts(total, sent)
    assert len(total.partials) == 3
    assert run(spark, tmp_path) == total


def test_a_replayed_micro_batch_of_spark_counts_once(spark, tmp_path):
    """The state after a kill between the file of a partial count and Spark's own record that it is done."""
    sent = write_files(tmp_path, 3, 60)
    total = run(spark, tmp_path)
    for record in (tmp_path / "checkpoint" / "commits").glob("*2*"):
        record.unlink()
    assert run(spark, tmp_path) == total
    for record in (tmp_path / "checkpoint" / "commits").glob("*2*"):
        record.unlink()
    (last,) = (tmp_path / "partials").glob("*000002.accumulator")
    before = last.read_bytes()
    last.unlink()
    assert run(spark, tmp_path) == total
    assert last.read_bytes() == before
    assert_counts(total, sent)


def test_shards_of_streams_of_spark_add_up(spark, tmp_path):
    sent = write_files(tmp_path, 2, 60)
    parts = []
    for shard in range(2):
        folders = {name: tmp_path / f"{name}-{shard}" for name in ("partials", "checkpoint")}
        facts = {"shard": shard, "shards": 2, "is_continuous": False}
        start_stream(spark, TASK, tmp_path / "reports", **folders, **facts).awaitTermination()
        parts += read_partials(folders["partials"])
    assert_counts(merge(parts), sent)


def test_a_directory_of_another_stream_of_spark_is_refused(spark, tmp_path):
    write_files(tmp_path, 2, 10)
    total = run(spark, tmp_path)
    shutil.rmtree(tmp_path / "checkpoint")
    with pytest.raises(Exception, match="another stream wrote"):
        run(spark, tmp_path)
    assert merge(read_partials(tmp_path / "partials")) == total


def test_bitmaps_and_shards_that_are_not_there_are_refused_before_spark_starts(tmp_path):
    folders = {"partials": tmp_path / "partials", "checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(UnsupportedError, match="bit by bit"):
        start_stream(None, bitmap_task(), tmp_path, **folders)
    with pytest.raises(ParameterError, match="numbered from 0"):
        start_stream(None, TASK, tmp_path, **folders, shard=1)


def test_a_damaged_partial_count_is_refused(tmp_path):
    (tmp_path / "batch-0.accumulator").write_bytes(count_reports(TASK, symbol_reports(TASK, 3)).to_bytes()[:-1])
    with pytest.raises(SourceError, match="checksum"):
        merge(read_partials(tmp_path))


class Collector:
    """A stream in a process group of its own, with its JVM, that can be killed."""

    def __init__(self, place):
        self._partials = place / "partials"
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
        self._log = (place / "log").open("ab")
        command = [sys.executable, "-c", PROGRAM, str(place)]
        self._process = subprocess.Popen(
            command, env=environment, start_new_session=True, stdout=self._log, stderr=self._log
        )

    def kill_at(self, files):
        """Kill the process and its JVM as soon as there are so many files of partial counts."""
        while len(list(self._partials.glob("*.accumulator"))) < files:
            assert self._process.poll() is None, Path(self._log.name).read_text()
            time.sleep(0.005)
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def finish(self):
        assert self._process.wait(timeout=240) == 0, Path(self._log.name).read_text()
        self._log.close()


@pytest.mark.full
def test_a_stream_of_spark_that_is_killed_counts_every_report_once(tmp_path):
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17")
    sent = write_files(tmp_path, 5, 40)
    TASK.save(tmp_path / "task.json")
    Collector(tmp_path).kill_at(2)
    Collector(tmp_path).finish()
    total = merge(read_partials(tmp_path / "partials"))
    assert_counts(total, sent)
    assert len(total.partials) == 5
