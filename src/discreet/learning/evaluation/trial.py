"""One trial of an estimator: a fit on some people and its noisy score on others, planned from public facts.

The steps of a fit are those of `PrivateEstimator`: its checks, its account, its sums, its guard after the charge.
Variants without noise and networks are refused before the charge.
"""
# ruff: noqa: SLF001 - a trial takes the steps of a fit one by one, so that parts of people go where they belong

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from discreet import events
from discreet.catalog.privacy_unit import ROW, Unit, unit_of
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact.numbers import Number, positive, shown, whole
from discreet.learning.classifier import PrivateClassifier
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import ONE
from discreet.learning.core.learner import Learner, PublicModel
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.training import NoisySums, PeopleInMemory, Schedule, planned_sum
from discreet.learning.estimator import PrivateEstimator
from discreet.learning.evaluation.figures import ErrorTable, ScoreTable, table_from_json
from discreet.learning.evaluation.holdout import KeyedSplit, RowsOfPeople, number_people
from discreet.learning.evaluation.scores import (
    DEFAULT_BINS,
    MOST_CLASSES,
    MOST_ROWS,
    ErrorStep,
    ScoreStep,
    clip_of,
    columns_of,
    score_edges,
)
from discreet.learning.regressor import PrivateRegressor
from discreet.learning.sgd.torch_classifier import TorchClassifier
from discreet.learning.tables import OpenRows
from discreet.planner.budget.allocation import Spending

T = TypeVar("T")
MOST_BINS = 1024


@dataclass(frozen=True)
class Scoring:
    """How models are scored; public.

    Attributes:
        bins: Number of bins of scores, even.
        max_rows: Number of rows of a person that count whole.
        largest_error: Errors of a regression beyond this share of the width of the bounds count as that.
        confidence: Probability that an interval covers its figure.
    """

    bins: int = DEFAULT_BINS
    max_rows: int = 1
    largest_error: Fraction = Fraction(1, 4)
    confidence: float = 0.95

    def schedule(self, estimator: PrivateEstimator, rho: Fraction, *, replace_one: bool) -> Schedule:
        """The one noisy sum of a score."""
        if isinstance(estimator, PrivateClassifier):
            columns = columns_of(_number_of_classes(estimator))
            clip, length = clip_of(self.max_rows, columns), columns * 2 * self.bins
        else:
            clip, length = clip_of(self.max_rows, 2), 2
        return Schedule((planned_sum(clip, length, rho, replace_one=replace_one),))

    def measure(
        self, estimator: PrivateEstimator, model: PublicModel, sums: NoisySums, schedule: Schedule
    ) -> dict[str, Any]:
        """The noisy integers of a model on some people, as plain data that `table_from_json` reads."""
        known = {"sigma": schedule.sums[0].noise.sigma, "confidence": self.confidence}
        if isinstance(estimator, PrivateClassifier):
            edges = score_edges(self.bins)
            step = ScoreStep(model, len(estimator.declared_classes()), edges, self.max_rows)
            return {"noisy": sums.sum(step).tolist(), "edges": list(edges)} | known
        low, high = _regressor(estimator).declared_bounds()
        largest = max(1, int(self.largest_error * 2 * ONE))
        noisy = sums.sum(ErrorStep(model, largest, self.max_rows)).tolist()
        return {"noisy": noisy, "largest": (high - low) * largest / (2 * ONE)} | known


def scoring(bins: object, max_rows: object, largest_error: Number, confidence: Number) -> Scoring:
    """The settings of a score, checked.

    Raises:
        ParameterError: If one is outside its range.
    """
    number, most, share = whole(bins, "bins"), whole(max_rows, "max_rows"), positive(largest_error, "largest_error")
    inside = positive(confidence, "confidence")
    if number % 2 or number > MOST_BINS:
        raise ParameterError(
            f"bins={number}", because=f"bins are an even number, up to {MOST_BINS:,}", instead=f"bins={DEFAULT_BINS}"
        )
    if most > MOST_ROWS:
        raise ParameterError(
            f"max_rows={most}", because=f"a clip allows up to {MOST_ROWS:,} rows", instead="max_rows=10"
        )
    if share > 1 or inside >= 1:
        name = "largest_error" if share > 1 else "confidence"
        raise ParameterError(
            f"{name} above its range",
            because="it is a share of the width of the bounds" if share > 1 else "it is a probability below 1",
            instead="largest_error=0.25" if share > 1 else "confidence=0.95",
        )
    return Scoring(number, most, share, float(inside))


def open_rows(estimator: PrivateEstimator, table: Any, target: Any, groups: Any) -> OpenRows:
    """The shape of what a trial reads."""
    return estimator._open_rows(table, target, groups)


def read_rows(
    rows: OpenRows, estimator: PrivateEstimator, features: dict[str, DeclaredFeature], split: KeyedSplit
) -> RowsOfPeople:
    """The rows as codes, with the numbers of their people: cells are read here, after the charge."""
    return number_people(estimator._read_rows(rows, features), rows.people, split)


@dataclass(frozen=True)
class Trial:
    """An estimator with all that one fit and one score of it need; public.

    Attributes:
        estimator: The estimator, not fitted.
        features: Declared features by column.
        learner: The algorithm.
        scoring: How it is scored.
        score_schedule: The noisy sum of its score.
    """

    estimator: PrivateEstimator
    features: dict[str, DeclaredFeature]
    learner: Learner
    scoring: Scoring
    score_schedule: Schedule

    @property
    def fit_event(self) -> events.Event:
        """The event of the fit."""
        return self.learner.schedule.event

    @property
    def score_event(self) -> events.Event:
        """The event of the score."""
        return self.score_schedule.event

    def train(self, blocks: Sequence[EncodedRows]) -> PublicModel:
        """A model of some people."""
        return self.estimator._train(self.learner, blocks)

    def score(self, model: PublicModel, blocks: Sequence[EncodedRows]) -> ScoreTable | ErrorTable:
        """The noisy table of a model on other people."""
        sums = self.estimator._sums(PeopleInMemory(blocks), self.score_schedule)
        return table_from_json(self.scoring.measure(self.estimator, model, sums, self.score_schedule))


def trial(estimator: PrivateEstimator, rows: OpenRows, how: Scoring, rhos: tuple[Fraction, Fraction]) -> Trial:
    """A trial whose fit and score cost these rhos."""
    features = estimator._table_features(rows.table)
    replace_one = estimator.neighbours == "replace_one"
    learner = estimator.learner(features, rhos[0], replace_one=replace_one)
    return Trial(estimator, features, learner, how, how.schedule(estimator, rhos[1], replace_one=replace_one))


def prepare(
    model: object,
    budget: BudgetAccount | None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    **changes: object,
) -> PrivateEstimator:
    """The same estimator, not fitted, with the account and the epsilon or rho of an evaluation.

    Raises:
        ParameterError: If it is not an estimator of discreet.learning.
        UnsupportedError: If it has no noise, or its scores are floats.
    """
    own = require_scores(model)
    parameters = own.get_params(deep=False) | changes
    if budget is not None:
        parameters["budget"] = budget
    if epsilon is not None or rho is not None:
        parameters |= {"epsilon": epsilon, "rho": rho}
    found: PrivateEstimator = type(own)(**parameters)
    return found


def require_scores(model: object) -> PrivateEstimator:
    """The model, if it has noise and its scores are integers.

    Raises:
        ParameterError: If it is not a classifier or regressor of discreet.learning.
        UnsupportedError: If it has no noise, or its scores are floats.
    """
    if not isinstance(model, PrivateClassifier | PrivateRegressor):
        raise ParameterError(
            f"an evaluation of a {type(model).__name__}",
            because="only classifiers and regressors of discreet.learning give scores as integers",
            instead='model = dp.learning.GradientBoostingClassifier(features={"age": dp.learning.linear_bins(17, 90)})',
        )
    _refuse_inexact(model)
    return model


def spending_of(estimator: PrivateEstimator) -> Spending:
    """What an evaluation costs together."""
    return estimator._spending()


def charge(estimator: PrivateEstimator, event: events.Event) -> None:
    """Charge an evaluation to its account, before a cell is read."""
    estimator._charge(event)


def guard(estimator: PrivateEstimator, work: Callable[[], T]) -> T:
    """Work after the charge: neither an error nor a warning says anything of a cell."""
    return estimator._guard(work)


def unit_of_rows(estimator: PrivateEstimator, rows: OpenRows) -> Unit:
    """The privacy unit of an evaluation."""
    return unit_of(ROW if rows.people is None else "person", estimator.neighbours)  # type: ignore[arg-type]


def share_of(value: Number, name: str) -> Fraction:
    """A share between 0 and 1.

    Raises:
        ParameterError: If it is not.
    """
    share = positive(value, name)
    if share >= 1:
        raise ParameterError(f"{name}={shown(share)}", because="it is a share below 1", instead=f"{name}=0.2")
    return share


def _refuse_inexact(model: PrivateEstimator) -> None:
    """Refuse models whose figures would not have the guarantee that is stated with them."""
    if not model._is_private:
        raise UnsupportedError(
            "an evaluation of a model that is NOT PRIVATE",
            because="its figures would be exact, not charged, and look private",
            instead="model.fit(X, y).score(X, y) in tests, or the private estimator",
        )
    if isinstance(model, TorchClassifier):
        raise UnsupportedError(
            "an evaluation of a network on private rows",
            because="its scores are floats that depend on other rows of a batch",
            instead="dp.learning.LogisticRegression, whose scores are integers; or model.score(X, y) on public rows",
        )


def _number_of_classes(estimator: PrivateClassifier) -> int:
    number = len(estimator.declared_classes())
    if number > MOST_CLASSES:
        raise ParameterError(
            f"an evaluation of {number:,} classes",
            because=f"tables of scores are proved for at most {MOST_CLASSES:,} classes",
            instead="classes=[...] with fewer labels, where rare ones are one label",
        )
    return number


def _regressor(estimator: PrivateEstimator) -> PrivateRegressor:
    if not isinstance(estimator, PrivateRegressor):
        raise TypeError("a score of an estimator that is neither classifier nor regressor")
    return estimator
