"""A process from which the kernel itself takes all randomness: getrandom fails there, and everything else works."""

import subprocess
import sys

import pytest

_WITHOUT = """
import ctypes, platform, struct, sys
from discreet.errors import EntropyError
number = {"x86_64": 318, "aarch64": 278}.get(platform.machine())
libc = ctypes.CDLL(None, use_errno=True)
# load the number of the call; getrandom fails with EIO, everything else is allowed
rules = struct.pack("=HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, number or 0, 6, 0, 0, 0x50005, 6, 0, 0, 0x7FFF0000)
buffer = ctypes.create_string_buffer(rules)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
program = Program(4, ctypes.cast(buffer, ctypes.c_void_p))
if number is None or libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
    print("no seccomp"); sys.exit()
for draw in draws:
    try:
        draw()
    except EntropyError as error:
        print("refused:", error)
"""


def refused(draws: str) -> int:
    """How many of some draws, a list of callables in Python text, are refused for want of entropy."""
    run = subprocess.run(
        [sys.executable, "-c", draws + _WITHOUT], capture_output=True, text=True, timeout=60, check=True
    )
    if "no seccomp" in run.stdout:
        pytest.skip("this kernel or architecture has no seccomp filter to take entropy away with")
    return run.stdout.count("refused: the operating system gives no randomness")
