"""Other releases: files and figures about a dataset that left its owner by another way than a charge.

They cost nothing here, because the ledger cannot know what they reveal. The chain records that they exist, so that
readers of a later release know what to add up. All of it is the owner's own words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from discreet.errors import ParameterError, Refusal, public_class, suggestion
from discreet.ledger.records.canonical_text import canonical, label, parse_object
from discreet.ledger.records.chain import ChainLink, Kind, link_of

LONGEST_WHAT = 500
MOST_LISTED = 100
UNREADABLE = "a release whose record was changed after it was written"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PLACE = re.compile(r"event ([0-9]{1,18})\)\Z")


class ReleaseKind(StrEnum):
    """What another release consists of."""

    GENERALISED = "generalised"
    EXACT = "exact"
    SYNTHETIC = "synthetic"
    DIFFERENTIALLY_PRIVATE = "differentially_private"
    OTHER = "other"


_WORDS = {
    ReleaseKind.GENERALISED: "generalised data",
    ReleaseKind.EXACT: "exact data",
    ReleaseKind.SYNTHETIC: "synthetic data",
    ReleaseKind.DIFFERENTIALLY_PRIVATE: "differentially private, not charged here",
    ReleaseKind.OTHER: "of another kind",
}


@public_class
@dataclass(frozen=True, kw_only=True)
class OtherRelease:
    """A release of a dataset that was not charged, as its owner recorded it. Print it to read it.

    Attributes:
        dataset: Name of the dataset.
        version: Newest version of the dataset when it was recorded.
        sequence: Number of the event in the chain.
        time: Time at which it was recorded, in UTC; empty where the record was changed.
        author: Name of the person who recorded it; empty where the record was changed.
        kind: "generalised", "exact", "synthetic", "differentially_private" or "other".
        what: The release in words.
        sha256: SHA-256 of the file, in hexadecimal, or None.

    Example:
        >>> import discreet as dp
        >>> with dp.SQLiteLedger(":memory:") as ledger:
        ...     facts = {"name": "people", "privacy_unit": dp.ROW, "budget": dp.Budget(epsilon=1)}
        ...     session = dp.protect(dp.datasets.people(100), **facts, ledger=ledger)
        ...     found = ledger.add_other_release("people", "people.csv, ages in tens", kind="generalised")
        ...     ledger.other_releases("people") == (found,)
        True
    """

    dataset: str
    version: int
    sequence: int
    time: str
    author: str
    kind: ReleaseKind
    what: str
    sha256: str | None = None

    @property
    def text(self) -> str:
        """One line for documents: the owner's words, the kind, the date, the digest and the place in the chain."""
        if not self.time:
            return f"{self.what} (event {self.sequence})"
        digest = "" if self.sha256 is None else f", SHA-256 {self.sha256}"
        return f"{self.what} ({_WORDS[self.kind]}, {self.time[:10]}{digest}, event {self.sequence})"

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


@dataclass(frozen=True, kw_only=True)
class OtherReleaseRequest:
    """What an owner records; `request` is a key by which it knows its own event again."""

    what: str
    kind: ReleaseKind
    sha256: str | None
    author: str
    request: str

    def columns(self) -> dict[str, str | None]:
        """The columns of the event that tell of it."""
        detail = canonical({"kind": str(self.kind), "what": self.what})
        return {"analyst": self.author, "request": self.request, "digest": self.sha256, "detail": detail}


def checked_request(what: object, kind: object, sha256: object, author: object, request: str) -> OtherReleaseRequest:
    """What an owner records, checked before the ledger is asked."""
    return OtherReleaseRequest(
        what=label(what, "what", most=LONGEST_WHAT),
        kind=_checked_kind(kind),
        sha256=None if sha256 is None else _checked_sha256(sha256),
        author=label(author, "author"),
        request=request,
    )


def other_release_of(link: ChainLink) -> OtherRelease:
    """The release that a PUBLISHED link records; ValueError, KeyError or TypeError where it records none."""
    data = parse_object(link.detail or "")
    if link.kind != Kind.PUBLISHED or not isinstance(data["what"], str):
        raise TypeError
    return OtherRelease(
        dataset=link.dataset,
        version=link.version,
        sequence=link.sequence,
        time=link.time,
        author=link.analyst or "",
        kind=ReleaseKind(data["kind"]),
        what=data["what"],
        sha256=link.digest,
    )


def read_release(row: Mapping[str, Any]) -> OtherRelease:
    """The release in a row of the table `events`; of a row that was changed, only its place in the chain is believed.

    It is never an error: a charge that is durable must not lose its answer by it, and `verify` reports the change.
    """
    try:
        link = link_of(row)
        if link.hash == row["hash"]:
            return other_release_of(link)
    except (ValueError, KeyError, TypeError, ArithmeticError, Refusal):
        pass
    place = {"dataset": row["dataset"], "version": row["version"], "sequence": row["sequence"]}
    return OtherRelease(time="", author="", kind=ReleaseKind.OTHER, what=UNREADABLE, **place)


def receipt_lines(newest: Sequence[OtherRelease], total: int) -> tuple[str, ...]:
    """What a receipt lists of `total` releases: the newest in words and, before them, the number of earlier ones.

    A list of all would make each charge longer than the one before; the hash before the charge covers all of them.
    """
    lines = tuple(release.text for release in newest)
    earlier = total - len(newest)
    if not earlier:
        return lines
    return f"{earlier} earlier {'release' if earlier == 1 else 'releases'}, before event {newest[0].sequence}", *lines


def place_in_line(line: str) -> int | None:
    """The event that a line of a receipt is about; None where it names none."""
    found = _PLACE.search(line)
    return None if found is None else int(found[1])


def published_text(detail: str | None, sha256: str | None) -> str | None:
    """What a PUBLISHED event records, in words; None where it cannot be read."""
    digest = "" if sha256 is None else f", SHA-256 {sha256}"
    try:
        data = parse_object(detail or "")
        return f"{data['what']} ({_WORDS[ReleaseKind(data['kind'])]}{digest})"
    except (ValueError, KeyError, TypeError):
        return None


def _checked_kind(kind: object) -> ReleaseKind:
    if isinstance(kind, str) and kind in {str(each) for each in ReleaseKind}:
        return ReleaseKind(kind)
    names = [str(each) for each in ReleaseKind]
    near = suggestion(kind, names) if isinstance(kind, str) else ""
    raise ParameterError(
        f"kind={kind!r} of another release" if isinstance(kind, str) else "the kind of another release",
        because=f"it must be one of {', '.join(names)}",
        instead=f'kind="{near if near in names else ReleaseKind.GENERALISED}"',
    )


def _checked_sha256(sha256: object) -> str:
    if isinstance(sha256, str) and _SHA256.fullmatch(sha256):
        return sha256
    raise ParameterError(
        "sha256 of another release",
        because="it must be 64 lower-case hexadecimal digits",
        instead="sha256=hashlib.sha256(content).hexdigest()",
    )
