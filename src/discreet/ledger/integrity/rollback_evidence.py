"""Rollback evidence: records outside a ledger's database of how far it had come.

These are the anchors at home, the anchors that machines share, and beside both the acts on the ledger's keys. An older
copy of the database holds fewer acts; it is detected and gets them back. At home acts are stored only for a ledger with
more acts than its creation.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from discreet.accounting.costs import Cost
from discreet.errors import LedgerError
from discreet.home.durable_files import write_file
from discreet.ledger.integrity.anchor_homes import home_at
from discreet.ledger.integrity.anchors import UNREADABLE, UNWRITABLE, Anchor, AnchorFile, highest
from discreet.ledger.integrity.shared_anchors import SharedAnchors
from discreet.ledger.records import faults
from discreet.ledger.records.key_acts import verified_chain
from discreet.ledger.records.signatures import Signer


class RollbackEvidence:
    """Anchors and acts of one ledger outside its database, at home and shared; none for a ledger in memory."""

    def __init__(
        self, ledger: str, file: AnchorFile | None = None, acts: Path | None = None, *, read_only: bool = False
    ) -> None:
        self._ledger = ledger
        self._file = file
        self._acts = acts
        self._read_only = read_only
        self.home: str | None = None
        """The id of the directory of anchors on this machine."""
        self.shared: SharedAnchors | None = None

    @classmethod
    def at(
        cls, directory: Path | None, signer: Signer | None, *, ledger: str, name: str, read_only: bool = False
    ) -> "RollbackEvidence":
        """The evidence in a directory of this machine, created if absent; with `read_only` nothing is written."""
        if directory is None or signer is None:
            return cls(ledger, read_only=read_only)
        if not read_only:
            try:
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError:
                raise LedgerError(UNWRITABLE) from None
        file = AnchorFile(directory / f"{name}.jsonl", signer)
        found = cls(ledger, file, directory / f"{name}.acts", read_only=read_only)
        found.home = home_at(directory, read_only=read_only)
        return found

    def __bool__(self) -> bool:
        return self._file is not None or self.shared is not None

    def accept_keys(self, listed: Mapping[str, str]) -> bool:
        """Count anchors at home of keys that the ledger lists; whether some were read that no known key had signed."""
        return self._file is not None and self._file.accept_keys(listed)

    def record(self, anchors: Iterable[Anchor], *, at_home: Collection[str]) -> None:
        """Anchor where chains stand now; at home, those of some datasets."""
        if self._read_only:
            raise LedgerError(faults.READ_ONLY)
        given = list(anchors)
        if self._file is not None:
            self._file.append(anchor for anchor in given if anchor.dataset in at_home)
        if self.shared is not None:
            self.shared.record(given)

    def add_lost_anchors(self, anchors: Iterable[Anchor]) -> None:
        """Anchor what only this process knew of histories that were lost."""
        given = list(anchors)
        if self._read_only:
            return
        if self._file is not None:
            self._file.append(given)
        if self.shared is not None and given:
            self.shared.add_lost_anchors(given)

    def latest(self) -> dict[str, Anchor]:
        """By dataset, the anchor with the highest sequence."""
        found = self.latest_at_home()
        for name, anchor in self.latest_shared().items():
            if name not in found or anchor.sequence > found[name].sequence:
                found[name] = anchor
        return found

    def latest_at_home(self) -> dict[str, Anchor]:
        """By dataset, the anchor with the highest sequence on this machine."""
        return {} if self._file is None else self._file.latest(self._ledger)

    def latest_shared(self) -> dict[str, Anchor]:
        """By dataset, the anchor with the highest sequence in the store of anchors that machines share."""
        return {} if self.shared is None else self.shared.latest()

    def largest_totals(self) -> dict[str, Cost]:
        """By dataset, the most that anchors say was spent, in each component."""
        found = {} if self._file is None else self._file.largest_totals(self._ledger)
        for name, spent in ({} if self.shared is None else self.shared.largest_totals()).items():
            found[name] = highest(spent, [found.get(name, spent)])
        return found

    def at_home(self) -> Iterator[Anchor]:
        """All signed anchors of the ledger on this machine."""
        return (each for each in (() if self._file is None else self._file.every()) if each.ledger == self._ledger)

    def every(self) -> Iterator[Anchor]:
        """All signed anchors of the ledger, each once."""
        seen = set()
        for anchor in chain(
            () if self._file is None else self._file.every(), () if self.shared is None else self.shared.every()
        ):
            if anchor.ledger == self._ledger and (anchor.dataset, anchor.head) not in seen:
                seen.add((anchor.dataset, anchor.head))
                yield anchor

    def unknown_anchors(self, is_known: Callable[[Anchor], bool]) -> list[Anchor]:
        """The signed anchors of the ledger that are not known."""
        found = [] if self._file is None else self._file.unknown_anchors(self._ledger, is_known)
        return found + ([] if self.shared is None else self.shared.unknown_anchors(is_known))

    def shorten(self, is_settled: Callable[[Anchor], bool]) -> None:
        """Drop lines at home that say no more than later ones, where there are many."""
        if self._file is not None and self._file.is_long and not self._read_only:
            self._file.shorten(self._ledger, is_settled)

    def findings(self) -> list[str]:
        """What is wrong with the anchors themselves."""
        found = [] if self._file is None else self._file.findings()
        return found + ([] if self.shared is None else self.shared.findings())

    def chains_of_acts(self) -> list[tuple[str, ...]]:
        """The chains of acts on keys that stand outside the database: that at home first, as far as each verifies."""
        return [self.acts_at_home(), *self.shared_chains_of_acts()]

    def shared_chains_of_acts(self) -> list[tuple[str, ...]]:
        """The chains of acts on keys in the store that machines share."""
        return [] if self.shared is None else self.shared.chains_of_acts()

    def record_acts(self, certificate: Sequence[str], acts: Sequence[str]) -> None:
        """Copy the acts that the ledger's database holds."""
        is_kept = self._acts is not None and len(acts) > 1 and not self._read_only
        if self._acts is not None and is_kept and self.acts_at_home() != tuple(acts):
            content = "".join(f"{text}\n" for text in acts).encode()
            try:
                write_file(self._acts, lambda file: file.write(content))
            except OSError:
                raise LedgerError(UNWRITABLE) from None
        if self.shared is not None:
            self.shared.certify(certificate, acts)

    def close(self) -> None:
        """Let go of the shared anchors."""
        if self.shared is not None:
            self.shared.close()

    def acts_at_home(self) -> tuple[str, ...]:
        """The chain of acts on keys on this machine, as far as they follow from each other."""
        if self._acts is None:
            return ()
        try:
            lines = self._acts.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return ()
        except OSError:
            raise LedgerError(UNREADABLE) from None
        return verified_chain(self._ledger, lines)
