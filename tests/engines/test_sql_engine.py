"""What SQL engines share: tables made once, and refusals of columns that have no reading."""

import threading
import time

import pyarrow as pa
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.engines import DuckDB, RegisteredSource, Workspace, source_of
from discreet.engines.sql_engine import Shelf, keys_table
from discreet.errors import SourceError
from discreet.plan.physical import Keys, Read


def test_of_those_who_want_a_table_at_once_one_makes_it():
    shelf, made, gate = Shelf(), [], threading.Barrier(8)

    def create() -> dict[object, str]:
        time.sleep(0.05)
        made.append(1)
        return {}

    def want() -> None:
        gate.wait()
        with shelf.table("t", create, made.append):
            pass

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert shelf.holds("t")


def test_a_table_that_could_not_be_made_is_tried_again():
    shelf, tries = Shelf(), []

    def create() -> dict[object, str]:
        tries.append(1)
        if len(tries) == 1:
            raise OSError
        return {}

    with pytest.raises(OSError), shelf.table("t", create, tries.append):
        pass
    with shelf.table("t", create, tries.append):
        assert shelf.holds("t")
    assert tries == [1, 1]


@pytest.mark.parametrize(
    ("cells", "declared", "instead"),
    [
        (pa.array([1.5]), ColumnType.TEXT, "types={'v': \"integer\"} or types={'v': \"real\"}"),
        (pa.array([[1]]), ColumnType.INTEGER, "types={'v': \"document\"} or types={'v': \"binary\"}"),
        (pa.array([1]), ColumnType.DATE, "types={'v': \"integer\"} or types={'v': \"real\"}"),
    ],
)
def test_a_column_that_has_no_reading_as_its_declared_type_is_refused_before_it_is_registered(
    cells, declared, instead, tmp_path
):
    engine = DuckDB({"t": RegisteredSource(source_of(pa.table({"v": cells})), 1)}, Workspace(tmp_path))
    try:
        with pytest.raises(SourceError, match="column 'v' of 't' as") as refusal:
            engine.require("t", {"v": declared})
    finally:
        engine.close()
    assert refusal.value.instead == instead


def test_keys_are_numbered_in_the_order_of_the_answer():
    keys = Keys((Read("g", ColumnType.TEXT), Read("h", ColumnType.INTEGER)), (("b", 1), ("a", None)))
    assert keys_table(keys).to_pydict() == {"discreet_key": [0, 1], "k0": ["b", "a"], "k1": [1, None]}
