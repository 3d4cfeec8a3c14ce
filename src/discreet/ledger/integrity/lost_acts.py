"""Acts on keys that stand outside the store and not in it: an older copy of the ledger was put back."""

from discreet.ledger.integrity.rollback_evidence import RollbackEvidence
from discreet.ledger.records.canonical_text import digest
from discreet.ledger.records.key_acts import KeyRegister, common_chain, is_one_chain, is_takeover
from discreet.ledger.records.signatures import Signer


class LostActs:
    """Compares the acts on keys in the store with the chains of acts beside the anchors."""

    def __init__(self, evidence: RollbackEvidence, signer: Signer | None) -> None:
        self._evidence = evidence
        self._signer = signer
        self._lost: list[tuple[str, ...]] = []
        self._acts_at_home: tuple[str, ...] = ()

    @property
    def are_behind(self) -> bool:
        """Whether the store holds fewer acts on keys than stand outside, or others."""
        return bool(self._lost)

    def chains(self) -> list[tuple[str, ...]]:
        """The chains of acts on keys that stand outside the store, to be read before the store is."""
        return self._evidence.chains_of_acts()

    def has_news(self, register: KeyRegister) -> bool:
        """Whether machines that share anchors know of acts on keys that this register has not."""
        return any(_is_lost(chain, register.texts, register) for chain in self._evidence.shared_chains_of_acts())

    def compare(self, register: KeyRegister, chains: list[tuple[str, ...]]) -> None:
        """Compare the acts on keys with each chain outside the store, and copy them there.

        A chain of another beginning is none of this ledger's. One at home that went another way than the shared ones
        gives way to them.
        """
        acts = register.texts
        home, *shared = chains
        self._acts_at_home = home
        lost = [chain for chain in shared if _is_lost(chain, acts, register)]
        is_home_lost = _is_lost(home, acts, register)
        if is_home_lost and (not shared or home[: len(acts)] == acts):
            lost.append(home)
        self._lost = lost
        if not lost and acts:
            own = "" if self._signer is None else self._signer.key
            self._evidence.record_acts(register.certificate(own), acts)

    def compare_with_home(self, register: KeyRegister) -> None:
        """Compare the acts on keys with those at home alone, where the shared anchors are lost."""
        self._acts_at_home = home = self._evidence.acts_at_home()
        self._lost = [home] if _is_lost(home, register.texts, register) else []

    def place_at_home(self, register: KeyRegister) -> str | None:
        """The place of another store of shared anchors, which the acts at home name that follow those in the store."""
        home = self._evidence.acts_at_home()
        if home[: len(register.acts)] != register.texts or not _is_lost(home, register.texts, register):
            return None
        latest = KeyRegister.of(register.ledger, home)
        return latest.place if latest.store != register.store else None

    def following(self, register: KeyRegister) -> tuple[str, ...]:
        """The acts on keys that stand outside the store and follow those in it, as far as they are vouched for.

        Where chains part, this machine's home says which one is right; without it, only what they have in common is.
        A former owner, whose key was stolen before it was rotated, can sign another chain from there on.
        """
        acts = register.texts
        chains = self._chains_after(acts, register)
        at_home = [chain for chain in chains if is_one_chain(chain, self._acts_at_home)]
        return common_chain(at_home or chains)[len(acts) :]

    def do_chains_part(self, register: KeyRegister) -> bool:
        """Whether chains of acts follow those in the store and part at once, and this machine knows none of them."""
        acts = register.texts
        return bool(self._chains_after(acts, register)) and not self.following(register)

    def _chains_after(self, acts: tuple[str, ...], register: KeyRegister) -> list[tuple[str, ...]]:
        """The chains that follow the acts in the store, as far as they are vouched for."""
        vouched = [self.vouched_part(chain, register) for chain in self._lost]
        return [chain for chain in vouched if len(chain) > len(acts) and chain[: len(acts)] == acts]

    def forks(self, register: KeyRegister) -> list[tuple[str, ...]]:
        """Chains of acts outside the store that went another way, or that a takeover without a voucher continues."""
        acts = register.texts
        vouched = ((chain, self.vouched_part(chain, register)) for chain in self._lost)
        return [chain for chain, own in vouched if own[: len(acts)] != acts or len(own) <= len(acts) < len(chain)]

    def vouched_part(self, chain: tuple[str, ...], register: KeyRegister) -> tuple[str, ...]:
        """A chain up to the first takeover that the shared anchors alone show.

        Anybody who can write there can write one, since no owner signs it. The store and this machine's home vouch.
        """
        known = {*register.texts, *self._acts_at_home}
        takeovers = (place for place, text in enumerate(chain) if text not in known and is_takeover(text))
        return chain[: next(takeovers, len(chain))]

    def write_to_shared_store(self, register: KeyRegister) -> None:
        """Write the acts of a register to the shared store in use, if there is one.

        With an act before the ledger has it, or without the act, to take it back.
        """
        if self._evidence.shared is not None:
            own = "" if self._signer is None else self._signer.key
            self._evidence.shared.certify(register.certificate(own), register.texts)


def _is_lost(chain: tuple[str, ...], acts: tuple[str, ...], register: KeyRegister) -> bool:
    """Whether a chain of acts has what the store has not, and the owner did not give it up."""
    if acts[: len(chain)] == chain or (acts and chain[:1] != acts[:1]):
        return False
    return digest(chain[-1]) not in register.abandoned
