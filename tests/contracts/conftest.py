"""One way to put a question to any engine, and the marks of what an engine cannot answer.

A test that an engine cannot pass says so: `never(engine, reason)` where it cannot be, `notyet` where it is planned,
`notimpl` where nobody asked so far. docs/reference/engines.md is made from these marks.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.engines import Engine
from discreet.plan.physical import Pushdown
from discreet.planner.queries.tables import analyze
from discreet.query import frame
from opened import ENGINES, Opener, opener

sys.path.insert(0, str(Path(__file__).parent))
SLOW = {"spark": pytest.mark.full}
GAPS = ("never", "notyet", "notimpl")


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

    def __init__(self, kind: str, opened: Opener, place: Path) -> None:
        self.kind = kind
        self._opened = opened
        self._place = place
        self._open: list[Engine] = []

    def engine(self, data: object, **limits: Any) -> Engine:
        """An engine over one source."""
        engine = self._opened({"t": data}, self._place, **limits)
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


def gap(request: pytest.FixtureRequest, engine: str) -> str | None:
    """Why this test cannot be passed by an engine, if it cannot."""
    for word in GAPS:
        for mark in request.node.iter_markers(word):
            if mark.args[0] == engine:
                return f"{word}: {mark.args[1]}"
    return None


@pytest.fixture(params=[pytest.param(engine, marks=SLOW.get(engine, ())) for engine in ENGINES])
def asking(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asking]:
    """The engine under the contract."""
    reason = gap(request, request.param)
    if reason is not None:
        pytest.skip(reason)
    asked = Asking(request.param, opener(request.param, request), tmp_path)
    yield asked
    asked.close()


@pytest.fixture
def question_of() -> Callable[..., Pushdown]:
    """Questions for engines that a test opens by itself."""
    return question
