"""What is opened, charged as a whole, asked for a while and closed: a sparse vector, a stream of ranges.

Its noise dies with the process: after a crash it cannot be resumed, and its privacy cost stays spent.
"""

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from discreet.errors import BudgetError, Failure, UnsupportedError, public_class, short_traceback
from discreet.ledger import Receipt, Reservation, SupersededError
from discreet.plan.fingerprint import Question
from discreet.planner.queries.online_ranges import OnlineRangesPlan
from discreet.planner.queries.sparse_vector import SparseVectorPlan

if TYPE_CHECKING:
    from discreet.session.pipeline import Pipeline

log = logging.getLogger("discreet")

Read = TypeVar("Read")


@public_class
class Interactive(ABC):
    """Something that holds noise of its own while it is open. Threads may share it."""

    what = "sparse vector"
    example = "with session.above_threshold(threshold=1_000, epsilon=0.5, answers=3) as vector: ..."

    def __init__(self, pipeline: "Pipeline", asked: SparseVectorPlan | OnlineRangesPlan, question: Question) -> None:
        self._pipeline, self._asked_for, self._question = pipeline, asked, question
        self._lock, self._stack = Lock(), ExitStack()
        self._turn: Reservation | None = None
        self._stream: Any = None

    @property
    def guarantee(self) -> str:
        """What all answers together reveal, in words."""
        rest = ", for any number of queries"
        return self._asked_for.guarantee(f"this {self.what} of", self._asked_for.version, rest=rest)

    @property
    def receipt(self) -> Receipt | None:
        """The receipt of the charge, once it is open."""
        return None if self._turn is None else self._turn.receipt

    @short_traceback
    def __enter__(self) -> Self:
        with self._lock:
            if self._turn is not None:
                raise self._not_open(f"a {self.what} that was opened before")
            ready = self._ready()
            self._turn = self._pipeline.charge_interactive(self._asked_for, self._question, ready)
            try:
                self._stack.enter_context(self._pipeline.ledger.holding(self._turn))
                self._stream = self._begin(ready)
            except BaseException as error:
                self._fail(type(error).__name__)
                raise
            return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it; its privacy cost stays spent."""
        with self._lock:
            self._end()

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            f"a copy of a {self.what}",
            because="a copy shares its secret noise, which is charged once",
            instead=f"{self.example.split(':')[0]}: ..., which is charged on its own",
        )

    def _ready(self) -> Any:
        """What is bound before the charge, without reading a row."""
        return None

    @abstractmethod
    def _begin(self, ready: Any) -> Any:
        """What holds the noise."""

    @abstractmethod
    def _record(self) -> Mapping[str, Any]:
        """The released answers, and nothing else, for the ledger."""

    def _read(self, work: Callable[[], Read]) -> Read:
        """Read and compare; any failure from here on, an exit included, raises one constant sentence and ends it."""
        try:
            return work()
        except BaseException as error:  # noqa: BLE001 - nothing of it goes on: it may quote a cell
            code, is_interrupt = type(error).__name__, isinstance(error, KeyboardInterrupt)
        self._fail(code)
        if is_interrupt:
            raise KeyboardInterrupt(f"stopped; the charge of the {self.what} stands")
        raise Failure

    def _fail(self, code: str) -> None:
        turn = self._turn
        self._forget()
        if turn is not None:
            self._pipeline.forfeit(turn, code)
            log.error("a %s failed after its charge: class %s, receipt %s", self.what, code, turn.receipt.id)

    def _end(self) -> None:
        """Store the released answers in the ledger."""
        if self._stream is None or self._turn is None:
            return
        self._forget()
        try:
            self._pipeline.ledger.answer(self._turn, json.dumps(self._record()).encode())
        except SupersededError:  # its lease ran out while the process slept: the charge stands
            log.warning("the answers of a %s could not be recorded, receipt %s", self.what, self._turn.receipt.id)

    def _forget(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        self._stack.close()

    def _not_open(self, what: str) -> BudgetError:
        return BudgetError(
            what,
            because="it is charged when it opens, and ends after a fixed number of answers",
            instead=f"{self.example}, which is charged anew",
        )
