"""In-memory tables whose types were inferred: every stored form of a value reads as its plain text does."""

import datetime as dt
import enum
import io
import re
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.catalog.catalog import ColumnType
from discreet.engines import source_of
from discreet.engines.sources import inferred
from discreet.engines.sql.dialect import StorageType
from discreet.errors import ParameterError, SourceError

CONNECTION = duckdb.connect(config={"threads": 1})
TEXTS = [
    "true", "tRuE", "T", "f", "yes", "No", "y", "n", "1", "0", "0x1F", "0X1f", "0b11", "0xFFFFFFFFFFFFFFFF", "-0x1F",
    "1_000", "+5", "-0", "-0.0", " 5", "5 ", "\t5", "5.", ".5", "1e5", "1E+5", "1e400", "1e-400", "inf", "-Infinity",
    "nan", "NA", "null", "None", "n/a", "", "#N/A", "01001", "1001.0", "1001.50", "9007199254740991",
    "9007199254740992", "9007199254740993", "9223372036854775808", "1" * 30, "1" * 400, "2020-01-01",
    "2020-01-01 10:00:00", "13/02/2020", "1.2.2020", "10:30", "epoch", "12020-01-01", "2020-W01", "123-45-6789",
    "18-24", "1,5", "4503599627370497", "0.49999999999999994", "123456789012345.6", "1e-5", "M", "Ward A", " x ",
    "a{b}'c", "\u0663", "1d", "1_000.5", "nan(1)", "ABCDEF01-2345-6789-abcd-ef0123456789",
]  # fmt: skip


def read(stored, declared, cells, kind):
    template = inferred.READS[stored, declared].format("v")
    CONNECTION.register("frame", pa.table({"v": pa.array(cells, kind)}))
    return [row[0] for row in CONNECTION.execute(f"SELECT {template} FROM frame").fetchall()]


def test_text_of_a_frame_and_declared_keys_have_one_canonical_form():
    read_by_engine = read(StorageType.TEXT, ColumnType.TEXT, TEXTS, pa.string())
    assert read_by_engine == [inferred.canonical_text(text) for text in TEXTS]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.from_regex(r"\A ?[+-]?[0-9]{0,18}[.]?[0-9]{0,18}(e[+-]?[0-9]{1,3})? ?\Z"), min_size=1, max_size=20))
def test_any_spelling_of_a_number_has_one_canonical_form(texts):
    canonical = [inferred.canonical_text(text) for text in texts]
    assert read(StorageType.TEXT, ColumnType.TEXT, texts, pa.string()) == canonical
    assert [each and inferred.canonical_text(each) for each in canonical] == canonical


@pytest.mark.parametrize("declared", inferred.SCALARS)
@pytest.mark.parametrize(
    ("stored", "kind", "of_text"),
    [
        (StorageType.INTEGER, pa.int64(), int),
        (StorageType.REAL, pa.float64(), float),
        (StorageType.WIDE, pa.decimal128(38, 0), int),
        (StorageType.DECIMAL, pa.decimal128(38, 10), Decimal),
        (
            StorageType.BOOLEAN,
            pa.bool_(),
            {"true": True, "tRuE": True, "T": True, "f": False, "yes": True, "No": False}.get,
        ),
    ],
)
def test_every_stored_form_reads_as_the_plain_text(stored, kind, of_text, declared):
    pairs = []
    for text in TEXTS:
        try:
            value = of_text(text)
            pa.array([value], kind)
        except (ValueError, ArithmeticError, pa.ArrowException):
            continue
        is_spelled = kind == pa.bool_() or re.fullmatch(inferred.NUMBER, text.strip())  # Python also reads 1_000
        if value is not None and is_spelled:
            pairs.append((text, value))
    assert len(pairs) >= 6
    forms = read(stored, declared, [value for _, value in pairs], kind)
    assert forms == read(StorageType.TEXT, declared, [text for text, _ in pairs], pa.string())


def test_booleans_that_pyarrow_makes_of_ones_beside_true_read_as_the_ones_do():
    assert read(StorageType.BOOLEAN, ColumnType.TEXT, [True, False], pa.bool_()) == ["1", "0"]
    assert read(StorageType.TEXT, ColumnType.TEXT, ["1", "0"], pa.string()) == ["1", "0"]


def protected(frame, types, **more):
    words = {"name": "t", "privacy_unit": "id", "max_rows": 1, "budget": dp.Budget(epsilon=9), "types": types}
    return dp.testing.protect(frame, **(words | more))


@pytest.mark.parametrize("kind", ["date", "timestamp", "document", "binary"])
@pytest.mark.parametrize("cells", [["2020-01-01"], [dt.date(2020, 1, 1)], [None], [7]])
def test_types_whose_format_readers_guess_are_refused_whatever_the_frame_holds(kind, cells):
    session = protected(pa.table({"id": ["a"], "v": cells}), {"id": "text", "v": kind})
    assert session.release(dp.table("t").agg(n=dp.count()), epsilon=1).value() == 1
    with pytest.raises(SourceError, match="column 'v' of 't', an in-memory table"):
        session.release(dp.table("t").where(dp.table("t").v.is_present()).agg(n=dp.count()), epsilon=1)
    assert session.remaining().epsilon == 8


def test_a_release_prints_keys_as_they_were_declared():
    frame = pd.DataFrame({"id": ["a", "b", "c"], "zip": [1001, 1002, None]})
    session = protected(frame, {"id": "text", "zip": "text"})
    query = dp.table("t").group_by("zip", keys={"zip": ["01001", "01002", None]}).agg(n=dp.count())
    assert session.release(query, epsilon=1).to_arrow().select(["zip", "n"]).to_pylist() == [
        {"zip": "01001", "n": 1},
        {"zip": "01002", "n": 1},
        {"zip": None, "n": 1},
    ]


def test_constants_are_normalised_as_the_cells_are():
    table, session = (
        dp.table("t"),
        protected(pd.DataFrame({"id": list("abc"), "zip": [1001, 1001, 7]}), {"zip": "text"}),
    )
    for condition, count in (
        (table.zip == "01001", 2),
        (table.zip.is_in(["1001.0", "x"]), 2),
        (table.zip != "01001", 1),
        (~(table.zip == "07"), 2),
    ):
        assert session.release(table.where(condition).agg(n=dp.count()), epsilon=1).value() == count


def test_keys_that_readers_do_not_tell_apart_are_refused_before_the_charge():
    table, session = dp.table("t"), protected(pa.table({"id": ["a"], "zip": ["x"]}), {"zip": "text"})
    for keys, words in (
        (["01", "1"], "'01'.* and .*'1'"),
        (["2020-01-01"], "read such cells as missing"),
        (["NA"], "missing"),
    ):
        with pytest.raises(ParameterError, match=words):
            session.release(table.group_by("zip", keys={"zip": keys}).agg(n=dp.count()), epsilon=1)
    assert session.remaining().epsilon == 9


def test_constants_whose_cells_always_read_as_missing_are_refused_before_the_charge():
    table, session = dp.table("t"), protected(pa.table({"id": [1], "zip": ["x"]}), {"id": "integer", "zip": "text"})
    for condition in (
        table.id == 2**53,
        table.id.is_in([1, 10**17]),
        table.zip == "9007199254740993",
        table.zip.cast("date") >= "1950-06-01",
    ):
        with pytest.raises(ParameterError, match="may have read such cells as missing"):
            session.release(table.where(condition).agg(n=dp.count()), epsilon=1)
    assert session.remaining().epsilon == 9


def test_a_declared_column_that_nobody_has_is_missing():
    one = protected(pa.Table.from_pylist([{"id": "a"}]), {"id": "text", "score": "integer"})
    two = protected(pa.Table.from_pylist([{"id": "b", "score": 7}, {"id": "a"}]), {"id": "text", "score": "integer"})
    query = dp.table("t").where(dp.table("t").score.is_present()).agg(n=dp.count())
    assert [session.release(query, epsilon=1).value() for session in (one, two)] == [0, 1]


def test_nested_cells_are_missing_whether_or_not_all_of_them_are():
    for cells in ([[1], [2]], [None, None]):
        session = protected(pa.table({"id": ["a", "b"], "v": cells}), {"id": "text", "v": "integer"})
        query = dp.table("t").where(dp.table("t").v.is_present()).agg(n=dp.count())
        assert session.release(query, epsilon=1).value() == 0


def test_a_fixed_schema_keeps_64_bits_text_and_times_as_stored():
    frame = pa.table({"id": [2**60, 2**60 + 1], "zip": ["01", "1"], "seen": pa.array([0, 1], pa.timestamp("us"))})
    types = {"id": "integer", "zip": "text", "seen": "timestamp"}
    session = protected(frame, types, fixed_schema=True)
    query = dp.table("t").group_by("zip", keys={"zip": ["01", "1"]}).agg(n=dp.count_units())
    assert session.release(query, epsilon=1).to_arrow().column("n").to_pylist() == [1, 1]


def test_the_statement_is_recorded_with_the_registration():
    session = protected(pa.table({"id": ["a"]}), {"id": "text"}, fixed_schema=True)
    assert '"fixed_schema":true' in session.ledger.registration("t").facts


def test_a_text_column_of_a_typed_public_table_joins_an_inferred_one(tmp_path):
    (tmp_path / "areas.csv").write_text("zip,area\n01001,north\n01002,south\n")
    catalog = dp.Catalog.parse(f"""
catalog: discreet.catalog/1
tables:
  t: {{privacy_unit: id, max_rows: 1, budget: {{epsilon: 9}}, columns: {{id: {{type: text}}, zip: {{type: text}}}}}}
  areas: {{public: true, source: {tmp_path}/areas.csv, columns: {{zip: {{type: text}}, area: {{type: text}}}}}}
""")
    frame = pd.DataFrame({"id": ["a", "b", "c"], "zip": [1001, 1001, 1002]})
    session = dp.testing.Session(catalog, sources={"t": frame})
    joined = dp.table("t").join(dp.table("areas"), on="zip")
    query = joined.group_by("area", keys={"area": ["north", "south"]}).agg(n=dp.count())
    assert session.release(query, epsilon=1).to_arrow().column("n").to_pylist() == [2, 1]


def test_reals_that_readers_print_with_17_digits_keep_15_of_them():
    cells = np.array([0.1 + 0.2, 1 / 3, 2.675])
    as_text = [repr(float(cell)) for cell in cells]
    assert read(StorageType.REAL, ColumnType.REAL, list(cells), pa.float64()) == [0.3, 0.333333333333333, 2.675]
    assert read(StorageType.TEXT, ColumnType.REAL, as_text, pa.string()) == [0.3, 0.333333333333333, 2.675]


def test_direct_use_of_an_engine_reads_a_frame_as_it_is_stored():
    assert not source_of(pa.table({"id": [1]})).is_inferred


@pytest.mark.pitfall("A23")
@pytest.mark.parametrize(
    ("cell", "text"),
    [(np.float32(0.35), "0.3499999940395355"), (enum.IntEnum("Code", {"FIVE": 5}).FIVE, "5"), (np.int8(7), "7")],
)
def test_numbers_of_other_classes_beside_text_read_as_in_a_column_of_numbers(cell, text):
    """pandas holds a column of them as numbers, until one cell of text makes it a column of objects."""
    frame = source_of(pd.DataFrame({"v": pd.Series([cell, "x"], dtype=object)})).frame
    assert frame.column("v").to_pylist() == [text.encode(), b"x"]


@pytest.mark.pitfall("A24")
def test_a_pandas_frame_whose_index_holds_values_is_refused_with_its_columns():
    """pandas takes the first column of all rows for the index where the first line has one field too many."""
    with pytest.raises(SourceError, match="index holds values") as caught:
        source_of(pd.read_csv(io.StringIO("id,v\nzoe,1,\na,2\n")))
    assert "frame.reset_index()" in caught.value.instead
    assert source_of(pd.DataFrame({"v": [1, 2, 3]})[lambda frame: frame.v > 1]).columns == ("v",)


@pytest.mark.pitfall("A23")
def test_a_cell_of_42_digits_changes_no_other_cell_of_a_csv_file_that_duckdb_reads(tmp_path):
    """DuckDB stores such a column as integers of any length, which Arrow has no type for."""
    cells = ["9", "-9", "0", "-99999", "256", "", "1"]
    path = tmp_path / "v.csv"
    path.write_text("\n".join(["v", *cells, "9" * 42, "-" + "9" * 42, "9" * 400, ""]))
    relation = duckdb.connect().sql(
        f"SELECT * FROM read_csv('{path}', sample_size = -1, delim = ',', null_padding = true)"
    )
    assert relation.types == ["BIGNUM"]
    expected = [*(cell or None for cell in cells), "9" * 42, "-" + "9" * 42, "1e999"]
    for frame in (relation.to_arrow_table(), relation.pl().to_arrow()):
        assert inferred.declared_columns(frame, ["v"])["v"].to_pylist() == expected


def test_constants_of_a_case_of_a_column_are_normalised_as_its_cells_are():
    table = dp.table("t")
    session = protected(pd.DataFrame({"id": list("abc"), "zip": [1001, None, 7]}), {"id": "text", "zip": "text"})
    filled = table.derive(z=table.zip.fill_missing("01001"))
    query = filled.group_by("z", keys={"z": ["01001", "07"]}).agg(n=dp.count())
    assert session.release(query, epsilon=1).to_arrow().column("n").to_pylist() == [2, 1]
    equal = table.where(table.zip.fill_missing("01001") == "1001.0").agg(n=dp.count())
    assert session.release(equal, epsilon=1).value() == 2
    with pytest.raises(ParameterError, match="may have read such cells as missing"):
        session.release(table.where(table.zip.fill_missing("x").cast("date").is_missing()).agg(n=dp.count()), epsilon=1)


@pytest.mark.parametrize("call", ["starts_with", "ends_with", "contains"])
def test_a_match_with_part_of_a_number_is_refused_because_zeros_may_be_gone(call):
    table = dp.table("t")
    frame = pa.table({"id": ["a", "b"], "code": ["E11.9", "01001"]})
    session = protected(frame, {"id": "text", "code": "text"})
    for text in ("0", "010", "-1.", " 7"):
        with pytest.raises(ParameterError, match="no zeros in front"):
            session.release(table.where(getattr(table.code, call)(text)).agg(n=dp.count()), epsilon=1)
    assert session.remaining().epsilon == 9
    named = session.release(table.where(table.code.starts_with("E11")).agg(n=dp.count()), epsilon=1)
    assert named.value() == 1
    declared = protected(frame, {"id": "text", "code": "text"}, fixed_schema=True)
    exact = declared.release(table.where(table.code.starts_with("010")).agg(n=dp.count()), epsilon=1)
    assert exact.value() == 1
