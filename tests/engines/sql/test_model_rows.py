"""The person of each row is known by all columns of the unit, and texts by their declared spelling."""

import pyarrow as pa

from discreet.engines.sql.blocks import LONG_NAME
from discreet.engines.sql.model_rows import encode_block, pack_block, people_in_rows


def test_rows_of_a_unit_have_one_number_by_all_its_columns():
    columns = [pa.chunked_array([["a", "b"], ["a", "a"]]), pa.chunked_array([[1, 1, 1, 2]])]
    first, second, third, fourth = people_in_rows(columns, 4).tolist()
    assert first == third
    assert len({first, second, fourth}) == 3


def test_rows_of_which_a_part_of_the_unit_is_missing_are_one_person():
    columns = [pa.chunked_array([["a", None, "b", None]]), pa.chunked_array([[1, 1, None, None]])]
    first, *others = people_in_rows(columns, 4).tolist()
    assert len(set(others)) == 1
    assert first not in others


def test_rows_of_nobody_have_no_person():
    assert len(people_in_rows([pa.chunked_array([[]], pa.string())], 0)) == 0


class Seen:
    """A training that shows what it was given."""

    def encode(self, rows, people, names):
        return rows, people, names

    def pack(self, block):
        return block


ROWS = pa.table({"unit": ["a", "b", "a"], "sex": ["f", "M", "x"]})


def test_a_model_reads_rows_without_names_and_texts_as_they_are_declared():
    rows, people, names = encode_block(Seen(), ["unit"], {"sex": {"f": "F", "M": "M"}}, ROWS)
    assert rows.to_pydict() == {"sex": ["F", "M", None]}
    assert people[0] == people[2] != people[1]
    assert names.column_names == ["unit"]


def test_rows_that_are_units_have_neither_people_nor_names():
    _, people, names = encode_block(Seen(), [], {}, ROWS)
    assert people is None
    assert names is None


def test_blocks_that_stay_in_a_cluster_have_digests_for_long_names():
    long = pa.table({"unit": ["a" * (LONG_NAME + 1), "b" * LONG_NAME, None], "sex": ["F", "M", "long"]})
    rows, _, names = pack_block({"sex": 1}, Seen(), ["unit"], {}, long)
    first, second, third = names.column("unit").to_pylist()
    assert len(first) == 192
    assert (second, third) == ("b" * LONG_NAME, None)
    assert rows.column("sex").to_pylist() == ["F", "M", None]


def test_texts_of_more_bytes_than_an_array_can_have_are_packed():
    """Seventeen cells of 2^27 bytes: 2^31 bytes are more than the offsets of 32 bits that Spark's texts have."""
    cell = pa.array(["z" * 2**27])
    long = pa.table({"unit": pa.chunked_array([cell] * 17), "sex": pa.chunked_array([cell] * 17)})
    rows, people, _ = pack_block({"sex": 1}, Seen(), ["unit"], {}, long)
    assert rows.column("sex").null_count == 17
    assert len(set(people.tolist())) == 1
