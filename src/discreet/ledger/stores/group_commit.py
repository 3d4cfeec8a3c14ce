"""Group commit: concurrent claims on one dataset share one statement and one COMMIT.

A claim that arrives while a statement runs is sent with the next one. No claim waits for others to join it.

Statements are sent by a worker thread, which ends when no claim is left. An interrupt (Ctrl-C) reaches the threads that
submit, at any point, so none of them sends claims of others. An interrupted thread leaves; its claim is carried out or
not, as after a crash. Threads wait on bare locks and start bare threads, which an interrupt cannot leave half-way:
events and conditions of Python can be left with a lock that nobody holds. A waiting thread checks from time to time
that there is a worker.
"""

import _thread
import threading
from collections.abc import Callable, Sequence

from discreet.errors import LedgerError
from discreet.ledger.transactions.store import Row, UnknownOutcomeError, Values

MOST_IN_A_GROUP = 64
SECONDS_BETWEEN_LOOKS = 1.0

Execute = Callable[[Sequence[Values]], list[Row | None]]


class _PendingClaim:
    """A claim that a thread waits for."""

    def __init__(self, claim: Values) -> None:
        self.claim = claim
        self.is_settled = False
        self.bell = threading.Lock()
        self.bell.acquire()
        self.goes_alone = False
        self.row: Row | None = None
        self.error: LedgerError | None = None


class _Queue:
    """The claims that wait for one dataset, and the token of the worker thread that sends them."""

    def __init__(self) -> None:
        self.waiting: list[_PendingClaim] = []
        self.worker: object = None


class GroupCommit:
    """Sends concurrent claims to the store in one statement; each thread gets its own row or error."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self._lock = threading.Lock()
        self._queues: dict[str, _Queue] = {}

    def submit(self, name: str, claim: Values) -> Row | None:
        """The row that the store gives to a claim on a dataset, or None."""
        pending = _PendingClaim(claim)
        with self._lock:
            self._queues.setdefault(name, _Queue()).waiting.append(pending)
        try:
            while not pending.is_settled:
                self._ensure_worker(name)
                pending.bell.acquire(timeout=SECONDS_BETWEEN_LOOKS)
        except BaseException:
            self._leave(name, pending)
            raise
        if pending.goes_alone:
            return self._execute([claim])[0]
        if pending.error is not None:
            raise pending.error
        return pending.row

    def _ensure_worker(self, name: str) -> None:
        """Start a worker for a queue that has none; it waits for the lock, and ends unless its token is recorded."""
        with self._lock:
            queue = self._queues.get(name)
            if queue is not None and queue.worker is None:
                token = object()
                _thread.start_new_thread(self._serve, (name, queue, token))
                queue.worker = token

    def _serve(self, name: str, queue: _Queue, token: object) -> None:
        """Send groups of claims until none waits."""
        while True:
            with self._lock:
                if queue.worker is not token:
                    return
                group = queue.waiting[:MOST_IN_A_GROUP]
                del queue.waiting[:MOST_IN_A_GROUP]
                if not group:
                    del self._queues[name]
                    return
            self._send(group)

    def _send(self, group: list[_PendingClaim]) -> None:
        try:
            rows = self._execute([pending.claim for pending in group])
        except LedgerError as error:
            if len(group) > 1 and not isinstance(error, UnknownOutcomeError):
                for pending in group:  # nothing was written, and only one of them may be why
                    pending.goes_alone = True
            _settle(group, error)
        except BaseException:  # noqa: BLE001 - waiting threads must see any exception
            _settle(group, UnknownOutcomeError())
        else:
            for pending, row in zip(group, rows, strict=True):
                pending.row = row
            _settle(group, None)

    def _leave(self, name: str, pending: _PendingClaim) -> None:
        """Remove the claim of a thread that was interrupted before the claim was sent."""
        with self._lock:
            queue = self._queues.get(name)
            if queue is not None and pending in queue.waiting:
                queue.waiting.remove(pending)


def _settle(group: Sequence[_PendingClaim], error: LedgerError | None) -> None:
    """Wake every waiting thread; each gets an error of its own to raise."""
    for pending in group:
        pending.error = None if error is None else type(error)(*error.args)
        pending.is_settled = True
        pending.bell.release()
