"""Previews: a query answered on a generated twin of the catalog, in a ledger that is forgotten.

The twin has other names than the catalog: `visits (generated data)`. So the label is in everything that a result says
of itself, and no check of a saved file takes it for a release of the dataset.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.catalog.catalog import Catalog, Table, Through
from discreet.errors import ParameterError, Refusal, short_traceback
from discreet.exact.numbers import Number
from discreet.ledger import SQLiteLedger
from discreet.plan import logical
from discreet.planner.budget.price import Price
from discreet.planner.queries.tables import MechanismName
from discreet.query.applications import Application
from discreet.query.found_slots import SlotsQuery
from discreet.query.frame import Query
from discreet.query.models import ModelQuery
from discreet.query.scores import Choice
from discreet.query.sql.statement import Statement
from discreet.query.synthesis import SynthesisQuery
from discreet.release.explanation import BatchExplanation, Explanation
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.release.synthetic import SyntheticTable
from discreet.release.values.rendering import EXACT_SYNTHETIC, GENERATED, SYNTHETIC
from discreet.session.session import Session
from discreet.session.statements import translate
from discreet.session.twin import MOST_ROWS, Link, Twin, links_of

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
    synthetic: SyntheticTable | None = None,
) -> Any:
    """Answer a query on generated data, for free. No source is opened, and no ledger is charged.

    Rows are generated from the catalog alone: types, bounds, keys, contribution bounds and declared rows. The noise and
    the margins of error are those of a release with the same parameters. The result is marked as generated data.

    With a released synthetic table, its rows stand in for those of its dataset. Each row is then a unit of its own. The
    result is marked as one of a synthetic table; its margins are for the noise, and not for the synthesis.

    Args:
        catalog: A catalog, the path of one in YAML, or `session.catalog`.
        query: A query (`Frame.agg`, `Frame.choose`, `Frame.apply`, `dp.sql`), or a list of them.
        epsilon: Privacy cost of the query.
        rho: The same in zero-concentrated differential privacy, under a budget with a delta.
        delta: As for `Session.release`, or for the unknown keys of a statement. Default: none.
        mechanism: Additive noise, as for `Session.release`. Default: chosen by the budget.
        weights: Of a batch: how the cost is divided over its queries. Default: evenly.
        confidence: Probability with which margins of error hold. Default 0.95.
        synthetic: A synthetic table that was released of a table of the catalog. Default: rows are generated.

    Returns:
        What `Session.release` returns for such a query, from `visits (generated data)` in the place of `visits`.

    Raises:
        Refusal: If the query would be refused under a budget of which nothing is spent, or reads a column that the
            synthetic table does not have.

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
    rows = {} if synthetic is None else _rows_of(synthetic, known)
    names = {name: twin_name(name, synthetic if name in rows else None) for name in known.tables}
    with _names_of_the_catalog(names), _open_twin(known, names, _links(query, known), rows) as session:
        asked: Any = _twin_query(query, known, names)
        spend: Any = {name: getattr(price, name) for name in ("epsilon", "rho", "delta", "mechanism")}
        if synthetic is not None:
            _require_columns(session.explain(asked, **spend, weights=weights), synthetic, known)
        answer: Any = session.release(asked, **spend, weights=weights, confidence=confidence)
    return answer if translated is None else translated.result(answer)


def twin_name(name: str, synthetic: SyntheticTable | None = None) -> str:
    """The name of the twin of a table, which says where its rows are those of a synthetic one, or of dp.testing."""
    if synthetic is None:
        return name[:_LONGEST] + GENERATED
    return name[:_LONGEST] + (SYNTHETIC if synthetic.private else EXACT_SYNTHETIC)


def _rows_of(synthetic: SyntheticTable, catalog: Catalog) -> dict[str, pa.Table]:
    """The rows of a synthetic table, by the name of its dataset in the catalog."""
    given: object = synthetic
    if not isinstance(given, SyntheticTable):
        raise ParameterError(
            f"synthetic={type(given).__name__}",
            because="rows come from a synthetic table that was released",
            instead='synthetic=dp.SyntheticTable.load("people.json")',
        )
    catalog.table(synthetic.dataset)
    return {synthetic.dataset: synthetic.to_arrow(min(synthetic.rows, MOST_ROWS))}


def _require_columns(explained: Explanation | BatchExplanation, synthetic: SyntheticTable, catalog: Catalog) -> None:
    """Refuse a query on columns that the synthetic table does not have: generated values would pass for its own."""
    table = catalog.tables[synthetic.dataset]
    parts = (explained,) if isinstance(explained, Explanation) else explained.parts
    read = {name for part in parts for name in part.columns_read}
    lacking = [name for name in table.columns if name in read and name not in synthetic.columns]
    lacking = [name for name in lacking if name not in table.unit.columns]
    if lacking:
        raise ParameterError(
            f"a preview of {lacking[0]!r} on a synthetic table",
            because="the synthetic table does not have that column",
            instead=f"one of {', '.join(map(repr, synthetic.columns))}, or a preview without a synthetic table",
        )


@contextmanager
def _open_twin(
    catalog: Catalog, names: dict[str, str], links: list[Link], rows: dict[str, pa.Table]
) -> Iterator[Session]:
    """A session over generated tables, with a ledger in memory that has no key and is gone with the session."""
    tables = Twin(catalog, links, rows).tables
    facts = Catalog(tables={names[name]: _twin_table(table, names) for name, table in catalog.tables.items()})
    sources = {names[name]: table for name, table in tables.items()}
    with SQLiteLedger(":memory:") as ledger, Session(facts, sources=sources, ledger=ledger) as session:
        yield session


def _twin_table(table: Table, names: dict[str, str]) -> Table:
    facts: dict[str, Any] = {"source": None, "relation": None, "delimiter": None, "fixed_schema": not table.public}
    if isinstance(way := table.privacy_unit, Through):
        facts["privacy_unit"] = way.model_copy(update={"through": names[way.through]})
    if table.slice is not None:
        facts["slice"] = table.slice.model_copy(update={"of": names.get(table.slice.of, twin_name(table.slice.of))})
    return table.model_copy(update=facts)


def _links(query: object, catalog: Catalog) -> list[Link]:
    match query:
        case Query(plan) | Choice(plan):
            return links_of(plan.source, catalog)
        case Application(source) | ModelQuery(source) | SynthesisQuery(source) | SlotsQuery(source):
            return links_of(source, catalog)
        case list() | tuple():
            return [link for each in query for link in _links(each, catalog)]
    return []


def _twin_query(query: Any, catalog: Catalog, names: dict[str, str]) -> Any:
    """A query of the twin's tables; what is not a query is left to be refused."""
    match query:
        case Query(plan):
            return Query(_twin_plan(plan, catalog, names))
        case Choice(plan):
            return replace(query, plan=_twin_plan(plan, catalog, names))
        case Application(source) | ModelQuery(source) | SynthesisQuery(source) | SlotsQuery(source):
            return replace(query, source=_twin_plan(source, catalog, names))
        case list() | tuple():
            return [_twin_query(each, catalog, names) for each in query]
    return query


def _twin_plan(plan: Any, catalog: Catalog, names: dict[str, str]) -> Any:
    """A plan with the names of the twin's tables; a table that the catalog does not have is refused."""
    if isinstance(plan, logical.TableRef):
        catalog.table(plan.name)
        return logical.TableRef(names[plan.name])
    if not hasattr(plan, "source"):
        return plan
    if isinstance(plan, logical.Join):
        catalog.table(plan.table)
        plan = replace(plan, table=names[plan.table])
    return replace(plan, source=_twin_plan(plan.source, catalog, names))


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
