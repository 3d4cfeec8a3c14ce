"""The ledger on SQLite: for one person, one machine, many threads and processes."""

import os
from pathlib import Path

from discreet.errors import public_class
from discreet.home import home
from discreet.ledger.access import LEASE
from discreet.ledger.integrity.checkpoints import directory_beside
from discreet.ledger.integrity.rollback import RollbackDetector
from discreet.ledger.ledger import Ledger
from discreet.ledger.records.signatures import Signer
from discreet.ledger.stores.sqlite import MEMORY, SQLiteStore

ANCHOR_EVERY = 10


@public_class
class SQLiteLedger(Ledger):
    """Ledger in one file, or in memory for tests.

    Args:
        path: Path of the file; ":memory:" for tests.
        key: Path of the key that signs receipts. Default: in the home of discreet, `DISCREET_HOME`; none in memory.
        anchors: Directory of the anchors, which detect rollbacks. Default: in the home of discreet; none in memory.
        lease: Seconds for which a silent process keeps its reservation. Default 30.
        shared_anchors: Where this machine finds the anchors that all machines share. Default: where the ledger says.

    Raises:
        LedgerError: If the file is damaged, newer than this library, or cannot be written.

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
    ) -> None:
        is_kept = os.fspath(path) != MEMORY
        signer = Signer.at(Path(key or home() / "signing.key")) if is_kept or key else None
        directory = Path(anchors or home() / "anchors") if is_kept or anchors else None
        self._file = SQLiteStore(path)
        detector = RollbackDetector(directory, signer, every=ANCHOR_EVERY)
        super().__init__(
            self._file,
            signer=signer,
            detector=detector,
            lease=lease,
            checkpoints=directory_beside(directory),
            shared_anchors=shared_anchors,
        )

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger to a new file while it is in use. A copy made otherwise may be inconsistent.

        Args:
            path: Path of the new file.

        Raises:
            LedgerError: If the file exists or cannot be written.
        """
        self._file.backup(path)

    def _database_findings(self, *, full: bool) -> list[str]:
        """What is wrong with the file itself; SQLite reads all of its pages only for a full verification."""
        return self._file.findings(pages=full)
