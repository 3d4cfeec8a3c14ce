"""A receipt: the charge behind a release, complete enough for anyone to recompute its hash without the ledger.

A signed receipt also says who vouches for it. The signature is over the canonical JSON of everything else in it, with
the hash and the id of the key. The chain knows nothing of signatures, so a receipt may be signed at any time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from discreet.accounting.costs import Cost
from discreet.catalog import strict_json
from discreet.errors import LedgerError, public_class
from discreet.ledger.records.canonical_text import canonical
from discreet.ledger.records.chain import ChainLink, Kind
from discreet.ledger.records.key_acts import certified_keys
from discreet.ledger.records.signatures import Publics, Signer, is_signed_by, key_id

FORMAT = "discreet.receipt/2"
FORMAT_WITH_OTHERS = "discreet.receipt/3"
FORMAT_CERTIFIED = "discreet.receipt/4"
UNSIGNED_FORMAT = "discreet.receipt/1"

_WHOLE = ("version", "sequence")
_OPTIONAL = ("request", "detail", "ledger", "key", "signature")
_LISTS = ("others", "certificate")


@public_class
@dataclass(frozen=True, kw_only=True)
class Receipt:
    """Record of a charge, with its hash in the chain of the dataset and a signature.

    Attributes:
        dataset: Name of the dataset.
        version: Version of the dataset.
        sequence: Number of the event in the chain.
        analyst: Name of the analyst.
        time: Time of the charge.
        event: The event, as JSON.
        cost: Cost in units of the ledger.
        question: Fingerprint of the query.
        request: Idempotency key, or None.
        description: SHA-256 of the plan, with the states of public tables.
        library: Version of the library.
        previous: Hash of the event before.
        hash: Hash of this event.
        detail: Other datasets that were charged together, or None.
        others: Other releases that the chain held before the charge: the newest 100 in words, after the number of
            earlier ones.
        ledger: Id of the ledger that signed it, or None.
        key: Id of the key that signed it, or None.
        signature: Signature of all other fields, or None.
        certificate: Acts of the ledger's owner that list the key, as JSON; none for the key that created the ledger.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
        >>> release = session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)
        >>> import json
        >>> dp.Receipt.from_json(json.dumps(release.receipt)).verify()
        True
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
    detail: str | None = None
    others: tuple[str, ...] = ()
    ledger: str | None = None
    key: str | None = None
    signature: str | None = None
    certificate: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The first 12 digits of the hash: enough to name the receipt in print."""
        return self.hash[:12]

    def verify(self, public: Publics | None = None) -> bool:
        """Verify the hash and, given public keys, the signature; it needs no ledger.

        Args:
            public: Public keys that may have signed it. Default: only the hash is checked.

        Returns:
            Whether it is right.
        """
        if self.link().hash != self.hash:
            return False
        return public is None or is_signed_by(_statement(self), self.key, self.signature, public)

    def sign(self, signer: Signer, ledger: str | None = None, certificate: Sequence[str] = ()) -> "Receipt":
        """The receipt with the signature of a ledger.

        Args:
            signer: The signing key.
            ledger: Id of the ledger. Default: the one that it names.
            certificate: Acts of the ledger's owner that list the key. Default: none.

        Returns:
            The signed receipt.
        """
        named = replace(
            self, ledger=ledger or self.ledger, key=signer.key, signature=None, certificate=tuple(certificate)
        )
        return replace(named, signature=signer.sign(_statement(named)))

    def is_of(self, ledger: str) -> bool:
        """Whether it may be a receipt of a ledger.

        Args:
            ledger: Id of the ledger.

        Returns:
            Whether it names that ledger, or none.
        """
        return self.ledger in (None, ledger)

    def to_json(self) -> str:
        """The receipt as JSON; costs are text, because some JSON readers do not keep them exactly.

        Returns:
            The text.
        """
        return canonical(_receipt_fields(self))

    @classmethod
    def from_json(cls, text: str) -> "Receipt":
        """Read a receipt of this or an earlier version.

        Args:
            text: The text of `to_json`.

        Returns:
            The receipt.

        Raises:
            LedgerError: If the text is not a receipt.
        """
        try:
            data = strict_json.loads(text)
            read = _names(data.pop("format"), data)
            if read != data.keys() or not all(_has_its_type(name, value) for name, value in data.items()):
                raise _unreadable()
            lists = {name: tuple(data.get(name, ())) for name in _LISTS}
            receipt = cls(**data | {"cost": cost_of(data["cost"])} | lists)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise _unreadable() from None
        if (receipt.key is None) != (receipt.signature is None):
            raise _unreadable()
        return receipt

    def link(self) -> ChainLink:
        """The link of the chain that it is about.

        Returns:
            The link.
        """
        return ChainLink(
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
            detail=self.detail,
        )


ChargeReference = Receipt | tuple[str, int]
"""What names a charge: its receipt, or the dataset and the sequence number."""


def receipt_of(link: ChainLink) -> Receipt:
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
        detail=link.detail,
    )


def receipt_fault(receipt: Receipt, publics: Sequence[str]) -> str | None:
    """What is wrong with a receipt, seen by somebody who has these public keys; None where nothing is."""
    if not receipt.verify():
        return "it was changed, its hash is not that of its fields"
    if receipt.key is None:
        return "no key signed it, so anybody may have made it up"
    publics = trusted_keys(receipt, publics)
    if receipt.key not in map(key_id, publics):
        return other_key(receipt)
    if not is_signed_by(_statement(receipt), receipt.key, receipt.signature, publics):
        return "its signature is not that of the key it names"
    return None


def other_key(receipt: Receipt) -> str:
    """The fault of a receipt that none of the known keys signed."""
    return f"another key signed it, {ascii(receipt.key)[1:-1]}"


def trusted_keys(receipt: Receipt, publics: Sequence[str]) -> list[str]:
    """The given public keys, and those that the receipt's certificate shows to be of the ledger.

    Each act of the certificate must be signed by a key that is given, or that an act before it shows.
    """
    owners = {str(key_id(public)): public for public in publics}
    return [*publics, *certified_keys(receipt.ledger or "", owners, receipt.certificate).values()]


def _receipt_fields(receipt: Receipt) -> dict[str, Any]:
    """The fields as JSON has them; a list that is empty has no field, and the format tells which lists there may be."""
    columns = vars(receipt) | {"cost": cost_texts(receipt.cost), "format": _format(receipt)}
    lists = {name: list(getattr(receipt, name)) for name in _LISTS if getattr(receipt, name)}
    return {name: value for name, value in columns.items() if name not in _LISTS} | lists


def _format(receipt: Receipt) -> str:
    if receipt.certificate:
        return FORMAT_CERTIFIED
    return FORMAT_WITH_OTHERS if receipt.others else FORMAT


def _statement(receipt: Receipt) -> str:
    """What is signed: everything but the signature."""
    return canonical({name: value for name, value in _receipt_fields(receipt).items() if name != "signature"})


def cost_texts(cost: Cost) -> dict[str, str | None]:
    """A cost as JSON keeps it: whole units as text, because they exceed what some JSON readers keep exactly."""
    units = zip(("epsilon", "rho", "delta", "renyi"), cost.units(), strict=False)
    return {name: None if value is None else str(value) for name, value in units}


def cost_of(texts: Mapping[str, object]) -> Cost:
    """The cost that `cost_texts` wrote; `TypeError` or `ValueError` for anything else."""
    cost = Cost.of_units(**{name: _units(value) for name, value in texts.items()})  # type: ignore[arg-type]
    if None in (cost.rho, cost.delta) or cost_texts(cost) != texts:
        raise TypeError
    return cost


def _units(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, str) or str(int(value)) != value:
        raise TypeError
    return int(value)


def _names(format_name: object, data: Mapping[str, object]) -> set[str]:
    """The fields that a receipt of a format has."""
    every = {field.name for field in fields(Receipt)}
    if format_name == FORMAT_CERTIFIED:
        return every if "others" in data else every - {"others"}
    names = every - {"certificate"}
    if format_name == FORMAT_WITH_OTHERS:
        return names
    if format_name == FORMAT:
        return names - {"others"}
    if format_name == UNSIGNED_FORMAT:
        return names - {"detail", "others", "ledger", "key", "signature"}
    raise _unreadable()


def _has_its_type(name: str, value: object) -> bool:
    if name == "cost":
        return isinstance(value, dict)
    if name in _LISTS:
        return isinstance(value, list) and bool(value) and all(isinstance(text, str) for text in value)
    if name in _WHOLE:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, str) or (value is None and name in _OPTIONAL)


def _unreadable() -> LedgerError:
    return LedgerError("the text is not a receipt that this version of discreet can read")
