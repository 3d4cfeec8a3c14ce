import json
import threading
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.accounting.filters import NOTHING, Budget
from discreet.errors import BudgetError, CatalogError, ParameterError, Refusal, SourceError, UnitError
from discreet.ledger import Kind, SQLiteLedger
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


def test_the_same_name_over_another_source_is_refused_with_the_way_out(ledger, dataset, charge):
    ledger.register(dataset())
    charge(ledger)
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


def test_a_changed_budget_is_a_new_promise_and_is_refused(ledger, dataset, charge):
    ledger.register(dataset())
    charge(ledger)
    with pytest.raises(BudgetError, match="a changed cap is a new promise") as caught:
        ledger.register(dataset(budget=Budget(epsilon=2)))
    assert "ledger.set_cap('visits'" in caught.value.instead


def test_a_changed_division_of_delta_is_a_new_promise_too(ledger, dataset, charge):
    ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-9)))
    charge(ledger)
    with pytest.raises(BudgetError, match="new promise"):
        ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-9, reserved_delta=1e-10)))


def test_another_ceiling_over_the_same_promise_is_the_same_promise(ledger, dataset):
    ledger.register(dataset())
    assert not ledger.register(dataset(budget=Budget(epsilon=1, ceiling=3))).is_new


@pytest.mark.parametrize("change", [{"unit": "one household"}, {"neighbours": "replace_one"}])
@pytest.mark.parametrize("version", [1, 2])
def test_another_unit_is_refused_in_every_version(ledger, dataset, charge, change, version):
    ledger.register(dataset())
    charge(ledger)
    with pytest.raises(UnitError, match="another privacy unit"):
        ledger.register(dataset(version=version, **change))


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ('{"columns": {"ward": "text", "cost": "text"}}', "column 'cost' is registered as 'integer', not 'text'"),
        ('{"columns": {"ward": "text"}}', "column 'cost' is registered and not declared"),
        ('{"columns": {"ward": "text", "cost": "integer", "age": "real"}}', "column 'age' is not registered"),
        ('{"columns": {"ward": "text", "cost": "integer"}, "unit": 1}', "unit is not registered"),
        ('{"columns": {}}', "column 'cost' is registered and not declared; column 'ward' is"),
        ("[]", "registered and not declared"),
        ('{"columns": {"a": "", "b": "", "c": "", "d": ""}}', ", and 3 more"),
    ],
)
def test_changed_facts_are_refused_by_name_with_the_next_version_as_the_way_out(ledger, dataset, charge, facts, named):
    ledger.register(dataset())
    ledger.register(dataset(version=2))
    charge(ledger)
    with pytest.raises(CatalogError, match="were frozen by the first charge") as caught:
        ledger.register(dataset(facts=facts))
    assert named in caught.value.because
    assert "dp.protect(..., version=3) (version: 3 in a catalog)" in caught.value.instead


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


def test_the_population_belongs_to_the_version(ledger, dataset, charge):
    ledger.register(dataset(population=1_000))
    charge(ledger)
    with pytest.raises(CatalogError, match="population is registered as 1000, not 2000"):
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


# Corrections before the first charge

CORRECTIONS = [
    {"unit": "one household"},
    {"neighbours": "replace_one"},
    {"facts": '{"columns": {"ward": "integer"}}'},
    {"source": "other.csv"},
    {"population": 5_000},
    {"budget": Budget(epsilon=2)},
    {"budget": Budget(epsilon=1, delta=1e-9, reserved_delta=1e-10)},
    {"unit": "one household", "neighbours": "replace_one", "source": "o.csv", "budget": Budget(epsilon=Fraction(1, 3))},
]


@pytest.mark.parametrize("change", CORRECTIONS)
def test_until_the_first_charge_another_declaration_replaces_the_registration(ledger, dataset, charge, change):
    first = ledger.register(dataset())
    corrected = ledger.register(dataset(**change))
    assert corrected.is_new
    assert (corrected.hash_key, corrected.spent, corrected.sequence) == (first.hash_key, NOTHING, 2)
    assert ledger.registered("visits") == ledger.register(dataset(**change)) == replace(corrected, is_new=False)
    assert all(getattr(corrected, fact) == value for fact, value in change.items())
    assert ledger.verify(), str(ledger.verify())
    charge(ledger, registration=corrected.sequence)
    assert ledger.budget("visits") == dataset(**change).budget
    assert ledger.verify(), str(ledger.verify())


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("change", CORRECTIONS)
def test_after_the_first_charge_nothing_is_replaced(ledger, dataset, charge, change):
    kept = ledger.register(dataset())
    ledger.forfeit(charge(ledger), "timeout")
    before = ledger.history("visits")
    with pytest.raises(Refusal):
        ledger.register(dataset(**change))
    assert ledger.history("visits") == before
    assert replace(ledger.registered("visits"), spent=NOTHING, is_new=True) == kept


def test_a_correction_is_an_event_that_keeps_the_old_and_the_new(ledger, dataset):
    ledger.register(dataset())
    ledger.register(dataset(unit="one household", source="other.csv", budget=Budget(epsilon=2)))
    first, second = ledger.history("visits")
    assert (first.kind, second.kind) == (Kind.REGISTERED, Kind.REGISTERED)
    detail = json.loads(second.detail)
    assert [detail[when]["unit"] for when in ("old", "new")] == ["one patient_id", "one household"]
    assert [detail[when]["source"] for when in ("old", "new")] == ["visits.csv", "other.csv"]
    assert [detail[when]["budget"]["epsilon"] for when in ("old", "new")] == ["1/1", "2/1"]
    assert detail["old"]["facts"] == dataset().facts


def test_a_rejected_charge_freezes_nothing(ledger, dataset, charge):
    ledger.register(dataset())
    with pytest.raises(BudgetError):
        charge(ledger, epsilon=2)
    assert ledger.register(dataset(unit="one household")).unit == "one household"
    assert ledger.verify()


@pytest.mark.guarantee("ledger")
def test_a_charge_under_a_registration_that_was_replaced_is_refused_and_costs_nothing(ledger, dataset, charge):
    stale = ledger.register(dataset(unit="one row")).sequence
    current = ledger.register(dataset()).sequence
    for request in (None, "r-1"):
        with pytest.raises(SourceError, match="earlier registration of 'visits'"):
            charge(ledger, registration=stale, request=request)
        assert ledger.spent("visits").epsilon in (0, 10**11)
        charge(ledger, registration=current, request="r-1")
    assert ledger.spent("visits").epsilon == 10**11
    assert [entry.kind for entry in ledger.history("visits")][-1] is Kind.RESERVED


def test_a_registration_put_back_as_it_was_is_still_another_one(ledger, dataset, charge):
    stale = ledger.register(dataset())
    ledger.register(dataset(unit="one row"))
    again = ledger.register(dataset())
    assert (stale.sequence, again.sequence) == (1, 3)
    with pytest.raises(SourceError):
        charge(ledger, registration=stale.sequence)


def test_another_version_or_cap_leaves_a_registration_in_force(ledger, dataset, charge):
    first = ledger.register(dataset())
    second = ledger.register(dataset(version=2, source="other.csv"))
    ledger.set_cap("visits", Budget(epsilon=2), reason="a test")
    charge(ledger, registration=first.sequence)
    charge(ledger, version=2, registration=second.sequence)


def test_a_correction_of_one_version_replaces_the_promise_of_all(ledger, dataset, charge):
    ledger.register(dataset())
    second = ledger.register(dataset(version=2))
    ledger.register(dataset(unit="one household"))
    assert ledger.registered("visits", 2).unit == "one household"
    with pytest.raises(SourceError, match="earlier registration"):
        charge(ledger, version=2, registration=second.sequence)
    assert ledger.verify()


def test_a_new_version_does_not_correct_the_promise_and_says_which_does(ledger, dataset):
    ledger.register(dataset())
    with pytest.raises(UnitError, match="registered otherwise") as caught:
        ledger.register(dataset(version=2, unit="one household"))
    assert caught.value.instead.startswith("version=1 with this unit")
    ledger.register(dataset(unit="one household"))
    ledger.register(dataset(version=2, unit="one household"))


def test_a_correction_must_suit_the_population_of_every_version(ledger, dataset):
    ledger.register(dataset(population=1_000))
    ledger.register(dataset(version=2, population=10_000_000))
    with pytest.raises(BudgetError):
        ledger.register(dataset(budget=Budget(epsilon=1, delta=Fraction(1, 10**5))))
    with pytest.raises(BudgetError):
        ledger.register(dataset(version=2, budget=Budget(epsilon=1, delta=Fraction(1, 10**5))))
    assert ledger.budget("visits") == Budget(epsilon=1)
    assert len(ledger.history("visits")) == 2


def test_a_correction_and_a_charge_never_interleave(path, dataset, charge):
    """Threads of two ledgers over one file: whatever comes first, no charge stands under facts that were replaced."""
    for round_ in range(20):
        name = f"t{round_}"
        with SQLiteLedger(path) as one, SQLiteLedger(path) as other:
            mine = one.register(dataset(name=name, unit="one row"))
            gate, refused = threading.Barrier(2), []

            def correct(other=other, name=name, gate=gate, refused=refused):
                gate.wait()
                try:
                    other.register(dataset(name=name))
                except UnitError:
                    refused.append("correction")

            def ask(one=one, name=name, gate=gate, refused=refused, mine=mine):
                gate.wait()
                try:
                    charge(one, name=name, registration=mine.sequence)
                except SourceError:
                    refused.append("charge")

            threads = [threading.Thread(target=act) for act in (correct, ask)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert refused in (["correction"], ["charge"])
            kept = one.registered(name)
            assert (kept.unit, kept.is_charged) == (
                ("one row", True) if "correction" in refused else ("one patient_id", False)
            )
            assert one.verify(name)
