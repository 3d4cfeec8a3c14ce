"""Private scaling of columns, with the interface of scikit-learn, and from the moments that a session released."""

from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import Floats, Integers
from discreet.learning.estimator import Features, PrivateEstimator
from discreet.learning.linear.least_squares import means_and_deviations
from discreet.learning.linear.released_moments import read_moments
from discreet.learning.linear.scale_learner import ScaleLearner, ScaleModel, has_equal_bins, scale_model
from discreet.learning.tables import TableView, column_places, numbers, open_table

# isort: split
# after the modules of discreet, which say what to install where scikit-learn is missing
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

_DECLARATION = 'features={"age": dp.learning.linear_bins(17, 90, 1_000)}'


@public_class
class StandardScaler(TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Scale columns to mean 0 and deviation 1, by a private mean and a private standard deviation of each.

    Args:
        features: Columns by name in bins of equal width, or one declaration for all columns.
        size: Approximate number of people. Sessions plan with it, or with the number in the catalog; `fit` does not.
        budget: Account that fits are charged to; clones share it.
        epsilon: Epsilon of one fit. Default: the whole epsilon of the account's budget.
        rho: The same as a rho of zero-concentrated privacy.
        neighbours: Which two tables must be hard to tell apart: "add_remove" or "replace_one" a person.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(20_000).select(["hours_per_week"])
        >>> scaler = dp.learning.StandardScaler(
        ...     features={"hours_per_week": dp.learning.linear_bins(0, 100, 1_000)},
        ...     budget=dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-6)),
        ... )
        >>> bool(abs(scaler.fit_transform(people).mean()) < 0.1)
        True
    """

    model_: ScaleModel
    has_target = False
    _model_class = ScaleModel

    def __init__(
        self,
        *,
        features: Features | None = None,
        size: int | None = None,
        budget: BudgetAccount | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        neighbours: str = "add_remove",
    ) -> None:
        self.features = features
        self.size = size
        self.budget = budget
        self.epsilon = epsilon
        self.rho = rho
        self.neighbours = neighbours

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:  # noqa: N803 - the name of scikit-learn
        """Find private means and deviations; the cost is charged before a cell is read.

        Args:
            X: Table of rows: pandas, Polars, Arrow, numpy or lists.
            y: Not used.
            groups: Person of each row. Default: each row is a person.

        Returns:
            The scaler.
        """
        return super().fit(X, y, groups)

    def _learner(self, features: dict[str, DeclaredFeature], rho: Fraction, *, replace_one: bool) -> ScaleLearner:
        fit = [name for name, feature in features.items() if has_equal_bins(feature)]
        if len(fit) < len(features):
            raise ParameterError(
                "scaling of a column without bins of equal width",
                because="means and deviations are of numbers between two bounds",
                instead=f"features={fit} in dp.table(...).fit" if fit else _DECLARATION,
            )
        return ScaleLearner(features, rho, replace_one)

    @classmethod
    @short_traceback
    def from_moments(cls, release: Any) -> Self:
        """The scaler of the columns of released moments: post-processing, without a further cost.

        Args:
            release: Release of `table.moments(...)`.

        Returns:
            A fitted scaler.

        Raises:
            ParameterError: If the release is not of moments.

        Example:
            >>> import discreet as dp
            >>> people = dp.datasets.people(20_000)
            >>> query = dp.table("people").moments("income", bounds={"income": (0, 200_000)}, products="squares")
            >>> budget = dp.Budget(epsilon=1, delta=1e-9)
            >>> with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=budget) as session:
            ...     release = session.release(query, epsilon=1)
            >>> scaler = dp.learning.StandardScaler.from_moments(release)
            >>> bool(abs(scaler.transform(people.select(["income"])).mean()) < 0.1)
            True
        """
        moments = read_moments(release)
        declared = {name: moments.feature(name) for name in moments.names}
        matrix = moments.matrix
        scaled = means_and_deviations(float(matrix[0, 0]), matrix[0, 1:], np.diag(matrix)[1:])
        model = scale_model(*scaled, np.asarray(moments.lows), np.asarray(moments.highs))
        return cls(features=declared).adopt(model, declared, moments.event, moments.guarantee)

    def transform(self, X: Any) -> Floats:  # noqa: N803 - the name of scikit-learn
        """The columns less their means, over their deviations; missing values stay missing.

        Args:
            X: Table of rows.

        Returns:
            One column for each feature.

        Raises:
            TableShapeError: If the columns are not those of the declared features.
        """
        check_is_fitted(self, "model_")
        table = open_table(X)
        places = column_places(table, list(self.features_), type(self).__name__, by_name=self.has_names)
        columns = np.column_stack([numbers(table.column(place)) for place in places])
        scaled: Floats = (columns - self.mean_) / self.scale_
        return scaled

    @property
    def mean_(self) -> Floats:
        """The private mean of each column."""
        check_is_fitted(self, "model_")
        return self.model_.means.copy()

    @property
    def scale_(self) -> Floats:
        """The private standard deviation of each column, and 1 where it is 0: what `transform` divides by."""
        check_is_fitted(self, "model_")
        found: Floats = np.where(self.model_.deviations > 0, self.model_.deviations, 1.0)
        return found

    def _open_target(self, y: Any, table: TableView) -> Any:  # noqa: ARG002 - there is none
        return np.zeros(table.rows)

    def target_steps(self, target: Any) -> tuple[Integers, Any]:
        """No target: every row counts.

        Args:
            target: Not used but for its length: cells or rows.

        Returns:
            Zeros, and that every row counts.
        """
        return np.zeros(len(target), dtype=np.int64), np.ones(len(target), dtype=np.bool_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
