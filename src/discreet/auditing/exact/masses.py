"""Layer 2: exact probabilities held against a claim, by rational intervals and never by a comparison of floats.

Definition
    Two laws P and Q on the same outcomes, and a claim: (epsilon, delta), that sum max(0, P[y] - e^epsilon Q[y]) is at
    most delta in both directions; or rho, that the Renyi divergence of every order alpha is at most alpha rho.

Guarantee
    A claim is called broken only where it is false: the least value that the rounded sums allow exceeds the claim. Of
    two laws in rationals, every false claim of (epsilon, delta) with epsilon at most 100 is called broken whose delta
    is exceeded by more than e^epsilon 10^-56. Proof: docs/proofs/auditing/exact/masses.md.

Exactness
    Masses are rationals, or rational intervals around e^(-weight)/Z with rational weights; the losses of such laws are
    rationals, and a pure claim about them is decided without rounding. Masses that a mechanism states as floats are
    taken to be right to one part in 10^9, and decide no more than that. What is said in `found` is a float.

Not covered
    Whether draws follow the masses: `statistical.goodness_of_fit` tests that. Noise too wide to be summed step by step,
    beyond what the losses and whole orders decide: skipped, with the reason. Orders that are not looked at. Trade-off
    curves.

References
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Proposition 5.
    Mironov, Renyi Differential Privacy, CSF 2017, Definition 3.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.prices import total as price_of
from discreet.auditing.arguments import checked_claim
from discreet.auditing.claims import ApproximateDP, Claim, ConcentratedDP
from discreet.auditing.exact import distributions
from discreet.auditing.exact.distributions import FLOATS, ExponentialWeights, Law, MassFunction
from discreet.auditing.finding import Finding, Verdict
from discreet.errors import ParameterError, short_traceback
from discreet.exact import rounding
from discreet.exact.numbers import rational
from discreet.exact.rounding import Interval, exp_up, log_down, point

LAYER = "masses"
ORDERS = (Fraction(3, 2), Fraction(2), Fraction(4), Fraction(16))
MOST_BY_LOGARITHMS = 400
MOST_BETWEEN = 600
MOST_COMPARED = 2_000
_SPREAD = 100
_FAR = 10**6
_STEEPEST = 500
_STEPS = 80

Masses = Sequence[tuple[Interval, Interval]]


@dataclass(frozen=True)
class Judgement:
    """What a comparison found, in the claim's parameter; `gap` is how much of a false claim rounding could hide."""

    is_broken: bool
    found: float
    told: str
    gap: float = 0.0


@short_traceback
def compare_masses(
    one: Mapping[Any, Fraction | int], other: Mapping[Any, Fraction | int], *, claim: Claim, name: str = "two laws"
) -> Finding:
    """Two exact distributions held against a claim, in both directions.

    Args:
        one: Probability of each outcome on one dataset, as a rational.
        other: Probability of each outcome on the neighbour; a missing outcome has probability 0.
        claim: The claim.
        name: Name of the subject. Default "two laws".

    Returns:
        The finding.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> from fractions import Fraction
        >>> yes, no = Fraction(3, 4), Fraction(1, 4)
        >>> response = {"yes": yes, "no": no}, {"yes": no, "no": yes}
        >>> dp.auditing.compare_masses(*response, claim=dp.auditing.claim(epsilon=1)).is_broken
        True
    """
    started = time.perf_counter()
    checked_claim(claim)
    for law in (one, other):
        _refuse_inexact(law)
    outcomes = list(dict.fromkeys([*one, *other]))
    here, there = ([point(law.get(outcome, 0)) for outcome in outcomes] for law in (one, other))
    wrong = [told for told in (_no_law(one), _no_law(other)) if told]
    judged = Judgement(True, math.inf, wrong[0]) if wrong else _both_ways(list(zip(here, there, strict=True)), claim)
    return replace(_finding(name, claim, judged, f"{len(outcomes):,} outcomes"), seconds=time.perf_counter() - started)


@short_traceback
def check_masses(
    mechanism: Any, *, claim: Claim | None = None, sensitivity: Fraction | int | None = None, name: str | None = None
) -> list[Finding]:
    """The probabilities of a mechanism against those of its event, and the shifted distribution against a claim.

    Args:
        mechanism: Mechanism with a `pmf` and an `event`.
        claim: The claim. Default: that of its event.
        sensitivity: Sensitivity in grid steps, for an event that does not state it. Default: that of its event.
        name: Name of the subject in the finding. Default: that of the object.

    Returns:
        Two findings.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.5)
        >>> [str(finding.verdict) for finding in dp.auditing.check_masses(laplace)]
        ['nothing found', 'nothing found']
    """
    subject = name or type(mechanism).__name__
    event = distributions.simple(mechanism)
    steps = None if sensitivity is None else rational(sensitivity, "sensitivity")
    promised = claim_of(event) if claim is None else checked_claim(claim)
    stated, known = MassFunction(mechanism.pmf), distributions.of_event(event)
    return [
        _with_seconds(lambda: _stated_rightly(subject, stated, known)),
        _with_seconds(lambda: _check_shifts(subject, known or stated, distributions.shifts(event, steps), promised)),
    ]


def claim_of(event: object) -> ApproximateDP | ConcentratedDP:
    """The claim that an event makes of itself."""
    price = price_of(event)  # type: ignore[arg-type]
    if price.epsilon is not None:
        return ApproximateDP(price.epsilon, price.delta)
    if price.delta:
        raise ParameterError(
            "an event with a rho and a delta of its own",
            because="a claim is one of (epsilon, delta) and rho",
            instead="claim=claims.claim(epsilon=1, delta=1e-6)",
        )
    return ConcentratedDP(price.rho)


def judge(masses: Masses, claim: Claim, beyond: Fraction = Fraction(0)) -> Judgement | None:
    """Masses here and there held against a claim in one direction; None for a claim that masses do not decide."""
    match claim:
        case ApproximateDP():
            return _excess(masses, claim, beyond)
        case ConcentratedDP():
            return _divergences(masses, claim)
    return None


def _both_ways(masses: Masses, claim: Claim) -> Judgement | None:
    found = [judge(way, claim) for way in (masses, [(there, here) for here, there in masses])]
    return _worst([each for each in found if each is not None])


def _worst(found: Sequence[Judgement]) -> Judgement | None:
    return max(found, key=lambda each: (each.is_broken, each.found), default=None)


def _excess(masses: Masses, claim: ApproximateDP, beyond: Fraction) -> Judgement:
    """Sum of max(0, P - e^epsilon Q), which must be at most delta."""
    factor, nothing = rounding.exp(claim.epsilon), Fraction(0)
    parts = [
        Interval(max(nothing, here.low - factor.high * there.high), max(nothing, here.high - factor.low * there.low))
        for here, there in masses
    ]
    needed = rounding.total(parts)
    is_broken = needed.low > claim.delta or (not claim.delta and any(part.low > 0 for part in parts))
    epsilon = _least_epsilon(masses, claim.delta)
    told = f"it takes a delta of at least {float(needed.low):.6g} at this epsilon"
    kept = f"an epsilon of {epsilon:.6g} would do"
    return Judgement(
        is_broken, epsilon, told if is_broken else kept, max(0.0, float(needed.high + beyond - claim.delta))
    )


def _least_epsilon(masses: Masses, delta: Fraction) -> float:
    """The least epsilon that the masses allow at a delta, as a float for reports; from the narrow ends."""
    if not delta:
        ratios = [math.inf if not there.high else here.low / there.high for here, there in masses if here.low]
        largest = max(ratios, default=Fraction(1))
        return largest if isinstance(largest, float) else max(0.0, float(log_down(largest)))
    here, there = (np.array([float(pair[side].low) for pair in masses]) for side in (0, 1))
    if here[there == 0].sum() > delta:
        return math.inf
    low, high = 0.0, 700.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        enough = np.maximum(0, here - math.exp(middle) * there).sum() <= float(delta)
        low, high = (low, middle) if enough else (middle, high)
    return low


def _divergences(masses: Masses, claim: ConcentratedDP) -> Judgement:
    """Renyi divergences at a few orders, each at most alpha rho."""
    if any(here.low > 0 and not there.high for here, there in masses):
        return Judgement(True, math.inf, "an outcome is possible on one side only")
    both = [(here, there) for here, there in masses if here.low > 0 and there.low > 0]
    orders = [order for order in ORDERS if order.denominator == 1 or len(both) <= MOST_BY_LOGARITHMS]
    moments = {order: rounding.total(rounding.power_ratio(*pair, order) for pair in both) for order in orders}
    return _judge_moments(moments, claim)


def _judge_moments(moments: Mapping[Fraction, Interval], claim: ConcentratedDP) -> Judgement:
    """The sums of P^alpha Q^(1 - alpha), each at most e^(alpha (alpha - 1) rho)."""
    found: list[tuple[bool, float, Fraction]] = []
    for order, moment in moments.items():
        scale = order * (order - 1)
        rho = float(log_down(moment.low) / scale) if moment.low > 0 else 0.0
        found.append((moment.low > exp_up(scale * claim.rho), rho, order))
    is_broken, rho, order = max(found)
    return Judgement(
        is_broken, max(0.0, rho), f"the Renyi divergence of order {float(order):g} is {rho:.6g} times its order"
    )


def _check_shifts(subject: str, law: Law, steps: Sequence[int], claim: Claim) -> Finding:
    """A law and the same law moved by so many steps: for each number of steps that neighbours may move an answer."""
    found = [_at_shift(law, shift, claim) for shift in steps]
    judged = _worst([each for each in found if each is not None])
    if judged is None and not steps:
        judged = Judgement(False, 0.0, "no neighbours move an answer by a whole step")
    told = f"shifts by {', '.join(map(str, steps)) or 'nothing'} steps"
    return _finding(subject, claim, judged, told)


def _at_shift(law: Law, shift: int, claim: Claim) -> Judgement | None:
    if isinstance(law, ExponentialWeights):
        return _at_shift_exactly(law, shift, claim)
    if law.reach is None:
        return None
    return _worst(
        [found for way in (shift, -shift) if (found := judge(distributions.beside(law, way), claim, law.beyond))]
    )


def _at_shift_exactly(law: ExponentialWeights, shift: int, claim: Claim) -> Judgement | None:
    """One direction is enough, because the law is alike on both sides of zero."""
    if isinstance(claim, ApproximateDP) and not claim.delta:
        loss = max(law.loss(y, shift) for y in (0, -law.farthest, -_FAR * law.farthest))
        return Judgement(loss > claim.epsilon, float(loss), f"the loss at a shift of {shift} is {float(loss):.6g}")
    if isinstance(claim, ConcentratedDP) and law.rho is not None:
        whole = law.rho(shift)
        exact = Judgement(
            whole > claim.rho, float(whole), f"the Renyi divergence of every whole order is {float(whole):.6g} times it"
        )
        rest = [_between_orders(law, shift, claim)] if law.farthest <= MOST_BETWEEN else []
        return _worst([exact, *rest])
    if law.reach is None:
        return None
    if isinstance(claim, ConcentratedDP):
        return _between_orders(law, shift, claim)
    return judge(distributions.beside(law, shift), claim, law.beyond)


def _between_orders(law: ExponentialWeights, shift: int, claim: ConcentratedDP) -> Judgement:
    """An order that is not whole: the terms are exponentials of rationals, summed around where they are largest."""
    order = Fraction(3, 2)
    reach = law.farthest + 2 * shift
    terms = (
        rounding.exp((order - 1) * law.weight(y - shift) - order * law.weight(y)) for y in range(-reach, reach + 1)
    )
    return _judge_moments({order: rounding.total(terms).over(law.normaliser)}, claim)


def _stated_rightly(subject: str, stated: MassFunction, known: ExponentialWeights | None) -> Finding:
    """Whether a pmf sums to one, and is what its event says."""
    wrong = _differing(stated, known) if known else ""
    sums = not wrong and (known is None or known.farthest <= distributions.MOST_STATED)
    if sums:
        wrong, sums = _not_one(stated), stated.reach is not None
    told = [*(["sum to one"] if sums else []), *([_event_text(known)] if known else [])]
    return Finding(
        subject=subject,
        layer=LAYER,
        claim="its pmf sums to one and is what its event says",
        verdict=Verdict.BROKEN if wrong else Verdict.NOTHING_FOUND,
        evidence=wrong or f"the masses {' and '.join(told) or 'reach too far to be summed'}",
    )


def _differing(stated: MassFunction, known: ExponentialWeights) -> str:
    centre = stated.mass(0)
    if centre.low <= 0:
        return "the pmf gives no mass to zero"
    for place in _compared_places(known):
        true = rounding.exp(-known.weight(place))
        for y in (place, -place):
            said = stated.mass(y).over(centre)
            if said.low > true.high or said.high < true.low:
                return f"the pmf at {y} is {float(said.low):.9g} of that at 0, and {float(true.low):.9g} by its event"
    return ""


def _compared_places(known: ExponentialWeights) -> list[int]:
    """How far from zero a pmf is held against its event: every step within reach, or the first and some of the rest."""
    most = min(known.farthest, MOST_COMPARED)
    spread = {known.farthest * part // _SPREAD for part in range(_SPREAD + 1)} if most < known.farthest else set()
    return [place for place in sorted({*range(1, most + 1), *spread} - {0}) if known.weight(place) < _STEEPEST]


def _event_text(known: ExponentialWeights) -> str:
    places = _compared_places(known)
    if len(places) >= known.farthest:
        return f"are those of the event, at every step up to {known.farthest:,}"
    return f"are those of the event at {len(places):,} of {known.farthest:,} steps on either side"


def _not_one(stated: MassFunction) -> str:
    total = stated.total
    if total.low > 1 or (stated.reach is not None and total.high < 1 - FLOATS):
        return f"the masses sum to {float(total.low):.9g}"
    return ""


def _refuse_inexact(law: Mapping[Any, object]) -> None:
    for mass in law.values():
        if isinstance(mass, bool) or not isinstance(mass, Fraction | int):
            raise ParameterError(
                f"a mass of type {type(mass).__name__}",
                because="masses are compared exactly, and a rounded one decides nothing",
                instead="Fraction(1, 3), or check_masses(mechanism) for a pmf in floats",
            )


def _no_law(law: Mapping[Any, Fraction | int]) -> str:
    if any(mass < 0 for mass in law.values()):
        return "a mass is below zero"
    total = sum(law.values(), Fraction(0))
    return "" if total == 1 else f"the masses of one law sum to {total}"


def _finding(subject: str, claim: Claim, judged: Judgement | None, told: str) -> Finding:
    if judged is None:
        verdict, evidence = Verdict.SKIPPED, "the noise is too wide to sum step by step, or the claim is not of masses"
    else:
        verdict = Verdict.BROKEN if judged.is_broken else Verdict.NOTHING_FOUND
        evidence = f"{judged.told} ({told})"
    return Finding(
        subject=subject,
        layer=LAYER,
        claim=str(claim),
        verdict=verdict,
        evidence=evidence,
        stated=claim.value,
        found=None if judged is None else judged.found,
        detail={} if judged is None else {"gap": judged.gap},
    )


def _with_seconds(check: Callable[[], Finding]) -> Finding:
    started = time.perf_counter()
    return replace(check(), seconds=time.perf_counter() - started)
