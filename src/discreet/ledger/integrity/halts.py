"""Halts: datasets, or all of them, that are not served until a recovery."""

import secrets
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.integrity.verification import Verification
from discreet.ledger.records.chain import now
from discreet.ledger.transactions import statements, steward
from discreet.ledger.transactions.statements import LedgerWriter

LOST_ANCHORS = (
    "the shared anchors were lost, and another store was named: what was charged since a backup may be missing"
)
"""The finding of the halt after a lost store was replaced. It never changes: open halts in stored ledgers hold it."""
OLDER_COPY = (
    "an older copy of the ledger was put back: charges in flight of all its datasets may have been answered since"
)
"""The finding of the halt of all datasets while a recovery that found one of them behind is under way."""

_OPEN = "SELECT id, dataset, finding FROM halts WHERE cleared IS NULL ORDER BY id"


def halt_datasets(run: Callable[[Callable[[LedgerWriter], None]], None], found: Verification) -> None:
    """Stop serving the datasets with a finding, for every process; a store that cannot be written serves nothing."""
    ours = [finding for finding in found.findings if finding.is_ours]
    texts = {finding.dataset or "": str(finding) for finding in reversed(ours)}

    def work(writer: LedgerWriter) -> None:
        for name in sorted((texts.keys() - open_halts(writer).keys()) & {"", *statements.names(writer)}):
            writer.insert("halts", _row(name, texts[name]))

    with suppress(LedgerError):
        run(work)


def halt_after_lost_anchors(commit: Callable[[Callable[[LedgerWriter], None]], object]) -> None:
    """Stop serving every dataset until a recovery, because the store of shared anchors was lost and replaced."""
    commit(lambda writer: writer.insert("halts", _row("", LOST_ANCHORS)))


def halt_older_copy(commit: Callable[[Callable[[LedgerWriter], None]], object]) -> None:
    """Stop serving every dataset until the end of a recovery, because one of them is behind."""
    commit(lambda writer: writer.insert("halts", _row("", OLDER_COPY)))


def is_halted_after_loss(writer: LedgerWriter, name: str) -> bool:
    """Whether a dataset is halted because anchors, or history of another one, are lost: some of its own may be too."""
    rows = writer.rows(_OPEN)
    return any(row["dataset"] in (name, "") and row["finding"] in (LOST_ANCHORS, OLDER_COPY) for row in rows)


def open_halts(writer: LedgerWriter) -> dict[str, str]:
    """What was found of the datasets that do not serve; '' stands for all of them."""
    return {row["dataset"]: row["finding"] for row in writer.rows(_OPEN)}


def general_halts(writer: LedgerWriter) -> list[str]:
    """The ids of the halts of all datasets."""
    return [row["id"] for row in writer.rows(_OPEN) if row["dataset"] == ""]


def end_general_halts(writer: LedgerWriter, ids: Collection[str], sequence: int) -> None:
    """End halts of all datasets, once each of them is recovered; `sequence` is the number of a recovery."""
    for halt in general_halts(writer):
        if halt in ids:
            writer.write_as_steward(steward.CLEAR_HALT, {"sequence": sequence, "id": halt})


def end_halts_of(writer: LedgerWriter, name: str, sequence: int) -> None:
    """End the halts of one dataset by its recovery, the event of that number."""
    for row in writer.rows(_OPEN):
        if row["dataset"] == name:
            writer.write_as_steward(steward.CLEAR_HALT, {"sequence": sequence, "id": row["id"]})


def _row(dataset: str, finding: str) -> dict[str, Any]:
    return {"id": secrets.token_hex(16), "dataset": dataset, "time": now(), "finding": finding, "cleared": None}
