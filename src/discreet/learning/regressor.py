"""The base of regressors: declared bounds of the target, and predictions in its units."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, public_class
from discreet.learning.core.cells import numbers
from discreet.learning.core.lattice import ONE, Floats, Integers
from discreet.learning.core.saved_state import LARGEST
from discreet.learning.estimator import PrivateEstimator

# isort: split
# after the modules of discreet, which say what to install where scikit-learn is missing
from sklearn.base import RegressorMixin


@public_class
class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Base of the regressors: the bounds of the target are declared, and targets are cut to them.

    Attributes:
        target_bounds: Lowest and highest target.
    """

    target_bounds: tuple[float, float] | None

    def declared_bounds(self) -> tuple[float, float]:
        """The declared bounds of the target.

        Returns:
            The lowest and the highest target.

        Raises:
            ParameterError: If they are not two increasing numbers.
        """
        given = self.target_bounds
        low, high = (float(given[0]), float(given[1])) if given is not None and len(given) == 2 else (0.0, 0.0)
        if not -LARGEST < low < high < LARGEST:
            raise ParameterError(
                f"{type(self).__name__} without two increasing target_bounds",
                because="bounds of the target are declared, never read from rows",
                instead="target_bounds=(0, 100)",
            )
        return low, high

    def predict(self, X: Any) -> Floats:  # noqa: N803 - the name of scikit-learn
        """The predicted target of each row.

        Args:
            X: Table of rows.

        Returns:
            Numbers.
        """
        scores = self._scores(X)
        low, high = self.declared_bounds()
        return low / 2 + high / 2 + (high / 2 - low / 2) * scores.reshape(len(scores))

    def target_steps(self, target: Any) -> tuple[Integers, NDArray[np.bool_]]:
        """Steps from -2^20 for the lowest target to 2^20 for the highest.

        Args:
            target: Cells: an Arrow or numpy array.

        Returns:
            Steps, and whether each row has a number.
        """
        found, (low, high) = numbers(target), self.declared_bounds()
        counts = np.isfinite(found)
        inside = np.clip(np.where(counts, found, low), low, high)
        shares = (inside - (low / 2 + high / 2)) / (high / 2 - low / 2)
        return np.clip(np.floor(shares * ONE + 0.5), -ONE, ONE).astype(np.int64), counts
