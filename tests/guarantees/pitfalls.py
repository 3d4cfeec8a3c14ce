"""A small session, exact unless said otherwise, that known failures are tried on."""

import pyarrow as pa

import discreet as dp
from discreet.planner.queries.tables import analyze

T = dp.table("t")
BUDGET = dp.Budget(epsilon=1)


def opened(table, protect=dp.testing.protect, **words):
    facts = {"name": "t", "privacy_unit": dp.ROW, "budget": BUDGET, "fixed_schema": True}
    return protect(table, **(facts | words))


def exact(table, query, **words):
    """The exact answers to a query, one tuple for each output."""
    with opened(table, **words) as session:
        release = session.release(query, epsilon=0.5)
        return tuple(release[output.name] for output in release.outputs)


def total(table, column="x", bounds=(0, 100), **words):
    return exact(table, T.agg(s=dp.sum(column, bounds=bounds)), **words)[0][0]


def reals(values):
    return pa.table({"x": pa.array(values, pa.float64())})


def analyzed(session, query, **price):
    """The private plan of a query, with the sensitivity of each measure."""
    return analyze(query.plan, session.catalog, session.remaining().budget, **price)
