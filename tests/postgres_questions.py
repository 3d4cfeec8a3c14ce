"""Questions to PostgreSQL about a table `t`, for tests of its engine."""

from types import MappingProxyType
from typing import Any

import psycopg
import pyarrow as pa

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.engines import Engine
from discreet.plan.physical import Pushdown
from discreet.planner.queries.tables import analyze
from discreet.query import frame
from servers import PostgresServer

T = frame.table("t")
N = frame.count()
ROWS = pa.table({"id": [1, 1, 2], "g": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})
COLUMNS = {"id": "integer", "g": "text", "x": "real"}


def question(query: frame.Query, columns: dict[str, str] = MappingProxyType(COLUMNS), **facts: Any) -> Pushdown:
    """A query as the engine gets it."""
    declared = {name: {"type": kind} for name, kind in columns.items()}
    table = {"columns": declared, "privacy_unit": "id", "max_rows": 5} | facts
    return analyze(query.plan, Catalog.model_validate({"tables": {"t": table}}), Budget(epsilon=1), epsilon=1).pushdown


def answer(engine: Engine, *asked: Any, **facts: Any) -> list[list[int]]:
    """The exact answer to one question."""
    return engine.run(engine.prepare(question(*asked, **facts)))


def as_superuser(server: PostgresServer, *statements: str) -> None:
    """What no other role may do."""
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
