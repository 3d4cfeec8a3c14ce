"""The privacy cost of one event in exact rationals, under each notion that composes by sums.

Definition
    The privacy cost of a simple event is (epsilon, rho, delta): its answer splits, under each of two neighbours, into a
    part of probability 1 - delta and a part of probability delta, and the first parts are within a factor e^epsilon of
    each other and within rho in the sense of zero-concentrated privacy. Gaussian noise has no finite epsilon: None. An
    event of bounded range epsilon has rho = epsilon^2/8, a quarter of what epsilon alone would say. A batch has its
    epsilon after its part of probability delta is taken away, and its rho without taking any away.
Guarantee
    Privacy costs of events add up, also where each event is chosen after seeing the answers to earlier ones.
Exactness
    Rational in, rational out; nothing is rounded here but the rho of a repeated selection, which is rounded up.
Not covered
    Amplification by sampling in rho: a sampled sum has the rho of the same sum without sampling, and less only at one
    order (accounting.renyi).
References
    Bun and Steinke, Concentrated Differential Privacy, TCC 2016, Propositions 1.4, 1.6 and Lemma 8.8.
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Theorem 4.
    Cesar and Rogers, Bounding, Concentrating, and Truncating: Unifying Privacy Loss Composition for Data Analytics, ALT
    2021, Lemma 3.4 (bounded range).
"""

from fractions import Fraction
from typing import NamedTuple

from discreet import events
from discreet.accounting.repeated_selection import concentrated
from discreet.exact.zcdp import pure_rho


class EventCost(NamedTuple):
    """What an event costs: epsilon is None where no finite epsilon exists."""

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction


def total(event: events.Event) -> EventCost:
    """The privacy cost of an event with everything inside it."""
    epsilon: Fraction | None = Fraction(0)
    rho, delta = Fraction(0), Fraction(0)
    for leaf, count in events.leaves(event):
        part = price(leaf)
        epsilon = None if epsilon is None or part.epsilon is None else epsilon + count * part.epsilon
        rho += count * part.rho
        delta += count * part.delta
    return EventCost(epsilon, rho, delta)


def price(event: events.Event) -> EventCost:
    """The privacy cost of a simple event; one that is not in the vocabulary is refused."""
    match event:
        case events.PureEvent(epsilon):
            return EventCost(epsilon, pure_rho(epsilon), Fraction(0))
        case events.BoundedRangeEvent(epsilon):
            return EventCost(epsilon, min(epsilon, epsilon * epsilon / 8), Fraction(0))
        case events.ApproximateEvent(epsilon, delta):
            return EventCost(epsilon, pure_rho(epsilon), delta)
        case events.ApproximateConcentratedEvent(epsilon, delta, rho):
            return EventCost(epsilon, rho, delta)
        case events.DiscreteLaplaceEvent(scale, sensitivity) | events.LaplaceEvent(scale, sensitivity):
            return EventCost(sensitivity / scale, pure_rho(sensitivity / scale), Fraction(0))
        case (
            events.DiscreteGaussianEvent(variance, squared, _)
            | events.GaussianEvent(variance, squared)
            | events.SampledGaussianEvent(_, variance, squared)
        ):
            return EventCost(None, squared / (2 * variance), Fraction(0))
        case events.ConcentratedEvent(rho, delta):
            return EventCost(None, rho, delta)
        case events.RepeatedSelectionEvent():
            return _selection(event)
    raise events.no_event(event)


def _selection(event: events.RepeatedSelectionEvent) -> EventCost:
    """Of the best of a random number of runs; the rho of its epsilon where that is less."""
    run = total(event.event)
    rho = concentrated(run.rho, event.eta, event.gamma)
    if run.epsilon is None:
        return EventCost(None, rho, Fraction(0))
    epsilon = (2 + event.eta) * run.epsilon
    return EventCost(epsilon, min(rho, pure_rho(epsilon)), Fraction(0))
