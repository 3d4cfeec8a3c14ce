"""What a function should not do, one thing for each block by what its first cell says; all but a few give no number."""

import ctypes
import math
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from processes import children

PRIVATE = "a private value"

MODULES = ("ctypes", "mmap", "os", "signal", "socket", "struct", "subprocess", "sys", "threading")
"""What the functions here use beside the default modules: only the lock stands in their way."""

NO_NUMBER = (
    "raises",
    "raises with the rows",
    "returns nothing",
    "returns text",
    "returns NaN",
    "returns infinity",
    "returns 10**400",
    "returns a list",
    "returns a complex number",
    "leaves",
    "leaves at once",
    "fails with no error",
    "reads a file",
    "writes a file",
    "opens a socket",
    "forks",
    "forks for ever",
    "starts threads for ever",
    "starts a program",
    "kills its parent",
    "kills everybody",
    "looks at other processes",
    "reads memory it has not",
    "overflows the stack",
    "allocates for ever",
    "maps memory for ever",
    "writes another answer",
    "closes its answer",
    "answers at great length",
    "breaks its way out",
    "recurses for ever",
)
HANGING = ("loops for ever", "sleeps for ever", "waits for itself", "ends one of its threads", "answers and goes on")
HARMLESS = {"prints": 1, "changes its libraries": 2, "looks for what others left": 0, "asks who it is": 0}


def templates(parent: int) -> list[int]:
    """The templates that a process started; other tests may have servers below the same one."""
    found = []
    for pid in children(parent):
        with suppress(OSError):
            if b"discreet.sandbox" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def hostile(table):
    """Do what the first cell says."""

    def written(content):
        os.write(4, content)
        return 1.0

    def for_ever(act):
        kept = []
        while True:
            kept.append(act())

    def forking():
        while True:
            os.fork()

    def changing():
        math.left = getattr(math, "left", 0) + 2
        sys.modules["left"] = math
        os.kill = struct.pack = sys.exit = print
        return math.left

    def breaking():
        os._exit = os.write = print
        return 1.0

    def deep(n):
        return deep(n + 1)

    def stuck():
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()

    acts = {
        "raises": lambda: 1 / 0,
        "raises with the rows": lambda: (_ for _ in ()).throw(ValueError(str(table.to_pylist()))),
        "returns nothing": lambda: None,
        "returns text": lambda: "12",
        "returns NaN": lambda: math.nan,
        "returns infinity": lambda: -math.inf,
        "returns 10**400": lambda: 10**400,
        "returns a list": lambda: [1.0],
        "returns a complex number": lambda: 1j,
        "leaves": lambda: sys.exit(0),
        "leaves at once": lambda: os._exit(0),
        "fails with no error": os.abort,
        "reads a file": lambda: len(open("/etc/passwd").read()),  # noqa: PTH123, SIM115
        "writes a file": lambda: open("/tmp/discreet-left-behind", "w").write(str(table)),  # noqa: PTH123, SIM115, S108
        "opens a socket": lambda: socket.create_connection(("127.0.0.1", 80)).fileno(),
        "forks": os.fork,
        "forks for ever": forking,
        "starts threads for ever": lambda: for_ever(lambda: threading.Thread(target=stuck).start()),
        "starts a program": lambda: subprocess.run(["/bin/true"], check=False).returncode,
        "kills its parent": lambda: os.kill(os.getppid(), signal.SIGKILL) or 1,
        "kills everybody": lambda: os.kill(-1, signal.SIGKILL) or 1,
        "looks at other processes": lambda: len(os.listdir("/proc")),  # noqa: PTH208
        "reads memory it has not": lambda: ctypes.string_at(8) and 1,
        "overflows the stack": lambda: sys.setrecursionlimit(10**9) or deep(0),
        "allocates for ever": lambda: for_ever(lambda: bytearray(2**24)),
        "maps memory for ever": lambda: for_ever(lambda: mmap.mmap(-1, 2**24)),
        "writes another answer": lambda: written(struct.pack("<d", 99.0)),
        "closes its answer": lambda: os.close(4) or 1,
        "answers at great length": lambda: for_ever(lambda: os.write(4, b"x" * 100_000)),
        "ends one of its threads": lambda: ctypes.CDLL(None).syscall(60, 0),
        "breaks its way out": breaking,
        "recurses for ever": lambda: deep(0),
        "loops for ever": lambda: for_ever(int),
        "sleeps for ever": lambda: for_ever(lambda: time.sleep(100)),
        "waits for itself": stuck,
        "answers and goes on": lambda: written(struct.pack("<d", 99.0)) and for_ever(int),
        "prints": lambda: print(table.to_pylist(), file=sys.stderr) or print(table.to_pylist()) or 1,
        "changes its libraries": changing,
        "looks for what others left": lambda: getattr(math, "left", 0) + ("left" in sys.modules),
        "asks who it is": lambda: os.getpid() + os.getppid() + os.getuid() + len(os.environ.get("HOME", "")),
        "is honest": lambda: sum(table["value"].to_pylist()) / table.num_rows,
    }
    return acts[table["act"][0].as_py()]()
