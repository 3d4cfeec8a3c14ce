"""A lease that is renewed while its holder lives: a thread beats until the work is done, and dies with the process."""

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from discreet.errors import DiscreetError, ParameterError

log = logging.getLogger("discreet")


SHORTEST, LONGEST = 0.05, 86_400.0


def term(lease: object) -> int:
    """A lease of some seconds in milliseconds; one that ends at once or never is refused."""
    is_number = isinstance(lease, int | float) and not isinstance(lease, bool)
    if not is_number or not SHORTEST <= lease <= LONGEST:  # type: ignore[operator]
        raise ParameterError(
            f"lease={lease!r}",
            because=f"a lease is a number of seconds from {SHORTEST} to {LONGEST:,.0f}",
            instead="lease=30",
        )
    return round(lease * 1000)  # type: ignore[operator]


class Lease:
    """Renews every so many seconds while the block runs; a renewal that fails is logged and tried again."""

    def __init__(self, renew: Callable[[], bool], every: float) -> None:
        self._renew = renew
        self._every = every
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="discreet-lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._done.wait(self._every):
            try:
                if not self._renew():
                    return
            except DiscreetError as error:
                log.warning("a lease could not be renewed: class %s", type(error).__name__)
