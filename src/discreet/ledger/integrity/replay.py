"""What the chain records of each analyst, replayed from its events: the table `analysts` must say the same."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.accounting.filters import NOTHING, Cost
from discreet.ledger.records.chain import Kind
from discreet.ledger.records.quota import EVERYONE, Share

Row = Mapping[str, Any]

LIMITS = tuple(Share(dataset="", analyst="").limits())


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What one analyst spent and failed, the quota they have, and what was spent when it was set."""

    spent: Cost = NOTHING
    floor: Cost = NOTHING
    failures: int = 0
    is_own: bool = False
    limits: Mapping[str, Any] = field(default_factory=Share(dataset="", analyst="").limits)

    def limited(self, limits: Mapping[str, Any], *, is_own: bool) -> "Tally":
        """The same under another quota; what was spent stays."""
        return replace(self, limits=limits, is_own=is_own, floor=self.spent)

    def row(self, dataset: str, analyst: str) -> dict[str, Any]:
        """The columns of the table `analysts`."""
        costs = {"spent": self.spent, "floor": self.floor}
        columns = {f"{name}_{part}": value for name, cost in costs.items() for part, value in vars(cost).items()}
        told = {"is_own": int(self.is_own), "failures": self.failures, **self.limits}
        return {"dataset": dataset, "analyst": analyst} | told | columns

    def told(self) -> dict[str, Any]:
        """What a recovery records of it; the floor is what was spent by then."""
        spent = [self.spent.epsilon, self.spent.rho, self.spent.delta]
        return {"spent": spent, "failures": self.failures, "is_own": self.is_own, **self.limits}


def tally_of(row: Row) -> Tally:
    """The tally in a row of the table `analysts`."""
    return Tally(
        spent=cost_in(row, "spent"),
        floor=cost_in(row, "floor"),
        failures=row["failures"],
        is_own={0: False, 1: True}[row["is_own"]],
        limits=_limits(row),
    )


def tallies(events: Iterable[Row], intact: Collection[int]) -> dict[str, Tally]:
    """By analyst, what events tell, in their order; the words of an event that is not `intact` are not believed."""
    found: dict[str, Tally] = {}
    for row in events:
        kind, analyst = row["kind"], row["analyst"]
        if kind == Kind.RESERVED:
            own = found.get(analyst) or Tally(limits=found.get(EVERYONE, Tally()).limits)
            found[analyst] = replace(own, spent=own.spent + cost_in(row, "cost"))
        elif kind in (Kind.FORFEITED, Kind.RESUMED) and analyst in found:
            found[analyst] = replace(found[analyst], failures=found[analyst].failures + 1)
        elif kind == Kind.LIMITED and row["sequence"] in intact:
            found |= _limited(found, json.loads(row["detail"]))
        elif kind == Kind.RECOVERED and row["sequence"] in intact:
            found |= _recovered(json.loads(row["detail"])["shares"])
    return found


def cost_in(row: Row, prefix: str) -> Cost:
    """A cost that a row keeps in three columns."""
    return Cost(row[f"{prefix}_epsilon"], row[f"{prefix}_rho"], row[f"{prefix}_delta"])


def _limits(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: told[name] for name in LIMITS}


def _limited(found: Mapping[str, Tally], told: Mapping[str, Any]) -> dict[str, Tally]:
    """A quota of one analyst, or of everyone (`*`) who has none of their own."""
    named, limits = told["analyst"], _limits(told)
    changed = {named: found.get(named, Tally()).limited(limits, is_own=named != EVERYONE)}
    if named == EVERYONE:
        followers = {who: own for who, own in found.items() if who != EVERYONE and not own.is_own}
        changed |= {who: own.limited(limits, is_own=False) for who, own in followers.items()}
    return changed


def _recovered(shares: Mapping[str, Mapping[str, Any]]) -> dict[str, Tally]:
    return {
        analyst: Tally(
            spent=Cost(*told["spent"]),
            floor=Cost(*told["spent"]),
            failures=told["failures"],
            is_own=told["is_own"],
            limits=_limits(told),
        )
        for analyst, told in shares.items()
    }
