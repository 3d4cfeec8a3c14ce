"""An open watch: which of many questions are above a threshold, charged as a whole before the first is read.

with session.watch(threshold=1_000, epsilon=0.5, answers=3) as watch:
    for ward in wards:
        if watch.ask(visits.where(visits.ward == ward).agg(n=dp.count())):
            print(ward)

What a watch tells is kept by its noise on the threshold, which dies with the process: a watch that ended by a crash
cannot be gone on with, and what it cost stays spent.
"""

import json
import logging
from collections.abc import Mapping
from contextlib import ExitStack
from fractions import Fraction
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self

from discreet.analysis.asked import guarantee
from discreet.analysis.watching import WatchedPlan, WatchPlan, analyze_watched
from discreet.catalog import Value
from discreet.errors import BudgetError, Failure, ParameterError, UnsupportedError, short_traceback
from discreet.frame import Query
from discreet.ledger import Receipt, SupersededError, Turn
from discreet.mechanisms.threshold import Above, Below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.session.gate import Gate

log = logging.getLogger("discreet")

Reply = Above | Below
Scalar = int | Fraction


class Stream(Protocol):
    """What holds answers against a threshold."""

    @property
    def left(self) -> int:
        """How many more may be above."""

    def ask_many(self, values: "Sequence[Scalar]") -> list[Reply]:
        """Whether each is above, until the last that may be."""

    def close(self) -> None:
        """Forget the noise."""


class Watch:
    """A threshold that questions are held against; `with session.watch(...) as watch`. Threads may share it."""

    def __init__(self, gate: "Gate", asked: WatchPlan) -> None:
        self._gate, self._plan = gate, asked
        self._lock, self._stack = Lock(), ExitStack()
        self._turn: Turn | None = None
        self._stream: Stream | None = None
        self._asked = 0
        self._above: list[int] = []

    @property
    def left(self) -> int:
        """How many more answers may be above before the watch ends."""
        return self._plan.mechanism.answers - len(self._above)

    @property
    def asked(self) -> int:
        """How many questions were answered."""
        return self._asked

    @property
    def guarantee(self) -> str:
        """What all answers of this watch together reveal, in words."""
        return guarantee(self._plan, "this watch of", self._plan.version, rest=", however many questions it is asked")

    @property
    def receipt(self) -> Receipt | None:
        """The receipt of the charge, once the watch is open."""
        return None if self._turn is None else self._turn.receipt

    def accuracy(self, questions: int, confidence: float = 0.95) -> Scalar:
        """How far from the threshold an answer may be and still be told wrong, over so many questions together."""
        return self._plan.mechanism.accuracy(questions, 1 - Fraction(str(confidence)))

    def margin(self, confidence: float = 0.95) -> Scalar:
        """How far the noise goes in an answer that is shown, `with_answers`."""
        return self._plan.mechanism.margin(confidence)

    @short_traceback
    def __enter__(self) -> Self:
        if self._turn is not None:
            raise _not_open("a watch that was opened before")
        self._turn = self._gate._opened(self._plan)  # noqa: SLF001 - the gate's own verb
        try:
            self._stack.enter_context(self._gate.ledger.holding(self._turn))
            self._stream = self._gate._stream(self._plan.mechanism)  # noqa: SLF001
        except BaseException as error:
            self._fail(type(error).__name__)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @short_traceback
    def check(self, query: Query) -> None:
        """Refuse now what `ask` would refuse; free, and before the watch is opened too."""
        self._gate._prepared(self._analyzed(query))  # noqa: SLF001

    @short_traceback
    def ask(self, query: Query) -> Reply | dict[Any, Reply]:
        """Whether the answer is above the threshold, with noise; by groups, for each key until the watch ends."""
        with self._lock:
            stream = self._still_open()
            asked = self._analyzed(query)
            replies = self._replies(asked, stream)
            if not self.left:
                self._end()
        if not query.plan.grouping.columns:
            return replies[0]
        return dict(zip(map(_key, asked.pushdown.keys.rows), replies, strict=False))

    def close(self) -> None:
        """End the watch; what it cost stays spent."""
        with self._lock:
            self._end()

    def __repr__(self) -> str:
        state = "open" if self._stream is not None else "not opened" if self._turn is None else "ended"
        said = f"{self._asked:,} asked, {len(self._above):,} above, {self.left:,} left"
        stamp = "" if self._gate._is_private else "NOT PRIVATE "  # noqa: SLF001
        return f"{stamp}watch of {self._plan.dataset!r}, {state}: {said}; {self.guarantee}"

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            "a copy of a watch",
            because="a copy with the same secret noise would tell more than was charged for",
            instead="with session.watch(...) as another, which is charged on its own",
        )

    def _analyzed(self, query: object) -> WatchedPlan:
        if not isinstance(query, Query):
            raise ParameterError(
                f"a question of type {type(query).__name__}",
                because="a watch is asked aggregates",
                instead='watch.ask(dp.table("visits").agg(n=dp.count()))',
            )
        return analyze_watched(query.plan, self._gate._catalog, self._plan)  # noqa: SLF001

    def _still_open(self) -> Stream:
        if self._stream is None:
            raise _not_open("a watch that is not open" if self.left else "a watch that has given all its answers")
        return self._stream

    def _replies(self, asked: WatchedPlan, stream: Stream) -> list[Reply]:
        """Read and compare; whatever fails from here on says one sentence and ends the watch."""
        prepared = self._gate._prepared(asked)  # noqa: SLF001
        try:
            (steps,) = self._gate._exact(asked.dataset, prepared)  # noqa: SLF001
            replies = stream.ask_many([step * asked.grid for step in steps])
        except BaseException as error:
            self._fail(type(error).__name__)
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt("stopped; the charge of the watch stands") from None
            if not isinstance(error, Exception):
                raise
        else:
            self._above += [self._asked + place for place, reply in enumerate(replies) if reply]
            self._asked += len(replies)
            return replies
        raise Failure

    def _fail(self, code: str) -> None:
        turn = self._turn
        self._forget()
        if turn is not None:
            self._gate._forfeit(turn, code)  # noqa: SLF001
            log.error("a watch failed after its charge: class %s, receipt %s", code, turn.receipt.id)

    def _end(self) -> None:
        """Keep in the ledger which questions were above: what was told, and nothing else."""
        if self._stream is None or self._turn is None:
            return
        self._forget()
        try:
            self._gate.ledger.answer(self._turn, json.dumps(self._told()).encode())
        except SupersededError:  # its lease ran out while the process slept: the charge stands, what was told is told
            log.warning("what a watch told could not be recorded, receipt %s", self._turn.receipt.id)

    def _told(self) -> Mapping[str, Any]:
        return {"asked": self._asked, "above": self._above, "guarantee": self.guarantee}

    def _forget(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        self._stack.close()


def _key(row: tuple[Value, ...]) -> Value | tuple[Value, ...]:
    return row[0] if len(row) == 1 else row


def _not_open(what: str) -> BudgetError:
    return BudgetError(
        what,
        because="it is charged when it is opened, and answers until so many were above",
        instead="with session.watch(threshold=1_000, epsilon=0.5, answers=3) as watch: ..., which is charged anew",
    )
