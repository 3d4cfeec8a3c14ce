"""Private naive Bayes, with the interface of scikit-learn."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

from discreet.errors import public_class, short_traceback
from discreet.exact.numbers import Number, positive
from discreet.learning.classifier import PrivateClassifier
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import steps_of
from discreet.learning.estimator import Features
from discreet.learning.linear.linear_model import LinearModel
from discreet.learning.linear.naive_bayes_learner import NaiveBayesLearner, log_weights
from discreet.learning.linear.released_counts import count_queries, read_counts


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

    @staticmethod
    @short_traceback
    def count_queries(
        table: Any, *, features: Mapping[str, DeclaredFeature], target: str, classes: Sequence[object]
    ) -> list[Any]:
        """Queries that an engine answers by counts, from which `from_counts` makes a model; release them together.

        Args:
            table: A table: `dp.table("people")`, or one with conditions.
            features: Declaration of each column by its name.
            target: Name of the column with the classes.
            classes: The labels.

        Returns:
            Queries of counts of classes, and by class and slot of each feature.

        Raises:
            ParameterError: If a name or an edge is refused.

        Example:
            >>> import discreet as dp
            >>> features = {"hours_per_week": dp.learning.linear_bins(0, 80, 8)}
            >>> table = dp.table("people")
            >>> len(dp.learning.NaiveBayes.count_queries(table, features=features, target="sex", classes=["F", "M"]))
            2
        """
        return count_queries(table, features, target, classes)

    @classmethod
    @short_traceback
    def from_counts(
        cls,
        releases: Sequence[Any],
        *,
        features: Mapping[str, DeclaredFeature],
        target: str,
        smoothing: float = 1.0,
    ) -> Self:
        """Naive Bayes from released counts: post-processing, without a further cost.

        No row leaves the engine. The classes are the keys of the first release.

        Args:
            releases: The releases of `count_queries`, of one batch, in order.
            features: The same declarations.
            target: Name of the column with the classes.
            smoothing: Rows that are added to each slot, beside half the deviation of the noise. Default 1.

        Returns:
            A fitted classifier.

        Raises:
            ParameterError: If the releases are not of such counts, or not of one batch.

        Example:
            >>> import discreet as dp
            >>> people = dp.datasets.people(20_000)
            >>> features = {"education_years": dp.learning.linear_bins(8, 22, 7)}
            >>> facts = {"target": "sex", "classes": ["F", "M"]}
            >>> queries = dp.learning.NaiveBayes.count_queries(dp.table("people"), features=features, **facts)
            >>> budget = dp.Budget(epsilon=1, delta=1e-9)
            >>> with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=budget) as session:
            ...     releases = session.release(queries, epsilon=1)
            >>> model = dp.learning.NaiveBayes.from_counts(releases, features=features, target="sex")
            >>> model.classes
            ['F', 'M']
        """
        found, declared = read_counts(releases, features, target), dict(features)
        fitted = cls(features=declared, classes=list(found.classes), smoothing=smoothing)
        extra = float(positive(smoothing, "smoothing"))
        weights = steps_of(log_weights(declared, found.counts, found.deviation, extra))
        return fitted.adopt(LinearModel(declared, weights), declared, found.event, found.guarantee)
