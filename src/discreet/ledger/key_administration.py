"""Acts of a ledger's owner on its keys and on the anchors that machines share."""

import os
import secrets
from contextlib import closing
from functools import partial

from discreet.errors import LedgerError, NameNotFoundError, ParameterError, public_class
from discreet.ledger.integrity import halts
from discreet.ledger.integrity.shared_anchors import store_document, store_in
from discreet.ledger.queries import LedgerQueries
from discreet.ledger.records import faults
from discreet.ledger.records.canonical_text import label
from discreet.ledger.records.key_acts import ActKind, KeyAct, ListedKey
from discreet.ledger.records.signatures import key_id
from discreet.ledger.signing_key import CREATED
from discreet.ledger.stores.anchor_places import (
    absolute_place,
    anchor_store_at,
    public_place,
    refuse_missing_mount,
)
from discreet.ledger.stores.new_anchor_place import naming_new_anchors
from discreet.ledger.transactions import key_register, limits, statements
from discreet.ledger.transactions.statements import LedgerWriter
from discreet.ledger.transactions.store import UnknownOutcomeError

LONGEST_REASON = 2_000


@public_class
class KeyAdministration(LedgerQueries):
    """The calls of a ledger by which its owner lists and revokes keys, and names anchors."""

    def list_key(self, public: str, *, name: str, reason: str) -> ListedKey:
        """List a public key, so that processes with it may charge. An act of the owner, which the ledger keeps.

        Args:
            public: The public key, as `discreet ledger key show` prints it.
            name: Name of the key, such as that of its machine.
            reason: Reason, which the ledger records.

        Returns:
            The key as it is listed.

        Raises:
            ParameterError: If it is not a public key, was revoked, or is the second one of a ledger without shared
                anchors.
            LedgerError: If the key of this process is not the owner's.
        """
        key = key_id(public)
        if key is None:
            raise ParameterError(
                "the public key to be listed",
                because="it is not one: a public key begins with 'ed25519:' and stands for 32 bytes",
                instead="the second column of discreet ledger key show, run where the key is",
            )
        self._act(ActKind.LISTED, public, name=label(name, "name"), reason=reason)
        return self._key.register.keys[key]

    def revoke_key(self, key: str, *, reason: str) -> ListedKey:
        """Revoke a key: processes with it charge nothing any more. An act of the owner, which the ledger keeps.

        Receipts that it signed stay good.

        Args:
            key: Id of the key, as `listed_keys` shows it.
            reason: Reason, which the ledger records.

        Returns:
            The key as it is listed.

        Raises:
            NameNotFoundError: If it is not listed, is revoked already, or is the owner's.
            LedgerError: If the key of this process is not the owner's.
        """
        self._load_keys()
        listed = self._key.register.keys.get(key)
        if listed is None or listed.is_owner or listed.is_revoked:
            raise _revocation_error(key, listed)
        self._act(ActKind.REVOKED, key, name=listed.name, reason=reason)
        return self._key.register.keys[key]

    def share_anchors(self, place: str | os.PathLike[str], *, reason: str, lost: bool = False) -> None:
        """Name the store of anchors that all machines of this ledger share. An act of the owner.

        Args:
            place: Path of a directory that all of them mount, or address of a PostgreSQL database that is not the
                ledger's. A path is recorded as an absolute one; of an address only host, port and database are.
            reason: Reason, which the ledger records.
            lost: Whether the present store is lost for good. Nothing is charged then before `recover`.
                Ignored while the present store can be reached. Default False.

        Raises:
            ParameterError: If it is neither a path nor an address of PostgreSQL, the directory above is not there, or
                the present store cannot be reached and is not `lost`.
            LedgerError: If it cannot be written, or the key of this process is not the owner's.
        """
        label(reason, "reason", most=LONGEST_REASON)
        self._refuse_service()
        self._load_keys()
        self._refuse_unreachable_store(may_be_lost=lost)
        is_halted = False
        if self._key.anchors_fault is not None:  # a recovery needs a store: nothing is charged before it anyway
            is_halted = self._put_back_acts_at_home()
            self._succeed_owner()
        if self._key.anchors_fault is None:
            self._refuse_behind()
        absolute = absolute_place(place)
        with naming_new_anchors():
            refuse_missing_mount(absolute)
        # Read again: the calls above reload the keys, and may have found the store gone, or reached it again.
        self._refuse_unreachable_store(may_be_lost=lost)
        is_unreachable = self._key.anchors_fault is not None
        if is_unreachable and absolute == self._place:
            raise ParameterError(
                "a new store of shared anchors at the place where this process looks for the former one",
                because="the former anchors would count as lost, and every dataset would be halted",
                instead="unset DISCREET_ANCHORS, name the store again, and set the variable afterwards",
            )
        register, name = self._key.register, public_place(absolute)
        with naming_new_anchors(), closing(anchor_store_at(absolute, self._id)) as store:
            known = store_in(store.identity(), self._id)
            is_copy = known == register.store and name != register.place  # two stores with one id would part
            store_id = secrets.token_hex(16) if known is None or is_copy else known
            act = self._owner_act(ActKind.ANCHORED, store_id, name=name, reason=reason)
            if store_id != known:
                store.create(store_document(self._id, store_id))
        if is_unreachable and not is_halted:
            self._halt_all()
        self._write_certified_act(act, is_lost=is_unreachable)
        self._place = absolute
        self._load_keys()
        if not is_unreachable:
            self.anchor()

    def _put_back_acts_at_home(self) -> bool:
        """Put back the acts that this home knows, where the shared anchors are lost; whether all is halted for it.

        Where they name another store, which may be in reach, an older copy was put back after the loss: the halt of the
        loss went with the newer one. It is written before them, since no later run would find the store lost.
        """
        self._detector.acts.compare_with_home(self._key.register)
        is_behind = self._detector.acts.are_behind
        if is_behind:
            self._halt_all()
        self._put_back_acts()
        return is_behind

    def _halt_all(self) -> None:
        """Stop serving every dataset until a recovery."""
        if self._look(statements.names):
            halts.halt_after_lost_anchors(self._commit)

    def _refuse_unreachable_store(self, *, may_be_lost: bool) -> None:
        """Refuse another store while the present one is only out of reach of this process: every dataset would halt."""
        if self._key.anchors_fault is not None and not may_be_lost:
            raise ParameterError(
                f"another store of shared anchors than the one at {self._key.register.place!r}",
                because=f"it would count as lost, and every dataset would be halted; {self._key.anchors_fault}",
                instead="set DISCREET_ANCHORS to where this machine reaches the present store; if it is lost for good:"
                " discreet ledger share-anchors PLACE --lost --reason TEXT --ledger LEDGER",
            )

    def _share_anchors_at_creation(self, place: str | os.PathLike[str]) -> None:
        """Name the shared anchors of a ledger that names none; one that names others is refused."""
        absolute, register = absolute_place(place), self._key.register
        if not register.store:
            self.share_anchors(absolute, reason=CREATED)
            return
        with closing(anchor_store_at(absolute, self._id)) as store:
            is_same = store_in(store.identity(), self._id) == register.store
        if not is_same and public_place(absolute) != register.place:
            raise ParameterError(
                f"shared anchors at {public_place(absolute)!r}",
                because=f"the ledger names others already, at {register.place!r}; all else is done",
                instead="discreet ledger share-anchors PLACE --reason TEXT --ledger LEDGER, which names another",
            )

    def take_over(self, *, reason: str) -> None:
        """Make the key of this process the owner's, because the owner's key is lost. It cannot be undone.

        Only who may write the ledger's file, or the steward on PostgreSQL, can do this; the ledger keeps that the
        former owner did not sign it. Receipts of keys that are listed after it need this copy of the ledger.

        Args:
            reason: Reason, which the ledger records.

        Raises:
            LedgerError: If this process may not write acts on keys.
        """
        label(reason, "reason", most=LONGEST_REASON)
        self._refuse_service()
        self._load_keys()
        if self._detector.acts.following(self._key.register):
            raise LedgerError(faults.BEHIND)  # a recovery puts these back, with the owner that they name
        self._write_act(self._key.takeover(reason))
        if self._key.anchors_fault is None:
            self._upgrade_records()

    def _succeed_owner(self) -> None:
        """Write the act by which the owner's rotated key succeeds it; no opening writes it without shared anchors."""
        act = None if self._detector.acts.are_behind else self._key.first_act(is_new=False, anchored_by={})
        if act is not None and act.handover is not None:
            self._try_to_write_act(act)

    def _write_certified_act(self, act: KeyAct, *, is_lost: bool) -> None:
        """Write an act after the former store of anchors has it, so that an older copy is behind that one.

        Where the ledger does not take it, because another act was first, it is taken back there: a recovery would
        carry it out.
        """
        before = self._key.register
        if not is_lost:
            self._detector.acts.write_to_shared_store(before.then(act))
        try:
            self._commit(lambda writer: key_register.append(writer, act))
        except UnknownOutcomeError:
            raise
        except LedgerError:
            if not is_lost:
                self._detector.acts.write_to_shared_store(before)
            raise

    def _act(self, kind: ActKind, value: str, *, name: str, reason: str) -> None:
        self._refuse_behind()
        if self._key.anchors_fault is not None:
            raise LedgerError(self._key.anchors_fault)
        act = self._owner_act(kind, value, name=name, reason=reason)
        self._refuse_revoked_key(act)
        self._refuse_unshared_keys(act)
        self._write_act(act)
        if self._key.anchors_fault is not None:  # out of reach since: nothing outside the ledger tells of the act
            raise LedgerError(self._key.anchors_fault)

    def _refuse_revoked_key(self, act: KeyAct) -> None:
        """Refuse the listing of a key that was revoked, and may have been stolen."""
        key = key_id(act.value)
        if act.kind is ActKind.LISTED and key in self._key.register.keys.keys() - self._key.register.may_charge.keys():
            raise ParameterError(
                f"a key {key!a} to be listed",
                because="the ledger's owner revoked it, and a revoked key never charges again",
                instead="discreet ledger key rotate on its machine, then discreet ledger key list with the new key",
            )

    def _refuse_unshared_keys(self, act: KeyAct) -> None:
        """Refuse the listing of a second key without shared anchors, after which no key could charge."""
        after = self._key.register.then(act)
        if act.kind is ActKind.LISTED and len(after.may_charge) > 1 and not after.store:
            raise ParameterError(
                "a second key for a ledger that names no shared anchors",
                because="a ledger with several keys charges nothing on any machine before it names them",
                instead="discreet ledger share-anchors PLACE --reason TEXT --ledger LEDGER, then list the key again",
            )

    def _owner_act(self, kind: ActKind, value: str, *, name: str, reason: str) -> KeyAct:
        label(reason, "reason", most=LONGEST_REASON)
        return self._key.owner_act(kind, value, name=name, reason=reason)

    def _upgrade_records(self) -> None:
        """State what an earlier version recorded in the terms of each budget, which its next charge needs.

        A charge does that too where nobody did; on PostgreSQL the service may not. A key that is not listed waits for
        the takeover: what it anchors would make it the owner's.
        """
        if not self._key.is_listed:
            return

        def upgrade(writer: LedgerWriter, name: str) -> None:
            known = statements.account(writer, name)
            if not known.is_halted and limits.lacks_terms(writer, known):
                limits.upgrade_records(writer, known)

        for known in self._look(statements.readable_accounts):
            if known.name not in self._detector.behind:  # one that is behind is upgraded after its recovery
                self._run(partial(upgrade, name=known.name))

    def anchor(self) -> None:
        """Write the present end of every chain to the anchors, outside the store.

        Raises:
            LedgerError: If the ledger does not list the key of this process, whose anchors would not count, or the
                shared anchors cannot be reached.
        """
        self._refuse_unusable_key()
        self._detector.anchor(self._look(statements.readable_accounts))


def _revocation_error(key: str, listed: ListedKey | None) -> NameNotFoundError:
    because, instead = "the ledger does not list it", "an id that discreet ledger key listed prints"
    if listed is not None and listed.is_owner:
        because, instead = "it is the owner's own, which is rotated", "discreet ledger key rotate"
    elif listed is not None:
        because, instead = "it is revoked already", "discreet ledger key listed, which shows the keys that may charge"
    return NameNotFoundError(f"a key {key!a} to be revoked", because=because, instead=instead)
