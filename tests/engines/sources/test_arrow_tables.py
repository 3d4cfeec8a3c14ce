"""Tables of every kind are read alike, and rows fall into the classes that a brute-force comparison gives."""

import datetime as dt
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import discreet as dp
from discreet.engines.sources.arrow_tables import as_arrow, classes, column_names, encode, numbers, sizes
from discreet.errors import NameNotFoundError, ParameterError, SourceError, TypeMismatchError

ROWS = pa.table({"who": ["a", "b", None, "a"], "age": [1, None, 3, 1], "cost": [0.5, 1.5, None, 0.5]})


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "parquet", "csv", "release"])
def test_tables_of_every_kind_are_read(kind, tmp_path):
    pq.write_table(ROWS, tmp_path / "t.parquet")
    csv.write_csv(ROWS, tmp_path / "t.csv")
    with dp.testing.protect(ROWS, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        release = session.release(dp.table("t").group_by("who", keys={"who": ["a", "b"]}).agg(n=dp.count()), epsilon=1)
    given = {
        "arrow": ROWS,
        "pandas": ROWS.to_pandas(),
        "polars": pl.DataFrame(ROWS),
        "parquet": tmp_path / "t.parquet",
        "csv": str(tmp_path / "t.csv"),
        "release": release,
    }[kind]
    found = as_arrow(given, "who")
    assert found.column_names == ["who"]
    assert found["who"].to_pylist() == (["a", "b"] if kind == "release" else ["a", "b", None, "a"])


def test_a_column_that_is_not_there_is_refused_by_name():
    with pytest.raises(NameNotFoundError, match="'whom'") as refused:
        as_arrow(ROWS, "whom")
    assert refused.value.instead == "who"


@pytest.mark.parametrize("thing", [17, "nowhere.csv", pd.DataFrame({"a": [1, "x"]})], ids=["int", "path", "mixed"])
def test_what_is_no_table_is_refused_without_a_cell(thing):
    with pytest.raises(SourceError) as refused:
        as_arrow(thing)
    assert "x" not in refused.value.what.split()


ADDRESSES = [
    "postgresql://u:secret@h/db",
    Path("postgresql://u:secret@h/db"),
    " Postgres://u:secret@h/db",
    "postgresql+psycopg://u:secret@h/db",
    "mysql://u:secret@h/db",
    "jdbc:postgresql://h/db?user=u&password=secret",
    "host=h user=u password=secret",
    "host=h user=secret",
    "dbname=x\npassword = secret",
]


@pytest.mark.parametrize("address", ADDRESSES, ids=range(len(ADDRESSES)))
def test_an_address_of_a_database_is_refused_without_showing_it(address):
    with pytest.raises(SourceError, match="an address in place of a table") as refused:
        as_arrow(address)
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("name", ["C:/people.csv", "my host=a.csv", "a:b.csv"])
def test_a_path_is_no_address(name):
    with pytest.raises(SourceError, match=re.escape(name)):
        as_arrow(name)


def test_no_attack_shows_an_address():
    address, table = "postgresql://u:secret@h/db", pa.table({"a": [1], "b": [2]})
    attacks = [
        lambda: dp.attacks.linkage.against_table(address, table, on=["a"]),
        lambda: dp.anonymity.link(address, table, ["a"]),
        lambda: dp.anonymity.link(table, address, ["a"]),
        lambda: dp.anonymity.singling_out.assess(address, table, table),
        lambda: dp.anonymity.linkability.assess(table, address, table, first=["a"], second=["b"]),
        lambda: dp.anonymity.inference.assess(table, table, address, known=["a"], learn="b"),
    ]
    for attack in attacks:
        with pytest.raises(SourceError, match="an address in place of a table") as refused:
            attack()
        assert "u:secret" not in str(refused.value)


@pytest.mark.parametrize("given", ["ward", [], None, 3])
def test_columns_that_are_no_list_are_refused_with_an_example(given):
    with pytest.raises(ParameterError, match="by=") as refused:
        column_names(given, "by", example='["ward", "sex"]')
    assert refused.value.instead == 'by=["ward", "sex"]'


def test_listed_columns_are_taken_as_they_are():
    assert column_names(("ward", "sex"), "by", example='["ward"]') == ["ward", "sex"]


@pytest.mark.parametrize(
    ("cells", "expected"), [([1, 2], [1, 2]), ([True, None], [1, None]), ([0.5], [0.5]), ([None], [None])]
)
def test_numbers_are_whole_or_real(cells, expected):
    assert numbers(pa.table({"n": cells}), "n").to_pylist() == expected


def test_text_is_no_number():
    with pytest.raises(TypeMismatchError, match="'who' of type string"):
        numbers(ROWS, "who")


def brute(rows):
    return [[one == other for other in rows] for one in rows]


def test_classes_are_those_of_comparing_every_row_with_every_other():
    rng = dp.testing.generator(3)
    cells = [[None if rng.random() < 0.2 else int(v) for v in rng.integers(0, 3, 60)] for _ in range(3)]
    table = pa.table(dict(zip("abc", cells, strict=True)))
    first, second = table.slice(0, 25), table.slice(25)
    for width, (one, other) in enumerate(classes([first, second], ["a", "b", "c"]), start=1):
        codes = np.concatenate([one, other])
        alike = brute(list(zip(*cells[:width], strict=True)))
        assert (codes[:, None] == codes[None, :]).tolist() == alike
    assert sizes(np.array([0, 2, 2]), 4).tolist() == [1, 0, 2, 0]


def alike(one, other):
    left, right = encode([pa.chunked_array([one]), pa.chunked_array([other])], "c")
    return bool(left == right)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([0.0]), pa.array([-0.0])),
        (pa.array([math.nan]), pa.array([None], pa.float64())),
        (pa.array([1], pa.int8()), pa.array([1.0])),
        (pa.array([1], pa.uint64()), pa.array([1], pa.int64())),
        (pa.array(["a"]), pa.array(["a"], pa.large_string())),
        (pa.array(["a"]), pa.array(["a"], pa.string_view())),
        (pa.array(["a"]).dictionary_encode(), pa.array(["a"])),
        (pa.array([None], pa.null()), pa.array([None], pa.string())),
        (pa.array([dt.date(2026, 1, 2)]), pa.array([dt.datetime(2026, 1, 2)])),  # noqa: DTZ001 - a bare time
    ],
    ids=["zeros", "NaN", "int and float", "unsigned", "large text", "text views", "categories", "nulls", "dates"],
)
def test_the_same_value_in_two_forms_is_one_value(one, other):
    assert alike(one, other)


def test_different_values_are_different():
    assert not alike(pa.array(["a"]), pa.array(["A"]))
    assert not alike(pa.array([1.5]), pa.array([1]))
    assert not alike(pa.array(["a"]), pa.array([None], pa.string()))


def test_types_that_cannot_be_compared_are_refused():
    with pytest.raises(TypeMismatchError, match="'zip_code' of types int64 and large_string"):
        encode([pa.chunked_array([pa.array([1])]), pa.chunked_array([pa.array(["1"])])], "zip_code")


BIG = 2**53 + 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([BIG]), pa.array([1.5])),
        (pa.array([2**64 - 1], pa.uint64()), pa.array([1])),
        (pa.array([BIG], pa.timestamp("ns")), pa.array([1], pa.timestamp("us"))),
        (pa.array([BIG * 1000], pa.timestamp("s")), pa.array([1], pa.timestamp("us"))),
    ],
    ids=["int and float", "unsigned", "nanoseconds", "far times"],
)
def test_values_that_one_type_does_not_hold_exactly_are_refused_without_a_cell(one, other):
    with pytest.raises(TypeMismatchError, match="'c' of type") as refused:
        alike(one, other)
    assert not re.search("[0-9]{5}", str(refused.value))
    assert refused.value.__cause__ is None


def test_numbers_beyond_64_bits_are_refused_without_a_cell():
    with pytest.raises(TypeMismatchError, match="'n' of type uint64") as refused:
        numbers(pa.table({"n": pa.array([2**64 - 1], pa.uint64())}), "n")
    assert str(2**64 - 1) not in str(refused.value)


def test_empty_tables_have_no_classes():
    empty = ROWS.slice(0, 0)
    *_, (one, other) = classes([empty, ROWS], ["who", "age"])
    assert len(one) == 0
    assert len(other) == 4
