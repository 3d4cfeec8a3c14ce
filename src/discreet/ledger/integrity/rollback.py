"""Rollback detection: anchors in a file, and how far this process saw each chain go.

A store that stands behind what was seen is an older copy that was put back; it does not serve until it is recovered. An
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
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from discreet.accounting.costs import Cost
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.ledger.integrity.anchors import Anchor, highest, reason_behind
from discreet.ledger.integrity.shared_anchors import SharedAnchors
from discreet.ledger.integrity.verification import Evidence, IntegrityFinding
from discreet.ledger.integrity.witnesses import Witnesses
from discreet.ledger.records import faults
from discreet.ledger.records.account import Account
from discreet.ledger.records.canonical_text import digest, parse_object
from discreet.ledger.records.chain import now
from discreet.ledger.records.key_acts import KeyRegister
from discreet.ledger.records.registration import budget_columns
from discreet.ledger.records.signatures import Signer
from discreet.ledger.transactions import statements
from discreet.ledger.transactions.statements import LedgerWriter

Look = Callable[[Callable[[LedgerWriter], Any]], Any]

_PLAIN = re.compile("[0-9a-f]{32}")
_HEAD_AT = "SELECT hash FROM events WHERE dataset = :name AND sequence = :sequence"
_UNKNOWN = "it was anchored, and the store does not know it: an older copy was put back"
_FORKED = "the chain does not hold the event that was anchored there: another history was charged, which is lost"
_RECOVERIES = "SELECT detail FROM events WHERE dataset = :name AND kind = 'RECOVERED'"
_ACTS_BEHIND = "acts on its keys stand outside the store and not in it: an older copy was put back"
_UNREADABLE = "it was anchored, and its row cannot be read"


class ChainPosition(Protocol):
    """The head of a dataset's chain, its totals and its budget: an account, or a reply in one round trip."""

    @property
    def name(self) -> str:
        """The dataset."""

    @property
    def sequence(self) -> int:
        """The last event."""

    @property
    def head(self) -> str:
        """Its hash."""

    @property
    def spent(self) -> Cost:
        """What was spent in all."""

    @property
    def budget(self) -> Budget:
        """The privacy budget."""

    @property
    def order(self) -> Fraction | None:
        """The order of its Renyi filter."""


class RollbackDetector:
    """Writes an anchor every so many events of a dataset or seconds, and refuses a store that stands behind one."""

    def __init__(self, directory: Path | None, signer: Signer | None, *, every: int, seconds: float = 60.0) -> None:
        self._directory = directory
        self._signer = signer
        self._every = every
        self._seconds = seconds
        self._locks: dict[int, threading.Lock] = {}
        self._witnesses = Witnesses("")
        self._ledger = ""
        self._seen: dict[str, ChainPosition] = {}
        self._anchored: dict[str, tuple[int, float]] = {}
        self._behind: dict[str, int] = {}
        self._lost_chains: list[tuple[str, ...]] = []
        self._at_home: dict[str, tuple[int, float]] = {}

    def open(self, look: Look) -> None:
        """Compare the store with its anchors."""
        self._look = look
        self._ledger = look(statements.ledger_id)
        name = self._ledger if _PLAIN.fullmatch(self._ledger) else digest(self._ledger)
        self._witnesses = Witnesses.at(self._directory, self._signer, ledger=self._ledger, name=name)
        self.compare(look)

    def compare(self, look: Look) -> None:
        """Compare the store with its anchors."""
        self._behind = _sequences(look(self._lost_anchors))
        self._shorten()

    def share(self, shared: SharedAnchors) -> None:
        """Compare the store also with the anchors that machines share, and anchor every event there from now on."""
        before = self._witnesses.shared
        self._witnesses.shared = shared
        if before is not None:
            shared.adopt(before, lambda anchors: self._look(partial(_settled_heads, anchors=anchors)))
            before.close()
        self._behind = _sequences(self._look(self._lost_anchors))

    def drop_shared_anchors(self) -> None:
        """Let go of a store of anchors that is gone, and that the owner has replaced."""
        self._witnesses.close()
        self._witnesses.shared = None

    def merge_shared_anchors(self) -> None:
        """Merge the documents of machines, where there are many and the store is behind none."""
        if self._witnesses.shared is not None and not self._behind and not self.are_acts_behind:
            self._witnesses.shared.merge(lambda anchors: self._look(partial(_settled_heads, anchors=anchors)))

    @property
    def are_acts_behind(self) -> bool:
        """Whether the store holds fewer acts on keys than stand outside, or others."""
        return bool(self._lost_chains)

    def anchored_by(self) -> dict[str, str]:
        """The keys that signed the latest anchors of this ledger, with the datasets that they anchored."""
        latest = self._witnesses.latest().values()
        return {str(each.key): each.dataset for each in latest}

    def chains_of_acts(self) -> list[tuple[str, ...]]:
        """The chains of acts on keys that stand outside the store, to be read before the store is."""
        return self._witnesses.chains_of_acts()

    def compare_acts(self, register: KeyRegister, chains: list[tuple[str, ...]]) -> None:
        """Compare the acts on keys with each chain outside the store, and copy them there.

        A chain of another beginning is none of this ledger's. One at home that went another way than the shared ones
        gives way to them.
        """
        acts = tuple(act.to_json() for act in register.acts)
        home, *shared = chains
        lost = [chain for chain in shared if _is_lost(chain, acts, register)]
        is_home_lost = _is_lost(home, acts, register)
        if is_home_lost and (not shared or home[: len(acts)] == acts):
            lost.append(home)
        self._lost_chains = lost
        if not lost and acts:
            own = "" if self._signer is None else self._signer.key
            self._witnesses.record_acts(register.certificate(own), acts)

    def lost_acts(self, register: KeyRegister) -> tuple[str, ...]:
        """The acts on keys that stand outside the store and follow those in it."""
        acts = tuple(act.to_json() for act in register.acts)
        longest = max((chain for chain in self._lost_chains if chain[: len(acts)] == acts), key=len, default=())
        return longest[len(acts) :]

    def forked_acts(self, register: KeyRegister) -> list[tuple[str, ...]]:
        """Chains of acts outside the store that went another way."""
        acts = tuple(act.to_json() for act in register.acts)
        return [chain for chain in self._lost_chains if chain[: len(acts)] != acts and acts[: len(chain)] != chain]

    def certify_act(self, register: KeyRegister) -> None:
        """Write an act that is about to be made into the shared store that it replaces, if there is one."""
        if self._witnesses.shared is not None:
            own = "" if self._signer is None else self._signer.key
            self._witnesses.shared.certify(register.certificate(own), [act.to_json() for act in register.acts])

    def anchors(self) -> dict[str, Anchor]:
        """The highest anchor of every dataset, with the most that any of its anchors says was spent."""
        latest, spent = self._witnesses.latest(), self._witnesses.largest_totals()
        return {name: replace(anchor, spent=spent[name]) for name, anchor in latest.items()}

    def every_anchor(self) -> dict[str, tuple[Anchor, ...]]:
        """All anchors of every dataset."""
        found: dict[str, list[Anchor]] = {}
        for anchor in self._witnesses.every():
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

    def seen(self, name: str) -> ChainPosition | None:
        """Where the chain of a dataset stood when this process last wrote to it; None where it did not."""
        return self._seen.get(name)

    def least(self, name: str) -> int:
        """The sequence number that a dataset's chain must have reached, by what was seen or anchored."""
        seen = self._seen.get(name)
        return max(0 if seen is None else seen.sequence, self._anchored_at(name))

    def see(self, accounts: Iterable[ChainPosition]) -> None:
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
        accounts: Iterable[ChainPosition],
        seen: Mapping[str, ChainPosition] | None = None,
        at_home: Collection[str] | None = None,
    ) -> None:
        """Anchor where these chains stand; where an anchor or what was `seen` is not in the chain, only the latter.

        At home, all of them are anchored, or those of some datasets.
        """
        given = list(accounts)
        if not self._witnesses or not given:
            return
        observed = {account.name: (seen or {}).get(account.name) for account in given}
        self._refuse(self._look(lambda writer: self._lost_anchors(writer, observed)))
        self._append(given, {account.name for account in given} if at_home is None else at_home)

    def settle(self, accounts: Iterable[ChainPosition]) -> None:
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
        found = [IntegrityFinding(text, is_ours=False) for text in self._witnesses.findings()]
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
        self._witnesses.close()

    def _anchored_at(self, name: str) -> int:
        anchor = self._witnesses.latest().get(name)
        return 0 if anchor is None else anchor.sequence

    def _is_less(self, account: ChainPosition) -> bool:
        """Whether a chain that is as long as the one that was seen, or longer, has less spent."""
        seen = self._seen.get(account.name)
        if seen is None or account.sequence < seen.sequence:
            return False
        return highest(account.spent, [seen.spent]) != account.spent

    def _remember(self, accounts: Iterable[ChainPosition]) -> None:
        for account in accounts:
            known = self._seen.get(account.name)
            if known is None or account.sequence > known.sequence:
                self._seen[account.name] = account

    def _append(self, accounts: list[ChainPosition], at_home: Collection[str]) -> None:
        if not self._witnesses or self._signer is None:
            return
        signer = self._signer
        self._witnesses.record((self._anchor(account).sign(signer) for account in accounts), at_home=at_home)
        with self._process_lock():
            for account in accounts:
                self._anchored[account.name] = (account.sequence, time.monotonic())
                if account.name in at_home:
                    self._at_home[account.name] = self._anchored[account.name]
        self._shorten()

    def _shorten(self) -> None:
        """Drop anchors at home that say no more than later ones; what the store is behind of stays as it is."""
        if not self._behind:
            self._witnesses.shorten(lambda anchor: bool(self._look(partial(_is_settled, anchor=anchor))))

    def _refuse(self, lost: list[Anchor]) -> None:
        """Refuse what is behind, and write down what only this process knew of it."""
        self._witnesses.keep(anchor for anchor in lost if anchor.signature is None)
        self._behind |= _sequences(lost)
        if lost:
            raise LedgerError(faults.BEHIND)

    def _lost_anchors(
        self, writer: LedgerWriter, seen: Mapping[str, ChainPosition | None] | None = None
    ) -> list[Anchor]:
        """What is known of datasets (all, or those `seen`), by anchors or as anchors, and is not in their chains."""
        anchors = self.anchors()
        candidates = [anchor for name, anchor in anchors.items() if seen is None or name in seen]
        if seen is None:
            candidates += self._witnesses.unknown_anchors(partial(_is_in_the_chain, writer))
        for name, position in (seen or {}).items():
            if position is not None and (name not in anchors or position.sequence > anchors[name].sequence):
                candidates.append(self._anchor(position))
        return [anchor for anchor in candidates if self._reason_behind(writer, anchor) is not None]

    def _forks(self, held: Mapping[str, Evidence]) -> list[Anchor]:
        """One anchor of each dataset that the chain is long enough to hold and does not, and no recovery counted."""
        if not self._witnesses:
            return []
        heads = {
            name: (each.heads, each.recovered_anchors(), max(each.heads, default=0)) for name, each in held.items()
        }

        def is_known(anchor: Anchor) -> bool:
            events, accounted, last = heads.get(anchor.dataset, ({}, set(), 0))
            return anchor.sequence > last or events.get(anchor.sequence) == anchor.head or anchor.head in accounted

        return list({anchor.dataset: anchor for anchor in self._witnesses.unknown_anchors(is_known)}.values())

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

    def _is_due(self, account: ChainPosition) -> bool:
        if self._witnesses.shared is not None:
            return account.sequence > self._anchored.get(account.name, (0, 0.0))[0]
        return self._is_due_at_home(account)

    def _is_due_at_home(self, account: ChainPosition) -> bool:
        sequence, moment = self._at_home.get(account.name, (0, 0.0))
        return account.sequence - sequence >= self._every or time.monotonic() - moment >= self._seconds

    def _anchor(self, account: ChainPosition) -> Anchor:
        return Anchor(
            ledger=self._ledger,
            dataset=account.name,
            sequence=account.sequence,
            head=account.head,
            spent=account.spent,
            budget=budget_columns(account.budget),
            time=now(),
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
    details = [parse_object(each["detail"]) for each in writer.rows(_RECOVERIES, name=anchor.dataset)]
    return any(anchor.head in each.get("anchors", ()) for each in details)


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
