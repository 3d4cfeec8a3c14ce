"""Blocks in a sandbox: hostile ones give their default, honest ones their answer, all of them at a public moment."""

import logging
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from hostile_functions import HANGING, HARMLESS, MODULES, NO_NUMBER, PRIVATE, hostile, templates

from discreet import sandbox
from discreet.errors import ParameterError, UnsupportedError
from discreet.sandbox import Limits, Sandbox
from processes import children

ONE = Limits(seconds=20, constant_time=False, workers=1)
PATIENT = Limits(seconds=20, constant_time=False, memory=256 * 2**20)


def act(name: str, value: float = 4.0) -> pa.Table:
    return pa.table({"act": [name, name], "value": [value, value + 1], "text": [PRIVATE, PRIVATE]})


def numbered(*tables: pa.Table) -> list[tuple[int, pa.Table]]:
    return list(enumerate(tables))


def mean(table):
    return sum(table["value"].to_pylist()) / table.num_rows


def size(table):
    return table.num_rows


# hostile functions


def test_every_hostile_block_gives_the_default_and_every_honest_one_its_answer(capfd, caplog, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    names = [name for bad in NO_NUMBER for name in (bad, "is honest")]
    with Sandbox(hostile, limits=PATIENT, modules=MODULES) as box:
        found = box.outputs(numbered(*(act(name, float(i)) for i, name in enumerate(names))), default=-1)
    expected = [Fraction(2 * i + 1, 2) if name == "is honest" else Fraction(-1) for i, name in enumerate(names)]
    assert dict(zip(names, found, strict=True)) == dict(zip(names, expected, strict=True))
    assert found == expected
    out, err = capfd.readouterr()
    assert out == err == caplog.text == ""
    assert list(tmp_path.iterdir()) == []
    assert not Path("/tmp/discreet-left-behind").exists()  # noqa: S108 - where a function tried to write
    assert templates(os.getpid()) == []


@pytest.mark.timing
def test_blocks_that_never_end_are_stopped_on_time(capfd):
    limits = Limits(seconds=1, rest=0.1)
    with Sandbox(hostile, limits=limits, modules=MODULES) as box:
        began = time.monotonic()
        found = box.outputs(numbered(*(act(name) for name in HANGING)), default=7)
        took = time.monotonic() - began
    assert found == [7] * len(HANGING)
    assert float(limits.deadline(len(HANGING))) <= took < float(limits.deadline(len(HANGING))) + 60
    assert capfd.readouterr() == ("", "")
    assert templates(os.getpid()) == []


def test_what_a_block_changes_or_says_reaches_no_other_and_nobody(capfd):
    names = [*HARMLESS, *HARMLESS]
    with Sandbox(hostile, limits=PATIENT, modules=MODULES) as box:
        assert box.outputs(numbered(*map(act, names)), default=-1) == [*HARMLESS.values(), *HARMLESS.values()]
    assert capfd.readouterr() == ("", "")


def test_cpu_beyond_its_limit_is_not_used_even_if_there_is_wall_time():
    def busy(table):
        import time as clock  # noqa: PLC0415 - this travels by value

        until = clock.process_time() + table["value"][0].as_py()
        while clock.process_time() < until:
            pass
        return 1

    limits = Limits(seconds=30, cpu=0.5, constant_time=False)
    with Sandbox(busy, limits=limits) as box:
        assert box.outputs(numbered(act("", 0.0), act("", 0.8), act("", 0.1)), default=0) == [1, 0, 1]


def test_memory_up_to_the_limit_is_there_and_a_block_that_cannot_fit_is_not_sent():
    def held(table):
        return len(bytearray(int(table["value"][0].as_py()) * 2**20)) / 2**20

    limits = Limits(seconds=30, memory=64 * 2**20, constant_time=False)
    wide = pa.table({"value": pa.array([1.0]), "text": [b"x" * (65 * 2**20)]})
    with Sandbox(held, limits=limits) as box:
        tables = numbered(act("", 32.0), act("", 80.0), wide, None, act("", 1.0))
        assert box.outputs(tables, default=-1) == [32, -1, -1, -1, 1]


# the timetable


@pytest.mark.parametrize("wait", [0.0, 60.0])
@pytest.mark.nightly
@pytest.mark.timing
def test_a_block_begins_when_the_timetable_says_whatever_the_one_before_it_did(wait):
    def moment(table):
        import time as clock  # noqa: PLC0415 - this travels by value

        now = clock.monotonic()
        clock.sleep(table["value"][0].as_py())
        return now

    limits = Limits(seconds=2, rest=0.1, reading=3, workers=1)
    with Sandbox(moment, limits=limits) as box:
        began = time.monotonic()
        found = box.outputs(numbered(act("", wait), act("", 0.0)), default=0)
        took = time.monotonic() - began
    assert float(limits.deadline(2)) <= took < float(limits.deadline(2)) + 4
    assert 0 <= float(found[1]) - began - float(limits.begins(1)) < 2


def test_an_engine_that_keeps_to_its_time_costs_no_block_its_own():
    def slowly():
        for i in range(2):
            time.sleep(0.5)
            yield i, act("", float(i))

    with Sandbox(mean, limits=Limits(seconds=1.5, rest=0, reading=6, workers=1)) as box:
        assert box.outputs(slowly(), default=-1) == [Fraction(1, 2), Fraction(3, 2)]


@pytest.mark.timing
def test_without_a_constant_time_the_answers_are_there_when_they_are_there():
    with Sandbox(mean, limits=Limits(seconds=100, constant_time=False)) as box:
        began = time.monotonic()
        assert box.outputs(numbered(act("", 1.0), act("", 2.0)), default=0) == [Fraction(3, 2), Fraction(5, 2)]
    assert time.monotonic() - began < 60


# what goes wrong around it


@pytest.mark.timing
def test_an_engine_that_fails_ends_everything_at_once():
    def failing():
        yield 0, act("sleeps for ever")
        raise OSError("the engine")

    began = time.monotonic()
    with (
        Sandbox(hostile, limits=Limits(seconds=60), modules=MODULES) as box,
        pytest.raises(OSError, match="the engine"),
    ):
        box.outputs(failing(), default=0)
    assert time.monotonic() - began < 30
    assert templates(os.getpid()) == []


def test_a_worker_whose_template_is_gone_is_replaced_and_only_that_block_lost():
    def slow(table):
        import time  # noqa: PLC0415 - it travels

        time.sleep(1.0 if table["x"][0].as_py() == 3 else 0)
        return table["x"][0].as_py()

    def killing():
        time.sleep(0.5)
        for template in templates(os.getpid()):
            os.kill(template, signal.SIGKILL)

    blocks = [(place, pa.table({"x": [value]})) for place, value in enumerate((3, 4, 5))]
    with Sandbox(slow, limits=Limits(seconds=20, constant_time=False, workers=1)) as box:
        killer = threading.Thread(target=killing)
        killer.start()
        assert box.outputs(blocks, default=-1) == [-1, 4, 5]
        killer.join()


def told_by_others(table):
    """One block shouts on a page of the C library, which all processes share; the others listen."""
    import ctypes  # noqa: PLC0415 - it travels
    import time  # noqa: PLC0415

    library = ctypes.CDLL(None, use_errno=True)
    place = ctypes.c_void_p(ctypes.cast(library.getpid, ctypes.c_void_p).value & ~4095)
    held = ctypes.c_uint32(ctypes.c_uint32.from_address(place.value).value)
    number = 202 if table["machine"][0].as_py() == "x86_64" else 98
    if table["shouts"][0].as_py():
        for _ in range(50):
            library.syscall(number, place, 1, 1000, None, None, 0)
            time.sleep(0.01)
        return 0
    until = (ctypes.c_long * 2)(0, 600_000_000)
    return 1 if library.syscall(number, place, 0, held, until, None, 0) == 0 else 0


def test_a_lock_that_processes_share_is_no_channel_between_blocks():
    machine = platform.machine()
    for shouting in ([False] * 4, [False, True, False, False]):
        blocks = [(i, pa.table({"shouts": [each], "machine": [machine]})) for i, each in enumerate(shouting)]
        assert sandbox.outputs(blocks, told_by_others, default=0, limits=PATIENT, modules=("ctypes",)) == [0, 0, 0, 0]


def first(table):
    return table["x"][0].as_py()


@pytest.mark.nightly
@pytest.mark.timing
def test_a_block_as_large_as_it_may_be_takes_no_time_from_others():
    small, large = pa.table({"x": [1]}), pa.table({"x": [1] * 25_000_000})
    limits = Limits(seconds=0.15, workers=1, memory=512 * 2**20, reading=20, rest=0.3)
    blocks = [(place, large if place == 3 else small) for place in range(10)]
    tries = (sandbox.outputs(blocks, first, default=0, limits=limits) for _ in range(3))
    assert any([*found[:3], *found[4:]] == [1] * 9 for found in tries), "not even once, so load is not the reason"


def test_an_engine_that_takes_longer_than_it_may_fails_the_release():
    def blocks():
        time.sleep(0.4)
        yield 0, pa.table({"x": [1]})

    with Sandbox(first, limits=Limits(seconds=1, reading=0.2)) as box, pytest.raises(TimeoutError):
        box.outputs(blocks(), default=0)


def test_the_first_block_begins_when_it_is_said_however_quick_the_engine_is():
    def clock(table):
        import time  # noqa: PLC0415 - it travels

        return time.monotonic()

    started = []
    for wait in (0, 0.8):

        def blocks(wait=wait):
            time.sleep(wait)
            yield 0, pa.table({"x": [1]})

        with Sandbox(clock, limits=Limits(seconds=2, reading=1.5)) as box:
            start = time.monotonic()
            started.append(float(box.outputs(blocks(), default=0)[0]) - start)
    assert min(started) >= 1.5


def test_blocks_in_another_order_are_an_error():
    with Sandbox(mean, limits=PATIENT) as box, pytest.raises(RuntimeError, match="another order"):
        box.outputs([(1, act(""))], default=0)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_or_a_kill_leaves_no_process(tmp_path, sent):
    code = (
        "import sys, pyarrow as pa\nfrom discreet.sandbox import Limits, Sandbox\n"
        "def wait(table):\n    import time\n    while True: time.sleep(9)\n"
        "with Sandbox(wait, limits=Limits(seconds=600)) as box:\n    print('ready', flush=True)\n"
        "    box.outputs(((i, pa.table({'a': [1]})) for i in range(9)), default=0)\n"
    )
    path = tmp_path / "asking.py"
    path.write_text(code, encoding="utf-8")
    with subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == "ready\n"
        time.sleep(1.0)
        below = [each for template in templates(asking.pid) for each in (template, *children(template))]
        assert len(below) >= 2
        asking.send_signal(sent)
        asking.wait(timeout=30)
    until = time.monotonic() + 20
    while (left := [each for each in below if Path(f"/proc/{each}").exists()]) and time.monotonic() < until:
        time.sleep(0.1)
    assert left == []


# refusals, before anything is read


def test_a_default_that_is_no_number_is_refused():
    with Sandbox(size, limits=PATIENT) as box, pytest.raises(ParameterError, match="default"):
        box.outputs([], default=float("nan"))


def test_a_module_that_the_owner_allows_and_nobody_has_is_named():
    with pytest.raises(ParameterError, match="the module 'antigravity_of_discreet' for functions") as refusal:
        Sandbox(size, limits=ONE, modules=("antigravity_of_discreet",))
    assert "pip install antigravity_of_discreet" in refusal.value.instead


def test_the_template_runs_the_code_of_this_discreet_and_no_other(script, tmp_path):
    """Two of them may be installed: one in the site-packages, and one that PYTHONPATH puts before it."""
    copy = tmp_path / "copy"
    shutil.copytree(Path(sandbox.__file__).parents[1], copy / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    file = copy / "discreet" / "sandbox" / "template.py"
    told = file.read_text(encoding="utf-8").replace("NUMBER.pack(number(", "NUMBER.pack(1 + number(")
    file.write_text(told, encoding="utf-8")
    code = (
        "import pyarrow as pa\nfrom discreet import sandbox\n"
        "print(sandbox.rehearse(len, pa.table({'a': [1, 2]}), limits=sandbox.Limits(workers=1)))\n"
    )
    ran = script(code, PYTHONPATH=str(copy))
    assert ran.stdout == "3.0\n", ran.stderr


def test_a_sandbox_says_what_a_block_is_cut_off_from():
    with Sandbox(size, limits=PATIENT) as box:
        assert box.isolation[0] == "system calls"
    with Sandbox(size, limits=Limits(seconds=20, isolation="process", constant_time=False)) as box:
        assert box.isolation == ()
        assert box.outputs(numbered(act("")), default=0) == [2]


def test_an_ordinary_user_is_cut_off_as_far_as_the_kernel_allows(tmp_path):
    code = (
        "import os\nfrom discreet.sandbox import Limits, Sandbox\nassert os.geteuid() == 1000\n"
        "with Sandbox(len, limits=Limits(workers=1)) as box:\n    print(*box.isolation, sep=', ')\n"
    )
    path = tmp_path / "ordinary.py"
    path.write_text(code, encoding="utf-8")
    as_user = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    if shutil.which("unshare") is None or subprocess.run([*as_user, "true"], check=False).returncode:
        pytest.skip("this machine gives no user namespaces")
    ran = subprocess.run([*as_user, sys.executable, path], capture_output=True, text=True, check=False)
    assert ran.stdout == "system calls, network, shared memory, host name, mounts, rights\n", ran.stderr


# one call, and rehearsals


def test_one_call_does_it_all():
    assert sandbox.outputs(numbered(act(""), act("")), size, default=0, limits=PATIENT) == [2, 2]


def test_a_rehearsal_gives_the_answer_or_tells_what_went_wrong():
    assert sandbox.rehearse(mean, act("", 1.0)) == 1.5
    with pytest.raises(UnsupportedError, match=r"gave no number: PermissionError: .*'/etc/passwd'"):
        sandbox.rehearse(hostile, act("reads a file"), modules=MODULES)
    with pytest.raises(UnsupportedError, match="TypeError: a str is not a number"):
        sandbox.rehearse(hostile, act("returns text"), modules=MODULES)
    with pytest.raises(UnsupportedError, match="it was stopped"):
        sandbox.rehearse(hostile, act("sleeps for ever"), limits=Limits(seconds=0.5), modules=MODULES)


def test_limits_and_rows_of_another_kind_are_refused():
    with pytest.raises(ParameterError, match="limits of type int"):
        Sandbox(first, limits=5)
    with pytest.raises(ParameterError, match="from_pandas"):
        sandbox.rehearse(first, {"x": [1]})
