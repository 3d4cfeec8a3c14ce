"""Spark Connect: tables by name and Parquet files are admitted; what only the server could check is refused."""

import subprocess
import sys

import pytest

OPENED = """
import os, sys
from pathlib import Path
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
here = Path(sys.argv[1])
os.chdir(here)
from pyspark.sql import SparkSession
from discreet.engines.backends.spark import engine as module
from discreet.errors import SourceError
builder = SparkSession.builder.remote("local[1]").config("spark.sql.warehouse.dir", str(here / "warehouse"))
spark = builder.config("spark.ui.enabled", "false").getOrCreate()
rows = spark.range(5).selectExpr("id", "id % 2 AS g")
rows.write.saveAsTable("people")
rows.write.parquet(str(here / "files"))
rows.write.partitionBy("g").parquet(str(here / "parts"))
spark.sql("CREATE VIEW seen AS SELECT * FROM people")
spark.sql("CREATE TABLE texts(id INT) USING json")
rows.createOrReplaceTempView("passing")
admitted = {
    "table": spark.table("people"),
    "qualified": spark.table("spark_catalog.default.people"),
    "path of the table": spark.read.parquet(str(here / "warehouse" / "people")),
    "files": spark.read.parquet(str(here / "files")),
    "declared": spark.read.schema("id LONG, g STRING").parquet(str(here / "parts")),
}
refused = {
    "view": spark.table("seen"),
    "temporary view": spark.table("passing"),
    "json": spark.table("texts"),
    "filter": spark.table("people").where("id > 1"),
    "range": spark.range(3),
    "folders": spark.read.parquet(str(here / "parts")),
    "options": spark.read.option("datetimeRebaseMode", "EXCEPTION").parquet(str(here / "files")),
    "text": spark.read.schema("id INT").json(str(here / "files")),
}
found = {name: module.source(frame, None).identity for name, frame in admitted.items()}
assert found.pop("files") == f"spark:file:{here}/files"
assert found.pop("declared") == f"spark:file:{here}/parts"
assert set(found.values()) == {f"spark:file:{here}/warehouse/people"}, found
for name, frame in refused.items():
    try:
        module.source(frame, None)
    except SourceError as refusal:
        assert "cannot be opened" not in refusal.what, name
    else:
        raise AssertionError(name)
spark.stop()
print("done")
"""


@pytest.mark.full
@pytest.mark.pitfall("A29")
def test_only_tables_by_name_and_parquet_files_are_admitted(tmp_path):
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio: pip install 'pyspark[connect]'")
    command = [sys.executable, "-W", "ignore", "-c", OPENED, tmp_path]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ran.stdout.strip().endswith("done"), ran.stderr[-2_000:]
