"""One tree as a sum of people: each row adds its residual and its Hessian to the places of its leaf.

Definition
    A step holds a public model and the leaves of the next tree. A row's scores are integer sums of entries of the
    model's tables; its derivatives (objectives.py) go to the places of its leaf, residuals first.

Guarantee
    What a row adds is a function of that row and the public model, in integers; a person moves the sum by at most the
    clip of the objective, with any number of rows. Scores that were kept from an earlier tree are the same integers
    as scores computed again. Proof: docs/proofs/learning/boosting/steps.md.

Exactness
    64-bit integers. A weight of a tree is at most 16 in magnitude, so scores stay below 2^63 for 2^38 trees.

Not covered
    Noise, and the weights that follow from noisy sums: `discreet.learning.boosting.learner`.

References
    Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of Statistics 29, 2001.
"""

from dataclasses import dataclass, field
from typing import Any
from weakref import ref

import numpy as np

from discreet.learning.boosting.model import AdditiveModel
from discreet.learning.boosting.terms import Leaves, Term
from discreet.learning.core.lattice import Integers
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.sums import Contributions


class ScoreCache:
    """Scores of the blocks of this process: an optimisation, which changes no bit of a contribution.

    Scores of a block are those after `n` trees; the trees after that are added when they are needed. A block that
    nobody else holds is forgotten.
    """

    def __init__(self, model: AdditiveModel) -> None:
        self.model = model
        self._trees: list[tuple[Term, Integers]] = []
        self._blocks: dict[int, tuple[ref[EncodedRows], int, Integers]] = {}

    def grow(self, model: AdditiveModel, number: int, table: Integers) -> None:
        """Go on to the model with one tree more, whose table is added to the term with this number."""
        self._trees.append((model.terms[number], table))
        self.model = model

    def scores(self, rows: EncodedRows) -> Integers:
        """The scores of a block under the model."""
        key = id(rows)
        entry = self._blocks.get(key)
        if entry is None or entry[0]() is not rows:
            scores = self.model.scores(rows.codes)
        else:
            scores = entry[2]
            for term, table in self._trees[entry[1] :]:
                scores = scores + table[term.places(rows.codes)]
        self._blocks[key] = (ref(rows, lambda _: self._forget(key)), len(self._trees), scores)
        return scores

    def _forget(self, key: int) -> None:
        entry = self._blocks.get(key)
        if entry is not None and entry[0]() is None:
            del self._blocks[key]


@dataclass(frozen=True, eq=False)
class TreeStep:
    """The sum of one tree.

    Attributes:
        model: The public model of all trees before.
        leaves: The leaves of the tree.
        cache: Scores of this process; a step that travels to another leaves it behind.
    """

    model: AdditiveModel
    leaves: Leaves
    cache: ScoreCache | None = field(default=None, repr=False)

    has_distinct_places = True

    @property
    def length(self) -> int:
        """The residuals and the Hessian of every leaf."""
        return self.leaves.count * self.model.objective.width

    @property
    def clip(self) -> int:
        """The largest L2 norm of a person's vector."""
        return self.model.objective.clip

    def contributions(self, rows: EncodedRows) -> Contributions:
        """The residuals and the Hessian of each row, at the places of its leaf."""
        is_current = self.cache is not None and self.cache.model is self.model
        scores = self.cache.scores(rows) if self.cache and is_current else self.model.scores(rows.codes)
        values = self.model.objective.derivatives(rows.target, scores)
        leaf = self.leaves.leaf[self.model.terms[self.leaves.term].places(rows.codes)]
        width = self.model.objective.width
        return Contributions(leaf[:, None] * width + np.arange(width), values)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"cache": None}
