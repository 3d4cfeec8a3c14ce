"""Noise and a threshold on numbers of units: the least threshold for a tail, and which keys pass it."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import short_traceback
from discreet.events import ApproximateEvent, ComposedEvent
from discreet.mechanisms.additive import AdditiveNoise
from discreet.mechanisms.keys.rule import Rule, SelectedKey, Units, counts_of


def least_threshold(tail: Callable[[int], Fraction], allowed: Fraction) -> int:
    """The least integer t >= 0 with tail(t) <= allowed; the tail, P[Y > t] rounded up, falls to zero."""
    short, enough = -1, 0
    while tail(enough) > allowed:
        short, enough = enough, 2 * enough + 1
    while enough - short > 1:
        middle = (short + enough) // 2
        short, enough = (middle, enough) if tail(middle) > allowed else (short, middle)
    return enough


def above(units: Units, noise: AdditiveNoise, at_least: int, threshold: int) -> list[SelectedKey]:
    """Keys of at least so many units whose number, less at_least - 1, is above the threshold with its noise."""
    counts = counts_of(units)
    places = [place for place, count in enumerate(counts) if count >= at_least]
    noisy = noise.release([counts[place] for place in places])
    return [
        SelectedKey(place, int(value))
        for place, value in zip(places, noisy, strict=True)
        if value - (at_least - 1) > threshold
    ]


def passing(noise: AdditiveNoise, considered: int, threshold: int) -> float:
    """P[considered + Y > threshold], and zero for a key that is not considered."""
    beyond = threshold - considered
    if considered < 1:
        return 0.0
    return noise.tail(beyond) / 2 if beyond >= 0 else 1 - noise.tail(-beyond - 1) / 2


@dataclass(frozen=True, init=False)
class ThresholdRule(Rule):
    """Keys whose number of units is above a threshold once it has noise, with that number."""

    noise: AdditiveNoise
    threshold: int

    def event(self) -> ComposedEvent:
        """What a release does: noise on the keys that both neighbours have, and delta for those that one has."""
        return ComposedEvent((self.noise.event(), ApproximateEvent(Fraction(0), self.delta)))

    def keep_probability(self, units: int) -> float:
        """The probability that a key of so many units is kept, as a float for display."""
        return passing(self.noise, self.effective_units(units), self.threshold)

    @short_traceback
    def release(self, units: Units) -> list[SelectedKey]:
        """The keys that are kept, by their places, with noisy numbers of units; one number for each key."""
        return above(units, self.noise, self.at_least, self.threshold)
