"""Plans are values: frozen, comparable, without behaviour, and free of anything that knows data."""

import dataclasses
import inspect
import pickle
from fractions import Fraction

from discreet.plan import logical
from grids import over

NODES = [kind for _, kind in inspect.getmembers(logical, dataclasses.is_dataclass)]


def _query() -> logical.Aggregate:
    old = logical.Compare(">=", logical.ColumnRef("age"), logical.Literal(40))
    cost = logical.Combine("/", logical.ColumnRef("cost"), logical.Literal(100))
    rows = logical.Derive(logical.Where(logical.TableRef("visits"), old), "euros", cost)
    outputs = (
        logical.Output("n", logical.Count()),
        logical.Output("cost", logical.Sum(logical.ColumnRef("euros")), Fraction(2)),
    )
    return logical.Aggregate(rows, outputs, logical.Grouping(("ward",), (("A", "B"),)))


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
    aggregate = logical.Aggregate(logical.TableRef("visits"), (logical.Output("n", logical.Count()),))
    assert aggregate.grouping == logical.Grouping()
    assert aggregate.grouping.columns == ()


def test_every_node_belongs_to_one_family():
    families = (logical.Expression, logical.Measure, logical.Relation)
    members = [kind for family in families for kind in family.__args__]
    assert len(set(members)) == len(members)
    assert set(NODES) - set(members) == {
        logical.Output,
        logical.Discovery,
        logical.Grouping,
        logical.Aggregate,
        logical.SelectionQuery,
        logical.UnitExtreme,
        logical.UnitFeature,
        logical.Search,
    }
