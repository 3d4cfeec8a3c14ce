"""Random numbers of runs: the truncated negative binomial law, drawn exactly.

Definition
    For rationals eta > -1 and 0 < gamma < 1 the number of runs is k = 1, 2, ... with a probability proportional to
    (1 - gamma)^k times the product over l = 1..k-1 of (l + eta)/(l + 1). eta = 1 is the geometric law, eta = 0 the
    logarithmic one.
Guarantee
    Every number has exactly the probability of the definition, if the random bits are independent and fair. A call
    ends with probability 1. Proof: docs/proofs/samplers/repetitions.md.
Exactness
    Coins have rational probabilities and are decided by integers; no float is used.
Not covered
    Time: a draw takes longer for larger numbers, and so do the runs. Who sees the time learns the number of runs.
References
    Papernot and Steinke, Hyperparameter Tuning with Renyi Differential Privacy, ICLR 2022, Definition 1.
    von Neumann, Various Techniques Used in Connection with Random Digits, 1951 (rejection).
"""

from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact.numbers import rational
from discreet.samplers.entropy import random_bytes


def negative_binomial(eta: Fraction, gamma: Fraction) -> int:
    """A number of runs of the truncated negative binomial law."""
    shape, stop = rational(eta, "eta"), rational(gamma, "gamma")
    if shape <= -1 or not 0 < stop < 1:
        raise ParameterError(
            "a number of runs outside its law",
            because="eta must be above -1, and gamma above 0 and below 1",
            instead="eta=1, gamma=0.05",
        )
    if shape <= 1:
        return _walk(shape, stop, first=1)
    whole, rest = divmod(shape, 1)
    while True:
        drawn = sum(_walk(Fraction(1), stop, first=0) for _ in range(int(whole)))
        drawn += _walk(rest, stop, first=0) if rest else 0
        if drawn:
            return drawn


def flip(chance: Fraction) -> bool:
    """A coin that is True with a rational probability."""
    bits = (chance.denominator - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        drawn = int.from_bytes(random_bytes(size)) >> (8 * size - bits)
        if drawn < chance.denominator:
            return drawn < chance.numerator


def _walk(shape: Fraction, stop: Fraction, first: int) -> int:
    """A number from `first` on by rejection: one that stops, or one that a coin sends back to the first."""
    number = first
    while not flip(stop):
        number = number + 1 if flip((number + shape) / (number + 1)) else first
    return number
