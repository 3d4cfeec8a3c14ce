"""The link of the clipped loss: from public scores to probabilities of classes.

A learner that clips the gradient of each row does not minimise the logistic loss, so the logistic function of its score
is not the probability of a class. Let q be the softmax of the scores, and let the gradient e_k - q of a row of class k
be scaled to a norm of at most r. The expected gradient is zero where p_k min(1, r/|e_k - q|) is proportional to q_k. So
the probability of class k is proportional to q_k max(1, |e_k - q|/r). Learners use r = sqrt(1 - 1/classes), the norm at
equal scores. Then the order of the classes by probability is their order by score.

Scores and probabilities are public: this module reads no rows.
"""

import numpy as np

from discreet.learning.core.lattice import Floats


def probabilities(scores: Floats) -> Floats:
    """Probabilities of the classes, of public scores.

    Args:
        scores: The score of the second of two classes, in one column or none, or one column for each class.

    Returns:
        One column for each class; each row adds up to 1.
    """
    columns = np.asarray(scores, dtype=np.float64).reshape(len(scores), -1)
    if columns.shape[1] == 1:
        columns = np.hstack([np.zeros_like(columns), columns])
    shares = np.exp(columns - columns.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    squares = (shares**2).sum(axis=1, keepdims=True)
    lengths = np.sqrt(np.maximum(1 - 2 * shares + squares, 0))
    weighted = shares * np.maximum(1, lengths / np.sqrt(1 - 1 / columns.shape[1]))
    result: Floats = weighted / weighted.sum(axis=1, keepdims=True)
    return result
