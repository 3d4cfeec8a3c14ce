"""The base of classifiers: declared labels, scores as probabilities, and predictions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, public_class
from discreet.learning.core.cells import label_text
from discreet.learning.core.lattice import Floats, Integers
from discreet.learning.estimator import PrivateEstimator
from discreet.learning.tables import TableView, class_numbers, require_readable

# isort: split
# after the modules of discreet, which say what to install where scikit-learn is missing
from sklearn.base import ClassifierMixin


@public_class
class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Base of the classifiers: the labels are declared, in the order of `classes_`.

    Attributes:
        classes: The labels.
    """

    classes: Sequence[object] | None
    classes_: NDArray[Any]

    def declared_classes(self) -> tuple[object, ...]:
        """The declared labels.

        Returns:
            The labels, in order.

        Raises:
            ParameterError: If there are not at least two different ones.
        """
        labels = tuple(self.classes) if self.classes is not None else ()
        names = [label_text(label) for label in labels]
        if len(labels) < 2 or None in names or len(set(names)) < len(names):
            raise ParameterError(
                f"{type(self).__name__} without two different classes",
                because="labels are declared; readers store 1, 01, 1.0, true and yes as one value",
                instead="classes=[0, 1]",
            )
        return tuple(label.item() if isinstance(label, np.generic) else label for label in labels)

    def _set_target_facts(self) -> None:
        labels = self.declared_classes()
        self.classes_ = np.asarray(labels, dtype=object if len({type(label) for label in labels}) > 1 else None)

    def decision_function(self, X: Any) -> Floats:  # noqa: N803 - the name of scikit-learn
        """Scores: logits of the second of two classes, or one score for each class.

        Args:
            X: Table of rows.

        Returns:
            One number, or one for each class, for each row.
        """
        scores = self._scores(X)
        return scores.reshape(len(scores)) if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803 - the name of scikit-learn
        """Probability of each class.

        Args:
            X: Table of rows.

        Returns:
            One row for each row, one column for each of `classes_`.
        """
        return self._probabilities(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803 - the name of scikit-learn
        """The likeliest class of each row.

        Args:
            X: Table of rows.

        Returns:
            Labels.
        """
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        found: NDArray[Any] = self.classes_[places]
        return found

    def _probabilities(self, scores: Floats) -> Floats:
        if scores.ndim == 1:
            second = 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
            return np.column_stack([1 - second, second])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        found: Floats = powers / powers.sum(axis=1, keepdims=True)
        return found

    def _open_target(self, y: Any, table: TableView) -> Any:
        cells = super()._open_target(y, table)
        require_readable(self.declared_classes(), "the class")
        return cells

    def target_steps(self, target: Any) -> tuple[Integers, NDArray[np.bool_]]:
        """The number of the class of each row, and whether it is a declared one.

        Args:
            target: Cells: an Arrow or numpy array.

        Returns:
            Numbers of classes, and whether each row counts.
        """
        found = class_numbers(target, self.declared_classes())
        return found, found >= 0
