"""A small session that hostile numbers, questions and data are thrown at."""

import pyarrow as pa

import discreet as dp

T = dp.table("t")
COUNT = T.agg(n=dp.count())
ROWS = pa.table({"id": ["a", "b"], "w": ["A", "B"], "x": [1.0, 2.0]})


def opened(rows=ROWS, protect=dp.protect, **words):
    facts = {"name": "t", "privacy_unit": "id", "max_rows": 2, "budget": dp.Budget(epsilon=1)}
    return protect(rows, **(facts | words))


def exact(rows, query, **words):
    with opened(rows, dp.testing.protect, **words) as session:
        release = session.release(query, epsilon=0.5)
        return tuple(release[output.name] for output in release.outputs)


def spent(session):
    return session.ledger.spent("t")


def outcome(call):
    """What a call returns, or the exception of ours that it raises."""
    try:
        return call()
    except dp.errors.DiscreetError as error:
        return error
