"""Codes of values are alike in all batches."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.anonymity.classes import encoding
from discreet.anonymity.classes.encoding import encode_groups, null_code, ranks


def _batches(*columns: list[str | None]) -> list[pa.RecordBatch]:
    return [pa.record_batch({"word": pa.array(each, pa.string()), "n": [1] * len(each)}) for each in columns]


@pytest.mark.parametrize("together", [1, 3, 2**20])
def test_a_value_has_one_code_in_all_batches(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_TOGETHER", together)
    cells: list[list[str | None]] = [["a", None], ["b", "a", "A"], [None, "c", "b"]]
    found = encode_groups(_batches(*cells), ["word"])
    values = found.values["word"]
    assert [values[int(code)].as_py() for code in found.codes["word"]] == [cell for each in cells for cell in each]
    assert len(values) == len(set(values.to_pylist())) == 5
    assert found.codes["word"].dtype == np.int32


def test_groups_without_a_batch_have_no_codes() -> None:
    found = encode_groups([], ["word"])
    assert len(found.codes["word"]) == len(found.counts) == 0


def test_a_missing_cell_has_a_code_and_the_last_rank() -> None:
    values = pa.array([3, None, 1])
    assert null_code(values) == 1
    assert null_code(pa.array([1, 2])) is None
    assert ranks(values).tolist() == [1, 2, 0]


def test_a_column_with_the_name_of_the_count_is_read_by_its_place() -> None:
    schema = pa.schema([("discreet_count", pa.int64()), ("discreet_count", pa.int64())])
    batch = pa.RecordBatch.from_arrays([pa.array([7, 8]), pa.array([1, 1])], schema=schema)
    found = encode_groups([batch], ["discreet_count"])
    assert (found.values["discreet_count"].to_pylist(), found.counts.tolist()) == ([7, 8], [1, 1])
