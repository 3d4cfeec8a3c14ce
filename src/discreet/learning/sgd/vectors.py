"""Gradients as integers: floats become steps row by row, the rows of a person are added, and people are clipped.

Nothing here reads more than one row at once before rows are whole numbers. The proof is part of
docs/proofs/learning/sgd/sampled_sums.md.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.learning.core.lattice import Integers
from discreet.learning.core.sums import scale_rows

CLIP = 1 << 20
"""The largest L2 norm of a person's vector, in steps."""
LARGEST_LENGTH = (1 << 62) // CLIP**2
"""Coordinates of a vector: then the squares of a clipped vector add up within 64 bits."""
LARGEST_STEPS = 1 << 31
MOST_ROWS = 1 << 31


def lattice_steps(gradients: NDArray[np.floating], norm: float) -> Integers:
    """Gradients in steps, rounded towards zero, each coordinate alone; a NaN is 0.

    Args:
        gradients: Floats of any kind, also infinite ones.
        norm: The norm that is `CLIP` steps.

    Returns:
        Whole numbers of at most 2^31 in magnitude.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.asarray(gradients, dtype=np.float64) * (CLIP / norm)
    cut = np.clip(np.where(np.isnan(scaled), 0.0, scaled), -LARGEST_STEPS, LARGEST_STEPS)
    steps: Integers = np.trunc(cut).astype(np.int64)
    return steps


def clip_vectors(vectors: Integers) -> Integers:
    """One vector for each person, of an L2 norm of at most `CLIP`, checked in integers.

    A coordinate beyond the clip is cut to it first, so that squares fit 64 bits.

    Args:
        vectors: One row for each person: the sum of the steps of all rows of that person.

    Returns:
        The clipped vectors; those of at most the clip are unchanged.

    Raises:
        OverflowError: If a vector has too many coordinates.
        RuntimeError: If a clipped vector were longer than the clip, which the proof excludes.
    """
    if vectors.shape[1] > LARGEST_LENGTH:
        raise OverflowError("a vector of too many coordinates")
    found = scale_rows(np.clip(vectors, -CLIP, CLIP), CLIP)
    if (np.einsum("ij,ij->i", found, found) > CLIP**2).any():
        raise RuntimeError("a vector beyond its clip")
    return found
