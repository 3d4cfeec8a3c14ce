"""Which analysis a question belongs to: the one list of kinds of questions whose answers are tables."""

from discreet import plan
from discreet.accounting.filters import Budget
from discreet.analysis import analyze
from discreet.analysis.allocation import MechanismName
from discreet.analysis.asked import TablePlan
from discreet.catalog import Catalog
from discreet.exact import Number


def planned(
    query: plan.Question,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismName | None = None,
) -> TablePlan:
    """The private plan of a question, or its refusal; nothing here depends on the data."""
    return analyze(query, catalog, budget, epsilon=epsilon, rho=rho, mechanism=mechanism)
