"""What an owner may change later: the privacy budget and the quotas inside it; never what was spent."""

from discreet.accounting.filters import Budget
from discreet.errors import ParameterError
from discreet.ledger.records import quota as quotas
from discreet.ledger.records import registration
from discreet.ledger.records.account import Account
from discreet.ledger.records.canonical_text import canonical
from discreet.ledger.records.chain import Kind
from discreet.ledger.records.quota import EVERYONE, NoChange, Share
from discreet.ledger.records.registration import budget_columns
from discreet.ledger.transactions import statements
from discreet.ledger.transactions.statements import LedgerWriter

RESTATED = "stated in the terms of the budget"


def set_cap(writer: LedgerWriter, name: str, budget: Budget, reason: str) -> None:
    """The new privacy budget, and the event with its reason."""
    known = statements.account(writer, name)
    newest = statements.registered_version(writer, known, None)
    if registration.is_same_promise(budget, known.budget):
        raise ParameterError(
            f"a cap of {budget} for {name!r}",
            because="it is the cap already",
            instead=f"ledger.budget({name!r}) to see the privacy budget, or another budget",
        )
    divided = registration.new_cap(name, budget, known.budget, known.spent)
    divided.check_population(None if newest is None else newest.population)
    after = known.with_budget(divided)
    caps = {name: [a.caps.epsilon, a.caps.rho, a.caps.delta] for name, a in (("old", known), ("new", after))}
    detail = {
        "reason": reason,
        "old": {"budget": budget_columns(known.budget), "caps": caps["old"]},
        "new": {"budget": budget_columns(after.budget), "caps": caps["new"]},
        "spent": [known.spent.epsilon, known.spent.rho, known.spent.delta],
    }
    version = statements.newest_number(writer, known.name)
    link = known.link(Kind.CAPPED, version=version, detail=canonical(detail))
    restate_quotas(writer, writer.promise(known, link, after), known.budget)


def set_quota(
    writer: LedgerWriter, name: str, analyst: str, quota: Budget | NoChange | None, failures: int | None, reason: str
) -> None:
    """What one analyst, or everyone who has no quota of their own (`*`), may spend and fail."""
    known = statements.account(writer, name)
    share, is_there = statements.share(writer, known.name, analyst)
    most = share.most_failures if failures is None else failures
    given = share.quota
    if not isinstance(quota, NoChange):
        given = None if quota is None else quotas.complete_quota(known.name, quota, known.budget)
    _limit(writer, known, share.with_quota(given, most, is_own=analyst != EVERYONE), reason, is_there=is_there)


def restate_quotas(writer: LedgerWriter, known: Account, before: Budget) -> Account:
    """Every quota of a dataset in the terms of its budget, which were those of another budget before."""
    for share in statements.shares(writer, known.name):
        if share.quota is None or not (share.is_own or share.analyst == EVERYONE):
            continue
        given = quotas.restate_quota(share.quota, known.budget, before)
        if given != share.quota:
            after = share.with_quota(given, share.most_failures, is_own=share.is_own)
            known = _limit(writer, known, after, RESTATED, is_there=True)
    return known


def _limit(writer: LedgerWriter, known: Account, after: Share, reason: str, *, is_there: bool) -> Account:
    """The event of a quota and the shares that it holds for."""
    detail = canonical({"analyst": after.analyst, "reason": reason, **after.limits()})
    version = statements.newest_number(writer, known.name)
    account = writer.append(known, known.link(Kind.LIMITED, version=version, detail=detail))
    statements.limit(writer, after, is_there=is_there)
    if after.analyst == EVERYONE:
        for other in _followers(writer, known.name):
            limited = other.with_quota(after.quota, after.most_failures, is_own=False)
            statements.limit(writer, limited, is_there=True)
    return account


def _followers(writer: LedgerWriter, dataset: str) -> list[Share]:
    """Those who have a row and no quota of their own."""
    return [share for share in statements.shares(writer, dataset) if share.analyst != EVERYONE and not share.is_own]
