"""Many threads, one journey: whoever comes while one is under way goes with the next, dataset by dataset.

Work on one dataset takes turns, so threads that wait for each other lose nothing by going together: what would be a
lock, a COMMIT and a journey for each is one for all. Nobody waits for company.

Journeys are made by a thread of their own, which ends when nobody is left. An interrupt (Ctrl-C) comes to threads that
ask, anywhere in them, so none of them carries for others: one that is interrupted leaves, and its claim is made or not,
as after a crash. They wait on bare locks and start bare threads, which an interrupt cannot leave half-way (events and
conditions of Python are left with a lock that nobody holds), and whoever waits looks from time to time whether there is
a carrier.
"""

import _thread
import threading
from collections.abc import Callable, Sequence

from discreet.errors import LedgerError
from discreet.ledger.transactions.store import Row, UnknownOutcomeError, Values

MOST_TOGETHER = 64
SECONDS_BETWEEN_LOOKS = 1.0

Carry = Callable[[Sequence[Values]], list[Row | None]]


class _Place:
    """One thread's place in the line of a dataset."""

    def __init__(self, claim: Values) -> None:
        self.claim = claim
        self.is_settled = False
        self.bell = threading.Lock()
        self.bell.acquire()
        self.goes_alone = False
        self.row: Row | None = None
        self.error: LedgerError | None = None


class _Line:
    """Those who wait for one dataset, and what the thread that carries them is known by."""

    def __init__(self) -> None:
        self.waiting: list[_Place] = []
        self.carrier: object = None


class Gathering:
    """Carries claims to the store together; each thread gets its own row, or its own error."""

    def __init__(self, carry: Carry) -> None:
        self._carry = carry
        self._lock = threading.Lock()
        self._lines: dict[str, _Line] = {}

    def go(self, name: str, claim: Values) -> Row | None:
        """The row that the store gives to a claim on a dataset, or None."""
        place = _Place(claim)
        with self._lock:
            self._lines.setdefault(name, _Line()).waiting.append(place)
        try:
            while not place.is_settled:
                self._see_to_a_carrier(name)
                place.bell.acquire(timeout=SECONDS_BETWEEN_LOOKS)
        except BaseException:
            self._leave(name, place)
            raise
        if place.goes_alone:
            return self._carry([claim])[0]
        if place.error is not None:
            raise place.error
        return place.row

    def _see_to_a_carrier(self, name: str) -> None:
        """Start a thread for a line that has none; it waits for the lock, and ends unless it is known by then."""
        with self._lock:
            line = self._lines.get(name)
            if line is not None and line.carrier is None:
                known_by = object()
                _thread.start_new_thread(self._serve, (name, line, known_by))
                line.carrier = known_by

    def _serve(self, name: str, line: _Line, known_by: object) -> None:
        """Make journeys until nobody waits."""
        while True:
            with self._lock:
                if line.carrier is not known_by:
                    return
                together = line.waiting[:MOST_TOGETHER]
                del line.waiting[:MOST_TOGETHER]
                if not together:
                    del self._lines[name]
                    return
            self._travel(together)

    def _travel(self, together: list[_Place]) -> None:
        try:
            rows = self._carry([place.claim for place in together])
        except LedgerError as error:
            if len(together) > 1 and not isinstance(error, UnknownOutcomeError):
                for place in together:  # nothing was written, and only one of them may be why
                    place.goes_alone = True
            _settle(together, error)
        except BaseException:  # noqa: BLE001 - whatever it was, those who wait must hear of it
            _settle(together, UnknownOutcomeError())
        else:
            for place, row in zip(together, rows, strict=True):
                place.row = row
            _settle(together, None)

    def _leave(self, name: str, place: _Place) -> None:
        """Take a thread out of the line that was interrupted before it went."""
        with self._lock:
            line = self._lines.get(name)
            if line is not None and place in line.waiting:
                line.waiting.remove(place)


def _settle(places: Sequence[_Place], error: LedgerError | None) -> None:
    """Tell everyone; each gets an error of its own to raise."""
    for place in places:
        place.error = None if error is None else type(error)(*error.args)
        place.is_settled = True
        place.bell.release()
