"""Weighted sums of bins: a strategy matrix of whole numbers, how far one unit moves its product, and its least squares.

Definition
    A matrix A has one column for each bin; bins with counts x are measured as the whole numbers A x. A unit has at most
    R rows, each in one bin or in none.

Guarantee
    With a unit added or removed, A x moves by at most R times the largest norm of a column, in L1, in L2 and in Linf.
    With a unit replaced, it moves by at most R times the larger of that and the largest distance of two columns. Both
    are reached. Proof: docs/proofs/workloads/matrix.md.

Exactness
    Entries, products and norms are whole numbers of any size. The least squares are floats, after the noise.

Not covered
    Whether a unit has at most R rows: contribution bounds enforce that before bins are counted.

References
    Li, Miklau, Hay, McGregor and Rastogi, The Matrix Mechanism, VLDB Journal 24, 2015, Propositions 1 and 3.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.catalog.privacy_unit import Neighbours

Vector = NDArray[np.float64]
_LARGEST_ENTRY = 2**20
_FAR_FROM_SINGULAR = 1e-4


class SensitivityNorms(NamedTuple):
    """Sensitivity of a vector of integers in four norms."""

    l0: int
    l1: int
    l2_squared: int
    linf: int


@dataclass(frozen=True, eq=False)
class Matrix:
    """Whole numbers: a row for each measured sum, a column for each bin."""

    entries: NDArray[np.int64]

    def __post_init__(self) -> None:
        if np.abs(self.entries).max() > _LARGEST_ENTRY or not self.entries.size:
            raise ValueError(f"entries are at most {_LARGEST_ENTRY:,}")

    @cached_property
    def name(self) -> str:
        """One name for one matrix."""
        shape = "x".join(map(str, self.entries.shape))
        return f"{shape}:{hashlib.sha256(self.entries.astype('<i8').tobytes()).hexdigest()}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def product(self, counts: list[int]) -> list[int]:
        """The exact sums of counts, of any size."""
        return [int(total) for total in self.entries.astype(object) @ np.array(counts, dtype=object)]

    def sensitivity(self, rows: int, neighbours: Neighbours) -> SensitivityNorms:
        """Sensitivity of the product to one unit of so many rows."""
        columns = self._alone if neighbours is Neighbours.ADD_REMOVE else self._apart
        return SensitivityNorms(len(self.entries), rows * columns.l1, rows**2 * columns.l2_squared, rows * columns.linf)

    @cached_property
    def _alone(self) -> SensitivityNorms:
        """The largest norms of a column."""
        sizes = np.abs(self.entries)
        return SensitivityNorms(0, int(sizes.sum(0).max()), int((sizes**2).sum(0).max()), int(sizes.max()))

    @cached_property
    def _apart(self) -> SensitivityNorms:
        """The largest norms of a column, or of the difference of two if that is more."""
        found = [self._alone]
        for column in self.entries.T:
            apart = np.abs(self.entries - column[:, None])
            found.append(SensitivityNorms(0, int(apart.sum(0).max()), int((apart**2).sum(0).max()), int(apart.max())))
        return SensitivityNorms(*(max(norm) for norm in zip(*found, strict=True)))

    @cached_property
    def inverse(self) -> Vector:
        """What turns measured sums into the least-squares estimates of the bins."""
        whole = self.entries.astype(np.float64)
        return _solve_normal_equations(whole) if len(whole) >= len(whole.T) else np.asarray(np.linalg.pinv(whole))


def _solve_normal_equations(whole: Vector) -> Vector:
    """The inverse by the normal equations, which is faster, where they are far from singular."""
    gram = whole.T @ whole
    try:
        pivots = np.linalg.cholesky(gram).diagonal()
    except np.linalg.LinAlgError:
        pivots = np.zeros(1)
    if pivots.min() > _FAR_FROM_SINGULAR * pivots.max():
        return np.asarray(np.linalg.solve(gram, whole.T))
    return np.asarray(np.linalg.pinv(whole))
