"""Models in closed form from noisy moments: ridge regression, means and deviations. It reads noisy sums, in floats."""

from typing import NamedTuple

import numpy as np

from discreet.learning.core.lattice import Floats

NOISE_FACTOR = 2.0


class RidgeSolution(NamedTuple):
    """Coefficients of scaled columns, and the intercept."""

    coefficients: Floats
    intercept: float


def ridge_solution(moments: Floats, deviation: float, alpha: float = 0.0) -> RidgeSolution:
    """Ridge regression from the noisy moments of scaled columns.

    The ridge term is `alpha` plus 2 times the deviation of the noise times the root of the number of columns, which is
    about the largest eigenvalue of such noise (semicircle law). Negative eigenvalues of the noisy covariance become
    zero before it is added.

    Args:
        moments: Sums of products of (1, columns, target), each in [-1, 1]: a symmetric matrix with noise.
        deviation: Standard deviation of the noise of an entry.
        alpha: Ridge term of one's own, in the same units. Default 0.

    Returns:
        The coefficients and the intercept; both are finite for any noise.
    """
    count = max(float(moments[0, 0]), 1.0)
    means = np.clip(moments[0, 1:] / count, -1, 1)
    centred = moments[1:, 1:] / count - np.outer(means, means)
    values, vectors = np.linalg.eigh(centred[:-1, :-1])
    ridge = (alpha + NOISE_FACTOR * deviation * np.sqrt(len(values))) / count
    kept = np.maximum(values, 0) + max(ridge, 1e-12)
    coefficients: Floats = vectors @ ((vectors.T @ centred[:-1, -1]) / kept)
    return RidgeSolution(coefficients, float(means[-1] - coefficients @ means[:-1]))


def means_and_deviations(counts: float, sums: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """Means and standard deviations of columns in [-1, 1], from their noisy sums.

    Args:
        counts: Noisy number of rows.
        sums: Noisy sum of each column.
        squares: Noisy sum of squares of each column.

    Returns:
        Means in [-1, 1] and deviations in [0, 1].
    """
    rows = max(float(counts), 1.0)
    means = np.clip(sums / rows, -1, 1)
    variances = np.clip(squares / rows - means**2, 0, 1)
    return means, np.sqrt(variances)


def symmetric(upper: Floats, size: int) -> Floats:
    """The symmetric matrix of which the upper triangle is given, row by row."""
    matrix: Floats = np.zeros((size, size))
    matrix[np.triu_indices(size)] = upper
    return matrix + np.triu(matrix, 1).T
