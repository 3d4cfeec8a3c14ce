"""The exact marginals of a table, of which only noisy marginals and private choices leave.

Definition
    A marginal counts the rows of each cell of some columns. A unit has at most R rows. `measure` adds discrete Gaussian
    noise to every cell of one marginal. `select` chooses one of several marginals by the exponential mechanism, where
    the score of a marginal is weight * |counts - estimate| - penalty: the L1 distance to a public estimate in whole
    numbers, with a public weight and penalty. Each call names its cost, and all costs come from one public rho.

Guarantee
    When a unit is added or removed, a marginal moves by at most R in L1 and in L2; when one is replaced, by at most 2 R
    in L1 and sqrt(2) R in L2. So `measure` at a cost r is r-zCDP, and so is `select`. Columns, estimates, weights and
    costs may depend on earlier answers; calls that would exceed rho are refused, so everything together is rho-zCDP.
    Merging slots by a public map moves counts no further. Proof: docs/proofs/synthesis/core/private_counts.md.

Exactness
    Counts, estimates, scores and noise are integers; costs are rationals. The epsilon of a choice is a root that is
    rounded down.

Not covered
    That a unit has at most R rows, which the engine enforces. The time that choices and measurements take.

References
    McKenna, Miklau and Sheldon, Journal of Privacy and Confidentiality 11(3), 2021, arXiv 2108.04978 (MST). McKenna,
    Mullins, Sheldon and Miklau, AIM: An Adaptive and Iterative Mechanism for Differentially Private Synthetic Data,
    VLDB 2022. Feldman and Zrnic, Individual Privacy Accounting via a Renyi Filter, NeurIPS 2021 (adaptive costs).
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from discreet.exact.rounding import sqrt_down
from discreet.mechanisms import Exponential, Gaussian
from discreet.plan.slots import MOST_CELLS
from discreet.plan.synthesis import Contribution
from discreet.synthesis.core.domain import Columns, Domain
from discreet.synthesis.core.measurement import Integers, Measurement

__all__ = [
    "LARGEST_COUNT",
    "MOST_CELLS",
    "Candidate",
    "Contribution",
    "ExactCounts",
    "PrivateCounts",
]

LARGEST_COUNT = 1 << 40
"""Rows of a cell up to which distances of marginals of `MOST_CELLS` cells fit 64 bits."""


class Candidate(NamedTuple):
    """A marginal to choose: its public estimate in whole numbers, of its shape, and a public weight and penalty."""

    columns: Columns
    estimate: Integers
    weight: int = 1
    penalty: int = 0


class _Allowance:
    """What is left of rho; views of the same counts share it."""

    def __init__(self, rho: Fraction) -> None:
        self.left = rho

    def spend(self, rho: Fraction) -> None:
        if not 0 < rho <= self.left:
            raise RuntimeError("a synthesizer asked for more than was charged")
        self.left -= rho


class PrivateCounts:
    """What a synthesizer receives: noisy marginals and private choices, up to a cost that was charged.

    Args:
        domain: The columns and their slots.
        counts: The exact counts of the candidate marginals, one axis for each column.
        contribution: What one unit may change.
        rho: The cost that was charged.
    """

    def __init__(
        self, domain: Domain, counts: Mapping[Columns, Integers], contribution: Contribution, rho: Fraction
    ) -> None:
        if any(each.shape != domain.shape(columns) for columns, each in counts.items()):
            raise ValueError("counts of another shape than their columns have")
        if any(domain.cells(columns) > MOST_CELLS for columns in counts):
            raise ValueError("a marginal of more cells than distances in 64 bits allow")
        self.domain, self.contribution = domain, contribution
        self._counts, self._allowance = dict(counts), _Allowance(rho)

    @property
    def left(self) -> Fraction:
        """The rho that is left."""
        return self._allowance.left

    @property
    def candidates(self) -> tuple[Columns, ...]:
        """The marginals that were counted; public."""
        return tuple(self._counts)

    def measure(self, columns: Columns, rho: Fraction) -> Measurement:
        """A marginal with noise, at a cost of at most rho.

        Raises:
            RuntimeError: If less is left.
            KeyError: If the marginal is no candidate.
        """
        exact = self._counts[columns]
        noise = Gaussian(
            squared_sensitivity=self.contribution.l2_squared, rho=rho, dimension=2 * self.contribution.rows
        )
        self._allowance.spend(noise.rho)
        return Measurement(columns, self._add_noise(exact, noise), noise.sigma)

    def select(self, candidates: Sequence[Candidate], rho: Fraction) -> int:
        """The place of a marginal that its estimate describes badly, at a cost of at most rho.

        Raises:
            RuntimeError: If less is left.
            KeyError: If a marginal is no candidate.
        """
        if any(type(number) is not int for each in candidates for number in (each.weight, each.penalty)):
            raise TypeError("a weight or penalty that is not an int: its methods would see exact distances")
        if any(each.weight < 0 for each in candidates) or not any(each.weight for each in candidates):
            raise ValueError("weights are whole numbers, none below 0 and one above")
        moved = self.contribution.l1 * max(each.weight for each in candidates)
        mechanism = Exponential(sensitivity=moved, epsilon=sqrt_down(8 * rho))
        self._allowance.spend(mechanism.epsilon**2 / 8)
        return self._choose([self._score(each) for each in candidates], mechanism)

    def merge(self, groups: Mapping[str, tuple[int, ...]]) -> "PrivateCounts":
        """The same table where slots of columns are merged by a public map: slot i becomes slot groups[name][i].

        What is spent there is spent here, too.
        """
        merged = {columns: _merge(each, columns, groups) for columns, each in self._counts.items()}
        view = type(self)(self.domain.merge(groups), merged, self.contribution, self.left)
        view._allowance = self._allowance  # noqa: SLF001 - its own class
        return view

    def public_generator(self) -> np.random.Generator:
        """Randomness that is independent of data and need not be secret, from the operating system."""
        return np.random.default_rng()

    def _score(self, candidate: Candidate) -> int:
        exact = self._counts[candidate.columns]
        if candidate.estimate.dtype != np.int64 or candidate.estimate.shape != exact.shape:
            raise ValueError("an estimate has a whole number for each cell")
        estimate = np.clip(candidate.estimate, -LARGEST_COUNT, LARGEST_COUNT)
        return candidate.weight * int(np.abs(exact - estimate).sum()) - candidate.penalty

    def _add_noise(self, exact: Integers, noise: Gaussian) -> Integers:
        """The one place where noise meets counts."""
        return exact + np.asarray(noise.draw(exact.size), dtype=np.int64).reshape(exact.shape)

    def _choose(self, scores: list[int], mechanism: Exponential) -> int:
        return mechanism.release(scores)


class ExactCounts(PrivateCounts):
    """Counts without noise and the best choice, for tests: NOT PRIVATE."""

    def public_generator(self) -> np.random.Generator:
        """Randomness that is the same at each call, so that tests can repeat a synthesis."""
        return np.random.default_rng(0)

    def _add_noise(self, exact: Integers, noise: Gaussian) -> Integers:  # noqa: ARG002 - none is drawn
        return exact.copy()

    def _choose(self, scores: list[int], mechanism: Exponential) -> int:  # noqa: ARG002 - none is drawn
        return int(np.argmax(scores))


def _merge(counts: Integers, columns: Columns, groups: Mapping[str, tuple[int, ...]]) -> Integers:
    for axis, name in enumerate(columns):
        if name in groups:
            moved = np.moveaxis(counts, axis, 0)
            merged = np.zeros((max(groups[name]) + 1, *moved.shape[1:]), dtype=np.int64)
            np.add.at(merged, np.asarray(groups[name]), moved)
            counts = np.moveaxis(merged, 0, axis)
    return np.ascontiguousarray(counts)
