"""Matrices that are good for a workload, found by its expected error alone.

For noise that is measured in L2, the best Gram matrix of a strategy is known up to one number for each bin, and a fixed
point finds those; its distance from the best is known too. For noise that is measured in L1 the problem is not convex:
bins are measured one by one, and blocks of bins in sums whose weights are improved step by step from those of a tree.
Floats choose; what they choose is rounded to whole numbers, and judged as it then is.

References: Li, Miklau, Hay, McGregor and Rastogi, The Matrix Mechanism, VLDB Journal 24, 2015; McKenna, Miklau, Hay and
Machanavajjhala, Optimizing Error of High-Dimensional Statistical Queries under Differential Privacy, PVLDB 11(10), 2018
(bins beside weighted sums); Denisov, McMahan, Rush, Smith and Thakurta, Improved Differential Privacy for SGD via
Optimal Private Linear Operators on Adaptive Streams, NeurIPS 2022 (the fixed point).
"""

import math
from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.workloads.matrix import Matrix

Vector = NDArray[np.float64]
Valued = Callable[[Vector], tuple[float, Vector]]

MOST_BINS = 1024
_GRID = 2**16
_BLOCKS = 64
_SIBLINGS = 8
_NEAR = 1.12
_ROUNDS = 12
_STEPS = 150
_MEMORY = 12
_ENOUGH = 1e-6
_FAR = 1e6


def for_l2(gram: Vector) -> Matrix:
    """A matrix whose columns have L2 norms of about the grid, and whose error is within a few percent of the best.

    gram is G = W^T W for a workload W. At the optimum X = A^T A is V^(-1/2) S V^(-1/2) with S^2 = V^(1/2) G V^(1/2)
    for a diagonal V, and diag(X) = 1. Any V gives the error max(diag(X)) tr(S) and the lower bound 2 tr(S) - tr(V).
    What a column has less than the longest is then filled up on the diagonal, which only adds to what is measured.
    """
    bins = len(gram)
    ridged = gram + np.eye(bins) * (np.trace(gram) / bins * 1e-9)
    weights = np.sqrt(np.diag(ridged))
    for _ in range(_ROUNDS):
        outer = np.sqrt(weights)
        values, vectors = np.linalg.eigh(outer[:, None] * ridged * outer)
        roots = np.sqrt(np.maximum(values, values.max() * 1e-15))
        root = (vectors * roots) @ vectors.T
        best = root / outer[:, None] / outer
        if best.diagonal().max() * roots.sum() <= _NEAR * (2 * roots.sum() - weights.sum()):
            break
        weights = root.diagonal().copy()
    filled = best / best.diagonal().max()
    filled += np.diag(1 - filled.diagonal())
    values, vectors = np.linalg.eigh(filled)
    return _whole((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def for_l1(gram: Vector) -> Matrix:
    """A matrix whose columns add up to about the grid: every bin, and sums of up to 64 blocks of bins with weights.

    Only the weights of the blocks are improved, so the problem stays small: with T the weights, s = 1 + the sums of
    its columns and w the widths of the blocks, the error is tr(S G S) - tr((I + T w T^T)^-1 T S G' S T^T), where G'
    adds up G over blocks.
    """
    bins = len(gram)
    edges = np.unique(np.linspace(0, bins, min(_BLOCKS, bins) + 1).round().astype(int))
    starts, widths = edges[:-1], np.diff(edges)
    summed = np.add.reduceat(np.add.reduceat(gram, starts, axis=0), starts, axis=1)
    alone = np.add.reduceat(gram.diagonal(), starts)
    start = np.sqrt(_tree_like(len(widths)))
    found = minimize(_Blocks(summed, alone, widths.astype(float), start.shape), start.ravel())
    blocks = np.square(found.reshape(start.shape))
    shares = np.repeat(1 / (1 + blocks.sum(axis=0)), widths)
    return _whole(np.vstack([np.diag(shares), np.repeat(blocks, widths, axis=1) * shares]))


def _tree_like(blocks: int) -> Vector:
    """Each block, and every eight beside each other; a little of everything else, so that it can grow.

    What is added differs from place to place in a fixed pattern: equal rows would stay equal.
    """
    groups = -(-blocks // _SIBLINGS)
    weights = np.zeros((blocks + groups, blocks))
    weights[:blocks] = 0.8 * np.eye(blocks)
    for group in range(groups):
        weights[blocks + group, group * _SIBLINGS : (group + 1) * _SIBLINGS] = 0.6
    places = np.arange(weights.size, dtype=np.float64).reshape(weights.shape)
    pattern: Vector = weights + 0.002 * np.modf(places * 0.6180339887498949)[0]
    return pattern


class _Blocks:
    """Error for weights of blocks, which are squares of what is changed, and its gradient."""

    def __init__(self, summed: Vector, alone: Vector, widths: Vector, shape: tuple[int, ...]) -> None:
        self._summed, self._alone, self._widths, self._shape = summed, alone, widths, shape

    def __call__(self, roots: Vector) -> tuple[float, Vector]:
        signed = roots.reshape(self._shape)
        weights = np.square(signed)
        sizes = 1 + weights.sum(axis=0)
        if not sizes.max() < _FAR:
            return math.inf, np.zeros_like(roots)
        gram = self._summed * sizes[:, None] * sizes
        solved = np.linalg.solve(np.eye(len(weights)) + (weights * self._widths) @ weights.T, weights)
        product = solved @ gram
        error = float(np.square(sizes) @ self._alone - (product * weights).sum())
        slope = 2 * (product @ weights.T) @ solved * self._widths - 2 * product
        slope += 2 * sizes * self._alone - 2 * ((weights.T @ solved) * self._summed) @ sizes
        return error, (2 * signed * slope).ravel()


def minimize(valued: Valued, start: Vector) -> Vector:
    """Minimize a smooth function from a starting point, by limited-memory BFGS."""
    place, (value, slope) = start, valued(start)
    pairs: deque[tuple[Vector, Vector]] = deque(maxlen=_MEMORY)
    for _ in range(_STEPS):
        direction = _direction(slope, pairs)
        length = 1.0 if pairs else 1 / np.abs(slope).sum()
        enough = 1e-4 * float(slope @ direction)
        while (after := valued(place - length * direction))[0] > value - length * enough:
            length /= 2
            if length < 1e-12:
                return place
        step, turn = -length * direction, after[1] - slope
        if step @ turn > 1e-12 * np.sqrt((step @ step) * (turn @ turn)):
            pairs.append((step, turn))
        gained, (value, slope) = value - after[0], after
        place = place + step
        if gained < _ENOUGH * value:
            break
    return place


def _direction(slope: Vector, pairs: deque[tuple[Vector, Vector]]) -> Vector:
    """The slope, turned and stretched by the curvature along earlier steps."""
    direction, factors = slope.copy(), []
    for step, turn in reversed(pairs):
        factors.append(step @ direction / (turn @ step))
        direction -= factors[-1] * turn
    if pairs:
        step, turn = pairs[-1]
        direction *= (step @ turn) / (turn @ turn)
    for (step, turn), factor in zip(pairs, reversed(factors), strict=True):
        direction += step * (factor - turn @ direction / (turn @ step))
    return direction


def _whole(weights: Vector) -> Matrix:
    """The matrix on a grid of whole numbers, without rows of zeros."""
    entries = np.rint(weights * _GRID).astype(np.int64)
    return Matrix(np.ascontiguousarray(entries[np.abs(entries).max(axis=1) > 0]))
