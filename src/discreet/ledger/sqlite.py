"""The ledger on SQLite: for one person, one machine, many threads and processes."""

import os
from pathlib import Path

from discreet.errors import LedgerError, public_class
from discreet.home import home, location
from discreet.ledger.access import LEASE
from discreet.ledger.integrity.checkpoints import directory_beside
from discreet.ledger.integrity.rollback import RollbackDetector
from discreet.ledger.ledger import Ledger
from discreet.ledger.records import faults
from discreet.ledger.signing_key import signer_at
from discreet.ledger.stores.sqlite import MEMORY, SQLiteStore
from discreet.ledger.stores.sqlite_reader import SQLiteReader

ANCHOR_EVERY = 10


@public_class
class SQLiteLedger(Ledger):
    """Ledger in one file, or in memory for tests.

    Args:
        path: Path of the file; ":memory:" for tests.
        key: Path of the key that signs receipts. Default: in the home of discreet, `DISCREET_HOME`; none in memory.
        anchors: Directory of the anchors, which detect rollbacks. Default: in the home of discreet; none in memory.
        lease: Seconds for which a silent process keeps its reservation. Default 30.
        shared_anchors: Path or address at which this machine finds the anchors that all machines share. Default:
            `DISCREET_ANCHORS`, or as the ledger says.
        read_only: Whether to change nothing, for monitoring: no file, key or migration is made. Default False.

    Raises:
        LedgerError: If the file is damaged, newer than this library, or cannot be written; with `read_only` also if
            it is absent or older.

    Example:
        >>> import discreet as dp
        >>> with dp.SQLiteLedger(":memory:") as ledger:
        ...     ledger.datasets()
        []
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        key: str | os.PathLike[str] | None = None,
        anchors: str | os.PathLike[str] | None = None,
        lease: float = LEASE,
        shared_anchors: str | os.PathLike[str] | None = None,
        read_only: bool = False,
    ) -> None:
        is_kept = os.fspath(path) != MEMORY
        place = location() if read_only or not is_kept else home()
        signer = signer_at(Path(key or place / "signing.key"), read_only=read_only) if is_kept or key else None
        directory = Path(anchors or place / "anchors") if is_kept or anchors else None
        self._file = SQLiteReader(path) if read_only else SQLiteStore(path)
        detector = RollbackDetector(directory, signer, every=ANCHOR_EVERY, read_only=read_only)
        super().__init__(
            self._file,
            signer=signer,
            detector=detector,
            lease=lease,
            checkpoints=directory_beside(directory),
            shared_anchors=shared_anchors,
            read_only=read_only,
        )

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger to a new file while it is in use. A copy made otherwise may be inconsistent.

        Args:
            path: Path of the new file.

        Raises:
            LedgerError: If the file exists or cannot be written.
        """
        if isinstance(self._file, SQLiteReader):
            raise LedgerError(faults.READ_ONLY)
        self._file.backup(path)

    def _database_findings(self, *, full: bool) -> list[str]:
        """What is wrong with the file itself; SQLite reads all of its pages only for a full verification."""
        return self._file.findings(pages=full)
