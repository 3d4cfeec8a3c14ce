"""Estimators without noise, for tests: NOT PRIVATE. They show what an algorithm does, and run the checks of sklearn.

They train on exact sums and are not charged; evaluations and sessions refuse them. What was not declared (features,
classes, bounds, size) is taken from the rows, and rows that a private estimator leaves out in silence are errors here.
"""

from fractions import Fraction
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from discreet import events
from discreet.accounting.filters import Budget
from discreet.errors import ParameterError, UnsupportedError, short_traceback
from discreet.learning.core.features import DeclaredFeature, categories, linear_bins
from discreet.learning.core.training import ExactSums, NoisySums
from discreet.learning.estimator import PrivateEstimator
from discreet.learning.tables import TableView, numbers, open_cells, open_table, texts
from discreet.plan.models import ModelFacts
from discreet.planner.budget.allocation import Spending, spending

from sklearn.utils.multiclass import check_classification_targets  # isort: skip
from sklearn.utils.validation import column_or_1d  # isort: skip

__all__ = ["noiseless"]

STAMP = "NOT PRIVATE: trained without noise, for tests"
ASSUMED_EPSILON = Fraction(100)


class _NotPrivate(PrivateEstimator):
    """What differs from a private estimator: exact sums, no charge, and facts from rows."""

    _is_private: ClassVar[bool] = False
    _sums: ClassVar[type[NoisySums]] = ExactSums
    _facts: dict[str, Any]

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:  # noqa: N803 - the name of scikit-learn
        """Train without noise: NOT PRIVATE.

        Args:
            X: Table of rows: pandas, Polars, Arrow, numpy or lists.
            y: Target of each row; a scaler needs none.
            groups: Person of each row. Default: each row is a person.

        Returns:
            The estimator.

        Raises:
            ValueError: If a row has no target that can be used, or there are no rows.
        """
        table = open_table(X)
        self._facts = {"size": max(1, table.rows)}
        if not table.rows:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if y is not None and "classes" in self.get_params(deep=False):
            self._facts["classes"] = _found_classes(y)
        elif y is not None:
            self._facts["bounds"] = _found_bounds(y)
        return super().fit(X, y, groups)

    def declared_size(self) -> int:
        return super().declared_size() if self.size is not None else int(self._facts["size"])

    def declared_classes(self) -> tuple[object, ...]:
        given: Any = getattr(self, "classes", None)
        if given is not None or not self._facts["classes"]:
            found: tuple[object, ...] = super().declared_classes()
            return found
        return tuple(self._facts["classes"])

    def declared_bounds(self) -> tuple[float, float]:
        given: Any = getattr(self, "target_bounds", None)
        if given is not None:
            found: tuple[float, float] = super().declared_bounds()
            return found
        low, high = self._facts["bounds"]
        return (low, high) if low < high else (low - 1, high + 1)

    def _guarantee_text(self, guarantee: str) -> str:  # noqa: ARG002 - nothing is guaranteed
        return STAMP

    def save(self, path: Any) -> NoReturn:  # noqa: ARG002 - nothing is written
        raise UnsupportedError(
            "a saved model that is NOT PRIVATE",
            because="it was trained without noise, for tests",
            instead="model.fit(X, y).save(path), with the private estimator",
        )

    def training(self, facts: ModelFacts) -> NoReturn:  # noqa: ARG002 - refused for all facts
        raise UnsupportedError(
            "a model in a session that is NOT PRIVATE",
            because="it would be charged and look private; it has no noise, for tests",
            instead='dp.table("adult").fit(model, target="income"), with the private estimator',
        )

    def _spending(self) -> Spending:
        if self.budget is not None:
            return super()._spending()
        whole = Budget(epsilon=ASSUMED_EPSILON, delta=Fraction(1, 10**5), reason="tests without noise")
        epsilon = ASSUMED_EPSILON if self.epsilon is None and self.rho is None else self.epsilon
        return spending(whole, epsilon=epsilon, rho=self.rho, mechanism="gaussian")

    def _charge(self, event: events.Event) -> None:
        pass

    def _table_features(self, table: TableView) -> dict[str, DeclaredFeature]:
        if self.features is not None:
            return super()._table_features(table)
        return {f"x{place}": _found_feature(table.column(place)) for place in range(table.width)}

    def __getstate__(self) -> dict[str, Any]:
        facts = {"_facts": self._facts} if hasattr(self, "_facts") else {}
        return super().__getstate__() | facts

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803 - the name of scikit-learn
        return f"{STAMP}\n{super().__repr__(N_CHAR_MAX)}"


@short_traceback
def noiseless(estimator: PrivateEstimator) -> Any:
    """The same estimator without noise, for tests: NOT PRIVATE, and its repr and guarantee say so.

    Args:
        estimator: The estimator. What it does not declare is taken from rows.

    Returns:
        An estimator that is not fitted, of a class of its own.

    Raises:
        ParameterError: If it is not an estimator of discreet.

    Example:
        >>> import discreet as dp
        >>> dp.learning.testing.noiseless("model")
        Traceback (most recent call last):
        discreet.errors.ParameterError: ...
    """
    if not isinstance(estimator, PrivateEstimator):
        raise ParameterError(
            f"a variant without noise of a {type(estimator).__name__}",
            because="only estimators of dp.learning have noise to leave out",
            instead="dp.learning.testing.noiseless(dp.learning.LogisticRegression())",
        )
    if isinstance(estimator, _NotPrivate):
        return estimator
    return _variant(type(estimator))(**estimator.get_params(deep=False))


def _variant(kind: type[PrivateEstimator]) -> type[PrivateEstimator]:
    """The class of the variants of a class: a global name here, so that checks can pickle them."""
    name = f"NotPrivate{kind.__name__}"
    known = globals().get(name)
    if isinstance(known, type) and issubclass(known, kind):
        return known
    found = type(name, (_NotPrivate, kind), {"__doc__": STAMP, "__module__": __name__, "__init__": kind.__init__})
    globals()[name] = found
    return found


def _found_classes(y: Any) -> list[object]:
    column = column_or_1d(_values(y))
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        raise ValueError("Input y contains NaN or infinity.")
    check_classification_targets(column)
    found: list[object] = np.unique(column).tolist()
    if len(found) < 2:
        raise ValueError("y has one class, and a classifier needs two")
    return found


def _found_bounds(y: Any) -> tuple[float, float]:
    column = numbers(open_cells(y, "y"))
    if not np.isfinite(column).all():
        raise ValueError("Input y contains NaN or infinity.")
    return float(column.min()), float(column.max())


def _values(y: Any) -> Any:
    return y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)


def _found_feature(cells: Any) -> DeclaredFeature:
    column = numbers(cells)
    inside = column[np.isfinite(column)]
    if len(inside):
        low, high = float(inside.min()), float(inside.max())
        return linear_bins(low, high if low < high else low + 1)
    return categories(sorted({text for text in texts(cells).to_pylist() if text is not None} or {"none"}))
