"""What an owner may change later: the cap, which is a new promise, and the quotas inside it; never what was spent."""

from discreet.accounting.filters import Budget
from discreet.errors import ParameterError
from discreet.ledger import registration, statements
from discreet.ledger.chain import Kind
from discreet.ledger.quota import EVERYONE, Kept, Share
from discreet.ledger.registration import budget_columns
from discreet.ledger.statements import Pen
from discreet.ledger.text import canonical


def set_cap(pen: Pen, name: str, budget: Budget, reason: str) -> None:
    """The new promise and the event that says why."""
    known = statements.account(pen, name)
    newest = statements.registered_version(pen, known, None)
    if registration.promise_of(budget) == registration.promise_of(known.budget):
        raise ParameterError(
            f"a cap of {budget} for {name!r}",
            because="it is the cap already",
            instead=f"ledger.budget({name!r}) to see the promise, or another budget",
        )
    registration.refuse_another_division(name, budget, known.budget, known.spent)
    budget.check_population(None if newest is None else newest.population)
    after = known.promising(budget)
    caps = {name: [a.caps.epsilon, a.caps.rho, a.caps.delta] for name, a in (("old", known), ("new", after))}
    detail = {
        "reason": reason,
        "old": {"budget": budget_columns(known.budget), "caps": caps["old"]},
        "new": {"budget": budget_columns(after.budget), "caps": caps["new"]},
        "spent": [known.spent.epsilon, known.spent.rho, known.spent.delta],
    }
    version = statements.newest_number(pen, known.name)
    pen.promise(known, known.link(Kind.CAPPED, version=version, detail=canonical(detail)), after)


def set_quota(
    pen: Pen, name: str, analyst: str, quota: Budget | Kept | None, failures: int | None, reason: str
) -> None:
    """What one analyst, or everyone who has no quota of their own (`*`), may spend and fail."""
    known = statements.account(pen, name)
    share, is_there = statements.share(pen, known.name, analyst)
    most = share.most_failures if failures is None else failures
    given = share.quota if isinstance(quota, Kept) else quota
    after = share.limited(given, most, is_own=analyst != EVERYONE)
    detail = canonical({"analyst": analyst, "reason": reason, **after.limits()})
    version = statements.newest_number(pen, known.name)
    pen.append(known, known.link(Kind.LIMITED, version=version, detail=detail))
    statements.limit(pen, after, is_there=is_there)
    if analyst == EVERYONE:
        for other in _followers(pen, known.name):
            statements.limit(pen, other.limited(given, most, is_own=False), is_there=True)


def _followers(pen: Pen, dataset: str) -> list[Share]:
    """Those who have a row and no quota of their own."""
    return [share for share in statements.shares(pen, dataset) if share.analyst != EVERYONE and not share.is_own]
