"""Plans are values: frozen, comparable, without behaviour, and free of anything that knows data."""

import dataclasses
import inspect
import pickle
from fractions import Fraction

from discreet import plan
from grids import over

NODES = [kind for _, kind in inspect.getmembers(plan, dataclasses.is_dataclass)]


def _query() -> plan.Aggregate:
    old = plan.Compare(">=", plan.Column("age"), plan.Literal(40))
    cost = plan.Combine("/", plan.Column("cost"), plan.Literal(100))
    rows = plan.Derive(plan.Where(plan.Table("visits"), old), "euros", cost)
    outputs = (plan.Output("n", plan.Count()), plan.Output("cost", plan.Sum(plan.Column("euros")), Fraction(2)))
    return plan.Aggregate(rows, outputs, plan.Grouping(("ward",), (("A", "B"),)))


@over("kind", NODES)
def test_every_node_is_frozen_and_says_what_it_is(kind):
    assert kind.__dataclass_params__.frozen
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{kind.__name__}(")


@over("kind", NODES)
def test_no_node_has_behaviour_of_its_own(kind):
    own = {name for name, value in vars(kind).items() if inspect.isfunction(value) and not name.startswith("__")}
    assert own == set()


def test_queries_that_ask_the_same_are_equal_and_hash_alike():
    assert _query() == _query()
    assert hash(_query()) == hash(_query())
    assert len({_query(), _query()}) == 1


def test_a_query_survives_another_process():
    assert pickle.loads(pickle.dumps(_query())) == _query()  # noqa: S301 - our own bytes


def test_a_question_without_a_grouping_has_one_group():
    aggregate = plan.Aggregate(plan.Table("visits"), (plan.Output("n", plan.Count()),))
    assert aggregate.grouping == plan.Grouping()
    assert aggregate.grouping.columns == ()


def test_every_node_belongs_to_one_family():
    families = (plan.Expression, plan.Measure, plan.Relation)
    members = [kind for family in families for kind in family.__args__]
    assert len(set(members)) == len(members)
    assert set(NODES) - set(members) == {
        plan.Output,
        plan.Discovery,
        plan.Grouping,
        plan.Aggregate,
        plan.Contest,
        plan.Extreme,
        plan.Feature,
        plan.Search,
    }
