"""Gradient boosting as estimators of scikit-learn."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, whole
from discreet.learning.boosting.defaults import LEAVES
from discreet.learning.boosting.learner import BoostingLearner
from discreet.learning.boosting.model import AdditiveModel
from discreet.learning.boosting.terms import terms_of
from discreet.learning.classifier import PrivateClassifier
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import Floats
from discreet.learning.core.link import probabilities
from discreet.learning.estimator import Features, PrivateEstimator
from discreet.learning.regressor import PrivateRegressor

Pairs = Sequence[tuple[str, str]]
MOST_TREES = 100_000


@public_class
class GradientBoostingClassifier(PrivateClassifier):
    """Private gradient boosting of classes: an additive model with one table for each feature.

    Leaves are random and cost nothing; each tree is a noisy sum of clipped residuals and Hessians of people. The model
    can be read: `model.model_.shape("age")` is what ages add to the score, in logits for two classes.

    Args:
        features: Declaration of each column by its name, or one declaration for all columns.
        classes: The labels, at least two.
        size: Approximate number of people, declared.
        budget: Account that fits are charged to; clones share it.
        epsilon: Epsilon of one fit. Default: the whole epsilon of the account's budget.
        rho: The same as a rho of zero-concentrated privacy.
        neighbours: "add_remove" or "replace_one" a person. Default "add_remove".
        interactions: Pairs of features that have trees of their own. Default none.
        rounds: Trees for each feature, on average. Default: from size, features and privacy cost.
        learning_rate: Share of a Newton step that a tree makes. Default: from the rounds.
        leaves: Most leaves of a tree. Default 8.

    Example:
        >>> import discreet as dp
        >>> account = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))
        >>> model = dp.learning.GradientBoostingClassifier(
        ...     features={"age": dp.learning.linear_bins(17, 90)}, classes=["no", "yes"], size=1_000, budget=account
        ... )
        >>> table = {"age": [20 + i % 60 for i in range(1_000)]}
        >>> import pyarrow as pa
        >>> fit = model.fit(pa.table(table), ["yes" if age > 50 else "no" for age in table["age"]])
        >>> fit.predict_proba(pa.table({"age": [25, 70]})).shape
        (2, 2)
    """

    _model_class = AdditiveModel

    @short_traceback
    def __init__(
        self,
        *,
        features: Features | None = None,
        classes: Sequence[object] | None = None,
        size: int | None = None,
        budget: BudgetAccount | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        neighbours: str = "add_remove",
        interactions: Pairs | None = None,
        rounds: int | None = None,
        learning_rate: float | None = None,
        leaves: int = LEAVES,
    ) -> None:
        self.features = features
        self.classes = classes
        self.size = size
        self.budget = budget
        self.epsilon = epsilon
        self.rho = rho
        self.neighbours = neighbours
        self.interactions = interactions
        self.rounds = rounds
        self.learning_rate = learning_rate
        self.leaves = leaves

    def _learner(self, features: dict[str, DeclaredFeature], rho: Fraction, *, replace_one: bool) -> BoostingLearner:
        return _boosting_learner(self, features, len(self.declared_classes()), rho, replace_one=replace_one)

    def _probabilities(self, scores: Floats) -> Floats:
        """The link of the clipped loss, so that probabilities are calibrated."""
        return probabilities(scores)


@public_class
class GradientBoostingRegressor(PrivateRegressor):
    """Private gradient boosting of a number: an additive model with one table for each feature.

    Residuals are cut to a quarter of the width of the bounds, so that bounds near the bulk of the targets help.

    Args:
        features: Declaration of each column by its name, or one declaration for all columns.
        target_bounds: Lowest and highest target; targets are cut to them.
        size: Approximate number of people, declared.
        budget: Account that fits are charged to; clones share it.
        epsilon: Epsilon of one fit. Default: the whole epsilon of the account's budget.
        rho: The same as a rho of zero-concentrated privacy.
        neighbours: "add_remove" or "replace_one" a person. Default "add_remove".
        interactions: Pairs of features that have trees of their own. Default none.
        rounds: Trees for each feature, on average. Default: from size, features and privacy cost.
        learning_rate: Share of a Newton step that a tree makes. Default: from the rounds.
        leaves: Most leaves of a tree. Default 8.

    Example:
        >>> import discreet as dp
        >>> account = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))
        >>> model = dp.learning.GradientBoostingRegressor(
        ...     features={"age": dp.learning.linear_bins(17, 90)}, target_bounds=(0, 100), size=1_000, budget=account
        ... )
        >>> import pyarrow as pa
        >>> ages = [20 + i % 60 for i in range(1_000)]
        >>> model.fit(pa.table({"age": ages}), ages).predict(pa.table({"age": [25, 70]})).shape
        (2,)
    """

    _model_class = AdditiveModel

    @short_traceback
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
        interactions: Pairs | None = None,
        rounds: int | None = None,
        learning_rate: float | None = None,
        leaves: int = LEAVES,
    ) -> None:
        self.features = features
        self.target_bounds = target_bounds
        self.size = size
        self.budget = budget
        self.epsilon = epsilon
        self.rho = rho
        self.neighbours = neighbours
        self.interactions = interactions
        self.rounds = rounds
        self.learning_rate = learning_rate
        self.leaves = leaves

    def _learner(self, features: dict[str, DeclaredFeature], rho: Fraction, *, replace_one: bool) -> BoostingLearner:
        self.declared_bounds()
        return _boosting_learner(self, features, 0, rho, replace_one=replace_one)


def _boosting_learner(
    estimator: GradientBoostingClassifier | GradientBoostingRegressor,
    features: Mapping[str, DeclaredFeature],
    classes: int,
    rho: Fraction,
    *,
    replace_one: bool,
) -> BoostingLearner:
    """The learner of an estimator, whose parameters are checked."""
    pairs = tuple((str(first), str(second)) for first, second in _pairs(estimator))
    terms = terms_of(features, pairs)
    rounds = None if estimator.rounds is None else whole(estimator.rounds, "rounds")
    rate: Any = estimator.learning_rate
    if rate is not None and not (isinstance(rate, int | float) and 0 < rate <= 1):
        raise _outside("learning_rate", "a step is a share of a Newton step", "learning_rate=0.3")
    if not 2 <= whole(estimator.leaves, "leaves") <= 64:
        raise _outside("leaves", "a tree has between 2 and 64 leaves", "leaves=8")
    if (rounds or 1) * len(terms) > MOST_TREES:
        raise _outside("rounds", "a model has at most 100,000 trees", "rounds=10")
    return BoostingLearner(
        features, classes, estimator.declared_size(), rho, replace_one, pairs, rounds, rate, int(estimator.leaves)
    )


def _pairs(estimator: PrivateEstimator) -> Pairs:
    given = getattr(estimator, "interactions", None) or ()
    if isinstance(given, str) or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in given):
        raise _outside("interactions", "an interaction is a pair of two features", 'interactions=[("age", "hours")]')
    found: Pairs = given
    return found


def _outside(name: str, because: str, instead: str) -> ParameterError:
    return ParameterError(f"{name} outside its range", because=because, instead=instead)
