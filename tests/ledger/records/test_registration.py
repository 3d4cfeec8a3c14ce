"""What an owner declares, which changes are another promise, and the words of each refusal; what the stores do with it
is in test_registering.py."""

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dp
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, CatalogError, ParameterError, Refusal, SourceError, UnitError
from discreet.ledger import RegisteredSlice, SQLiteLedger
from discreet.ledger.records import registration
from discreet.ledger.records.registration import budget_columns, budget_of, slice_columns, slice_of


@pytest.fixture
def ledger() -> Iterator[SQLiteLedger]:
    with SQLiteLedger(":memory:") as opened:
        yield opened


def test_a_hash_key_is_not_printed(ledger, dataset):
    stored = ledger.register(dataset())
    assert str(stored.hash_key) not in repr(stored)


def test_the_same_name_over_another_source_is_refused_with_the_way_out(ledger, dataset, charge):
    ledger.register(dataset())
    charge(ledger)
    with pytest.raises(SourceError) as caught:
        ledger.register(dataset(source="other.csv"))
    assert caught.value.instead.startswith('name="visits_2" for other people')
    assert "version=2" in caught.value.instead


@pytest.mark.parametrize("change", [{}, {"budget": Budget(epsilon=2)}, {"unit": "one household"}])
def test_a_file_of_the_same_name_elsewhere_is_told_apart_by_its_directory(ledger, dataset, charge, change):
    ledger.register(dataset(source="/work/one/visits.csv"))
    charge(ledger)
    with pytest.raises(SourceError, match=r"registered over '/work/one/visits\.csv'") as caught:
        ledger.register(dataset(source="/work/project two/visits.csv", **change))
    assert caught.value.instead.startswith('name="project_two_visits" for other people, or dp.protect(..., version=2)')


def test_a_changed_budget_is_a_new_promise_and_is_refused(ledger, dataset, charge):
    ledger.register(dataset())
    charge(ledger)
    with pytest.raises(BudgetError, match="only set_cap changes a budget") as caught:
        ledger.register(dataset(budget=Budget(epsilon=2)))
    assert "ledger.set_cap('visits'" in caught.value.instead


def test_a_changed_division_of_delta_is_a_new_promise_too(ledger, dataset, charge):
    ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-9)))
    charge(ledger)
    with pytest.raises(BudgetError, match="only set_cap changes a budget"):
        ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-9, reserved_delta=2e-10)))


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


def test_a_promise_comes_back_exactly_with_its_reason():
    budget = Budget(epsilon=Fraction(100, 7), delta=1e-9, reserved_delta=1e-11, reason="a census")
    assert budget_of(budget_columns(budget)) == budget


# Slices


def test_a_slice_is_from_a_moment_until_before_another():
    part = RegisteredSlice("visits", "2026-10-01", "2026-11-01T12:30")
    assert (part.start, part.end) == ("2026-10-01T00:00:00.000000", "2026-11-01T12:30:00.000000")
    assert str(part) == "'visits' from 2026-10-01T00:00:00.000000 until before 2026-11-01T12:30:00.000000"


def test_moments_written_in_several_ways_are_one_moment():
    texts = ["2026-10-01", "20261001", "2026-10-01T00:00", "2026-10-01 00:00:00", "2026-10-01T00:00:00.000000"]
    assert len({RegisteredSlice("visits", text, "2027-01-01") for text in texts}) == 1


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-10-01", "2026-10-01"),
        ("2026-10-02", "2026-10-01"),
        ("2026-10-01", "2026-11-01T00:00+00:00"),
        ("2026-10-01Z", "2026-11-01"),
        ("October", "2026-11-01"),
        ("", "2026-11-01"),
        (None, "2026-11-01"),
        ("2026-02-30", "2026-11-01"),
    ],
)
def test_a_slice_without_a_beginning_before_its_end_is_refused(start, end):
    with pytest.raises(ParameterError):
        RegisteredSlice("visits", start, end)


@pytest.mark.parametrize("name", ["", "a\nb", None])
def test_a_slice_is_of_a_table_that_has_a_name(name):
    with pytest.raises(ParameterError):
        RegisteredSlice(name, "2026-10-01", "2026-11-01")


@pytest.mark.parametrize(
    ("other", "overlaps"),
    [
        (("2026-09-01", "2026-10-01"), False),
        (("2026-11-01", "2026-12-01"), False),
        (("2026-09-01", "2026-10-01T00:00:00.000001"), True),
        (("2026-10-10", "2026-10-11"), True),
        (("2026-09-01", "2026-12-01"), True),
        (("2026-10-31T23:59:59.999999", "2026-12-01"), True),
    ],
)
def test_slices_overlap_where_they_share_a_moment(other, overlaps):
    part = RegisteredSlice("visits", "2026-10-01", "2026-11-01")
    assert (
        part.overlaps(RegisteredSlice("visits", *other)) == RegisteredSlice("visits", *other).overlaps(part) == overlaps
    )


@pytest.mark.parametrize("part", [None, RegisteredSlice("visits", "2026-10-01", "2026-11-01")])
def test_a_slice_comes_back_from_its_columns(part):
    assert slice_of(slice_columns(part)) == part


def test_a_population_beyond_64_bits_is_refused(dataset):
    assert dataset(population=2**63 - 1).population == 2**63 - 1
    with pytest.raises(ParameterError, match="64-bit"):
        dataset(population=2**63)


def test_a_budget_that_states_no_reserve_is_the_registered_promise(ledger, dataset, charge):
    """A tenth of delta for a new dataset, and from then on as registered; an explicit 0 stays 0."""
    assert ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-9))).budget.reserve == Fraction(1, 10**10)
    none = dataset(name="none", budget=Budget(epsilon=1, delta=1e-9, reserved_delta=0))
    assert ledger.register(none).budget.reserve == 0
    charge(ledger, name="none")
    assert not ledger.register(dataset(name="none", budget=Budget(epsilon=1, delta=1e-9))).is_new
    ledger.set_cap("none", Budget(epsilon=2, delta=1e-8), reason="another year")
    assert ledger.budget("none").reserve == 0


def test_a_new_cap_keeps_the_registered_reserve_and_never_follows_what_was_spent(ledger, dataset, charge):
    ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-9, reserved_delta=3e-10)))
    ledger.set_cap("visits", Budget(epsilon=2, delta=1e-8), reason="before the first charge")
    charge(ledger)
    ledger.set_cap("visits", Budget(epsilon=3, delta=1e-9), reason="after it")
    assert ledger.budget("visits").reserve == Fraction(3, 10**10)
    with pytest.raises(BudgetError, match="more than this delta") as caught:
        ledger.set_cap("visits", Budget(epsilon=4, delta=1e-10), reason="a delta below the reserve")
    ledger.set_cap("visits", eval(caught.value.instead, {"dp": dp}), reason="as advised")  # noqa: S307
    with pytest.raises(BudgetError, match="another reserved_delta") as caught:
        ledger.set_cap("visits", Budget(epsilon=5, delta=1e-9, reserved_delta=0), reason="another division")
    ledger.set_cap("visits", eval(caught.value.instead.split(", which")[0], {"dp": dp}), reason="as advised")  # noqa: S307
    assert ledger.budget("visits").reserve == Fraction(3, 10**10)


def test_until_the_first_charge_another_delta_is_divided_anew(ledger, dataset):
    ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-7, reserved_delta=3e-8)))
    assert ledger.register(dataset(budget=Budget(epsilon=2, delta=1e-7))).budget.reserve == Fraction(3, 10**8)
    assert ledger.register(dataset(budget=Budget(epsilon=2, delta=1e-9))).budget.reserve == Fraction(1, 10**10)


OTHER_DATASET = re.compile(r"(a|another) dataset of another name|name=\"\.\.\.\"|another name for the public table")


def test_no_refusal_advises_a_dataset_of_another_name():
    """A second promise over the same people adds up with the first, and nobody's refusal may lead there."""
    source = Path(registration.__file__).parents[2]
    assert [path.name for path in source.rglob("*.py") if OTHER_DATASET.search(path.read_text())] == []


@pytest.mark.parametrize(
    "change",
    [{"unit": "one row"}, {"slice": RegisteredSlice("stays", "2026-01-01", "2026-02-01")}],
)
def test_what_is_refused_for_a_registered_name_stays_with_that_name(ledger, dataset, charge, change):
    ledger.register(dataset())
    charge(ledger)
    with pytest.raises(Refusal) as caught:
        ledger.register(dataset(**change))
    assert "name" not in caught.value.instead
