"""One session from many threads, one promise over many processes: restarts, threads and real forks."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

import discreet as dp
from discreet.accounting.costs import EPSILON_UNITS

VISITS = dp.table("visits")
THREADS = 8


def opened(protect=dp.protect, **words):
    rows = pa.table(
        {
            "person": [f"p{i % 20}" for i in range(60)],
            "ward": ["AB"[i % 2] for i in range(60)],
            "cost": list(range(60)),
        }
    )
    facts = {"privacy_unit": "person", "max_rows": 3, "keys": {"ward": ["A", "B"]}, "budget": dp.Budget(epsilon=1)}
    return protect(rows, **({"name": "visits"} | facts | words))


def spent(session):
    return session.ledger.spent("visits")


# Threads


def at_once(calls):
    """All the calls from threads of their own, which start together."""
    barrier = threading.Barrier(len(calls))

    def start(call):
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(start, call) for call in calls]]


def test_the_same_question_from_eight_threads_is_charged_once_and_answered_alike():
    query = VISITS.group_by("ward").agg(n=dp.count(), s=dp.sum("cost", bounds=(0, 50)))
    with opened() as session:
        answers = at_once([lambda: session.release(query, epsilon=0.2)] * THREADS)
        assert all(answer == answers[0] for answer in answers)
        assert spent(session).epsilon == EPSILON_UNITS // 5
        assert len(session.history()) == 2


def test_different_questions_from_eight_threads_are_all_charged_and_all_right():
    with opened(dp.testing.protect) as session:
        calls = [
            lambda low=low: session.release(VISITS.where(VISITS.cost >= low).agg(n=dp.count()), epsilon=0.1).value()
            for low in range(0, 8 * THREADS, 8)
        ]
        assert at_once(calls) == [60 - low if low < 60 else 0 for low in range(0, 8 * THREADS, 8)]
        assert spent(session).epsilon == THREADS * EPSILON_UNITS // 10
        assert session.ledger.verify().ok


# Restarts

ASK = """
import sys, discreet as dp
session = dp.protect(sys.argv[1], privacy_unit="person", max_rows=3, budget=dp.Budget(epsilon=1))
visits = dp.table("visits")
print(session.release(visits.agg(n=dp.count()), epsilon=0.4, fresh="fresh" in sys.argv).value())
print(session.remaining().epsilon)
"""


def test_a_restart_never_resets_a_budget(script, tmp_path):
    (tmp_path / "visits.csv").write_text("person,cost\na,1\nb,2\n")
    first, second = (script(ASK, tmp_path / "visits.csv") for _ in range(2))
    assert first.stdout == second.stdout
    assert first.stdout.splitlines()[1] == "0.6"
    third = script(ASK, tmp_path / "visits.csv", "fresh")
    assert third.stdout.splitlines()[1] == "0.2"
    refused = script(ASK, tmp_path / "visits.csv", "fresh")
    assert refused.returncode == 1
    assert "BudgetError: a charge of epsilon 0.4" in refused.stderr


# Forks: in scripts of their own, because a process with threads should not be forked


FORK = """
import os, sys, json, discreet as dp, pyarrow as pa

def ask(_):
    rows = pa.table({"person": ["a", "b"], "cost": [1, 2]})
    with dp.protect(rows, name="visits", privacy_unit="person", max_rows=900, budget=dp.Budget(epsilon=1)) as session:
        query = dp.table("visits").agg(n=dp.count())
        return [session.release(query, epsilon=1e-12, fresh=True).value() for _ in range(5)]

dp.protect
warm = dp.mechanisms.Laplace(sensitivity=1, epsilon=1e-12).release(0)
children = []
for worker in range(4):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, json.dumps(ask(worker)).encode())
        os._exit(0)
    os.close(writer)
    children.append(reader)
answers = [json.loads(os.read(reader, 10_000)) for reader in children]
statuses = [os.wait()[1] for _ in children]
print(json.dumps({"answers": answers, "statuses": statuses, "parent": ask(None)}))
"""


def test_four_forked_workers_do_not_share_noise(script):
    """25 draws of scale 9 * 10^14: two of them are equal with probability below 1e-12."""
    done = json.loads(script(FORK).stdout)
    assert done["statuses"] == [0] * 4
    values = [value for worker in (*done["answers"], done["parent"]) for value in worker]
    assert len(set(values)) == len(values) == 25


INHERITED = """
import os, sys, discreet as dp, pyarrow as pa
rows = pa.table({"person": ["a", "b"], "cost": [1, 2]})
session = dp.protect(rows, name="visits", privacy_unit="person", max_rows=3, budget=dp.Budget(epsilon=1))
query = dp.table("visits").agg(n=dp.count())
first = session.release(query, epsilon=0.25)
if os.fork() == 0:
    code = 1
    try:
        session.release(query, epsilon=0.25, fresh=True)
    except dp.errors.SourceError:
        code = 7 if session.remaining().epsilon == dp.Budget(epsilon=0.75).epsilon else 2
    session.close()
    os._exit(code)
print(os.waitstatus_to_exitcode(os.wait()[1]))
print(session.release(query, epsilon=0.25) == first, session.remaining().epsilon)
print(session.release(query, epsilon=0.25, fresh=True) is not None, session.remaining().epsilon)
"""


def test_a_session_taken_along_into_a_forked_child_refuses_and_leaves_its_parent_whole(script):
    done = script(INHERITED)
    assert done.stdout.splitlines() == ["7", "True 0.75", "True 0.5"], done.stderr
