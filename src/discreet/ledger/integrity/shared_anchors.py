"""Anchors that the machines of one ledger share, with the acts on its keys.

Each process writes up to three documents. One has the certificate of its key and its anchors: the highest of each
dataset, and those of histories that were lost. One has the acts that it has read. A process that opens the ledger
merges the documents of others when there are many, so what is read stays small after any number of charges; the third
has what it merged, the highest anchor of each dataset, key and home.
"""

import json
import os
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from discreet.accounting.costs import Cost
from discreet.errors import LedgerError
from discreet.ledger.integrity.anchors import Anchor, highest
from discreet.ledger.records import faults
from discreet.ledger.records.canonical_text import canonical
from discreet.ledger.records.key_acts import KeyAct, verified_chain
from discreet.ledger.records.signatures import Signer

FORMAT = "discreet.shared-anchors/1"
STORE_FORMAT = "discreet.anchor-store/1"
DOCUMENTS_TO_MERGE = 16
"""So many documents of other processes are merged when a ledger is opened."""
MOST_HOMES = 32
"""Of so many homes of one key a merge keeps the highest anchors; what an older home knows is counted once more."""

KnownKeys = Callable[[Sequence[str]], Mapping[str, str]]
"""The public keys that may have signed, with those that a certificate shows to be of the ledger."""


def store_document(ledger: str, store: str) -> str:
    """The document with the id of a store of anchors."""
    return canonical({"format": STORE_FORMAT, "ledger": ledger, "store": store})


def store_in(content: str | None, ledger: str) -> str | None:
    """The id in the document of a store of a ledger's anchors; None where it is none."""
    try:
        data = json.loads(content or "")
        store = data["store"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return str(store) if content == store_document(ledger, str(store)) else None


class AnchorStore(Protocol):
    """A store of anchors of one ledger: one document for each writer, and one with the id of the store.

    A writer replaces its document whole: neither appends nor locks are needed, since a file system may be mounted over
    a network. A process that merges documents takes each one first (renames it, so that its writer begins another),
    reads it, writes its content into its own, and drops it. A kill at any moment loses none.
    """

    def identity(self) -> str | None:
        """The document with the id of the store; None where there is none."""

    def absence(self) -> str:
        """Why there is no document with an id: the sentence of an error."""

    def create(self, identity: str) -> None:
        """Create the store: write the document with its id."""

    def mark(self) -> object:
        """Something that is another when a document has changed."""

    def documents(self) -> Mapping[str, str]:
        """The documents by their names: a writer's, or that of a document that was taken."""

    def write(self, writer: str, content: str) -> None:
        """Replace a writer's document; it is on the disk when this returns."""

    def take(self, name: str) -> tuple[str, str] | None:
        """Give a document another name, and return that name and what it holds; None where it is gone."""

    def drop(self, name: str) -> None:
        """Remove a document that was taken."""

    def close(self) -> None:
        """Close the store."""


class SharedAnchors:
    """The anchors in a store; the highest of each dataset that was ever read stays known to this process."""

    def __init__(
        self,
        store: AnchorStore,
        *,
        ledger: str,
        store_id: str,
        signer: Signer,
        publics: KnownKeys,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._store = store
        self._ledger, self._signer, self._publics, self._may_write = ledger, signer, publics, may_write
        self.store_id = store_id
        """The id of the store."""
        self._processes: dict[int, _ProcessWriter] = {}
        self._mark: object = None
        self._documents: dict[str, _Document] = {}
        self._own = _Document()
        self._latest: dict[str, Anchor] = {}
        self._totals: dict[str, Cost] = {}
        self._stored_ends: dict[str, int] = {}
        self.revision = 0
        """How often documents were read that had changed."""
        found = store.identity()
        if found != store_document(ledger, store_id):
            raise LedgerError(store.absence() if found is None else faults.OTHER_ANCHORS)

    def record(self, anchors: Iterable[Anchor]) -> None:
        """Anchor where chains stand now, in the place of what this process anchored of them before."""
        with self._process().lock:
            self._own = self._own.with_anchors(map(self._with_signature, anchors))
            self._write()

    def add_lost_anchors(self, anchors: Iterable[Anchor]) -> None:
        """Anchor histories that were lost, beside all others."""
        with self._process().lock:
            self._own = self._own.with_lost_anchors(map(self._with_signature, anchors))
            self._write()
            self._write_merged()  # those that a former key of this machine signed

    def certify(self, certificate: Sequence[str], acts: Sequence[str]) -> None:
        """The certificate of the signing key and the acts on keys, which go into what is written from now on."""
        with self._process().lock:
            if self._own.acts != tuple(acts):
                held = {*self._own.certificate, *certificate}
                self._own = replace(self._own, certificate=tuple(sorted(held, key=_sequence_of)), acts=tuple(acts))
                self._documents, self._mark = {}, None  # another key may have been listed, whose anchors count now
                self._write_acts()

    def every(self) -> Iterator[Anchor]:
        """All signed anchors of the ledger, in the order of their sequence numbers."""
        with self._process().lock:
            held = {each.head: each for document in self.documents() for each in document.anchors}
            held |= {each.head: each for each in self._latest.values()}
        yield from sorted(held.values(), key=lambda each: each.sequence)

    def latest(self) -> dict[str, Anchor]:
        """By dataset, the anchor with the highest sequence."""
        with self._process().lock:
            self._refresh()
            return dict(self._latest)

    def is_anchored(self, name: str, sequence: int) -> bool:
        """Whether an event is anchored; read again only where what was read before does not say so."""
        with self._process().lock:
            if self._stored_ends.get(name, 0) < sequence:
                self._refresh()
            return self._stored_ends.get(name, 0) >= sequence

    def largest_totals(self) -> dict[str, Cost]:
        """By dataset, the most that anchors say was spent, in each component."""
        with self._process().lock:
            self._refresh()
            return dict(self._totals)

    def ends(self) -> dict[str, dict[str, int]]:
        """By dataset, and by key and home, the highest sequence number."""
        found: dict[str, dict[str, int]] = {}
        for each in (anchor for document in self.documents() for anchor in document.anchors):
            ends = found.setdefault(each.dataset, {})
            ends[each.origin] = max(each.sequence, ends.get(each.origin, 0))
        return found

    def unknown_anchors(self, is_known: Callable[[Anchor], bool]) -> list[Anchor]:
        """The anchors that are not known."""
        return [each for each in self.every() if not is_known(each)]

    def chains_of_acts(self) -> list[tuple[str, ...]]:
        """The chains of acts on keys that the documents hold, each as far as it verifies."""
        with self._process().lock:
            self._refresh()
            return sorted({document.acts for document in self._documents.values()})

    def findings(self) -> list[str]:
        """Documents that cannot be read, and anchors that no key of the ledger signed."""
        with self._process().lock:
            self._refresh()
            return [finding for document in self._documents.values() for finding in document.findings]

    def merge(self, settled: Callable[[list[Anchor]], Collection[str]]) -> None:
        """Put the documents of others into this one, where there are many.

        Of anchors that are `settled`, which stand in the present chain, the highest says what the others say. A
        document that this process cannot read in full stays.
        """
        with self._process().lock:
            self._refresh()
            whole = [name for name, document in self._documents.items() if self._may_merge(document)]
            names = [name for name in whole if not name.startswith(self._process().writer)]
            if len(names) < DOCUMENTS_TO_MERGE or not self._may_write():
                return
            taken = [found for name in names if (found := self._store.take(name)) is not None]
            documents = {name: self._parse_known(name, content) for name, content in taken}
        self._write_together(documents.values(), settled)
        for name, document in documents.items():
            if self._may_merge(document):
                self._store.drop(name)

    def _may_merge(self, document: "_Document") -> bool:
        """Whether a document may be dropped once its anchors are in this one: it was read, and has no acts beyond it.

        Acts that this process has not read may tell of another store.
        """
        own = self._own.acts or document.acts
        return not document.findings and own[: len(document.acts)] == document.acts

    def adopt(self, other: "SharedAnchors", settled: Callable[[list[Anchor]], Collection[str]]) -> None:
        """Write here what another store of this ledger says."""
        self._write_together(other.documents(), settled)

    def documents(self) -> list["_Document"]:
        """What the documents say, with this process's own."""
        with self._process().lock:
            self._refresh()
            return [*self._documents.values(), self._own]

    def _write_together(
        self, documents: Iterable["_Document"], settled: Callable[[list[Anchor]], Collection[str]]
    ) -> None:
        """Write what documents say as this process's own.

        No lock is held while `settled` asks the ledger's database: those who hold it ask for the latest anchors.
        """
        given = list(documents)
        standing = settled([each for document in given for each in document.anchors])
        with self._process().lock:
            self._own = self._own.merge_all(given, standing)
            self._write()
            self._write_merged()
            self._write_acts()

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _with_signature(self, anchor: Anchor) -> Anchor:
        return anchor if anchor.signature else anchor.sign(self._signer)

    def _process(self) -> "_ProcessWriter":
        """The lock and the document of this process: a child of a fork has its own, and waits for nobody's thread."""
        pid = os.getpid()
        if pid not in self._processes:
            self._processes[pid] = _ProcessWriter(f"{self._signer.key}-{secrets.token_hex(8)}", threading.RLock())
        return self._processes[pid]

    def _write(self) -> None:
        self._remember(self._own)
        own = [each for each in self._own.anchors if each.key == self._signer.key]
        self._put("", replace(self._own, anchors=tuple(own), acts=()))

    def _write_merged(self) -> None:
        """Anchors of other keys change at a merge alone, and stand in a document of their own."""
        others = [each for each in self._own.anchors if each.key != self._signer.key]
        if others:
            self._put(_MERGED, replace(self._own, anchors=tuple(others), acts=()))

    def _write_acts(self) -> None:
        """Acts change seldom, and stand in a document of their own."""
        self._put(_ACTS, replace(self._own, anchors=(), certificate=()))

    def _put(self, ending: str, document: "_Document") -> None:
        if self._may_write():
            self._store.write(f"{self._process().writer}{ending}", document.to_json(self._ledger))
            self._note_ends(document)

    def _note_ends(self, document: "_Document") -> None:
        for each in document.anchors:
            self._stored_ends[each.dataset] = max(each.sequence, self._stored_ends.get(each.dataset, 0))

    def _refresh(self) -> None:
        """Read the documents, if any has changed."""
        mark = self._store.mark()
        if mark is not None and mark == self._mark:
            return
        contents = self._store.documents()
        self._documents = {name: self._parse_known(name, content) for name, content in contents.items()}
        for document in self._documents.values():
            self._remember(document)
            self._note_ends(document)
        self._mark, self.revision = mark, self.revision + 1

    def _remember(self, document: "_Document") -> None:
        for each in document.anchors:
            known = self._latest.get(each.dataset)
            if known is None or known.sequence < each.sequence:
                self._latest[each.dataset] = each
            self._totals[each.dataset] = highest(each.spent, [self._totals.get(each.dataset, each.spent)])

    def _parse_known(self, name: str, content: str) -> "_Document":
        """A document with the anchors in it that a key of the ledger signed; one that was read before is known."""
        known = self._documents.get(name)
        if known is not None and known.content == content:
            return known
        data = _parse(content)
        if data is None or data["ledger"] != self._ledger:
            return _Document(name=name, content=content, findings=(f"{_DOCUMENT} {name} cannot be read",))
        certificate = tuple(text for text in data["certificate"] if _is_act(text))
        publics = self._publics(certificate)
        verified = {each.to_json(): each for each in (() if known is None else known.anchors)}
        anchors = [verified.get(text) or _verify_text(text, publics, self._ledger) for text in data["anchors"]]
        unsigned = f"{_DOCUMENT} {name} has anchors that no known key signed"
        return _Document(
            name=name,
            content=content,
            anchors=tuple(each for each in anchors if each is not None),
            certificate=certificate,
            acts=(acts := verified_chain(self._ledger, data["acts"])),
            findings=((unsigned,) if None in anchors else ())
            + (() if len(acts) == len(data["acts"]) else (f"{_DOCUMENT} {name} has acts on keys that do not follow",)),
        )


_DOCUMENT = "of the shared anchors the document"
_ACTS, _MERGED = "ac", "ed"
"""The ends of the names of documents of acts and of anchors of other keys; a name has hexadecimal digits."""


class _ProcessWriter(NamedTuple):
    """What one process has of its own."""

    writer: str
    lock: Any


@dataclass(frozen=True, kw_only=True)
class _Document:
    """What one writer wrote: of its anchors those in `lost` are of histories that the chain does not hold."""

    name: str = ""
    content: str = ""
    anchors: tuple[Anchor, ...] = ()
    lost: frozenset[str] = frozenset()
    certificate: tuple[str, ...] = ()
    acts: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()

    def with_anchors(self, anchors: Iterable[Anchor]) -> "_Document":
        """The document with these in the place of lower ones of the same datasets and homes, but for what was lost."""
        here = {(each.dataset, each.origin): each.sequence for each in self.anchors if each.head not in self.lost}
        new = {place: each for each in anchors if each.sequence >= here.get(place := (each.dataset, each.origin), 0)}
        kept = [each for each in self.anchors if each.head in self.lost or (each.dataset, each.origin) not in new]
        return replace(self, anchors=(*kept, *new.values()))

    def with_lost_anchors(self, anchors: Iterable[Anchor]) -> "_Document":
        """The document with anchors of lost histories."""
        new = {each.head: each for each in anchors}
        kept = [each for each in self.anchors if each.head not in new]
        return replace(self, anchors=(*kept, *new.values()), lost=self.lost | new.keys())

    def merge_all(self, others: Sequence["_Document"], standing: Collection[str]) -> "_Document":
        """The document with what others say beyond it; the anchors with the heads in `standing` are of the chain."""
        anchors = sorted((each for other in others for each in other.anchors), key=lambda anchor: anchor.sequence)
        higher = {(each.dataset, each.origin): each for each in anchors if each.head in standing}
        certificate = {*self.certificate, *(text for other in others for text in other.certificate)}
        acts = self.acts or max((other.acts for other in others), key=len, default=())  # its own are those of the store
        merged = self.with_anchors(_of_latest_homes(higher.values())).with_lost_anchors(
            each for each in anchors if each.head not in standing
        )
        return replace(merged, certificate=tuple(sorted(certificate, key=_sequence_of)), acts=acts)

    def to_json(self, ledger: str) -> str:
        """The document as text."""
        anchors = [each.to_json() for each in self.anchors]
        lists = {"certificate": list(self.certificate), "acts": list(self.acts), "anchors": anchors}
        return canonical({"format": FORMAT, "ledger": ledger} | lists)


def _of_latest_homes(anchors: Iterable[Anchor]) -> list[Anchor]:
    """The highest anchors of so many homes of each dataset and key: containers may come with a new home each time."""
    found: dict[tuple[str, str | None], list[Anchor]] = {}
    for each in anchors:
        found.setdefault((each.dataset, each.key), []).append(each)
    ordered = (sorted(listed, key=lambda anchor: anchor.sequence) for listed in found.values())
    return [each for listed in ordered for each in listed[-MOST_HOMES:]]


def _parse(content: str) -> dict[str, Any] | None:
    try:
        data = json.loads(content)
        lists = (data["certificate"], data["acts"], data["anchors"])
        is_ours = data["format"] == FORMAT and isinstance(data["ledger"], str)
        is_ours = is_ours and all(
            isinstance(each, list) and all(isinstance(text, str) for text in each) for each in lists
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return data if is_ours else None


def _verify_text(text: str, publics: Mapping[str, str], ledger: str) -> Anchor | None:
    try:
        anchor = Anchor.from_json(text)
    except LedgerError:
        return None
    return anchor if anchor.ledger == ledger and anchor.verify(publics) else None


def _is_act(text: str) -> bool:
    try:
        return KeyAct.from_json(text).sequence > 0
    except LedgerError:
        return False


def _sequence_of(text: str) -> int:
    """The sequence number of an act, so that each follows what vouches for it."""
    return KeyAct.from_json(text).sequence
