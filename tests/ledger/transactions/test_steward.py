"""The writes of a steward are single rows of the ledger's tables, and none of them is a write of a charge."""

import re

import pytest

from discreet.ledger.records.chain import Kind
from discreet.ledger.stores.schema import rights
from discreet.ledger.stores.schema.tables import columns
from discreet.ledger.transactions import steward

UPDATES = [each for each in steward.WRITES if each.update]


def test_every_write_has_a_name_of_its_own_and_is_listed():
    assert len({each.name for each in steward.WRITES}) == len(steward.WRITES)
    defined = [each for each in vars(steward).values() if isinstance(each, steward.StewardWrite)]
    assert {each.name for each in defined} == {each.name for each in steward.WRITES}


@pytest.mark.parametrize("write", UPDATES, ids=[each.name for each in UPDATES])
def test_an_update_is_of_one_row_found_by_its_key(write):
    assert write.update.startswith(f"UPDATE {write.table} SET ")
    changed, _, found = (
        write.update.partition("\nWHERE ") if "\nWHERE " in write.update else write.update.partition(" WHERE ")
    )
    assert set(re.findall(r"(\w+) = :", changed)) <= columns(write.table).keys()
    assert re.match(r"(name|dataset|id) = :", found)


def test_an_insertion_names_the_columns_that_it_is_given():
    values = {"alias": "persons", "dataset": "people"}
    assert steward.ADD_ALIAS.statement(values) == "INSERT INTO aliases (alias, dataset) VALUES (:alias, :dataset)"


def test_a_charge_and_its_outcome_are_no_events_of_the_steward():
    of_the_service = {Kind.RESERVED, Kind.RESUMED, Kind.ANSWERED, Kind.FORFEITED, Kind.REJECTED, Kind.PUBLISHED}
    assert of_the_service == set(Kind) - set(steward.EVENTS)


def test_no_column_that_the_service_changes_is_a_limit():
    changed = {name for names in rights.CHANGED.values() for name in names}
    assert not any(
        re.match(r"cap_|floor_|quota|most_|is_own|renyi_order|cleared|epsilon|delta", name) for name in changed
    )
