"""Acts on the keys of a ledger: who owns it, which keys may charge, where the shared anchors are.

Each act is a document that the owner's key signs. It names the act before it by its hash, so that acts form one chain,
which the ledger keeps and which every shared store of anchors copies. The first act is the creation: it names the
owner's key. The public half of that key stands in the ledger from its beginning, and so in every copy that is ever
restored; what it signed later (the certificate of a key) is checked with it, without any list on this machine.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.canonical_text import canonical, digest
from discreet.ledger.records.chain import GENESIS, now
from discreet.ledger.records.signatures import Signer, is_signed_by, key_id, succession

FORMAT = "discreet.key-act/1"


class ActKind(StrEnum):
    """What an act says of its `value`."""

    OWNED = "OWNED"
    """A public key is the owner's: it may charge, and it signs the acts from here on."""
    LISTED = "LISTED"
    """A public key may charge."""
    REVOKED = "REVOKED"
    """The key with this id may not charge any more."""
    ANCHORED = "ANCHORED"
    """The store of anchors with this id is the one that all keys share; `name` is where it is."""
    ABANDONED = "ABANDONED"
    """The chain of acts that ends with this hash went another way, and is given up."""


@dataclass(frozen=True, kw_only=True)
class KeyAct:
    """One act, signed by the key with the id `owner`.

    Another key than the owner's becomes the owner's by an act that it signs itself. `handover` shows that the former
    owner signed the succession; an act without one is a takeover, which only the steward can write.
    """

    ledger: str
    sequence: int
    kind: ActKind
    value: str
    name: str
    reason: str
    time: str
    previous: str
    owner: str
    handover: str | None = None
    signature: str | None = None

    @property
    def hash(self) -> str:
        """What the next act names as `previous`."""
        return digest(self.to_json())

    @property
    def is_takeover(self) -> bool:
        """Whether its key becomes the owner's and no owner before it signed that; the creation is one too."""
        return self.kind is ActKind.OWNED and self.handover is None

    def sign(self, signer: Signer) -> "KeyAct":
        """The act with the owner's signature."""
        named = replace(self, owner=signer.key, signature=None)
        return replace(named, signature=signer.sign(_statement(named)))

    def is_signed(self, public: str) -> bool:
        """Whether a public key signed it, which must be the one that it names."""
        return is_signed_by(_statement(self), self.owner, self.signature, public)

    def to_json(self) -> str:
        """The act as one line."""
        return canonical(_act_fields(self))

    @classmethod
    def from_json(cls, text: str) -> "KeyAct":
        """The act that `to_json` wrote, to the letter; anything else is damage."""
        try:
            data = json.loads(text)
            act = cls(**{each.name: data[each.name] for each in fields(cls)} | {"kind": ActKind(data["kind"])})
            is_ours = all(_has_its_type(name, value) for name, value in vars(act).items()) and act.to_json() == text
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise LedgerError(faults.DAMAGED_KEYS) from None
        if not is_ours:
            raise LedgerError(faults.DAMAGED_KEYS)
        return act


@dataclass(frozen=True)
class ListedKey:
    """A public key that may charge a ledger, or might once.

    Attributes:
        key: Id of the key: the first 16 hexadecimal digits of the SHA-256 of its bytes.
        public: The public key, as `ed25519:...`.
        name: Name that the owner gave it, such as that of its machine.
        since: Time at which it was listed, in UTC.
        is_owner: Whether it is the owner's key, which signs acts on keys.
        is_revoked: Whether it may not charge any more. What it signed stays good.

    Example:
        >>> import discreet as dp
        >>> with dp.SQLiteLedger("ledger.sqlite") as ledger:
        ...     (owner,) = ledger.listed_keys()
        >>> owner.name, owner.is_owner, owner.is_revoked
        ('owner', True, False)
    """

    key: str
    public: str
    name: str
    since: str
    is_owner: bool = False
    is_revoked: bool = False


@dataclass(frozen=True)
class KeyRegister:
    """What the acts of a ledger say, once each was checked with the key of the owner at its time.

    Attributes:
        ledger: Id of the ledger.
        acts: The acts in their order.
        keys: Every key that was ever listed, by its id.
        owner: Id of the owner's key; empty before the first act.
        store: Id of the store of shared anchors; empty where none was named.
        place: Path of that store as the owner named it; of an address only host, port and database.
        abandoned: Hashes of the last acts of chains that were given up.
    """

    ledger: str
    acts: tuple[KeyAct, ...] = ()
    keys: Mapping[str, ListedKey] = field(default_factory=dict)
    owner: str = ""
    store: str = ""
    place: str = ""
    abandoned: frozenset[str] = frozenset()

    @classmethod
    def of(cls, ledger: str, texts: Iterable[str]) -> "KeyRegister":
        """The register of acts in their order; acts that do not follow from each other are damage."""
        register = cls(ledger)
        for text in texts:
            register = register.then(KeyAct.from_json(text))
        return register

    @property
    def head(self) -> str:
        """The hash of the last act."""
        return self.acts[-1].hash if self.acts else GENESIS

    @property
    def end(self) -> tuple[int, str]:
        """The number of acts, and the last one as it is stored."""
        return len(self.acts), self.acts[-1].to_json() if self.acts else ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The acts as they are stored."""
        return tuple(act.to_json() for act in self.acts)

    @property
    def publics(self) -> dict[str, str]:
        """Every public key that was ever listed, by its id."""
        return {key: each.public for key, each in self.keys.items()}

    @property
    def may_charge(self) -> dict[str, ListedKey]:
        """The keys that may charge now, by their ids."""
        return {key: each for key, each in self.keys.items() if not each.is_revoked}

    def next_act(self, signer: Signer, kind: ActKind, value: str, *, name: str, reason: str, **more: Any) -> KeyAct:
        """The act that would come next, signed."""
        act = KeyAct(
            ledger=self.ledger,
            sequence=len(self.acts) + 1,
            kind=kind,
            value=value,
            name=name,
            reason=reason,
            time=now(),
            previous=self.head,
            owner="",
            **more,
        )
        return act.sign(signer)

    def then(self, act: KeyAct) -> "KeyRegister":
        """The register after one more act."""
        if (act.ledger, act.sequence, act.previous) != (self.ledger, len(self.acts) + 1, self.head):
            raise LedgerError(faults.DAMAGED_KEYS)
        signed_by = act.value if act.kind is ActKind.OWNED else self.keys[self.owner].public if self.owner else ""
        if not act.is_signed(signed_by) or not self._is_allowed(act):
            raise LedgerError(faults.DAMAGED_KEYS)
        return self._with(act)

    def certificate(self, key: str) -> tuple[str, ...]:
        """The acts by which a copy that knows the first owner trusts a key; none for the first owner's own key."""
        found = [act for act in self.acts[1:] if act.kind is ActKind.OWNED]
        found += [act for act in self.acts if act.kind is ActKind.LISTED and key_id(act.value) == key]
        return tuple(act.to_json() for act in found) if key in self.keys and key != self._first_key else ()

    def certified_keys(self, certificate: Iterable[str]) -> dict[str, str]:
        """The public keys that a certificate shows to be of this ledger, by their ids, in an older copy too.

        Keys of a takeover are not among them: the owner before it did not sign it.
        """
        owners = {str(key_id(act.value)): act.value for act in self.acts if act.kind is ActKind.OWNED}
        return certified_keys(self.ledger, owners, certificate)

    @property
    def _first_key(self) -> str | None:
        return key_id(self.acts[0].value) if self.acts else None

    def _is_allowed(self, act: KeyAct) -> bool:
        if act.kind in (ActKind.OWNED, ActKind.LISTED) and key_id(act.value) is None:
            return False
        if act.kind is ActKind.OWNED:
            return act.handover is None or _is_handed_over(act, {self.owner: self.publics.get(self.owner, "")})
        if act.handover is not None:
            return False
        return act.kind is not ActKind.REVOKED or (act.value in self.keys and act.value != self.owner)

    def _with(self, act: KeyAct) -> "KeyRegister":
        after = replace(self, acts=(*self.acts, act))
        if act.kind is ActKind.ANCHORED:
            return replace(after, store=act.value, place=act.name)
        if act.kind is ActKind.ABANDONED:
            return replace(after, abandoned=self.abandoned | {act.value})
        keys = dict(self.keys)
        if act.kind is ActKind.REVOKED:
            keys[act.value] = replace(keys[act.value], is_revoked=True)
            return replace(after, keys=keys)
        key = str(key_id(act.value))
        is_owner = act.kind is ActKind.OWNED
        if is_owner and self.owner:
            keys[self.owner] = replace(keys[self.owner], is_owner=False, is_revoked=True)
        keys[key] = ListedKey(key, act.value, act.name, act.time, is_owner=is_owner or key == self.owner)
        return replace(after, keys=keys, owner=key if is_owner else self.owner)


def certified_keys(ledger: str, owners: Mapping[str, str], certificate: Iterable[str]) -> dict[str, str]:
    """The public keys that a certificate shows to be of a ledger, by their ids, to a reader who knows its owners."""
    known, found = dict(owners), {}
    for text in certificate:
        try:
            act = KeyAct.from_json(text)
        except LedgerError:
            return {}
        is_listed = act.kind is ActKind.LISTED and act.is_signed(known.get(act.owner, ""))
        is_handed = act.kind is ActKind.OWNED and act.is_signed(act.value) and _is_handed_over(act, known)
        if act.ledger == ledger and (is_listed or is_handed):
            found[str(key_id(act.value))] = act.value
            known |= {act.owner: act.value} if is_handed else {}
    return found


def is_takeover(text: str) -> bool:
    """Whether an act, as it is stored, makes a key the owner's that no owner before it signed."""
    return KeyAct.from_json(text).is_takeover


def verified_chain(ledger: str, texts: Iterable[str]) -> tuple[str, ...]:
    """As much of a chain of acts as follows from its first act."""
    register, found = KeyRegister(ledger), []
    for text in texts:
        try:
            register = register.then(KeyAct.from_json(text))
        except LedgerError:
            break
        found.append(text)
    return tuple(found)


def is_one_chain(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one of two chains of acts goes on where the other ends."""
    return all(mine == theirs for mine, theirs in zip(one, other, strict=False))


def common_chain(chains: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The longest of some chains of acts up to the first place at which another one differs from it."""
    longest = max(chains, key=len, default=())
    places = (
        place
        for place, act in enumerate(longest)
        if any(each[place : place + 1] not in ((), (act,)) for each in chains)
    )
    return longest[: next(places, len(longest))]


def _is_handed_over(act: KeyAct, owners: Mapping[str, str]) -> bool:
    """Whether each key from one of some owners to the new one signed that the next succeeds it.

    The handover is the id of the first, its signature, and for each key between the two that key and its signature.
    """
    former, *steps = (act.handover or "").split(" ")
    signatures, publics = steps[::2], [*steps[1::2], act.value]
    if len(signatures) != len(publics):
        return False
    known = dict(owners)
    for signature, public in zip(signatures, publics, strict=True):
        if not is_signed_by(succession(former, public), former, signature, known):
            return False
        former = str(key_id(public))
        known[former] = public
    return True


def _act_fields(act: KeyAct) -> dict[str, Any]:
    return vars(act) | {"kind": str(act.kind), "format": FORMAT}


def _statement(act: KeyAct) -> str:
    """What is signed: everything but the signature."""
    return canonical({name: value for name, value in _act_fields(act).items() if name != "signature"})


def _has_its_type(name: str, value: object) -> bool:
    if name == "sequence":
        return isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return isinstance(value, str) or (value is None and name in ("handover", "signature"))
