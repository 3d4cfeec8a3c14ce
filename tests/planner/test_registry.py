"""Every kind of question finds its analysis."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.catalog.catalog import Catalog
from discreet.errors import TypeMismatchError
from discreet.planner.queries.aggregate import AggregatePlan
from discreet.planner.queries.auto_bounds import AutoBoundsPlan
from discreet.planner.queries.hierarchy import HierarchyPlan
from discreet.planner.queries.quantiles import QuantilePlan
from discreet.planner.queries.ranges import RangePlan
from discreet.planner.registry import plan_query

COLUMNS = {"id": {"type": "text"}, "age": {"type": "integer", "bounds": [0, 120]}}
CATALOG = Catalog.model_validate({"tables": {"visits": {"columns": COLUMNS, "privacy_unit": "id", "max_rows": 2}}})


def test_counts_sums_and_means_are_private_plans():
    query = dp.table("visits").agg(n=dp.count(), total=dp.sum("age"), average=dp.mean("age"))
    assert isinstance(plan_query(query.plan, CATALOG, dp.Budget(epsilon=1), epsilon=1), AggregatePlan)


VISITS = dp.table("visits")
KINDS = {
    "median": (VISITS.agg(m=dp.median("age")), QuantilePlan),
    "quantile": (VISITS.agg(q=dp.quantile("age", 0.9)), QuantilePlan),
    "ranges": (VISITS.ranges("age", ranges=[(0, 18), (18, 65)]), RangePlan),
    "hierarchy": (VISITS.hierarchy("id", keys=pa.table({"id": ["a", "b"]})), HierarchyPlan),
    "automatic bounds": (VISITS.agg(s=dp.sum("age", bounds="auto")), AutoBoundsPlan),
    "bounds alone": (VISITS.bounds("age"), AutoBoundsPlan),
}


@pytest.mark.parametrize(("query", "kind"), KINDS.values(), ids=KINDS)
def test_other_aggregates_have_plans_of_their_own(query, kind):
    assert isinstance(plan_query(query.plan, CATALOG, dp.Budget(epsilon=1), epsilon=1), kind)


@pytest.mark.parametrize("query", [dp.table("visits").histogram("id", bins=["a"])])
def test_a_histogram_of_text_is_refused_with_groups(query):
    with pytest.raises(TypeMismatchError, match="a histogram of 'id'") as caught:
        plan_query(query.plan, CATALOG, dp.Budget(epsilon=1), epsilon=1)
    assert caught.value.instead.startswith('group_by("id").agg(n=dp.count())')
