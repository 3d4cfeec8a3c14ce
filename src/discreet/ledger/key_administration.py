"""Acts of a ledger's owner on its keys and on the anchors that machines share."""

import os
import secrets
from contextlib import closing
from pathlib import Path

from discreet.errors import LedgerError, NameNotFoundError, ParameterError, public_class
from discreet.ledger.integrity import recovery
from discreet.ledger.integrity.anchor_places import ADDRESS, place_at, without_password
from discreet.ledger.integrity.shared_anchors import store_document, store_in
from discreet.ledger.queries import LedgerQueries
from discreet.ledger.records.canonical_text import label
from discreet.ledger.records.key_acts import ActKind, KeyAct, ListedKey
from discreet.ledger.records.signatures import key_id
from discreet.ledger.transactions import statements

LONGEST_REASON = 2_000
LOST_ANCHORS = (
    "the shared anchors were lost, and another store was named: what was charged since a backup may be missing"
)


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
            ParameterError: If it is not a public key.
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
            NameNotFoundError: If it is not listed, or is the owner's.
            LedgerError: If the key of this process is not the owner's.
        """
        self._load_keys()
        listed = self._key.register.may_charge.get(key)
        if listed is None or listed.is_owner:
            raise NameNotFoundError(
                f"a key {key!a} to be revoked",
                because="the ledger does not list it" if listed is None else "it is the owner's own, which is rotated",
                instead="discreet ledger key rotate" if listed else "an id that ledger.listed_keys() shows",
            )
        self._act(ActKind.REVOKED, key, name=listed.name, reason=reason)
        return self._key.register.keys[key]

    def share_anchors(self, place: str | os.PathLike[str], *, reason: str) -> None:
        """Name the store of anchors that all machines of this ledger share. An act of the owner.

        Args:
            place: A directory that all of them mount, or the address of a PostgreSQL database that is not the
                ledger's. An address is recorded without its password.
            reason: Reason, which the ledger records.

        Raises:
            LedgerError: If it cannot be written, or the key of this process is not the owner's.
        """
        self._refuse_behind()
        where = os.fspath(place) if ADDRESS.match(os.fspath(place)) else str(Path(place).absolute())
        is_lost = self._key.anchors_fault is not None
        register, name = self._key.register, without_password(where)
        with closing(place_at(where, self._id)) as made:
            known = store_in(made.store(), self._id)
            is_copy = known == register.store and name != register.place  # two places with one id would part
            store = secrets.token_hex(16) if known is None or is_copy else known
            act = self._owner_act(ActKind.ANCHORED, store, name=name, reason=reason)
            if store != known:
                made.make_store(store_document(self._id, store))
        if not is_lost:
            self._detector.certify_act(self._key.register.then(act))  # who opens the former store finds it behind
        self._place = where
        if is_lost and self._look(statements.names):
            recovery.halt(self._commit, LOST_ANCHORS)
        self._write_act(act)
        if not is_lost:
            self.anchor()

    def take_over(self, *, reason: str) -> None:
        """Make the key of this process the owner's, because the owner's key is lost. It cannot be undone.

        Only the owner of the ledger's file or of its database can do this; the ledger keeps that the former
        owner did not sign it. Receipts of keys that are listed after it need this copy of the ledger to be checked.

        Args:
            reason: Reason, which the ledger records.

        Raises:
            LedgerError: If this process may not write acts on keys.
        """
        label(reason, "reason", most=LONGEST_REASON)
        self._refuse_acts_behind()
        self._write_act(self._key.takeover(reason))

    def _act(self, kind: ActKind, value: str, *, name: str, reason: str) -> None:
        self._refuse_behind()
        if self._key.anchors_fault is not None:
            raise LedgerError(self._key.anchors_fault)
        self._write_act(self._owner_act(kind, value, name=name, reason=reason))

    def _owner_act(self, kind: ActKind, value: str, *, name: str, reason: str) -> KeyAct:
        label(reason, "reason", most=LONGEST_REASON)
        return self._key.owner_act(kind, value, name=name, reason=reason)

    def anchor(self) -> None:
        """Write the present end of every chain to the anchors, outside the store."""
        self._detector.write(self._look(recovery.accounts))
