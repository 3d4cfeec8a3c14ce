"""What generalisation would cost: the optimum of the search, with its loss as a share."""

import numpy as np
import pyarrow as pa
import pytest
from cubes import cube_of

from discreet.anonymity.report.generalisation_cost import AS_IT_IS, LEFT_OUT, GeneralisationCost, generalisation_costs


def cube_from(**columns):
    table = pa.table(columns)
    groups = table.group_by(list(columns)).aggregate([([], "count_all")])
    return cube_of(groups, list(columns), people="count_all")


def test_a_cost_has_a_cell_for_each_column_and_for_what_is_left():
    cost = GeneralisationCost(5, {"zip": "130**"}, 12, 3, 0.25, 40, 0.2)
    assert cost.cells() == [
        ("zip", "130**"),
        ("classes left", "12"),
        ("people left out", "3"),
        ("loss", "25%"),
        ("local recoding: classes left", "40"),
        ("local recoding: loss", "20%"),
    ]


def test_a_file_that_reaches_k_loses_nothing():
    (cost,) = generalisation_costs(cube_from(sex=["f", "m"] * 10), None, [5])
    assert cost.levels == {"sex": AS_IT_IS}
    assert (cost.loss, cost.classes, cost.suppressed) == (0, 2, 0)
    assert (cost.local_loss, cost.local_classes) == (0, 2)


def test_the_loss_grows_with_k_up_to_all():
    ages = np.arange(40) + 20
    costs = generalisation_costs(cube_from(age=ages, sex=["f", "m"] * 20), None, [2, 5, 10, 40])
    losses = [cost.loss for cost in costs]
    assert losses == sorted(losses)
    assert 0 < losses[0] < 1
    assert costs[-1].levels == {"age": LEFT_OUT, "sex": LEFT_OUT}
    assert losses[-1] == pytest.approx(1)


def test_a_k_above_the_number_of_people_has_no_cost():
    assert generalisation_costs(cube_from(sex=["f", "m"]), None, [5]) == ()


def test_an_empty_table_has_no_cost():
    empty = cube_of(pa.table({"a": pa.array([], pa.string()), "n": pa.array([], pa.int64())}), ["a"], people="n")
    assert generalisation_costs(empty, None, [2]) == ()
