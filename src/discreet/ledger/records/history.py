"""What happened to a dataset, in the order of its chain: one entry for each charge, rejection, version and cap."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.accounting.costs import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, Cost
from discreet.accounting.filters import Budget
from discreet.errors import Refusal
from discreet.exact.numbers import shown
from discreet.ledger.records.canonical_text import parse_object
from discreet.ledger.records.chain import Kind, State
from discreet.ledger.records.other_release import published_text
from discreet.ledger.records.quota import EVERYONE
from discreet.ledger.records.receipt import Receipt
from discreet.ledger.records.registration import budget_of
from discreet.release.values.rendering import cell

WIDTH = 80


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of a dataset's history. Print it to read it.

    Attributes:
        sequence: Number of the event in the chain, which decides the order.
        time: Time of the event, in UTC.
        analyst: Name of the analyst, or None.
        kind: Kind of the event. Outcomes of a charge have no line of their own: they are its `state`.
        version: Version of the dataset.
        cost: Cost in units of the ledger.
        question: Fingerprint of the query, or None.
        state: Where the charge stands now; None for an event that is not a charge.
        event: The event that was charged, as JSON, or None.
        detail: What else the event records, as JSON, or None.
        query: The query in words; None where the ledger has none.
        sha256: SHA-256 of the file of another release, or None.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "people", "privacy_unit": dp.ROW, "budget": dp.Budget(epsilon=1)}
        >>> session = dp.testing.protect(dp.datasets.people(100), **facts)
        >>> release = session.release(dp.table("people").agg(n=dp.count()), epsilon=0.5)
        >>> [(str(entry.kind), entry.state and str(entry.state)) for entry in session.ledger.history("people")]
        [('REGISTERED', None), ('RESERVED', 'ANSWERED')]
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
        """The entry, and indented below it what was asked or decided, in lines that fit a terminal."""
        state = "" if self.state is None else f", {str(self.state).lower()}"
        who = "" if self.analyst is None else f" by {self.analyst!r}"
        text = published_text(self.detail, self.sha256) if self.kind is Kind.PUBLISHED else self.query
        lines = [text, *_act_lines(self.kind, self.detail)]
        words = "".join(f"\n{_wrap(line)}" for line in lines if line is not None)
        cost = f": {cost_text(self.cost)}" if cost_text(self.cost) else ""
        return f"{self.sequence}  {self.time}  {str(self.kind).lower()}{state}{who}{cost}{words}"

    __repr__ = __str__


def _wrap(text: str) -> str:
    """A text that names and words of analysts are in: none of them begins a line of the history."""
    return textwrap.fill(cell(text), WIDTH, initial_indent="   ", subsequent_indent="     ", break_on_hyphens=False)


def _act_lines(kind: Kind, detail: str | None) -> list[str]:
    """What an act of the owner changed, and its reason; nothing for other events, and where it cannot be read."""
    try:
        data = parse_object(detail or "{}")
        changes = {
            Kind.CAPPED: lambda: f"privacy budget: {_budget(data['old'])} before, {_budget(data['new'])} now",
            Kind.LIMITED: lambda: _quota_text(data),
            Kind.RENAMED: lambda: f"also named {data['alias']!r}",
            Kind.RECOVERED: lambda: f"privacy budget: {_budget(data['old'])} before, {_budget(data['new'])} now",
        }
        return [changes[kind](), f"reason: {data['reason']}"] if kind in changes else []
    except (ValueError, KeyError, TypeError, AttributeError, Refusal):
        return []


def _budget(data: Mapping[str, Any]) -> Budget:
    return budget_of(data["budget"])


def _quota_text(data: Mapping[str, Any]) -> str:
    whose = "everyone without a quota of their own" if data["analyst"] == EVERYONE else repr(data["analyst"])
    quota = "none" if data["quota"] is None else str(budget_of(parse_object(data["quota"])))
    return f"quota of {whose}: {quota}; at most {data['most_failures']} failures"


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
