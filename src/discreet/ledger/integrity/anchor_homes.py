"""The id of a machine's directory of anchors: it distinguishes machines that share one key.

It is beside the anchors, so a home that is lost takes it with it, and what comes in its place has an id of its own.
"""

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from discreet.errors import LedgerError
from discreet.home.durable_files import write_file
from discreet.ledger.integrity.anchors import UNREADABLE, UNWRITABLE

NAME = "home"
_ID = re.compile("[0-9a-f]{32}")


def home_at(directory: Path, *, read_only: bool = False) -> str | None:
    """The id in a directory, created if absent; with `read_only` none is created.

    Of two processes that create one at once the earlier one's stays.
    """
    place = directory / NAME
    found = _read(place)
    if found is not None or read_only:
        return found
    draft = place.with_name(f"{NAME}-{secrets.token_hex(8)}")
    try:
        write_file(draft, lambda file: file.write(secrets.token_hex(16).encode()))
        with suppress(FileExistsError):
            os.link(draft, place)
        draft.unlink()
    except OSError:
        raise LedgerError(UNWRITABLE) from None
    return _read(place)


def _read(place: Path) -> str | None:
    try:
        text = place.read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return None
    except OSError:
        raise LedgerError(UNREADABLE) from None
    return text if _ID.fullmatch(text) else None
