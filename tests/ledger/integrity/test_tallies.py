"""What tallies keep is plain data, from which they go on as if they had never stopped.

What each of them finds is in test_verification.py and test_checkpoints.py, where every kind of damage is tried.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from discreet.accounting.filters import Budget
from discreet.ledger.integrity import tallies
from discreet.ledger.integrity.dataset_check import _TALLIES
from discreet.ledger.integrity.evidence import is_intact
from discreet.ledger.integrity.recovery import dataset_rows
from discreet.ledger.integrity.tallies import BudgetTally, PriceTally, latest_declaration
from discreet.ledger.records.account import account_of
from discreet.ledger.records.chain import Kind, columns_of
from tampering import tampering


@pytest.fixture
def held(visits, dataset, charge):
    """Rows of a dataset with every kind of declaration."""
    visits.register(dataset(budget=Budget(epsilon=2)))
    visits.register(dataset(version=2, source="visits-2.csv", budget=Budget(epsilon=2)))
    visits.rename("visits", "stays", reason="a test")
    visits.set_quota("visits", "bob", failures=3, reason="a test")
    charge(visits, epsilon=0.1)
    visits.set_cap("visits", Budget(epsilon=3, delta=1e-9), reason="a test")
    charge(visits, epsilon=0.1, analyst="bob")
    return visits._look(lambda writer: dataset_rows(writer, "visits"))


@pytest.mark.parametrize("name", _TALLIES)
def test_a_tally_that_is_written_and_read_after_any_event_ends_as_one_that_was_not(held, name):
    tables = held.read(0, frozenset()).ending.tables
    whole = _TALLIES[name]()
    for row in held.events:
        whole.add(row, is_intact=is_intact(row))
    assert list(whole.findings("visits", tables)) == []
    for place in range(len(held.events)):
        tally = _TALLIES[name]()
        for number, row in enumerate(held.events):
            if number == place:
                tally = _TALLIES[name].from_data(json.loads(json.dumps(tally.to_data())))
            tally.add(row, is_intact=is_intact(row))
        assert tally.to_data() == whole.to_data()
        assert list(tally.findings("visits", tables)) == []


def test_the_words_of_a_changed_event_are_not_believed(held):
    promise = BudgetTally()
    for row in held.events:
        promise.add(row, is_intact=row["kind"] != "CAPPED")
    assert promise.declaration()["budget"]["epsilon"] == "2/1"
    assert BudgetTally().declaration() == {}


def test_a_change_declares_what_is_new():
    assert latest_declaration('{"old":{"a":1},"new":{"a":2}}') == {"a": 2}
    assert latest_declaration('{"a":1}') == {"a": 1}


@pytest.fixture
def capped(ledger, dataset, charge):
    """Events of a dataset whose budget was corrected, then replaced after charges, at an order each."""
    ledger.register(dataset(budget=Budget(epsilon=3, delta=1e-9)))
    ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-9)))
    for _ in range(2):
        charge(ledger)
    ledger.set_cap("visits", Budget(epsilon=2, delta=1e-9), reason="a test")
    charge(ledger)
    ledger.set_cap("visits", Budget(epsilon=1, delta=1e-9), reason="a test")
    return ledger._look(lambda writer: dataset_rows(writer, "visits")).events


def _found(tally: tallies.Tally, rows: list[dict[str, object]], changed: tuple[int, ...] = ()) -> list[str]:
    for row in rows:
        tally.add(row, is_intact=row["sequence"] not in changed)
    return [f"{what} {place}" for what, place, _ in tally.found]


def _said(
    rows: list[dict[str, object]], place: int, change: Callable[[dict[str, Any]], object]
) -> list[dict[str, object]]:
    """The events, of which one says something else."""
    detail = json.loads(rows[place - 1]["detail"])
    change(detail)
    return [row | {"detail": json.dumps(detail)} if row["sequence"] == place else row for row in rows]


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("place", [2, 5, 7])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_caps_above_those_of_the_budget_that_an_event_declares_are_found(capped, place, part):
    def raise_cap(detail):
        detail["new"]["caps"][part] += 1

    assert f"the caps that it declares are above those of its budget {place}" in _found(
        BudgetTally(), _said(capped, place, raise_cap)
    )


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("place", [2, 5, 7])
@pytest.mark.parametrize(
    "change",
    [
        lambda old: old["budget"].update(epsilon="7/2"),
        lambda old: old["caps"].__setitem__(0, 1),
        lambda old: old.update(order="9/2"),
    ],
    ids=["budget", "caps", "order"],
)
def test_an_event_that_does_not_say_which_budget_it_replaces_is_found(capped, place, change):
    """A larger budget that was in force would be hidden."""
    found = _found(BudgetTally(), _said(capped, place, lambda detail: change(detail["old"])))
    assert found[0] == f"the budget that it replaces is not the one that was declared before it {place}"


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("spent", [[0, 0, 0], [10**11, 5 * 10**12, 0]])
def test_an_event_that_says_less_than_was_spent_before_it_is_found(capped, spent):
    found = _found(BudgetTally(), _said(capped, 5, lambda detail: detail.update(spent=spent)))
    assert found == ["what was spent before it is more than it says 5"]


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("place", [5, 7])
def test_a_budget_at_another_order_that_does_not_restate_what_was_spent_is_found(capped, place):
    rows = [row | ({"cost_renyi": row["cost_renyi"] - 1} if row["sequence"] == place else {}) for row in capped]
    assert f"what was spent before it is not restated at its order {place}" in _found(BudgetTally(), rows)


@pytest.mark.parametrize("missing", [True, False])
def test_after_an_event_that_is_missing_or_was_changed_no_event_is_blamed_for_its_past(capped, missing):
    """The damage itself is found, and a recovery of an earlier version accepted nothing else."""
    rows = [row for row in capped if not (missing and row["sequence"] == 5)]
    assert _found(BudgetTally(), rows, changed=(5,)) == []
    recovered = {"kind": "RECOVERED", "sequence": 8, "previous": rows[-1]["hash"], "hash": "h"}
    declared = json.loads(rows[-1]["detail"])["new"]
    recovered |= {"detail": json.dumps({"old": {}, "new": declared}), "cost_epsilon": 0, "cost_rho": 0}
    recovered |= {"cost_delta": 0, "cost_renyi": 0}
    following = {**rows[-1], "sequence": 9, "previous": "h", "hash": "i"}
    found = _found(BudgetTally(), [*rows, recovered, following], changed=(5,))
    assert found[0] == "the budget that it replaces is not the one that was declared before it 9"


def test_the_tally_of_an_earlier_version_goes_on(capped):
    tally = BudgetTally()
    assert _found(tally, capped[:5]) == []
    again = BudgetTally.from_data(json.loads(json.dumps(tally.to_data())))
    assert _found(again, capped[5:]) == []
    assert again.to_data() == [capped[6]["detail"], again.total.units(), again.total.units()]


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_charge_below_the_price_of_its_event_is_found(capped):
    assert _found_prices(capped) == []
    assert _found_prices([row | {"cost_rho": 1} for row in capped]) == [3, 4, 6]
    assert _found_prices([row | {"cost_renyi": 1} for row in capped]) == []
    assert _found_prices([row | {"event": "{}"} for row in capped]) == [3, 4, 6]


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("place", [3, 4, 6])
def test_a_charge_that_counts_less_divergence_than_its_event_has_at_the_order_of_the_time_is_found(capped, place):
    """The cap on rho would be no cap: the filter adds up these divergences."""
    by_one = [row | ({"cost_renyi": row["cost_renyi"] - 1} if row["sequence"] == place else {}) for row in capped]
    by_rho = [row | {"cost_renyi": row["cost_rho"]} for row in capped]
    assert _found(BudgetTally(), by_one)[0] == f"its Renyi divergence is below that of its event {place}"
    assert not any("divergence" in each for each in _found(BudgetTally(), by_rho))


def _found_prices(rows: list[dict[str, object]]) -> list[int]:
    tally = PriceTally()
    for row in rows:
        tally.add(row, is_intact=True)
    return [place for place, _ in tally.found]


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_dataset_whose_name_leads_to_another_one_is_found(visits, dataset, tamperer):
    """Also where the other one's chain records the name, as it does where the steward writes both."""
    visits.register(dataset(name="zz"))
    with tampering(tamperer, is_kept=False) as hand:
        (row,) = hand.execute("SELECT datasets.*, 0 AS halts FROM datasets WHERE name = 'zz'")
        link = account_of(row).link(Kind.RENAMED, version=1, detail='{"alias":"visits","reason":"r"}')
        hand.execute("UPDATE datasets SET sequence = :s, head = :h WHERE name = 'zz'", s=link.sequence, h=link.hash)
        hand.insert("events", [columns_of(link)])
        hand.insert("aliases", [{"alias": "visits", "dataset": "zz"}])
        assert [str(each) for each in hand.findings()] == [
            "'visits': its name leads to 'zz' too, which would be a second budget"
        ]
