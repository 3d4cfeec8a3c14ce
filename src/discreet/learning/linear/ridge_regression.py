"""Private ridge regression, with the interface of scikit-learn, and from the moments that a session released."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.errors import ParameterError, UnknownCallError, public_class, short_traceback
from discreet.exact.numbers import Number, rational
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import ONE, Floats
from discreet.learning.estimator import Features
from discreet.learning.linear.least_squares import ridge_solution
from discreet.learning.linear.linear_model import LinearModel
from discreet.learning.linear.released_moments import ReleasedMoments, read_moments
from discreet.learning.linear.ridge_learner import SCALE, RidgeLearner, design_of, slot_weights
from discreet.learning.linear.scale_learner import has_equal_bins, outer_bounds
from discreet.learning.regressor import PrivateRegressor

# isort: split
# after the modules of discreet, which say what to install where scikit-learn is missing
from sklearn.utils.validation import check_is_fitted


@public_class
class Ridge(PrivateRegressor):
    """Private ridge regression on declared features.

    One noisy sum of products is all that it reads. The ridge term follows from the noise: no choice is made on rows.
    A number is a straight line over its bins, and each category has a weight of its own.

    Args:
        features: Declaration of each column by its name, or one declaration for all columns.
        target_bounds: Lowest and highest target; targets outside count as the nearest.
        size: Approximate number of people. Sessions plan with it, or with the number in the catalog; `fit` does not.
        budget: Account that fits are charged to; clones share it.
        epsilon: Epsilon of one fit. Default: the whole epsilon of the account's budget.
        rho: The same as a rho of zero-concentrated privacy.
        neighbours: Which two tables must be hard to tell apart: "add_remove" or "replace_one" a person.
        alpha: Ridge term beside the one that the noise asks for, in rows. Default 0.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(20_000)
        >>> model = dp.learning.Ridge(
        ...     features={"education_years": dp.learning.linear_bins(0, 22, 22)},
        ...     target_bounds=(0, 200_000),
        ...     budget=dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-6)),
        ... )
        >>> low, high = model.fit(people.select(["education_years"]), people["income"]).predict([[9], [21]])
        >>> bool(low < high)
        True
    """

    model_: LinearModel
    _model_class = LinearModel

    def __init__(
        self,
        *,
        features: Features | None = None,
        target_bounds: tuple[float, float] | None = None,
        size: int | None = None,
        budget: BudgetAccount | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        neighbours: str = "add_remove",
        alpha: float = 0.0,
    ) -> None:
        self.features = features
        self.target_bounds = target_bounds
        self.size = size
        self.budget = budget
        self.epsilon = epsilon
        self.rho = rho
        self.neighbours = neighbours
        self.alpha = alpha

    def _learner(self, features: dict[str, DeclaredFeature], rho: Fraction, *, replace_one: bool) -> RidgeLearner:
        self.declared_bounds()
        return RidgeLearner(features, rho, replace_one, _ridge_term(self.alpha))

    @property
    def coef_(self) -> Floats:
        """What one unit of each feature adds to the target, where all are numbers in bins of equal width."""
        return self._line()[0]

    @property
    def intercept_(self) -> float:
        """The target where all features are 0, by the same lines."""
        return self._line()[1]

    def _line(self) -> tuple[Floats, float]:
        """Slopes and intercept in the units of the columns, from the public weights."""
        check_is_fitted(self, "model_")
        if not all(map(has_equal_bins, self.features_.values())):
            raise UnknownCallError(
                "coef_ of a Ridge with categories or bins of several widths",
                because="categories and such bins have a weight each, not one slope",
                instead="model.model_.coefficients()",
            )
        return _line_of(self.model_, self.declared_bounds())

    @classmethod
    @short_traceback
    def from_moments(
        cls, release: Any, *, target: str, features: Sequence[str] | None = None, alpha: float = 0.0
    ) -> Self:
        """The regression of one column of released moments on others: post-processing, without a further cost.

        Args:
            release: Release of `table.moments(...)` with all products.
            target: Name of the column that is predicted.
            features: Names of the columns that it is predicted from. Default: all others.
            alpha: Ridge term beside the one that the noise asks for, in rows. Default 0.

        Returns:
            A fitted regression.

        Raises:
            ParameterError: If the release has other columns, or squares alone.

        Example:
            >>> import discreet as dp
            >>> people = dp.datasets.people(20_000)
            >>> bounds = {"education_years": (0, 22), "income": (0, 200_000)}
            >>> query = dp.table("people").moments(*bounds, bounds=bounds)
            >>> budget = dp.Budget(epsilon=1, delta=1e-9)
            >>> with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=budget) as session:
            ...     release = session.release(query, epsilon=1)
            >>> model = dp.learning.Ridge.from_moments(release, target="income")
            >>> low, high = model.predict([[9], [21]])
            >>> bool(low < high)
            True
        """
        moments = read_moments(release)
        names = [name for name in moments.names if name != target] if features is None else list(features)
        place = moments.place(target)
        if not names or target in names or np.isnan(moments.matrix).any():
            raise ParameterError(
                "a regression on moments without features, or on squares alone",
                because="it needs the products of the target and each feature",
                instead='moments("age", "hours", "income"), and target="income"',
            )
        declared = {name: moments.feature(name) for name in names}
        fitted = cls(features=declared, target_bounds=(moments.lows[place], moments.highs[place]), alpha=alpha)
        model = LinearModel(declared, _weights(moments, names, target, _ridge_term(alpha)))
        return fitted.adopt(model, declared, moments.event, moments.guarantee)


def _weights(moments: ReleasedMoments, names: Sequence[str], target: str, alpha: float) -> Any:
    """The weights of slots, with what the catalog declares for missing values."""
    places = [0, *(1 + moments.place(name) for name in (*names, target))]
    solution = ridge_solution(moments.matrix[np.ix_(places, places)], moments.deviation, alpha)
    design = design_of({name: moments.feature(name) for name in names})
    missing = [round(moments.middles[moments.place(name)] * SCALE) for name in names]
    design.values[design.firsts] = missing
    return slot_weights(design, solution)


def _line_of(model: LinearModel, bounds: tuple[float, float]) -> tuple[Floats, float]:
    """Slopes and intercept of a linear model of numbers in bins of equal width, in the units of columns and target.

    The weights of a feature are a line over its bins, so two of them give it, but for steps of 2^-20.
    """
    design = design_of(model.features)
    lows, highs = outer_bounds(model.features)
    first, last = design.firsts + 1, np.append(design.firsts[1:], len(design.values)) - 1
    weights, values = model.weights[:, 0] / ONE, design.values / SCALE
    slopes = (weights[last] - weights[first]) / (values[last] - values[first])
    constant = float((weights[first] - slopes * values[first]).sum())
    low, high = bounds
    half, slopes = (high - low) / 2, slopes / ((highs - lows) / 2)
    constant -= float(slopes @ (lows + highs)) / 2
    found: Floats = half * slopes
    return found, low + half + half * constant


def _ridge_term(alpha: object) -> float:
    term = float(rational(alpha, "alpha"))
    if term < 0:
        raise ParameterError(
            f"alpha={alpha}", because="a negative ridge term makes coefficients grow without limit", instead="alpha=1"
        )
    return term
