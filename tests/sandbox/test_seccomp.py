"""The filter of system calls and the limits, tried in processes of their own."""

import re
from pathlib import Path

import pytest

from discreet.sandbox import seccomp

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}

DENIED = """
import ctypes, mmap, os, signal, socket, sys, threading, time
from pathlib import Path
from discreet.sandbox import seccomp
attempts = {
    "open": lambda: open("/etc/passwd"),
    "write a file": lambda: open("left-behind", "w"),
    "stat": lambda: os.stat("/etc"),
    "look around": lambda: os.listdir("/proc"),
    "own memory": lambda: open("/proc/self/mem", "rb"),
    "working directory": os.getcwd,
    "socket": socket.socket,
    "socket pair": socket.socketpair,
    "fork": os.fork,
    "thread": lambda: threading.Thread(target=int).start(),
    "start a program": lambda: os.execv("/bin/true", ["true"]),
    "signal the parent": lambda: os.kill(PARENT, signal.SIGTERM),
    "signal itself": lambda: signal.raise_signal(signal.SIGTERM),
    "pipe": os.pipe,
    "duplicate": lambda: os.dup(0),
    "memory file": lambda: os.memfd_create("x"),
    "priority": lambda: os.nice(1),
    "core": lambda: os.sched_setaffinity(0, {0}),
    "host name": os.uname,
    "load": os.getloadavg,
    "message queue": lambda: denied(LIBRARY.msgget(0, 0o1600)),
    "shared memory": lambda: denied(LIBRARY.shmget(0, 4096, 0o1600)),
    "limits": lambda: denied(LIBRARY.setrlimit(0, None)),
    "take the filter back": lambda: denied(LIBRARY.prctl(22, 0, 0, 0, 0)),
    "namespace": lambda: denied(LIBRARY.unshare(0x10000000)),
    "trace": lambda: denied(LIBRARY.ptrace(0, 0, 0, 0)),
    "another's memory": lambda: denied(LIBRARY.process_vm_readv(PARENT, None, 0, None, 0, 0)),
    "io_uring": lambda: denied(LIBRARY.syscall(425, 1, None)),
    "the parent's CPU": lambda: time.clock_gettime(((~PARENT) << 3) | 2),
    "whether a process lives": lambda: os.sched_getaffinity(PARENT),
    "a lock by its owner's number": lambda: denied(LIBRARY.syscall(202, ctypes.byref(ctypes.c_int(PARENT)), 6, 0)),
    "merged pages": lambda: before.madvise(12),
    "huge pages": lambda: mmap.mmap(-1, 2**21, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000),
    "a call of the future": lambda: denied(LIBRARY.syscall(4000)),
}
PARENT = os.getppid()
LIBRARY = ctypes.CDLL(None, use_errno=True)
def denied(result):
    if result == -1 and ctypes.get_errno() == 1:
        raise PermissionError
before = mmap.mmap(-1, 4096)
seccomp.lock()
passed = []
for name, attempt in attempts.items():
    try:
        attempt()
    except (OSError, RuntimeError):
        continue
    passed.append(name)
assert not passed, passed
assert os.getpid() == os.getppid() == os.getuid() == threading.get_native_id() == 0
assert len(bytearray(10**7)) == 10**7 and time.time() > 0 and len(os.urandom(8)) == 8
assert time.process_time() > 0 and time.monotonic() > 0 and os.sched_getaffinity(0)
time.sleep(0.01)
print("shut in", flush=True)
os._exit(0)
"""

UNLOCKABLE = """
import ctypes, os
from discreet.sandbox import Limits, Sandbox, seccomp
from discreet.errors import UnsupportedError
of = seccomp.machine()
steps = [seccomp._step(0x20, 0), seccomp._step(0x15, of.seccomp, 0, 1)]
steps += [seccomp._step(6, 0x00050001), seccomp._step(6, 0x7FFF0000)]
held = ctypes.create_string_buffer(b"".join(steps), 8 * len(steps))
program = seccomp._Program(len(steps), ctypes.cast(held, ctypes.c_void_p))
library = seccomp._library()
assert library.prctl(38, 1, 0, 0, 0) == 0
assert library.syscall(of.seccomp, 1, 0, ctypes.byref(program)) == 0
def rows(table):
    return table.num_rows
try:
    Sandbox(rows)
except UnsupportedError as refusal:
    assert 'isolation="process"' in refusal.instead, refusal
    print("refused")
import pyarrow as pa
with Sandbox(rows, limits=Limits(isolation="process", workers=1, seconds=20, constant_time=False)) as box:
    assert box.isolation == ()
    assert box.outputs([(0, pa.table({"a": [1, 2]}))], default=0) == [2]
print("trusted")
"""

LIMITED = """
import sys
from discreet.sandbox import seccomp
seccomp.limit(64 * 2**20, 1, 3)
try:
    bytearray(128 * 2**20)
except MemoryError:
    print("memory")
held = bytearray(16 * 2**20)
try:
    open("/dev/null")
except OSError:
    print("files")
sys.stdout.flush()
while True:
    pass
"""

SHARED = """
import mmap
from discreet.sandbox import seccomp
assert not seccomp.has_shared_memory()
held = mmap.mmap(-1, 4096)
assert seccomp.has_shared_memory()
print("seen")
"""


@pytest.mark.parametrize("architecture", sorted(seccomp.MACHINES))
def test_the_numbers_of_system_calls_are_those_of_the_kernel(architecture):
    header = HEADERS[architecture]
    if not header.is_file():
        pytest.skip("the kernel's headers are not installed: apt-get install linux-libc-dev")
    known = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text(encoding="utf-8")))
    of = seccomp.MACHINES[architecture]
    for name, number in {**of.allowed, **of.zero, "seccomp": of.seccomp}.items():
        assert int(known[name]) == number, name


@pytest.mark.parametrize("architecture", sorted(seccomp.MACHINES))
def test_no_call_on_the_list_reaches_files_network_or_other_processes(architecture):
    of = seccomp.MACHINES[architecture]
    reaching = (
        "open creat stat access link rename mkdir dir sock connect bind accept send recv fork clone exec kill ptrace"
    )
    reaching += (
        " shm msg sem memfd mount unshare setns prctl rlimit uring bpf dup pipe ioctl fcntl affinity_set priority"
    )
    named = {*of.allowed, *of.zero}
    assert [name for name in named if any(word in name for word in reaching.split())] == []
    assert set(of.allowed.values()).isdisjoint(of.zero.values())


def test_a_process_that_is_locked_can_compute_and_nothing_else(script, tmp_path):
    ran = script(DENIED)
    assert ran.stdout == "shut in\n", ran.stdout + ran.stderr
    assert not (tmp_path / "left-behind").exists()


def test_where_the_kernel_takes_no_filter_a_sandbox_is_refused_unless_the_owner_trusts(script):
    ran = script(UNLOCKABLE)
    assert ran.stdout == "refused\ntrusted\n", ran.stderr


def test_memory_files_and_cpu_are_bounded(script):
    ran = script(LIMITED)
    assert ran.stdout == "memory\nfiles\n", ran.stderr
    assert ran.returncode == -9


def test_memory_that_children_would_share_is_seen(script):
    ran = script(SHARED)
    assert ran.stdout == "seen\n", ran.stderr
