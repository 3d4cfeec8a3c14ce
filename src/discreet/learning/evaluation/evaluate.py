"""Evaluate a model on private rows: hold-out and cross-validation, charged whole before a cell is read."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import events
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, whole
from discreet.learning.classifier import PrivateClassifier
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.learner import PublicModel
from discreet.learning.estimator import PrivateEstimator
from discreet.learning.evaluation import trial
from discreet.learning.evaluation.figures import BASE_RATE, WEIGHT, ErrorTable, Figure, ScoreTable, figure_text, mean
from discreet.learning.evaluation.holdout import (
    SCORE_SHARE,
    KeyedSplit,
    fit_and_score_rhos,
    fold_numbers,
    folds_event,
    is_below,
    parallel_event,
)
from discreet.learning.evaluation.scores import DEFAULT_BINS
from discreet.learning.tables import OpenRows
from discreet.release.guarantee import Guarantee

MOST_FOLDS = 100


@public_class
@dataclass(frozen=True)
class Evaluation:
    """Figures of a model on private rows, with intervals for the noise, and what they cost.

    An interval covers the figure of the exact table of the same rows. It does not cover other people.

    Attributes:
        figures: Figures by name: auc, accuracy, base_rate and weight; or mean_squared_error and its root.
        table: Noisy table that the figures come from, with calibration and points of the ROC curve.
        model: The fitted estimator.
        event: The event that was charged.
        guarantee: What all of this reveals, in words.

    Example:
        >>> import discreet as dp
        >>> bayes = dp.learning.NaiveBayes(features=dp.learning.categories(["a", "b"]), classes=[0, 1], size=90)
        >>> account = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))
        >>> found = dp.learning.evaluate(bayes, [["a"], ["b"]] * 45, [0, 1] * 45, budget=account)
        >>> sorted(found.figures)
        ['accuracy', 'auc', 'base_rate', 'weight']
    """

    figures: dict[str, Figure]
    table: ScoreTable | ErrorTable
    model: PrivateEstimator
    event: events.Event
    guarantee: str

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data.

        Returns:
            A dictionary of figures, event and guarantee.
        """
        return plain(self.figures, self.event, self.guarantee)

    @property
    def text(self) -> str:
        """The figures in lines of text."""
        head = f"{type(self.model).__name__} on private rows"
        return lines(head, self.figures, self.guarantee, base_class_of(self.model))

    def __str__(self) -> str:
        return self.text


@public_class
@dataclass(frozen=True)
class CrossValidation:
    """Figures of all folds of a cross-validation, their means, and what they cost together.

    Attributes:
        figures: Means over folds by name, with intervals for the noise.
        folds: Figures of each fold.
        event: The event that was charged.
        guarantee: What all of this reveals, in words.
        base_class: The class whose share is `base_rate`; None for a regression.

    Example:
        >>> import discreet as dp
        >>> bayes = dp.learning.NaiveBayes(features=dp.learning.categories(["a", "b"]), classes=[0, 1], size=90)
        >>> account = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))
        >>> found = dp.learning.cross_validate(bayes, [["a"], ["b"]] * 45, [0, 1] * 45, budget=account)
        >>> sorted(found.figures)
        ['accuracy', 'auc', 'base_rate', 'weight']
    """

    figures: dict[str, Figure]
    folds: tuple[dict[str, Figure], ...]
    event: events.Event
    guarantee: str
    base_class: object = None

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data.

        Returns:
            A dictionary of means, folds, event and guarantee.
        """
        folds = [{name: figure._asdict() for name, figure in each.items()} for each in self.folds]
        return plain(self.figures, self.event, self.guarantee) | {"folds": folds}

    @property
    def text(self) -> str:
        """The figures in lines of text."""
        return lines(f"Means of {len(self.folds)} folds", self.figures, self.guarantee, self.base_class)

    def __str__(self) -> str:
        return self.text


@short_traceback
def evaluate(
    model: Any,
    X: Any,  # noqa: N803 - the name of scikit-learn
    y: Any,
    groups: Any = None,
    *,
    budget: BudgetAccount | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    holdout: Number = Fraction(1, 5),
    max_rows: int = 1,
    bins: int = DEFAULT_BINS,
    largest_error: Number = Fraction(1, 4),
    confidence: Number = 0.95,
) -> Evaluation:
    """Score a model on private rows, with noise.

    A model that is not fitted is fitted to some people and scored on the others, who are held out by a keyed hash.
    Where people are added or removed, fit and score cost epsilon each, and together no more than that. Where one is
    replaced, the score has a quarter of the cost. A fitted model is scored on all rows.

    Args:
        model: Classifier or regressor of dp.learning.
        X: Table of rows: pandas, Polars, Arrow, numpy or lists.
        y: Target of each row.
        groups: Person of each row. Default: each row is a person.
        budget: Account to charge. Default: that of the model.
        epsilon: Epsilon of fit and score together. Default: that of the model.
        rho: The same as a rho of zero-concentrated privacy. Default: that of the model.
        holdout: Share of people to hold out. Default 0.2.
        max_rows: Number of rows of a person that count whole; more are scaled down. Default 1.
        bins: Number of bins of scores, even. Default 32.
        largest_error: Largest error of a regression, as a share of the width of the target's bounds. Default 0.25.
        confidence: Probability that an interval covers its figure. Default 0.95.

    Returns:
        The figures, the noisy table, and the fitted model.

    Raises:
        BudgetError: If the cost does not fit the account; nothing is read.
        ParameterError: If an argument is outside its range.
        UnsupportedError: If the model is a network, or a variant without noise.
        Failure: If reading, training or scoring failed after the charge.

    Example:
        >>> import discreet as dp
        >>> ages = {"age": dp.learning.linear_bins(0, 99)}
        >>> model = dp.learning.GradientBoostingClassifier(features=ages, classes=[0, 1], size=90)
        >>> account = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))
        >>> rows, labels = [[age] for age in range(90)], [int(age > 50) for age in range(90)]
        >>> found = dp.learning.evaluate(model, rows, labels, budget=account)
        >>> found.figures["auc"].low <= found.figures["auc"].value
        True
    """
    how, share = trial.scoring(bins, max_rows, largest_error, confidence), trial.share_of(holdout, "holdout")
    estimator, is_fitted = trial.prepare(model, budget, epsilon, rho), hasattr(model, "model_")
    cells = trial.open_rows(estimator, X, y, groups)
    spent, replace_one = trial.spending_of(estimator), estimator.neighbours == "replace_one"
    rhos = fit_and_score_rhos(spent.amount, replace_one=replace_one and not is_fitted)
    plan = trial.trial(estimator, cells, how, rhos)
    event = plan.score_event if is_fitted else parallel_event(plan.fit_event, plan.score_event, replace_one=replace_one)
    guarantee = _guarantee(estimator, cells, "this evaluation")
    trial.charge(estimator, event)

    def work() -> tuple[PublicModel, ScoreTable | ErrorTable]:
        people = trial.read_rows(cells, estimator, plan.features, KeyedSplit())
        out = is_below(people.numbers, Fraction(1) if is_fitted else share)
        found = model.model_ if is_fitted else plan.train(people.part(~out))
        return found, plan.score(found, people.part(out))

    trained, table = trial.guard(estimator, work)
    adopted = model if is_fitted else estimator.adopt(trained, plan.features, event, guarantee)
    return Evaluation(figures_of(table), table, adopted, event, guarantee)


@short_traceback
def cross_validate(
    model: Any,
    X: Any,  # noqa: N803 - the name of scikit-learn
    y: Any,
    groups: Any = None,
    *,
    folds: int = 5,
    budget: BudgetAccount | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    max_rows: int = 1,
    bins: int = DEFAULT_BINS,
    largest_error: Number = Fraction(1, 4),
    confidence: Number = 0.95,
) -> CrossValidation:
    """Fit a model to all folds but one and score it on that one, for each fold, with noise.

    A person is in all training parts but one and in one test part. So all fits but one and one score are charged where
    people are added or removed; all fits and all scores where one is replaced. A quarter of the cost goes to scores.
    With one epsilon for all of it, each fit has more noise than one fit of that epsilon: `evaluate` has less.

    Args:
        model: Classifier or regressor of dp.learning.
        X: Table of rows: pandas, Polars, Arrow, numpy or lists.
        y: Target of each row.
        groups: Person of each row. Default: each row is a person.
        folds: Number of parts that people are divided into by a keyed hash. Default 5.
        budget: Account to charge. Default: that of the model.
        epsilon: Epsilon of all fits and scores together. Default: that of the model.
        rho: The same as a rho of zero-concentrated privacy. Default: that of the model.
        max_rows: Number of rows of a person that count whole; more are scaled down. Default 1.
        bins: Number of bins of scores, even. Default 32.
        largest_error: Largest error of a regression, as a share of the width of the target's bounds. Default 0.25.
        confidence: Probability that an interval covers its figure. Default 0.95.

    Returns:
        The figures of each fold, and their means.

    Raises:
        BudgetError: If the cost does not fit the account; nothing is read.
        ParameterError: If an argument is outside its range.
        UnsupportedError: If the model is a network, or a variant without noise.
        Failure: If reading, training or scoring failed after the charge.

    Example:
        >>> import discreet as dp
        >>> ages = {"age": dp.learning.linear_bins(0, 99)}
        >>> model = dp.learning.GradientBoostingClassifier(features=ages, classes=[0, 1], size=90)
        >>> account = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))
        >>> rows, labels = [[age] for age in range(90)], [int(age > 50) for age in range(90)]
        >>> len(dp.learning.cross_validate(model, rows, labels, folds=3, budget=account).folds)
        3
    """
    how, number = trial.scoring(bins, max_rows, largest_error, confidence), _folds(folds)
    estimator = trial.prepare(model, budget, epsilon, rho)
    cells, spent = trial.open_rows(estimator, X, y, groups), trial.spending_of(estimator)
    replace_one = estimator.neighbours == "replace_one"
    fits, scores = (number, number) if replace_one else (number - 1, 1)
    rhos = spent.amount * (1 - SCORE_SHARE) / fits, spent.amount * SCORE_SHARE / scores
    plan = trial.trial(estimator, cells, how, rhos)
    event = folds_event(plan.fit_event, plan.score_event, number, replace_one=replace_one)
    guarantee = _guarantee(estimator, cells, "this cross-validation")
    trial.charge(estimator, event)

    def work() -> list[ScoreTable | ErrorTable]:
        people = trial.read_rows(cells, estimator, plan.features, KeyedSplit())
        fold = fold_numbers(people.numbers, number)
        models = [plan.train(people.part(fold != each)) for each in range(number)]
        return [plan.score(models[each], people.part(fold == each)) for each in range(number)]

    found = tuple(figures_of(table) for table in trial.guard(estimator, work))
    means = {name: mean([each[name] for each in found]) for name in found[0]}
    return CrossValidation(means, found, event, guarantee, base_class_of(estimator))


def figures_of(table: ScoreTable | ErrorTable) -> dict[str, Figure]:
    """The figures of a noisy table by name."""
    if isinstance(table, ErrorTable):
        return {
            "mean_squared_error": table.mean_squared_error,
            "root_mean_squared_error": table.root_mean_squared_error,
        }
    return {"auc": table.auc, "accuracy": table.accuracy, BASE_RATE: table.base_rate, WEIGHT: table.weight}


def base_class_of(estimator: object) -> object:
    """The class whose share is the base rate: the second of two, the first of several; None for a regression."""
    if not isinstance(estimator, PrivateClassifier):
        return None
    labels = estimator.declared_classes()
    return labels[1] if len(labels) == 2 else labels[0]


def _guarantee(estimator: PrivateEstimator, cells: OpenRows, span: str) -> str:
    spent = trial.spending_of(estimator)
    return str(Guarantee(spent.epsilon, spent.delta, trial.unit_of_rows(estimator, cells), span))


def _folds(folds: object) -> int:
    number = whole(folds, "folds")
    if not 2 <= number <= MOST_FOLDS:
        raise ParameterError(f"folds={number}", because=f"folds are 2 to {MOST_FOLDS}", instead="folds=5")
    return number


def plain(figures: dict[str, Figure], event: events.Event, guarantee: str) -> dict[str, Any]:
    """Figures, event and guarantee as plain data."""
    return {
        "figures": {name: figure._asdict() for name, figure in figures.items()},
        "event": events.to_json(event),
        "guarantee": guarantee,
    }


def lines(head: str, figures: dict[str, Figure], guarantee: str, base_class: object) -> str:
    """Figures in lines of text, with the guarantee at the end."""
    width = max(map(len, figures))
    found = (f"  {name:<{width}}  {figure_text(name, figure, base_class)}" for name, figure in figures.items())
    return "\n".join([head, *found, f"  {guarantee}"])
