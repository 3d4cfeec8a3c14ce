"""What happened to a dataset, in the order of its chain: one entry for each charge, rejection, version and cap."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.costs import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, Cost
from discreet.exact.numbers import shown
from discreet.ledger.records.chain import Kind, State
from discreet.ledger.records.other_release import published_text
from discreet.ledger.records.receipt import Receipt
from discreet.release.values.rendering import cell


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of a dataset's history; `state` says where a charge stands now, and is None for what is no charge.

    `kind` is any of the chain but what became of a charge, which is its `state`; `event` and `detail` are JSON; `time`
    is UTC and does not decide the order. `query` is in words; None where the ledger has none. `sha256` is that of the
    file of another release.
    """

    sequence: int
    time: str
    analyst: str | None
    kind: Kind
    version: int
    cost: Cost
    question: str | None
    state: State | None
    event: str | None
    detail: str | None
    query: str | None = None
    sha256: str | None = None

    def __str__(self) -> str:
        state = "" if self.state is None else f", {str(self.state).lower()}"
        who = "" if self.analyst is None else f" by {self.analyst!r}"
        text = published_text(self.detail, self.sha256) if self.kind is Kind.PUBLISHED else self.query
        words = "" if text is None else f"\n   {cell(text)}"
        cost = f": {cost_text(self.cost)}" if cost_text(self.cost) else ""
        return f"{self.sequence}  {self.time}  {str(self.kind).lower()}{state}{who}{cost}{words}"

    __repr__ = __str__


def cost_text(cost: Cost) -> str:
    """A cost in the terms of a privacy budget; nothing where nothing was asked for."""
    parts = {"epsilon": (cost.epsilon, EPSILON_UNITS), "rho": (cost.rho, RHO_UNITS), "delta": (cost.delta, DELTA_UNITS)}
    if cost.epsilon is not None:
        del parts["rho"]
    texts = [f"{name} {shown(Fraction(units, per))}" for name, (units, per) in parts.items() if units]
    return ", ".join(texts)


def charge_text(receipt: Receipt) -> str:
    """The charge of a receipt: what, to which dataset, when."""
    return f"{cost_text(receipt.cost)} to {receipt.dataset!r}, version {receipt.version}, at {receipt.time}"
