"""Keys above a threshold, by discrete Gaussian noise: less of it where one unit is in many keys.

Definition
    A key of n units, n >= k = `at_least`, gets Y, an integer with P[Y = y] proportional to exp(-y^2/(2 sigma^2)),
    independent for each key, and is kept with the number n + Y if n - (k - 1) + Y > threshold. Keys of fewer units are
    never kept. The threshold is 1 + t, t >= 0 the least integer with P[Y > t] <= d, where d is a rational with
    (1 - d)^groups >= 1 - delta.

Guarantee
    Where one unit is in at most `groups` keys, a release is rho-zCDP but for delta: rho = groups/(2 sigma^2) under
    add/remove, twice that under replace-one; delta is the same under both. delta is reached, up to the step of the
    threshold, by a unit that is alone in as many keys as it may be in. Proof:
    docs/proofs/mechanisms/keys/gaussian.md.

Exactness
    sigma is the least double for which rho is at most the one asked for, and the privacy cost is that of this very
    double; noise is drawn exactly (samplers/discrete.py). P[Y > t] is summed for discrete noise and rounded up
    (hockey_stick.py). `keep_probability` is a float, for display.

Not covered
    Whether `groups` is true of the data: an engine has to bound it. A threshold for another noise: that of
    continuous noise, or of Laplace noise, is none for this one. A rule of (epsilon, delta) alone: rho is converted by
    accountants.

References
    Bun and Steinke, Concentrated Differential Privacy, TCC 2016, Definition 8.1 (but for delta).
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Theorem 4.
    Swanberg, Desfontaines and Haney, DP-SIPS: A simpler, more scalable mechanism for differentially private partition
    selection, PoPETs 2023 (Gaussian thresholds).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from discreet.errors import short_traceback
from discreet.exact.numbers import Number, positive
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.hockey_stick import tail_up
from discreet.mechanisms.keys.rule import Relation
from discreet.mechanisms.keys.thresholding import ThresholdRule, least_threshold


@dataclass(frozen=True, init=False)
class GaussianThreshold(ThresholdRule):
    """Keys whose number of units is above a threshold once it has Gaussian noise, with that number."""

    noise: Gaussian
    threshold: int

    @short_traceback
    def __init__(
        self,
        *,
        rho: Number,
        delta: Number,
        groups: int = 1,
        neighbours: Relation = "add_remove",
        at_least: int = 1,
    ) -> None:
        super().__init__(delta, groups, neighbours, at_least)
        noise = Gaussian(squared_sensitivity=self.changed_keys, rho=positive(rho, "rho"), dimension=self.changed_keys)
        object.__setattr__(self, "noise", noise)
        tail = partial(tail_up, noise.sigma)
        object.__setattr__(self, "threshold", 1 + least_threshold(tail, self.alone(self.groups)))

    @property
    def rho(self) -> Fraction:
        """The rho of one release beside its delta: at most the one asked for."""
        return self.noise.rho
