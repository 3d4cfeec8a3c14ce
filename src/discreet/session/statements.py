"""Statements in SQL: translated against the catalog of a session, then explained or released as queries."""

from dataclasses import dataclass, replace
from typing import Any

from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError
from discreet.planner.budget.price import Price
from discreet.query.frame import Query
from discreet.release.release import Release
from discreet.sql_queries.sql_release import SqlRelease
from discreet.sql_queries.statement import Statement, option
from discreet.sql_queries.translation import Translation


@dataclass(frozen=True)
class TranslatedStatement:
    """A statement as queries, with the parameters of the call and of the statement together."""

    statement: Statement
    translation: Translation
    price: Price

    @property
    def queries(self) -> Query | list[Query]:
        """One query, or several that are one batch."""
        queries = self.translation.queries
        return queries[0] if len(queries) == 1 else list(queries)

    @property
    def only_query(self) -> Query:
        """The one query; refused where there are several."""
        if len(self.translation.queries) > 1:
            raise ParameterError(
                "a statement of several queries where one is asked",
                because="quantiles beside other aggregates are a batch of two queries",
                instead="a statement with the quantiles alone, and one with the rest",
            )
        return self.translation.queries[0]

    def result(self, answer: Release | list[Release]) -> SqlRelease:
        """The table of the statement, from the answers of its queries."""
        releases = tuple(answer) if isinstance(answer, list) else (answer,)
        return SqlRelease(self.statement.text, self.statement.dialect, self.translation.recipe, releases)


def translate(statement: Statement, catalog: Catalog, price: Price) -> TranslatedStatement:
    """A statement as queries. The delta of the call finds unknown keys; a batch is never charged a delta for it."""
    translation = statement.translate(catalog, price.delta)
    given: dict[str, Any] = {"epsilon": option(translation, "epsilon", price.epsilon), "delta": None}
    return TranslatedStatement(statement, translation, replace(price, **given))
