"""Numbers of runs have exactly their probabilities."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.samplers import repetitions
from entropy_taken_away import refused
from fits import fit

FALSE_ALARM = 1e-6
SHAPES = [Fraction(-1, 2), Fraction(0), Fraction(1, 2), Fraction(1), Fraction(5, 2), Fraction(3)]


def law(eta: Fraction, gamma: Fraction, reach: int = 2_000) -> dict[int, float]:
    weights, weight = {}, 1.0
    for number in range(1, reach):
        weights[number] = weight
        weight *= float(1 - gamma) * float(number + eta) / (number + 1)
    total = math.fsum(weights.values())
    return {number: weight / total for number, weight in weights.items()}


@pytest.mark.guarantee("samplers.repetitions")
@pytest.mark.parametrize("eta", SHAPES, ids=str)
@pytest.mark.parametrize("gamma", [Fraction(1, 10), Fraction(2, 3)], ids=str)
def test_draws_fit_the_law(eta, gamma):
    for _ in range(2):  # a retry: the false-alarm rate is the square
        draws = [repetitions.negative_binomial(eta, gamma) for _ in range(2_000)]
        if fit(draws, law(eta, gamma)) > math.sqrt(FALSE_ALARM):
            return
    pytest.fail("numbers of runs do not fit their law")


class OpenYetError(Exception):
    """The script of coins ends before the draw does."""


class Coins:
    """Every outcome of the coins in turn, each with its probability, in place of random bits."""

    def __init__(self, script: tuple[bool, ...]) -> None:
        self.script, self.chance, self.place = script, Fraction(1), 0

    def __call__(self, chance: Fraction) -> bool:
        if self.place == len(self.script):
            raise OpenYetError
        side = self.script[self.place]
        self.place += 1
        self.chance *= chance if side else 1 - chance
        return side


@pytest.mark.guarantee("samplers.repetitions")
@pytest.mark.parametrize("eta", [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3, 2)], ids=str)
def test_ratios_of_exact_probabilities_are_those_of_the_law(eta, monkeypatch):
    """All scripts of up to 15 coins: what they reach lies below the law, by no more than what is open yet."""
    gamma, reached = Fraction(2, 3), Counter()
    for length in range(1, 16):
        for script in itertools.product([True, False], repeat=length):
            coins = Coins(script)
            monkeypatch.setattr(repetitions, "flip", coins)
            try:
                number = repetitions.negative_binomial(eta, gamma)
            except OpenYetError:
                continue
            if coins.place == length:
                reached[number] += coins.chance
    expected = law(eta, gamma)
    open_yet = float(1 - sum(reached.values()))
    assert open_yet < (0.4 if eta > 1 else 0.01)
    for number in (1, 2, 3):
        assert expected[number] - open_yet - 1e-9 <= float(reached[number]) <= expected[number] + 1e-9


def test_a_coin_is_exact_at_its_ends_and_of_any_denominator():
    assert repetitions.flip(Fraction(1))
    assert not repetitions.flip(Fraction(0))
    many = [repetitions.flip(Fraction(10**40, 3 * 10**40 + 1)) for _ in range(3_000)]
    assert 700 < sum(many) < 1_300


@pytest.mark.parametrize(("eta", "gamma"), [(-1, 0.5), (-2, 0.5), (1, 0), (1, 1), (1, 1.5)])
def test_parameters_outside_the_law_are_refused(eta, gamma):
    with pytest.raises(ParameterError):
        repetitions.negative_binomial(eta, gamma)


def test_without_randomness_nothing_is_drawn():
    draws = "from fractions import Fraction; from discreet.samplers.repetitions import negative_binomial\n"
    draws += "draws = [lambda: negative_binomial(Fraction(1), Fraction(1, 2))]\n"
    assert refused(draws) == 1
