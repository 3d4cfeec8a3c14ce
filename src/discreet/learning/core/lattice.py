"""Public functions on an integer lattice: what a row contributes depends on that row and the public model, bit for bit.

Definition
    Scores, gradients and probabilities are whole numbers of steps; 2^20 steps are 1. The logistic function is a public
    table with 2^11 steps of a score between two entries, constant beyond scores of 16. The softmax of a row is a
    quotient of entries of a public table of exponentials, rounded down.

Guarantee
    Each function reads one row alone and uses integers, so removing, adding or reordering other rows changes no bit of
    a row's value. A product of matrices in floats has no such property: its sums depend on how rows are arranged.
    Proof: docs/proofs/learning/core/lattice.md.

Exactness
    The tables are made once by floats and rounded; they are public constants, and any table is as private. They are
    the same on every machine whose floats follow IEEE 754 up to the last step, and a fit uses one of them throughout.

Not covered
    Accuracy: a probability is within 2^-10 of the exact one.

References
    Mironov, On Significance of the Least Significant Bits for Differential Privacy, CCS 2012 (what floats reveal).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

BITS = 20
ONE = 1 << BITS
HALF = ONE // 2
_FINE = 11
_WIDEST = 16

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def _logistic_table() -> Integers:
    places = np.arange(-_WIDEST << (BITS - _FINE), (_WIDEST << (BITS - _FINE)) + 1) / (1 << (BITS - _FINE))
    table: Integers = np.rint(ONE / (1 + np.exp(-places))).astype(np.int64)
    return table


def _exponential_table() -> Integers:
    places = np.arange(0, (_WIDEST << (BITS - _FINE)) + 1) / (1 << (BITS - _FINE))
    table: Integers = np.rint(ONE * np.exp(-places)).astype(np.int64)
    return table


_LOGISTIC, _EXPONENTIAL = _logistic_table(), _exponential_table()


def logistic(scores: Integers) -> Integers:
    """Probabilities in steps, of scores in steps."""
    middle = len(_LOGISTIC) // 2
    table: Integers = _LOGISTIC[np.clip((scores >> _FINE) + middle, 0, 2 * middle)]
    return table


def softmax(scores: Integers) -> Integers:
    """Probabilities in steps of the classes, of one row of scores in steps for each row."""
    behind = scores.max(axis=1, keepdims=True) - scores
    weights = _EXPONENTIAL[np.minimum(behind >> _FINE, len(_EXPONENTIAL) - 1)]
    shares: Integers = (weights << BITS) // weights.sum(axis=1, keepdims=True)
    return shares


def root_up(square: int) -> int:
    """The square root of a whole number from 0 on, rounded up: a clip is never shorter than what it stands for."""
    root = math.isqrt(square)
    return root + (root * root < square)


def steps_of(values: Any) -> Integers:
    """Numbers of a public model as whole steps."""
    steps: Integers = np.rint(np.asarray(values, dtype=np.float64) * ONE).astype(np.int64)
    return steps
