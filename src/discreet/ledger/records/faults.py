"""What can be wrong with a ledger, one constant sentence for each: no path, no value, no driver's text.

The one exception is the code of an error that discreet does not know (`unrecognised`): a few letters and digits that
the SQL standard or SQLite defines, so no secret.
"""

EMPTY = "the ledger file is empty, which no ledger ever is: what it held is lost; restore it from a backup"
FOREIGN = "the file is not a ledger of discreet, or its beginning was overwritten; give ledger= another path"
DAMAGED = "the ledger is damaged and does not serve; restore it from a backup, or see ledger.verify()"
UNWRITABLE = "the ledger cannot be written, so nothing can be charged; check its path, its directory and their rights"
BUSY = "another process held the ledger for too long; nothing was charged by this call, so it can be repeated"
FULL = "the ledger's disk is full or failed; free space and repeat the call: what was charged stays charged"
BROKEN_RULE = "a rule of the ledger refused the change; nothing was written"
MOVED = "the ledger file was moved, deleted or replaced while in use; put it back, then open the ledger again"
CLOSED = "the ledger is closed; open it again"
FORKED = "a ledger in memory, or one opened before a fork that Python did not see, cannot be used here; open it again"
NO_WAL = "the ledger's file system cannot keep a write-ahead log; put it on a local disk"
OLD_SQLITE = "the ledger needs SQLite 3.37 or later"
FOREIGN_RECEIPT = "the receipt is not of this ledger"
LINKED = "the ledger has a second name (a hard link), under which spending would not be seen; remove one of the two"
UNKNOWN = (
    "the ledger's database was lost while it committed; ask again: what was charged is found and not charged twice"
)
UNREACHABLE = (
    "the ledger's database cannot be reached or went away; nothing was charged by this call, so it can be repeated"
)
BAD_ADDRESS = (
    "the ledger's address cannot be understood; write postgresql://role@host:5432/database, "
    "with the password in PGPASSWORD or in the password file"
)
UNKNOWN_HOST = (
    "the name of the ledger's database server is not known; check how it is written, and the name service (DNS)"
)
NOT_LISTENING = (
    "nothing listens where the ledger's database should be; check host and port, and whether the server runs; "
    "nothing was charged by this call"
)
NO_REPLY = (
    "the ledger's database server cannot be reached over the network, or did not reply in time; "
    "check host and firewall; nothing was charged by this call"
)
NOT_AUTHENTICATED = (
    "the ledger's database did not accept the role with its password; check both, PGPASSWORD and the password file"
)
NOT_ADMITTED = (
    "the ledger's database admits this role neither from here nor this way; see pg_hba.conf, "
    "which may require encryption (sslmode=verify-full)"
)
NOT_TRUSTED = (
    "there is no trusted TLS connection to the ledger's database; check sslmode, sslrootcert, "
    "and the name and the authority of the server's certificate"
)
NO_DATABASE = "the server has no database of that name; check the ledger's address, or create the database"
NO_RIGHTS = (
    "the ledger's role lacks a right in the database; the database's owner grants it by "
    "PostgresLedger.create(url, role=...), and CONNECT if that is missing"
)
NO_CONNECTION_LEFT = (
    "the ledger's database takes no more connections; close others or raise its limits; "
    "nothing was charged by this call, so it can be repeated"
)
POOLED = (
    "between this process and the ledger's database is a pooler that shares sessions, under which settings are lost; "
    "use pool_mode = session for this database, or the server's own address"
)
NOT_CONNECTED = (
    "there is no connection to the ledger's database, for a reason that discreet does not know; "
    "psql with the same address says more"
)
UNRECOGNISED = (
    "the ledger's database reported an error that discreet does not know; look up its code, or see the server's log"
)
SUPERSEDED = (
    "the answer took longer than its lease and somebody else took over; its charge stands, and asking again is free"
)
BEHIND = (
    "the ledger stands behind its anchors: an older copy was put back; it does not serve before ledger.recover(...)"
)
HALTED = "the ledger was found to be tampered with and does not serve; see ledger.verify(), then ledger.recover(...)"
UNSAFE = (
    "the ledger's database would lose charges: fsync, full_page_writes and synchronous_commit must be on for its role"
)
REPLICA = "the ledger's database is a replica or read-only; give ledger= the address of the primary"
TOO_MANY_RIGHTS = (
    "the ledger's role may change or delete events; give it the rights of PostgresLedger.create(..., role=...)"
)
NO_LEDGER = "the database has no ledger of discreet; PostgresLedger.create(url, role=...) makes one, run by its owner"
NEWER = "the ledger was written by a newer version of discreet; nothing was changed, and this version cannot serve it"
OLDER = "the ledger is of a version that this version of discreet cannot migrate; nothing was changed"
MIGRATED = (
    "the ledger was migrated by a newer version of discreet while this process used it, which writes nothing any more; "
    "upgrade discreet here, and start the process again"
)
UNMIGRATED = "the ledger is of an older version; its owner runs PostgresLedger.create(url, role=...), which migrates it"
DAMAGED_KEYS = (
    "the acts on the ledger's keys are damaged, or were not signed by its owner; see ledger.verify(), and restore it"
)
UNLISTED_KEY = (
    "the ledger does not list the signing key of this process, so it cannot charge; its owner runs"
    " discreet ledger key list PUBLIC with the line of discreet ledger key show"
)
UNOWNED = (
    "the ledger is of a version that listed no keys, and no anchor on this machine shows that it served it, so it"
    " cannot charge; its owner runs discreet ledger key take-over"
)
REVOKED_KEY = "the ledger's owner revoked the signing key of this process, so it cannot charge"
NOT_THE_OWNER = (
    "the signing key of this process is not the ledger's owner, who alone lists and revokes keys and names anchors"
)
UNSHARED_ANCHORS = (
    "the ledger lists more than one key and names no store of anchors that they share, so it cannot charge; its owner"
    " runs discreet ledger share-anchors PLACE"
)
NO_SHARED_ANCHORS = (
    "the ledger's shared anchors cannot be reached, so nothing can be charged; mount them, or name where they are in"
    " DISCREET_ANCHORS"
)
OTHER_ANCHORS = (
    "the place of the shared anchors holds those of another ledger, or none; mount the right one: an empty place would"
    " forget what was spent"
)
SAME_DATABASE = (
    "the shared anchors would be in a database with a ledger, and be put back with it; name a database of their own"
)

WITHOUT_CONTACT = frozenset(
    {
        *(UNREACHABLE, BUSY, UNKNOWN_HOST, NOT_LISTENING, NO_REPLY, NOT_AUTHENTICATED, NOT_ADMITTED, NOT_TRUSTED),
        *(NO_DATABASE, NO_CONNECTION_LEFT, NOT_CONNECTED),
    }
)
"""The faults after which nothing is known of a COMMIT that was sent before."""


def unrecognised(code: str) -> str:
    """The sentence for an error that has no sentence of its own, with its code."""
    return f"{UNRECOGNISED} ({code})"
