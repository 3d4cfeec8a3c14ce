"""Where a ledger's signing key and anchors are on this machine: as they are named, or in the home of discreet."""

import os
from pathlib import Path

from discreet.home import home, location

Named = str | os.PathLike[str] | None
"""A path that somebody named; None for the one in the home."""


def key_file(named: Named = None, *, read_only: bool = False) -> Path:
    """The file of the signing key; with `read_only` a home is not made."""
    return _in_home("signing.key", named, read_only=read_only)


def anchor_directory(named: Named = None, *, read_only: bool = False) -> Path:
    """The directory of the anchors of this machine; with `read_only` a home is not made."""
    return _in_home("anchors", named, read_only=read_only)


def _in_home(name: str, named: Named, *, read_only: bool) -> Path:
    return Path(named) if named else (location() if read_only else home()) / name
