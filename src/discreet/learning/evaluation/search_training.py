"""A search as one query of a session: a random number of fits and scores, of which the best noisy one is released.

All candidates read the same codes, so rows are encoded once. The guarantee is that of `search.py`, with the hold-out of
the session (`held_out.py`).
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet import events
from discreet.learning.core.lattice import Integers
from discreet.learning.core.learner import PublicModel
from discreet.learning.core.saved_state import plain_value
from discreet.learning.evaluation.evaluate import figures_of
from discreet.learning.evaluation.figures import table_from_json
from discreet.learning.evaluation.held_out import (
    HeldOutTraining,
    PartOfPeople,
    PartsInMemory,
    PartsOfBlock,
    PartStep,
    attach_evaluation,
    held_out_training,
)
from discreet.learning.evaluation.search import (
    FIXED,
    SearchMechanism,
    checked_candidates,
    cost_of,
    figure_to_choose_by,
    mean_number_of_runs,
    quality,
    require_cost,
    selection_of,
)
from discreet.learning.evaluation.trial import require_scores
from discreet.plan.models import Holdout, ModelFacts, PersonIds, PlannedFigure, SearchOptions
from discreet.plan.wording import Lines

if TYPE_CHECKING:
    import pyarrow as pa

FIXED_IN_SESSION = (*FIXED, "features", "size")
"""Arguments that candidates share in a session: rows are read once, in blocks for one size."""

_OF_ALL = ("model", "features", "declared size")
_LONGEST = 500


class _TrialRun(NamedTuple):
    """What one run gives: a candidate, its model, and the noisy integers of its score."""

    candidate: int
    model: PublicModel
    measured: dict[str, Any]


@dataclass(frozen=True)
class SearchTraining:
    """A search with everything public about it.

    Attributes:
        trials: One fit and score for each candidate.
        choices: The arguments that each candidate changes.
        selection: The mechanism of the search.
        metric: The figure that runs are compared by.
        runs: Mean number of runs.
        orders: Orders at which the cost of the search is bounded; none where it is bounded at every order.
    """

    trials: tuple[HeldOutTraining, ...]
    choices: tuple[dict[str, Any], ...]
    selection: SearchMechanism
    metric: str
    runs: int
    orders: tuple[Fraction, ...]

    @property
    def _first(self) -> HeldOutTraining:
        """What all trials share: features, target, size and hold-out."""
        return self.trials[0]

    @property
    def name(self) -> str:
        """The class of the estimator."""
        return self._first.name

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that are features, in their order."""
        return self._first.features

    @property
    def size(self) -> int:
        """The declared number of people."""
        return self._first.size

    @property
    def event(self) -> events.Event:
        """The event of all runs together."""
        return self.selection.mechanism.event()

    @property
    def rho(self) -> Fraction:
        """The cost of the event: its largest divergence over the order, at the orders at which it is bounded."""
        return cost_of(self.event, self.orders)

    @property
    def caveat(self) -> str:
        """That of the first candidate: all are of one class."""
        return self._first.caveat

    @property
    def own_epsilon(self) -> str:
        """None: the cost of a search is stated as it is charged."""
        return ""

    @property
    def reason(self) -> str:
        """How the runs are charged together."""
        where = "the orders of the budget and of its epsilon" if self.orders else "every order"
        return f"the best of a random number of runs is charged at {where}"

    @property
    def has_sums_in_cluster(self) -> bool:
        """Whether sums of people suffice for the candidates."""
        return self._first.has_sums_in_cluster

    @property
    def parameters(self) -> dict[str, Any]:
        """Those of every trial, and those of the search."""
        law = {"runs": self.runs, "eta": self.selection.mechanism.eta}
        return {"search": [trial.parameters for trial in self.trials], "metric": self.metric} | law

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The categories of features and the classes of the target, as texts."""
        return self._first.categories

    @property
    def words(self) -> Lines:
        """What is searched, in words."""
        shared = [line for line in self._first.fit.words if line[0] in _OF_ALL]
        listed = ", ".join(map(str, self.choices))
        return (
            *shared,
            ("candidates", listed if len(listed) <= _LONGEST else f"{listed[:_LONGEST]}..."),
            ("search", f"the best of a random number of runs, {self.runs:,} on average, by {self.metric}; one charge"),
            self._first.holdout_line,
        )

    def encode(self, rows: "pa.Table", people: PersonIds | None, names: "pa.Table | None") -> PartsOfBlock:
        """The codes of both parts, for all candidates."""
        return self._first.encode(rows, people, names)

    def people(self, blocks: Sequence[PartsOfBlock]) -> PartsInMemory:
        """The people of all blocks."""
        return self._first.people(blocks)

    def pack(self, block: PartsOfBlock) -> bytes:
        """A block as bytes."""
        return self._first.pack(block)

    @property
    def add(self) -> Callable[[PartStep, Sequence[bytes]], Integers]:
        """The sum of one part over packed blocks."""
        return self._first.add

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of the estimator and of the search."""
        return (*self._first.modules, __name__)

    def planned_figures(self, confidence: Fraction) -> tuple[PlannedFigure, ...]:
        """The figures of the score of one run."""
        return self._first.planned_figures(confidence)

    def card(self, state: Mapping[str, Any]) -> Lines:
        """The model card: what was searched, the candidate that was chosen, and its figures."""
        chosen = self.trials[state["search"]["candidate"]]
        own = [line for line in chosen.card(state) if line[0] not in {label for label, _ in self.words}]
        return (*self.words, ("chosen", str(state["search"]["parameters"])), *own)

    def train(self, people: Any, *, is_private: bool) -> dict[str, Any]:
        """The model of the best run as plain data; in tests without noise, each candidate has one run."""
        if is_private:
            best = self.selection.mechanism.release(
                lambda: self._run(people, secrets.randbelow(len(self.trials)), is_private=True), self._quality
            )
        else:
            runs = [self._run(people, place, is_private=False) for place in range(len(self.trials))]
            best = max(runs, key=self._quality)
        chosen = {"candidate": best.candidate, "parameters": self.choices[best.candidate]}
        state = self.trials[best.candidate].fit.state(best.model, self.event)
        return state | {"evaluation": best.measured, "search": chosen}

    def _run(self, people: Any, candidate: int, *, is_private: bool) -> _TrialRun:
        """One run: the fit of a candidate and its score, with fresh noise."""
        trial = self.trials[candidate]
        model = trial.trained(PartOfPeople(people, is_test=False), is_private=is_private)
        return _TrialRun(
            candidate, model, trial.measure(model, PartOfPeople(people, is_test=True), is_private=is_private)
        )

    def _quality(self, run: _TrialRun) -> float:
        table = table_from_json(run.measured)
        return quality(table, figures_of(table), self.metric)

    def restore(self, state: Mapping[str, Any], guarantee: str) -> Any:
        """The fitted estimator of the chosen candidate, with its scores."""
        fit = self.trials[state["search"]["candidate"]].fit
        return attach_evaluation(fit.restore(state, guarantee), state)


def search_training(
    model: Any, facts: ModelFacts, holdout: Holdout, search: SearchOptions, orders: tuple[Fraction, ...]
) -> SearchTraining:
    """The search among candidates of an estimator, from public facts alone.

    Args:
        model: A classifier or regressor of `dp.learning`, not fitted.
        facts: The target, the columns, the size and the privacy cost of the whole search.
        holdout: Who is held out.
        search: The candidates, and how they are compared.
        orders: Orders at which the cost is bounded by the rho of the facts; none for every order.

    Returns:
        The training.

    Raises:
        BudgetError: If no search of so many runs has this cost.
        ParameterError: If a candidate changes what all share, or something needed is not declared.
        UnsupportedError: If scores of the model are floats.
    """
    kind, shared = type(model), require_scores(model)
    given = kind.get_params(shared, deep=False)
    choices = checked_candidates(search.candidates, shared, FIXED_IN_SESSION)
    choices = [{name: plain_value(value) for name, value in choice.items()} for choice in choices]
    metric, runs = figure_to_choose_by(search.metric, shared), mean_number_of_runs(search.runs, len(choices))
    selection = selection_of(orders, facts.rho, runs, search.eta)
    own = replace(facts, rho=selection.rho)
    trials = tuple(held_out_training(kind(**given | choice), own, holdout) for choice in choices)
    for trial in trials:
        require_cost(trial.event, selection.rho)
    return SearchTraining(trials, tuple(choices), selection, metric, runs, orders)
