"""Charges add up exactly, each receipt once, and datasets and units are kept apart."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet import accounting
from discreet.accounting.costs import EPSILON_UNITS
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


def test_datasets_are_kept_apart(made):
    found = made[1]
    several = protections([found["wards"], found["gauss"], found["row"], found["median"]])
    assert [each.dataset for each in several] == ["visits", "gauss", "rows"]
    assert [len(each.charges) for each in several] == [2, 1, 1]
    assert several[2].is_row
    assert several[0].who == "one patient_id"
    assert several[0].relation == "added or removed"


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
