"""Models: a model to train on the rows of a table, declared without data. A session trains it.

adult = dp.table("adult")
fitted = session.release(adult.fit(model, target="income"), epsilon=1)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, positive, rational, shown
from discreet.plan import logical
from discreet.plan.models import SearchOptions, TrainableModel, candidate_arguments, estimator_tag, has_target


@public_class
@dataclass(frozen=True)
class ModelQuery:
    """Query for a trained model; `Frame.fit` makes it.

    Attributes:
        source: The rows.
        model: The model before it is trained.
        target: Name of the column that is predicted; None for a scaler.
        features: Names of the columns that it is predicted from; None for those that the model or the catalog declares.
        holdout: Share of people that the model is scored on, and not fitted to; None for a model without scores.
        search: Candidates of which the best is released; None for one model.

    Example:
        >>> import discreet as dp
        >>> model = dp.learning.LogisticRegression(size=30_000)
        >>> dp.table("adult").fit(model, target="income").target
        'income'
    """

    source: logical.Relation
    model: TrainableModel
    target: str | None
    features: tuple[str, ...] | None = None
    holdout: Fraction | None = None
    search: SearchOptions | None = None


@public_class
class ModelQueries:
    """The queries of a table that train models."""

    _relation: logical.Relation

    @short_traceback
    def fit(
        self,
        model: TrainableModel,
        *,
        target: str | None = None,
        features: Sequence[str] | None = None,
        holdout: Number | None = None,
    ) -> ModelQuery:
        """Train a model on the rows: `session.release` charges for all of it, then returns the fitted model.

        With `holdout` the model is also scored, on people it was not fitted to, and has the figures as `evaluation`.
        Fit and score are one charge: the larger of both where people are added or removed, their sum where one is
        replaced.

        Args:
            model: An estimator of `dp.learning` itself, not of a subclass. It has no epsilon, rho or budget of its own,
                and no other neighbours than the session.
            target: Name of the column that is predicted. `dp.learning.StandardScaler` has none.
            features: Names of the columns that it is predicted from. Default: the features that the model declares, or
                all columns but the target and the privacy unit; each then needs bounds or keys in the catalog.
            holdout: Share of people to hold out, such as 0.2. Where units have names, all queries of a table hold the
                same units out. Where each row is a unit, rows are held out by a hash of their codes, which differs
                between queries and ledgers. Default: none, and the model has no scores.

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If an argument is of another kind, or the model of a class that is not of `dp.learning`.

        Example:
            >>> import discreet as dp
            >>> model = dp.learning.LogisticRegression(size=30_000)
            >>> query = dp.table("adult").fit(model, target="income", features=["age", "sex"], holdout=0.2)
        """
        estimator_tag(model)
        names = None if features is None else _names(features, target)
        share = None if holdout is None else _share(holdout)
        return ModelQuery(self._relation, model, _name(target, model), names, share)

    @short_traceback
    def search(
        self,
        model: TrainableModel,
        candidates: Iterable[Mapping[str, Any]],
        *,
        target: str,
        features: Sequence[str] | None = None,
        holdout: Number = Fraction(1, 5),
        metric: str | None = None,
        runs: int | None = None,
        eta: Number = 0,
    ) -> ModelQuery:
        """Choose among candidates by a random number of private fits and noisy scores; one charge pays for all.

        The released model is the one of the best noisy score. That score is biased upwards. Each fit has less of the
        cost than one fit of the same epsilon: with candidates that differ little, `fit` is often better.

        Args:
            model: A classifier or regressor of `dp.learning` itself, without an epsilon, rho or budget of its own.
            candidates: Arguments that a candidate changes, a dictionary for each.
            target: Name of the column that is predicted.
            features: Names of the columns that it is predicted from. Default: as for `fit`.
            holdout: Share of people to hold out. Default 0.2.
            metric: Figure to choose by: "auc", "accuracy" or "mean_squared_error". Default: "auc" for classifiers.
            runs: Mean number of runs. Default: the number of candidates, at least 2.
            eta: Shape of the number of runs, above -1. A smaller one costs less and spreads the number more. Default 0.

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If an argument is of another kind, or the model of a class that is not of `dp.learning`.

        Example:
            >>> import discreet as dp
            >>> model = dp.learning.GradientBoostingClassifier(size=30_000)
            >>> query = dp.table("adult").search(model, [{"leaves": 4}, {"leaves": 8}], target="income")
        """
        query = ModelQueries.fit(self, model, target=target, features=features, holdout=holdout)
        return replace(query, search=SearchOptions(candidate_arguments(candidates), metric, runs, rational(eta, "eta")))


def _name(target: object, model: TrainableModel) -> str | None:
    name = type(model).__name__
    if not has_target(model):
        if target is not None:
            raise ParameterError(
                f"a target of {name}",
                because="it predicts nothing",
                instead=f"fit(dp.learning.{name}()), and features=[...] where some columns are not scaled",
            )
        return None
    if target is None:
        raise ParameterError(
            f"fit of {name} without a target",
            because="the column that it predicts is named",
            instead='target="income"',
        )
    if not isinstance(target, str):
        raise ParameterError(
            f"target of type {type(target).__name__}", because="a column is named by text", instead='target="income"'
        )
    return target


def _share(holdout: Number) -> Fraction:
    share = positive(holdout, "holdout")
    if share >= 1:
        raise ParameterError(
            f"holdout={shown(share)}", because="it is a share of people, below 1", instead="holdout=0.2"
        )
    return share


def _names(features: object, target: str | None) -> tuple[str, ...]:
    listed = () if isinstance(features, str) or not isinstance(features, Sequence) else tuple(features)
    if not listed or not all(isinstance(name, str) for name in listed) or len(set(listed)) < len(listed):
        raise ParameterError(
            "features that are not a list of names, each once",
            because="a model reads the columns that it names, and no other",
            instead='features=["age", "sex"]',
        )
    if target in listed:
        raise ParameterError(
            f"the target {target!r} among the features",
            because="a model that reads its target predicts nothing",
            instead=f"features={[name for name in listed if name != target] or ['age']}",
        )
    return listed
