"""What the chain records of each analyst, replayed from its events: the table `analysts` must say the same."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.accounting.costs import NOTHING, Cost
from discreet.ledger.records.chain import Kind, cost_columns, cost_in
from discreet.ledger.records.quota import EVERYONE, Share

Row = Mapping[str, Any]

LIMITS = tuple(Share(dataset="", analyst="").limits())


@dataclass(frozen=True, kw_only=True)
class AnalystTotals:
    """What one analyst spent and failed, the quota they have, and what was spent when it was set."""

    spent: Cost = NOTHING
    floor: Cost = NOTHING
    failures: int = 0
    is_own: bool = False
    limits: Mapping[str, Any] = field(default_factory=Share(dataset="", analyst="").limits)

    def with_limits(self, limits: Mapping[str, Any], *, is_own: bool) -> "AnalystTotals":
        """The same under another quota; what was spent stays."""
        return replace(self, limits=limits, is_own=is_own, floor=self.spent)

    def row(self, dataset: str, analyst: str) -> dict[str, Any]:
        """The columns of the table `analysts`."""
        columns = cost_columns("spent", self.spent) | cost_columns("floor", self.floor)
        detail = {"is_own": int(self.is_own), "failures": self.failures, **self.limits}
        return {"dataset": dataset, "analyst": analyst} | detail | columns

    def recovery_detail(self) -> dict[str, Any]:
        """What a recovery records of it; the floor is what was spent by then."""
        return {"spent": self.spent.units(), "failures": self.failures, "is_own": self.is_own, **self.limits}


def totals_in_row(row: Row) -> AnalystTotals:
    """The totals in a row of the table `analysts`."""
    return AnalystTotals(
        spent=cost_in(row, "spent"),
        floor=cost_in(row, "floor"),
        failures=row["failures"],
        is_own={0: False, 1: True}[row["is_own"]],
        limits=_limits(row),
    )


def replay_totals(events: Iterable[Row], intact: Collection[int]) -> dict[str, AnalystTotals]:
    """By analyst, what events tell, in their order; the words of an event that is not `intact` are not believed."""
    totals: dict[str, AnalystTotals] = {}
    for row in events:
        replay_event(totals, row, is_intact=row["sequence"] in intact)
    return totals


def replay_event(totals: dict[str, AnalystTotals], row: Row, *, is_intact: bool) -> None:
    """Change the totals of analysts by what the next event tells."""
    kind, analyst = row["kind"], row["analyst"]
    if kind == Kind.RESERVED:
        own = totals.get(analyst) or AnalystTotals(limits=totals.get(EVERYONE, AnalystTotals()).limits)
        totals[analyst] = replace(own, spent=own.spent + cost_in(row, "cost"))
    elif kind in (Kind.FORFEITED, Kind.RESUMED) and analyst in totals:
        totals[analyst] = replace(totals[analyst], failures=totals[analyst].failures + 1)
    elif kind == Kind.LIMITED and is_intact:
        totals.update(_apply_quota(totals, json.loads(row["detail"])))
    elif kind == Kind.CAPPED and is_intact:
        totals.update(_apply_new_order(totals, json.loads(row["detail"]).get("restated", {})))
    elif kind == Kind.RECOVERED and is_intact:
        totals.update(_totals_from_recovery(json.loads(row["detail"])["shares"]))


def totals_to_data(totals: Mapping[str, AnalystTotals]) -> dict[str, Any]:
    """The totals of analysts as plain data."""
    return {who: own.recovery_detail() | {"floor": own.floor.units()} for who, own in totals.items()}


def totals_from_data(data: Mapping[str, Any]) -> dict[str, AnalystTotals]:
    """The totals that `totals_to_data` wrote."""
    totals = _totals_from_recovery(data)
    return {who: replace(own, floor=Cost.of_units(*data[who]["floor"])) for who, own in totals.items()}


def _limits(detail: Mapping[str, Any]) -> dict[str, Any]:
    return {name: detail[name] for name in LIMITS}


def _apply_quota(totals: Mapping[str, AnalystTotals], detail: Mapping[str, Any]) -> dict[str, AnalystTotals]:
    """A quota of one analyst, or of everyone (`*`) who has none of their own."""
    analyst, limits = detail["analyst"], _limits(detail)
    changed = {analyst: totals.get(analyst, AnalystTotals()).with_limits(limits, is_own=analyst != EVERYONE)}
    if analyst == EVERYONE:
        followers = {who: own for who, own in totals.items() if who != EVERYONE and not own.is_own}
        changed |= {who: own.with_limits(limits, is_own=False) for who, own in followers.items()}
    return changed


def _apply_new_order(totals: Mapping[str, AnalystTotals], renyi: Mapping[str, int]) -> dict[str, AnalystTotals]:
    """What analysts spent, in the terms of another order of the Renyi filter."""
    found = {}
    for analyst, units in renyi.items():
        own = totals.get(analyst) or AnalystTotals()  # whose charges are damaged or lost
        spent = replace(own.spent, renyi=max(units, own.spent.renyi))
        found[analyst] = replace(own, spent=spent, floor=spent)
    return found


def _totals_from_recovery(shares: Mapping[str, Mapping[str, Any]]) -> dict[str, AnalystTotals]:
    return {
        analyst: AnalystTotals(
            spent=Cost.of_units(*detail["spent"]),
            floor=Cost.of_units(*detail["spent"]),
            failures=detail["failures"],
            is_own=detail["is_own"],
            limits=_limits(detail),
        )
        for analyst, detail in shares.items()
    }
