"""Reading and writing the acts on a ledger's keys."""

from discreet.ledger.records.key_acts import KeyAct, KeyRegister
from discreet.ledger.transactions import steward
from discreet.ledger.transactions.statements import LedgerWriter

_ACTS = "SELECT document FROM keys ORDER BY sequence"


def read(writer: LedgerWriter, ledger: str) -> KeyRegister:
    """The register of the keys of the ledger with this id, every act of it verified."""
    return KeyRegister.of(ledger, (row["document"] for row in writer.rows(_ACTS)))


def append(writer: LedgerWriter, act: KeyAct) -> None:
    """Write the next act; another one that was first keeps its place."""
    writer.write_as_steward(steward.ADD_KEY_ACT, {"sequence": act.sequence, "document": act.to_json()})
