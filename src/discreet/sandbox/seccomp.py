"""How a process gives up everything but computing: limits, namespaces and a filter of system calls, for Linux.

A process that is `locked` can read and write what it holds already, ask for memory up to its limit, look at the clock
and end. Every other system call fails with EPERM: it opens no file, reads no directory, makes no socket, process or
thread, sends no signal, shares no memory and changes no limit. Where an argument could name another process (its CPU
clock, its core, a lock that it holds) or something that all processes share (huge pages, merged pages), only values
that cannot are let through. The filter lists what is allowed and cannot be taken back; a call that a later kernel adds
is not on the list. Who the process is (its numbers and its user's) reads as zero.

Only ctypes and the C library are used, because what is imported here lives in the process that runs the function.
"""

import ctypes
import os
import platform
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_X86_64 = {
    "read": 0, "write": 1, "close": 3, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13,
    "rt_sigprocmask": 14, "rt_sigreturn": 15, "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35,
    "exit": 60, "gettimeofday": 96, "sigaltstack": 131, "time": 201, "futex": 202, "sched_getaffinity": 204,
    "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231,
    "getrandom": 318,
}  # fmt: skip
_AARCH64 = {
    "read": 63, "write": 64, "close": 57, "mmap": 222, "mprotect": 226, "munmap": 215, "brk": 214, "rt_sigaction": 134,
    "rt_sigprocmask": 135, "rt_sigreturn": 139, "sched_yield": 124, "mremap": 216, "madvise": 233, "nanosleep": 101,
    "exit": 93, "gettimeofday": 169, "sigaltstack": 132, "futex": 98, "sched_getaffinity": 123, "restart_syscall": 128,
    "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115, "exit_group": 94, "getrandom": 278,
}  # fmt: skip
_X86_64_ZERO = {
    "getpid": 39, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "gettid": 186,
}  # fmt: skip
_AARCH64_ZERO = {
    "getpid": 172, "getppid": 173, "getuid": 174, "geteuid": 175, "getgid": 176, "getegid": 177, "gettid": 178,
}  # fmt: skip
_OWN_CLOCKS = (*range(10), 11)
_ARGUMENTS = {
    "clock_gettime": (0, 0xFFFFFFFF, _OWN_CLOCKS),  # other numbers are the CPU clocks of other processes
    "clock_getres": (0, 0xFFFFFFFF, _OWN_CLOCKS),
    "clock_nanosleep": (0, 0xFFFFFFFF, _OWN_CLOCKS),
    "sched_getaffinity": (0, 0xFFFFFFFF, (0,)),
    "futex": (1, 0xFF, tuple(0x80 | each for each in (0, 1, 3, 4, 5, 9, 10))),  # private ones alone, and none by owner
    "madvise": (2, 0xFFFFFFFF, (0, 1, 2, 3, 4, 8, 14, 15)),  # not MADV_MERGEABLE: merged pages tell what others hold
    "mmap": (3, 0x40000, (0,)),  # not MAP_HUGETLB: huge pages come from one pool
}
"""Calls of which one argument counts: its place, a mask, and the values under the mask that are let through."""


class Machine:
    """The numbers of one architecture: its mark in a filter, the call that sets one, and the calls it lets through."""

    def __init__(self, mark: int, seccomp: int, allowed: Mapping[str, int], zero: Mapping[str, int]) -> None:
        self.mark, self.seccomp, self.allowed, self.zero = mark, seccomp, allowed, zero


MACHINES = {
    "x86_64": Machine(0xC000003E, 317, _X86_64, _X86_64_ZERO),
    "aarch64": Machine(0xC00000B7, 277, _AARCH64, _AARCH64_ZERO),
}

_LOAD, _AND, _IF_EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_KILL_PROCESS, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_DENY = _ERRNO | 1
_SET_FILTER, _ALL_THREADS = 1, 1
_SET_NO_NEW_PRIVILEGES, _SET_DEATH_SIGNAL, _SET_DUMPABLE = 38, 1, 4
_KILL = 9
_NEW_NAMESPACES = {"network": 0x40000000, "shared memory": 0x08000000, "host name": 0x04000000, "mounts": 0x00020000}
_NEW_USER = 0x10000000
_CPU, _FILE_SIZE, _CORE, _PROCESSES, _FILES, _LOCKED, _ADDRESSES, _QUEUES = 0, 1, 4, 6, 7, 8, 9, 12
NOBODY = 65_534


class _Limit(ctypes.Structure):
    _fields_ = (("soft", ctypes.c_ulong), ("hard", ctypes.c_ulong))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def machine() -> Machine | None:
    """The architecture of this process, if a filter for it is known and it is a Linux of 64 bits."""
    is_known = platform.system() == "Linux" and struct.calcsize("P") == 8
    return MACHINES.get(platform.machine()) if is_known else None


def instructions(of: Machine) -> bytes:
    """The filter: another architecture is killed, calls on the list pass, some read as zero, all others fail."""
    program = [_step(_LOAD, 4), _step(_IF_EQUAL, of.mark, 1, 0), _step(_RETURN, _KILL_PROCESS), _step(_LOAD, 0)]
    for name, number in of.allowed.items():
        passing = _argument(*_ARGUMENTS[name]) if name in _ARGUMENTS else [_step(_RETURN, _ALLOW)]
        program += [_step(_IF_EQUAL, number, 0, len(passing)), *passing]
    for number in of.zero.values():
        program += [_step(_IF_EQUAL, number, 0, 1), _step(_RETURN, _ERRNO)]
    return b"".join([*program, _step(_RETURN, _DENY)])


def _argument(place: int, mask: int, values: tuple[int, ...]) -> list[bytes]:
    """Let a call through if the low half of an argument, under a mask, has one of the values."""
    checks = [_step(_IF_EQUAL, value, len(values) - i, 0) for i, value in enumerate(values)]
    return [_step(_LOAD, 16 + 8 * place), _step(_AND, mask), *checks, _step(_RETURN, _DENY), _step(_RETURN, _ALLOW)]


def lock() -> None:
    """Install the filter for all threads of this process; OSError where the kernel does not take it."""
    of = machine()
    if of is None:
        raise OSError("no filter of system calls for this machine")
    text = instructions(of)
    held = ctypes.create_string_buffer(text, len(text))
    program = _Program(len(text) // 8, ctypes.cast(held, ctypes.c_void_p))
    library = _library()
    _set(_SET_NO_NEW_PRIVILEGES, 1)
    _require_success(library.syscall(of.seccomp, _SET_FILTER, _ALL_THREADS, ctypes.byref(program)))


def limit(memory: int, cpu: int, files: int | None) -> None:
    """Bound the address space beyond what there is and whole seconds of CPU; with `files`, files and processes too."""
    bounds = {_ADDRESSES: address_space() + memory, _CPU: cpu, _CORE: 0}
    if files is not None:
        bounds |= {_FILES: files, **dict.fromkeys((_FILE_SIZE, _PROCESSES, _LOCKED, _QUEUES), 0)}
    library = _library()
    for resource, wanted in bounds.items():
        now = _Limit()
        _require_success(library.getrlimit(resource, ctypes.byref(now)))
        most = min(wanted, now.hard)
        _require_success(library.setrlimit(resource, ctypes.byref(_Limit(most, most))))


def address_space() -> int:
    """Bytes of address space that this process has."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")


def separate() -> list[str]:
    """Leave the network, shared memory, host name and mounts of the machine, as far as the kernel lets us."""
    library = _library()
    is_root = os.geteuid() == 0
    flags = sum(_NEW_NAMESPACES.values()) | (0 if is_root else _NEW_USER)
    return list(_NEW_NAMESPACES) if library.unshare(flags) == 0 else []


def become_nobody() -> bool:
    """Give up the rights of root where this process has them; whether it is an ordinary user now."""
    if os.geteuid() == 0:
        with suppress(OSError):
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
    _set(_SET_DUMPABLE, 0)
    return os.geteuid() != 0


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    _set(_SET_DEATH_SIGNAL, _KILL)


def is_preferred_victim() -> bool:
    """Have the kernel kill this process first where memory runs out; whether it took the wish."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
        return True
    return False


def has_shared_memory() -> bool:
    """Whether this process has memory that children would share and could write to."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    return any(line.split(maxsplit=2)[1].startswith("rw") and line.split(maxsplit=2)[1][3] == "s" for line in lines)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _set(what: int, value: int) -> None:
    _require_success(_library().prctl(what, *(ctypes.c_ulong(number) for number in (value, 0, 0, 0))))


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _require_success(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), "the kernel did not take a limit")
