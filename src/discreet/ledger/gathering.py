"""Many threads, one journey: whoever comes while one is under way goes with the next, dataset by dataset.

Work on one dataset takes turns, so threads that wait for each other lose nothing by going together: what would be a
lock, a COMMIT and a journey for each is one for all. Nobody waits for company, and nobody serves others for ever: when
a journey is over, the first of those who came meanwhile leads the next.
"""

import threading
from collections.abc import Callable, Sequence

from discreet.errors import LedgerError
from discreet.ledger.store import Row, UnknownOutcomeError, Values

MOST_TOGETHER = 64

Carry = Callable[[Sequence[Values]], list[Row | None]]


class _Place:
    """One thread's place in the line of a dataset."""

    def __init__(self, claim: Values) -> None:
        self.claim = claim
        self.called = threading.Event()
        self.leads = False
        self.goes_alone = False
        self.row: Row | None = None
        self.error: LedgerError | None = None


class Gathering:
    """Carries claims to the store together; each thread gets its own row, or its own error."""

    def __init__(self, carry: Carry) -> None:
        self._carry = carry
        self._lock = threading.Lock()
        self._lines: dict[str, list[_Place]] = {}

    def go(self, name: str, claim: Values) -> Row | None:
        """The row that the store gives to a claim on a dataset, or None."""
        place = _Place(claim)
        with self._lock:
            place.leads = name not in self._lines
            self._lines.setdefault(name, []).append(place)
        try:
            if not place.leads:
                place.called.wait()
            if place.leads:
                self._lead(name)
        except BaseException:
            self._leave(name, place)
            raise
        if place.goes_alone:
            return self._carry([claim])[0]
        if place.error is not None:
            raise place.error
        return place.row

    def _lead(self, name: str) -> None:
        with self._lock:
            together = self._lines[name][:MOST_TOGETHER]
            del self._lines[name][:MOST_TOGETHER]
        try:
            self._travel(together)
        finally:
            for place in together:
                place.leads = False
                place.called.set()
            self._call_the_next(name)

    def _travel(self, together: list[_Place]) -> None:
        try:
            rows = self._carry([place.claim for place in together])
        except UnknownOutcomeError:
            _tell_all(together)
        except LedgerError as error:
            if len(together) == 1:
                together[0].error = error
                return
            for place in together:  # nothing was written, and only one of them may be why
                place.goes_alone = True
        except BaseException:
            _tell_all(together)
            raise
        else:
            for place, row in zip(together, rows, strict=True):
                place.row = row

    def _call_the_next(self, name: str) -> None:
        with self._lock:
            if not self._lines[name]:
                del self._lines[name]
                return
            first = self._lines[name][0]
            first.leads = True
            first.called.set()

    def _leave(self, name: str, place: _Place) -> None:
        """Take a thread out of the line that was interrupted before it went."""
        with self._lock:
            line = self._lines.get(name, [])
            if place not in line:
                return
            line.remove(place)
        if place.leads:
            self._call_the_next(name)


def _tell_all(together: list[_Place]) -> None:
    for place in together:
        place.error = UnknownOutcomeError()
