"""What scikit-learn asks of an estimator beside `fit` and `predict`: clones, tags, and the state that copies have."""

from importlib.util import find_spec
from typing import Any, ClassVar, Self

from discreet.errors import missing_extra
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.lattice import ONE
from discreet.learning.core.training import planned_sum
from discreet.planner.budget.allocation import Spending

if find_spec("sklearn") is None:
    raise missing_extra("an estimator", "scikit-learn", "learning")

from sklearn.base import BaseEstimator

_RELEASED = ("model_", "event_", "guarantee_", "features_", "classes_")
FITTED_STATE = (*_RELEASED, "n_features_in_", "feature_names_in_", "_sklearn_output_config", "_metadata_request")
"""All that copies of a fitted estimator keep beside its arguments; releases and evaluations are not copied."""


class SklearnProtocol(BaseEstimator):  # type: ignore[misc]
    """An estimator of scikit-learn whose clones share one account, and whose copies hold released facts alone."""

    budget: BudgetAccount | None
    _is_private: ClassVar[bool] = True

    def _spending(self) -> Spending:
        """What one fit costs, from the budget of the account."""
        raise NotImplementedError

    def __sklearn_clone__(self) -> Self:
        """A copy that is not fitted and has the same account; refused where its fit would not fit the account.

        A search of scikit-learn clones before each fit, and hides errors of fits: this one it cannot hide.
        """
        if self._is_private and isinstance(self.budget, BudgetAccount) and self.budget.charges:
            self.budget.check(planned_sum(ONE, 1, self._spending().amount).noise.event())
        copy: Self = super().__sklearn_clone__()
        return copy

    def __getstate__(self) -> dict[str, Any]:
        allowed = {*self.get_params(deep=False), *FITTED_STATE}
        return {name: value for name, value in super().__getstate__().items() if name in allowed}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        tags.non_deterministic = self._is_private
        return tags
