"""Full-domain recoding: the textbook's figures, plain loops on random tables, and what is never published."""

import datetime as dt
import json
import sqlite3
from collections import Counter
from fractions import Fraction

import brute
import census
import duckdb
import places
import plain_recoding
import pyarrow as pa
import pytest
import random_tables
from pyarrow import csv, parquet

import discreet as dp

H = dp.anonymity.hierarchies
TENS = H.digits(1)


@pytest.mark.parametrize(("rows", "top", "k"), [(500, 60, 7), (1_000, None, 1), (None, None, 21)], ids=str)
def test_the_textbook_s_figures_of_k(adult, rows, top, k):
    table = census.adult(adult).slice(0, rows)
    recoding = {"Age": (TENS, 1), "Education-Num": (TENS, 1)}
    found = dp.anonymity.generalise(table, recoding, top={} if top is None else {"Age": top})
    assert found.k == k
    assert found.table.num_rows == (rows or 32_561)
    assert found.suppressed == 0
    plain = census.tens(census.adult(adult), rows=rows, top=top).to_pylist()
    assert Counter(tuple(map(str, row.values())) for row in plain) == Counter(
        tuple(row.values()) for row in found.table.to_pylist()
    )


def test_unclipped_the_first_1000_rows_lose_rows_for_k_2(adult):
    table = census.adult(adult).slice(0, 1_000)
    recoding = {"Age": (TENS, 1), "Education-Num": (TENS, 1)}
    found = dp.anonymity.generalise(table, recoding, k=2)
    assert found.suppressed > 0
    assert found.k >= 2
    assert found.rows == found.table.num_rows + found.suppressed == 1_000


def _functions(case):
    """A hierarchy with its level, and the same as a plain function, for each quasi-identifier of a random table."""
    rules, functions = {}, {}
    for number, name in enumerate(case.quasi):
        kind = case.table.schema.field(name).type
        if pa.types.is_date(kind):
            rules[name], functions[name] = (H.dates("month", "year"), 2), lambda day: day and f"{day.year:04d}"
        elif pa.types.is_integer(kind):
            rules[name] = (H.digits(2), 1)
            functions[name] = lambda value: value if value is None else str(value // 10 * 10)
        elif pa.types.is_string(kind) and number == 0:
            rules[name] = (H.mask(length=4, align="right"), 1)
            functions[name] = lambda text: text if text is None else text[:-1] + "*"
        else:
            rules[name], functions[name] = 0, lambda value: value
    return rules, functions


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_recoding_agrees_with_plain_loops_on_random_tables(first):
    for index in range(first, first + 20):
        case = random_tables.case(index)
        rules, functions = _functions(case)
        k = 1 + index % 4
        others = [name for name in case.sensitive if name not in rules]
        found = dp.anonymity.generalise(
            case.table, rules | dict.fromkeys(others), k=None if k == 1 else k, person=case.person
        )
        plain, suppressed = plain_recoding.recode(case.rows, functions, others, k=k, person=case.person)
        published = Counter(tuple(map(brute.plain, row.values())) for row in found.table.to_pylist())
        assert published == Counter({tuple(map(brute.plain, row)): n for row, n in plain.items()}), index
        assert found.suppressed == suppressed
        assert found.k is None or found.k >= k


def test_people_are_counted_and_not_rows():
    table = pa.table({"who": ["a", "a", "a", "b", None, None], "age": [31, 32, 33, 41, 51, 52]})
    found = dp.anonymity.generalise(table, {"age": (TENS, 1)}, k=2, person="who")
    assert found.table.column_names == ["age"]
    # three rows of one person are one person; two rows without a person are two
    assert found.table["age"].to_pylist() == ["50", "50"]
    assert (found.rows, found.suppressed, found.k) == (6, 4, 2)


def test_columns_that_are_not_named_and_the_order_of_rows_are_not_published():
    people = {"name": ["Zoe", "Ann", "Bob"], "age": [52, 31, 38], "ward": ["x", "y", None]}
    recoding = {"age": (TENS, 1), "ward": None}
    found = dp.anonymity.generalise(pa.table(people), recoding)
    again = dp.anonymity.generalise(pa.table({name: cells[::-1] for name, cells in people.items()}), recoding)
    assert found.table.to_pylist() == [
        {"age": "30", "ward": "y"},
        {"age": "30", "ward": None},
        {"age": "50", "ward": "x"},
    ]
    assert found.table.equals(again.table)
    assert found.quasi == ("age",)
    assert found.left_out == ("name",)
    assert "columns left out: name" in str(found)


def test_dictionaries_and_metadata_of_the_source_do_not_travel():
    table = pa.table({"city": pa.array(["secret", "a", "a"]).dictionary_encode()}).slice(1)
    found = dp.anonymity.generalise(table.replace_schema_metadata({"pandas": "secret"}), {"city": 0})
    assert "secret" not in str(found.table.schema) + str(found.table["city"].chunks)


def test_top_and_bottom_clip_before_generalising():
    table = pa.table({"age": [3, 17, 45, 60, 99, None], "born": [dt.date(1900 + year, 1, 1) for year in range(6)]})
    found = dp.anonymity.generalise(
        table,
        {"age": (TENS, 1), "born": None},
        top={"age": 60, "born": dt.date(1903, 1, 1)},
        bottom={"age": 18},
    )
    assert found.table["age"].to_pylist() == ["10", "10", "40", "60", "60", None]
    assert max(found.table["born"].to_pylist()) == dt.date(1903, 1, 1)
    assert found.description == "age (level 1, bottom 18, top 60), born (top 1903-01-01)"


def test_level_0_keeps_the_type_and_the_highest_level_is_a_star():
    table = pa.table({"a": [1, 2], "b": [1.5, None]})
    found = dp.anonymity.generalise(table, {"a": (TENS, 0), "b": (TENS, 2)}, k=None)
    assert found.table.schema.field("a").type == pa.int64()
    assert found.table["b"].to_pylist() == ["*", "*"]


def test_cells_are_suppressed_before_rows():
    table = pa.table({"age": [30, 30, 30, 40], "sex": ["f", "f", "m", "m"]})
    rows = dp.anonymity.generalise(table, {"age": 0, "sex": 0}, k=2)
    assert (rows.suppressed, rows.suppressed_cells) == (2, 0)
    cells = dp.anonymity.generalise(table, {"age": 0, "sex": 0}, k=2, suppress_cells=True)
    assert (cells.suppressed, cells.suppressed_cells, cells.k) == (0, 2, 2)
    assert [tuple(row.values()) for row in cells.table.to_pylist()] == [("*", "m")] * 2 + [("30", "f")] * 2


def test_suppressed_cells_reach_k_on_random_tables():
    for index in range(60):
        case = random_tables.case(index)
        rows = dp.anonymity.generalise(case.table, dict.fromkeys(case.quasi, 0), k=3, person=case.person)
        cells = dp.anonymity.generalise(
            case.table, dict.fromkeys(case.quasi, 0), k=3, person=case.person, suppress_cells=True
        )
        assert cells.suppressed <= rows.suppressed
        assert cells.table.num_rows + cells.suppressed == case.table.num_rows
        assert cells.k is None or cells.k >= 3
        if case.person is None and cells.table.num_rows:
            sizes = plain_recoding.people_of_classes(cells.table.to_pylist(), case.quasi)
            assert min(sizes.values()) == cells.k


def test_the_recoding_that_a_search_finds_has_its_k_and_the_measures_agree(adult):
    columns = {"Age": H.intervals(5, 10, 20, 40), "Education-Num": H.intervals(2, 4, 8), "Sex": H.mask(length=6)}
    table = census.adult(adult)
    best = dp.anonymity.search(table, columns, k=5, suppression=Fraction(1, 100))
    found = dp.anonymity.generalise(table, best.recoding(columns), k=5)
    assert found.k >= 5
    assert found.suppressed <= table.num_rows // 100
    assert dp.anonymity.measure(found.table, list(columns)).k == found.k


def test_the_measures_of_random_results_agree():
    for index in range(0, 60, 3):
        case = random_tables.case(index)
        rules, _ = _functions(case)
        for options in ({}, {"suppress_cells": True}):
            found = dp.anonymity.generalise(case.table, rules, k=2, **options)
            if found.table.num_rows:
                assert dp.anonymity.measure(found.table, list(rules)).k == found.k


def test_the_result_prints_and_is_json_without_rows():
    found = dp.anonymity.generalise(pa.table({"age": [31]}), {"age": 0}, k=2)
    assert found.k is None
    assert "the result has no rows" in str(found)
    assert json.loads(json.dumps(found.to_json()))["figures"] == {
        "quasi": ["age"],
        "rows": 1,
        "suppressed": 1,
        "suppressed_cells": 0,
        "k": None,
        "l": None,
        "t": None,
        "left_out": [],
        "description": "age (level 0); k=2",
    }


def test_an_empty_table_has_an_empty_result():
    found = dp.anonymity.generalise(pa.table({"age": pa.array([], pa.int64())}), {"age": (TENS, 1)}, person=None)
    assert (found.rows, found.k, found.table.num_rows) == (0, None, 0)


@pytest.mark.parametrize("form", ["csv", "parquet", "sqlite", "duckdb"])
def test_files_and_databases_are_sources(form, tmp_path):
    table = pa.table({"age": [31, 38, 52], "who": ["a", "b", "b"]})
    path = tmp_path / f"people.{form}"
    if form == "csv":
        csv.write_csv(table, path)
    elif form == "parquet":
        parquet.write_table(table, path)
    elif form == "sqlite":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE people (age INTEGER, who TEXT)")
            connection.executemany("INSERT INTO people VALUES (?, ?)", [(31, "a"), (38, "b"), (52, "b")])
    else:
        with duckdb.connect(path) as connection:
            connection.register("frame", table)
            connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    named = {"table": "people"} if form in ("sqlite", "duckdb") else {}
    found = dp.anonymity.generalise(path, {"age": (TENS, 1)}, k=2, person="who", **named)
    assert found.table["age"].to_pylist() == ["30", "30"]


@pytest.mark.parametrize("kind", places.ENGINES)
def test_every_engine_gives_the_same_table(kind, tmp_path, request):
    for index in range(3):
        case = random_tables.case(index)
        rules, _ = _functions(case)
        options = {"k": 2, "person": case.person, "suppress_cells": index == 1}
        expected = dp.anonymity.generalise(case.table, rules | dict.fromkeys(case.sensitive), **options)
        placed = places.place_table(kind, case.table, tmp_path, request)
        found = dp.anonymity.generalise(
            placed["source"], rules | dict.fromkeys(case.sensitive), table=placed.get("table"), **options
        )
        assert found.table.equals(expected.table)
        assert str(found) == str(expected)


PEOPLE = pa.table({"who": ["a"], "age": [31], "city": ["x"]})


@pytest.mark.parametrize(
    ("recoding", "options", "error"),
    [
        ({}, {}, dp.errors.ParameterError),
        (["age"], {}, dp.errors.ParameterError),
        ({"age": 1}, {}, dp.errors.ParameterError),
        ({"age": True}, {}, dp.errors.ParameterError),
        ({"age": (TENS, -1)}, {}, dp.errors.ParameterError),
        ({"age": (TENS, 3)}, {}, dp.errors.ParameterError),
        ({"age": ("tens", 1)}, {}, dp.errors.ParameterError),
        ({"agee": 0}, {}, dp.errors.NameNotFoundError),
        ({"age": 0}, {"k": 0}, dp.errors.ParameterError),
        ({"age": 0}, {"person": "nobody"}, dp.errors.NameNotFoundError),
        ({"age": 0, "who": 0}, {"person": "who"}, dp.errors.ParameterError),
        ({"age": 0}, {"suppress_cells": True}, dp.errors.ParameterError),
        ({"age": 0}, {"top": {"city": 5}}, dp.errors.NameNotFoundError),
        ({"city": 0}, {"top": {"city": 5}}, dp.errors.TypeMismatchError),
        ({"age": 0}, {"top": {"age": 30.5}}, dp.errors.TypeMismatchError),
        ({"age": 0}, {"top": {"age": 2**70}}, dp.errors.TypeMismatchError),
        ({"age": 0}, {"top": {"age": 10}, "bottom": {"age": 20}}, dp.errors.ParameterError),
        ({"city": (TENS, 1)}, {}, dp.errors.TypeMismatchError),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(recoding, options, error):
    with pytest.raises(error):
        dp.anonymity.generalise(PEOPLE, recoding, **options)
