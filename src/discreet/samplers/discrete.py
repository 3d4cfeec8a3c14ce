"""Exact discrete noise: the only module that knows the sampling library.

`discrete_laplace` draws y with P[y] proportional to exp(-|y|/scale), `discrete_gaussian` with P[y] proportional to
exp(-y^2/(2 sigma^2)), over all integers. The samplers are OpenDP's (Canonne, Kamath and Steinke, The Discrete Gaussian
for Differential Privacy, NeurIPS 2020, Algorithms 1 to 3): they use random bits and rational arithmetic alone. The
scale is a double and is taken for exactly the rational that it is, so whoever prices a draw prices that rational.

Noise is drawn at zero, as 64-bit integers, and leaves as Python integers, so that sums beyond 64 bits stay exact. A
draw beyond 64 bits would be cut off there; up to the largest scale of 2^50 that has a probability below e^-8000, and it
is the only thing that is not exact.

Random bits come from OpenSSL's generator inside OpenDP, which the operating system seeds and which reseeds itself in a
forked child. No seed can be given. Before each call the operating system's source is read once, and where it fails
nothing is drawn. A draw takes a varying time that depends on the noise: timing is not covered.

Cost on a shared 2-core machine, microseconds of CPU per draw: 9 to 13 for Laplace of scale 2, 100 and 1e6 alike, 15 to
19 for Gaussian of sigma 10, 12 to 21 for 1e4; and about 200 for a call, so one call for many draws. The sampler is
built for each call: that is 35 of those 200, and leaves nothing to share between threads.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import OpenDPException, enable_features

from discreet.errors import EntropyError, ParameterError
from discreet.exact import positive, whole
from discreet.samplers import categorical
from discreet.samplers.entropy import random_bytes

LEAST_SCALE = 2.0**-40
LARGEST_SCALE = 2.0**50

_DRAWS_PER_CALL = 65_536
_PROBE = 16

# OpenDP marks every constructor "contrib" and refuses to build it until the process has said yes once.
enable_features("contrib")

_INTEGERS = vector_domain(atom_domain(T="i64"))
_L1 = l1_distance(T="i64")
_L2 = l2_distance(T=float)


def discrete_laplace(scale: float, count: int) -> list[int]:
    """`count` independent draws with P[y] proportional to exp(-|y|/scale)."""
    exact = _double(scale, "scale")
    return _draws(make_laplace(_INTEGERS, _L1, exact), whole(count, "count", least=0))


def discrete_gaussian(sigma: float, count: int) -> list[int]:
    """`count` independent draws with P[y] proportional to exp(-y^2/(2 sigma^2))."""
    exact = _double(sigma, "sigma")
    return _draws(make_gaussian(_INTEGERS, _L2, exact), whole(count, "count", least=0))


def discrete_staircase(scale: float, step: int, inner: int, count: int) -> list[int]:
    """`count` independent draws with P[y] proportional to e^(-s/scale), s = floor((|y| + step - inner)/step).

    A discrete Laplace draw g that is not negative has P[g] proportional to e^(-g/scale). Stair g begins at
    inner + (g - 1) step, or at zero for g = 0, and a uniform place in it is drawn; places beyond the inner width of the
    first stair are rejected, and so is one of the two zeros that a random sign makes.
    """
    wanted, drawn = whole(count, "count", least=0), list[int]()
    while len(drawn) < wanted:
        tries = min(_DRAWS_PER_CALL, 4 * (wanted - len(drawn)) + _PROBE)
        places, signs = categorical.uniform(step, tries).tolist(), categorical.uniform(2, tries).tolist()
        for stair, place, sign in zip(discrete_laplace(scale, tries), places, signs, strict=True):
            if stair < 0 or (stair == 0 and (place >= inner or (sign and not place))):
                continue
            magnitude = place if stair == 0 else inner + (stair - 1) * step + place
            drawn.append(-magnitude if sign else magnitude)
    return drawn[:wanted]


def check_scale(scale: Fraction, name: str, example: str) -> None:
    """Refuse a scale, counted in steps of the grid, that the samplers are not asked to draw."""
    if LEAST_SCALE <= scale <= LARGEST_SCALE:
        return
    side, price, grid = ("above 2**50", "larger", "coarser") if scale > 1 else ("below 2**-40", "smaller", "finer")
    raise ParameterError(
        f"noise with a {name} {side} steps of the grid",
        because=f"noise is drawn exactly for a {name} between 2**-40 and 2**50 steps",
        instead=f"{example}: a {price} epsilon or rho, or a {grid} grid",
    )


def _double(scale: float, name: str) -> float:
    positive(scale, name)
    exact = Fraction(scale)
    check_scale(exact, name, f"{name}=10.0")
    double = float(exact)
    if Fraction(double) != exact:
        raise ParameterError(
            f"a {name} that is not a double",
            because=f"the noise would have another {name} than the one whose privacy cost is charged",
            instead=f"{name}=rounding.double_up({name}), and the privacy cost of that double",
        )
    return double


def _draws(sampler: Callable[[list[int]], Any], count: int) -> list[int]:
    """Draws at zero, in calls of bounded size, so that memory stays small and an interrupt is heard."""
    drawn: list[int] = []
    while len(drawn) < count:
        random_bytes(_PROBE)
        try:
            drawn += sampler([0] * min(_DRAWS_PER_CALL, count - len(drawn)))
        except OpenDPException as error:
            raise EntropyError("the sampler could not draw noise, so nothing is released") from error
    return drawn
