"""Codes stay in the executors, and sums over people are those of the same rows in this process."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.backends.spark.people import adding, encoding
from discreet.learning.core.question import add_packed
from discreet.learning.core.rows import EncodedRows, pack_rows
from discreet.learning.core.sums import Contributions

ROWS = pa.table(
    {
        "id": [f"p{i // 3}" for i in range(300)],
        "age": [i * 7 % 97 for i in range(300)],
        "sex": ["FMX"[i % 3] for i in range(300)],
        "income": [["no", "yes", None][i % 3 - i % 2] for i in range(300)],
    }
)
COLUMNS = {
    "id": {"type": "text"},
    "age": {"type": "integer", "bounds": [0, 90]},
    "sex": {"type": "text", "keys": ["F", "M"]},
    "income": {"type": "text", "keys": ["no", "yes"]},
}
SCRIPT = """
import json, os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
import pyarrow.parquet as pq
import discreet as dp
from discreet.engines.backends.spark.people import PeopleInCluster, can_import
from discreet.learning.core.training import ExactSums
from discreet.planner.budget.price import Price
from discreet.session.arguments import request_of

class Steps(ExactSums):
    def sum(self, step):
        self.asked = [*getattr(self, "asked", []), step]
        return super().sum(step)

path, columns = sys.argv[1], json.loads(sys.argv[2])
settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
assert can_import(spark, ["json", "discreet.learning.core.question"])
assert not can_import(spark, ["a_module_that_nobody_has"])
query = dp.table("adult").fit(dp.learning.LogisticRegression(size=900_000), target="income")
asked = request_of(query, (), Price(1), None, None)
facts = {"privacy_unit": "id", "max_rows": 5, "population": 10**6, "budget": {"epsilon": 4, "delta": 1e-9}}
catalog = dp.Catalog(tables={"adult": {"columns": columns} | facts})
with dp.testing.Session(catalog, sources={"adult": path}) as here:
    kind, plan, _ = here._pipeline.plan(asked)
    with kind.prepare(asked, plan, here._pipeline) as prepared:
        in_memory = kind.run(plan, prepared, here._pipeline)
sums = Steps(in_memory, plan.training.learner.schedule)
plan.training.learner.train(sums)
with dp.testing.Session(catalog, sources={"adult": spark.read.parquet(path)}) as there:
    with kind.prepare(asked, plan, there._pipeline) as prepared:
        people = kind.run(plan, prepared, there._pipeline)
        assert isinstance(people, PeopleInCluster)
        for step in sums.asked[:3]:
            assert in_memory.sum(step).any()
            assert people.sum(step).tolist() == in_memory.sum(step).tolist()
print("the same sums")
"""


def test_sums_in_the_cluster_are_the_sums_in_this_process(tmp_path):
    """In a process of its own, whose executors have the Python of the driver."""
    path = tmp_path / "adult.parquet"
    pq.write_table(ROWS, path)
    command = [sys.executable, "-c", SCRIPT, str(path), json.dumps(COLUMNS)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert "the same sums" in found.stdout, found.stderr[-3_000:]


@pytest.mark.parametrize("cut", [1, 2, 3, 7])
def test_blocks_are_whole_however_rows_are_cut_into_batches(cut):
    rows = pa.table({"b": pa.array([0, 0, 0, 1, 2, 2, 2], pa.int32()), "c0": list("abcdefg")})
    batches = iter([batch for batch in rows.to_batches(max_chunksize=cut) if batch.num_rows])
    cells = [
        batch.column(0)[0].as_py()
        for batch in encoding(("x",), lambda t: "".join(t["x"].to_pylist()).encode())(batches)
    ]
    assert cells == [b"abc", b"d", b"efg"]


def test_sums_of_a_partition_are_one_cell():
    class Ones:
        length, clip, has_distinct_places = 2, 5, True

        def contributions(self, rows):
            return Contributions(rows.target[:, None], np.ones((len(rows), 1), dtype=np.int64))

    block = pack_rows(EncodedRows(np.zeros((3, 1), dtype=np.uint16), np.array([0, 1, 1])))
    (cell,) = adding(add_packed, Ones())(iter([pa.record_batch([pa.array([block, block], pa.binary())], ["content"])]))
    assert np.frombuffer(cell.column(0)[0].as_py(), dtype=np.int64).tolist() == [2, 4]
    assert list(adding(add_packed, Ones())(iter([]))) == []
