"""Every kind of question finds its analysis."""

import discreet as dp
from discreet.analysis.planning import planned
from discreet.analysis.private import PrivatePlan
from discreet.catalog import Catalog

COLUMNS = {"id": {"type": "text"}, "age": {"type": "integer", "bounds": [0, 120]}}
CATALOG = Catalog.model_validate({"tables": {"visits": {"columns": COLUMNS, "privacy_unit": "id", "max_rows": 2}}})


def test_counts_sums_and_means_are_private_plans():
    query = dp.table("visits").agg(n=dp.count(), total=dp.sum("age"), average=dp.mean("age"))
    assert isinstance(planned(query.plan, CATALOG, dp.Budget(epsilon=1), epsilon=1), PrivatePlan)
