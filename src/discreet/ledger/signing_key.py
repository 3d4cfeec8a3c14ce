"""The signing key of this process, and what the ledger's register of keys says of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from discreet.errors import LedgerError
from discreet.ledger.home_files import Named, key_file
from discreet.ledger.records import faults
from discreet.ledger.records.key_acts import ActKind, KeyAct, KeyRegister
from discreet.ledger.records.signatures import Signer
from discreet.ledger.transactions import key_register
from discreet.ledger.transactions.statements import Look

CREATED = "the ledger was created"
MIGRATED = "the ledger was migrated, and this key had signed its anchors"
ROTATED = "the owner's key was rotated"
ABANDONED = "another chain of acts was given up by a recovery"


def signer_at(named: Named = None, *, read_only: bool = False) -> Signer:
    """The key in a named file or in the home, made where there is none.

    With `read_only` nothing is made: one in memory takes its place, which no ledger lists. With that one, anchors of
    keys that the ledger lists are still checked.
    """
    path = key_file(named, read_only=read_only)
    return (Signer.find(path) or Signer.in_memory(is_missing=bool(named))) if read_only else Signer.at(path)


class KeysChangedError(LedgerError):
    """The ledger has other acts on its keys than this process has read; they are read, and the work is done again."""


class SigningKey:
    """A key with the register of the ledger that it signs for; a ledger in memory has neither."""

    def __init__(self, signer: Signer | None) -> None:
        self.signer = signer
        self.register = KeyRegister("")
        self.damage: str | None = None
        self.anchors_fault: str | None = None

    def load(self, look: Look, ledger: str) -> None:
        """Read the register, and the key anew where it was rotated by another process."""
        try:
            self.register, self.damage = look(partial(key_register.read, ledger=ledger)), None
        except LedgerError as error:
            if str(error) != faults.DAMAGED_KEYS:
                raise
            self.damage = faults.DAMAGED_KEYS
        if self.signer is not None and self.signer.key not in self.register.may_charge:
            self.signer = self.signer.reopen()

    def refuse_unusable_key(self) -> None:
        """Refuse to charge with a key that the ledger does not list, or with several and no anchors that they share."""
        fault = self._fault_of_this_key()
        if fault is not None:
            raise LedgerError(fault)

    @property
    def may_charge(self) -> bool:
        """Whether the register, as it was read last, lets this key charge."""
        return self._fault_of_this_key() is None

    @property
    def is_listed(self) -> bool:
        """Whether the ledger lists this key; a ledger in memory lists none and needs none."""
        return self.signer is None or self.signer.key in self.register.may_charge

    @property
    def is_stranger(self) -> bool:
        """Whether the ledger never listed this key; one that was revoked may finish what it charged."""
        return self.signer is not None and self.signer.key not in self.register.keys

    def abandonment(self, chain: Sequence[str], vouched: Sequence[str]) -> list[KeyAct]:
        """The acts, to be signed, by which the owner gives up another chain of acts: its revocations, then its end.

        Only revocations in the part of the chain that is `vouched` for are kept.
        """
        last = KeyAct.from_json(chain[-1])
        own = {act.hash for act in self.register.acts}
        acts = [act for text in vouched if (act := KeyAct.from_json(text)).hash not in own]
        revoked = [act for act in acts if act.kind is ActKind.REVOKED]
        again = [act for act in revoked if act.value in self.register.may_charge and act.value != self.register.owner]
        end = replace(last, kind=ActKind.ABANDONED, value=last.hash, name="acts", reason=ABANDONED)
        return [*again, end]

    @property
    def is_owner(self) -> bool:
        """Whether the register, as it was read last, says that this key is the owner's."""
        return self.signer is not None and self.signer.key == self.register.owner

    @property
    def is_in_file(self) -> bool:
        """Whether this process has a key of its own, in a file."""
        return self.signer is not None and self.signer.is_in_file

    @property
    def fault(self) -> str | None:
        """Why nothing can be charged with this key, or, where no file holds one, with any."""
        if self.signer is not None and self.signer.is_missing:
            return faults.NO_KEY
        has_own = self.is_in_file or self.signer is None
        return self._fault_of_this_key() if has_own else self.damage or self._fault_of_every_key()

    def _fault_of_this_key(self) -> str | None:
        """Why this key cannot charge now."""
        if self.signer is None:
            return None
        if self.damage is not None:
            return self.damage
        listed = self.register.keys.get(self.signer.key)
        if listed is None:
            return faults.UNLISTED_KEY if self.register.owner else faults.UNOWNED
        return faults.REVOKED_KEY if listed.is_revoked else self._fault_of_every_key()

    def _fault_of_every_key(self) -> str | None:
        """Why no key can charge now."""
        if not self.register.owner:
            return faults.UNOWNED
        if self.anchors_fault is not None:
            return self.anchors_fault
        if self.register.store:
            return None
        return faults.UNSHARED_ANCHORS if len(self.register.may_charge) > 1 else None

    def refuse_older_register(self, end: tuple[int, str]) -> None:
        """Refuse work where the acts of the ledger end otherwise than those of the register that was read.

        Their number alone does not say so: an older copy may have got as many other acts since.
        """
        if self.damage is not None:
            raise LedgerError(self.damage)
        if self.signer is not None and end != self.register.end:
            raise KeysChangedError(faults.BUSY)

    def findings(self) -> list[str]:
        """What is wrong with the acts on keys."""
        return [] if self.damage is None else [self.damage]

    def publics(self, certificate: Sequence[str] = ()) -> dict[str, str]:
        """The public keys that may have signed for the ledger, with those that a certificate shows to be its own."""
        known = {} if self.signer is None else self.signer.known_keys()
        return known | self.register.publics | self.register.certified_keys(certificate)

    def first_act(self, *, is_new: bool, anchored_by: Mapping[str, str]) -> KeyAct | None:
        """The act by which this key becomes the owner's; None where that is not for this process to say.

        A ledger without acts is new, or of an earlier version: then one of the keys of this machine must have signed
        the latest anchor of one of its datasets. A key that the owner's key handed over to succeeds it.
        """
        if self.signer is None or self.damage is not None:
            return None
        if not self.register.acts:
            is_ours = is_new or bool(anchored_by.keys() & self.signer.known_keys().keys())
            reason = CREATED if is_new else MIGRATED
            return self._own(reason) if is_ours else None
        if self.signer.key in self.register.keys:
            return None
        handover = self.signer.handover_from(self.register.owner)
        return None if handover is None else self._own(ROTATED, handover=handover)

    def owner_act(self, kind: ActKind, value: str, *, name: str, reason: str) -> KeyAct:
        """An act of the owner; another key is refused."""
        if self.damage is not None:
            raise LedgerError(self.damage)
        if self.signer is None or not self.is_owner:
            raise LedgerError(faults.NOT_THE_OWNER)
        return self.register.next_act(self.signer, kind, value, name=name, reason=reason)

    def takeover(self, reason: str) -> KeyAct:
        """The act by which this key becomes the owner's though the former owner did not sign it: its key is lost."""
        return self._own(reason)

    def _own(self, reason: str, handover: str | None = None) -> KeyAct:
        if self.signer is None:
            raise LedgerError(faults.NOT_THE_OWNER)
        return self.register.next_act(
            self.signer, ActKind.OWNED, self.signer.public, name="owner", reason=reason, handover=handover
        )
