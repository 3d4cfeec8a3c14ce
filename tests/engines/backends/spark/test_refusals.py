"""Spark: what is refused before anything is charged, each cause in its own words, and quietly."""

from pathlib import Path

import pytest

from discreet.engines import source_of
from discreet.engines.backends.spark import engine as module
from discreet.engines.backends.spark.engine import Spark
from discreet.engines.sources.workspace import Workspace
from discreet.engines.sql_engine import RegisteredSource
from discreet.errors import ParameterError, SourceError


@pytest.mark.parametrize("table", ["no_such_table", "no_such_schema.visits"])
def test_a_table_that_a_session_does_not_have_is_named(spark, table):
    with pytest.raises(SourceError) as refusal:
        module.source(spark, table)
    assert refusal.value.what == f"no table {table!r} in this Spark session"
    assert refusal.value.__cause__ is refusal.value.__context__ is None


def test_a_name_that_spark_cannot_read_is_another_cause(spark):
    with pytest.raises(SourceError, match="a Spark source that cannot be opened"):
        module.source(spark, "1 2 3")


def test_a_table_of_a_data_frame_is_refused(spark):
    with pytest.raises(ParameterError, match="table='visits' for a Spark DataFrame"):
        source_of(spark.range(1), table="visits")


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        ({"memory_limit": "1GB"}, "memory_limit='1GB'"),
        ({"threads": 2}, "threads=2"),
        ({"memory_limit": "1GB", "threads": 2}, "memory_limit='1GB', threads=2"),
    ],
)
def test_only_the_limits_that_were_given_are_refused(spark, tmp_path, limits, what):
    with pytest.raises(ParameterError) as refusal:
        Spark({"t": RegisteredSource(module.source(spark.range(1), None), 1)}, Workspace(tmp_path), **limits)
    assert refusal.value.what == what
    assert refusal.value.instead.startswith("leave it out; ")


STOPPED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from servers import start_spark
import discreet as dp
from discreet.errors import SourceError
spark = start_spark(Path(sys.argv[2]))
spark.sparkContext.setLogLevel("WARN")
session = dp.protect(spark.range(9), name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=2))
count = dp.table("t").agg(n=dp.count())
session.release(count, epsilon=0.5)
before = str(session.remaining("t"))
spark.stop()
try:
    session.release(count, epsilon=0.5, fresh=True)
except SourceError as refusal:
    print("because", refusal.because)
print(before == str(session.remaining("t")))
session.close()
"""


def test_a_question_after_the_application_ended_is_refused_and_not_charged(script, tmp_path):
    told = script(STOPPED, Path(__file__).parents[3], tmp_path)
    assert told.stdout == "because its application has ended\nTrue\n", told.stderr
    assert "escapedStringLiterals" not in told.stderr
