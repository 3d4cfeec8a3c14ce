"""What a sample-and-aggregate release is, by public facts: columns, blocks, price, both neighbour relations."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.mechanisms import Gaussian
from discreet.planner.budget.allocation import Spending
from discreet.planner.queries.sample_and_aggregate import analyze_sample
from discreet.query.frame import relation_of
from former import former

T = dp.table("t")
ROWS = pa.table({"id": [1, 2], "x": [1, 2], "ward": ["a", "b"]})


def planned(budget=None, neighbours="add_remove", table=T, **words):
    asked = {"columns": ["x"], "blocks": 10, "bounds": (0, 100), "function": ("f", "ab"), "epsilon": 0.5}
    with dp.testing.protect(
        ROWS,
        name="t",
        privacy_unit="id",
        max_rows=3,
        neighbours=neighbours,
        budget=budget or dp.Budget(epsilon=2),
    ) as session:
        return analyze_sample(relation_of(table), session.catalog, session.ledger.budget("t"), **asked | words)


def test_only_the_columns_that_are_named_and_the_unit_are_read():
    assert planned().pushdown.columns_read == ("id", "x")
    narrowed = planned(table=T.where(T.ward == "a").derive(y=T.x * 2), columns=["y"])
    assert narrowed.pushdown.columns_read == ("id", "ward", "x")
    assert narrowed.pushdown.scan.max_rows == 3


@pytest.mark.guarantee("a replaced unit changes two blocks, and twice the noise covers it")
def test_a_replaced_unit_has_twice_the_noise_however_many_rows_a_unit_has():
    one, two = planned(), planned(neighbours="replace_one")
    assert two.mechanism.noise.sensitivity == 2 * one.mechanism.noise.sensitivity == 200


def test_under_a_delta_the_price_is_the_renyi_cost_of_the_epsilon_asked_for():
    budget = dp.Budget(epsilon=2, delta=1e-9)
    for aggregate in ("mean", "median", "mean with bounds of its own"):
        event = planned(budget, aggregate=aggregate).event
        assert 0.98 * budget.rho(0.5) * 10**15 <= budget.cost(event).renyi <= budget.rho(0.5) * 10**15 + 1


def test_without_a_default_a_block_that_fails_counts_as_the_middle():
    assert planned().default == 50
    assert planned(default=3).default == 3


def test_questions_that_differ_have_other_names():
    asked = [
        planned(),
        planned(function=("f", "cd")),
        planned(runs="longer"),
        planned(blocks=11),
        planned(bounds=(0, 99)),
        planned(default=1),
        planned(columns=["x", "ward"]),
        planned(columns=["ward", "x"]),
        planned(aggregate="median"),
        planned(epsilon=0.4),
    ]
    assert len({former(each) for each in asked}) == len(asked)
    assert former(planned()) == former(asked[0])


def test_a_mean_of_blocks_stays_within_its_bounds():
    asked = planned(epsilon=0.001, budget=dp.Budget(epsilon=2))
    assert all(0 <= asked.randomize([50] * 10).value <= 100 for _ in range(20))


@pytest.mark.parametrize("aggregate", ["mean", "mean with bounds of its own"])
def test_a_kind_of_noise_that_cannot_be_drawn_is_left_out_where_another_can(aggregate, monkeypatch):
    budget = dp.Budget(epsilon=2, delta=1e-9)
    monkeypatch.setattr(Spending, "pure_epsilon", property(lambda _: Fraction(1, 2**60)))
    assert isinstance(planned(budget, aggregate=aggregate).mechanism.noise, Gaussian)
