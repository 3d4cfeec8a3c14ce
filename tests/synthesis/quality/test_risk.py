"""Attacks find a table that copies its data under each heading, and nothing in other rows of the same population."""

import numpy as np
import pytest

import discreet as dp
from discreet.anonymity.linkage.attack_rates import AttackRate, AttackRisk
from discreet.catalog.catalog import ColumnType
from discreet.plan.slots import SlotColumn
from discreet.synthesis.quality import risk
from discreet.synthesis.quality.risk import attack_risks, risk_line

COLUMNS = (
    SlotColumn("sex", ColumnType.TEXT, values=("female", "male", "unspecified")),
    SlotColumn("education_years", ColumnType.INTEGER, edges=tuple(range(8, 24))),
    SlotColumn("hours_per_week", ColumnType.INTEGER, edges=tuple(range(0, 81, 5))),
    SlotColumn("income", ColumnType.INTEGER, edges=tuple(range(0, 160_000, 10_000))),
)
HEADINGS = ["singling out", "linkability", "inference"]


@pytest.fixture(scope="module")
def people():
    return dp.datasets.people(3_000)


def attack(*tables, columns=COLUMNS, learn="income"):
    return attack_risks(columns, *tables, learn=learn, generator=np.random.default_rng(5))


def test_a_copy_of_the_data_is_a_risk_under_each_heading(people):
    data, others = people[:1_500], people[1_500:]
    found = attack(data, data, others)
    assert [each.heading for each in found] == HEADINGS
    assert all(each.interval[0] > 0 for each in found)


def test_other_people_of_the_same_population_are_not_a_risk(people):
    data, drawn, others = people[:1_000], people[1_000:2_000], people[2_000:]
    assert all(each.interval[0] < 0 < each.interval[1] for each in attack(data, drawn, others))


def test_a_guess_is_right_if_it_is_in_the_slot_of_the_value(people):
    wide = SlotColumn("income", ColumnType.INTEGER, edges=(0, 1_000_000))
    found = attack(people[:500], people[:500], people[500:], columns=(*COLUMNS[:3], wide))
    assert found[2].attack.rate > 0.9
    assert found[2].control.rate > 0.9


def test_one_column_has_nothing_to_link_or_to_guess_from(people):
    (found,) = attack(people[:500], people[500:1_000], people[1_000:], columns=COLUMNS[3:])
    assert found.heading == "singling out"


def test_a_large_table_is_sampled(people, monkeypatch):
    monkeypatch.setattr(risk, "MOST_ROWS", 200)
    found = attack(people[:500], people[500:1_000], people[1_000:])
    assert found[1].attack.attempts == 200
    assert "200 people" in found[0].details


def test_a_line_has_the_rate_of_random_guesses_and_says_where_an_attack_does_not_beat_it():
    rates = {"attack": AttackRate(10, 100), "control": AttackRate(5, 100)}
    weak = AttackRisk("linkability", **rates, baseline=AttackRate(20, 100))
    assert "20.0% by random guesses" in risk_line(weak)
    assert risk_line(weak).endswith("this attack does not beat random guesses, so it measures nothing")
    strong = AttackRisk("linkability", AttackRate(90, 100), AttackRate(5, 100), AttackRate(0, 100))
    assert "0.0% by random guesses" in risk_line(strong)
    assert "measures nothing" not in risk_line(strong)
