"""Rollback detection: anchors outside the database, and how far this process saw each chain go.

A store that is behind what was seen is an older copy that was put back; it does not serve until it is recovered. An
anchor is written only while the one before it stands in the chain: a history that took the place of another is not
anchored, so it cannot hide the other.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.integrity.anchors import Anchor, covers, reason_behind
from discreet.ledger.integrity.evidence import DatasetRows, is_counted
from discreet.ledger.integrity.findings import IntegrityFinding
from discreet.ledger.integrity.lost_acts import LostActs
from discreet.ledger.integrity.rollback_evidence import RollbackEvidence
from discreet.ledger.integrity.shared_anchors import SharedAnchors
from discreet.ledger.records import faults
from discreet.ledger.records.account import Account
from discreet.ledger.records.canonical_text import digest, parse_object
from discreet.ledger.records.chain import now
from discreet.ledger.records.registration import budget_columns
from discreet.ledger.records.signatures import Signer
from discreet.ledger.transactions import statements
from discreet.ledger.transactions.statements import LedgerWriter, Look

_PLAIN = re.compile("[0-9a-f]{32}")
_HEAD_AT = "SELECT hash FROM events WHERE dataset = :name AND sequence = :sequence"
_UNKNOWN = "it was anchored, and the store does not know it: an older copy was put back"
_FORKED = "the chain does not hold the event that was anchored there: another history was charged, which is lost"
_RECOVERIES = "SELECT detail FROM events WHERE dataset = :name AND kind = 'RECOVERED'"
_ACTS_BEHIND = "acts on its keys stand outside the store and not in it: an older copy was put back"
_UNREADABLE = "it was anchored, and its row cannot be read"


class RollbackDetector:
    """Writes an anchor every so many events of a dataset or seconds, and refuses a store that is behind one.

    With `read_only` it compares, and writes nothing.
    """

    def __init__(
        self,
        directory: Path | None,
        signer: Signer | None,
        *,
        every: int,
        seconds: float = 60.0,
        read_only: bool = False,
    ) -> None:
        self._directory = directory
        self._signer = signer
        self._every = every
        self._seconds = seconds
        self._read_only = read_only
        self._locks: dict[int, threading.Lock] = {}
        self._rollback_evidence = RollbackEvidence("")
        self._ledger = ""
        self._seen: dict[str, Anchor] = {}
        self.acts = LostActs(self._rollback_evidence, signer)
        self._anchored: dict[str, int] = {}
        self._behind: dict[str, int] = {}
        self._at_home: dict[str, tuple[int, float]] = {}
        self._heads_read: tuple[int, frozenset[str]] = (0, frozenset())

    def open(self, look: Look) -> None:
        """Find the anchors of this ledger, and compare the store with them."""
        self._look = look
        self._ledger = look(statements.ledger_id)
        name = self._ledger if _PLAIN.fullmatch(self._ledger) else digest(self._ledger)
        self._rollback_evidence = RollbackEvidence.at(
            self._directory, self._signer, ledger=self._ledger, name=name, read_only=self._read_only
        )
        self.acts = LostActs(self._rollback_evidence, self._signer)
        self.compare()

    def compare(self) -> None:
        """Find the datasets that are behind their anchors, and shorten the file at home."""
        self._find_behind()
        self._shorten()

    def accept_keys(self, listed: Mapping[str, str]) -> None:
        """Compare again if keys that the ledger lists signed anchors at home that no known key had signed before."""
        if self._rollback_evidence.accept_keys(listed):
            self._find_behind()

    def _find_behind(self) -> None:
        self._behind = _sequences(self._look(self._lost_anchors))

    def share(self, shared: SharedAnchors) -> None:
        """Compare the store also with the anchors that machines share, and anchor every event there from now on."""
        before = self._rollback_evidence.shared
        self._rollback_evidence.shared = shared
        self._anchored.clear()
        if before is not None:
            shared.adopt(before, self._settled_heads)
            before.close()
        self._find_behind()
        self._publish()

    def _publish(self) -> None:
        """Write to the shared store what only this machine knows of lost histories, so that one recovery counts it."""
        shared = self._rollback_evidence.shared
        if shared is None or not self._behind:
            return
        published = {anchor.head for anchor in shared.every()}
        own = [anchor for anchor in self._rollback_evidence.at_home() if anchor.dataset in self._behind]
        missing = [anchor for anchor in own if anchor.head not in published]
        settled = self._settled_heads(missing)
        lost = [anchor for anchor in missing if anchor.head not in settled]
        if lost:
            shared.add_lost_anchors(lost)

    def _settled_heads(self, anchors: list[Anchor]) -> set[str]:
        """The heads of those anchors that the chains hold, or that a recovery counted."""
        found: set[str] = self._look(partial(_heads_where, anchors=anchors, holds=_is_settled))
        return found

    def drop_shared_anchors(self) -> None:
        """Let go of a store of anchors that is gone, and that the owner has replaced."""
        self._rollback_evidence.close()
        self._rollback_evidence.shared = None

    def merge_shared_anchors(self) -> None:
        """Merge the documents of machines, where there are many and the store is behind none."""
        if self._rollback_evidence.shared is not None and not self._behind and not self.acts.are_behind:
            self._rollback_evidence.shared.merge(self._settled_heads)

    def anchored_by(self) -> dict[str, str]:
        """The keys that signed the latest anchors of this ledger, with the datasets that they anchored."""
        latest = self._rollback_evidence.latest().values()
        return {str(each.key): each.dataset for each in latest}

    def anchors(self) -> dict[str, Anchor]:
        """The highest anchor of every dataset, with the most that any of its anchors says was spent."""
        latest, spent = self._rollback_evidence.latest(), self._rollback_evidence.largest_totals()
        return {name: replace(anchor, spent=spent[name]) for name, anchor in latest.items()}

    def anchors_at_home(self) -> dict[str, Anchor]:
        """The highest anchor of every dataset on this machine."""
        return self._rollback_evidence.latest_at_home()

    def shared_anchors(self) -> dict[str, Anchor]:
        """The highest anchor of every dataset in the store of anchors that machines share."""
        return self._rollback_evidence.latest_shared()

    def shared_ends(self) -> dict[str, dict[str, Any]]:
        """By dataset, the id of the store of shared anchors and each key's highest place there, if all can be read."""
        shared = self._rollback_evidence.shared
        if shared is None or shared.findings():
            return {}
        return {name: {"store": shared.store_id, "ends": ends} for name, ends in shared.ends().items()}

    def anchor_verification(self, anchors: Iterable[Anchor]) -> None:
        """Anchor up to where this process verified chains, beyond what it anchored: an older copy is refused by it."""
        signer = self._signer
        if signer is None:
            return
        beyond = [each for each in anchors if each.sequence > self._anchored.get(each.dataset, 0)]
        with suppress(LedgerError):  # a store that is out of reach is a finding already
            names = {each.dataset for each in beyond}
            self._rollback_evidence.record([each.sign(signer) for each in beyond], at_home=names)

    def every_anchor(self) -> dict[str, tuple[Anchor, ...]]:
        """All anchors of every dataset."""
        found: dict[str, list[Anchor]] = {}
        for anchor in self._rollback_evidence.every():
            found.setdefault(anchor.dataset, []).append(anchor)
        return {name: tuple(listed) for name, listed in found.items()}

    def check(self, account: Account) -> None:
        """Refuse an account, read under its lock, that is behind what was seen or anchored, or ends otherwise."""
        is_known_behind = self.acts.are_behind or account.name in self._behind
        latest = self._rollback_evidence.latest().get(account.name)
        known = [each for each in (self._seen.get(account.name), latest) if each is not None]
        is_other = any(account.sequence < each.sequence or _ends_otherwise(account, each) for each in known)
        if is_known_behind or is_other or self._is_less(account):
            raise LedgerError(faults.BEHIND)

    def check_memory(self, writer: LedgerWriter, account: Account) -> None:
        """Refuse a chain, read under its lock, that others moved on and that does not hold what this process saw."""
        seen = self._seen.get(account.name)
        if seen is not None and seen.head != account.head and not _is_settled(writer, seen):
            raise LedgerError(faults.BEHIND)

    def refresh(self) -> None:
        """Compare again where others have anchored since: datasets that were behind, and histories not seen."""
        if (
            any(self._anchored_at(name) > sequence for name, sequence in self._behind.items())
            or self._has_new_history()
        ):
            self._find_behind()

    def _has_new_history(self) -> bool:
        """Whether the shared store has anchors since the last look that are neither in a chain nor counted.

        A machine that was away may write down what only it knows of a lost history. The store was read for the acts on
        keys just before.
        """
        shared = self._rollback_evidence.shared
        if shared is None or shared.revision == self._heads_read[0]:
            return False
        revision, anchors = shared.revision, [*shared.every()]
        new = [each for each in anchors if each.head not in self._heads_read[1]]
        known = self._heads_read[1] | self._look(partial(_heads_where, anchors=new, holds=_shows_no_fork))
        self._heads_read = revision, frozenset(each.head for each in anchors if each.head in known)
        return any(each.head not in known for each in new)

    @property
    def behind(self) -> list[str]:
        """The datasets that are behind their anchors, as of the last comparison."""
        return list(self._behind)

    def refuse_behind(self, there: Callable[[], Collection[str]]) -> None:
        """Refuse an act where anything in the store is behind what stands outside it, as of the last comparison.

        `there` are the datasets in the store. Those that it lacks altogether stop no act: they can be registered again.
        """
        if self.acts.are_behind or (self._behind and self._behind.keys() & {*there()}):
            raise LedgerError(faults.BEHIND)

    def is_anchored(self, name: str, sequence: int, look: Look) -> bool:
        """Whether the machines that share anchors know of an event; there is nothing to know where none share any.

        A dataset that is behind its anchors, or holds another history than they do, has no event that they know.
        `look` reads the store; inside a transaction it reads there, since SQLite has one connection for all threads.
        """
        shared = self._rollback_evidence.shared
        if shared is None:
            return True
        if self.acts.are_behind or name in self._behind or not shared.is_anchored(name, sequence):
            return False
        latest = self._rollback_evidence.latest()[name]
        reason: str | None = look(partial(self._reason_behind, anchor=latest))
        return reason is None

    def anchor_if_due(self, accounts: Iterable[Account]) -> None:
        """Remember where chains stand after a commit, and anchor those that moved far enough.

        A chain that took the place of the one that was seen or anchored is refused: what was committed stays.
        """
        given = list(accounts)
        self._refuse([self._seen[account.name] for account in given if self._is_less(account)])
        seen_before = ((account, self._seen.get(account.name)) for account in given)
        if any(each is not None and _ends_otherwise(account, each) for account, each in seen_before):
            raise LedgerError(faults.BEHIND)
        with self._process_lock():
            positions = [self._anchor_of(account) for account in given]
            seen = {each.dataset: self._seen[each.dataset] for each in positions if each.dataset in self._seen}
            self._remember(positions)
            due = [each for each in positions if self._is_due(each)]
            at_home = {each.dataset for each in due if self._is_due_at_home(each)}
        self._write(due, seen, at_home)

    def anchor(self, accounts: Iterable[Account]) -> None:
        """Anchor where these chains stand, unless an anchor is not in its chain."""
        positions = [self._anchor_of(account) for account in accounts]
        self._write(positions, {}, {each.dataset for each in positions})

    def anchor_recovery(self, accounts: Iterable[Account]) -> None:
        """Anchor the heads of recovered chains, in place of earlier anchors."""
        positions = [self._anchor_of(account) for account in accounts]
        with self._process_lock():
            self._remember(positions)
        self._append(positions, {each.dataset for each in positions})

    def _write(self, positions: list[Anchor], seen: Mapping[str, Anchor], at_home: Collection[str]) -> None:
        """Anchor some positions; where an anchor or what was `seen` is not in its chain, only the latter.

        A position is refused whose event is not in the chain: those who may change a row can write any number there.
        """
        if not self._rollback_evidence or not positions:
            return
        observed = {each.dataset: seen.get(each.dataset) for each in positions}
        lost, is_forged = self._look(partial(self._compare_positions, positions=positions, seen=observed))
        self._refuse(lost)
        if is_forged:
            raise LedgerError(faults.DAMAGED)
        self._append(positions, at_home)

    def _compare_positions(
        self, writer: LedgerWriter, *, positions: list[Anchor], seen: Mapping[str, Anchor | None]
    ) -> tuple[list[Anchor], bool]:
        """What is lost of the datasets of some positions, and whether the chain lacks one of the positions."""
        return self._lost_anchors(writer, seen), not all(_is_event(writer, each) for each in positions)

    def findings(self, evidence: Iterable[DatasetRows], anchors: Mapping[str, Anchor]) -> list[IntegrityFinding]:
        """What the anchors and the store do not agree on; the anchors are older than the evidence.

        Lines that no key of the ledger signed say nothing about the store, and convict nobody.
        """
        held = {each.name: each for each in evidence}
        found = [IntegrityFinding(text, is_ours=False) for text in self._rollback_evidence.findings()]
        found += [IntegrityFinding(_ACTS_BEHIND)] if self.acts.are_behind else []
        for name, anchor in anchors.items():
            each = held.get(name)
            why = _UNKNOWN if each is None or each.dataset is None else _reason_in_evidence(anchor, each, each.dataset)
            if why is not None:
                found.append(IntegrityFinding(why, name, anchor.sequence))
        reported = {finding.dataset for finding in found}
        forks = [anchor for anchor in self._forks(held) if anchor.dataset not in reported]
        return [*found, *(IntegrityFinding(_FORKED, anchor.dataset, anchor.sequence) for anchor in forks)]

    def close(self) -> None:
        """Anchor at home what was seen since the last anchor there."""
        self.anchor_memory()
        self.close_without_anchoring()

    def anchor_memory(self) -> None:
        """Anchor at home what this process saw since its last anchor there.

        If the store no longer holds it, or cannot be read, it is written as the anchor of a lost history, which
        recoveries count; where the chain holds it after all, it says no more than any other anchor.
        """
        with self._process_lock():
            rest = [each for name, each in self._seen.items() if each.sequence > self._at_home.get(name, (0, 0.0))[0]]
        names = {each.dataset: each for each in rest}
        try:
            self._write(rest, names, names)
        except LedgerError as error:
            if str(error) not in (faults.BEHIND, faults.DAMAGED):  # written down by now, or no event of the chain
                with suppress(LedgerError):
                    self._rollback_evidence.add_lost_anchors(rest)
                with suppress(LedgerError):
                    heads = {each.head for each in self._rollback_evidence.latest_at_home().values()}
                    self._note_at_home(each for each in rest if each.head in heads)

    def close_without_anchoring(self) -> None:
        """Close what the anchors hold open, without writing one."""
        self._rollback_evidence.close()

    def _anchored_at(self, name: str) -> int:
        anchor = self._rollback_evidence.latest().get(name)
        return 0 if anchor is None else anchor.sequence

    def _is_less(self, account: Account) -> bool:
        """Whether a chain that is as long as the one that was seen, or longer, has less spent."""
        seen = self._seen.get(account.name)
        if seen is None or account.sequence < seen.sequence:
            return False
        return not covers(account.spent, seen.spent)

    def _remember(self, positions: Iterable[Anchor]) -> None:
        for each in positions:
            known = self._seen.get(each.dataset)
            if known is None or each.sequence > known.sequence:
                self._seen[each.dataset] = each

    def _append(self, positions: list[Anchor], at_home: Collection[str]) -> None:
        if not self._rollback_evidence or self._signer is None:
            return
        signer, store = self._signer, self._store_id
        self._rollback_evidence.record((replace(each, store=store).sign(signer) for each in positions), at_home=at_home)
        with self._process_lock():
            self._anchored |= _sequences(positions)
        self._note_at_home(each for each in positions if each.dataset in at_home)
        self._shorten()

    def _note_at_home(self, positions: Iterable[Anchor]) -> None:
        with self._process_lock():
            self._at_home |= {each.dataset: (each.sequence, time.monotonic()) for each in positions}

    def _shorten(self) -> None:
        """Drop anchors at home that say no more than later ones; what the store is behind of stays as it is."""
        if not self._behind:
            self._rollback_evidence.shorten(lambda anchor: bool(self._look(partial(_is_settled, anchor=anchor))))

    def _refuse(self, lost: list[Anchor]) -> None:
        """Refuse what is behind, and write down what only this process knew of it."""
        self._rollback_evidence.add_lost_anchors(anchor for anchor in lost if anchor.signature is None)
        self._behind |= _sequences(lost)
        if lost:
            raise LedgerError(faults.BEHIND)

    def _lost_anchors(self, writer: LedgerWriter, seen: Mapping[str, Anchor | None] | None = None) -> list[Anchor]:
        """What is known of datasets (all, or those `seen`), by anchors or as anchors, and is not in their chains."""
        anchors = self.anchors()
        candidates = [anchor for name, anchor in anchors.items() if seen is None or name in seen]
        if seen is None:
            candidates += self._rollback_evidence.unknown_anchors(partial(_shows_no_fork, writer))
        lost = [anchor for anchor in candidates if self._reason_behind(writer, anchor) is not None]
        positions = (position for position in (seen or {}).values() if position is not None)
        return lost + [position for position in positions if self._is_lost_position(writer, position)]

    def _is_lost_position(self, writer: LedgerWriter, seen: Anchor) -> bool:
        """Whether the chain does not hold what this process saw, though later anchors of other processes are in it."""
        return self._reason_behind(writer, seen) is not None and not _is_settled(writer, seen)

    def _forks(self, held: Mapping[str, DatasetRows]) -> list[Anchor]:
        """One anchor of each dataset that the chain is long enough to hold and does not, and no recovery counted."""
        if not self._rollback_evidence:
            return []
        last = {name: max(each.heads, default=0) for name, each in held.items()}

        def is_known(anchor: Anchor) -> bool:
            each = held.get(anchor.dataset)
            if each is None or anchor.sequence > last[each.name]:
                return True
            return each.heads.get(anchor.sequence) == anchor.head or each.counts(anchor)

        return list({anchor.dataset: anchor for anchor in self._rollback_evidence.unknown_anchors(is_known)}.values())

    def _reason_behind(self, writer: LedgerWriter, anchor: Anchor) -> str | None:
        def head_at(sequence: int) -> str | None:
            row = writer.row(_HEAD_AT, name=anchor.dataset, sequence=sequence)
            return None if row is None else row["hash"]

        try:
            account = statements.find_account(writer, anchor.dataset, lock=False)
        except LedgerError:
            return _UNREADABLE
        if account is None or account.name != anchor.dataset:
            return _UNKNOWN
        return reason_behind(anchor, sequence=account.sequence, head_at=head_at, spent=account.spent)

    def _process_lock(self) -> threading.Lock:
        """The lock of this process: a child must not wait for a thread that stayed in its parent."""
        return self._locks.setdefault(os.getpid(), threading.Lock())

    def _is_due(self, position: Anchor) -> bool:
        if self._rollback_evidence.shared is not None:
            return position.sequence > self._anchored.get(position.dataset, 0)
        return self._is_due_at_home(position)

    def _is_due_at_home(self, position: Anchor) -> bool:
        sequence, moment = self._at_home.get(position.dataset, (0, 0.0))
        return position.sequence - sequence >= self._every or time.monotonic() - moment >= self._seconds

    @property
    def home(self) -> str | None:
        """The id of the directory of anchors on this machine."""
        return self._rollback_evidence.home

    @property
    def _store_id(self) -> str | None:
        return None if self._rollback_evidence.shared is None else self._rollback_evidence.shared.store_id

    def _anchor_of(self, account: Account) -> Anchor:
        return Anchor(
            ledger=self._ledger,
            dataset=account.name,
            sequence=account.sequence,
            head=account.head,
            spent=account.spent,
            budget=budget_columns(account.budget),
            time=now(),
            store=self._store_id,
            home=self.home,
            key=None if self._signer is None else self._signer.key,
        )


def _shows_no_fork(writer: LedgerWriter, anchor: Anchor) -> bool:
    """Whether an anchor is settled, or the chain too short to hold its event: such a chain is detected by its end."""
    last = writer.row("SELECT sequence FROM datasets WHERE name = :name", name=anchor.dataset)
    return last is None or last["sequence"] < anchor.sequence or _is_settled(writer, anchor)


def _ends_otherwise(account: Account, anchor: Anchor) -> bool:
    """Whether a chain ends at the number of an anchor with another event."""
    return account.sequence == anchor.sequence and account.head != anchor.head


def _is_event(writer: LedgerWriter, anchor: Anchor) -> bool:
    """Whether the chain holds the anchored event."""
    row = writer.row(_HEAD_AT, name=anchor.dataset, sequence=anchor.sequence)
    return row is not None and row["hash"] == anchor.head


def _is_settled(writer: LedgerWriter, anchor: Anchor) -> bool:
    """Whether the chain holds the anchored event, or a recovery counted it."""
    if _is_event(writer, anchor):
        return True
    return is_counted(anchor, [parse_object(each["detail"]) for each in writer.rows(_RECOVERIES, name=anchor.dataset)])


def _heads_where(
    writer: LedgerWriter, anchors: list[Anchor], holds: Callable[[LedgerWriter, Anchor], bool]
) -> set[str]:
    """The heads of those anchors of which something holds."""
    return {anchor.head for anchor in anchors if holds(writer, anchor)}


def _sequences(anchors: Iterable[Anchor]) -> dict[str, int]:
    return {anchor.dataset: anchor.sequence for anchor in anchors}


def _reason_in_evidence(anchor: Anchor, evidence: DatasetRows, row: Mapping[str, Any]) -> str | None:
    return reason_behind(anchor, sequence=row["sequence"], head_at=evidence.heads.get, spent=evidence.recorded_total())
