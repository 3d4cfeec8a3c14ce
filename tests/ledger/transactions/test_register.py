"""Registering in every store: versions, corrections before the first charge, other names, slices."""

import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest

from discreet.accounting.costs import NOTHING
from discreet.accounting.filters import Budget
from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import BudgetError, CatalogError, ParameterError, Refusal, SourceError, UnitError
from discreet.ledger import Kind, RegisteredSlice


def test_a_first_registration_is_stored_with_a_key_and_nothing_spent(ledger, dataset):
    stored = ledger.register(dataset())
    assert stored.is_new
    assert stored.spent == NOTHING
    assert 0 <= stored.hash_key < 2**64


def test_registering_again_returns_what_is_stored_and_resets_nothing(another, dataset, charge):
    with another() as ledger:
        first = ledger.register(dataset())
        charge(ledger)
    with another() as reopened:
        again = reopened.register(dataset())
    assert not again.is_new
    assert again.hash_key == first.hash_key
    assert again.spent.epsilon == 10**11


def test_keys_are_drawn_anew_for_each_dataset(ledger, dataset):
    keys = {ledger.register(dataset(name=f"t{i}")).hash_key for i in range(20)}
    assert len(keys) == 20


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
def test_nothing_about_the_content_of_the_data_reaches_the_ledger(tmp_path, ledger, dataset):
    """The same declaration over a file that changed in content, size and time is the same version."""
    data = tmp_path / "visits.csv"
    data.write_text("patient_id,cost\n1,10\n")
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


@pytest.mark.pitfall("A22")
def test_facts_are_read_from_the_ledger_once_they_are_frozen(ledger, dataset):
    first = ledger.register(dataset())
    assert ledger.register(dataset(facts=None)).facts == first.facts
    assert ledger.register(dataset(facts=None, version=2)).facts == first.facts


def test_a_first_registration_needs_facts(ledger, dataset):
    with pytest.raises(CatalogError, match="without facts"):
        ledger.register(dataset(facts=None))
    assert ledger.registration("visits") is None


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


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_both_neighbour_relations_come_back(ledger, dataset, neighbours):
    assert ledger.register(dataset(neighbours=neighbours)).neighbours is neighbours


def test_the_division_of_delta_cannot_change_after_the_first_answer(ledger, dataset, charge):
    kept = dataset(budget=Budget(epsilon=1, delta=1e-9, reserved_delta=0))
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


def test_until_the_first_charge_another_declaration_replaces_the_registration(ledger, dataset, charge):
    for number, change in enumerate(CORRECTIONS):
        name = f"t{number}"
        first = ledger.register(dataset(name=name))
        corrected = ledger.register(dataset(name=name, **change))
        assert corrected.is_new
        assert (corrected.hash_key, corrected.spent, corrected.sequence) == (first.hash_key, NOTHING, 2)
        again = ledger.register(dataset(name=name, **change))
        assert ledger.registration(name) == again == replace(corrected, is_new=False)
        assert all(getattr(corrected, fact) == value for fact, value in change.items())
        assert ledger.verify(name), str(ledger.verify(name))
        charge(ledger, name=name, registration=corrected.sequence)
        assert ledger.budget(name) == dataset(**change).budget
    assert ledger.verify(), str(ledger.verify())


@pytest.mark.guarantee("ledger")
def test_after_the_first_charge_nothing_is_replaced(ledger, dataset, charge):
    kept = ledger.register(dataset())
    ledger.forfeit(charge(ledger), "timeout")
    before = ledger.history("visits")
    for change in CORRECTIONS:
        with pytest.raises(Refusal):
            ledger.register(dataset(**change))
    assert ledger.history("visits") == before
    assert replace(ledger.registration("visits"), spent=NOTHING, is_new=True) == kept


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
    for charged, request in ((0, None), (0, "r-1"), (1, None), (1, "r-2")):
        if charged:
            ledger.answer(charge(ledger, registration=current, request="r-1"), b"answer")
        with pytest.raises(SourceError, match="earlier registration of 'visits'"):
            charge(ledger, registration=stale, request=request)
        assert ledger.spent("visits").epsilon == charged * 10**11
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
    assert ledger.registration("visits", 2).unit == "one household"
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


def test_a_correction_and_a_charge_never_interleave(ledger, another, dataset, charge, at_once):
    """Threads of two ledgers over one store: whatever comes first, no charge stands under facts that were replaced."""
    other = another()
    for round_ in range(20):
        name = f"t{round_}"
        mine = ledger.register(dataset(name=name, unit="one row")).sequence
        outcomes = at_once(
            lambda name=name: other.register(dataset(name=name)),
            lambda name=name, mine=mine: charge(ledger, name=name, registration=mine),
        )
        refused = [type(each) for each in outcomes if isinstance(each, Exception)]
        assert refused in ([UnitError], [SourceError])
        kept = ledger.registration(name)
        assert (kept.unit, kept.is_charged) == (
            ("one row", True) if refused == [UnitError] else ("one patient_id", False)
        )
    assert ledger.verify()


def test_a_dataset_that_is_registered_twice_at_once_is_one_dataset(ledger, another, dataset, at_once):
    other = another()
    for round_ in range(6):
        name = f"t{round_}"
        acts = [partial(on.register, dataset(name=name)) for on in (ledger, other)]
        assert sorted(each.is_new for each in at_once(*acts)) == [False, True]
    assert ledger.verify()


def test_of_slices_that_overlap_and_are_registered_at_once_one_is_refused(ledger, another, dataset, at_once):
    other = another()
    for round_ in range(6):
        table = f"t{round_}"
        parts = [RegisteredSlice(table, f"2026-0{month}-01", f"2026-0{month + 2}-01") for month in (1, 2)]
        declared = [dataset(name=f"{table} {place}", slice=part) for place, part in enumerate(parts)]
        outcomes = at_once(partial(ledger.register, declared[0]), partial(other.register, declared[1]))
        assert sorted(type(each).__name__ for each in outcomes) == ["BudgetError", "Registration"]


def test_a_name_that_is_registered_and_given_at_once_is_one_of_the_two(visits, another, dataset, charge, at_once):
    other = another()
    charge(visits)
    for round_ in range(6):
        name = f"t{round_}"
        made, given = at_once(
            partial(other.register, dataset(name=name, source="other.csv")),
            partial(visits.rename, "visits", name, reason="a test"),
        )
        assert isinstance(made, Exception) != isinstance(given, Exception)
        assert visits.registration(name).name == ("visits" if isinstance(made, Exception) else name)
    assert visits.verify(), str(visits.verify())


# Other names


def test_both_names_of_a_dataset_lead_to_one_promise(visits, another, charge, turn):
    visits.answer(turn(visits), b"answer")
    visits.rename("visits", "stays", reason="the board's words")
    charge(visits, name="stays", epsilon=Fraction(8, 10))
    other = another()
    for name in ("visits", "stays"):
        assert other.spent(name).epsilon == 9 * 10**11
        assert other.budget(name) == Budget(epsilon=1)
        assert other.registration(name).name == "visits"
        assert other.stored_answer(name, turn(other, name=name).receipt.question) == b"answer"
        with pytest.raises(BudgetError):
            charge(other, name=name, epsilon=Fraction(2, 10))
    assert other.history("visits") == other.history("stays")
    assert other.share("stays", "ann").spent.epsilon == 9 * 10**11
    assert other.verify("stays"), str(other.verify("stays"))
    assert other.verify()


def test_a_question_asked_by_one_name_is_answered_by_the_other(visits, turn):
    visits.answer(turn(visits), b"answer")
    visits.rename("visits", "stays", reason="a test")
    assert turn(visits, name="stays").payload == b"answer"
    assert visits.spent("visits").epsilon == 10**11


def test_registering_under_the_new_name_shares_the_promise(visits, dataset, charge):
    charge(visits)
    visits.rename("visits", "stays", reason="a test")
    again = visits.register(dataset(name="stays"))
    assert (again.is_new, again.spent.epsilon) == (False, 10**11)
    second = visits.register(dataset(name="stays", version=2, source="stays.csv"))
    assert (second.version, second.spent.epsilon) == (2, 10**11)
    with pytest.raises(BudgetError, match="only set_cap changes a budget"):
        visits.register(dataset(name="stays", budget=Budget(epsilon=2)))
    assert [each.name for each in visits.datasets()] == ["visits"]
    assert visits.verify()


def test_no_dataset_takes_the_name_of_a_table_that_has_slices(visits, dataset):
    """It would be the whole table under a promise of its own, over rows that have theirs."""
    visits.register(dataset(name="january", slice=RegisteredSlice("stays", "2026-01-01", "2026-02-01")))
    for name in ("visits", "january"):
        with pytest.raises(BudgetError, match="'stays' as a whole"):
            visits.rename(name, "stays", reason="a test")
    assert visits.registration("stays") is None
    assert visits.verify()


def test_a_rename_is_an_event_with_its_reason(visits):
    visits.rename("visits", "stays", reason="the board's words")
    entry = visits.history("stays")[-1]
    assert (entry.kind, entry.cost) == (Kind.RENAMED, NOTHING)
    assert json.loads(entry.detail) == {"alias": "stays", "reason": "the board's words"}


def test_a_name_can_be_followed_by_another_one(visits, charge):
    visits.rename("visits", "stays", reason="a test")
    visits.rename("stays", "nights", reason="a test")
    charge(visits, name="nights")
    assert [visits.spent(name).epsilon for name in ("visits", "stays", "nights")] == [10**11] * 3
    assert visits.verify()


def test_a_name_that_is_taken_is_refused(visits, dataset):
    visits.register(dataset(name="other"))
    visits.rename("other", "alias", reason="a test")
    for name, to in itertools.product(("visits", "other", "alias"), repeat=2):
        with pytest.raises(ParameterError, match=f"the name '{to}'"):
            visits.rename(name, to, reason="a test")
    assert len(visits.history("visits")) == 1
    assert visits.verify()


def test_a_rename_needs_a_name_and_a_reason(visits):
    for change in ({"to": ""}, {"to": "a\nb"}, {"reason": ""}, {"reason": None}):
        with pytest.raises(ParameterError):
            visits.rename("visits", **({"to": "stays", "reason": "a test"} | change))
    assert len(visits.history("visits")) == 1


# Slices: a new budget for new data only


def _month(number: int, until: int | None = None) -> RegisteredSlice:
    return RegisteredSlice("visits", f"2026-{number:02}-01", f"2026-{until or number + 1:02}-01")


def test_slices_of_one_table_that_touch_have_a_budget_each(ledger, another, dataset, charge):
    for number in (3, 1, 2):
        ledger.register(dataset(name=f"month {number}", slice=_month(number)))
        charge(ledger, name=f"month {number}", epsilon=1)
    kept = another().registration("month 2")
    assert (kept.slice, kept.spent.epsilon) == (_month(2), 10**12)
    assert ledger.verify()


def test_a_slice_that_overlaps_another_is_refused(ledger, dataset):
    ledger.register(dataset(name="february", slice=_month(2)))
    for part in (
        _month(2),
        _month(1, 3),
        _month(2, 4),
        _month(1, 5),
        RegisteredSlice("visits", "2026-02-28", "2027-01-01"),
    ):
        with pytest.raises(BudgetError, match="it overlaps 'february'") as caught:
            ledger.register(dataset(name="other", slice=part))
        assert '"2026-03-01' in caught.value.instead
    assert ledger.registration("other") is None


def test_slices_of_different_tables_do_not_overlap(ledger, dataset):
    ledger.register(dataset(name="a", slice=RegisteredSlice("visits", "2026-01-01", "2026-02-01")))
    ledger.register(dataset(name="b", slice=RegisteredSlice("stays", "2026-01-01", "2026-02-01")))


def test_a_slice_of_a_table_with_one_promise_is_refused(visits, dataset):
    visits.rename("visits", "stays", reason="a test")
    for table in ("visits", "stays"):
        with pytest.raises(BudgetError, match="the whole table has a privacy budget already"):
            visits.register(dataset(name="january", slice=RegisteredSlice(table, "2026-01-01", "2026-02-01")))


def test_the_whole_of_a_table_with_slices_is_refused(ledger, dataset):
    ledger.register(dataset(name="january", slice=_month(1)))
    with pytest.raises(BudgetError, match="each of its slices, such as 'january'"):
        ledger.register(dataset())


@pytest.mark.parametrize("is_charged", [False, True])
def test_a_dataset_keeps_its_slice(ledger, dataset, charge, is_charged):
    kept = ledger.register(dataset(name="january", slice=_month(1)))
    if is_charged:
        charge(ledger, name="january")
    for part, version in itertools.product((_month(2), _month(1, 3), None), (1, 2)):
        with pytest.raises(BudgetError):
            ledger.register(dataset(name="january", slice=part, version=version))
    assert ledger.registration("january").slice == kept.slice
    assert ledger.register(dataset(name="january", slice=_month(1), version=2)).slice == kept.slice


def test_a_slice_that_was_never_charged_can_be_corrected_in_other_ways(ledger, dataset):
    ledger.register(dataset(name="january", slice=_month(1)))
    again = ledger.register(dataset(name="january", slice=_month(1), unit="one household"))
    assert (again.unit, again.slice) == ("one household", _month(1))
    assert ledger.verify()


def _by(column: str, kind: str = "date") -> str:
    """Facts of a table that is sliced by a column."""
    return json.dumps({"columns": {column: kind}, "slice": {"column": column}})


def test_slices_of_one_table_go_by_one_column_of_one_type(ledger, dataset):
    ledger.register(dataset(name="january", slice=_month(1), facts=_by("seen")))
    for facts in (_by("paid"), _by("seen", "timestamp"), json.dumps({"columns": {"seen": "date"}})):
        with pytest.raises(BudgetError, match="'january', a slice of the same table, goes by 'seen' as date"):
            ledger.register(dataset(name="february", slice=_month(2), facts=facts))
    ledger.register(dataset(name="february", slice=_month(2), facts=_by("seen")))
    elsewhere = RegisteredSlice("stays", "2026-01-01", "2026-02-01")
    ledger.register(dataset(name="stays in january", slice=elsewhere, facts=_by("paid")))


def test_the_versions_of_a_slice_go_by_one_column_and_the_only_one_may_be_corrected(ledger, dataset, charge):
    ledger.register(dataset(name="january", slice=_month(1), facts=_by("paid")))
    ledger.register(dataset(name="january", slice=_month(1), facts=_by("seen")))
    charge(ledger, name="january")
    with pytest.raises(BudgetError, match="goes by 'seen' as date"):
        ledger.register(dataset(name="january", slice=_month(1), facts=_by("paid"), version=2))
    with pytest.raises(CatalogError):
        ledger.register(dataset(name="january", slice=_month(1), facts=_by("paid")))
    assert ledger.register(dataset(name="january", slice=_month(1), facts=_by("seen"), version=2)).version == 2


@pytest.mark.parametrize("change", [{"unit": "one household"}, {"neighbours": "replace_one"}])
def test_slices_of_one_table_protect_one_unit(ledger, dataset, change):
    ledger.register(dataset(name="january", slice=_month(1)))
    with pytest.raises(UnitError, match="a slice of the same table, protects"):
        ledger.register(dataset(name="february", slice=_month(2), **change))
    assert ledger.registration("february") is None


def test_slices_of_one_table_over_one_source_are_not_told_as_promises_that_add_up_by_surprise(ledger, dataset):
    ledger.register(dataset(name="january", slice=_month(1)))
    assert ledger.register(dataset(name="february", slice=_month(2))).same_source == ()
    other = RegisteredSlice("stays", "2026-01-01", "2026-02-01")
    assert ledger.register(dataset(name="march", slice=_month(3))).same_source == ()
    assert ledger.register(dataset(name="other", slice=other)).same_source == ("february", "january", "march")
    assert ledger.register(dataset(name="mine")).same_source == ("february", "january", "march", "other")
    assert ledger.registration("january").same_source == ("mine", "other")


@pytest.mark.pitfall("B5")
def test_of_slices_that_overlap_and_are_registered_at_once_only_one_is_admitted(another, dataset):
    """Also of a slice and the whole of its table; without a lock about two in three pairs get two budgets."""
    with another() as one, another() as other:
        for i in range(10):
            part = RegisteredSlice(f"table {i}", "2026-01-01", "2026-02-01")
            whole = dataset(name=f"table {i}" if i % 2 else f"second {i}", slice=None if i % 2 else part)
            pairs = [(one, dataset(name=f"first {i}", slice=part)), (other, whole)]
            with ThreadPoolExecutor(2) as pool:
                made = [pool.submit(ledger.register, each) for ledger, each in pairs]
            refusals = [future.exception() for future in made]
            assert sum(refusal is None for refusal in refusals) == 1
            assert sum(isinstance(refusal, BudgetError) for refusal in refusals) == 1
