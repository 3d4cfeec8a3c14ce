"""The ledger on SQLite: for one person, one machine, many threads and processes."""

import os
from pathlib import Path

from discreet.errors import public_class
from discreet.home import home
from discreet.ledger.access import LEASE
from discreet.ledger.integrity.rollback import RollbackDetector
from discreet.ledger.ledger import Ledger
from discreet.ledger.records.signatures import Signer
from discreet.ledger.stores.sqlite import MEMORY, SQLiteStore

ANCHOR_EVERY = 10


@public_class
class SQLiteLedger(Ledger):
    """A ledger in one file, or in memory for tests.

    Receipts are signed with the key in `key`, and anchors are written to the directory `anchors`; both are at home
    (`DISCREET_HOME`) unless they are named. A ledger in memory has neither.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        key: str | os.PathLike[str] | None = None,
        anchors: str | os.PathLike[str] | None = None,
        lease: float = LEASE,
    ) -> None:
        is_kept = os.fspath(path) != MEMORY
        signer = Signer.at(Path(key or home() / "signing.key")) if is_kept or key else None
        directory = Path(anchors or home() / "anchors") if is_kept or anchors else None
        self._file = SQLiteStore(path)
        super().__init__(
            self._file, signer=signer, detector=RollbackDetector(directory, signer, every=ANCHOR_EVERY), lease=lease
        )

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger as it stands now to a new file, while it is in use; a copy made otherwise may be torn."""
        self._file.backup(path)
