"""The same events under every accountant, side by side.

Definition
    One row for each way to add up: the epsilon it states for all events together at one delta, or why it refuses.
Guarantee
    Every epsilon shown is true of the events, with the condition that its row states. The smallest is the tightest
    statement, not a different degree of privacy: the noise is the same in every row.
Exactness
    Each accountant rounds up; the table shows six digits, rounded up.
Not covered
    Charging: a ledger enforces its privacy budget by accounting.filters alone, not by these rows.
References
    Those of each accountant, in its own module.
"""

import html
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from discreet import accounting, events
from discreet.accounting import approximate, concentrated, pure, renyi
from discreet.accounting.concentrated import delta_left
from discreet.errors import AccountingError, MissingExtraError, Refusal, public_class, short_traceback
from discreet.exact.numbers import Number, probability, shown
from discreet.exact.rounding import double_up

_AS_ONE_GOES = "also for queries chosen after earlier answers"
_IN_ADVANCE = "for a batch fixed in advance"


def _pure(event: events.Event, _delta: Fraction) -> Fraction:
    return pure.epsilon(event)


def _basic(event: events.Event, delta: Fraction) -> Fraction:
    found = approximate.basic(event)
    if found.delta > delta:
        raise AccountingError(
            f"delta={shown(delta)}",
            because=f"the events have deltas of their own that sum to {shown(found.delta)}",
            instead=f"delta={shown(found.delta)}",
        )
    return found.epsilon


def _advanced_epsilon(event: events.Event, delta: Fraction) -> Fraction:
    slack = delta_left(approximate.basic(event).delta, delta)
    return approximate.advanced_total(event, slack=slack).epsilon


def _loose(event: events.Event, delta: Fraction) -> Fraction:
    return concentrated.epsilon(event, delta, "loose")


def _renyi(event: events.Event, delta: Fraction) -> Fraction:
    return renyi.conversion(event, delta).epsilon


def _pld(event: events.Event, delta: Fraction) -> Fraction:
    return Fraction(accounting.pld.epsilon(event, delta))


ACCOUNTANTS: Mapping[str, Callable[[events.Event, Fraction], Fraction]] = MappingProxyType(
    {
        "pure": _pure,
        "basic": _basic,
        "advanced": _advanced_epsilon,
        "concentrated": concentrated.epsilon,
        "concentrated, loose": _loose,
        "renyi": _renyi,
        "pld": _pld,
    }
)

_CONDITIONS = {
    "pure": _AS_ONE_GOES,
    "basic": _AS_ONE_GOES,
    "advanced": _IN_ADVANCE,
    "concentrated": _AS_ONE_GOES,
    "concentrated, loose": _AS_ONE_GOES,
    "renyi": _IN_ADVANCE,
    "pld": _IN_ADVANCE,
}


@dataclass(frozen=True)
class ComparisonRow:
    """What one accountant says: an epsilon with its condition, or no epsilon and the reason."""

    accountant: str
    epsilon: float | None
    note: str


@public_class
@dataclass(frozen=True)
class Comparison:
    """Epsilons of the same events under every accountant.

    Attributes:
        delta: The delta.
        rows: One row for each accountant.

    Example:
        >>> import discreet as dp
        >>> comparison = dp.accounting.compare(dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1), delta=1e-6)
        >>> float(comparison.delta)
        1e-06
    """

    delta: Fraction
    rows: tuple[ComparisonRow, ...]

    @property
    def tightest(self) -> ComparisonRow:
        """The row with the smallest epsilon."""
        stated = [row for row in self.rows if row.epsilon is not None]
        if not stated:
            raise AccountingError(
                "the tightest accountant", because="every accountant refuses these events", instead="a larger delta"
            )
        return min(stated, key=lambda row: row.epsilon or 0.0)

    def __getitem__(self, accountant: str) -> ComparisonRow:
        """The row of an accountant, by name."""
        for row in self.rows:
            if row.accountant == accountant:
                return row
        raise KeyError(accountant)

    def __str__(self) -> str:
        cells = [("accountant", "epsilon", "")] + [
            (row.accountant, _figure(row.epsilon), row.note) for row in self.rows
        ]
        widths = [max(len(cell[column]) for cell in cells) for column in range(2)]
        lines = [f"{name:<{widths[0]}}  {figure:>{widths[1]}}  {note}".rstrip() for name, figure, note in cells]
        return "\n".join([f"at delta {shown(self.delta)}", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(row.accountant)}</th>'
            f'<td style="text-align:right">{_figure(row.epsilon)}</td>'
            f'<td style="text-align:left">{html.escape(row.note)}</td></tr>'
            for row in self.rows
        )
        head = "".join(f'<th scope="col">{title}</th>' for title in ("accountant", "epsilon", "holds"))
        caption = f"<caption>The same events at delta {html.escape(shown(self.delta))}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@short_traceback
def compare(
    what: events.Event | events.HasEvent | Iterable[events.Event | events.HasEvent], delta: Number
) -> Comparison:
    """The same events under every accountant.

    Args:
        what: An event, a mechanism, or several.
        delta: The delta.

    Returns:
        A table to print, with the epsilon of each accountant.

    Raises:
        AccountingError: If a part is not an event.
        ParameterError: If delta is outside its range.

    Example:
        >>> import discreet as dp
        >>> laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)
        >>> dp.accounting.compare([laplace] * 100, delta=1e-6).tightest.accountant
        'pld'
    """
    event = events.compose(what)
    allowed = probability(delta, "delta")
    return Comparison(allowed, tuple(_row(name, event, allowed) for name in ACCOUNTANTS))


def _row(name: str, event: events.Event, delta: Fraction) -> ComparisonRow:
    try:
        found = double_up(ACCOUNTANTS[name](event, delta))
    except MissingExtraError as missing:
        return ComparisonRow(name, None, f"needs {missing.instead}")
    except Refusal as refusal:
        return ComparisonRow(name, None, f"refused because {refusal.because}")
    return ComparisonRow(name, found, _CONDITIONS[name])


def _figure(epsilon: float | None) -> str:
    """Six digits, rounded up."""
    if epsilon is None:
        return "-"
    if epsilon == 0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 5)
    return f"{math.ceil(epsilon / step - 1e-9) * step:.6g}"
