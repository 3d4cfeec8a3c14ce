"""The directory that discreet keeps on this machine: ledgers, and prepared tables that hold rows.

It is `.discreet` in the user's home, or what DISCREET_HOME names. Nobody else may open it: it is made with mode 0700,
and a directory that is open to others is refused rather than changed, since it may be one that is shared on purpose.
"""

import os
import stat
from pathlib import Path

from discreet.errors import ParameterError

VARIABLE = "DISCREET_HOME"
MODE = 0o700


def location() -> Path:
    """Where the directory is or will be; nothing is made."""
    named = os.environ.get(VARIABLE, "")
    try:
        return Path(named).expanduser().absolute() if named else Path.home() / ".discreet"
    except RuntimeError:
        raise ParameterError(
            f"{VARIABLE}={named!r}",
            because="this user has no home directory",
            instead=f"{VARIABLE}=/a/directory/of/your/own",
        ) from None


def home() -> Path:
    """The directory, made if it is absent, and open to nobody else."""
    path = location()
    try:
        path.mkdir(mode=MODE, parents=True, exist_ok=True)
    except FileExistsError:
        raise _unusable(path, "it is a file") from None
    except OSError as error:
        raise _unusable(path, f"it cannot be made: {error.strerror}") from None
    if open_to_others(path):
        raise ParameterError(
            f"{VARIABLE} at {str(path)!r}",
            because="other users can open it, and it will hold rows and the ledger",
            instead=f"chmod 700 '{path}', or {VARIABLE}=/a/directory/of/your/own",
        )
    return path


def open_to_others(path: Path) -> bool:
    """Whether the group or everyone has any right to the directory; unknown, so false, where modes mean nothing."""
    return os.name == "posix" and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def _unusable(path: Path, because: str) -> ParameterError:
    return ParameterError(
        f"{VARIABLE} at {str(path)!r}",
        because=because,
        instead=f"{VARIABLE}=/a/directory/of/your/own",
    )
