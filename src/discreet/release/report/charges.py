"""The charges behind results, and what they add up to for one privacy unit.

Charges come from receipts. A receipt that several results share is counted once. Charges of one ledger for the same
unit add up, also of several datasets, joined tables and time slices: the same people may be in all of them. Charges for
different units are kept apart, because their epsilons do not compare, and so are rows of different datasets.
"""

import ast
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
from discreet.catalog.privacy_unit import Neighbours, Unit
from discreet.errors import ParameterError, Refusal
from discreet.exact.rounding import brief_up, exp_up
from discreet.exact.zcdp import epsilon_of
from discreet.release.result import Result

FALSE_POSITIVES = Fraction(1, 100)
"""The false positive rate at which true positive rates are stated."""
_NUMBER = r"[0-9.]{1,40}(?:e[+-]?[0-9]{1,3})?"  # a longer exponent would take all memory
_STATED = re.compile(rf"epsilon ({_NUMBER})(?:, delta ({_NUMBER}))?, for (.+), over (.+)", re.DOTALL)
_DELTA = Fraction(1, 10**6)
"""Where rho is converted if no guarantee states a delta."""
_LARGEST_EPSILON = 500
_ROW = Unit(())
_RELATIONS = {str(Unit((), each)).removeprefix(_ROW.label): each for each in Neighbours}
"""Neighbour relations by the words that end a unit, as the unit itself writes them."""
_COLUMN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\w+""")
_SLICE = re.compile(r", version \d+, (.+)", re.DOTALL)
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
    """What charges add up to, for one privacy unit of a ledger.

    `unit` has the neighbour relation with it, as in "one patient_id, added or removed".
    """

    unit: str
    spans: tuple[str, ...]
    charges: tuple[Charge, ...]
    largest_delta: Fraction

    @property
    def datasets(self) -> dict[str, tuple[int, ...]]:
        """The versions of each dataset that was charged; of one that was charged beside another, none is stated."""
        names = dict.fromkeys(name for charge in self.charges for name in (charge.dataset, *charge.together))
        return {name: tuple(sorted({each.version for each in self.charges if each.dataset == name})) for name in names}

    @property
    def slices(self) -> tuple[str, ...]:
        """What guarantees say of time slices, and of units in several of them."""
        found = (_SLICE.search(span) for span in self.spans)
        return tuple(dict.fromkeys(each[1] for each in found if each is not None))

    @property
    def who(self) -> str:
        """The privacy unit without the neighbour relation."""
        return self.unit.removesuffix(self._ending)

    @property
    def relation(self) -> str:
        """The neighbour relation in words."""
        return self._ending.removeprefix(", ")

    @property
    def neighbours(self) -> Neighbours:
        """The neighbour relation."""
        return _RELATIONS[self._ending]

    @property
    def is_replacement(self) -> bool:
        """Whether neighbours differ in what one unit's rows say, and not in who has rows."""
        return self.neighbours is Neighbours.REPLACE_ONE

    @property
    def privacy_unit(self) -> Unit:
        """The privacy unit as the catalog has it; names that were not written by discreet are one name."""
        if self.is_row:
            return Unit((), self.neighbours)
        named = self.who.removeprefix("one ")
        found = Unit(tuple(map(_column, _COLUMN.findall(named)[::2])), self.neighbours)
        return found if found.label == self.who else Unit((named,), self.neighbours)

    @property
    def is_row(self) -> bool:
        """Whether rows are protected, and not people."""
        return self.who == _ROW.label

    @property
    def _ending(self) -> str:
        return next(end for end in _RELATIONS if self.unit.endswith(end))

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
    """What the charges of results add up to, for each unit, in the order of the results."""
    groups: dict[tuple[str | None, str, str], dict[str, Charge]] = {}
    spans: dict[tuple[str | None, str, str], dict[str, None]] = {}
    deltas: dict[tuple[str | None, str, str], list[Fraction]] = {}
    for result in results:
        charge, (_, delta, unit, span) = charge_of(result), stated_terms(result)
        group = charge.ledger, charge.dataset if unit.startswith(_ROW.label) else "", unit
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
    if not unit.endswith(tuple(_RELATIONS)):
        raise _damage_error(result, _OTHER_WORDS)
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
    except (Refusal, AttributeError, KeyError, RecursionError, TypeError, ValueError):
        raise _damage_error(result, "its receipt lacks the charge") from None
    if not _covers(charged, cost(event)):
        raise _damage_error(result, "its receipt states less than its noise costs")
    ledger, key = (None if receipt.get(name) is None else str(receipt[name]) for name in ("ledger", "key"))
    named = {name: receipt[name] for name in ("dataset", "version", "time", "analyst", "hash")}
    return Charge(**named, event=event, cost=charged, together=together, ledger=ledger, key=key)


def _column(written: str) -> str:
    """The name of a column, which is in quotes where it is no identifier."""
    try:
        return str(ast.literal_eval(written)) if written[0] in "'\"" else written
    except (SyntaxError, ValueError):
        return written


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
