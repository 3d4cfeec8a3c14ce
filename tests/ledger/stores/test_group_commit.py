"""Threads that go together: each gets its own row or error, nobody is left waiting, and nobody is sent twice."""

import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.stores import group_commit
from discreet.ledger.stores.group_commit import MOST_IN_A_GROUP, GroupCommit
from discreet.ledger.transactions.store import UnknownOutcomeError

THREADS = 40


class Statements:
    """A store that notes what came together; the first statement waits until the others have gathered."""

    def __init__(self, gathered: int = THREADS) -> None:
        self.statements: list[list[int]] = []
        self.group_commits = GroupCommit(self.execute)
        self._gathered = gathered

    def execute(self, claims):
        numbers = [claim["number"] for claim in claims]
        self.statements.append(numbers)
        if len(self.statements) == 1:
            self.wait_for_the_others(len(numbers))
        return self.replies(numbers)

    def replies(self, numbers):
        return [{"number": number} if number % 2 else None for number in numbers]

    def wait_for_the_others(self, gone):
        end = time.monotonic() + 30
        while sum(len(queue.waiting) for queue in self.group_commits._queues.values()) < self._gathered - gone:
            assert time.monotonic() < end
            time.sleep(0.001)


def outcomes(statements, threads=THREADS, name=lambda _: "visits"):
    found = {}

    def ask(number):
        try:
            found[number] = statements.group_commits.submit(name(number), {"number": number})
        except BaseException as error:  # noqa: BLE001 - told by its kind
            found[number] = error

    running = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)
    until_empty(statements.group_commits)
    return found


def until_empty(group_commits):
    end = time.monotonic() + 30
    while group_commits._queues and time.monotonic() < end:
        time.sleep(0.001)
    assert not group_commits._queues


def test_those_who_come_meanwhile_go_together_and_each_gets_its_own_row():
    statements = Statements()
    found = outcomes(statements)
    assert found == {number: {"number": number} if number % 2 else None for number in range(THREADS)}
    assert len(statements.statements) == 2


def test_a_statement_is_of_bounded_size():
    statements = Statements(gathered=2 * MOST_IN_A_GROUP)
    assert len(outcomes(statements, threads=2 * MOST_IN_A_GROUP)) == 2 * MOST_IN_A_GROUP
    assert [len(each) for each in statements.statements][1] == MOST_IN_A_GROUP


def test_datasets_do_not_wait_for_each_other():
    statements = Statements(gathered=0)
    found = outcomes(statements, name=str)
    assert len(found) == len(statements.statements) == THREADS


def test_where_one_fails_nothing_was_written_and_each_goes_alone():
    class OneIsRefused(Statements):
        def replies(self, numbers):
            if 7 in numbers:
                raise LedgerError(faults.BROKEN_RULE)
            return super().replies(numbers)

    found = outcomes(OneIsRefused())
    assert isinstance(found.pop(7), LedgerError)
    assert found == {number: {"number": number} if number % 2 else None for number in range(THREADS) if number != 7}


@pytest.mark.parametrize("fault", [UnknownOutcomeError, KeyboardInterrupt, MemoryError])
def test_an_unknown_outcome_is_unknown_to_all_who_went_and_none_is_sent_again(fault):
    class Lost(Statements):
        def replies(self, numbers):
            if len(numbers) > 1:
                raise fault
            return super().replies(numbers)

    statements = Lost()
    found = outcomes(statements)
    together = statements.statements[1]
    assert Counter(type(found[number]) for number in together) == Counter({UnknownOutcomeError: len(together)})
    assert sorted(number for each in statements.statements for number in each) == list(range(THREADS))


def test_one_who_is_interrupted_while_waiting_is_not_sent_and_the_line_goes_on(monkeypatch):
    statements = Statements(gathered=4)
    first = threading.Thread(target=statements.group_commits.submit, args=("visits", {"number": 1}))
    first.start()
    while not statements.statements:
        time.sleep(0.001)
    with monkeypatch.context() as patched:
        patched.setattr(statements.group_commits, "_ensure_worker", interrupted)
        with pytest.raises(KeyboardInterrupt):
            statements.group_commits.submit("visits", {"number": 99})
    others = [
        threading.Thread(target=statements.group_commits.submit, args=("visits", {"number": n})) for n in (2, 3, 4)
    ]
    for thread in others:
        thread.start()
    for thread in (first, *others):
        thread.join(60)
    assert sorted(number for each in statements.statements for number in each) == [1, 2, 3, 4]
    until_empty(statements.group_commits)


def interrupted(_):
    raise KeyboardInterrupt


def test_a_line_whose_worker_never_came_gets_another():
    statements = Statements(gathered=0)
    statements.group_commits._queues["visits"] = line = group_commit._Queue()
    statements.group_commits._serve("visits", line, object())
    assert statements.group_commits.submit("visits", {"number": 3}) == {"number": 3}


@pytest.mark.pitfall("D")
def test_interrupts_at_any_moment_leave_nobody_waiting_for_ever():
    """Real signals, as Ctrl-C sends them, all through a few thousand statements of the main thread."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    interrupted, made = map(int, done.stdout.split())
    assert interrupted > 50
    assert made > 50


INTERRUPTED = """
import random, signal, threading, time
from discreet.ledger.stores.group_commit import GroupCommit

group_commits = GroupCommit(lambda claims: [{} for _ in claims])
armed = False
def interrupt(*_):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
over = threading.Event()
def company():
    while not over.is_set():
        group_commits.submit("d", {})
others = [threading.Thread(target=company) for _ in range(2)]
for thread in others: thread.start()
interrupted = made = 0
least, most = time.monotonic() + 4, time.monotonic() + 60  # a busy machine takes longer
while time.monotonic() < least or (min(interrupted, made) <= 50 and time.monotonic() < most):
    try:
        armed = True  # before the timer: a signal that comes first would be lost, and the loop below has no other end
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 2e-3))
        while True:
            group_commits.submit("d", {})
            made += 1
    except KeyboardInterrupt:
        interrupted += 1
signal.signal(signal.SIGALRM, signal.SIG_IGN)
over.set()
for thread in others: thread.join(30)
assert not any(thread.is_alive() for thread in others)
group_commits.submit("d", {})
print(interrupted, made)
"""
