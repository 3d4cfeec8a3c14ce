"""One number asked of a session, and the deviation of the noise on it, as anyone can compute it from the release."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import ParameterError
from discreet.exact.numbers import Number
from discreet.mechanisms import AdditiveNoise
from discreet.query import frame
from discreet.query.expression import Expr
from discreet.query.frame import Query
from discreet.release.release import Release
from discreet.session.session import Session


@dataclass(frozen=True)
class Answer:
    """An answer and the standard deviation of its noise: 0 where it is exact."""

    value: float
    deviation: float
    is_private: bool = True


def checked_session(session: object) -> None:
    """Refuse to attack what is no session."""
    if not isinstance(session, Session):
        raise ParameterError(
            f"a session of type {type(session).__name__}",
            because="an analyst's queries need a session",
            instead='dp.protect("people.csv", privacy_unit="person_id", max_rows=1, budget=dp.Budget(epsilon=1))',
        )


def neighbours_of(session: Session, table: str) -> Neighbours:
    """The neighbour relation of a session's table."""
    return session.catalog.tables[table].neighbours


def ask_number(session: Session, query: Query, *, epsilon: Number, fresh: bool = False) -> Answer:
    """Release a query whose answer is one number: a count or a sum."""
    release = session.release(query, epsilon=epsilon, fresh=fresh)
    return Answer(release.value() or 0, deviation(release), release.private)


def deviation(release: Release) -> float:
    """The standard deviation of the noise on a release of counts, or of one sum."""
    return noise_of(release).standard_deviation * float(release.measured[0].grid) if release.private else 0.0


def noise_of(release: Release) -> AdditiveNoise:
    """The noise on the first integers of a release of counts or sums, which is additive."""
    noise = release.measured[0].noise
    assert noise is not None  # noqa: S101 - counts and sums have additive noise
    return noise


def is_anybody_else(table: str, person: Mapping[str, Any]) -> Expr:
    """The condition that leaves out people with all these values; None stands for a missing one."""
    columns = frame.table(table)
    parts = [
        columns[name].is_present() if known is None else (columns[name] != known) | columns[name].is_missing()
        for name, known in person.items()
    ]
    return reduce(or_, parts)
