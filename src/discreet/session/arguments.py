"""Arguments of session calls, validated before anything else."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypedDict, get_args

from discreet.catalog.columns import ColumnType, is_plain, python_value
from discreet.errors import ParameterError
from discreet.exact.numbers import Number, probability
from discreet.plan import logical
from discreet.plan.slots import SlotColumn
from discreet.planner.budget.allocation import MechanismName
from discreet.planner.budget.price import Price
from discreet.planner.expected_error import Sizes
from discreet.planner.resolve.validation import validate
from discreet.query.applications import Application
from discreet.query.found_slots import SlotsQuery
from discreet.query.frame import Frame, Query, relation_of
from discreet.query.methods import Method
from discreet.query.models import ModelQuery
from discreet.query.scores import Choice
from discreet.query.synthesis import SynthesisQuery
from discreet.sandbox import blocks, transport
from discreet.session.kind import Request

Question = Query | Choice | Application | ModelQuery | SynthesisQuery | SlotsQuery
_PLAIN_FIELDS: dict[type, tuple[str, ...]] = {
    ModelQuery: ("target", "features"),
    SynthesisQuery: ("columns", "edges", "workload", "keys", "bounds", "found"),
    SlotsQuery: ("columns", "bins"),
}
"""Fields of names and values; the others are checked by their own kind of query."""
_CALLS: dict[type, str] = {
    ModelQuery: 'dp.table("people").fit(model, target="income")',
    SynthesisQuery: 'dp.table("people").synthesize(synthesizer)',
    SlotsQuery: 'dp.table("people").find_slots(["age"])',
}
_OTHERS = (Choice, Application, ModelQuery, SynthesisQuery, SlotsQuery)


class Spend(TypedDict, total=False):
    """What a query may spend, and how sure its margins are."""

    epsilon: Number | None
    rho: Number | None
    delta: Number | None
    mechanism: MechanismName | None
    weights: Sequence[Number] | None
    confidence: Number


class Preview(Spend, total=False):
    """The same for an explanation: with public sizes of groups, it says how wrong each is expected to be."""

    sizes: Sizes | None


class Once(Spend, total=False):
    """The same for an answer: whether it is new, and the key of a retry."""

    fresh: bool
    idempotency_key: str | None


def validate_query(query: object) -> Query:
    """A query whose plan is valid, or an error for anything else."""
    if isinstance(query, Query):
        return Query(_of_kind(query.plan, logical.Aggregate))
    refuse_several(query)
    raise ParameterError(
        f"a query of type {type(query).__name__}",
        because="only aggregates are released",
        instead='dp.table("visits").agg(n=dp.count())',
    )


def refuse_several(query: object) -> None:
    """Refuse a list where one query is expected."""
    if isinstance(query, list | tuple):
        raise ParameterError(
            "several queries where one is asked",
            because="only explain and release take a list of them",
            instead="one of them after the other",
        )


def validate_request(
    query: object, modules: Sequence[str], *, weights: object, delta: object, mechanism: object, method: object
) -> Any:
    """A query that is answered once, or a tuple of them for a batch, valid and with functions packed."""
    several = query if isinstance(query, Sequence) and not isinstance(query, str) else None
    if mechanism is not None:
        _refuse_no_table(several or [query], mechanism, method)
    if method is not None:
        _refuse_other_method(query, method, delta)
    elif several is not None:
        return _several(several, modules)
    for name, value in (("weights", weights), ("delta", delta)):
        if value is not None:
            raise ParameterError(
                f"{name}=... beside one query",
                because="a batch of several has it",
                instead=f"session.release([query, another], {name}=..., epsilon=1)",
            )
    return _one(query, modules)


def checked_fresh(fresh: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(fresh, bool):
        raise ParameterError(f"fresh={fresh!r}", because="it is True or False", instead="fresh=True")


def request_of(
    query: object, modules: Sequence[str], price: Price, method: Method | None, weights: Sequence[Number] | None
) -> Request:
    """The request of a call, refused here where something is not what it should be."""
    given: dict[str, Any] = {"weights": weights, "delta": price.delta, "mechanism": price.mechanism}
    question = validate_request(query, modules, **given, method=method)
    shares = None if weights is None else tuple(weights)
    delta = getattr(method, "delta", None) if method is not None else price.delta
    return Request(question, replace(price, delta=delta), method, shares)


def _one(query: object, modules: Sequence[str]) -> Question:
    """One query, valid; a function is packed into bytes, so that it is the same from here on."""
    match query:
        case Choice(plan, top):
            return Choice(_of_kind(plan, logical.SelectionQuery), top)
        case Application(source, function):
            blocks.limits_or_default(query.limits)
            relation = _of_kind(source, *get_args(logical.Relation))
            return replace(query, source=relation, function=transport.pack(function, modules))
        case ModelQuery(source) | SynthesisQuery(source) | SlotsQuery(source):
            others = {name: _plain(getattr(query, name), type(query)) for name in _PLAIN_FIELDS[type(query)]}
            return replace(query, source=_of_kind(source, *get_args(logical.Relation)), **others)
    return validate_query(query)


def _plain(value: Any, owner: type) -> Any:
    """Names and values of plain classes: methods of a subclass would run beside exact counts, or write SQL."""
    if isinstance(value, tuple | list):
        return tuple(_plain(each, owner) for each in value)
    if type(value) is SlotColumn:
        parts = (_plain(part, owner) for part in (value.name, value.edges, value.values))
        name, edges, values = parts
        return SlotColumn(name, ColumnType(value.type), edges, values)
    plain = python_value(value)
    if is_plain(plain):
        return plain
    raise ParameterError(
        f"a {type(value).__name__} in a {owner.__name__}",
        because="columns are named by text, and slots are numbers, text, booleans, dates and times",
        instead=f"a query of {_CALLS[owner]}",
    )


def _several(queries: Sequence[object], modules: Sequence[str]) -> tuple[Question, ...]:
    if not queries:
        raise ParameterError("a batch of nothing", because="it has no query", instead="release([query], epsilon=1)")
    return tuple(_one(each, modules) for each in queries)


def _refuse_no_table(questions: Sequence[object], mechanism: object, method: object) -> None:
    """Refuse additive noise by name where a query gets other noise: the guarantee would be stated for the named."""
    if method is not None or any(isinstance(each, _OTHERS) for each in questions):
        raise ParameterError(
            f"mechanism={mechanism!r} beside a choice, a function, a model, a synthesizer or a method",
            because="it names the additive noise of tables",
            instead="session.release(query, epsilon=1) without mechanism",
        )


def _refuse_other_method(query: object, method: object, delta: object) -> None:
    """Refuse what is not a method, and what does not go with one."""
    if not isinstance(method, Method):
        raise ParameterError(
            f"method={method!r}",
            because="a method is an object with its parameters",
            instead="method=dp.SmoothSensitivity(), or method=dp.ProposedBound(bound=1, delta=1e-10)",
        )
    if not isinstance(query, Query):
        raise ParameterError(
            f"a method beside a query of type {type(query).__name__}",
            because="a method answers one mean, median or interquartile range",
            instead='dp.table("visits").agg(age=dp.median("age", bounds=(0, 120)))',
        )
    if delta is not None:
        raise ParameterError(
            "delta=... beside a method",
            because="the method has a delta of its own",
            instead="method=dp.ProposedBound(bound=1, delta=1e-10)",
        )


def checked_relation(table: object) -> logical.Relation:
    """What a table of the catalog stands for, if it is valid, or an error for anything else."""
    if isinstance(table, Frame):
        relation: logical.Relation = _of_kind(relation_of(table), *get_args(logical.Relation))
        return relation
    raise ParameterError(
        f"a table of type {type(table).__name__}",
        because="the rows are named by a table of the catalog, with conditions on it",
        instead='session.online_ranges(dp.table("visits"), "age", ...)',
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
        return validate(part)
    raise ParameterError(
        f"a plan of type {type(part).__name__}",
        because="only aggregates of a table are released",
        instead='dp.table("visits").agg(n=dp.count())',
    )


def table_name(query: Query) -> str:
    """The name of the table at the bottom of a query."""
    return bottom(query.plan.source)


def bottom(relation: logical.Relation) -> str:
    """The name of the table at the bottom of a chain."""
    while not isinstance(relation, logical.TableRef):
        relation = relation.source
    return relation.name
