"""What is refused is described once, in terms of columns that are there; `test_postgres_functions` tries each rule."""

import re

import pytest

from discreet.ledger.stores.schema import rights, rules
from discreet.ledger.stores.schema.tables import TABLES, columns

EVERY = (*rules.APPEND_ONLY, *rules.WRITTEN_ONCE, *rules.RULES, *rights.RULES)


def test_every_rule_has_a_name_of_its_own():
    assert len({rule.name for rule in EVERY}) == len(EVERY)


@pytest.mark.parametrize("rule", EVERY, ids=[rule.name for rule in EVERY])
def test_a_rule_speaks_of_columns_that_its_table_has(rule):
    spoken_of = {*re.findall(r"\b(?:NEW|OLD)\.(\w+)", rule.when), *rule.columns}
    assert spoken_of <= columns(rule.table).keys()


@pytest.mark.parametrize("rule", EVERY, ids=[rule.name for rule in EVERY])
def test_a_rule_looks_at_rows_that_its_act_has(rule):
    """An insertion has no OLD row, a deletion no NEW one; PostgreSQL would fail only when the rule is evaluated."""
    assert not (rule.act == "INSERT" and "OLD." in rule.when)
    assert not (rule.act == "DELETE" and "NEW." in rule.when)


def test_no_row_of_any_table_is_deleted_and_records_never_change():
    assert {rule.table for rule in rules.APPEND_ONLY if rule.act == "DELETE"} == TABLES.keys()
    assert {rule.table for rule in rules.APPEND_ONLY if rule.act == "UPDATE"} == set(rules.FROZEN)
    assert not any(rule.when for rule in rules.APPEND_ONLY)
