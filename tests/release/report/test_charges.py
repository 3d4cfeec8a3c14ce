"""Charges add up exactly, each receipt once, and datasets and units are kept apart."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from pyarrow import csv

import discreet as dp
from discreet import accounting
from discreet.accounting.costs import EPSILON_UNITS
from discreet.catalog.privacy_unit import Neighbours, Unit
from discreet.errors import ParameterError
from discreet.release.report.charges import charge_of, protections, stated_terms


def test_the_epsilon_is_the_exact_sum_of_the_receipts(made):
    found = made[1]
    results = [found[name] for name in ("wards", "median", "selection", "first")]
    (protection,) = protections(results)
    charged = sum(int(result.receipt["cost"]["epsilon"]) for result in results)
    assert protection.epsilon == Fraction(charged, EPSILON_UNITS) == Fraction(3, 2)
    assert protection.delta == 0
    assert len(protection.charges) == 4


def test_a_receipt_is_counted_once(made):
    found = made[1]
    (once,) = protections([found["wards"]])
    (twice,) = protections([found["wards"], found["wards"], found["rounded"]])
    assert twice.epsilon == once.epsilon == Fraction(1, 2)
    assert protections([found["first"], found["second"]])[0].epsilon == Fraction(1, 2)


def test_charges_for_one_unit_add_up_and_rows_are_kept_apart(made):
    found = made[1]
    several = protections([found["wards"], found["gauss"], found["row"], found["median"]])
    assert [list(each.datasets) for each in several] == [["visits", "gauss"], ["rows"]]
    assert [len(each.charges) for each in several] == [3, 1]
    assert several[1].is_row
    assert several[0].who == "one patient_id"
    assert several[0].relation == "added or removed"


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    "columns", [(), ("patient_id",), ("a", "b"), ("and", "x"), ("my id", "b' and c"), ("x\"'y\\", "c"), ("a\nb",)]
)
def test_the_unit_is_read_as_the_catalog_writes_it(columns, neighbours, made):
    unit = Unit(columns, neighbours)
    protection = replace(protections([made[1]["wards"]])[0], unit=str(unit))
    assert protection.privacy_unit == unit
    assert protection.who == unit.label
    assert protection.is_row == unit.is_row
    assert protection.is_replacement == (neighbours is Neighbours.REPLACE_ONE)


def test_names_that_were_not_written_here_are_one_name(made):
    (protection,) = protections([made[1]["wards"]])
    odd = replace(protection, unit="one '\\x' or b, added or removed")
    assert odd.privacy_unit.columns == ("'\\x' or b",)


def test_a_unit_without_a_relation_is_refused(wards):
    for unit in ("one patient_id", "one patient_id, swapped"):
        document = replace(wards.document, query=(("protects", unit), *wards.document.query[1:]))
        with pytest.raises(ParameterError, match="not one that discreet writes"):
            stated_terms(replace(wards, document=document))


def test_rhos_add_up_and_convert_at_the_stated_delta(made):
    found = made[1]
    results = [found[name] for name in ("gauss", "keys")]
    (protection,) = protections(results)
    rho = Fraction(sum(int(result.receipt["cost"]["rho"]) for result in results), 10**15)
    assert protection.rho == rho
    assert protection.own_delta == Fraction(1, 10**9)
    assert protection.delta == max(stated_terms(result)[1] for result in results)
    assert protection.epsilon == accounting.concentrated.epsilon(protection.event, protection.delta)


def test_one_gaussian_release_has_the_epsilon_of_its_guarantee(made):
    gauss = made[1]["gauss"]
    (protection,) = protections([gauss])
    epsilon, delta, unit, span = stated_terms(gauss)
    assert (epsilon, delta) == (Fraction(1, 2), protection.delta)
    assert protection.epsilon <= epsilon
    assert unit == "one patient_id, added or removed"
    assert span == "this release from 'gauss', version 1"


def test_rates_and_factors_are_those_of_the_accountants(made):
    (protection,) = protections([made[1]["wards"]])
    assert float(protection.factor()) == pytest.approx(math.exp(0.5))
    assert float(protection.factor()) >= math.exp(0.5) * (1 - 1e-15)
    assert protection.true_positive_rate == accounting.tradeoff.true_positive_rate(protection.event, Fraction(1, 100))
    assert protection.advantage == accounting.tradeoff.advantage(protection.event)
    assert replace(protection, charges=protection.charges * 2_000).factor() is None


@pytest.mark.parametrize(
    ("change", "because"),
    [
        ({"cost": {"epsilon": "1", "rho": "1", "delta": "0"}}, "states less than its noise costs"),
        ({"cost": {"epsilon": "x", "rho": "1", "delta": "0"}}, "lacks the charge"),
        ({"cost": {"epsilon": "-1", "rho": "1", "delta": "0"}}, "lacks the charge"),
        ({"cost": {}}, "lacks the charge"),
        ({"event": "{}"}, "lacks the charge"),
        ({"dataset": "other"}, "another dataset or version"),
        ({"version": "1"}, "lacks the charge"),
        ({"hash": None}, "lacks the charge"),
    ],
)
def test_a_receipt_that_was_changed_is_refused(wards, change, because):
    with pytest.raises(ParameterError, match=because):
        charge_of(replace(wards, receipt=wards.receipt | change))


def test_words_that_are_no_guarantee_are_refused(wards):
    for words in ("safe", "epsilon x, for one, over this", "epsilon 1/0, for one, over this"):
        with pytest.raises(ParameterError, match="not one that discreet writes"):
            stated_terms(replace(wards, guarantee=words))


def test_one_hash_with_two_charges_is_refused(wards):
    other = replace(wards, receipt=wards.receipt | {"time": "2020-01-01"})
    with pytest.raises(ParameterError, match="different charges under one hash"):
        protections([wards, other])


def test_datasets_that_were_charged_together_are_named(wards):
    receipt = wards.receipt | {"detail": '{"together":["stays","visits"]}'}
    assert charge_of(replace(wards, receipt=receipt)).together == ("stays",)


def _table(name, privacy_unit, more=""):
    columns = "{visit_id: {type: integer}, patient_id: {type: integer}, day: {type: date}}"
    return f"  {name}: {{source: {name}.csv, privacy_unit: {privacy_unit}, max_rows: 10, {more} columns: {columns}}}"


def test_tables_that_are_charged_together_add_up(tmp_path):
    """A query of a linked table charges the tables that it leads to, so their charges are of the same people."""
    budget = "budget: {epsilon: 5},"
    link = "{through: visits, on: visit_id}"
    text = "\n".join(["tables:", _table("visits", "patient_id", budget), _table("letters", link, budget)])
    (tmp_path / "catalog.yaml").write_text(text)
    for name in ("visits", "letters"):
        csv.write_csv(dp.datasets.visits(50).select(["visit_id", "patient_id", "day"]), tmp_path / f"{name}.csv")
    with dp.Session(tmp_path / "catalog.yaml", ledger=tmp_path / "ledger.sqlite") as session:
        releases = [session.release(dp.table(name).agg(n=dp.count()), epsilon=1) for name in ("letters", "visits")]
        spent = 5 - session.remaining("visits").epsilon
    (protection,) = protections(releases)
    assert protection.epsilon == spent == 2
    assert set(protection.datasets) == {"letters", "visits"}


def test_slices_add_up_and_say_so(tmp_path):
    csv.write_csv(dp.datasets.visits(50), tmp_path / "visits.csv")
    facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=1)}
    releases = []
    for month in (1, 2):
        part = dp.Slice("day", f"2026-0{month}-01", f"2026-0{month + 1}-01")
        opened = dp.protect(
            tmp_path / "visits.csv", **facts, types={"day": "date"}, slice=part, ledger=tmp_path / "ledger.sqlite"
        )
        with opened as session:
            query = dp.table(f"visits-2026-0{month}").agg(n=dp.count())
            releases.append(session.release(query, epsilon=0.5))
    (protection,) = protections(releases)
    assert protection.epsilon == 1
    assert any("over all of them by their sum" in text for text in protection.slices)


@pytest.mark.parametrize("number", ["1e99999999", "9" * 100_000, "1e-99999999"])
def test_a_number_that_would_take_all_memory_is_refused_at_once(made, number):
    forged = replace(made[1]["wards"], guarantee=f"epsilon {number}, for one x, added or removed, over this release")
    with pytest.raises(ParameterError, match="not one that discreet writes"):
        stated_terms(forged)
