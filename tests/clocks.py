"""Another wall clock for processes that tests start, by libfaketime; time.monotonic() and all waiting stay real.

    clock = Clock(tmp_path, "+1y")
    subprocess.run([sys.executable, "spend.py"], env=os.environ | clock.environment())
    clock.move("-1y")                           # also for processes that run

    with PostgresServer(clock="+1y") as server:
        server.clock.move("-1y")

A shift is written as libfaketime reads it: a sign, a number, and m, h, d or y (365 days); without a letter, seconds.
"""

from pathlib import Path

INSTALLED = Path("/usr/lib")
ABSENT = "libfaketime is not installed: apt-get install faketime (scripts/setup does it)"
THREADED, UNTHREADED = "libfaketimeMT.so.1", "libfaketime.so.1"

# The library's versions of these do harm: while one waits, a signal's handler sees the real time, so that PostgreSQL's
# timeouts come at the wrong moment; and time.sleep() fails. Short names that end a longer one (poll, sleep, ...) go
# with it, as the linker keeps them once.
WAITING = (b"epoll_wait", b"epoll_pwait", b"ppoll", b"pselect", b"clock_nanosleep", b"usleep")


def clock_library(name: str = THREADED) -> Path | None:
    """One of the two libraries, where Debian installs it."""
    return next(iter(sorted(INSTALLED.glob(f"*/faketime/{name}"))), None)


class Clock:
    """A wall clock that is so much later (+) or earlier (-) than the system's, kept in two files of a directory."""

    def __init__(self, directory: Path, shift: str = "+0") -> None:
        self._directory = directory
        self._shift = directory / "clock"
        self.move(shift)

    def move(self, shift: str) -> None:
        """Shift it by so much from the system's clock, at once and for every process under it."""
        new = self._shift.with_suffix(".new")
        new.write_text(shift + "\n")
        new.chmod(0o644)
        new.replace(self._shift)  # in one step: a file that is read half-written is another shift

    def environment(self, *, threads: bool = True) -> dict[str, str]:
        """What puts a process under this clock. Without threads it takes no lock that a signal could find taken."""
        return {
            "LD_PRELOAD": str(self._library(THREADED if threads else UNTHREADED)),
            "FAKETIME_TIMESTAMP_FILE": str(self._shift),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def _library(self, name: str) -> Path:
        """A copy of the library in which nobody finds the functions that wait, and so takes the system's."""
        installed = clock_library(name)
        if installed is None:
            raise FileNotFoundError(ABSENT)
        content = installed.read_bytes()
        for function in WAITING:
            # The first place is the table of names that the linker reads.
            content = content.replace(b"\0" + function + b"\0", b"\0" + function[:-1] + b"_\0", 1)
        copy = self._directory / name
        copy.write_bytes(content)
        copy.chmod(0o755)
        return copy
