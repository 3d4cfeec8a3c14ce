"""The charges behind results, and what they add up to for one dataset and one privacy unit.

Charges come from receipts. A receipt that several results share is counted once. Charges to the same dataset for the
same unit add up; others are kept apart, because their epsilons do not compare.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from operator import add
from typing import Any

from discreet import events
from discreet.accounting import tradeoff
from discreet.accounting.costs import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, Cost, cost
from discreet.errors import ParameterError, Refusal
from discreet.release.result import Result
from discreet.rounding import brief_up, exp_up
from discreet.zcdp import epsilon_of

FALSE_POSITIVES = Fraction(1, 100)
"""The false positive rate at which true positive rates are stated."""
_STATED = re.compile(r"epsilon (\S+?)(?:, delta (\S+?))?, for (.+), over (.+)", re.DOTALL)
_DELTA = Fraction(1, 10**6)
"""Where rho is converted if no guarantee states a delta."""
_LARGEST_EPSILON = 500
_RELATIONS = ("added or removed", "replaced by another")
_OTHER_WORDS = "its guarantee is not one that discreet writes"
_TEXTS = ("dataset", "time", "analyst", "event", "hash")


@dataclass(frozen=True)
class Charge:
    """One charge, from its receipt; `together` are other datasets that were charged for the same result."""

    dataset: str
    version: int
    time: str
    analyst: str
    event: events.Event
    cost: Cost
    hash: str
    ledger: str | None
    key: str | None
    together: tuple[str, ...]


@dataclass(frozen=True)
class Protection:
    """What charges to one dataset add up to, for one privacy unit.

    `unit` has the neighbour relation with it, as in "one patient_id, added or removed".
    """

    unit: str
    spans: tuple[str, ...]
    charges: tuple[Charge, ...]
    largest_delta: Fraction

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        return self.charges[0].dataset

    @property
    def versions(self) -> tuple[int, ...]:
        """Versions of the dataset, in order."""
        return tuple(sorted({charge.version for charge in self.charges}))

    @property
    def who(self) -> str:
        """The privacy unit without the neighbour relation."""
        return next((self.unit.removesuffix(f", {end}") for end in _RELATIONS if self.unit.endswith(end)), self.unit)

    @property
    def relation(self) -> str:
        """The neighbour relation; empty where it is not known."""
        return next((end for end in _RELATIONS if self.unit.endswith(end)), "")

    @property
    def is_row(self) -> bool:
        """Whether rows are protected, and not people."""
        return self.unit.startswith("one row (protects rows, not people)")

    @cached_property
    def cost(self) -> Cost:
        """The exact sum of what was charged, in units of the ledger."""
        return reduce(add, (charge.cost for charge in self.charges))

    @cached_property
    def event(self) -> events.Event:
        """Everything that was released, as one event."""
        return events.ComposedEvent(tuple(charge.event for charge in self.charges))

    @property
    def rho(self) -> Fraction:
        """The sum of rhos."""
        return Fraction(self.cost.rho, RHO_UNITS)

    @property
    def own_delta(self) -> Fraction:
        """The sum of deltas that were charged."""
        return Fraction(self.cost.delta, DELTA_UNITS)

    @property
    def is_sum_of_epsilons(self) -> bool:
        """Whether every charge has a finite epsilon, so that epsilons add up; rho is converted otherwise."""
        return self.cost.epsilon is not None

    @cached_property
    def epsilon(self) -> Fraction:
        """The sum of epsilons as charged, or the epsilon of the sum of rhos at `delta`, rounded up."""
        if self.cost.epsilon is not None:
            return Fraction(self.cost.epsilon, EPSILON_UNITS)
        return brief_up(epsilon_of(self.rho, self.delta - self.own_delta))

    @property
    def delta(self) -> Fraction:
        """The sum of deltas as charged, or the largest delta that a guarantee states, where rho is converted."""
        if self.is_sum_of_epsilons:
            return self.own_delta
        return self.largest_delta if self.largest_delta > self.own_delta else 2 * self.own_delta

    @property
    def accountant(self) -> str:
        """How charges were added up."""
        if self.is_sum_of_epsilons:
            return "basic composition: sums of epsilons and deltas"
        return "zero-concentrated differential privacy: the sum of rhos, converted to epsilon at delta"

    def factor(self, power: int = 1) -> Fraction | None:
        """The largest factor between chances, e^(power epsilon), rounded up; None where it is beyond all use."""
        exponent = power * self.epsilon
        return None if exponent > _LARGEST_EPSILON else exp_up(exponent)

    @cached_property
    def advantage(self) -> Fraction:
        """The attacker's advantage, rounded up."""
        return tradeoff.advantage(self.event)

    @cached_property
    def true_positive_rate(self) -> Fraction:
        """The attacker's true positive rate at `FALSE_POSITIVES`, rounded up."""
        return tradeoff.true_positive_rate(self.event, FALSE_POSITIVES)


def protections(results: Iterable[Result]) -> tuple[Protection, ...]:
    """What the charges of results add up to, for each dataset and unit, in the order of the results."""
    groups: dict[tuple[str | None, str, str], dict[str, Charge]] = {}
    spans: dict[tuple[str | None, str, str], dict[str, None]] = {}
    deltas: dict[tuple[str | None, str, str], list[Fraction]] = {}
    for result in results:
        charge, (_, delta, unit, span) = charge_of(result), stated_terms(result)
        group = charge.ledger, charge.dataset, unit
        known = groups.setdefault(group, {}).setdefault(charge.hash, charge)
        if known != charge:
            raise _contradiction(charge)
        spans.setdefault(group, {})[span] = None
        deltas.setdefault(group, []).append(delta)
    return tuple(
        Protection(group[2], tuple(spans[group]), tuple(charges.values()), max(deltas[group]) or _DELTA)
        for group, charges in groups.items()
    )


def stated_terms(result: Result) -> tuple[Fraction, Fraction, str, str]:
    """The epsilon, delta, unit and span in the words of a guarantee, as `str(Guarantee)` wrote them."""
    found = _STATED.fullmatch(result.guarantee)
    document = dict(result.document.query) if result.document is not None else {}
    if found is None:
        raise _damage_error(result, _OTHER_WORDS)
    try:
        epsilon, delta = Fraction(found[1]), Fraction(found[2] or 0)
    except (ValueError, ZeroDivisionError):
        raise _damage_error(result, _OTHER_WORDS) from None
    unit = document.get("protects", found[3])
    return epsilon, delta, unit, result.guarantee.partition(f"for {unit}, over ")[2] or found[4]


def charge_of(result: Result) -> Charge:
    """The charge of a result; its cost must be at least that of its event."""
    receipt = result.receipt
    if not all(isinstance(receipt.get(name), str) for name in _TEXTS) or type(receipt.get("version")) is not int:
        raise _damage_error(result, "its receipt lacks the charge")
    if (receipt["dataset"], receipt["version"]) != (result.dataset, result.version):
        raise _damage_error(result, "its receipt is of another dataset or version")
    try:
        event, charged = events.from_canonical(receipt["event"]), _cost(receipt["cost"])
        together = _together(receipt)
    except (Refusal, AttributeError, KeyError, TypeError, ValueError):
        raise _damage_error(result, "its receipt lacks the charge") from None
    if not _covers(charged, cost(event)):
        raise _damage_error(result, "its receipt states less than its noise costs")
    ledger, key = (None if receipt.get(name) is None else str(receipt[name]) for name in ("ledger", "key"))
    named = {name: receipt[name] for name in ("dataset", "version", "time", "analyst", "hash")}
    return Charge(**named, event=event, cost=charged, together=together, ledger=ledger, key=key)


def _cost(texts: dict[str, Any]) -> Cost:
    units = {name: None if value is None else int(value) for name, value in texts.items()}
    if None in (units["rho"], units["delta"]) or min(value for value in units.values() if value is not None) < 0:
        raise ValueError
    return Cost.of_units(**units)  # type: ignore[arg-type]


def _together(receipt: dict[str, Any]) -> tuple[str, ...]:
    """The other datasets of a charge to several."""
    names = json.loads(receipt["detail"]).get("together", []) if receipt.get("detail") else []
    return tuple(str(name) for name in names if name != receipt["dataset"])


def _covers(charged: Cost, least: Cost) -> bool:
    is_enough = charged.rho >= least.rho and charged.delta >= least.delta
    return is_enough and (charged.epsilon is None or (least.epsilon is not None and charged.epsilon >= least.epsilon))


def _damage_error(result: Result, because: str) -> ParameterError:
    return ParameterError(
        f"a report of a release from {result.dataset!r}",
        because=because,
        instead="a file that release.save(...) wrote, unchanged; `discreet release verify` checks it",
    )


def _contradiction(charge: Charge) -> ParameterError:
    return ParameterError(
        f"a report with receipt {charge.hash[:12]!r} twice",
        because="two files state different charges under one hash",
        instead="files that release.save(...) wrote, unchanged; `discreet release verify` checks each",
    )
