"""Checkpoints: signed documents that say up to which event a verification found nothing, and what it kept.

A later verification goes on from there. One line for each dataset stands in a file beside the anchors. A checkpoint
that was edited, is of another ledger, or is signed by no key of this one counts as none, and so does a file that is
lost: then everything is read. The holder of the key can sign a checkpoint for a history that nobody verified; a full
verification does not believe it.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from discreet.errors import LedgerError
from discreet.home.durable_files import write_file
from discreet.ledger.integrity.anchors import Anchor
from discreet.ledger.integrity.dataset_check import DatasetCheck
from discreet.ledger.integrity.findings import UNREADABLE_ROWS
from discreet.ledger.integrity.tallies import BudgetTally
from discreet.ledger.records import append_log
from discreet.ledger.records.canonical_text import canonical, digest
from discreet.ledger.records.chain import now
from discreet.ledger.records.signatures import Signer, is_signed_by

FORMAT = "discreet.checkpoint/1"

log = logging.getLogger("discreet")

_UNWRITTEN = "the checkpoints of verifications cannot be written; the next verification reads everything"


def directory_beside(anchors: Path | None) -> Path | None:
    """The directory of checkpoints beside that of anchors; none without anchors."""
    if anchors is None:
        return None
    place = anchors.absolute()
    return place.parent / f"{place.name or 'anchors'}.checkpoints"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """How far a dataset was verified: `head` is the hash of event `sequence`, `state` what the checks kept.

    `store` is the id of the store of shared anchors that was in use.
    """

    ledger: str
    dataset: str
    sequence: int
    head: str
    state: Mapping[str, Any]
    time: str
    store: str | None = None
    home: str | None = None
    key: str | None = None
    signature: str | None = None

    def check(self) -> DatasetCheck | None:
        """The checks as they stood; None where this version of discreet cannot go on from them."""
        try:
            return DatasetCheck.from_data(self.dataset, self.sequence, self.head, self.state)
        except UNREADABLE_ROWS:
            return None

    def anchor(self) -> Anchor | None:
        """What it says of the chain, as an anchor does."""
        known = self.check()
        tally = None if known is None else known.tallies["budget"]
        if not isinstance(tally, BudgetTally) or tally.detail is None:
            return None
        budget = tally.declaration()["budget"]
        place = {
            name: getattr(self, name)
            for name in ("ledger", "dataset", "sequence", "head", "time", "store", "home", "key")
        }
        return Anchor(spent=tally.total, budget=budget, **place)

    def to_json(self) -> str:
        """The checkpoint as one line."""
        return canonical(_checkpoint_fields(self))


class CheckpointFile:
    """The checkpoints of one ledger; without a directory or a signer there are none."""

    def __init__(
        self,
        directory: Path | None,
        signer: Signer | None,
        ledger: str,
        *,
        home: str | None = None,
        publics: Callable[[], Mapping[str, str]] | None = None,
    ) -> None:
        self._path = None if directory is None else directory / f"{digest(ledger)[:32]}.jsonl"
        self._signer = signer
        self._ledger = ledger
        self._home = home
        self._publics = publics

    def get(self, dataset: str) -> Checkpoint | None:
        """The checkpoint of a dataset, if this ledger signed it."""
        if self._signer is None:
            return None
        publics = self._signer.known_keys() if self._publics is None else self._publics()
        found = [each for each in map(_parse, self._lines()) if each is not None and each.dataset == dataset]
        ours = [each for each in found if each.ledger == self._ledger and _is_signed(each, publics)]
        return ours[-1] if ours else None

    def put(self, checks: Iterable[DatasetCheck], store: str | None = None) -> list[Checkpoint]:
        """Replace the checkpoints of some datasets; a file that cannot be written is logged, and costs time alone."""
        if self._signer is None or self._path is None:
            return []
        new = [self._sign(check, store, self._signer) for check in checks]
        self._write({each.dataset: each.to_json() for each in new})
        return new

    def forget(self) -> None:
        """Remove every checkpoint of the ledger."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _sign(self, check: DatasetCheck, store: str | None, signer: Signer) -> Checkpoint:
        checkpoint = Checkpoint(
            ledger=self._ledger,
            dataset=check.name,
            sequence=check.sequence,
            head=check.head,
            state=check.to_data(),
            time=now(),
            store=store,
            home=self._home,
            key=signer.key,
        )
        return replace(checkpoint, signature=signer.sign(_statement(checkpoint)))

    def _write(self, new: Mapping[str, str]) -> None:
        if not new or self._path is None:
            return
        others = [each.to_json() for each in map(_parse, self._lines()) if each is not None and each.dataset not in new]
        text = "".join(f"{line}\n" for line in (*others, *new.values()))
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_file(self._path, lambda file: file.write(text.encode()))
        except OSError:
            log.warning(_UNWRITTEN)

    def _lines(self) -> list[bytes]:
        try:
            return [] if self._path is None else [line for _, line in append_log.read_all(self._path)]
        except OSError:
            return []


def _parse(line: bytes) -> Checkpoint | None:
    try:
        data = json.loads(line)
        named = {each.name: data[each.name] for each in fields(Checkpoint) if each.name != "home"}
        checkpoint = Checkpoint(**named, home=data.get("home"))
        is_ours = checkpoint.to_json() == line.decode() and isinstance(checkpoint.sequence, int)
    except (ValueError, KeyError, TypeError, RecursionError, LedgerError):
        return None
    return checkpoint if is_ours else None


def _is_signed(checkpoint: Checkpoint, publics: Mapping[str, str]) -> bool:
    return is_signed_by(_statement(checkpoint), checkpoint.key, checkpoint.signature, publics)


def _statement(checkpoint: Checkpoint) -> str:
    """What is signed: everything but the signature."""
    return canonical({name: value for name, value in _checkpoint_fields(checkpoint).items() if name != "signature"})


def _checkpoint_fields(checkpoint: Checkpoint) -> dict[str, Any]:
    """What is written: earlier versions have no home."""
    written = {name: value for name, value in vars(checkpoint).items() if name != "home" or value is not None}
    return written | {"format": FORMAT}
