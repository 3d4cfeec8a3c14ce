"""What stands outside a ledger's store and says how far it had come: anchors at home, and those that machines share.

Beside the anchors stand the acts on the ledger's keys, so that an older copy of the store, which knows fewer of them,
is noticed and gets them back. At home they are kept only for a ledger with more acts than its creation.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from discreet.accounting.costs import Cost
from discreet.errors import LedgerError
from discreet.home.durable_files import write_file
from discreet.ledger.integrity.anchors import UNREADABLE, UNWRITABLE, Anchor, AnchorFile, highest
from discreet.ledger.integrity.shared_anchors import SharedAnchors
from discreet.ledger.records.key_acts import verified_chain
from discreet.ledger.records.signatures import Signer


class Witnesses:
    """The anchors of one ledger, wherever they are; none for a ledger in memory."""

    def __init__(self, ledger: str, file: AnchorFile | None = None, acts: Path | None = None) -> None:
        self._ledger = ledger
        self._file = file
        self._acts = acts
        self.shared: SharedAnchors | None = None

    @classmethod
    def at(cls, directory: Path | None, signer: Signer | None, *, ledger: str, name: str) -> "Witnesses":
        """Those in a directory of this machine."""
        if directory is None or signer is None:
            return cls(ledger)
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            raise LedgerError(UNWRITABLE) from None
        return cls(ledger, AnchorFile(directory / f"{name}.jsonl", signer), directory / f"{name}.acts")

    def __bool__(self) -> bool:
        return self._file is not None or self.shared is not None

    def record(self, anchors: Iterable[Anchor], *, at_home: Collection[str]) -> None:
        """Anchor where chains stand now; at home, those of some datasets."""
        given = list(anchors)
        if self._file is not None:
            self._file.append(anchor for anchor in given if anchor.dataset in at_home)
        if self.shared is not None:
            self.shared.record(given)

    def keep(self, anchors: Iterable[Anchor]) -> None:
        """Anchor what only this process knew of histories that were lost."""
        given = list(anchors)
        if self._file is not None:
            self._file.append(given)
        if self.shared is not None and given:
            self.shared.keep(given)

    def latest(self) -> dict[str, Anchor]:
        """By dataset, the anchor with the highest sequence."""
        found = {} if self._file is None else self._file.latest(self._ledger)
        for name, anchor in ({} if self.shared is None else self.shared.latest()).items():
            if name not in found or anchor.sequence > found[name].sequence:
                found[name] = anchor
        return found

    def largest_totals(self) -> dict[str, Cost]:
        """By dataset, the most that anchors say was spent, in each component."""
        found = {} if self._file is None else self._file.largest_totals(self._ledger)
        for name, spent in ({} if self.shared is None else self.shared.largest_totals()).items():
            found[name] = highest(spent, [found.get(name, spent)])
        return found

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
        if self._file is not None and self._file.is_long:
            self._file.shorten(self._ledger, is_settled)

    def findings(self) -> list[str]:
        """What is wrong with the anchors themselves."""
        found = [] if self._file is None else self._file.findings()
        return found + ([] if self.shared is None else self.shared.findings())

    def chains_of_acts(self) -> list[tuple[str, ...]]:
        """The chains of acts on keys that stand outside the store: that at home first, as far as each verifies."""
        shared = [] if self.shared is None else self.shared.chains_of_acts()
        return [self._acts_at_home(), *shared]

    def record_acts(self, certificate: Sequence[str], acts: Sequence[str]) -> None:
        """Copy the acts that the store holds."""
        if self._acts is not None and len(acts) > 1 and self._acts_at_home() != tuple(acts):
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

    def _acts_at_home(self) -> tuple[str, ...]:
        if self._acts is None:
            return ()
        try:
            lines = self._acts.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return ()
        except OSError:
            raise LedgerError(UNREADABLE) from None
        return verified_chain(self._ledger, lines)
