"""A model with its evaluation, as one query of a session: fitted to some people, scored on those who are held out.

Both parts are in every block, so codes may stay in a cluster: a sum names the part that it is over. The event is that
of `parallel_event`: where people are added or removed, fit and score together cost the larger of both.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet import events
from discreet.accounting.prices import total
from discreet.exact.numbers import shown
from discreet.exact.rounding import digits_up, shown_up
from discreet.learning.core.lattice import Integers
from discreet.learning.core.learner import PublicModel
from discreet.learning.core.question import SessionTraining, sums_of, training_of
from discreet.learning.core.rows import EncodedRows, pack_rows, unpack_rows
from discreet.learning.core.sums import Step, people_sum
from discreet.learning.core.training import Schedule, SumsOfPeople
from discreet.learning.evaluation.evaluate import Evaluation, base_class_of, figures_of
from discreet.learning.evaluation.figures import BASE_RATE, WEIGHT, figure_text, normal_quantile, table_from_json
from discreet.learning.evaluation.holdout import KeyedSplit, fit_and_score_rhos, is_below, parallel_event
from discreet.learning.evaluation.scores import UNIT
from discreet.learning.evaluation.search import ModelSearch
from discreet.learning.evaluation.trial import Scoring, require_scores
from discreet.learning.regressor import PrivateRegressor
from discreet.plan.models import Holdout, ModelFacts, PersonIds, PlannedFigure
from discreet.plan.wording import Lines

if TYPE_CHECKING:
    import pyarrow as pa

_LENGTH = 8
_HIDDEN = "depends on the scores, which are private"


class PartsOfBlock(NamedTuple):
    """A block of people in two parts: those a model is fitted to, and those it is scored on."""

    train: EncodedRows
    test: EncodedRows


@dataclass(frozen=True)
class PartStep:
    """A sum over one of both parts."""

    step: Step
    is_test: bool

    @property
    def length(self) -> int:
        """Number of places of the vector."""
        return self.step.length


@dataclass(frozen=True)
class PartsInMemory:
    """The people of all blocks, in this process."""

    blocks: tuple[PartsOfBlock, ...]

    def sum(self, step: PartStep) -> Integers:
        """The exact sum over the people of one part."""
        return people_sum(step.step, [block.test if step.is_test else block.train for block in self.blocks])


@dataclass(frozen=True)
class PartOfPeople:
    """One of both parts, as a learner or a score sees it; `people` are here or in a cluster."""

    people: Any
    is_test: bool

    def sum(self, step: Step) -> Integers:
        """The exact sum over the people of this part."""
        found: Integers = self.people.sum(PartStep(step, self.is_test))
        return found


@dataclass(frozen=True)
class HeldOutTraining:
    """A training on the people who are not held out, with the noisy score of the model on those who are.

    Attributes:
        fit: The training.
        scoring: How the model is scored.
        score_schedule: The noisy sum of the score.
        holdout: Who is held out.
        replace_one: Whether neighbours differ by one person who is replaced.
    """

    fit: SessionTraining
    scoring: Scoring
    score_schedule: Schedule
    holdout: Holdout
    replace_one: bool

    @property
    def name(self) -> str:
        """The class of the estimator."""
        return self.fit.name

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that are features, in their order."""
        return self.fit.features

    @property
    def size(self) -> int:
        """The declared number of people, of both parts."""
        return self.fit.size

    @property
    def event(self) -> events.Event:
        """The event of fit and score together."""
        return parallel_event(self.fit.event, self.score_schedule.event, replace_one=self.replace_one)

    @property
    def rho(self) -> Fraction:
        """The cost of the event."""
        return total(self.event).rho

    @property
    def caveat(self) -> str:
        """That of the training; scores are sums of integers."""
        return self.fit.caveat

    @property
    def own_epsilon(self) -> str:
        """None: that of the training by itself leaves out the score."""
        return ""

    @property
    def reason(self) -> str:
        """How the costs of fit and score add up."""
        if self.replace_one:
            return "a replaced person may be in fit and score, so their rhos add"
        return "fit and score are of disjoint people, so the larger is charged"

    @property
    def has_sums_in_cluster(self) -> bool:
        """Whether sums of people suffice for the training; they do for scores."""
        return self.fit.has_sums_in_cluster

    @property
    def parameters(self) -> dict[str, Any]:
        """Those of the training, with those of the hold-out and the score."""
        how = self.scoring
        score = {"bins": how.bins, "max_rows": how.max_rows, "largest_error": how.largest_error}
        held = {"share": self.holdout.share, "key": self.holdout.key.hex()}
        return self.fit.parameters | {"holdout": held | score}

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The categories of features and the classes of the target, as texts."""
        return self.fit.categories

    @property
    def words(self) -> Lines:
        """What is trained and scored, in words."""
        noise = self.score_schedule.sums[0].noise
        both = "their sum is charged" if self.replace_one else "disjoint people, so the larger of both is charged"
        return (
            *self.fit.words,
            self.holdout_line,
            ("scores", f"{noise.dimension:,} noisy integers of them, rho {shown_up(self.score_schedule.rho)}; {both}"),
        )

    @property
    def holdout_line(self) -> tuple[str, str]:
        """Who is held out, in words."""
        share = shown(100 * self.holdout.share)
        return ("held out", f"{share}% of people, by a keyed hash of their names; of their codes where rows are people")

    def encode(self, rows: "pa.Table", people: PersonIds | None, names: "pa.Table | None") -> PartsOfBlock:
        """The codes of both parts; a person is in one of them."""
        split = KeyedSplit(self.holdout.key)
        if people is None or names is None:
            block = self.fit.encode(rows, None)
            is_out = is_below(split.row_numbers(block.codes, block.target), self.holdout.share)
            return PartsOfBlock(_rows(block, ~is_out), _rows(block, is_out))
        is_out = is_below(split.unit_numbers(names, people), self.holdout.share)
        parts = [self.fit.encode(rows.filter(mask), people[mask]) for mask in (~is_out, is_out)]
        return PartsOfBlock(*parts)

    def people(self, blocks: Sequence[PartsOfBlock]) -> PartsInMemory:
        """The people of all blocks."""
        return PartsInMemory(tuple(blocks))

    def pack(self, block: PartsOfBlock) -> bytes:
        """A block as bytes, which `add_packed_part` reads."""
        train, test = map(pack_rows, block)
        return len(train).to_bytes(_LENGTH, "little") + train + test

    @property
    def add(self) -> Callable[[PartStep, Sequence[bytes]], Integers]:
        """The sum of one part over packed blocks."""
        return add_packed_part

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of the estimator and of both parts."""
        return (*self.fit.modules, __name__)

    def planned_figures(self, confidence: Fraction) -> tuple[PlannedFigure, ...]:
        """The figures of the score; the margin of their weight is public in advance."""
        if isinstance(self.fit.estimator, PrivateRegressor):
            return tuple(PlannedFigure(name, kind, None, _HIDDEN) for name, kind in _ERRORS.items())
        noise = self.score_schedule.sums[0].noise
        width = normal_quantile(float(confidence)) * noise.sigma * math.sqrt(2 * self.scoring.bins) / UNIT
        kinds = _SCORES | {BASE_RATE: f"share of {base_class_of(self.fit.estimator)!r}"}
        figures = tuple(PlannedFigure(name, kind, None, _HIDDEN) for name, kind in kinds.items())
        return (*figures, PlannedFigure(WEIGHT, _WEIGHT, digits_up(Fraction(width), 3), ""))

    def card(self, state: Mapping[str, Any]) -> Lines:
        """The model card: what was trained, and its figures on the people held out."""
        found = figures_of(table_from_json(state["evaluation"]))
        level = f"{100 * state['evaluation']['confidence']:g}%"
        base = base_class_of(self.fit.estimator)
        texts = ((name, figure_text(name, figure, base)) for name, figure in found.items())
        return (*self.words, *((name.replace("_", " "), f"{text}, {level} interval") for name, text in texts))

    def train(self, people: Any, *, is_private: bool) -> dict[str, Any]:
        """The model as plain data, with the noisy integers of its score."""
        train, test = PartOfPeople(people, is_test=False), PartOfPeople(people, is_test=True)
        model = self.trained(train, is_private=is_private)
        return self.fit.state(model, self.event) | {"evaluation": self.measure(model, test, is_private=is_private)}

    def trained(self, people: SumsOfPeople, *, is_private: bool) -> PublicModel:
        """A model of one part."""
        learner = self.fit.learner
        return learner.train(sums_of(people, learner.schedule, is_private=is_private))

    def measure(self, model: PublicModel, people: SumsOfPeople, *, is_private: bool) -> dict[str, Any]:
        """The noisy integers of a model on the other part."""
        sums, estimator = sums_of(people, self.score_schedule, is_private=is_private), self.fit.estimator
        return self.scoring.measure(estimator, model, sums, self.score_schedule)  # type: ignore[arg-type]

    def restore(self, state: Mapping[str, Any], guarantee: str) -> Any:
        """The fitted estimator, with its evaluation."""
        return attach_evaluation(self.fit.restore(state, guarantee), state)


_SCORES = {"auc": "area under the ROC curve", "accuracy": "share of right predictions"}
_WEIGHT = "weight of the people held out, 1 for a person with one row"
_ERRORS = {"mean_squared_error": "mean of squared errors", "root_mean_squared_error": "its square root"}


def held_out_training(estimator: Any, facts: ModelFacts, holdout: Holdout) -> HeldOutTraining:
    """The training of an estimator on some people, and its score on the others, from public facts alone.

    Args:
        estimator: A classifier or regressor of `dp.learning`, not fitted.
        facts: The target, the columns, the size and the privacy cost of fit and score together.
        holdout: Who is held out.

    Returns:
        The training.

    Raises:
        ParameterError: If something needed is not declared, or the model has no scores.
        UnsupportedError: If its scores are floats.
    """
    require_scores(estimator)
    scoring = Scoring()
    fit_rho, score_rho = fit_and_score_rhos(facts.rho, replace_one=facts.replace_one)
    fit = training_of(estimator, replace(facts, rho=fit_rho))
    schedule = scoring.schedule(fit.estimator, score_rho, replace_one=facts.replace_one)  # type: ignore[arg-type]
    return HeldOutTraining(fit, scoring, schedule, holdout, facts.replace_one)


def attach_evaluation(model: Any, state: Mapping[str, Any]) -> Any:
    """The model with the evaluation that its plain data has."""
    table = table_from_json(state["evaluation"])
    figures, cost = figures_of(table), (model.event_, model.guarantee_)
    if "search" in state:
        model.evaluation = ModelSearch(model, dict(state["search"]["parameters"]), figures, table, *cost)
    else:
        model.evaluation = Evaluation(figures, table, model, *cost)
    return model


def add_packed_part(step: PartStep, blocks: Sequence[bytes]) -> Integers:
    """The exact sum over the people of one part of packed blocks."""
    return people_sum(step.step, (unpack_rows(_packed_part(block, is_test=step.is_test)) for block in blocks))


def _packed_part(block: bytes, *, is_test: bool) -> bytes:
    end = _LENGTH + int.from_bytes(block[:_LENGTH], "little")
    return block[end:] if is_test else block[_LENGTH:end]


def _rows(block: EncodedRows, mask: NDArray[np.bool_]) -> EncodedRows:
    """Some rows of a block in which each row is a person."""
    return EncodedRows(block.codes[mask], block.target[mask])
