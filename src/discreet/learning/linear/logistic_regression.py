"""Private logistic regression, with the interface of scikit-learn."""

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number, whole
from discreet.learning.classifier import PrivateClassifier
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import Floats
from discreet.learning.core.link import probabilities
from discreet.learning.estimator import Features
from discreet.learning.linear.linear_model import LinearModel
from discreet.learning.linear.logistic_learner import LogisticLearner

MOST_ITERATIONS = 10_000


@public_class
class LogisticRegression(PrivateClassifier):
    """Private logistic regression on declared features, for two or more classes.

    Trained by full-batch gradient descent on noisy sums of clipped gradients. Each slot of a feature has a weight, so
    the score may follow any shape of one feature.

    Args:
        features: Declaration of each column by its name, or one declaration for all columns.
        classes: The labels.
        size: Approximate number of people, declared.
        budget: Account that fits are charged to; clones share it.
        epsilon: Epsilon of one fit. Default: the whole epsilon of the account's budget.
        rho: The same as a rho of zero-concentrated privacy.
        neighbours: Which two tables must be hard to tell apart: "add_remove" or "replace_one" a person.
        iterations: Number of gradient sums. Default: from the cost, the size and the number of features.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(20_000)
        >>> earns_much = [income > 50_000 for income in people["income"].to_pylist()]
        >>> model = dp.learning.LogisticRegression(
        ...     features={"education_years": dp.learning.linear_bins(8, 22, 14)},
        ...     classes=[False, True],
        ...     size=20_000,
        ...     budget=dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-6)),
        ... )
        >>> model.fit(people.select(["education_years"]), earns_much).predict([[9], [21]]).tolist()
        [False, True]
    """

    _model_class = LinearModel

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
        iterations: int | None = None,
    ) -> None:
        self.features = features
        self.classes = classes
        self.size = size
        self.budget = budget
        self.epsilon = epsilon
        self.rho = rho
        self.neighbours = neighbours
        self.iterations = iterations

    def _learner(self, features: dict[str, DeclaredFeature], rho: Fraction, *, replace_one: bool) -> LogisticLearner:
        iterations = None if self.iterations is None else whole(self.iterations, "iterations", least=1)
        if iterations is not None and iterations > MOST_ITERATIONS:
            raise ParameterError(
                f"{iterations:,} iterations",
                because="every iteration has its share of the budget, so noise grows with their number",
                instead="iterations=None, which follows from the cost and the size",
            )
        classes = len(self.declared_classes())
        return LogisticLearner(features, classes, self.declared_size(), rho, replace_one, iterations)

    def _probabilities(self, scores: Floats) -> Floats:
        return probabilities(scores)
