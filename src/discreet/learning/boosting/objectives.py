"""First and second derivatives of a row's loss on the integer lattice, cut so that no row outweighs those of the start.

Definition
    A row has a score for each output, in steps of 2^-20. Its residual is the difference between its target and the
    public link of its scores: the logistic function, the softmax, or the score itself. The residual is cut to the L2
    norm c that it has at the start of training: 1/2 for two classes, the root of 1 - 1/K for K; to 1/2 for a number in
    [-1, 1]. The Hessian is q(1-q) for two classes, (1 - sum q^2)/K for K, and 0 for a row that was cut; for a number it
    is 1, and counts 0.3. Scores start at 0.

Guarantee
    Both are functions of one row's target and scores, in integers: no bit depends on other rows. `clip` bounds a
    person's vector, which `discreet.learning.core.sums` enforces for any row. Proof:
    docs/proofs/learning/boosting/objectives.md.

Exactness
    64-bit integers throughout; products are below 2^42 for each class.

Not covered
    The number of rows of a person: the sum over people clips their total.

References
    Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of Statistics 29, 2001.
    Nori and others, Accuracy, Interpretability, and Differential Privacy via Explainable Boosting, ICML 2021.
"""

from dataclasses import dataclass

import numpy as np

from discreet.learning.core.lattice import BITS, HALF, ONE, Integers, logistic, root_up, softmax
from discreet.learning.core.sums import scale_rows

NUMBER_WEIGHT = 3 * ONE // 10
"""What a row of a regression adds as its Hessian: 0.3."""


@dataclass(frozen=True)
class Objective:
    """The loss of a model: of a class among `classes`, or of a number in [-1, 1] where `classes` is 0.

    Attributes:
        classes: Number of classes; 0 for a number.
    """

    classes: int

    @property
    def outputs(self) -> int:
        """Scores of a row: one for two classes or a number, else one for each class."""
        return self.classes if self.classes > 2 else 1

    @property
    def width(self) -> int:
        """What a row adds to its leaf: a residual for each output, and one Hessian."""
        return self.outputs + 1

    @property
    def hessian_weight(self) -> float:
        """What the Hessian of a row is multiplied by before it is summed."""
        return 1.0 if self.classes else NUMBER_WEIGHT / ONE

    @property
    def step_scale(self) -> float:
        """What the quotient of residual and Hessian is multiplied by."""
        return (self.classes - 1) / self.classes if self.outputs > 1 else 1.0

    @property
    def residual_clip(self) -> int:
        """The largest norm of a row's residual."""
        return HALF if self.outputs == 1 else root_up(ONE * ONE * (self.classes - 1) // self.classes)

    @property
    def clip(self) -> int:
        """The largest norm of a row's residual and Hessian together."""
        hessian = ONE // 4 if self.classes else NUMBER_WEIGHT
        if self.outputs > 1:
            hessian = ONE * (self.classes - 1) // self.classes**2 + 1
        return root_up(self.residual_clip**2 + hessian**2)

    def derivatives(self, target: Integers, scores: Integers) -> Integers:
        """The residual of each output, then the Hessian, in steps: one row for each row."""
        if not self.classes:
            return self._number(target, scores)
        return self._two_classes(target, scores) if self.outputs == 1 else self._classes(target, scores)

    def _number(self, target: Integers, scores: Integers) -> Integers:
        residual = np.clip(np.clip(target, -ONE, ONE) - scores[:, 0], -HALF, HALF)
        return np.stack([residual, np.full(len(target), NUMBER_WEIGHT, dtype=np.int64)], axis=1)

    def _two_classes(self, target: Integers, scores: Integers) -> Integers:
        share = logistic(scores[:, 0])
        residual = (target == 1) * ONE - share
        hessian = np.where(np.abs(residual) <= HALF, share * (ONE - share) >> BITS, 0)
        return np.stack([np.clip(residual, -HALF, HALF), hessian], axis=1)

    def _classes(self, target: Integers, scores: Integers) -> Integers:
        share = softmax(scores)
        residual = (target[:, None] == np.arange(self.classes)) * ONE - share
        over = np.einsum("ij,ij->i", residual, residual) > self.residual_clip**2
        spread = (ONE * ONE - np.einsum("ij,ij->i", share, share)) // (self.classes * ONE)
        hessian = np.where(over, 0, np.minimum(spread, ONE * (self.classes - 1) // self.classes**2))
        return np.concatenate([scale_rows(residual, self.residual_clip), hessian[:, None]], axis=1)
