"""Partition selection (unknown keys): which groups of a table may be named, by the number of units in each.

    from discreet.mechanisms.keys import Optimal

    rule = Optimal(epsilon=1, delta=1e-9, groups=1)
    rule.release([812, 1, 40])          # [0, 2]: the places of the keys that are kept
    float(rule.keep_probability(18))    # the probability that a key of 18 units is kept
    rule.least_units(0.95)              # 23: a key of so many units is kept with probability 95%

A rule is a frozen value with this contract: it is given of how many keys one unit can be (`groups`), what
neighbours are, how many units a key must have to be considered at all (`at_least`), and what a release may cost. A key
without units is never kept. `keep_probability(units)` is the probability that a key of so many units is kept, and
`least_units(chance)` the least number of units that is kept with at least this probability; both are public. `event()`
says what was done.

    Optimal             the names alone; no rule of the same epsilon and delta for each key keeps more
    LaplaceThreshold    names with noisy numbers of units, above a threshold; a pure privacy cost but for delta
    GaussianThreshold   the same for a rho, which is cheaper where one unit has many keys
    TopKeys             the few keys with the highest scores; the cost does not depend on how many keys a unit has
"""

from discreet.mechanisms.keys.gaussian import GaussianThreshold
from discreet.mechanisms.keys.laplace import LaplaceThreshold
from discreet.mechanisms.keys.optimal import Optimal
from discreet.mechanisms.keys.top import TopKeys

__all__ = ["GaussianThreshold", "LaplaceThreshold", "Optimal", "TopKeys"]
