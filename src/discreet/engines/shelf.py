"""Tables that an engine stores once and threads share."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from discreet.plan.physical import SumSteps

MOST_PREPARED = 16
MOST_WANTED = 1_024


class Shelf:
    """Tables stored once and shared by threads; the least recently used go when there are too many."""

    def __init__(self, most: int = MOST_PREPARED) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._making: dict[str, threading.Lock] = {}
        self._users: dict[str, int] = {}
        self._made: dict[str, Mapping[SumSteps, str]] = {}
        self._wanted: dict[str, int] = {}

    def want(self, name: str) -> None:
        """Count a query that reads the table."""
        with self._guard:
            self._wanted[name] = self._wanted.pop(name, 0) + 1
            if len(self._wanted) > MOST_WANTED:
                del self._wanted[next(iter(self._wanted))]

    def is_wanted_again(self, name: str) -> bool:
        """Whether the table is there, or another query has read it; a query that runs again counts again."""
        with self._guard:
            if name in self._made or self._wanted.get(name, 0) > 1:
                return True
            self._wanted[name] = 2
            return False

    def holds(self, name: str) -> bool:
        """Whether the table is there."""
        with self._guard:
            return name in self._made

    @contextmanager
    def table(
        self, name: str, create: Callable[[], Mapping[SumSteps, str]], drop: Callable[[str], None]
    ) -> Iterator[Mapping[SumSteps, str]]:
        """Hold a table while a query runs on it, and tell which steps it stores; the first caller makes it."""
        with self._guard:
            making = self._making.setdefault(name, threading.Lock())
            self._users[name] = self._users.get(name, 0) + 1
        try:
            with making:
                stored = self._find(name)
                if stored is None:
                    stored = create()
                self._keep(name, stored, drop)
            yield stored
        finally:
            with self._guard:
                self._users[name] -= 1

    def _find(self, name: str) -> Mapping[SumSteps, str] | None:
        with self._guard:
            return self._made.get(name)

    def _keep(self, name: str, stored: Mapping[SumSteps, str], drop: Callable[[str], None]) -> None:
        with self._guard:
            self._made.pop(name, None)
            self._made[name] = stored
            idle = [old for old in self._made if not self._users.get(old)]
            for old in idle[: max(0, len(self._made) - self._most)]:
                del self._made[old]
                drop(old)
