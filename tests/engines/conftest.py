"""PostgreSQL engines over tables of a test, closed at its end."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines import RegisteredSource, Workspace
from discreet.engines.backends.postgres.engine import PostgreSQL, source
from discreet.engines.sources.source import UNSTATED, Statements
from postgres_questions import ROWS
from servers import PostgresServer


@pytest.fixture
def open_postgres(postgres: PostgresServer, tmp_path: Path) -> Iterator[Callable[..., PostgreSQL]]:
    """Engines over table `t`, which is loaded first or named."""
    opened: list[PostgreSQL] = []

    def engine(
        data: pa.Table | str, url: str = postgres.engine_url, key: int = 7, stated: Statements = UNSTATED, **limits: Any
    ) -> PostgreSQL:
        if not isinstance(data, str):
            postgres.load("engine_rows", data)
            data = "engine_rows"
        opened.append(
            PostgreSQL({"t": RegisteredSource(source(url, data, stated), key)}, Workspace(tmp_path), **limits)
        )
        return opened[-1]

    yield engine
    for each in opened:
        each.close()


@pytest.fixture(scope="session")
def visits(postgres: PostgresServer) -> PostgresServer:
    """The server with one small table that no test changes."""
    postgres.load("visits", ROWS)
    return postgres
