"""The ledger on SQLite: for one person, one machine, many threads and processes."""

import os

from discreet.errors import public_class
from discreet.ledger.access import LEASE
from discreet.ledger.home_files import anchor_directory
from discreet.ledger.integrity.checkpoints import directory_beside
from discreet.ledger.integrity.rollback import RollbackDetector
from discreet.ledger.ledger import Ledger
from discreet.ledger.signing_key import signer_at
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

    STORE = "SQLite"
    _store: SQLiteStore

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
        is_file = os.fspath(path) != MEMORY
        signer = signer_at(key, read_only=read_only) if is_file or key else None
        directory = anchor_directory(anchors, read_only=read_only) if is_file or anchors else None
        super().__init__(
            SQLiteStore(path, read_only=read_only),
            signer=signer,
            detector=RollbackDetector(directory, signer, every=ANCHOR_EVERY, read_only=read_only),
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
        self._store.backup(path)
