"""What an owner may change later: the privacy budget and the quotas inside it; what was spent never falls."""

from dataclasses import replace

from discreet.accounting.costs import NOTHING
from discreet.accounting.filters import Budget
from discreet.errors import ParameterError
from discreet.ledger.records import quota as quotas
from discreet.ledger.records import registration
from discreet.ledger.records.account import Account, order_text
from discreet.ledger.records.canonical_text import canonical
from discreet.ledger.records.chain import Kind
from discreet.ledger.records.quota import EVERYONE, NoChange, Share
from discreet.ledger.records.registration import budget_columns
from discreet.ledger.transactions import statements
from discreet.ledger.transactions.statements import LedgerWriter

RESTATED = "stated in the terms of the budget"
ORDER_FIXED = "the order of the Renyi filter, by which charges are counted from now on"


def set_cap(writer: LedgerWriter, name: str, budget: Budget, reason: str) -> None:
    """The new privacy budget, and the event with its reason."""
    known = statements.account(writer, name)
    newest = statements.registered_version(writer, known, None)
    if registration.is_same_promise(budget, known.budget):
        raise ParameterError(
            f"a cap of {budget} for {name!r}",
            because="it is the cap already",
            instead=f"another budget; discreet ledger show {name} prints the present one",
        )
    divided = registration.new_cap(name, budget, known.budget, known.spent)
    divided.check_population(None if newest is None else newest.population)
    shares = statements.shares(writer, known.name)
    account, shares = _cap(writer, known, known.with_budget(divided), reason, shares)
    _restate_quotas(writer, account, known.budget, shares)


def upgrade_records(writer: LedgerWriter, known: Account) -> Account:
    """State what an earlier version recorded in the terms of the budget: the order of its Renyi filter, and quotas."""
    account, shares = known, statements.shares(writer, known.name)
    if known.lacks_order:
        account, shares = _cap(writer, known, known.with_order(), ORDER_FIXED, shares)
    return _restate_quotas(writer, account, account.budget, shares)


def lacks_terms(writer: LedgerWriter, known: Account) -> bool:
    """Whether something that an earlier version recorded is not in the terms of the budget yet."""
    shares = statements.shares(writer, known.name)
    return known.lacks_order or any(quotas.lacks_delta(share.quota, known.budget) for share in shares)


def _cap(
    writer: LedgerWriter, known: Account, after: Account, reason: str, before: list[Share]
) -> tuple[Account, list[Share]]:
    """The event of a budget or an order; with what was spent in its terms, by all and by each analyst."""
    shares = [share.restated(known.order, after.order) for share in before]
    detail = {
        "reason": reason,
        "old": _budget_terms(known),
        "new": _budget_terms(after),
        "spent": known.spent.units(),
        "restated": {share.analyst: share.spent.renyi for share in shares},
    }
    cost = replace(NOTHING, renyi=after.spent.renyi - known.spent.renyi)
    version = statements.newest_number(writer, known.name)
    link = known.link(Kind.CAPPED, version=version, cost=cost, detail=canonical(detail))
    account = writer.set_budget(known, link, after)
    for share in shares:
        statements.restate_share(writer, share)
    return account, shares


def _budget_terms(known: Account) -> dict[str, object]:
    return {"budget": budget_columns(known.budget), "caps": known.caps.units(), "order": order_text(known.order)}


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
    after = share.with_quota(given, most, is_own=analyst != EVERYONE)
    _limit(writer, known, after, reason, statements.shares(writer, known.name), is_there=is_there)


def _restate_quotas(writer: LedgerWriter, known: Account, before: Budget, shares: list[Share]) -> Account:
    """Every quota of a dataset in the terms of its budget, which were those of another budget before."""
    for share in shares:
        if share.quota is None or not (share.is_own or share.analyst == EVERYONE):
            continue
        given = quotas.restate_quota(share.quota, known.budget, before)
        if given != share.quota:
            after = share.with_quota(given, share.most_failures, is_own=share.is_own)
            known = _limit(writer, known, after, RESTATED, shares, is_there=True)
    return known


def _limit(
    writer: LedgerWriter, known: Account, after: Share, reason: str, shares: list[Share], *, is_there: bool
) -> Account:
    """The event of a quota, and of all shares those that it holds for."""
    detail = canonical({"analyst": after.analyst, "reason": reason, **after.limits()})
    version = statements.newest_number(writer, known.name)
    account = writer.append(known, known.link(Kind.LIMITED, version=version, detail=detail))
    statements.limit(writer, after, is_there=is_there)
    if after.analyst == EVERYONE:
        for other in _followers(shares):
            limited = other.with_quota(after.quota, after.most_failures, is_own=False)
            statements.limit(writer, limited, is_there=True)
    return account


def _followers(shares: list[Share]) -> list[Share]:
    """Those who have a row and no quota of their own."""
    return [share for share in shares if share.analyst != EVERYONE and not share.is_own]
