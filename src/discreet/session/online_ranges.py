"""An open stream of ranges: answered from a public histogram, which is corrected only where it is wrong.

with session.stream(visits, "age", edges=range(0, 121), total=30_000, threshold=500, epsilon=1) as stream:
    print(stream.ask(21, 33))

The rows of every bin are counted once, when it opens, after the charge; the counts stay in this process.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.engines import PreparedQuery
from discreet.errors import public_class, short_traceback
from discreet.plan.fingerprint import Question
from discreet.planner.queries.online_ranges import StreamPlan
from discreet.session.interactive import Opening
from discreet.workloads.stream import OnlineAnswer, OnlineStream

if TYPE_CHECKING:
    from discreet.session.pipeline import Gate


@public_class
class Ranges(Opening):
    """Ranges asked one after another, for one price; `with session.stream(...) as stream`. Threads may share it."""

    what = "stream"
    example = "with session.stream(...) as stream: ..."

    def __init__(self, gate: "Gate", asked: StreamPlan, question: Question) -> None:
        super().__init__(gate, asked, question)
        self._plan = asked
        self._answers: list[tuple[int, int, int, bool]] = []

    @property
    def left(self) -> int:
        """How many more corrections there may be before the stream ends."""
        return self._plan.mechanism.watch.answers - sum(corrected for *_, corrected in self._answers)

    @property
    def asked(self) -> int:
        """How many ranges were answered."""
        return len(self._answers)

    @short_traceback
    def ask(self, start: object, end: object) -> OnlineAnswer:
        """How many rows there are from one edge up to another, which is not in the range."""
        with self._lock:
            lo, hi = self._plan.places(start, end)
            if self._stream is None:
                raise self._not_open("a stream that is not open" if self.left else "a stream out of corrections")
            stream: OnlineStream = self._stream
            stream.public(lo, hi)
            told = self._read(lambda: stream.ask(lo, hi))
            self._answers.append((lo, hi, told.value, told.corrected))
            if not self.left:
                self._end()
        return told

    def __repr__(self) -> str:
        state = "open" if self._stream is not None else "not opened" if self._turn is None else "ended"
        stamp = "" if self._gate._is_private else "NOT PRIVATE "  # noqa: SLF001
        said = f"{self.asked:,} asked, {self.left:,} corrections left"
        return f"{stamp}stream of {self._plan.dataset!r}, {state}: {said}; {self.guarantee}"

    def _ready(self) -> PreparedQuery:
        return self._gate._prepared(self._plan)  # noqa: SLF001

    def _begin(self, ready: PreparedQuery) -> OnlineStream:
        return self._read(lambda: self._opened(ready))

    def _opened(self, ready: PreparedQuery) -> OnlineStream:
        (counts,) = self._gate._exact(self._plan.dataset, ready)  # noqa: SLF001
        return OnlineStream(self._plan.mechanism, counts, self._gate._stream(self._plan.mechanism.watch))  # noqa: SLF001

    def _told(self) -> Mapping[str, Any]:
        return {"answers": self._answers, "guarantee": self.guarantee}
