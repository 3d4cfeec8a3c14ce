"""A program for tests: a crowd of single processes on several homes, which race for the same requests and are killed.

    python crowd.py ADDRESS HOMES DIRECTORY PROCESSES MACHINES [SHARED]

Orders come by standard input, and a line confirms each:

    open N    requests 0 to N - 1 may be asked from now on
    kill      SIGKILL of a process that is chosen at random; another one with the same home takes its place
    end       each process asks a share of all requests until each is answered or refused, and ends

Processes are forked from this one, which has imported everything and connected to nothing. Each writes what it is about
to do and what it was told to a file of its own in the directory, line by line and past every buffer of its own, so
that a kill takes nothing from it. Request keys, questions and costs follow from the number of a request.
"""

import hashlib
import json
import logging
import os
import random
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing.sharedctypes import RawValue
from pathlib import Path
from typing import Any

import psycopg  # noqa: F401 - here, and not once in each process
from spender import NAME

from discreet import events
from discreet.errors import BudgetError, LedgerError, PendingError
from discreet.ledger import Ledger, PostgresLedger, Reservation

UNIT = Fraction(1, 10**12)
MOST_UNITS = 3
ANALYSTS = 7
LEASE = 3.0
NAP = 0.05
NEWEST = 32
ASKED_AT_ONCE = 25
PATIENCE = 120.0
PENDING = "another process is answering the request"

Tell = Callable[..., None]


@dataclass(frozen=True)
class Orders:
    """What all processes are told, in memory that they share."""

    opened: Any
    is_ending: Any


@dataclass(frozen=True)
class Client:
    """One process of the crowd."""

    place: int
    processes: int
    open: Callable[[], Ledger]
    orders: Orders
    tell: Tell
    chance: random.Random
    parent: int

    def run(self) -> None:
        """Ask requests at random until the end is ordered, then a share of them until each has an outcome."""
        while self.is_at_work:
            self._with_ledger(self._ask_some)
        total, end = self.orders.opened.value, time.monotonic() + PATIENCE
        left = list(range(self.place, total, self.processes))
        while left and time.monotonic() < end and os.getppid() == self.parent:
            self._with_ledger(lambda ledger: self._ask_the_rest(ledger, left))
        if left:
            self.tell(fault=f"{len(left)} requests have no outcome")

    @property
    def is_at_work(self) -> bool:
        """Whether the program lives and no end was ordered."""
        return not self.orders.is_ending.value and os.getppid() == self.parent

    def _with_ledger(self, work: Callable[[Ledger], None]) -> None:
        """Open the ledger, work and close it, as often as a process may do that."""
        try:
            with self.open() as ledger:
                work(ledger)
        except Exception as error:  # noqa: BLE001 - told, and judged afterwards
            self.tell(fault=_sentence(error))
            time.sleep(NAP)

    def _ask_some(self, ledger: Ledger) -> None:
        for _ in range(ASKED_AT_ONCE):
            if not self.is_at_work:
                return
            number = self._any_request()
            self._ask(ledger, number)
            if self.chance.random() < 0.3:
                self._ask(ledger, number)

    def _ask_the_rest(self, ledger: Ledger, left: list[int]) -> None:
        while left and self._ask(ledger, left[-1]):
            left.pop()

    def _any_request(self) -> int:
        """One of the newest, for which all race, or any other."""
        total = self.orders.opened.value
        newest = self.chance.random() < 0.5
        return self.chance.randrange(max(0, total - NEWEST) if newest else 0, total)

    def _ask(self, ledger: Ledger, number: int) -> bool:
        """Whether a request was answered or refused."""
        try:
            self._ask_once(ledger, number)
        except BudgetError:
            self.tell(ended=time.monotonic_ns(), refused=True)
        except Exception as error:  # noqa: BLE001 - told, and judged afterwards
            self.tell(fault=_sentence(error))
            time.sleep(NAP * self.chance.uniform(0.5, 2))
            return False
        return True

    def _ask_once(self, ledger: Ledger, number: int) -> None:
        units = 1 + number % MOST_UNITS
        asked = {"question": question_of(number), **self._key_of(number)}
        self.tell(number=number, **asked, cost=units, begun=time.monotonic_ns())
        turn = ledger.charge(
            NAME,
            version=1,
            event=events.PureEvent(units * UNIT),
            description="{}",
            patience=self.chance.choice((0.2, 2 * LEASE)),
            **asked,
        )
        self.tell(ended=time.monotonic_ns(), receipt=turn.receipt.to_json(), attempt=turn.attempt)
        reply = turn.payload
        if reply is None:
            self._compute(ledger, turn)
            reply = ledger.answer(turn, secrets.token_hex(8).encode())
        self.tell(reply=reply.decode())

    def _key_of(self, number: int) -> dict[str, Any]:
        """The request key and its analyst; now and then somebody else asks the same question without a key."""
        if self.chance.random() < 0.1:
            return {"request": None, "analyst": "guest"}
        return {"request": f"r-{number}", "analyst": f"analyst-{number % ANALYSTS}"}

    def _compute(self, ledger: Ledger, turn: Reservation) -> None:
        """Take no time, or some, or more than the lease: held in one case, and past it in the other."""
        chance = self.chance.random()
        if chance < 0.02:
            with ledger.holding(turn):
                time.sleep(LEASE + 0.5)
        elif chance < 0.08:
            time.sleep(LEASE + self.chance.uniform(0, 1.5))
        elif chance < 0.2:
            time.sleep(self.chance.uniform(0, 0.2))


def _sentence(error: Exception) -> str:
    if isinstance(error, PendingError):
        return PENDING
    return str(error) if isinstance(error, LedgerError) else f"{type(error).__name__}: {error}"


def question_of(number: int) -> str:
    """The fingerprint of the question of a request."""
    return hashlib.sha256(f"request {number}".encode()).hexdigest()


class Crowd:
    """The processes, by their places, and the orders to them."""

    def __init__(self, arguments: list[str]) -> None:
        address, homes, directory, processes, machines, *shared = arguments
        self._address, self._homes, self._directory = address, Path(homes), Path(directory)
        self._processes, self._machines = int(processes), int(machines)
        self._shared = shared[0] if shared else None
        self._orders = Orders(RawValue("q", 0), RawValue("b", 0))
        self._children: dict[int, int] = {}
        self._lives = 0

    def obey(self, order: str, *words: str) -> None:
        """Carry out one order."""
        if order == "open":
            self._orders.opened.value = int(words[0])
            for place in set(range(self._processes)) - set(self._children):
                self._start(place)
        elif order == "kill":
            self._kill(random.choice(list(self._children)))  # noqa: S311 - any of them will do
        else:
            self._end()

    def stop(self) -> None:
        """Kill what still runs."""
        for pid in self._children.values():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _kill(self, place: int) -> None:
        pid = self._children[place]
        os.kill(pid, signal.SIGKILL)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != -signal.SIGKILL:
            del self._children[place]
            raise SystemExit("a process had ended before it was killed")
        self._start(place)

    def _end(self) -> None:
        self._orders.is_ending.value = 1
        ends = []
        while self._children:
            _, pid = self._children.popitem()
            ends.append(os.waitpid(pid, 0)[1])
        if any(ends):
            raise SystemExit("a process failed")

    def _start(self, place: int) -> None:
        self._lives += 1
        parent, child = os.getpid(), os.fork()
        if child:
            self._children[place] = child
            return
        code = 1
        with suppress(BaseException):
            self._client(place, parent).run()
            code = 0
        os._exit(code)

    def _client(self, place: int, parent: int) -> Client:
        number = 1 + place % self._machines
        home = self._homes / f"home-{number}"
        name = self._directory / f"{self._lives}-{place}-home-{number}.jsonl"
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def opened() -> Ledger:
            places = {"key": home / "key", "anchors": home / "anchors", "shared_anchors": self._shared}
            return PostgresLedger(self._address, lease=LEASE, **places)

        def tell(**told: Any) -> None:
            os.write(file, (json.dumps(told) + "\n").encode())

        seed = secrets.token_hex(16)  # a fork would draw the numbers of its siblings
        return Client(place, self._processes, opened, self._orders, tell, random.Random(seed), parent)  # noqa: S311


def _orders() -> Iterator[list[str]]:
    return (line.split() for line in sys.stdin)


def main(arguments: list[str]) -> None:
    logging.disable()  # what is logged of faults is in the files
    crowd = Crowd(arguments)
    try:
        for words in _orders():
            crowd.obey(*words)
            print("done", flush=True)
    finally:
        crowd.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
