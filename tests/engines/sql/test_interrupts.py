"""Ctrl-C stops a query in the engine, and the charge stands: real processes, real signals."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.engines.sql.interrupts import cancellable


@pytest.fixture(autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """A shell starts what runs in the background with SIGINT ignored, and children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


LONG_QUERY = """
import sys, threading, time, traceback
import numpy as np, pyarrow as pa
import discreet as dp

rng = np.random.default_rng(1)
rows = 3_000_000
text = rng.integers(0, 9**9, rows).astype(str)
table = pa.table({"id": rng.integers(0, 300_000, rows), "x": rng.random(rows), "t": text})
words = {"name": "long", "privacy_unit": "id", "max_rows": 3, "budget": dp.Budget(epsilon=1), "threads": 2}
session = dp.protect(table, ledger=sys.argv[1], **words)
t = dp.table("long")
query = t.where(t.t.is_present()).agg(s=dp.sum("x", bounds=(0, 1)))


def told():
    while len(session.history()) < 2:
        time.sleep(0.01)
    print("charged", flush=True)


threading.Thread(target=told, daemon=True).start()
try:
    session.release(query, epsilon=0.5)
except KeyboardInterrupt as error:
    frames = len(traceback.extract_tb(error.__traceback__))
    stopped = time.process_time()
    time.sleep(0.5)
    used = time.process_time() - stopped
    *_, entry = session.history()
    print("interrupted", float(session.remaining()), entry.state, used < 0.3, frames, str(error)[:26])
else:
    print("answered")
"""


def test_ctrl_c_stops_duckdb_and_the_charge_stands(tmp_path: Path):
    script = tmp_path / "long.py"
    script.write_text(LONG_QUERY, encoding="utf-8")
    child = subprocess.Popen(
        [sys.executable, script, tmp_path / "ledger.sqlite"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "charged\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    told, failed = child.communicate(timeout=60)
    assert "Traceback" not in failed
    assert told.strip() == "interrupted 0.5 FORFEITED True 2 stopped; its charge stands"


def test_an_outcome_or_an_error_comes_back_to_the_caller():
    assert cancellable(lambda: 7, pytest.fail) == 7
    with pytest.raises(ZeroDivisionError):
        cancellable(lambda: 1 // 0, pytest.fail)


def test_outside_the_main_thread_a_call_runs_where_it_is():
    found = []
    thread = threading.Thread(target=lambda: found.append(cancellable(threading.current_thread, pytest.fail)))
    thread.start()
    thread.join()
    assert found == [thread]


def test_a_cancellation_is_repeated_until_the_call_has_ended():
    cancelled, asked = threading.Event(), []

    def cancel() -> None:
        asked.append(1)
        if len(asked) == 3:
            cancelled.set()

    def run() -> bool:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return cancelled.wait(20)

    with pytest.raises(KeyboardInterrupt):
        cancellable(run, cancel)
    assert len(asked) == 3
