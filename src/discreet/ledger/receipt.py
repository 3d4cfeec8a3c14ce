"""A receipt: the charge behind a release, complete enough for anyone to recompute its hash without the ledger."""

import json
from dataclasses import asdict, dataclass, fields

from discreet.accounting.filters import Cost
from discreet.errors import LedgerError
from discreet.ledger.chain import Kind, Link
from discreet.ledger.text import canonical

FORMAT = "discreet.receipt/1"

_WHOLE = ("version", "sequence")
_OPTIONAL = ("request",)


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What was charged, by whom and when, with the hash that the dataset's chain holds for it.

    `event` is JSON (`events.canonical`), `description` the SHA-256 of the plan, `cost` whole units of both filters.
    """

    dataset: str
    version: int
    sequence: int
    analyst: str
    time: str
    event: str
    cost: Cost
    question: str
    request: str | None
    description: str
    library: str
    previous: str
    hash: str

    @property
    def id(self) -> str:
        """The first 12 digits of the hash: enough to name the receipt in print."""
        return self.hash[:12]

    def verify(self) -> bool:
        """Whether the hash is that of the other fields; needs no ledger."""
        return self._link().hash == self.hash

    def to_json(self) -> str:
        """The receipt as JSON; costs as text, because they exceed what some JSON readers keep exactly."""
        units = {name: None if value is None else str(value) for name, value in asdict(self.cost).items()}
        return canonical(asdict(self) | {"cost": units, "format": FORMAT})

    @classmethod
    def from_json(cls, text: str) -> "Receipt":
        """The receipt that `to_json` wrote; anything else is refused."""
        try:
            data = json.loads(text)
            if data.pop("format") != FORMAT:
                raise _unreadable()
            units = {f.name: _units(data["cost"].pop(f.name)) for f in fields(Cost)}
            known = not data.pop("cost") and all(_has_its_type(name, value) for name, value in data.items())
            receipt = cls(cost=Cost(**units), **data)  # type: ignore[arg-type]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _unreadable() from None
        if not known:
            raise _unreadable()
        return receipt

    def _link(self) -> Link:
        return Link(
            dataset=self.dataset,
            sequence=self.sequence,
            kind=Kind.RESERVED,
            time=self.time,
            version=self.version,
            previous=self.previous,
            library=self.library,
            cost=self.cost,
            analyst=self.analyst,
            event=self.event,
            question=self.question,
            request=self.request,
            digest=self.description,
        )


Reservation = Receipt | tuple[str, int]
"""What names a charge: its receipt, or the dataset and the sequence number."""


def receipt_of(link: Link) -> Receipt:
    """The receipt of a RESERVED link."""
    return Receipt(
        dataset=link.dataset,
        version=link.version,
        sequence=link.sequence,
        analyst=link.analyst or "",
        time=link.time,
        event=link.event or "",
        cost=link.cost,
        question=link.question or "",
        request=link.request,
        description=link.digest or "",
        library=link.library,
        previous=link.previous,
        hash=link.hash,
    )


def _units(value: object) -> int | None:
    if value is None or isinstance(value, str):
        return None if value is None else int(value)
    raise TypeError


def _has_its_type(name: str, value: object) -> bool:
    if name in _WHOLE:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, str) or (value is None and name in _OPTIONAL)


def _unreadable() -> LedgerError:
    return LedgerError("the text is not a receipt that this version of discreet can read")
