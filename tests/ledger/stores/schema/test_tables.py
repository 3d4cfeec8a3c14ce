"""The schema of each store as SQL, which is what a reviewer reads.

After a deliberate change, write the golden files anew and look at the difference:

    python tests/ledger/stores/schema/test_tables.py

The text of a store's schema changes only together with its version: `verify` compares ledgers with it.
"""

from pathlib import Path

import pytest

from discreet.ledger.stores import postgres_functions, postgres_schema, sqlite_schema
from discreet.ledger.stores.schema.tables import TABLES, columns, primary_key, required

GOLDEN = Path(__file__).parents[3] / "golden" / "ledger"
RENDERED = {
    f"schema-{sqlite_schema.VERSION}.sqlite.sql": sqlite_schema.STATEMENTS,
    f"schema-{postgres_schema.VERSION}.postgres.sql": (
        *postgres_schema.tables_and_indexes(),
        *(each.create_statement for each in (*postgres_functions.functions(), *postgres_functions.triggers())),
    ),
}


@pytest.mark.parametrize("name", RENDERED)
def test_the_schema_of_a_store_is_the_golden_one(name):
    assert (GOLDEN / name).read_text(encoding="utf-8") == _text(name)


def test_there_is_no_golden_schema_of_another_version():
    assert {each.name for each in GOLDEN.glob("schema-*.sql")} == RENDERED.keys()


def test_a_column_has_one_type_in_all_tables_so_that_a_value_is_bound_alike_everywhere():
    kinds: dict[str, set[str]] = {}
    for table in TABLES:
        for name, kind in columns(table).items():
            kinds.setdefault(name, set()).add(kind.removesuffix(' COLLATE "C"'))
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}


def test_every_line_of_a_table_is_a_column_or_a_constraint():
    for table, body in TABLES.items():
        first_words = {line.split()[0] for line in body.splitlines() if line.startswith("  ") and line[2] not in " )"}
        assert first_words - {"PRIMARY", "CONSTRAINT", "FOREIGN", "kind"} <= set(columns(table)), table
        assert required(table) <= set(columns(table))


def test_each_table_has_a_primary_key_of_its_own_columns_which_are_never_null():
    for table in TABLES:
        assert primary_key(table), table
        assert set(primary_key(table)) <= required(table), table
    assert primary_key("ledger") == ("id",)
    assert primary_key("answers") == ("dataset", "reservation")


def _text(name: str) -> str:
    return "".join(f"{statement};\n\n" for statement in RENDERED[name])


if __name__ == "__main__":
    for each in RENDERED:
        (GOLDEN / each).write_text(_text(each), encoding="utf-8")
