"""Private selection among candidates: the best of a random number of fits, each with a noisy score on people held out.

Definition
    Draw a number of runs of the truncated negative binomial law. Each run draws a candidate with equal probability,
    fits it to the people who are not held out, and scores it on those who are, both with fresh noise. The model of the
    highest noisy score is released with its noisy table. The number of runs and all other runs are not released.

Guarantee
    The release costs what `events.RepeatedSelectionEvent` of one run costs, at the order of the budget and at that of
    the stated epsilon. One run costs the larger of fit and score where people are added or removed, and their sum where
    one is replaced. It is charged once, before a cell is read. Proof: docs/proofs/learning/evaluation/search.md.

Exactness
    The rho of a run is rational, and the least over both orders of what fits; the number of runs and the candidates are
    drawn exactly.

Not covered
    The time of a search, which shows the number of runs to those who can measure it. The score of the released model is
    the highest of several noisy ones: it is biased upwards, and its interval does not cover for that.

References
    Papernot and Steinke, Hyperparameter Tuning with Renyi Differential Privacy, ICLR 2022, Theorem 2.
    Liu and Talwar, Private Selection from Private Candidates, STOC 2019.
"""

import math
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from discreet import events
from discreet.accounting.filters import Budget
from discreet.accounting.prices import total
from discreet.accounting.renyi import divergence_over_order
from discreet.errors import BudgetError, ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, rational, shown, whole
from discreet.exact.zcdp import conversion_order, epsilon_order
from discreet.learning.classifier import PrivateClassifier
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.learner import PublicModel
from discreet.learning.core.rows import EncodedRows
from discreet.learning.estimator import PrivateEstimator
from discreet.learning.evaluation import trial
from discreet.learning.evaluation.evaluate import base_class_of, figures_of, lines, plain
from discreet.learning.evaluation.figures import ErrorTable, Figure, ScoreTable
from discreet.learning.evaluation.holdout import KeyedSplit, fit_and_score_rhos, is_below, parallel_event
from discreet.learning.evaluation.scores import DEFAULT_BINS
from discreet.learning.tables import OpenRows
from discreet.mechanisms.selection.repeated import RepeatedSelection
from discreet.plan.models import candidate_arguments
from discreet.planner.budget.allocation import Spending
from discreet.release.guarantee import Guarantee

FIXED = ("budget", "epsilon", "rho", "neighbours", "classes", "target_bounds")
"""Arguments that candidates share: scores are compared, and all runs have one cost."""

MOST_RUNS = 10_000
_STEPS = 16
_RHO_UNITS = 10**15


@public_class
@dataclass(frozen=True)
class ModelSearch:
    """The best of a random number of fits, with its noisy score.

    The score is the highest of several noisy ones, so it is biased upwards; one of `dp.learning.evaluate` is not.

    Attributes:
        model: The fitted estimator.
        parameters: The candidate that it has.
        figures: Its figures on the people held out, biased upwards.
        table: Noisy table that the figures come from.
        event: The event that was charged.
        guarantee: What all of this reveals, in words.

    Example:
        >>> import discreet as dp
        >>> bayes = dp.learning.NaiveBayes(features=dp.learning.categories(["a", "b"]), classes=[0, 1], size=90)
        >>> account = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))
        >>> candidates, rows, labels = [{"smoothing": 1}, {"smoothing": 9}], [["a"], ["b"]] * 45, [0, 1] * 45
        >>> list(dp.learning.search(bayes, candidates, rows, labels, budget=account).parameters)
        ['smoothing']
    """

    model: PrivateEstimator
    parameters: dict[str, Any]
    figures: dict[str, Figure]
    table: ScoreTable | ErrorTable
    event: events.Event
    guarantee: str

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data.

        Returns:
            A dictionary of parameters, figures, event and guarantee.
        """
        return plain(self.figures, self.event, self.guarantee) | {
            "parameters": {name: str(value) for name, value in self.parameters.items()},
            "is_biased_upwards": True,
        }

    @property
    def text(self) -> str:
        """The chosen candidate and its figures in lines of text."""
        head = f"{type(self.model).__name__} with {self.parameters}; scores of the best of several runs, biased upwards"
        return lines(head, self.figures, self.guarantee, base_class_of(self.model))

    def __str__(self) -> str:
        return self.text


class _Run(NamedTuple):
    """What one run gives."""

    candidate: int
    model: PublicModel
    table: ScoreTable | ErrorTable


class _Parts(NamedTuple):
    """The people of a trial: those it is fitted to, and those held out."""

    train: list[EncodedRows]
    test: list[EncodedRows]


@short_traceback
def search(
    model: Any,
    candidates: Iterable[Mapping[str, Any]],
    X: Any,  # noqa: N803 - the name of scikit-learn
    y: Any,
    groups: Any = None,
    *,
    budget: BudgetAccount | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    metric: str | None = None,
    runs: int | None = None,
    eta: Number = 0,
    holdout: Number = Fraction(1, 5),
    max_rows: int = 1,
    bins: int = DEFAULT_BINS,
    largest_error: Number = Fraction(1, 4),
    confidence: Number = 0.95,
) -> ModelSearch:
    """Choose among candidates by a random number of private fits and noisy scores; one charge pays for all.

    Each fit has less of the cost than one fit of the same epsilon would have. With candidates that differ little, one
    fit with defaults is often better.

    Args:
        model: Classifier or regressor of dp.learning.
        candidates: Arguments that a candidate changes, a dictionary for each.
        X: Table of rows: pandas, Polars, Arrow, numpy or lists.
        y: Target of each row.
        groups: Person of each row. Default: each row is a person.
        budget: Account to charge. Default: that of the model.
        epsilon: Epsilon of the whole search. Default: that of the model.
        rho: A rho instead: the search costs it at the order of the budget and where its epsilon is converted.
            Default: that of the model.
        metric: Figure to choose by: "auc", "accuracy" or "mean_squared_error". Default: "auc" for classifiers.
        runs: Mean number of runs. Default: the number of candidates, at least 2.
        eta: Shape of the number of runs, above -1. A smaller one costs less and spreads the number more. Default 0.
        holdout: Share of people to hold out. Default 0.2.
        max_rows: Number of rows of a person that count whole; more are scaled down. Default 1.
        bins: Number of bins of scores, even. Default 32.
        largest_error: Largest error of a regression, as a share of the width of the target's bounds. Default 0.25.
        confidence: Probability that an interval covers its figure. Default 0.95.

    Returns:
        The best model, its arguments and its noisy score.

    Raises:
        BudgetError: If the cost does not fit the account, or no search of so many runs fits epsilon.
        ParameterError: If an argument is outside its range, or a candidate changes what all share.
        UnsupportedError: If the model is a network, or a variant without noise.
        Failure: If reading, training or scoring failed after the charge.

    Example:
        >>> import discreet as dp
        >>> ages = {"age": dp.learning.linear_bins(0, 99)}
        >>> model = dp.learning.GradientBoostingClassifier(features=ages, classes=[0, 1], size=90)
        >>> account = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))
        >>> rows, labels = [[age] for age in range(90)], [int(age > 50) for age in range(90)]
        >>> candidates = [{"rounds": 5}, {"rounds": 10}]
        >>> dp.learning.search(model, candidates, rows, labels, budget=account).parameters in candidates
        True
    """
    how, share = trial.scoring(bins, max_rows, largest_error, confidence), trial.share_of(holdout, "holdout")
    shared = trial.prepare(model, budget, epsilon, rho)
    choices = checked_candidates(candidates, shared)
    figure, cells = figure_to_choose_by(metric, shared), trial.open_rows(shared, X, y, groups)
    spent, number = trial.spending_of(shared), mean_number_of_runs(runs, len(choices))
    selection = selection_of(orders_of(shared, spent), spent.amount, number, rational(eta, "eta"))
    plans = _plans(model, choices, shared, cells, how, selection.rho)
    guarantee = str(Guarantee(spent.epsilon, spent.delta, trial.unit_of_rows(shared, cells), "this search"))
    event = selection.mechanism.event()
    trial.charge(shared, event)

    def work() -> _Run:
        parts = _read(plans, cells, share)
        return selection.mechanism.release(
            lambda: _run(plans, parts), lambda run: quality(run.table, figures_of(run.table), figure)
        )

    best = trial.guard(shared, work)
    plan = plans[best.candidate]
    adopted = plan.estimator.adopt(best.model, plan.features, event, guarantee)
    return ModelSearch(adopted, choices[best.candidate], figures_of(best.table), best.table, event, guarantee)


class SearchMechanism(NamedTuple):
    """The mechanism of a search, and the rho of one run."""

    mechanism: RepeatedSelection
    rho: Fraction


def selection_of(orders: tuple[Fraction, ...], amount: Fraction, runs: int, eta: Fraction) -> SearchMechanism:
    """The search whose cost at these orders is at most the amount, with the largest rho of a run.

    Raises:
        BudgetError: If no search of so many runs has this cost.
    """
    gamma = gamma_of(eta, runs)
    rho = run_rho(orders, amount, eta, gamma)
    if not rho:
        raise BudgetError(
            f"a search of {runs:,} runs with rho {shown(amount)}",
            because="the number of runs alone costs more than that",
            instead=f"runs={max(2, runs // 2)}, or a larger epsilon",
        )
    return SearchMechanism(RepeatedSelection(run=events.ConcentratedEvent(rho), gamma=gamma, eta=eta), rho)


def orders_of(shared: PrivateEstimator, spent: Spending) -> tuple[Fraction, ...]:
    """The order of the budget, which the filter counts at, and those at which the stated epsilon is converted."""
    account = shared.budget
    budget = account.budget if isinstance(account, BudgetAccount) else Budget(epsilon=spent.epsilon, delta=spent.delta)
    delta = budget.conversion_delta
    orders = (budget.order, conversion_order(spent.epsilon, delta), epsilon_order(spent.amount, delta))
    return tuple(dict.fromkeys(order for order in orders if order is not None))


def cost_of(event: events.Event, orders: tuple[Fraction, ...]) -> Fraction:
    """The largest divergence of an event at some orders, over the order; its rho where there are none."""
    return max((divergence_over_order(event, order) for order in orders), default=total(event).rho)


@lru_cache(maxsize=256)
def run_rho(orders: tuple[Fraction, ...], amount: Fraction, eta: Fraction, gamma: Fraction) -> Fraction:
    """The largest rho of a run, up to rounding, whose search costs at most `amount` at these orders; 0 if none does."""

    def fits(rho: Fraction) -> bool:
        event = events.RepeatedSelectionEvent(events.ConcentratedEvent(rho), eta=eta, gamma=gamma)
        return cost_of(event, orders) <= amount

    low, high = 0, int(amount * _RHO_UNITS)
    for _ in range(_STEPS):
        middle = (low + high) // 2
        low, high = (middle, high) if middle and fits(Fraction(middle, _RHO_UNITS)) else (low, middle)
    return Fraction(low, _RHO_UNITS)


def gamma_of(eta: Fraction, runs: int) -> Fraction:
    """The parameter of the number of runs for about this mean; public, so floats serve."""
    low, high = math.log(1e-9), math.log(1 - 1e-9)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean_runs(float(eta), math.exp(middle)) > runs else (low, middle)
    return Fraction(math.exp(low)).limit_denominator(10**6) or Fraction(1, 10**6)


def _mean_runs(eta: float, gamma: float) -> float:
    if eta == 0:
        return (1 / gamma - 1) / math.log(1 / gamma)
    return float(eta * (1 - gamma) / (gamma * (1 - gamma**eta)))


def _plans(
    model: Any,
    choices: list[dict[str, Any]],
    shared: PrivateEstimator,
    cells: OpenRows,
    how: trial.Scoring,
    rho: Fraction,
) -> list[trial.Trial]:
    """The trials of all candidates: every one is made, and so checked, before the charge."""
    replace_one = shared.neighbours == "replace_one"
    rhos = fit_and_score_rhos(rho, replace_one=replace_one)
    plans = []
    for choice in choices:
        estimator = trial.prepare(model, shared.budget, **choice)
        plan = trial.trial(estimator, cells, how, rhos)
        event = parallel_event(plan.fit_event, plan.score_event, replace_one=replace_one)
        require_cost(event, rho)
        plans.append(plan)
    return plans


def require_cost(event: events.Event, rho: Fraction) -> None:
    """Check that a fit and score cost no more than a run may.

    Raises:
        RuntimeError: If they cost more, which their schedules exclude.
    """
    if total(event).rho > rho:
        raise RuntimeError("a run of a larger cost than planned")


def _read(plans: list[trial.Trial], cells: OpenRows, share: Fraction) -> list[_Parts]:
    """The people of each candidate's trial, on the same side for all; rows are encoded once for the same features."""
    split, known = KeyedSplit(), dict[tuple[Any, ...], _Parts]()
    found = []
    for plan in plans:
        key = tuple((name, id(feature)) for name, feature in plan.features.items())
        if key not in known:
            people = trial.read_rows(cells, plan.estimator, plan.features, split)
            out = is_below(people.numbers, share)
            known[key] = _Parts(people.part(~out), people.part(out))
        found.append(known[key])
    return found


def _run(plans: list[trial.Trial], parts: list[_Parts]) -> _Run:
    """One run: a candidate by chance, its fit and its score, with fresh noise."""
    candidate = secrets.randbelow(len(plans))
    model = plans[candidate].train(parts[candidate].train)
    return _Run(candidate, model, plans[candidate].score(model, parts[candidate].test))


def quality(table: ScoreTable | ErrorTable, figures: dict[str, Figure], metric: str) -> float:
    """What a run is chosen by: higher is better."""
    value = figures[metric].value
    return -value if isinstance(table, ErrorTable) else value


def checked_candidates(
    candidates: object, shared: PrivateEstimator, all_share: tuple[str, ...] = FIXED
) -> list[dict[str, Any]]:
    """The candidates, if each changes arguments that need not be the same for all.

    Raises:
        ParameterError: If they are not, or one has an argument that the model does not have.
    """
    found = candidate_arguments(candidates)
    fixed = sorted({name for each in found for name in each if name in all_share})
    if fixed:
        raise ParameterError(
            f"candidates with another {fixed[0]}",
            because="all candidates share it",
            instead=f"{fixed[0]}=... in the model, not in a candidate",
        )
    unknown = sorted({str(name) for each in found for name in each} - set(shared.get_params(deep=False)))
    if unknown:
        raise ParameterError(
            f"candidates with {unknown[0]}",
            because=f"it is not an argument of {type(shared).__name__}",
            instead=f"{type(shared).__name__}().get_params(), which lists them",
        )
    return list(found)


def mean_number_of_runs(runs: int | None, candidates: int) -> int:
    """The mean number of runs; by default that of the candidates.

    Raises:
        ParameterError: If it is outside its range.
    """
    number = max(2, candidates) if runs is None else whole(runs, "runs", least=2)
    if number > MOST_RUNS:
        raise ParameterError(f"runs={number}", because=f"a search has up to {MOST_RUNS:,} runs", instead="runs=20")
    return number


def figure_to_choose_by(metric: str | None, estimator: PrivateEstimator) -> str:
    """The figure that runs are compared by.

    Raises:
        ParameterError: If noisy tables of this model do not give it.
    """
    known = ("auc", "accuracy") if isinstance(estimator, PrivateClassifier) else ("mean_squared_error",)
    if metric is None:
        return known[0]
    if metric not in known:
        raise ParameterError(
            f"metric={metric!r}", because="noisy tables do not give it", instead=f'metric="{known[0]}"'
        )
    return metric
