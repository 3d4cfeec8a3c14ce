"""Under constraints no marginal and no row has a forbidden combination, and everything else changes little."""

import numpy as np
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.plan.slots import SlotColumn
from discreet.synthesis.rows.constraints import Exclusion, Implication, slot_rules
from discreet.synthesis.tree.constrain import constrain
from discreet.synthesis.tree.model import TreeColumn, TreeModel

RNG = np.random.default_rng(8)
CITY = SlotColumn("city", ColumnType.TEXT, values=("Rome", "Milan", "Pisa"))
STATE = SlotColumn("state", ColumnType.TEXT, values=("Lazio", "Lombardy"))
AGE = SlotColumn("age", ColumnType.INTEGER, edges=(0, 17, 30, 90))
COLUMNS = (CITY, STATE, AGE)


def model(*, merged=False):
    joint = RNG.dirichlet(np.ones(4 * 3 * 4)).reshape(4, 3, 4)
    tables = {("city", "state"): joint.sum(2), ("state", "age"): joint.sum(0)}
    city = TreeColumn((0, 1, 2, 3), np.ones(4), joint.sum((1, 2)))
    if merged:
        city = TreeColumn((0, 1, 1, 1), np.array([1, 0.5, 0.3, 0.2]), np.array([0.4, 0.6]))
        tables["city", "state"] = np.outer([0.4, 0.6], joint.sum((0, 2)))
    columns = {
        "city": city,
        "state": TreeColumn((0, 1, 2), np.ones(3), joint.sum((0, 2))),
        "age": TreeColumn((0, 1, 2, 3), np.ones(4), joint.sum((0, 1))),
    }
    return TreeModel(1_000.0, columns, tables)


RULES = slot_rules(
    [Implication("city", "state", {"Rome": "Lazio", "Milan": "Lombardy"}), Exclusion({"age": (None, 17)})], COLUMNS
)


@pytest.mark.parametrize("merged", [False, True])
def test_forbidden_cells_are_zero_in_marginals_and_rows(merged):
    found = constrain(model(merged=merged), RULES)
    pair, age = found.marginal(("city", "state")), found.marginal(("age",))
    assert pair[0, 1] == pair[0, 2] == pair[1, 0] == pair[1, 2] == age[0] == 0
    assert pair.sum() == pytest.approx(1_000)
    rows = found.rows(2_000, np.random.default_rng(0))
    assert (rows[rows[:, 0] == 0, 1] == 0).all()
    assert (rows[rows[:, 0] == 1, 1] == 1).all()
    assert (rows[:, 2] > 0).all()


def test_tables_agree_with_their_columns_after_it():
    found = constrain(model(merged=True), RULES)
    for pair, table in found.tables.items():
        assert table.sum(axis=1) == pytest.approx(found.columns[pair[0]].probabilities)
        assert table.sum(axis=0) == pytest.approx(found.columns[pair[1]].probabilities)


def test_merged_cities_keep_about_their_numbers():
    before = model(merged=True)
    after = constrain(before, slot_rules([Implication("city", "state", {"Milan": "Lombardy"})], COLUMNS))
    assert after.marginal(("city",)) == pytest.approx(before.marginal(("city",)), rel=0.2)


def test_a_model_that_fulfils_its_rules_does_not_change():
    once = constrain(model(), RULES)
    again = constrain(once, RULES)
    assert again.marginal(("city", "state", "age")) == pytest.approx(once.marginal(("city", "state", "age")), abs=1e-3)


def test_what_is_allowed_is_left_even_if_the_model_gives_it_no_probability():
    rules = slot_rules([Exclusion({"age": (0, 90)})], COLUMNS)
    certain = TreeColumn((0, 1, 2, 3), np.ones(4), np.array([1.0, 0, 0, 0]))
    found = constrain(TreeModel(50.0, {"age": certain}, {}), rules)
    assert found.marginal(("age",)).tolist() == [0, 0, 0, 50]


def test_without_rules_a_model_stays_as_it_is():
    same = model()
    assert constrain(same, ()) is same
