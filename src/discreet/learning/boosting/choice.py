"""Which term has the next tree: each once, then more often those whose noisy sums were strong. Public throughout."""

import numpy as np

from discreet.learning.boosting.defaults import ADAPTIVE_SHARE


class TermQueue:
    """The order of trees, from noisy sums and public randomness alone, so that it costs no privacy."""

    def __init__(self, terms: int, generator: np.random.Generator) -> None:
        self._generator = generator
        self._energy = np.zeros(terms)
        self._is_new = np.ones(terms, dtype=np.bool_)
        self._queue: list[int] = []

    def next_term(self) -> int:
        """The number of the term of the next tree."""
        if not self._queue:
            self._queue = self._generator.permutation(self._draw()).tolist()
        return self._queue.pop()

    def learn(self, term: int, strength: float, dimension: int) -> None:
        """Note the squared norm of a tree's noisy residuals, in variances of the noise, and their number."""
        excess = strength - dimension
        self._energy[term] = excess if self._is_new[term] else (self._energy[term] + excess) / 2
        self._is_new[term] = False

    def _draw(self) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        """As many terms as there are, by systematic sampling with probabilities that follow their energy."""
        terms = len(self._energy)
        if self._is_new.any():
            return np.arange(terms)
        roots = np.sqrt(np.maximum(self._energy, 0))
        shares = roots / roots.sum() if roots.sum() > 0 else np.full(terms, 1 / terms)
        shares = ADAPTIVE_SHARE * shares + (1 - ADAPTIVE_SHARE) / terms
        places = (self._generator.random() + np.arange(terms)) / terms
        return np.minimum(np.searchsorted(np.cumsum(shares), places, side="right"), terms - 1)
