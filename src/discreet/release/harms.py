"""Harms and the privacy unit: whether a guarantee covers what somebody must not learn.

A guarantee is for one privacy unit. A harm to somebody else, such as a doctor in a table of patients, or to several
units at once is covered by group privacy at best, and a statistic of many people is not covered at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, get_args

from discreet.accounting import group
from discreet.accounting.filters import CEILING
from discreet.catalog.privacy_unit import Neighbours, Unit
from discreet.errors import AccountingError, ParameterError, public_class, short_traceback, suggestion
from discreet.exact.numbers import whole
from discreet.exact.rounding import exp_up, shown_up
from discreet.release.guarantee import Guarantee

LARGEST_DELTA = Fraction(1, 10_000)
"""Above it somebody may be exposed: with probability delta a bound holds for nobody."""
Learned = Literal["presence", "value", "statistic"]


@public_class
@dataclass(frozen=True)
class Coverage:
    """Whether a guarantee covers a harm, and how strongly.

    Attributes:
        harm: The harm in words.
        is_covered: Whether the guarantee bounds it.
        reason: Why, or why not, in a sentence.
        epsilon: Epsilon that bounds it, or None.
        delta: Delta that bounds it, or None.
        span: What the guarantee is over, such as all queries ever asked of a dataset, or of a time slice.

    Example:
        >>> import discreet as dp
        >>> from discreet.catalog.privacy_unit import unit_of
        >>> dp.covers(dp.Guarantee(1, 0, unit_of("patient_id"), "all"), learns="statistic").is_covered
        False
    """

    harm: str
    is_covered: bool
    reason: str
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    span: str = ""

    @property
    def verdict(self) -> str:
        """The harm and the verdict, without what the guarantee is over."""
        return f"{self.harm}: {'covered' if self.is_covered else 'NOT COVERED'}, {self.reason}"

    def __str__(self) -> str:
        return f"{self.verdict}, over {self.span}" if self.is_covered else self.verdict


@short_traceback
def covers(
    guarantee: Guarantee,
    *,
    learns: Learned,
    of: str | Sequence[str] | None = None,
    units: int | None = None,
) -> Coverage:
    """Whether a guarantee covers a harm: that somebody learns a thing about someone.

    Args:
        guarantee: That of a release, or `session.remaining().guarantee` for all releases.
        learns: "presence" (that they are in the data), "value" (what their rows say), or "statistic" (a fact about many
            people, such as the mean of a ward).
        of: Column or columns that name who is harmed. Default: the privacy unit.
        units: The most privacy units whose rows are about one of them, such as 4 for a household. It must come from
            public knowledge. Default: 1 if the privacy unit is harmed, and else unknown.

    Returns:
        A verdict to print.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=1))
        >>> print(dp.covers(session.remaining().guarantee, learns="presence").verdict)
        that one patient_id is in the data: covered, odds change by a factor of at most 2.71829 (epsilon 1)
        >>> dp.covers(session.remaining().guarantee, learns="value", of="doctor_id").is_covered
        False
    """
    _require_known(learns)
    size = None if units is None else whole(units, "units")
    named = guarantee.unit.columns if of is None else (of,) if isinstance(of, str) else tuple(of)
    return replace(_coverage(guarantee, learns, named, size), span=guarantee.span)


def _coverage(guarantee: Guarantee, learns: Learned, named: tuple[str, ...], size: int | None) -> Coverage:
    """The verdict on what is learned of those whom columns name."""
    unit = guarantee.unit
    harm = _harm(learns, Unit(named).label, size if set(named) == set(unit.columns) else None)
    if learns == "statistic":
        return Coverage(harm, False, "a statistic of many people is what a release publishes")
    if learns == "presence" and unit.neighbours is Neighbours.REPLACE_ONE:
        reason = 'neighbours="replace_one" protects what rows say, and not who has rows'
        return Coverage(harm, False, reason)
    # A patient's month is a part of a patient: its rows are rows of one unit.
    is_within = not named if unit.is_row else set(named) >= set(unit.columns)
    if size is None and not is_within:
        return Coverage(harm, False, _other_unit(unit))
    return _for_group(guarantee, harm, _steps(unit, learns, named) * (size or 1))


def _steps(unit: Unit, learns: Learned, named: tuple[str, ...]) -> int:
    """How many steps between neighbours change what is learned of one unit.

    Where units are added and removed, other rows of a unit are two steps: it is removed, and added with other rows. So
    is the presence of somebody else in the rows of a unit, because the unit keeps its other rows.
    """
    if unit.neighbours is Neighbours.REPLACE_ONE:
        return 1
    is_whole = unit.is_row or set(named) == set(unit.columns)
    return 1 if learns == "presence" and is_whole else 2


def usual_harms(guarantee: Guarantee) -> tuple[Coverage, ...]:
    """The harms that a reader of a release asks about: presence, values, a household of four, and statistics."""
    return (
        covers(guarantee, learns="presence"),
        covers(guarantee, learns="value"),
        covers(guarantee, learns="value", units=4),
        covers(guarantee, learns="statistic"),
    )


def _for_group(guarantee: Guarantee, harm: str, size: int) -> Coverage:
    """The verdict on a harm that so many steps between neighbours explain."""
    try:
        if guarantee.delta:
            found = group.approximate(epsilon=guarantee.epsilon, delta=guarantee.delta, size=size)
            epsilon, delta = found.epsilon, found.delta
        else:
            epsilon, delta = group.pure(epsilon=guarantee.epsilon, size=size), Fraction(0)
    except AccountingError:
        return Coverage(harm, False, "the delta for so many units reaches one")
    stated = f"epsilon {shown_up(epsilon)}" + (f", delta {shown_up(delta)}" if delta else "")
    if delta > LARGEST_DELTA:
        return Coverage(harm, False, f"the delta is too large ({stated})", epsilon, delta)
    if epsilon > CEILING:  # the usual ceiling of a budget; the factor is more than 22,000
        return Coverage(harm, False, f"the bound is too weak ({stated})", epsilon, delta)
    factor = shown_up(exp_up(epsilon))
    # With a delta the odds have no bound: an unlikely answer may decide. Probabilities of conclusions have one.
    bound = (
        f"the probability of any conclusion is at most {factor} times as large, and {shown_up(delta)} larger"
        if delta
        else f"odds change by a factor of at most {factor}"
    )
    return Coverage(harm, True, f"{bound} ({stated})", epsilon, delta)


def _harm(learns: Learned, label: str, size: int | None) -> str:
    """The harm in words; `size` units are harmed together."""
    several = size is not None and size > 1
    return {
        "presence": f"that {size} units are in the data, each {label}" if several else f"that {label} is in the data",
        "value": f"what the rows of {size} units say, each {label}" if several else f"what the rows of {label} say",
        "statistic": f"a statistic of many, as of {label}",
    }[learns]


def _other_unit(unit: Unit) -> str:
    """Why a guarantee for one unit is not one for another."""
    if unit.is_row:
        return "the guarantee protects single rows; state in units how many rows one of them has at most"
    return f"the guarantee is for {unit.label}; state in units how many of these one of them has at most"


def _require_known(learns: object) -> None:
    known = get_args(Learned)
    if learns in known:
        return
    nearest = suggestion(str(learns), known)
    raise ParameterError(
        f"learns={learns!r}"[:80],
        because=f"it is one of {', '.join(known)}",
        instead=f"learns={(nearest if nearest in known else 'value')!r}",
    )
