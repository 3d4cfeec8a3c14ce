"""What can be wrong with a ledger, one constant sentence for each: no path, no value, no driver's text.

A command in a sentence has every argument and option that it requires; words in capitals are to be replaced.

The one exception is the code of an error that discreet does not know (`unrecognised`): a few letters and digits that
the SQL standard or SQLite defines, so no secret.
"""

EMPTY = "the ledger file is empty, which no ledger ever is: what it held is lost; restore it from a backup"
FOREIGN = "the file is not a ledger of discreet, or its beginning was overwritten; give another path"
DAMAGED = (
    "the ledger is damaged and does not serve; restore it from a backup, or run discreet ledger verify --ledger LEDGER"
)
UNWRITABLE = "the ledger cannot be written, so nothing can be charged; check its path, its directory and their rights"
BUSY = "another process held the ledger for too long; nothing was charged by this call, so it can be repeated"
FULL = "the ledger's disk is full or failed; free space and repeat the call: what was charged stays charged"
BROKEN_RULE = "a rule of the ledger refused the change; nothing was written"
MOVED = "the ledger file was moved, deleted or replaced while in use; put it back, then open the ledger again"
LOST_LOG = (
    "the ledger's write-ahead log (-wal) was deleted or replaced while in use; restart this process, and copy a ledger"
    " only by discreet ledger backup COPY --ledger LEDGER"
)
IN_POSTGRES = (
    "the ledger was moved to PostgreSQL and goes on there; give the address of its database in its place; if the move"
    " was interrupted, run it again with the same options: discreet ledger move ADDRESS --role NAME --ledger FILE"
)
CLOSED = "the ledger is closed; open it again"
FORKED = "a ledger in memory, or one opened before a fork that Python did not see, cannot be used here; open it again"
NO_WAL = "the ledger's file system cannot keep a write-ahead log; put it on a local disk"
OLD_SQLITE = "the ledger needs SQLite 3.37 or later"
FOREIGN_RECEIPT = "the receipt is not of this ledger"
LINKED = "the ledger has a second name (a hard link), under which spending would not be seen; remove one of the two"
MOUNTED = (
    "the ledger's file is a mount point, so it has a second name, under which spending would not be seen; mount its"
    " directory, never the file"
)
UNKNOWN = (
    "the ledger's database was lost while it committed; ask again, without fresh=True: what was charged is found and"
    " not charged twice"
)
UNREACHABLE = (
    "the ledger's database cannot be reached or went away; nothing was charged by this call, so it can be repeated"
)
BAD_ADDRESS = (
    "the ledger's address cannot be understood; write postgresql://role@host:5432/database, "
    "with the password in PGPASSWORD or in the password file, and check the options after the '?'"
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
NO_DATABASE = (
    "the server has no database of that name; check the ledger's address, or restore it: a new ledger would be a second"
    " budget"
)
NO_RIGHTS = (
    "the ledger's role lacks a right in the database; the database's owner grants it by "
    "discreet ledger create ADDRESS --role NAME, and CONNECT if that is missing"
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
    "the ledger is behind its anchors: an older copy was put back, or this is not the copy in service, so check the"
    " address first; it does not serve before its newest copy is restored, or its steward or owner runs discreet ledger"
    " recover --ledger LEDGER --reason TEXT, with --receipt FILE for each receipt"
)
HALTED = (
    "the ledger was stopped, by a finding of a verification or because its shared anchors were lost; discreet ledger"
    " show --ledger LEDGER says why; then run discreet ledger recover --ledger LEDGER --reason TEXT, with"
    " --receipt FILE for each receipt"
)
UNSAFE = (
    "the ledger's database would lose charges: its server must have fsync and full_page_writes on (ALTER SYSTEM), and"
    " its role, database and server synchronous_commit; session_replication_role must not be replica, and no table"
    " unlogged"
)
REPLICA = "the ledger's database is a replica or read-only; give the address of the primary"
TOO_MANY_RIGHTS = (
    "the ledger's role may do more than charge; use the service's or the steward's; if it is one of them, the owner"
    " runs discreet ledger create ADDRESS --role NAME --steward NAME again, which restores their rights"
)
NO_LEDGER = (
    "the database has no ledger of discreet; its owner makes one by discreet ledger create ADDRESS --role NAME; if a"
    " move to this database was interrupted, run it again instead, as a new ledger would be a second budget:"
    " discreet ledger move ADDRESS --role NAME --ledger FILE"
)
NEWER = "the ledger was written by a newer version of discreet; nothing was changed, and this version cannot serve it"
OLDER = "the ledger is of a version that this version of discreet cannot migrate; nothing was changed"
READ_ONLY = "the ledger was opened with read_only=True, which changes nothing; open it without that"
NO_FILE = "there is no ledger at that path; check the path, and whether its disk is mounted, or restore a backup"
OLDER_FILE = "the ledger file is of an older version, which read_only=True does not migrate; open it without that"
MIGRATED = (
    "the ledger was migrated by a newer version of discreet while this process used it, which writes nothing any more; "
    "upgrade discreet here, and start the process again"
)
UNMIGRATED = (
    "the ledger is of an older version; its owner runs discreet ledger create ADDRESS --role NAME, which migrates it"
)
DAMAGED_KEYS = (
    "the acts on the ledger's keys are damaged, or were not signed by its owner; restore the ledger, then run"
    " discreet ledger recover --ledger LEDGER --reason TEXT"
)
UNLISTED_KEY = (
    "the ledger does not list the signing key of this process, so it cannot charge; its owner runs"
    " discreet ledger key list PUBLIC --name NAME --reason TEXT --ledger LEDGER with the public key that"
    " discreet ledger key show prints here, with --signing-key FILE if this process was given a file"
)
NO_KEY = "there is no signing key at the path that was named; check the path, and whether the secret is mounted there"
UNOWNED = (
    "the ledger is of a version that listed no keys, and no anchor on this machine shows that this machine charged the"
    " ledger, so nothing can be charged; its owner runs discreet ledger key take-over --reason TEXT --ledger LEDGER"
)
REVOKED_KEY = (
    "the ledger's owner revoked the signing key of this process, so it cannot charge; run discreet ledger key rotate"
    " here, with --signing-key FILE if this process was given a file, or for a secret that it cannot write run discreet"
    " ledger key new --signing-key FILE elsewhere; then the owner lists the new key: discreet ledger key list PUBLIC"
    " --name NAME --reason TEXT --ledger LEDGER; then it takes the place of the former one in the secret"
)
NOT_THE_OWNER = (
    "the signing key of this process is not the ledger's owner, who alone lists and revokes keys and names anchors;"
    " run the command where the owner's key is, or with --signing-key FILE"
)
NOT_A_STEWARD = (
    "only the ledger's steward registers datasets, sets budgets and quotas, lists keys and recovers; open the ledger"
    " under that role, or under the one that owns the database"
)
UNKNOWN_TAKEOVER = (
    "acts in the shared anchors say that another key took the ledger over, which neither the ledger nor this machine"
    " knows; run discreet ledger recover --ledger LEDGER --reason TEXT on the machine that took it over, or on the"
    " owner's, which gives them up; if both keys are lost, discreet ledger key take-over --reason TEXT --ledger LEDGER"
)
PARTED_ACTS = (
    "the shared anchors hold two chains of acts on the ledger's keys that part, and this machine knows neither; run"
    " discreet ledger recover --ledger LEDGER --reason TEXT on a machine whose home has anchors of the ledger; if all"
    " are lost, run discreet ledger key take-over --reason TEXT --ledger LEDGER first"
)
FORGED_NUMBER = (
    "an anchor or a receipt has a number of events that no ledger reaches, so its key was used to forge it; revoke that"
    " key, remove the document or the receipt, then run discreet ledger recover --ledger LEDGER --reason TEXT"
)
UNSHARED_ANCHORS = (
    "the ledger lists more than one key and names no store of anchors that they share, so it cannot charge; its owner"
    " runs discreet ledger share-anchors PLACE --reason TEXT --ledger LEDGER"
)
NO_SHARED_ANCHORS = (
    "the ledger's shared anchors cannot be read and written, so nothing can be charged; check their file system and its"
    " free space, or set DISCREET_ANCHORS to their place"
)
NO_ANCHOR_DIRECTORY = (
    "the directory of the ledger's shared anchors is not there, so nothing can be charged; mount it, or set"
    " DISCREET_ANCHORS to its path on this machine"
)
ANCHORS_NOT_PERMITTED = (
    "this account may not read and write the directory of the ledger's shared anchors, so nothing can be charged; give"
    " its group the rights, mode 2770, or set DISCREET_ANCHORS to the path of it"
)
OTHER_ANCHORS = (
    "the place of the shared anchors holds those of another ledger, or none; mount the right one: an empty place would"
    " forget what was spent"
)
SAME_DATABASE = (
    "the shared anchors would be in a database with a ledger, and be put back with it; name a database of their own"
)
DATABASE_OF_ANCHORS = (
    "the database holds shared anchors, which would be put back with a ledger in it; nothing was changed: make the"
    " ledger in a database of its own, or move it there"
)

_ANCHOR_DATABASE = "the database of the ledger's shared anchors cannot be used, so nothing can be charged: "
_ANCHOR_DATABASE_CAUSES = {
    BAD_ADDRESS: "its address cannot be understood; set DISCREET_ANCHORS to postgresql://role@host:5432/database",
    UNKNOWN_HOST: "the name of its server is not known; check DISCREET_ANCHORS, and the name service (DNS)",
    NOT_LISTENING: "nothing listens at its host and port; check DISCREET_ANCHORS, and whether the server runs",
    NO_REPLY: "its server cannot be reached over the network, or did not reply in time; check host and firewall",
    UNREACHABLE: "its connection was lost; nothing is known of this call, which can be repeated",
    BUSY: "it was held by another process for too long; the call can be repeated",
    NOT_AUTHENTICATED: (
        "its server did not accept the role with its password; set DISCREET_ANCHORS to its address with the role, and"
        " check PGPASSWORD and the password file"
    ),
    NOT_ADMITTED: (
        "its server admits this role neither from here nor this way; set DISCREET_ANCHORS to its address with the role,"
        " or see its pg_hba.conf"
    ),
    NOT_TRUSTED: "there is no trusted TLS connection to it; check sslmode, sslrootcert and the server's certificate",
    NO_DATABASE: "its server has no database of that name; check DISCREET_ANCHORS",
    NO_RIGHTS: (
        "its role lacks a right there; grant it as the runbook says (anchors in a database), or set DISCREET_ANCHORS to"
        " its address with another role"
    ),
    NO_CONNECTION_LEFT: "it takes no more connections; close others or raise its limits",
    REPLICA: "it is a replica or read-only; set DISCREET_ANCHORS to the address of the primary",
    FULL: "its disk is full or failed; free space and repeat the call",
    UNSAFE: (
        "it would lose them: its server must have fsync on (ALTER SYSTEM), and its role, database and server"
        " synchronous_commit"
    ),
    NOT_CONNECTED: "for a reason that discreet does not know; psql with the same address says more",
}


def of_anchor_database(sentence: str) -> str:
    """The sentence about the database of shared anchors, for one about the ledger's; others are about both."""
    if sentence == SAME_DATABASE:
        return sentence
    return _ANCHOR_DATABASE + _ANCHOR_DATABASE_CAUSES.get(sentence, _ANCHOR_DATABASE_CAUSES[NOT_CONNECTED])


NEW_ANCHOR_DATABASE = "the database that was named for the shared anchors cannot be used, and nothing was changed: "
NEW_ANCHOR_DIRECTORY = (
    "the directory that was named for the shared anchors cannot be read and written by this account, and nothing was"
    " changed; check its file system, its free space and its rights (its group, mode 2770), or name another one"
)


def of_new_anchors(sentence: str) -> str:
    """The sentence about a place that is to hold the shared anchors, for one about the place that holds them."""
    if sentence.startswith(_ANCHOR_DATABASE):
        cause = sentence.removeprefix(_ANCHOR_DATABASE).replace("set DISCREET_ANCHORS to", "name")
        return NEW_ANCHOR_DATABASE + cause.replace("check DISCREET_ANCHORS", "check the address")
    is_directory = sentence in (NO_SHARED_ANCHORS, NO_ANCHOR_DIRECTORY, ANCHORS_NOT_PERMITTED)
    return NEW_ANCHOR_DIRECTORY if is_directory else sentence


UNREACHABLE_ANCHORS = frozenset(
    {
        *(NO_SHARED_ANCHORS, NO_ANCHOR_DIRECTORY, ANCHORS_NOT_PERMITTED),
        *(_ANCHOR_DATABASE + cause for cause in _ANCHOR_DATABASE_CAUSES.values()),
    }
)
"""The faults under which nothing is known of the shared anchors."""
WITHOUT_SHARED_ANCHORS = UNREACHABLE_ANCHORS | {OTHER_ANCHORS, SAME_DATABASE}
"""The faults under which the shared anchors that the owner named cannot be used."""
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
