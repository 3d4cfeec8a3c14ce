"""What scikit-learn asks of an estimator beside `fit` and `predict`: clones, tags, and the state that copies have."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from discreet.errors import UnknownCallError, missing_extra
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.lattice import ONE
from discreet.learning.core.training import planned_sum
from discreet.planner.budget.allocation import Spending
from discreet.release.model import ATTACHED

if find_spec("sklearn") is None:
    raise missing_extra("an estimator", "scikit-learn", "learning")

from sklearn.base import BaseEstimator

_RELEASED = ("model_", "event_", "guarantee_", "features_", "classes_")
FITTED_STATE = (*_RELEASED, "n_features_in_", "feature_names_in_", "_sklearn_output_config", "_metadata_request")
"""All that copies of a fitted estimator keep beside its arguments; releases and evaluations are not copied."""


class SklearnProtocol(BaseEstimator):  # type: ignore[misc]
    """An estimator of scikit-learn whose clones share one account, and whose copies hold released facts alone."""

    budget: BudgetAccount | None
    has_target: ClassVar[bool] = True
    has_exact_scores: ClassVar[bool] = True
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

    if not TYPE_CHECKING:  # a checker still finds names that are not there

        def __getattr__(self, name: str) -> NoReturn:
            if name in ATTACHED and "model_" in self.__dict__:
                raise _no_evaluation(self) if name == "evaluation" else _no_release(self, name)
            object.__getattribute__(self, name)
            raise AttributeError(name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        tags.non_deterministic = self._is_private
        return tags


def _no_release(model: SklearnProtocol, name: str) -> UnknownCallError:
    return UnknownCallError(
        f"{name} of a {type(model).__name__} without its release",
        because="only models that a session released have it, not copies or models of accounts",
        instead="model.guarantee_ and model.event_, which every fitted model has",
    )


def _no_evaluation(model: SklearnProtocol) -> UnknownCallError:
    """The error for scores that were not released, with the call that releases them."""
    kind, release = type(model).__name__, model.__dict__.get("release")
    if not (model.has_target and model.has_exact_scores):
        return UnknownCallError(
            f"evaluation of a {kind}",
            because="it predicts nothing" if not model.has_target else "its scores are floats, and cannot be released",
            instead="model.transform(X)" if not model.has_target else "model.score(X, y) of public rows",
        )
    if release is None:
        return UnknownCallError(
            f"evaluation of a {kind} that was fitted by itself",
            because="scores on private rows need noise and budget of their own",
            instead="dp.learning.evaluate(model, X, y, budget=account, epsilon=1)",
        )
    query = f"dp.table({release.dataset!r}).fit(model, target={release.target!r}, holdout=0.2)"
    return UnknownCallError(
        f"evaluation of a {kind} that was released without holdout",
        because="it was fitted to all people, so nobody is left to score it",
        instead=f"session.release({query}, epsilon=1)",
    )
