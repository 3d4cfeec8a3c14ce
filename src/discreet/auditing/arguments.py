"""What an audit is asked, refused before anything runs where it is no query, no claim or no way to make a session."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from discreet.auditing.claims import Claim
from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError
from discreet.exact.numbers import probability
from discreet.query.frame import Query
from discreet.session.session import Session

_QUERY = 'dp.table("visits").agg(n=dp.count())'


def refuse_no_plan(query: object, catalog: object) -> None:
    """Refuse what is not a query and then the facts that it is about."""
    if not isinstance(query, Query) or not isinstance(catalog, Catalog | Session):
        raise ParameterError(
            f"audit_plan of {type(query).__name__} and {type(catalog).__name__}",
            because="it is given a query, then a session or its catalog",
            instead=f"audit_plan({_QUERY}, session)",
        )


def checked_queries(queries: object) -> tuple[Query, ...]:
    """Several queries."""
    if isinstance(queries, Query):
        raise ParameterError(
            "a query in the place of a list of them",
            because="calls are compared for several queries",
            instead="compare_calls(make_session, one, other, [query])",
        )
    asked = tuple(queries) if isinstance(queries, Iterable) else (queries,)
    for each in asked:
        if not isinstance(each, Query):
            raise ParameterError(
                f"queries with one of type {type(each).__name__}",
                because="a session answers queries, which end in agg",
                instead=f"[{_QUERY}]",
            )
    return asked


def refuse_no_way_to_make_sessions(make_session: object) -> None:
    """Refuse a session itself, or anything else that cannot be called: each run has a session of its own."""
    if not callable(make_session):
        raise ParameterError(
            f"make_session of type {type(make_session).__name__}",
            because="it is a callable that opens a new session on a dataset",
            instead='lambda rows: dp.testing.protect(rows, name="visits", privacy_unit="patient", ...)',
        )


def checked_calls(calls: object) -> Mapping[str, Callable[[Session], Any]]:
    """More calls by name."""
    if calls is None:
        return {}
    if not isinstance(calls, Mapping) or not all(map(callable, calls.values())):
        raise ParameterError(
            f"calls of type {type(calls).__name__}",
            because="each is a callable of a session, under a name",
            instead='{"plot": lambda session: session.release(query, epsilon=0.1).plot()}',
        )
    return calls


def checked_claim(claim: object) -> Claim:
    """A claim; a number alone does not say of which parameter it is."""
    if isinstance(claim, type) or not callable(getattr(claim, "lines", None)):
        raise ParameterError(
            f"a claim of type {type(claim).__name__}",
            because="a claim is one of (epsilon, delta), rho and mu, and says which",
            instead="claim=auditing.claim(epsilon=1), or with delta=1e-6, or claim(rho=0.5), or claim(mu=1)",
        )
    return claim  # type: ignore[return-value]


def checked_alarm(alarm: object) -> float:
    """A chance of calling a true claim broken."""
    level = float(probability(alarm, "alarm", example="1e-3"))
    if not level:
        raise ParameterError(
            f"alarm={alarm!r}",
            because="samples refute nothing without a chance of being wrong",
            instead="alarm=1e-3, or another probability above zero",
        )
    return level
