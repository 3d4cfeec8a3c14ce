"""The terms of the keys that a ledger lists: since when and why each may charge, and until when and why it might."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.ledger import Ledger, ListedKey
from discreet.ledger.records.key_acts import ActKind, KeyAct
from discreet.ledger.records.signatures import key_id
from discreet.ledger.reporting.tables import WIDTH, with_commands_apart

REVOKED, SUCCEEDED, REPLACED = "revoked", "succeeded", "replaced"
_SAME_NAME = (
    "{name!r} names {number} keys that may charge: {keys}; after a rotation, revoke the former one:"
    " discreet ledger key revoke KEY --reason TEXT --ledger LEDGER"
)


@dataclass(frozen=True, kw_only=True)
class KeyTerm:
    """A key with the reason of its listing, and with the time, the reason and the kind of its end.

    `ended` is "revoked"; of an owner's key "succeeded", where it signed that `successor` follows it (a rotation), or
    "replaced", where it did not (a takeover).
    """

    listed: ListedKey
    reason: str = ""
    ended: str | None = None
    until: str | None = None
    end_reason: str | None = None
    successor: str | None = None

    def __str__(self) -> str:
        state = "may charge, and lists keys" if self.listed.is_owner else "may charge"
        if self.ended is not None:
            state = self.ended if self.successor is None else f"{self.ended} by {self.successor}"
        return f"{self.listed.key}  {self.listed.name}  {state}\n  {self.listed.public}"

    @property
    def story(self) -> str:
        """The key, with a line for its listing and one for its end."""
        known = [("listed", self.listed.since, self.reason), (self.ended, self.until, self.end_reason)]
        lines = [(what, when, why) for what, when, why in known if what is not None]
        width = max(len(what) for what, _, _ in lines)
        return "\n".join([str(self), *(f"  {what:<{width}}  {when}  {why}" for what, when, why in lines)])

    def to_dict(self) -> dict[str, Any]:
        """The term as plain JSON."""
        return vars(self.listed) | {name: value for name, value in vars(self).items() if name != "listed"}


def key_terms(ledger: Ledger) -> list[KeyTerm]:
    """The terms of all keys that a ledger ever listed, in the order of their first listing."""
    listed = ledger.listed_keys()
    return terms_of(ledger._key.register.acts, listed)  # noqa: SLF001 - no call of a ledger gives the acts themselves


def terms_of(acts: Sequence[KeyAct], listed: Sequence[ListedKey]) -> list[KeyTerm]:
    """The terms of keys, by the acts on them in their order."""
    found = {each.key: KeyTerm(listed=each) for each in listed}
    owner = ""
    for act in acts:
        if act.kind is ActKind.REVOKED:
            found[act.value] = _end(found[act.value], act, REVOKED)
        if act.kind not in (ActKind.OWNED, ActKind.LISTED):
            continue
        key = str(key_id(act.value))
        found[key] = KeyTerm(listed=found[key].listed, reason=act.reason)
        if act.kind is ActKind.OWNED:
            if owner not in ("", key):
                found[owner] = _end(found[owner], act, REPLACED if act.is_takeover else SUCCEEDED, key)
            owner = key
    return list(found.values())


def of_one_name(terms: Sequence[KeyTerm]) -> dict[str, list[str]]:
    """By name, the ids of keys that may charge, where there are several of one name."""
    names: dict[str, list[str]] = {}
    for each in terms:
        if each.ended is None:
            names.setdefault(each.listed.name, []).append(each.listed.key)
    return {name: keys for name, keys in names.items() if len(keys) > 1}


def same_name_lines(same: dict[str, list[str]]) -> list[str]:
    """What is said of keys of one name: the former one may be that of a machine which has a new one."""
    sentences = [_SAME_NAME.format(name=name, number=len(keys), keys=", ".join(keys)) for name, keys in same.items()]
    return [line for sentence in sentences for line in with_commands_apart(sentence, WIDTH)]


def _end(term: KeyTerm, act: KeyAct, ended: str, successor: str | None = None) -> KeyTerm:
    return replace(term, ended=ended, until=act.time, end_reason=act.reason, successor=successor)
