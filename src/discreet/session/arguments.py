"""What verbs of a session are given, refused before anything else where it is something else."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeGuard, get_args

from discreet.errors import ParameterError
from discreet.exact import Number, probability
from discreet.plan import logical
from discreet.planner.resolve.validation import validated
from discreet.query.frame import Frame, Query, relation_of
from discreet.query.scores import Score


def asked_query(query: object) -> Query:
    """A question whose plan is valid, or the refusal of what is none."""
    if isinstance(query, Query):
        return Query(_of_kind(query.plan, logical.Aggregate))
    if isinstance(query, list | tuple):
        raise ParameterError(
            "several queries where one is asked",
            because="only explain and release take a list of them",
            instead="one of them after the other",
        )
    raise ParameterError(
        f"a query of type {type(query).__name__}",
        because="only aggregates are released",
        instead='dp.table("visits").agg(n=dp.count())',
    )


def is_batch(query: object, *, weights: object, delta: object) -> TypeGuard[Sequence[Query]]:
    """Whether several questions are asked at once; what only they have is refused beside one."""
    if isinstance(query, Sequence) and not isinstance(query, str):
        if not query:
            raise ParameterError(
                "a batch of nothing", because="it has questions", instead="release([query], epsilon=1)"
            )
        return True
    for name, value in (("weights", weights), ("delta", delta)):
        if value is not None:
            raise ParameterError(
                f"{name}=... beside one question",
                because="a batch of several has it",
                instead=f"session.release([query, another], {name}=..., epsilon=1)",
            )
    return False


def framed(table: object) -> logical.Relation:
    """What a table of the catalog stands for, if it is valid, or the refusal of what is none."""
    if isinstance(table, Frame):
        relation: logical.Relation = _of_kind(relation_of(table), *get_args(logical.Relation))
        return relation
    raise ParameterError(
        f"a table of type {type(table).__name__}",
        because="the rows are named by a table of the catalog, with conditions on it",
        instead='session.sample(dp.table("visits"), function, ...)',
    )


def contest_of(score: object, candidates: object) -> logical.Contest:
    """The question of a score and its candidates, if it is valid, or the refusal of what is none."""
    if isinstance(score, Score):
        contest: logical.Contest = _of_kind(score.contest(candidates), logical.Contest)
        return contest
    raise ParameterError(
        f"a score of type {type(score).__name__}",
        because="candidates are chosen by a score that the engine computes",
        instead='session.select(["A", "B"], dp.score(dp.table("visits"), by="ward"), epsilon=0.1)',
    )


def confidence_of(value: Number) -> Fraction:
    """How often a margin holds."""
    level = probability(value, "confidence", example="0.95")
    if level == 0:
        raise ParameterError("confidence=0", because="such a margin says nothing", instead="confidence=0.95")
    return level


def _of_kind(part: Any, *kinds: type) -> Any:
    """A valid plan of one of some kinds; every plan that a session is given passes here, before anything is charged."""
    if type(part) in kinds:
        return validated(part)
    raise ParameterError(
        f"a plan of type {type(part).__name__}",
        because="only aggregates of a table are released",
        instead='dp.table("visits").agg(n=dp.count())',
    )
