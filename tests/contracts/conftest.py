"""One way to put a question to any engine; later engines join the list of parameters."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet import frame
from discreet.accounting.filters import Budget
from discreet.analysis import analyze
from discreet.catalog import Catalog
from discreet.engines import DuckDB, Engine, Registered, Workspace, source_of
from discreet.pushdown import Pushdown

KEY = 1_234_567

OPENERS: dict[str, Callable[..., Engine]] = {
    "duckdb": lambda data, place, **limits: DuckDB({"t": Registered(source_of(data), KEY)}, Workspace(place), **limits),
}


def question(query: frame.Query, columns: dict[str, Any], **facts: Any) -> Pushdown:
    """A query over table `t` as an engine gets it; columns are types or facts."""
    declared = {name: {"type": fact} if isinstance(fact, str) else fact for name, fact in columns.items()}
    facts = {"privacy_unit": "id" if "id" in columns else "dp.ROW"} | facts
    if facts["privacy_unit"] != "dp.ROW" and not {"max_rows", "max_rows_per_group"} & facts.keys():
        facts["max_rows"] = 1_000
    catalog = Catalog.model_validate({"tables": {"t": {"columns": declared} | facts}})
    return analyze(query.plan, catalog, Budget(epsilon=1), epsilon=1).pushdown


class Asking:
    """Opens engines of one kind over table `t`, and closes them."""

    def __init__(self, kind: str, place: Path) -> None:
        self.kind = kind
        self._place = place
        self._open: list[Engine] = []

    def engine(self, data: object, **limits: Any) -> Engine:
        """An engine over one source."""
        engine = OPENERS[self.kind](data, self._place, **limits)
        self._open.append(engine)
        return engine

    def answer(self, data: object, query: frame.Query, columns: dict[str, Any], **facts: Any) -> list[list[int]]:
        """One question to a new engine."""
        engine = self.engine(data)
        return engine.run(engine.prepare(question(query, columns, **facts)))

    def close(self) -> None:
        """Close whatever was opened."""
        for engine in self._open:
            engine.close()


@pytest.fixture(params=OPENERS)
def asking(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asking]:
    """The engine under the contract."""
    asked = Asking(request.param, tmp_path)
    yield asked
    asked.close()


@pytest.fixture
def question_of() -> Callable[..., Pushdown]:
    """Questions for engines that a test opens by itself."""
    return question
