"""Rollback detection: anchors outside the database, and how far this process saw each chain go.

A store that stands behind what was seen is an older copy that was put back; it does not serve until it is recovered. An
anchor is written only while the one before it stands in the chain: a history that took the place of another is not
anchored, so it cannot hide the other.
"""

import os
import re
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.integrity.anchors import Anchor, highest, reason_behind
from discreet.ledger.integrity.evidence import is_counted
from discreet.ledger.integrity.rollback_evidence import RollbackEvidence
from discreet.ledger.integrity.shared_anchors import SharedAnchors
from discreet.ledger.integrity.verification import Evidence, IntegrityFinding
from discreet.ledger.records import faults
from discreet.ledger.records.account import Account
from discreet.ledger.records.canonical_text import digest, parse_object
from discreet.ledger.records.chain import now
from discreet.ledger.records.key_acts import KeyRegister, common_chain, is_one_chain, is_takeover
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
    """Writes an anchor every so many events of a dataset or seconds, and refuses a store that stands behind one.

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
        self._seen: dict[str, Account] = {}
        self._anchored: dict[str, tuple[int, float]] = {}
        self._behind: dict[str, int] = {}
        self._lost_chains: list[tuple[str, ...]] = []
        self._acts_at_home: tuple[str, ...] = ()
        self._at_home: dict[str, tuple[int, float]] = {}

    def open(self, look: Look) -> None:
        """Compare the store with its anchors."""
        self._look = look
        self._ledger = look(statements.ledger_id)
        name = self._ledger if _PLAIN.fullmatch(self._ledger) else digest(self._ledger)
        self._rollback_evidence = RollbackEvidence.at(
            self._directory, self._signer, ledger=self._ledger, name=name, read_only=self._read_only
        )
        self.compare(look)

    def compare(self, look: Look) -> None:
        """Compare the store with its anchors."""
        self._behind = _sequences(look(self._lost_anchors))
        self._shorten()

    def share(self, shared: SharedAnchors) -> None:
        """Compare the store also with the anchors that machines share, and anchor every event there from now on."""
        before = self._rollback_evidence.shared
        self._rollback_evidence.shared = shared
        if before is not None:
            shared.adopt(before, lambda anchors: self._look(partial(_settled_heads, anchors=anchors)))
            before.close()
        self._behind = _sequences(self._look(self._lost_anchors))

    def drop_shared_anchors(self) -> None:
        """Let go of a store of anchors that is gone, and that the owner has replaced."""
        self._rollback_evidence.close()
        self._rollback_evidence.shared = None

    def merge_shared_anchors(self) -> None:
        """Merge the documents of machines, where there are many and the store is behind none."""
        if self._rollback_evidence.shared is not None and not self._behind and not self.are_acts_behind:
            self._rollback_evidence.shared.merge(lambda anchors: self._look(partial(_settled_heads, anchors=anchors)))

    @property
    def are_acts_behind(self) -> bool:
        """Whether the store holds fewer acts on keys than stand outside, or others."""
        return bool(self._lost_chains)

    def anchored_by(self) -> dict[str, str]:
        """The keys that signed the latest anchors of this ledger, with the datasets that they anchored."""
        latest = self._rollback_evidence.latest().values()
        return {str(each.key): each.dataset for each in latest}

    def chains_of_acts(self) -> list[tuple[str, ...]]:
        """The chains of acts on keys that stand outside the store, to be read before the store is."""
        return self._rollback_evidence.chains_of_acts()

    def compare_acts(self, register: KeyRegister, chains: list[tuple[str, ...]]) -> None:
        """Compare the acts on keys with each chain outside the store, and copy them there.

        A chain of another beginning is none of this ledger's. One at home that went another way than the shared ones
        gives way to them.
        """
        acts = tuple(act.to_json() for act in register.acts)
        home, *shared = chains
        self._acts_at_home = home
        lost = [chain for chain in shared if _is_lost(chain, acts, register)]
        is_home_lost = _is_lost(home, acts, register)
        if is_home_lost and (not shared or home[: len(acts)] == acts):
            lost.append(home)
        self._lost_chains = lost
        if not lost and acts:
            own = "" if self._signer is None else self._signer.key
            self._rollback_evidence.record_acts(register.certificate(own), acts)

    def lost_acts(self, register: KeyRegister) -> tuple[str, ...]:
        """The acts on keys that stand outside the store and follow those in it, as far as they are vouched for.

        Where chains part, this machine's home says which one is right; without it, only what they have in common is.
        A former owner, whose key was stolen before it was rotated, can sign another chain from there on.
        """
        acts = tuple(act.to_json() for act in register.acts)
        chains = self._chains_after(acts, register)
        at_home = [chain for chain in chains if is_one_chain(chain, self._acts_at_home)]
        return common_chain(at_home or chains)[len(acts) :]

    def are_acts_parted(self, register: KeyRegister) -> bool:
        """Whether chains of acts follow those in the store and part at once, and this machine knows none of them."""
        acts = tuple(act.to_json() for act in register.acts)
        return bool(self._chains_after(acts, register)) and not self.lost_acts(register)

    def _chains_after(self, acts: tuple[str, ...], register: KeyRegister) -> list[tuple[str, ...]]:
        """The chains that follow the acts in the store, as far as they are vouched for."""
        vouched = [self.vouched_acts(chain, register) for chain in self._lost_chains]
        return [chain for chain in vouched if len(chain) > len(acts) and chain[: len(acts)] == acts]

    def forked_acts(self, register: KeyRegister) -> list[tuple[str, ...]]:
        """Chains of acts outside the store that went another way, or that a takeover without a voucher continues."""
        acts = tuple(act.to_json() for act in register.acts)
        vouched = ((chain, self.vouched_acts(chain, register)) for chain in self._lost_chains)
        return [chain for chain, own in vouched if own[: len(acts)] != acts or len(own) <= len(acts) < len(chain)]

    def vouched_acts(self, chain: tuple[str, ...], register: KeyRegister) -> tuple[str, ...]:
        """A chain up to the first takeover that the shared anchors alone show.

        Anybody who can write there can write one, since no owner signs it. The store and this machine's home vouch.
        """
        known = {*(act.to_json() for act in register.acts), *self._acts_at_home}
        takeovers = (place for place, text in enumerate(chain) if text not in known and is_takeover(text))
        return chain[: next(takeovers, len(chain))]

    def certify_act(self, register: KeyRegister) -> None:
        """Write an act that is about to be made into the shared store that it replaces, if there is one."""
        if self._rollback_evidence.shared is not None:
            own = "" if self._signer is None else self._signer.key
            self._rollback_evidence.shared.certify(register.certificate(own), [act.to_json() for act in register.acts])

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

    def record_verified(self, anchors: Iterable[Anchor]) -> None:
        """Write to the shared store up to where this process verified chains, so that a recovery knows it too."""
        if self._rollback_evidence.shared is not None:
            with suppress(LedgerError):  # a store that is out of reach is a finding already
                self._rollback_evidence.shared.record(anchors)

    def every_anchor(self) -> dict[str, tuple[Anchor, ...]]:
        """All anchors of every dataset."""
        found: dict[str, list[Anchor]] = {}
        for anchor in self._rollback_evidence.every():
            found.setdefault(anchor.dataset, []).append(anchor)
        return {name: tuple(listed) for name, listed in found.items()}

    def check(self, account: Account) -> None:
        """Refuse an account, read under its lock, that stands behind what was seen or anchored."""
        is_known_behind = self.are_acts_behind or account.name in self._behind
        if is_known_behind or account.sequence < self.least(account.name) or self._is_less(account):
            raise LedgerError(faults.BEHIND)

    def is_behind(self, name: str) -> bool:
        """Whether a dataset stands behind its anchors; looked at again when somebody has anchored it since."""
        if name in self._behind and self._anchored_at(name) > self._behind[name]:
            self._behind = _sequences(self._look(self._lost_anchors))
        return self.are_acts_behind or name in self._behind

    def behind(self) -> list[str]:
        """The datasets that stand behind their anchors."""
        return [name for name in list(self._behind) if self.is_behind(name)]

    def least(self, name: str) -> int:
        """The sequence number that a dataset's chain must have reached, by what was seen or anchored."""
        seen = self._seen.get(name)
        return max(0 if seen is None else seen.sequence, self._anchored_at(name))

    def see(self, accounts: Iterable[Account]) -> None:
        """Remember where chains stand after a commit, and anchor those that moved far enough.

        A chain that took the place of the one that was seen or anchored is refused: what was committed stays.
        """
        positions = list(accounts)
        self._refuse([self._anchor(self._seen[account.name]) for account in positions if self._is_less(account)])
        with self._process_lock():
            seen = {account.name: self._seen[account.name] for account in positions if account.name in self._seen}
            self._remember(positions)
            due = [account for account in positions if self._is_due(account)]
            at_home = {account.name for account in due if self._is_due_at_home(account)}
        self.write(due, seen, at_home)

    def write(
        self,
        accounts: Iterable[Account],
        seen: Mapping[str, Account] | None = None,
        at_home: Collection[str] | None = None,
    ) -> None:
        """Anchor where these chains stand; where an anchor or what was `seen` is not in the chain, only the latter.

        At home, all of them are anchored, or those of some datasets.
        """
        given = list(accounts)
        if not self._rollback_evidence or not given:
            return
        observed = {account.name: (seen or {}).get(account.name) for account in given}
        self._refuse(self._look(lambda writer: self._lost_anchors(writer, observed)))
        self._append(given, {account.name for account in given} if at_home is None else at_home)

    def settle(self, accounts: Iterable[Account]) -> None:
        """Anchor the heads of recovered chains, in place of earlier anchors."""
        given = list(accounts)
        with self._process_lock():
            self._remember(given)
        self._append(given, {account.name for account in given})

    def findings(self, evidence: Iterable[Evidence], anchors: Mapping[str, Anchor]) -> list[IntegrityFinding]:
        """What the anchors and the store do not agree on; the anchors are older than the evidence.

        Lines that no key of the ledger signed say nothing about the store, and convict nobody.
        """
        held = {each.name: each for each in evidence}
        found = [IntegrityFinding(text, is_ours=False) for text in self._rollback_evidence.findings()]
        found += [IntegrityFinding(_ACTS_BEHIND)] if self.are_acts_behind else []
        for name, anchor in anchors.items():
            each = held.get(name)
            why = _UNKNOWN if each is None or each.dataset is None else _reason_in_evidence(anchor, each, each.dataset)
            if why is not None:
                found.append(IntegrityFinding(why, name, anchor.sequence))
        reported = {finding.dataset for finding in found}
        forks = [anchor for anchor in self._forks(held) if anchor.dataset not in reported]
        return [*found, *(IntegrityFinding(_FORKED, anchor.dataset, anchor.sequence) for anchor in forks)]

    def close(self) -> None:
        """Anchor what was seen since the last anchor, unless another history took its place."""
        with self._process_lock():
            last = {name: self._anchored.get(name, (0, 0.0))[0] for name in self._seen}
            rest = [account for name, account in self._seen.items() if account.sequence > last[name]]
        with suppress(LedgerError):
            self.write(rest, {account.name: account for account in rest})
        self.let_go()

    def let_go(self) -> None:
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
        return highest(account.spent, [seen.spent]) != account.spent

    def _remember(self, accounts: Iterable[Account]) -> None:
        for account in accounts:
            known = self._seen.get(account.name)
            if known is None or account.sequence > known.sequence:
                self._seen[account.name] = account

    def _append(self, accounts: list[Account], at_home: Collection[str]) -> None:
        if not self._rollback_evidence or self._signer is None:
            return
        signer = self._signer
        self._rollback_evidence.record((self._anchor(account).sign(signer) for account in accounts), at_home=at_home)
        with self._process_lock():
            for account in accounts:
                self._anchored[account.name] = (account.sequence, time.monotonic())
                if account.name in at_home:
                    self._at_home[account.name] = self._anchored[account.name]
        self._shorten()

    def _shorten(self) -> None:
        """Drop anchors at home that say no more than later ones; what the store is behind of stays as it is."""
        if not self._behind:
            self._rollback_evidence.shorten(lambda anchor: bool(self._look(partial(_is_settled, anchor=anchor))))

    def _refuse(self, lost: list[Anchor]) -> None:
        """Refuse what is behind, and write down what only this process knew of it."""
        self._rollback_evidence.keep(anchor for anchor in lost if anchor.signature is None)
        self._behind |= _sequences(lost)
        if lost:
            raise LedgerError(faults.BEHIND)

    def _lost_anchors(self, writer: LedgerWriter, seen: Mapping[str, Account | None] | None = None) -> list[Anchor]:
        """What is known of datasets (all, or those `seen`), by anchors or as anchors, and is not in their chains."""
        anchors = self.anchors()
        candidates = [anchor for name, anchor in anchors.items() if seen is None or name in seen]
        if seen is None:
            candidates += self._rollback_evidence.unknown_anchors(partial(_is_in_the_chain, writer))
        lost = [anchor for anchor in candidates if self._reason_behind(writer, anchor) is not None]
        positions = (self._anchor(position) for position in (seen or {}).values() if position is not None)
        return lost + [position for position in positions if self._is_lost_position(writer, position)]

    def _is_lost_position(self, writer: LedgerWriter, seen: Anchor) -> bool:
        """Whether the chain does not hold what this process saw, though later anchors of other processes are in it."""
        return self._reason_behind(writer, seen) is not None and not _is_settled(writer, seen)

    def _forks(self, held: Mapping[str, Evidence]) -> list[Anchor]:
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

    def _is_due(self, account: Account) -> bool:
        if self._rollback_evidence.shared is not None:
            return account.sequence > self._anchored.get(account.name, (0, 0.0))[0]
        return self._is_due_at_home(account)

    def _is_due_at_home(self, account: Account) -> bool:
        sequence, moment = self._at_home.get(account.name, (0, 0.0))
        return account.sequence - sequence >= self._every or time.monotonic() - moment >= self._seconds

    def _anchor(self, account: Account) -> Anchor:
        return Anchor(
            ledger=self._ledger,
            dataset=account.name,
            sequence=account.sequence,
            head=account.head,
            spent=account.spent,
            budget=budget_columns(account.budget),
            time=now(),
            store=None if self._rollback_evidence.shared is None else self._rollback_evidence.shared.store_id,
            key=None if self._signer is None else self._signer.key,
        )


def _is_in_the_chain(writer: LedgerWriter, anchor: Anchor) -> bool:
    """Whether the chain holds the anchored event or a recovery counted it; a chain too short is detected by its end."""
    last = writer.row("SELECT sequence FROM datasets WHERE name = :name", name=anchor.dataset)
    return last is None or last["sequence"] < anchor.sequence or _is_settled(writer, anchor)


def _is_settled(writer: LedgerWriter, anchor: Anchor) -> bool:
    """Whether the chain holds the anchored event, or a recovery counted it."""
    row = writer.row(_HEAD_AT, name=anchor.dataset, sequence=anchor.sequence)
    if row is not None and row["hash"] == anchor.head:
        return True
    return is_counted(anchor, [parse_object(each["detail"]) for each in writer.rows(_RECOVERIES, name=anchor.dataset)])


def _settled_heads(writer: LedgerWriter, anchors: list[Anchor]) -> set[str]:
    return {anchor.head for anchor in anchors if _is_settled(writer, anchor)}


def _is_lost(chain: tuple[str, ...], acts: tuple[str, ...], register: KeyRegister) -> bool:
    """Whether a chain of acts has what the store has not, and the owner did not give it up."""
    if acts[: len(chain)] == chain or (acts and chain[:1] != acts[:1]):
        return False
    return digest(chain[-1]) not in register.abandoned


def _sequences(anchors: Iterable[Anchor]) -> dict[str, int]:
    return {anchor.dataset: anchor.sequence for anchor in anchors}


def _reason_in_evidence(anchor: Anchor, evidence: Evidence, row: Mapping[str, Any]) -> str | None:
    return reason_behind(anchor, sequence=row["sequence"], head_at=evidence.heads.get, spent=evidence.recorded_total())
