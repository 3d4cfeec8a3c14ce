"""What a cell says does not depend on the type that a reader inferred for its column from the cells of other people."""

import io
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.engines.sources.inferred import canonical_text
from discreet.learning.core.cells import label_text, numbers, readable_name, slots_by_name, texts
from discreet.learning.tables import class_numbers, encode_table, open_cells, open_table, person_numbers

_LISTED = """
1 0 2 -3 007 00501 501 501.0 5e2 1.0 2.50 0.1 0.30000000000000004 .5 1e-7 123456789.123456 1e22 1e200 1e400 -0.0 -5 +7
true false True FALSE yes no t F unknown Ward-A abc N-1 HIV+ ? a0 x1f 0x1F 0b11 1_000 9007199254740991 9007199254740993
1152921504606846977 18446744073709551615 18446744073709551616 123456789012345678901234567890 NA n/a null None nan inf
-Infinity 2019-04-14 2019-04-14T10:00:00 01/02/2020 13/02/2020 10:30 10:30:00 275760-01-01
123E4567-e89b-12d3-a456-426614174000 1.7976931348623157e308
"""
CELLS = [*_LISTED.split(), "", " 5", "6 ", " abc", "\u00e9", '"501"']
OTHERS = ["", "abc", "unknown", "1.5", "7", "true", "-5", "18446744073709551616", "2019-04-14", "10:30", "0x1F", "NA"]
FEATURES = (
    dp.learning.linear_bins(-10, 1_000, 64),
    dp.learning.edges([0.1, 0.3, 0.5, 1, 2.5]),
    dp.learning.categories([501, 544, 7, 1, 0, "Ward-A", "2.5", "0.1", "abc", "?", "31", "1000", "0.3"]),
    dp.learning.categories([True, False]),
    dp.learning.categories(["yes", "no", "00501", "HIV+", "unknown", "9007199254740991"]),
)


def csv_bytes(cells):
    return ("c,k\n" + "".join(f"{cell},0\n" for cell in cells)).encode()


def by_pandas(data):
    return pd.read_csv(io.BytesIO(data))


def by_arrow(data):
    return pyarrow.csv.read_csv(io.BytesIO(data))


def by_polars(data):
    return pl.read_csv(io.BytesIO(data), infer_schema_length=None)


READERS = (by_pandas, by_arrow, by_polars)


def readings(table, count):
    """All that the first cells contribute: slots, classes, targets, and who is the same person as whom."""
    cells = open_cells(table["c"], "groups")
    view = open_table(table)
    slots = [encode_table(view, [0], [feature])[:count, 0].tolist() for feature in FEATURES]
    people = person_numbers(cells)[:count].tolist()
    same = [people.index(person) if person >= 0 else -1 for person in people]
    classes = class_numbers(cells, ["no", "yes", "Ward-A", 7])[:count].tolist()
    return slots, same, classes, np.nan_to_num(numbers(cells)[:count], nan=-9.75).tolist()


@pytest.mark.guarantee("learning.core.training")
@pytest.mark.parametrize("reader", READERS)
def test_one_more_line_of_a_file_does_not_change_what_other_lines_contribute(reader):
    for cell in CELLS:
        without = readings(reader(csv_bytes([cell, cell])), 2)
        for other in OTHERS:
            assert readings(reader(csv_bytes([cell, cell, other])), 2) == without, (cell, other)


@pytest.mark.guarantee("learning.core.training")
@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(body=st.lists(st.sampled_from(CELLS), min_size=1, max_size=6), other=st.sampled_from(CELLS))
def test_one_more_line_of_a_mixed_file_does_not_change_other_lines(reader, body, other):
    rows = readings(reader(csv_bytes(body)), len(body))
    assert readings(reader(csv_bytes([*body, other])), len(body)) == rows


@pytest.mark.guarantee("learning.core.training")
@pytest.mark.parametrize("other", ["", "-5", "abc", "1.5"])
@pytest.mark.parametrize("reader", READERS)
def test_ids_beyond_what_floats_hold_name_nobody_in_every_file(reader, other):
    body = [str(2**60 + i) for i in range(50)]
    for rows in (body, [*body, other]):
        assert (person_numbers(open_cells(reader(csv_bytes(rows))["c"], "groups"))[:50] == -1).all()


def test_bytes_that_are_not_text_do_not_change_other_cells():
    data = csv_bytes(["a", "501", "b"])
    with_her = by_arrow(data + b"\xff,0\n")
    assert with_her.schema.field("c").type == pa.binary()
    assert readings(with_her, 3) == readings(by_arrow(data), 3)
    assert texts(with_her["c"]).to_pylist() == ["a", "501", "b", None]


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([10**8], pa.date32()),
        pa.array([10**18], pa.date64()),
        pa.array([10**12], pa.timestamp("s")),
        pa.array([10**16], pa.timestamp("s", "UTC")),
        pa.array([10**16], pa.duration("s")),
        pa.array([1], pa.time32("s")),
        pa.array([b"\xff"]).view(pa.string()),
        pa.array([b"\xff"], pa.large_binary()).view(pa.large_string()),
        pa.array([[1]]),
        pa.array([{"a": 1}]),
        pa.nulls(1),
        np.array(["2020-01-01"], dtype="datetime64[ns]"),
        np.array([object()]),
        np.array([10**5_000], dtype=object),
        pd.Series([pd.Timestamp("2020-01-01")]),
        pd.Series([pd.NaT], dtype=object),
        pl.Series([object()], dtype=pl.Object),
    ],
)
def test_a_cell_without_a_reading_is_missing(cells):
    assert texts(cells).to_pylist() == [None]
    assert np.isnan(numbers(cells)).all()
    assert slots_by_name(cells, ["a", "1"]).tolist() == [-1]
    assert person_numbers(cells).tolist() == [-1]


def test_chunks_with_dictionaries_of_their_own_are_read():
    first = pa.DictionaryArray.from_arrays(pa.array(range(128), pa.int8()), pa.array([f"v{i}" for i in range(128)]))
    second = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array(["new"]))
    assert texts(pa.chunked_array([first, second])).to_pylist()[-2:] == ["v127", "new"]


def test_short_cuts_give_the_canonical_form():
    plain = ["p1042", "e5", "inf1", "t1", "nan0", "x1F", "A01", "0", "7", "123456789012345", "na1", "epoch2"]
    assert texts(pa.array(plain)).to_pylist() == [canonical_text(text) for text in plain]


def test_every_stored_form_of_a_number_is_that_number():
    forms = [1, 1.0, True, "1", "1.0", "01", "true", Decimal("1.00"), np.float32(1), b"1"]
    assert set(texts(forms).to_pylist()) == {"1"}
    assert set(numbers(forms).tolist()) == {1.0}
    assert texts(pa.array([Decimal("1.00")])).to_pylist() == ["1"]
    assert texts(np.array([1], dtype=">i4")).to_pylist() == ["1"]


def test_reals_have_fifteen_digits():
    cells = np.array([0.1 + 0.2, math.nextafter(999.999999999999, 0), 1e-30 / 3, 2.0**60, 1e151, 1e-200, 5e-324])
    expected = [0.3, 999.999999999999, 3.33333333333333e-31, 1.15292150460685e18, math.nan, 0.0, 0.0]
    assert np.array_equal(numbers(cells), expected, equal_nan=True)
    spread = np.random.default_rng(5).normal(size=2_000) * 10.0 ** np.random.default_rng(6).integers(-40, 10, 2_000)
    found = numbers(spread)
    assert np.allclose(found, spread, rtol=1e-14, atol=0)
    assert [float(f"{value:.14e}") for value in found.tolist()] == found.tolist()


def test_names_of_declared_types_stay_where_readers_would_lose_them():
    cells = pa.array(["none", "2019-04-14", "01", None])
    assert texts(cells, has_declared_types=True).to_pylist() == ["none", "2019-04-14", "1", None]
    assert texts(pa.array([2**60]), has_declared_types=True).to_pylist() == [str(2**60)]
    assert slots_by_name(pa.array([18_000], pa.date32()), ["2019-04-14"]).tolist() == [0]
    assert [readable_name(value) for value in ("none", "2019-04-14", 2**60, "a", 7, True)] == [False] * 3 + [True] * 3
    assert label_text(object()) is None
    assert label_text("yes") == label_text(True) == "1"
