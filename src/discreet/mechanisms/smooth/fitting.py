"""Smooth sensitivity: an answer released with noise on the scale of its smooth sensitivity.

Definition
    f(x) + S(x)/shift Z, rounded to the nearest multiple of a public grid; S is the smooth sensitivity with parameter
    beta, and beta, shift and the distribution of Z come from the noise: Laplace for (epsilon, delta), two-sided Pareto
    or Student's t for a pure epsilon, Laplace log-normal for rho.

Guarantee
    What the noise states, for local objects that keep their contract: P[f(x) + S(x)/shift Z in T] and the same for a
    neighbour differ by a change of width of at most e^beta and a move of at most `shift` widths, and rounding is
    post-processing. Proof: docs/proofs/mechanisms/smooth/fitting.md.

Exactness
    beta, shift and S are rationals; the rounded answer has exactly the distribution of the rounded real one
    (continuous.py).

Not covered
    S(x), the scale and any margin made from them are private: none is returned, shown or stored, and no margin can be
    given. The time of a release depends on the data. How often `release` is called: every call has its own privacy
    cost. `share` is public and must not be chosen by looking at the data.

References
    Nissim, Raskhodnikova and Smith, Smooth Sensitivity and Sampling in Private Data Analysis, STOC 2007, Section 2.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.events import Event
from discreet.exact.numbers import Number, positive, probability, rational
from discreet.mechanisms import lattice
from discreet.mechanisms.lattice import Scalar
from discreet.mechanisms.smooth import laplace, laplace_log_normal, pareto, student_t
from discreet.mechanisms.smooth.local import Local
from discreet.mechanisms.smooth.smoothing import Calibration, require_rounding_room, smooth_sensitivity
from discreet.samplers import continuous

_EXAMPLES = {
    "laplace": 'Smooth(noise="laplace", epsilon=1, delta=1e-6)',
    "pareto": 'Smooth(noise="pareto", epsilon=1)',
    "student_t": 'Smooth(noise="student_t", epsilon=1)',
    "laplace_log_normal": 'Smooth(noise="laplace_log_normal", rho=0.5)',
}
_SHARES = {"pareto": Fraction(1, 4)}


@public_class
@dataclass(frozen=True, init=False)
class Smooth:
    """Noise scaled to the smooth sensitivity.

    Args:
        noise: "pareto" or "student_t" for epsilon, "laplace" for epsilon and delta, "laplace_log_normal" for rho.
            Default "laplace".
        epsilon: Epsilon of one release.
        delta: Delta of one release, for Laplace noise.
        rho: Rho of one release, for Laplace log-normal noise.
        share: Part of the cost that pays for changes of the noise's scale, above 0 and below 1. Default: chosen for the
            noise.
        degrees: Degrees of freedom of Student's t. Default 3.
        sigma: Sigma of Laplace log-normal noise. Default 1/2.
        grid: Releases are multiples of it. Default 1.

    Raises:
        ParameterError: If the noise is unknown, or has the cost of another.

    Example:
        >>> import discreet as dp
        >>> dp.mechanisms.smooth.Smooth(noise="pareto", epsilon=1).event()
        PureEvent(epsilon=Fraction(1, 1))
    """

    law: continuous.Noise
    beta: Fraction
    shift: Fraction
    grid: Fraction
    _event: Event = field(repr=False)

    @short_traceback
    def __init__(
        self,
        *,
        noise: str = "laplace",
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        degrees: int = 3,
        sigma: Number = Fraction(1, 2),
        grid: Number = 1,
    ) -> None:
        part, calibration = _share(_SHARES.get(noise, Fraction(1, 2)) if share is None else share), None
        if noise == "laplace" and epsilon is not None and delta is not None and rho is None:
            calibration = laplace.calibrate(positive(epsilon, "epsilon"), _above_zero(delta), part)
        elif noise == "student_t" and epsilon is not None and delta is None and rho is None:
            calibration = student_t.calibrate(positive(epsilon, "epsilon"), part, degrees)
        elif noise == "pareto" and epsilon is not None and delta is None and rho is None:
            calibration = pareto.calibrate(positive(epsilon, "epsilon"), part)
        elif noise == "laplace_log_normal" and rho is not None and epsilon is None and delta is None:
            calibration = laplace_log_normal.calibrate(positive(rho, "rho"), part, sigma)
        self._keep(calibration or _refuse(noise), positive(grid, "grid"))

    def event(self) -> Event:
        """Event of a release, for accountants.

        Returns:
            The event.
        """
        return self._event

    @short_traceback
    def release(self, local: Local) -> Scalar:
        """Answer with fresh noise, on the grid.

        Args:
            local: An answer with its local sensitivity at every distance.

        Returns:
            The noisy answer.
        """
        scale = smooth_sensitivity(local, self.beta) / self.shift
        return lattice.value_of(continuous.round_with_noise(local.value(), scale, self.law, self.grid), self.grid)

    def _keep(self, calibration: Calibration, grid: Fraction) -> None:
        object.__setattr__(self, "law", calibration.noise)
        object.__setattr__(self, "beta", require_rounding_room(calibration.beta))
        object.__setattr__(self, "shift", require_rounding_room(calibration.shift))
        object.__setattr__(self, "grid", grid)
        object.__setattr__(self, "_event", calibration.event)


def _share(share: Number) -> Fraction:
    part = rational(share, "share")
    if not 0 < part < 1:
        raise ParameterError(
            f"share={share!r}",
            because="it is a part of the privacy cost: above 0 and below 1",
            instead="share=0.5, or less where one unit hardly changes the smooth sensitivity, as with a mean",
        )
    return part


def _above_zero(delta: Number) -> Fraction:
    chance = probability(delta, "delta", example="1e-6")
    if chance == 0:
        raise ParameterError(
            "delta=0 with Laplace noise",
            because="the ratio of Laplace densities of different width has no bound",
            instead=_EXAMPLES["pareto"],
        )
    return chance


def _refuse(noise: str) -> Calibration:
    if noise not in _EXAMPLES:
        raise ParameterError(
            f"noise={noise!r}", because="its guarantee is not proved here", instead=", or ".join(_EXAMPLES.values())
        )
    raise ParameterError(
        f"{noise!r} noise without its own privacy parameters, or with those of another",
        because="Laplace is (epsilon, delta), Pareto and Student's t a pure epsilon, and Laplace log-normal rho",
        instead=_EXAMPLES[noise],
    )
