"""The row of a dataset: the caps of its privacy budget, what was spent of them, and the head of its chain."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.accounting.costs import LARGEST_UNITS, NOTHING, RHO_UNITS, Cost, FilterCaps, restate
from discreet.accounting.filters import Budget
from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import LedgerError, Refusal
from discreet.exact.rounding import units_down
from discreet.exact.zcdp import cap_at_order
from discreet.ledger.records import faults
from discreet.ledger.records.chain import GENESIS, ChainLink, Kind, cost_columns, cost_in, now
from discreet.ledger.records.registration import (
    Dataset,
    RegisteredSlice,
    budget_columns,
    budget_of,
    slice_columns,
    slice_of,
)
from discreet.version import __version__


@dataclass(frozen=True, kw_only=True)
class Account:
    """A dataset's privacy budget and how much of it is spent; `floor` is what was spent when the cap was last set.

    `order` is that of the Renyi filter, fixed with the budget; None for a budget that converts nothing, and for one
    that an earlier version registered, until its next charge. `acts` is how many acts on keys the ledger held when the
    row was read, and the last one.
    """

    name: str
    unit: str
    neighbours: Neighbours
    hash_key: str
    budget: Budget
    caps: FilterCaps
    order: Fraction | None = None
    spent: Cost = NOTHING
    floor: Cost = NOTHING
    sequence: int = 0
    head: str = GENESIS
    slice: RegisteredSlice | None = None
    is_halted: bool = False
    acts: tuple[int, str] = field(default=(0, ""), compare=False)

    def link(self, kind: Kind, *, version: int, after: int | None = None, **columns: Any) -> ChainLink:
        """The next link of the chain; `after` is the last sequence number that was ever used, where it is known."""
        return ChainLink(
            dataset=self.name,
            sequence=max(self.sequence, after or 0) + 1,
            kind=kind,
            time=now(),
            version=version,
            previous=self.head,
            library=__version__,
            **columns,
        )

    def with_budget(self, budget: Budget) -> "Account":
        """The account under a new privacy budget; what was spent stays, in the terms of the new order."""
        spent = restate(self.spent, self.order, budget.order)
        return replace(self, budget=budget, caps=budget.caps(), order=budget.order, spent=spent, floor=spent)

    @property
    def lacks_order(self) -> bool:
        """Whether an earlier version registered it, by which all charges were counted by their rho."""
        return self.order is None and self.budget.order is not None

    def with_order(self) -> "Account":
        """The account with the order of its budget, which depends on the budget alone; caps never rise by it."""
        return replace(self.with_budget(self.budget), caps=self.caps.least(self.budget.caps()))

    @property
    def keeps_its_budget(self) -> bool:
        """Whether the caps are at most those of the budget, which no rule of a database computes."""
        try:
            return are_caps_of(self.caps, self.budget, self.order)
        except (ValueError, ArithmeticError, Refusal):
            return False

    @property
    def is_charged(self) -> bool:
        """Whether anything was ever charged; every charge costs at least one unit."""
        return self.spent != NOTHING

    def with_declaration(self, dataset: Dataset) -> "Account":
        """The account as its owner declares it now; only where nothing was charged."""
        declared = replace(self, unit=dataset.unit, neighbours=dataset.neighbours)
        return declared.with_budget(dataset.budget)

    def row(self) -> dict[str, object]:
        """The columns of the table `datasets`."""
        return (
            {"name": self.name, "unit": self.unit, "neighbours": str(self.neighbours), "hash_key": self.hash_key}
            | slice_columns(self.slice)
            | budget_columns(self.budget)
            | {"cap_epsilon": self.caps.epsilon, "cap_rho": self.caps.rho, "cap_delta": self.caps.delta}
            | {"renyi_order": order_text(self.order)}
            | cost_columns("spent", self.spent)
            | cost_columns("floor", self.floor)
            | {"sequence": self.sequence, "head": self.head}
        )


def new_account(dataset: Dataset, hash_key: str) -> Account:
    """The account of a dataset that nobody has asked yet."""
    return Account(
        name=dataset.name,
        unit=dataset.unit,
        neighbours=dataset.neighbours,
        hash_key=hash_key,
        budget=dataset.budget,
        caps=dataset.budget.caps(),
        order=dataset.budget.order,
        slice=dataset.slice,
    )


def end_of_acts_in(row: Mapping[str, Any]) -> tuple[int, str]:
    """How many acts on keys the ledger held when a row was read, and the last one, which names all before it."""
    return int(row.get("acts", 0)), row.get("last_act") or ""


def account_of(row: Mapping[str, Any]) -> Account:
    """The account that `Account.row` wrote; a row that cannot be read means a damaged ledger."""
    try:
        order = parse_order(row["renyi_order"])
        return Account(
            name=row["name"],
            unit=row["unit"],
            neighbours=Neighbours(row["neighbours"]),
            hash_key=row["hash_key"],
            budget=budget_of(row).at_order(order),
            caps=FilterCaps(row["cap_epsilon"], row["cap_rho"], row["cap_delta"]),
            order=order,
            spent=cost_in(row, "spent"),
            floor=cost_in(row, "floor"),
            sequence=row["sequence"],
            head=row["head"],
            slice=slice_of(row),
            is_halted=bool(row["halts"]),
            acts=end_of_acts_in(row),
        )
    except (ValueError, TypeError, ArithmeticError, Refusal):
        raise LedgerError(faults.DAMAGED) from None


def are_caps_of(caps: FilterCaps, budget: Budget, order: Fraction | None) -> bool:
    """Whether caps are at most those of a budget, at the order of its Renyi filter, however that was chosen.

    They may be lower after a recovery. The cap on rho that an earlier version set without an order is not compared: the
    next charge fixes the order first, and then no cap is above the budget's (`Account.with_order`).
    """
    most = budget.caps()
    by_order = caps.rho <= _largest_rho(budget.epsilon, budget.conversion_delta, order)
    return by_order and caps.epsilon <= most.epsilon and caps.delta <= most.delta


@lru_cache(maxsize=1024)
def _largest_rho(epsilon: Fraction, delta: Fraction, order: Fraction | None) -> int:
    if not delta:
        return 0
    return LARGEST_UNITS if order is None else units_down(cap_at_order(epsilon, delta, order), RHO_UNITS)


def order_text(order: Fraction | None) -> str | None:
    """An order as text: numerator/denominator."""
    return None if order is None else f"{order.numerator}/{order.denominator}"


def parse_order(text: str | None) -> Fraction | None:
    """The order that `order_text` wrote; a ValueError where it is none."""
    if text is None:
        return None
    order = Fraction(text)
    if order <= 1:
        raise ValueError(text)
    return order
