"""Statements in SQL: translated against the catalog of a session, then explained or released as queries."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number
from discreet.planner.budget.price import Price
from discreet.planner.queries.tables import MechanismName
from discreet.query.frame import Query
from discreet.query.sql.dialects import dialect_of_engine
from discreet.query.sql.statement import Statement, option, sql
from discreet.release.release import Release
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.release.sql_release import SqlRelease
from discreet.session.opening import OpenSession

if TYPE_CHECKING:
    from discreet.query.sql.translation import Translation


@dataclass(frozen=True)
class TranslatedStatement:
    """A statement as queries, with the parameters of the call and of the statement together."""

    statement: Statement
    translation: "Translation"
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


def refuse_method(method: object) -> None:
    """Refuse a method beside a statement: it answers one mean or median, and not a table."""
    if method is not None:
        raise ParameterError(
            "a method beside a statement",
            because="a method answers one mean, median or interquartile range",
            instead='dp.table("visits").agg(age=dp.median("age", bounds=(0, 120))) with method=',
        )


def translate(statement: Statement, catalog: Catalog, price: Price) -> TranslatedStatement:
    """A statement as queries. The delta of the call finds unknown keys; a batch is never charged a delta for it."""
    translation = statement.translate(catalog, price.delta)
    option(translation, "delta", price.delta)
    given: dict[str, Any] = {"epsilon": option(translation, "epsilon", price.epsilon), "delta": None}
    return TranslatedStatement(statement, translation, replace(price, **given))


@public_class
class StatementSession(OpenSession):
    """A session that is asked in SQL; what it releases is in the subclass `Session`."""

    @short_traceback
    def sql(
        self,
        text: str,
        *,
        dialect: str | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        mechanism: MechanismName | None = None,
        weights: Sequence[Number] | None = None,
        confidence: Number = DEFAULT_CONFIDENCE,
        fresh: bool = False,
        idempotency_key: str | None = None,
    ) -> SqlRelease:
        """Charge for a SELECT statement, then answer it. One statement is one batch and one charge.

        Args:
            text: One SELECT statement.
            dialect: "duckdb", "postgres", "spark", "bigquery" or "snowflake". Default: that of the engine.
            epsilon: Privacy cost of the statement. Default: the one in its OPTIONS.
            rho: The same in zero-concentrated differential privacy, under a budget with a delta.
            delta: Probability that unknown keys of GROUP BY reveal the presence of one unit. Default: keys are public.
            mechanism: Additive noise, as for `release`. Default: chosen by the budget.
            weights: How the cost is divided, where quantiles stand beside other aggregates. Default: evenly.
            confidence: Probability with which intervals hold. Default 0.95.
            fresh: Charge again and draw new noise, as for `release`. Default False.
            idempotency_key: A text of your own: all retries with it are one charge. Default: none.

        Returns:
            A table with the columns of SELECT.

        Raises:
            Refusal: If the statement cannot be answered or does not fit the budget; nothing is spent.
            Failure: If it fails after the charge.

        Example:
            >>> import discreet as dp
            >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
            >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
            >>> table = session.sql("SELECT urgent, COUNT(*) AS n FROM visits GROUP BY urgent", epsilon=0.5)
            >>> table["urgent"]
            (False, True)
        """
        statement = sql(text, dialect=self.dialect if dialect is None else dialect)
        price: Any = {"epsilon": epsilon, "rho": rho, "delta": delta, "mechanism": mechanism, "weights": weights}
        session: Any = self
        answer: SqlRelease = session.release(
            statement, **price, confidence=confidence, fresh=fresh, idempotency_key=idempotency_key
        )
        return answer

    @property
    def dialect(self) -> str:
        """The dialect of SQL of the engine that holds the first table."""
        return dialect_of_engine(type(next(iter(self._pipeline.engines.values()), None)).__name__)

    def _translate(self, statement: Statement, price: Price, method: object) -> TranslatedStatement:
        refuse_method(method)
        return translate(statement, self._pipeline.catalog, price)
