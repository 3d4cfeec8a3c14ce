"""Anchors: signed lines outside the database that say how far each dataset had come.

A database put back from an older copy is a true ledger, only not the last one, so nothing inside it can tell. An
anchor can: it holds the number and the hash of an event, the total spent by then and the privacy budget. A store that
has fewer events, another event at that number, or less spent is behind its anchor, and what was spent is the maximum of
all evidence. Lines that were deleted are not missed, except by a process that had read them; lines that were changed or
forged are found by their signatures.
"""

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from discreet.accounting.costs import Cost
from discreet.errors import LedgerError
from discreet.ledger.records import append_log
from discreet.ledger.records.canonical_text import canonical
from discreet.ledger.records.chain import HIGHEST_SEQUENCE
from discreet.ledger.records.receipt import cost_of, cost_texts
from discreet.ledger.records.signatures import Publics, Signer, is_signed_by

FORMAT = "discreet.anchor/1"

NOT_AN_ANCHOR = "the text is not an anchor that this version of discreet can read"
UNWRITABLE = "the anchors cannot be written; check their path, their directory, its rights and the space on its disk"
UNREADABLE = "the anchors cannot be read; check their path and its rights"
CHANGED = "the file of anchors was cut, replaced or deleted while in use"

MOST_FINDINGS = 100
MOST_LINES = 200
"""A file with more lines is shortened."""

_OPTIONAL = ("store", "home", "key", "signature")
_ABSENT_IF_NONE = frozenset({"store", "home"})
"""Fields that anchors of earlier versions do not have."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """Signed record of the chain head of a dataset at some time, kept outside the ledger's database.

    Attributes:
        ledger: Id of the ledger.
        dataset: Name of the dataset.
        sequence: Number of the last event in the chain at that time.
        head: Hash of that event.
        spent: Total up to it, in units of the ledger.
        budget: Privacy budget, as columns of the table `datasets`.
        time: Time of the anchor, in UTC.
        store: Id of the store of shared anchors at that time, or None.
        home: Id of the directory of anchors of the process that wrote it, or None.
        key: Id of the key that signed it, or None.
        signature: Signature of all other fields, or None.

    Example:
        >>> import discreet as dp
        >>> ledger = dp.SQLiteLedger("ledger.sqlite")
        >>> facts = {"name": "people", "privacy_unit": dp.ROW, "budget": dp.Budget(epsilon=1)}
        >>> session = dp.protect(dp.datasets.people(100), **facts, ledger=ledger)
        >>> ledger.anchor()
        >>> ledger.anchors()["people"].sequence
        1
    """

    ledger: str
    dataset: str
    sequence: int
    head: str
    spent: Cost
    budget: Mapping[str, str | None]
    time: str
    store: str | None = None
    home: str | None = None
    key: str | None = None
    signature: str | None = None

    def sign(self, signer: Signer) -> "Anchor":
        """The anchor with the signature of a ledger's key."""
        named = replace(self, key=signer.key, signature=None)
        return replace(named, signature=signer.sign(_statement(named)))

    def verify(self, public: Publics) -> bool:
        """Whether one of some public keys signed it; an anchor without a signature proves nothing."""
        return is_signed_by(_statement(self), self.key, self.signature, public)

    @property
    def origin(self) -> str:
        """The key, with the id of the home: machines may share one key. An anchor without a home has the key alone."""
        return str(self.key) if self.home is None else f"{self.key}/{self.home}"

    def to_json(self) -> str:
        """The anchor as one line."""
        return canonical(_anchor_fields(self))

    @classmethod
    def from_json(cls, text: str) -> "Anchor":
        """The anchor that `to_json` wrote, to the letter; anything else is refused."""
        try:
            data = json.loads(text)
            named = {f.name: data[f.name] for f in fields(cls) if f.name not in _ABSENT_IF_NONE}
            named |= {name: data.get(name) for name in _ABSENT_IF_NONE}
            anchor = cls(**named | {"spent": cost_of(data["spent"])})
            is_ours = all(_has_its_type(name, value) for name, value in vars(anchor).items())
            is_ours = is_ours and anchor.to_json() == text
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise LedgerError(NOT_AN_ANCHOR) from None
        if not is_ours:
            raise LedgerError(NOT_AN_ANCHOR)
        return anchor


def reason_behind(anchor: Anchor, *, sequence: int, head_at: Callable[[int], str | None], spent: Cost) -> str | None:
    """Why a store that stands at `sequence` with `spent` in all is behind or beside an anchor; None where it is not."""
    if sequence < anchor.sequence:
        return f"it ends at event {sequence}, and was anchored at event {anchor.sequence}: it is an older copy"
    if anchor.sequence and head_at(anchor.sequence) != anchor.head:
        return f"event {anchor.sequence} is not the one that was anchored: it has another history"
    if not covers(spent, anchor.spent):
        return f"less is spent than was anchored at event {anchor.sequence}"
    return None


def highest(spent: Cost, others: Iterable[Cost]) -> Cost:
    """The largest of some costs in each component; no finite epsilon is larger than any."""
    return reduce(_higher, others, spent)


def covers(spent: Cost, other: Cost) -> bool:
    """Whether a cost is at least another in each component."""
    return highest(spent, [other]) == spent


@dataclass(frozen=True)
class _AnchorIndex:
    """What was read so far; replaced whole, so that a fork never sees half of it."""

    place: append_log.FilePosition = append_log.BEGINNING
    latest: Mapping[tuple[str, str], Anchor] = field(default_factory=dict)
    spent: Mapping[tuple[str, str], Cost] = field(default_factory=dict)


@dataclass(frozen=True)
class _LineAudit:
    """What a check of every line has found so far."""

    place: append_log.FilePosition = append_log.BEGINNING
    found: tuple[str, ...] = ()


class AnchorFile:
    """A file of anchors, one line each, that many processes append to and that is read from where reading stopped.

    It belongs on a local disk, away from the database and its backups.
    """

    def __init__(
        self, path: str | os.PathLike[str], signer: Signer, listed: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._path = Path(path).absolute()
        self._signer = signer
        self._listed = listed
        self._publics = {**listed, **signer.known_keys()}
        self._unknown: set[str | None] = set()
        self._read = _AnchorIndex()
        self._audit = _LineAudit()
        self._is_changed = False
        self._kept = 0
        self._locks: dict[int, threading.Lock] = {}

    def accept_keys(self, listed: Mapping[str, str]) -> bool:
        """Count what keys that the ledger lists signed; whether lines of one were read before, and all are read again.

        The home may have lost its list of keys, or its key was replaced by another one that the ledger lists.
        """
        self._listed, self._publics = listed, {**listed, **self._publics}
        if self._unknown.isdisjoint(self._publics):
            return False
        with self._process_lock():
            self._unknown -= self._publics.keys()
            self._read, self._audit = replace(self._read, place=append_log.BEGINNING), _LineAudit()
        return True

    def append(self, anchors: Iterable[Anchor], *, sync: bool = False) -> None:
        """Append anchors in one write, signing those that are not; with `sync` they are on the disk at the end."""
        texts = [(each if each.signature else each.sign(self._signer)).to_json() for each in anchors]
        with _constant_error(UNWRITABLE):
            append_log.append(self._path, texts, sync=sync)

    def latest(self, ledger: str | None = None) -> dict[str, Anchor]:
        """By dataset, the anchor with the highest sequence among the signed ones; of one ledger, or of all."""
        with self._process_lock():
            self._read_new_lines()
            return _by_dataset(self._read.latest, ledger, _later)

    def largest_totals(self, ledger: str | None = None) -> dict[str, Cost]:
        """By dataset, the most that signed anchors say was spent, in each component; of one ledger, or of all."""
        with self._process_lock():
            self._read_new_lines()
            return _by_dataset(self._read.spent, ledger, _higher)

    def every(self) -> Iterator[Anchor]:
        """All signed anchors, in the order of the file, read from its beginning."""
        for batch in self._batches(append_log.BEGINNING):
            read = (_parse_anchor(line) for _, line in batch.lines)
            yield from (anchor for anchor in read if anchor and self._is_ours(anchor))

    def unknown_anchors(self, ledger: str, is_known: Callable[[Anchor], bool]) -> list[Anchor]:
        """The signed anchors of a ledger that are not known, in the order of the file; only those are verified."""
        found = []
        for batch in self._batches(append_log.BEGINNING):
            read = [anchor for _, line in batch.lines if (anchor := _parse_anchor(line)) and anchor.ledger == ledger]
            found += [anchor for anchor in read if not is_known(anchor) and self._is_ours(anchor)]
        return found

    @property
    def is_long(self) -> bool:
        """Whether the file has many more lines than it needs."""
        return self._read.place.number > max(MOST_LINES, 2 * self._kept)

    def shorten(self, ledger: str, is_settled: Callable[[Anchor], bool]) -> None:
        """Keep of the anchors of a ledger that are settled, which stand in its chains, the highest of each dataset.

        All other lines stay: anchors of lost histories, and lines that no known key signed. The file is taken first,
        and removed when what is kept of it is on the disk, so a process that is killed here loses nothing.

        No lock is held: `is_settled` asks the store, while those who hold the store ask for the latest anchors.
        """
        with _constant_error(UNWRITABLE):
            append_log.take(self._path)
            for taken in append_log.taken_files(self._path):
                with contextlib.suppress(FileNotFoundError):  # another process was at it
                    kept = self._kept_lines(taken, ledger, is_settled)
                    append_log.append(self._path, kept, sync=True)
                    taken.unlink()
                    self._kept = len(kept)

    def findings(self) -> list[str]:
        """What is wrong with the file: lines that no known key signed, and anchors that this process read in it."""
        with self._process_lock():
            self._read_new_lines()
            self._audit_new_lines()
            found = ([CHANGED] if self._is_changed else []) + list(self._audit.found)
            more = len(found) - MOST_FINDINGS
            return found if more <= 0 else [*found[:MOST_FINDINGS], f"and {more:,} more"]

    def _process_lock(self) -> threading.Lock:
        """The lock of this process: a child must not wait for a thread that stayed in its parent."""
        return self._locks.setdefault(os.getpid(), threading.Lock())

    def _batches(self, place: append_log.FilePosition) -> Iterator[append_log.LineBatch]:
        with _constant_error(UNREADABLE):
            if place == append_log.BEGINNING:
                for taken in append_log.taken_files(self._path):
                    yield append_log.LineBatch(tuple(append_log.read_all(taken)), place)
            while (batch := append_log.read_after(self._path, place)).place != place:
                self._is_changed = self._is_changed or (batch.is_anew and self._is_less())
                place = batch.place
                yield batch

    def _is_less(self) -> bool:
        """Whether the file says less than this process has read in it."""
        now = AnchorFile(self._path, self._signer, self._listed).latest()
        known = _by_dataset(self._read.latest, None, _later)
        return any(name not in now or now[name].sequence < anchor.sequence for name, anchor in known.items())

    def _kept_lines(self, taken: Path, ledger: str, is_settled: Callable[[Anchor], bool]) -> list[str]:
        highest_line: dict[str, tuple[int, str]] = {}
        kept = []
        for _, line in append_log.read_all(taken):
            text = line.decode(errors="surrogateescape")
            anchor = _parse_anchor(line)
            if anchor is None or anchor.ledger != ledger or not self._is_ours(anchor) or not is_settled(anchor):
                kept.append(text)
            else:
                highest_line[anchor.dataset] = max((anchor.sequence, text), highest_line.get(anchor.dataset, (0, "")))
        return [*kept, *(text for _, text in highest_line.values())]

    def _is_ours(self, anchor: Anchor) -> bool:
        """Another process may have rotated the key: the list is read again where a line names a key that is new."""
        if anchor.key not in self._publics:
            self._publics = {**self._listed, **self._signer.known_keys()}
            if anchor.key not in self._publics:
                self._unknown.add(anchor.key)
        return anchor.verify(self._publics)

    def _read_new_lines(self) -> None:
        for batch in self._batches(self._read.place):
            self._read = self._index_with(batch)

    def _index_with(self, batch: append_log.LineBatch) -> _AnchorIndex:
        """The highest come first, so that of many anchors one for each dataset is verified; none is ever forgotten."""
        latest, spent = dict(self._read.latest), dict(self._read.spent)
        glimpses = [glimpse for _, line in batch.lines if (glimpse := _preview_line(line))]
        for each in sorted(glimpses, key=lambda glimpse: glimpse.sequence, reverse=True):
            known, most = latest.get(each.name), spent.get(each.name, each.spent)
            is_news = known is None or known.sequence < each.sequence or _higher(most, each.spent) != most
            anchor = _parse_anchor(each.line) if is_news else None
            if anchor and self._is_ours(anchor):
                latest[each.name] = _later(known or anchor, anchor)
                spent[each.name] = _higher(most, anchor.spent)
        return _AnchorIndex(batch.place, latest, spent)

    def _audit_new_lines(self) -> None:
        for batch in self._batches(self._audit.place):
            found = [*(() if batch.is_anew else self._audit.found)]
            for number, line in batch.lines:
                anchor = _parse_anchor(line)
                if anchor is None:
                    found.append(f"line {number} of the anchors cannot be read")
                elif not self._is_ours(anchor):
                    found.append(f"line {number} of the anchors is not signed by a known key")
            self._audit = _LineAudit(batch.place, tuple(found))


class _LinePreview(NamedTuple):
    """What a line says of itself, before it is checked: enough to see whether it matters."""

    name: tuple[str, str]
    sequence: int
    spent: Cost
    line: bytes


def _preview_line(line: bytes) -> _LinePreview | None:
    try:
        data = json.loads(line)
        return _LinePreview(
            (str(data["ledger"]), str(data["dataset"])), int(data["sequence"]), cost_of(data["spent"]), line
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def _parse_anchor(line: bytes) -> Anchor | None:
    try:
        return Anchor.from_json(line.decode())
    except (LedgerError, UnicodeDecodeError):
        return None


def _by_dataset(found: Mapping[tuple[str, str], T], ledger: str | None, better: Callable[[T, T], T]) -> dict[str, T]:
    chosen: dict[str, T] = {}
    for (owner, dataset), value in found.items():
        if ledger in (None, owner):
            chosen[dataset] = better(chosen[dataset], value) if dataset in chosen else value
    return chosen


def _later(one: Anchor, other: Anchor) -> Anchor:
    return other if other.sequence > one.sequence else one


def _higher(one: Cost, other: Cost) -> Cost:
    epsilon = None if one.epsilon is None or other.epsilon is None else max(one.epsilon, other.epsilon)
    rest = (max(getattr(one, name), getattr(other, name)) for name in ("rho", "delta", "renyi"))
    return Cost(epsilon, *rest)


def _anchor_fields(anchor: Anchor) -> dict[str, Any]:
    written = {name: value for name, value in vars(anchor).items() if name not in _ABSENT_IF_NONE or value is not None}
    return written | {"spent": cost_texts(anchor.spent), "budget": dict(anchor.budget), "format": FORMAT}


def _statement(anchor: Anchor) -> str:
    """What is signed: everything but the signature."""
    return canonical({name: value for name, value in _anchor_fields(anchor).items() if name != "signature"})


def _has_its_type(name: str, value: object) -> bool:
    if name == "spent":
        return isinstance(value, Cost)
    if name == "budget":
        return isinstance(value, dict) and all(text is None or isinstance(text, str) for text in value.values())
    if name == "sequence":
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= HIGHEST_SEQUENCE
    return isinstance(value, str) or (value is None and name in _OPTIONAL)


@contextlib.contextmanager
def _constant_error(sentence: str) -> Iterator[None]:
    """Turn the system's faults into a constant sentence."""
    try:
        yield
    except OSError:
        raise LedgerError(sentence) from None
