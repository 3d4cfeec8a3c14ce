"""Private naive Bayes, with the interface of scikit-learn."""

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import public_class
from discreet.exact.numbers import Number, positive
from discreet.learning.classifier import PrivateClassifier
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.estimator import Features
from discreet.learning.linear.linear_model import LinearModel
from discreet.learning.linear.naive_bayes_learner import NaiveBayesLearner


@public_class
class NaiveBayes(PrivateClassifier):
    """Private naive Bayes on declared features, for two or more classes.

    One noisy histogram of slots by class is all that it reads.

    Args:
        features: Declaration of each column by its name, or one declaration for all columns.
        classes: The labels.
        size: Approximate number of people. Sessions plan with it, or with the number in the catalog; `fit` does not.
        budget: Account that fits are charged to; clones share it.
        epsilon: Epsilon of one fit. Default: the whole epsilon of the account's budget.
        rho: The same as a rho of zero-concentrated privacy.
        neighbours: Which two tables must be hard to tell apart: "add_remove" or "replace_one" a person.
        smoothing: Rows that are added to each slot, beside half the deviation of the noise. Default 1.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(20_000)
        >>> earns_much = [income > 50_000 for income in people["income"].to_pylist()]
        >>> model = dp.learning.NaiveBayes(
        ...     features={"education_years": dp.learning.linear_bins(8, 22, 14)},
        ...     classes=[False, True],
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
        smoothing: float = 1.0,
    ) -> None:
        self.features = features
        self.classes = classes
        self.size = size
        self.budget = budget
        self.epsilon = epsilon
        self.rho = rho
        self.neighbours = neighbours
        self.smoothing = smoothing

    def _learner(self, features: dict[str, DeclaredFeature], rho: Fraction, *, replace_one: bool) -> NaiveBayesLearner:
        smoothing = float(positive(self.smoothing, "smoothing"))
        return NaiveBayesLearner(features, len(self.declared_classes()), rho, replace_one, smoothing)
