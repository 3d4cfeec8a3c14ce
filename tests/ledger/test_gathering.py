"""Threads that go together: each gets its own row or error, nobody is left waiting, and nobody is sent twice."""

import threading
import time
from collections import Counter

import pytest

from discreet.errors import LedgerError
from discreet.ledger import faults
from discreet.ledger.gathering import MOST_TOGETHER, Gathering
from discreet.ledger.store import UnknownOutcomeError

THREADS = 40


class Journeys:
    """A store that notes what came together; the first journey waits until the others have gathered."""

    def __init__(self, gathered: int = THREADS) -> None:
        self.journeys: list[list[int]] = []
        self.gathering = Gathering(self.carry)
        self._gathered = gathered

    def carry(self, claims):
        numbers = [claim["number"] for claim in claims]
        self.journeys.append(numbers)
        if len(self.journeys) == 1:
            self.wait_for_the_others()
        return self.replies(numbers)

    def replies(self, numbers):
        return [{"number": number} if number % 2 else None for number in numbers]

    def wait_for_the_others(self):
        end = time.monotonic() + 30
        while sum(map(len, self.gathering._lines.values())) < self._gathered - 1 and time.monotonic() < end:
            time.sleep(0.001)


def outcomes(journeys, threads=THREADS, name=lambda _: "visits"):
    found = {}

    def ask(number):
        try:
            found[number] = journeys.gathering.go(name(number), {"number": number})
        except BaseException as error:  # noqa: BLE001 - told by its kind
            found[number] = error

    running = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)
    assert not journeys.gathering._lines
    return found


def test_those_who_come_meanwhile_go_together_and_each_gets_its_own_row():
    journeys = Journeys()
    found = outcomes(journeys)
    assert found == {number: {"number": number} if number % 2 else None for number in range(THREADS)}
    assert [len(each) for each in journeys.journeys] == [1, THREADS - 1]


def test_a_journey_is_of_bounded_size():
    journeys = Journeys(gathered=2 * MOST_TOGETHER)
    assert len(outcomes(journeys, threads=2 * MOST_TOGETHER)) == 2 * MOST_TOGETHER
    assert [len(each) for each in journeys.journeys] == [1, MOST_TOGETHER, MOST_TOGETHER - 1]


def test_datasets_do_not_wait_for_each_other():
    journeys = Journeys(gathered=0)
    found = outcomes(journeys, name=str)
    assert len(found) == len(journeys.journeys) == THREADS


def test_where_one_fails_nothing_was_written_and_each_goes_alone():
    class OneIsRefused(Journeys):
        def replies(self, numbers):
            if 7 in numbers:
                raise LedgerError(faults.BROKEN_RULE)
            return super().replies(numbers)

    found = outcomes(OneIsRefused())
    assert isinstance(found.pop(7), LedgerError)
    assert found == {number: {"number": number} if number % 2 else None for number in range(THREADS) if number != 7}


@pytest.mark.parametrize("fault", [UnknownOutcomeError, KeyboardInterrupt])
def test_an_unknown_outcome_is_unknown_to_all_who_went_and_none_is_sent_again(fault):
    class Lost(Journeys):
        def replies(self, numbers):
            if len(numbers) > 1:
                raise fault
            return super().replies(numbers)

    journeys = Lost()
    found = outcomes(journeys)
    together = journeys.journeys[1]
    kinds = Counter(type(found[number]) for number in together)
    leading = 1 if fault is KeyboardInterrupt else 0
    assert kinds == Counter({UnknownOutcomeError: len(together) - leading}) + Counter({fault: leading})
    assert sorted(number for each in journeys.journeys for number in each) == list(range(THREADS))


def test_one_who_leaves_while_waiting_is_not_sent_and_the_line_goes_on():
    journeys = Journeys(gathered=4)

    class Leaving(threading.Event):
        def wait(self, _=None):
            raise KeyboardInterrupt

    def impatient(number):
        lines = journeys.gathering._lines
        while not lines:
            time.sleep(0.001)
        real, threading.Event = threading.Event, Leaving
        try:
            with pytest.raises(KeyboardInterrupt):
                journeys.gathering.go("visits", {"number": number})
        finally:
            threading.Event = real

    first = threading.Thread(target=journeys.gathering.go, args=("visits", {"number": 1}))
    first.start()
    impatient(99)
    others = [threading.Thread(target=journeys.gathering.go, args=("visits", {"number": n})) for n in (2, 3, 4)]
    for thread in others:
        thread.start()
    for thread in (first, *others):
        thread.join(60)
    assert sorted(number for each in journeys.journeys for number in each) == [1, 2, 3, 4]
    assert not journeys.gathering._lines
