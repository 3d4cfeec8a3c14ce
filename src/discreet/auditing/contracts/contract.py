"""Contract suites for mechanisms and for sessions, in the manner of scikit-learn's check_estimator.

    from discreet.auditing.contracts.contract import check_mechanism, check_session, require

    require(check_mechanism(dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)))
    require(check_session(session, query))

Each returns one finding for each clause of the contract that `discreet.mechanisms` and `discreet.session` state,
and raises nothing; `require` raises an AssertionError with a line for each that is broken or void. The chance that a
contract that is kept is called broken is at most `alarm`, over all clauses together.
"""

import copy
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.accounting import concentrated
from discreet.accounting.prices import EventCost, total
from discreet.auditing.claims import ApproximateDP, Claim, ConcentratedDP
from discreet.auditing.contracts import clauses
from discreet.auditing.contracts.clauses import CannotCheck, Said, require
from discreet.auditing.contracts.session import check_session
from discreet.auditing.exact import distributions, masses
from discreet.auditing.finding import Finding
from discreet.auditing.statistical import goodness_of_fit
from discreet.auditing.statistical.audit import audit
from discreet.auditing.statistical.goodness_of_fit import grid_of, many
from discreet.errors import DiscreetError, ParameterError, short_traceback
from discreet.events import event_of
from discreet.exact.numbers import rational, shown

__all__ = ["check_mechanism", "check_session", "require"]

CANARY = 8_642_097_531
_DIGITS = "86420975"
_STATISTICAL = 4
_DIFFER = "two releases differ"
_MOST_COPIES = 10_000


@short_traceback
def check_mechanism(
    mechanism: Any,
    *,
    claim: Claim | None = None,
    sensitivity: Fraction | int | None = None,
    samples: int = 10_000,
    alarm: float = 1e-6,
    name: str | None = None,
) -> list[Finding]:
    """Check every clause of the contract of mechanisms.

    Args:
        mechanism: The mechanism.
        claim: Claim that the mechanism was built for. Default: that of its event.
        sensitivity: Sensitivity in grid steps, for a mechanism whose event does not state it. Default: that of its
            event.
        samples: Number of samples of the statistical checks. Default 10,000.
        alarm: Probability that a true claim is called broken. Default 1e-6.
        name: Name of the subject in the finding. Default: that of the object.

    Returns:
        One finding for each clause.

    Raises:
        ParameterError: If it is not a mechanism.

    Example:
        >>> import discreet as dp
        >>> laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.5)
        >>> any(finding.is_broken for finding in dp.auditing.check_mechanism(laplace, samples=1_000))
        False
    """
    _refuse_another_thing(mechanism)
    subject, share = name or type(mechanism).__name__, alarm / _STATISTICAL
    promised: Callable[[], Claim] = lambda: claim or masses.claim_of(event_of(mechanism))  # noqa: E731
    checks: dict[str, Callable[[], Said]] = {
        "it is a frozen value": lambda: _check_frozen_value(mechanism),
        "its event has a privacy cost, and it is what it was built for": lambda: _check_price(mechanism, claim),
        "its masses keep its claim": lambda: masses.check_masses(
            mechanism, claim=claim, sensitivity=sensitivity, name=subject
        ),
        "its draws follow its pmf": lambda: goodness_of_fit.check_fit(
            mechanism, samples=samples, alarm=share, name=subject
        ),
        "its margin covers": lambda: goodness_of_fit.check_margin(
            mechanism, samples=samples, alarm=share, name=subject
        ),
        "a release keeps type, length and grid": lambda: _check_outputs(mechanism),
        "inexact answers are refused": lambda: _check_refusals(mechanism),
        "no message shows an answer": lambda: _check_messages(mechanism),
        _DIFFER: lambda: _check_independence(mechanism, share),
        "it remembers nothing": lambda: _check_no_memory(mechanism),
        "releases of neighbours keep its claim": lambda: _audit_neighbours(
            mechanism, promised(), _shift(mechanism, sensitivity), samples, share, subject
        ),
    }
    return clauses.read(subject, checks, {_DIFFER: share})


def _refuse_another_thing(mechanism: object) -> None:
    if not callable(getattr(mechanism, "release", None)):
        raise ParameterError(
            f"check_mechanism of {type(mechanism).__name__}",
            because="a mechanism has event(), pmf(y), margin() and release(value), as those of dp.mechanisms do",
            instead="auditing.audit(callable, one, other, epsilon=1), for any other callable",
        )


def _check_frozen_value(mechanism: Any) -> str:
    for name in [*getattr(mechanism, "__dict__", {}), "audited"]:
        try:
            setattr(mechanism, name, getattr(mechanism, name, None))
        except AttributeError:
            continue
        if name == "audited":
            del mechanism.audited
        return f"its attribute {name!r} can be set"
    if copy.copy(mechanism) != mechanism or hash(copy.copy(mechanism)) != hash(mechanism):
        return "a copy of it is not equal to it, or has another hash"
    return ""


def _check_price(mechanism: Any, claim: Claim | None) -> str:
    event = event_of(mechanism)
    if event != event_of(mechanism):
        return "asked twice, it emits two events"
    price = total(event)
    if price.epsilon is None:
        concentrated.epsilon(event, delta=price.delta / 2 + Fraction(1, 2))
    return _dearer(price, claim) or _unlike(price, mechanism)


def _dearer(price: EventCost, claim: Claim | None) -> str:
    match claim:
        case ApproximateDP(epsilon, delta) if not delta and (price.epsilon is None or price.epsilon > epsilon):
            return f"its event costs more than epsilon {shown(epsilon)}"
        case ConcentratedDP(rho) if price.rho > rho or price.delta:
            return f"its event costs more than rho {shown(rho)}"
    return ""


def _unlike(price: EventCost, mechanism: Any) -> str:
    for name, paid in (("epsilon", price.epsilon), ("rho", price.rho if price.epsilon is None else None)):
        said = getattr(mechanism, name, None)
        if isinstance(said, int | float | Fraction) and paid is not None and rational(said, name) != paid:
            return f"its {name} is {shown(rational(said, name))}, and its event costs {shown(paid)}"
    return ""


def _check_outputs(mechanism: Any) -> str:
    grid = grid_of(mechanism)
    kind = int if grid.denominator == 1 else Fraction
    one = 5 * grid.numerator if kind is int else 5 * grid
    released = mechanism.release(one)
    if not isinstance(released, kind) or isinstance(released, bool):
        return f"a release is of type {type(released).__name__}, and {kind.__name__} is the type of its grid"
    vectors: list[Any] = [[], [one], [one] * 3, *([np.array([one, one])] if kind is int else [])]
    for given in vectors:
        answers = mechanism.release(given)
        if not isinstance(answers, list) or len(answers) != len(given):
            return f"{len(given)} answers in a {type(given).__name__} do not come back as a list of as many"
        if any((Fraction(answer) / grid).denominator != 1 for answer in answers):
            return "a release is off the grid"
    return "" if (Fraction(released) / grid).denominator == 1 else "a release is off the grid"


def _inexact(mechanism: Any) -> list[Any]:
    """Answers that are not exact, or not on the grid; some with digits that no message may show."""
    far = 86_420.975
    return [
        *(far, float("nan"), float("inf"), np.float64(far), Decimal(far), complex(far), True, np.True_),
        *("86420975", b"86420975", None, [far], [True], ["86420975"], [float("nan")]),
        *(np.array([far]), np.array([True]), np.array([[1]])),
        grid_of(mechanism) * Fraction(CANARY * 3 + 1, 3),
    ]


def _check_refusals(mechanism: Any) -> str:
    for answer in _inexact(mechanism):
        try:
            mechanism.release(answer)
        except (DiscreetError, TypeError, ValueError):
            continue
        return f"it releases an answer of type {type(answer).__name__}" + (
            " off its grid" if isinstance(answer, Fraction) else ""
        )
    return ""


def _check_messages(mechanism: Any) -> str:
    for answer in _inexact(mechanism):
        try:
            mechanism.release(answer)
        except Exception as error:  # noqa: BLE001 - every message is read
            if any(_DIGITS in text for text in _messages(error)):
                return f"the message of a {type(error).__name__} shows an answer of type {type(answer).__name__}"
    return ""


def _messages(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield from (str(error), repr(error), *map(str, getattr(error, "__notes__", ())))
        error = error.__cause__ or error.__context__


def _check_independence(mechanism: Any, alarm: float) -> str:
    """Vectors so long that two of them are equal by chance at most once in 1/alarm times."""
    alike, copies = _alike(mechanism), 1
    while alike**copies > alarm and copies <= _MOST_COPIES:
        copies *= 2
    if copies > _MOST_COPIES:
        raise CannotCheck("two draws of the noise may be nearly always the same, as far as its pmf was read")
    one, other = (many(mechanism, 0, copies) for _ in range(2))
    return "two releases of one answer are the same" if one == other else ""


def _alike(mechanism: Any) -> float:
    """At least the chance that two draws of noise are the same, by the mechanism's own pmf.

    Distributions that an event names are the likeliest at zero, and two draws are the same at most as often. Of any
    other, the squares of all masses within reach are summed, and the rest is taken to be one step.
    """
    if _is_likeliest_at_zero(mechanism):
        return float(mechanism.pmf(0))
    law = distributions.MassFunction(mechanism.pmf)
    reach = distributions.MOST_STATED if law.reach is None else law.reach
    return float(sum(mass.high**2 for mass in law.masses(-reach, reach)) + law.beyond**2)


def _is_likeliest_at_zero(mechanism: Any) -> bool:
    try:
        return distributions.of_event(distributions.simple(mechanism)) is not None
    except (DiscreetError, TypeError, AttributeError):  # another clause says what is wrong with its event
        return False


def _check_no_memory(mechanism: Any) -> str:
    before = repr(mechanism), repr(getattr(mechanism, "__dict__", None))
    mechanism.release(CANARY * grid_of(mechanism).numerator)
    after = repr(mechanism), repr(getattr(mechanism, "__dict__", None))
    if before != after:
        return "a release changes what it is"
    return "its repr shows an answer" if any(str(CANARY) in text for text in after) else ""


def _shift(mechanism: Any, sensitivity: Fraction | int | None) -> int:
    """The most whole steps that neighbours move an answer."""
    given = sensitivity
    if given is None and hasattr(mechanism, "sensitivity"):
        given = rational(mechanism.sensitivity, "sensitivity") / grid_of(mechanism)
    return max(
        distributions.shifts(distributions.simple(mechanism), None if given is None else Fraction(given)), default=0
    )


def _audit_neighbours(
    mechanism: Any, claim: Claim, shift: int, samples: int, alarm: float, subject: str
) -> str | Finding:
    if not shift:
        return ""
    moved = shift * grid_of(mechanism)
    other = moved.numerator if moved.denominator == 1 else moved
    return audit(partial(many, mechanism), 0, other, claim=claim, samples=samples, alarm=alarm, many=True, name=subject)
