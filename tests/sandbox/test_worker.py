"""One worker: what comes back of a block, and that nothing of its processes stays."""

import os
import signal
import time

import pyarrow as pa
import pytest
from hostile_functions import templates

from discreet.sandbox.limits import Limits, cores
from discreet.sandbox.template import NUMBER
from discreet.sandbox.transport import pack
from discreet.sandbox.worker import Reply, Worker, WorkerError, in_memory
from processes import children, wait_for

LIMITS = Limits(seconds=20, cpu=5, workers=1)


def halting(table):
    """The first cell, after as many seconds as the second one says."""
    import time as clock  # noqa: PLC0415 - this travels by value

    clock.sleep(table["wait"][0].as_py())
    return table["value"][0].as_py()


def rows(value: float, wait: float = 0.0) -> int:
    table = pa.table({"value": [value], "wait": [wait]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return in_memory(memoryview(sink.getvalue()))


@pytest.fixture
def worker():
    opened = Worker(pack(halting), LIMITS, cores()[0])
    assert opened.startup_report()["locked"]
    yield opened
    opened.close()


def soon(seconds: float = 20.0) -> float:
    return time.monotonic() + seconds


def test_a_block_answers_and_the_next_one_too(worker):
    assert worker.run(rows(2.5), soon()).answer(LIMITS) == 2.5
    assert worker.run(rows(-7.0), soon()).answer(LIMITS) == -7.0


@pytest.mark.timing
def test_a_block_that_is_not_done_in_time_is_gone_and_the_worker_goes_on(worker):
    began = time.monotonic()
    reply = worker.run(rows(1.0, wait=60), soon(0.3))
    assert time.monotonic() - began < 10
    assert reply.answer(LIMITS) is None
    (template,) = templates(os.getpid())
    wait_for(lambda: children(template) == [], 10, lambda: "a block is still there")
    assert worker.run(rows(3.0), soon()).answer(LIMITS) == 3.0


def test_a_template_that_is_killed_is_told_and_takes_its_block_with_it(worker):
    (template,) = templates(os.getpid())
    os.kill(template, signal.SIGKILL)
    with pytest.raises(WorkerError):
        worker.run(rows(1.0), soon())


def test_closing_a_worker_ends_its_processes(worker):
    worker.close()
    assert templates(os.getpid()) == []


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"", ended_well=True, cpu=0.0),
        Reply(NUMBER.pack(1.0), ended_well=False, cpu=0.0),
        Reply(NUMBER.pack(1.0), ended_well=True, cpu=5.1),
        Reply(NUMBER.pack(1.0) + b"x", ended_well=True, cpu=0.0),
        Reply(NUMBER.pack(float("nan")), ended_well=True, cpu=0.0),
        Reply(NUMBER.pack(float("-inf")), ended_well=True, cpu=0.0),
    ],
)
def test_a_reply_that_is_odd_in_any_way_is_no_answer(reply):
    assert reply.answer(LIMITS) is None
