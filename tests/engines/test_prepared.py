"""Tables of public keys have the number of each key, in the order of the answer."""

from discreet.catalog.catalog import ColumnType
from discreet.engines.prepared import compile_error, keys_table
from discreet.plan.physical import Keys, Read


def test_a_table_of_keys_numbers_them_in_the_order_of_the_answer():
    keys = Keys((Read("ward", ColumnType.TEXT),), (("b",), ("a",), (None,)))
    assert keys_table(keys).to_pydict() == {"discreet_key": [0, 1, 2], "k0": ["b", "a", None]}


def test_the_error_of_sql_that_does_not_compile_names_the_engine():
    assert "a query that sqlite cannot compile" in str(compile_error("sqlite"))
