from fractions import Fraction

import pytest

from discreet.accounting.filters import NOTHING, Budget
from discreet.errors import BudgetError, CatalogError, ParameterError, SourceError, UnitError
from discreet.ledger import SQLiteLedger
from discreet.ledger.registration import budget_columns, budget_of
from discreet.unit import Neighbours


def test_a_first_registration_is_stored_with_a_key_and_nothing_spent(ledger, dataset):
    stored = ledger.register(dataset())
    assert stored.is_new
    assert stored.spent == NOTHING
    assert 0 <= stored.hash_key < 2**64


def test_registering_again_returns_what_is_stored_and_resets_nothing(path, dataset, charge):
    with SQLiteLedger(path) as ledger:
        first = ledger.register(dataset())
        charge(ledger)
    with SQLiteLedger(path) as reopened:
        again = reopened.register(dataset())
    assert not again.is_new
    assert again.hash_key == first.hash_key
    assert again.spent.epsilon == 10**11


def test_keys_are_drawn_anew_for_each_dataset(ledger, dataset):
    keys = {ledger.register(dataset(name=f"t{i}")).hash_key for i in range(20)}
    assert len(keys) == 20


def test_a_hash_key_is_not_printed(ledger, dataset):
    stored = ledger.register(dataset())
    assert str(stored.hash_key) not in repr(stored)


def test_the_same_name_over_another_source_is_refused_with_the_way_out(ledger, dataset):
    ledger.register(dataset())
    with pytest.raises(SourceError) as caught:
        ledger.register(dataset(source="other.csv"))
    assert 'name="..."' in caught.value.instead
    assert "version=2" in caught.value.instead


@pytest.mark.pitfall("B17")
def test_a_next_version_shares_the_cap_the_total_and_the_key(ledger, dataset, charge):
    first = ledger.register(dataset())
    charge(ledger, epsilon=Fraction(6, 10))
    second = ledger.register(dataset(version=2, source="other.csv", facts='{"columns": {}}'))
    assert (second.version, second.hash_key, second.spent.epsilon) == (2, first.hash_key, 6 * 10**11)
    with pytest.raises(BudgetError):
        charge(ledger, version=2, epsilon=Fraction(1, 2))
    charge(ledger, version=2, epsilon=Fraction(4, 10))
    assert ledger.spent("visits").epsilon == 10**12


@pytest.mark.pitfall("B17")
def test_nothing_about_the_content_of_the_data_reaches_the_ledger(tmp_path, dataset):
    """The same declaration over a file that changed in content, size and time is the same version."""
    data = tmp_path / "visits.csv"
    data.write_text("patient_id,cost\n1,10\n")
    with SQLiteLedger(tmp_path / "ledger.sqlite") as ledger:
        first = ledger.register(dataset(source=str(data)))
        data.write_text("patient_id,cost\n1,10\n2,20\n")
        again = ledger.register(dataset(source=str(data)))
    assert (again.version, again.facts, again.hash_key) == (first.version, first.facts, first.hash_key)


def test_versions_are_numbered_upwards(ledger, dataset):
    ledger.register(dataset(version=3))
    with pytest.raises(SourceError, match="version 3 already is"):
        ledger.register(dataset(version=2))


def test_an_older_version_that_is_registered_stays_usable(ledger, dataset, charge):
    ledger.register(dataset())
    ledger.register(dataset(version=2))
    assert ledger.register(dataset()).version == 1
    assert charge(ledger, version=1).version == 1


def test_a_changed_budget_is_a_new_promise_and_is_refused(ledger, dataset):
    ledger.register(dataset())
    with pytest.raises(BudgetError, match="a changed cap is a new promise") as caught:
        ledger.register(dataset(budget=Budget(epsilon=2)))
    assert "ledger.set_cap('visits'" in caught.value.instead


def test_a_changed_division_of_delta_is_a_new_promise_too(ledger, dataset):
    ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-9)))
    with pytest.raises(BudgetError, match="new promise"):
        ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-9, reserved_delta=1e-10)))


def test_another_ceiling_over_the_same_promise_is_the_same_promise(ledger, dataset):
    ledger.register(dataset())
    assert not ledger.register(dataset(budget=Budget(epsilon=1, ceiling=3))).is_new


@pytest.mark.parametrize("change", [{"unit": "one household"}, {"neighbours": "replace_one"}])
@pytest.mark.parametrize("version", [1, 2])
def test_another_unit_is_refused_in_every_version(ledger, dataset, change, version):
    ledger.register(dataset())
    with pytest.raises(UnitError, match="another privacy unit"):
        ledger.register(dataset(version=version, **change))


def test_changed_facts_of_one_version_are_refused(ledger, dataset):
    ledger.register(dataset())
    with pytest.raises(CatalogError, match="were frozen") as caught:
        ledger.register(dataset(facts='{"columns": {"ward": "integer"}}'))
    assert "version=2" in caught.value.instead


def test_facts_in_another_order_are_the_same_facts(ledger, dataset):
    first = ledger.register(dataset(facts='{"a": 1, "b": 2}'))
    assert ledger.register(dataset(facts='{"b":2,"a":1}')).facts == first.facts == '{"a": 1, "b": 2}'


@pytest.mark.pitfall("A22")
def test_facts_are_read_from_the_ledger_once_they_are_frozen(ledger, dataset):
    first = ledger.register(dataset())
    assert ledger.register(dataset(facts=None)).facts == first.facts
    assert ledger.register(dataset(facts=None, version=2)).facts == first.facts


def test_a_first_registration_needs_facts(ledger, dataset):
    with pytest.raises(CatalogError, match="without facts"):
        ledger.register(dataset(facts=None))
    assert ledger.registered("visits") is None


def test_a_delta_too_large_for_the_population_is_refused_at_every_door(ledger, dataset):
    with pytest.raises(BudgetError):
        ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-3), population=1_000))
    ledger.register(dataset(population=10_000_000))
    with pytest.raises(BudgetError):
        ledger.set_cap("visits", Budget(epsilon=1, delta=1e-6), reason="thresholds")


def test_the_population_belongs_to_the_version(ledger, dataset):
    ledger.register(dataset(population=1_000))
    with pytest.raises(CatalogError, match="population"):
        ledger.register(dataset(population=2_000))
    assert ledger.register(dataset()).population == 1_000
    assert ledger.register(dataset(version=2, population=2_000)).population == 2_000


def test_other_datasets_over_the_same_source_are_named(ledger, dataset):
    ledger.register(dataset())
    assert ledger.register(dataset(name="again")).same_source == ("visits",)


@pytest.mark.parametrize("version", [0, -1, 1.0, True, "1", 2**31])
def test_a_version_is_a_number_that_an_owner_counts(dataset, version):
    with pytest.raises(ParameterError):
        dataset(version=version)


@pytest.mark.parametrize(
    "change",
    [{"name": ""}, {"name": "a\nb"}, {"source": "a\x00b"}, {"facts": "{"}, {"population": 0}, {"neighbours": "both"}],
)
def test_a_declaration_that_cannot_be_kept_is_refused(dataset, change):
    with pytest.raises(ParameterError):
        dataset(**change)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_both_neighbour_relations_come_back(ledger, dataset, neighbours):
    assert ledger.register(dataset(neighbours=neighbours)).neighbours is neighbours


def test_a_promise_comes_back_exactly_with_its_reason():
    budget = Budget(epsilon=Fraction(100, 7), delta=1e-9, reserved_delta=1e-11, reason="a census")
    assert budget_of(budget_columns(budget)) == budget


def test_the_division_of_delta_cannot_change_after_the_first_answer(ledger, dataset, charge):
    kept = dataset(budget=Budget(epsilon=1, delta=1e-9))
    ledger.register(kept)
    ledger.set_cap(kept.name, Budget(epsilon=1, delta=1e-9, reserved_delta=1e-10), reason="before any answer")
    charge(ledger)
    with pytest.raises(BudgetError, match="another reserved_delta"):
        ledger.set_cap(kept.name, Budget(epsilon=2, delta=1e-9, reserved_delta=2e-10), reason="after an answer")
    ledger.set_cap(kept.name, Budget(epsilon=2, delta=1e-9, reserved_delta=1e-10), reason="the same division")
