"""Keys above a threshold, by discrete Laplace noise: their names and noisy numbers of units at once.

Definition
    A key of n units, n >= k = `at_least`, gets Y, an integer with P[Y = y] = (1 - q)/(1 + q) q^|y|, q = e^(-1/scale),
    independent for each key, and is kept with the number n + Y if n - (k - 1) + Y > threshold. Keys of fewer units are
    never kept. The threshold is 1 + t, t >= 0 the least integer with P[Y > t] = q^(t+1)/(1 + q) <= d, where d is a
    rational with (1 - d)^groups >= 1 - delta.

Guarantee
    Where one unit is in at most `groups` keys, a release is (epsilon, delta)-DP, and epsilon^2/2-zCDP but for delta:
    epsilon = groups/scale under add/remove, twice that under replace-one; delta is the same under both. delta is
    reached, up to the step of the threshold, by a unit that is alone in as many keys as it may be in. Proof:
    docs/proofs/mechanisms/keys/laplace.md.

Exactness
    The scale is the least double at or above groups/epsilon (or twice that) and the privacy cost is that of this very
    double; noise is drawn exactly (samplers/discrete.py). The tail is compared in rationals, rounded up.
    `keep_probability` is a float, for display.

Not covered
    Whether `groups` is true of the data: an engine has to bound it. A threshold for another noise: that of
    continuous Laplace noise, or >= in the place of >, is too low by up to one step, which is a factor of e^epsilon in
    delta.

References
    Korolova, Kenthapadi, Mishra and Ntoulas, Releasing Search Queries and Clicks Privately, WWW 2009 (thresholds).
    Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo and Gipson, Differentially Private SQL with Bounded User
    Contribution, PoPETs 2020, Section 3 (one unit in several keys).
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import short_traceback
from discreet.exact.numbers import Number, positive
from discreet.exact.rounding import exp_down, exp_up
from discreet.mechanisms.keys.rule import Relation
from discreet.mechanisms.keys.thresholding import ThresholdRule, least_threshold
from discreet.mechanisms.laplace import Laplace


@dataclass(frozen=True, init=False)
class LaplaceThreshold(ThresholdRule):
    """Keys whose number of units is above a threshold once it has Laplace noise, with that number."""

    noise: Laplace
    threshold: int

    @short_traceback
    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        groups: int = 1,
        neighbours: Relation = "add_remove",
        at_least: int = 1,
    ) -> None:
        super().__init__(delta, groups, neighbours, at_least)
        noise = Laplace(sensitivity=self.changed_keys, epsilon=positive(epsilon, "epsilon"))
        object.__setattr__(self, "noise", noise)
        step = -1 / Fraction(noise.scale)
        one_plus_q = 1 + exp_down(step)

        def tail(beyond: int) -> Fraction:
            return exp_up(step * (beyond + 1)) / one_plus_q

        object.__setattr__(self, "threshold", 1 + least_threshold(tail, self.alone(self.groups)))

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of one release beside its delta: at most the one asked for."""
        return self.noise.epsilon
