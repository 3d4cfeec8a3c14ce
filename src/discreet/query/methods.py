"""Methods for one number about a whole table whose noise follows the data: smooth sensitivity, propose-test-release."""

from dataclasses import dataclass

from discreet.errors import public_class
from discreet.exact.numbers import Number
from discreet.plan import logical


@public_class
@dataclass(frozen=True, kw_only=True)
class SmoothSensitivity:
    """Noise on the scale of the smooth sensitivity; its size is private, so there is no margin of error.

    Attributes:
        noise: "pareto" or "student_t" for a pure epsilon, "laplace_log_normal" for rho, or "laplace" with `delta`.
            Default: "pareto" under a pure budget, "laplace_log_normal" under a budget with a delta.
        delta: The delta of Laplace noise, from the delta that the budget reserves.

    Example:
        >>> import discreet as dp
        >>> method = dp.SmoothSensitivity(noise="pareto")
    """

    noise: logical.SmoothNoise | None = None
    delta: Number | None = None


@public_class
@dataclass(frozen=True, kw_only=True)
class ProposedBound:
    """Propose-test-release: noise for a bound that you propose on what one unit moves.

    Half of epsilon pays for the test, half for the number. All of it is spent also where the test does not pass and the
    value is None.

    Attributes:
        bound: The proposed bound. The tighter it is, the smaller the error.
        delta: The probability that the test passes wrongly, from the delta that the budget reserves.

    Example:
        >>> import discreet as dp
        >>> method = dp.ProposedBound(bound=5, delta=1e-10)
    """

    bound: Number
    delta: Number


Method = SmoothSensitivity | ProposedBound
