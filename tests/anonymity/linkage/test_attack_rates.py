"""Rates of attacks: Wilson's interval, the excess over control, and sentences that never state safety."""

import math
from functools import partial

import pytest

import discreet as dp
from anonymity.linkage.attack_cases import people
from discreet.anonymity.linkage import inference, linkability, singling_out
from discreet.anonymity.linkage.attack_rates import (
    AttackRate,
    AttackRisk,
    attack_tables,
    confidence_level,
    shared_columns,
    wilson,
)
from discreet.anonymity.owners import STAMP
from discreet.errors import ParameterError


def _risk(attack: int, control: int, baseline: int = 0, attempts: int = 100) -> AttackRisk:
    return AttackRisk("inference", *(AttackRate(hits, attempts) for hits in (attack, control, baseline)))


def test_wilson_solves_its_equation():
    for successes, attempts, level, z in ((30, 100, 0.95, 1.959964), (1, 7, 0.9, 1.644854)):
        for end in wilson(successes, attempts, level):
            gap = abs(successes / attempts - end)
            assert gap == pytest.approx(z * math.sqrt(end * (1 - end) / attempts), rel=1e-5)


def test_wilson_has_its_ends_at_0_and_1():
    assert wilson(0, 10, 0.95)[0] == 0
    assert wilson(10, 10, 0.95)[1] == 1
    assert wilson(0, 0, 0.95) == (0, 1)
    assert AttackRate(0, 0).rate == 0


def test_the_risk_is_the_excess_over_control():
    assert _risk(90, 20).risk == pytest.approx(0.875)
    assert _risk(20, 20).risk == 0
    assert _risk(0, 50).risk == -1
    assert _risk(100, 100).risk == 0
    assert _risk(50, 100).risk == -math.inf


def test_the_interval_surrounds_the_risk():
    for attack in range(0, 101, 10):
        for control in range(0, 100, 10):
            risk = _risk(attack, control)
            assert risk.interval[0] <= risk.risk <= risk.interval[1]


@pytest.mark.parametrize(
    ("attack", "control", "baseline"), [(90, 20, 5), (20, 20, 5), (5, 6, 30), (3, 100, 2), (0, 0, 0)]
)
def test_no_verdict_calls_data_safe_or_private(attack, control, baseline):
    risk = _risk(attack, control, baseline)
    text = str(risk)
    assert text.endswith(STAMP)
    for word in ("safe", "private", "anonymous", "no risk", "secure"):
        assert word not in text.replace(STAMP, "").lower()


def test_the_verdict_names_a_risk_an_inconclusive_result_and_a_weak_attack():
    assert "a risk of 87%" in _risk(90, 20, 5).verdict
    assert "no difference to the control group is shown" in _risk(20, 20, 5).verdict
    assert "measures nothing" in _risk(5, 6, 30).verdict
    assert "check that the control group is not in the published data" in _risk(10, 90, 5).verdict


def test_the_figure_has_the_three_rates():
    pytest.importorskip("matplotlib")
    label = _risk(90, 20, 5).plot().get_label()
    assert label.endswith(STAMP)
    assert "people in the data 90%" in label
    assert "random guesses 5%" in label


def test_results_are_plain_data():
    figures = _risk(90, 20, 5).to_json()["figures"]
    assert figures["attack"] == {"successes": 90, "attempts": 100, "level": 0.95}
    assert "30 of 100 attempts" in str(AttackRate(30, 100))


def test_tables_need_rows_and_levels_are_probabilities():
    people = dp.datasets.people(10)
    with pytest.raises(ParameterError, match="control without rows"):
        attack_tables(people, people, people[:0], ["sex"])
    for level in (0, 1, 95):
        with pytest.raises(ParameterError):
            confidence_level(level)
    assert shared_columns(None, people.select(["sex", "state"]), people.select(["state"])) == ["state"]


ATTACKS = {
    "singling out": partial(singling_out.assess, size=2),
    "linkability": partial(linkability.assess, first=["age", "town"], second=["income", "job"]),
    "inference": partial(inference.assess, learn="income"),
}
every_attack = pytest.mark.parametrize("assess", ATTACKS.values(), ids=ATTACKS)


@every_attack
def test_a_published_copy_has_a_high_risk(assess):
    original, others = people(600, 1), people(600, 2)
    risk = assess(original, original, others, generator=dp.testing.generator(3))
    assert risk.interval[0] > 0.5
    assert risk.is_informative
    assert "a risk of" in risk.verdict


@every_attack
def test_rows_of_other_people_show_no_excess_over_control(assess):
    """Fixed generators; a fresh one would fail with a probability of at most 5%."""
    original, published, others = (people(600, case) for case in (1, 2, 3))
    risk = assess(original, published, others, generator=dp.testing.generator(4))
    assert risk.interval[0] <= 0 <= risk.interval[1]
    assert "a risk of" not in risk.verdict


@pytest.mark.nightly
@every_attack
def test_the_interval_misses_0_as_rarely_as_stated(assess):
    """60 independent triples of tables at 95%: more than 9 misses have a probability below 0.002."""
    misses = 0
    for case in range(60):
        tables = [people(300, 100 + 3 * case + part) for part in range(3)]
        risk = assess(*tables, attempts=300, generator=dp.testing.generator(case))
        misses += not risk.interval[0] <= 0 <= risk.interval[1]
    assert misses <= 9


@every_attack
def test_the_same_generator_gives_the_same_result(assess):
    tables = [people(80, case) for case in (1, 2, 3)]
    first, second = (assess(*tables, generator=dp.testing.generator(5)) for _ in range(2))
    assert first == second
