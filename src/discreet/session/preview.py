"""Previews: a query answered on a generated twin of the catalog, in a ledger that is forgotten.

The twin has other names than the catalog: `visits (generated data)`. So the label is in everything that a result says
of itself, and no check of a saved file takes it for a release of the dataset.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.catalog.catalog import Catalog, Table, Through
from discreet.errors import ParameterError, Refusal, short_traceback
from discreet.exact.numbers import Number
from discreet.ledger import SQLiteLedger
from discreet.plan import logical
from discreet.planner.budget.price import Price
from discreet.planner.queries.tables import MechanismName
from discreet.query.applications import Application
from discreet.query.frame import Query
from discreet.query.models import ModelQuery
from discreet.query.scores import Choice
from discreet.query.sql.statement import Statement
from discreet.query.synthesis import SynthesisQuery
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.release.values.rendering import GENERATED
from discreet.session.session import Session
from discreet.session.statements import translate
from discreet.session.twin import Link, Twin, links_of

_LONGEST = 180


@short_traceback
def preview(
    catalog: Catalog | str | Path,
    query: Query | Choice | Application | Statement | Sequence[Query | Choice | Application],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    mechanism: MechanismName | None = None,
    weights: Sequence[Number] | None = None,
    confidence: Number = DEFAULT_CONFIDENCE,
) -> Any:
    """Answer a query on generated data, for free. No source is opened, and no ledger is charged.

    Rows are generated from the catalog alone: types, bounds, keys, contribution bounds and declared rows. The noise and
    the margins of error are those of a release with the same parameters. The result is marked as generated data.

    Args:
        catalog: A catalog, the path of one in YAML, or `session.catalog`.
        query: A query (`Frame.agg`, `Frame.choose`, `Frame.apply`, `dp.sql`), or a list of them.
        epsilon: Privacy cost of the query.
        rho: The same in zero-concentrated differential privacy, under a budget with a delta.
        delta: As for `Session.release`, or for the unknown keys of a statement. Default: none.
        mechanism: Additive noise, as for `Session.release`. Default: chosen by the budget.
        weights: Of a batch: how the cost is divided over its queries. Default: evenly.
        confidence: Probability with which margins of error hold. Default 0.95.

    Returns:
        What `Session.release` returns for such a query, from `visits (generated data)` in the place of `visits`.

    Raises:
        Refusal: If the query would be refused under a budget of which nothing is spent.

    Example:
        >>> import discreet as dp
        >>> catalog = dp.Catalog.parse('''
        ... catalog: discreet.catalog/1
        ... tables:
        ...   visits:
        ...     source: visits.csv
        ...     privacy_unit: patient_id
        ...     max_rows: 10
        ...     budget: {epsilon: 2}
        ...     columns: {patient_id: {type: integer}, ward: {type: text, keys: [A, B]}}
        ... ''')
        >>> table = dp.preview(catalog, dp.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"), epsilon=0.5)
        >>> table["ward"], table.releases[0].dataset
        (('A', 'B'), 'visits (generated data)')
    """
    given: object = catalog
    if isinstance(given, Session):
        raise ParameterError(
            "a preview of a session",
            because="it is made from the catalog alone",
            instead="dp.preview(session.catalog, query, epsilon=0.5)",
        )
    known = catalog if isinstance(catalog, Catalog) else Catalog.load(catalog)
    price = Price(epsilon, rho, delta, mechanism)
    translated = translate(query, known, price) if isinstance(query, Statement) else None
    if translated is not None:
        query, price = translated.queries, translated.price
    names = {name: twin_name(name) for name in known.tables}
    with _names_of_the_catalog(names), _open_twin(known, names, _links(query, known)) as session:
        asked: Any = _twin_query(query, known)
        spend: Any = {name: getattr(price, name) for name in ("epsilon", "rho", "delta", "mechanism")}
        answer: Any = session.release(asked, **spend, weights=weights, confidence=confidence)
    return answer if translated is None else translated.result(answer)


def twin_name(name: str) -> str:
    """The name of the twin of a table."""
    return name[:_LONGEST] + GENERATED


@contextmanager
def _open_twin(catalog: Catalog, names: dict[str, str], links: list[Link]) -> Iterator[Session]:
    """A session over generated tables, with a ledger in memory that has no key and is gone with the session."""
    tables = Twin(catalog, links).tables
    facts = Catalog(tables={names[name]: _twin_table(table, names) for name, table in catalog.tables.items()})
    sources = {names[name]: table for name, table in tables.items()}
    with SQLiteLedger(":memory:") as ledger, Session(facts, sources=sources, ledger=ledger) as session:
        yield session


def _twin_table(table: Table, names: dict[str, str]) -> Table:
    facts: dict[str, Any] = {"source": None, "relation": None, "delimiter": None, "fixed_schema": not table.public}
    if isinstance(way := table.privacy_unit, Through):
        facts["privacy_unit"] = way.model_copy(update={"through": names[way.through]})
    if table.slice is not None:
        facts["slice"] = table.slice.model_copy(update={"of": twin_name(table.slice.of)})
    return table.model_copy(update=facts)


def _links(query: object, catalog: Catalog) -> list[Link]:
    match query:
        case Query(plan) | Choice(plan):
            return links_of(plan.source, catalog)
        case Application(source) | ModelQuery(source) | SynthesisQuery(source):
            return links_of(source, catalog)
        case list() | tuple():
            return [link for each in query for link in _links(each, catalog)]
    return []


def _twin_query(query: Any, catalog: Catalog) -> Any:
    """A query of the twin's tables; what is not a query is left to be refused."""
    match query:
        case Query(plan):
            return Query(_twin_plan(plan, catalog))
        case Choice(plan):
            return replace(query, plan=_twin_plan(plan, catalog))
        case Application(source) | ModelQuery(source) | SynthesisQuery(source):
            return replace(query, source=_twin_plan(source, catalog))
        case list() | tuple():
            return [_twin_query(each, catalog) for each in query]
    return query


def _twin_plan(plan: Any, catalog: Catalog) -> Any:
    """A plan with the names of the twin's tables; a table that the catalog does not have is refused."""
    if isinstance(plan, logical.TableRef):
        catalog.table(plan.name)
        return logical.TableRef(twin_name(plan.name))
    if not hasattr(plan, "source"):
        return plan
    if isinstance(plan, logical.Join):
        catalog.table(plan.table)
        plan = replace(plan, table=twin_name(plan.table))
    return replace(plan, source=_twin_plan(plan.source, catalog))


@contextmanager
def _names_of_the_catalog(names: dict[str, str]) -> Iterator[None]:
    """Refusals name tables as the catalog does: their advice is for the real query."""
    try:
        yield
    except Refusal as error:
        parts = [error.what, error.because, error.instead]
        for name, twin in names.items():
            parts = [part.replace(twin, name) for part in parts]
        raise type(error)(parts[0], because=parts[1], instead=parts[2]) from None
