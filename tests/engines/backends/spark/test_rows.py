"""Rows leave Spark in parts: through files on this machine, and packed by executors that have Python."""

import sys
from pathlib import Path

import pyarrow as pa
import pytest

from discreet.engines.backends.spark import rows

SCHEMA = pa.schema([pa.field("id", pa.int64())])

A_CLUSTER = """
import os, sys
import pyarrow as pa
os.environ["PYSPARK_PYTHON"] = sys.argv[1]
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from servers import start_spark
from discreet.engines.backends.spark import rows as spark_rows
spark = start_spark(Path(sys.argv[3]))
assert spark_rows.can_pack(spark)
batches = list(spark_rows.pack_rows(spark.range(0, 50_000, numPartitions=3)))
assert [n for batch in batches for n in batch.column(0).to_pylist()] == list(range(50_000))
print("done")
"""


def test_batches_are_packed_into_cells_of_bytes_and_come_back():
    batches = [pa.record_batch([pa.array([i, i + 1], pa.int64())], schema=SCHEMA) for i in range(5)]
    cells = list(rows.packing(most=32)(iter(batches)))
    assert [cell.num_rows for cell in cells] == [1, 1, 1]
    back = [pa.ipc.open_stream(cell.column(0)[0].as_py()).read_all() for cell in cells]
    assert pa.concat_tables(back)["id"].to_pylist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
    assert list(rows.packing()(iter([]))) == []


@pytest.mark.full
def test_rows_of_a_local_spark_pass_through_files_that_are_deleted(spark, tmp_path):
    assert rows.is_here(spark)
    query = "SELECT CAST(id AS BIGINT) AS id FROM range(0, 1000, 1, 3) DISTRIBUTE BY id % 7 SORT BY id"
    batches = rows.stream_rows(spark, query, SCHEMA, tmp_path)
    first = next(batches)
    assert len(list(tmp_path.iterdir())) == 1
    rest = [number for batch in batches for number in batch.column(0).to_pylist()]
    assert sorted([*first.column(0).to_pylist(), *rest]) == list(range(1_000))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_executors_with_a_python_and_pyarrow_pack_their_rows(script, tmp_path):
    ran = script(A_CLUSTER, sys.executable, Path(__file__).parents[3], tmp_path / "spark")
    assert ran.stdout.strip().endswith("done"), ran.stderr[-2_000:]


def test_a_session_that_cannot_pack_is_told_and_not_raised():
    assert rows.can_pack("no session") is False
