"""A model as a query of a session: features, classes and sizes from the catalog, and training on the session's rows.

An estimator before its fit becomes a training with one event, from public facts alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet import events
from discreet.errors import ParameterError
from discreet.exact.numbers import whole
from discreet.exact.rounding import shown_up
from discreet.learning.core.catalog_facts import catalog_classes, catalog_features, catalog_target_bounds
from discreet.learning.core.features import (
    DeclaredFeature,
)
from discreet.learning.core.lattice import Integers
from discreet.learning.core.learner import Learner, PublicModel
from discreet.learning.core.rows import EncodedRows, group_people, pack_rows, unpack_rows
from discreet.learning.core.saved_state import plain_value, saved_state
from discreet.learning.core.sums import Step, people_sum
from discreet.learning.core.training import ExactSums, NoisySums, PeopleInMemory, Schedule, SumsOfPeople
from discreet.plan.models import ModelFacts, PersonIds, PlannedFigure
from discreet.plan.wording import Lines

if TYPE_CHECKING:
    import pyarrow as pa

_COSTS = ("epsilon", "rho", "budget")
_OF_THE_SESSION = (*_COSTS, "neighbours")
_LONGEST = 1_000


class UntrainedEstimator(Protocol):
    """What a session needs of an estimator of `dp.learning`; `discreet.learning.estimator` has it."""

    def get_params(self, deep: bool = ...) -> dict[str, Any]:
        """The parameters of the constructor."""

    def learner(self, features: dict[str, DeclaredFeature], rho: Fraction, *, replace_one: bool) -> Learner:
        """The algorithm with all its public parameters."""

    def target_steps(self, target: Any) -> tuple[Integers, NDArray[np.bool_]]:
        """The target of each row as a whole number, and whether the row counts."""

    @classmethod
    def model_from_json(cls, data: dict[str, Any]) -> PublicModel:
        """The model that it wrote as plain data."""

    def adopt(
        self, model: PublicModel, features: Mapping[str, DeclaredFeature], event: events.Event, guarantee: str
    ) -> Any:
        """Become fitted with a model that was trained elsewhere."""


@dataclass(frozen=True)
class SessionTraining:
    """An estimator with everything public about its training in a session."""

    estimator: UntrainedEstimator
    declared: dict[str, DeclaredFeature]
    target: str | None
    size: int
    learner: Learner

    @property
    def name(self) -> str:
        """The class of the estimator."""
        return type(self.estimator).__name__

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that are features, in their order."""
        return tuple(self.declared)

    @property
    def event(self) -> events.Event:
        """The event of all sums."""
        return self.learner.schedule.event

    @property
    def rho(self) -> Fraction:
        """The cost of the event."""
        return self.learner.schedule.rho

    @property
    def caveat(self) -> str:
        """Nothing: the guarantee covers sums of integers and their noise."""
        return ""

    @property
    def own_epsilon(self) -> str:
        """None: the cost of the sums is stated as it is charged."""
        return ""

    @property
    def reason(self) -> str:
        """How the cost of the sums adds up."""
        return "a model is trained on sums, and the rhos of their noise add"

    @property
    def has_sums_in_cluster(self) -> bool:
        """Sums of people suffice."""
        return True

    @property
    def parameters(self) -> dict[str, Any]:
        """What the estimator was asked for, with what the catalog declares."""
        params = self.estimator.get_params(deep=False)
        own = {name: value for name, value in sorted(params.items()) if name not in (*_OF_THE_SESSION, "features")}
        features = [[name, feature.to_json()] for name, feature in self.declared.items()]
        return {"target": self.target} | own | {"features": features}

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The categories of features and the classes of the target, as texts."""
        found = {name: tuple(map(str, each.values)) for name, each in self.declared.items() if not each.is_ordered}
        classes = self.estimator.get_params(deep=False).get("classes")
        return found if self.target is None or classes is None else found | {self.target: tuple(map(str, classes))}

    @property
    def words(self) -> Lines:
        """What is trained, in words: the lines of the document and of the model card."""
        sums = self.learner.schedule.sums
        listed = ", ".join(f"{name} ({self.learner.feature_text(each)})" for name, each in self.declared.items())
        hidden = (*_OF_THE_SESSION, "features", "size")
        params, defaults = self.estimator.get_params(deep=False), self.learner.defaults
        found = {name: f"{value:.4g} (default)" for name, value in defaults.items() if params.get(name) is None}
        own = ", ".join(
            f"{name}={found.get(name, repr(params[name]))}" for name in sorted(params) if name not in hidden
        )
        rho = shown_up(self.rho)
        noise = f"{len(sums):,} noisy sums of clipped vectors of people, rho {rho} together"
        if len(sums) == 1:
            noise = f"1 noisy sum of clipped vectors of people, rho {rho}"
        return (
            ("model", self.name if self.target is None else f"{self.name} of {self.target}"),
            ("features", _short(listed)),
            ("declared size", f"{self.size:,} people"),
            ("parameters", _short(own) or "none"),
            ("training", noise),
        )

    def encode(
        self,
        rows: "pa.Table",
        people: PersonIds | None,
        names: "pa.Table | None" = None,  # noqa: ARG002 - a training of all people needs none
    ) -> EncodedRows:
        """The codes of the rows that have a target; they depend on each cell alone."""
        target, counts = self.estimator.target_steps(rows if self.target is None else rows.column(self.target))
        codes = np.empty((rows.num_rows, len(self.declared)), dtype=np.uint16)
        for place, (name, feature) in enumerate(self.declared.items()):
            codes[:, place] = feature.encode(rows.column(name))
        return group_people(codes[counts], target[counts], None if people is None else people[counts])

    def people(self, blocks: Sequence[EncodedRows]) -> PeopleInMemory:
        """The people of all blocks."""
        return PeopleInMemory(tuple(blocks))

    def pack(self, block: EncodedRows) -> bytes:
        """A block of codes as bytes, which `add_packed` reads."""
        return pack_rows(block)

    @property
    def add(self) -> Callable[[Step, Sequence[bytes]], Integers]:
        """The sum of a step over packed blocks."""
        return add_packed

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of the estimator and of sums."""
        return (type(self.estimator).__module__, __name__)

    def planned_figures(self, confidence: Fraction) -> tuple[PlannedFigure, ...]:  # noqa: ARG002 - it has none
        """A model alone has no figures."""
        return ()

    def card(self, state: Mapping[str, Any]) -> Lines:  # noqa: ARG002 - all of it is public in advance
        """The model card: what was trained."""
        return self.words

    def train(self, people: SumsOfPeople, *, is_private: bool) -> dict[str, Any]:
        """The model as plain data, with the parameters of its estimator."""
        return self.state(self.learner.train(sums_of(people, self.learner.schedule, is_private=is_private)), self.event)

    def state(self, model: PublicModel, event: events.Event) -> dict[str, Any]:
        """A trained model as plain data; the event is the one that was charged."""
        return saved_state(self.estimator, self.declared, event, model, has_names=True)

    def restore(self, state: Mapping[str, Any], guarantee: str) -> Any:
        """The fitted estimator."""
        kind = type(self.estimator)
        own = kind(**self.estimator.get_params(deep=False))
        event = events.from_json(state["event"])
        return own.adopt(kind.model_from_json(state["model"]), self.declared, event, guarantee)


def sums_of(people: SumsOfPeople, schedule: Schedule, *, is_private: bool) -> NoisySums:
    """The sums of a schedule, with noise; without it for tests, where they are not private."""
    return (NoisySums if is_private else ExactSums)(people, schedule)


def add_packed(step: Step, blocks: Sequence[bytes]) -> Integers:
    """The exact sum over the people of packed blocks."""
    return people_sum(step, map(unpack_rows, blocks))


def training_of(estimator: Any, facts: ModelFacts) -> SessionTraining:
    """The training of an estimator from public facts alone.

    Args:
        estimator: An estimator of `dp.learning`, not fitted.
        facts: The target, the columns with what the catalog declares of them, the size and the privacy cost.

    Returns:
        The training.

    Raises:
        UnboundedError: If a feature has neither bounds nor keys.
        ParameterError: If the size or the classes are not declared.
    """
    complete, features = complete_estimator(estimator, facts)
    learner = complete.learner(features, facts.rho, replace_one=facts.replace_one)
    return SessionTraining(complete, features, facts.target, complete.get_params(deep=False)["size"], learner)


def complete_estimator(estimator: Any, facts: ModelFacts) -> tuple[UntrainedEstimator, dict[str, DeclaredFeature]]:
    """An estimator made anew from plain values, with what the catalog declares, and its features.

    Raises:
        ParameterError: If it has a cost or neighbours of its own, or something needed is not declared.
    """
    kind = type(estimator)
    given = kind.get_params(estimator, deep=False)
    _require_session_cost(kind.__name__, given, replace_one=facts.replace_one)
    features = catalog_features(given.get("features"), facts)
    params = {name: plain_value(value) for name, value in given.items() if name not in (*_OF_THE_SESSION, "features")}
    size = params.get("size") or facts.size
    if size is None:
        raise ParameterError(
            f"{kind.__name__} without a declared size",
            because="steps, noise and blocks are planned for a public number of people",
            instead=f"dp.learning.{kind.__name__}(size=30_000), or population=30_000 in dp.protect",
        )
    found: dict[str, Any] = {"features": features, "size": whole(size, "size")}
    if "neighbours" in given:
        found["neighbours"] = "replace_one" if facts.replace_one else "add_remove"
    if "classes" in params:
        found["classes"] = catalog_classes(params["classes"], facts)
    if "target_bounds" in params:
        found["target_bounds"] = catalog_target_bounds(params["target_bounds"], facts)
    return kind(**(params | found)), features


def _require_session_cost(name: str, given: Mapping[str, Any], *, replace_one: bool) -> None:
    """Refuse a cost, an account or neighbours of the estimator, which would play no part.

    The default neighbours are accepted everywhere: an estimator cannot tell them from what its caller wrote.
    """
    costs = [each for each in _COSTS if given.get(each) is not None]
    if costs:
        nothing = ", ".join(f"{each}=None" for each in costs)
        raise ParameterError(
            f"{name} with {' and '.join(costs)} in a session",
            because="the session has the budget, and release says the cost",
            instead=f"model.set_params({nothing}), and session.release(query, epsilon=1)",
        )
    of_session = "replace_one" if replace_one else "add_remove"
    own = given.get("neighbours", of_session)
    if not isinstance(own, str) or own not in (of_session, "add_remove"):
        raise ParameterError(
            f"{name} with neighbours={own!r:.50} in a session",
            because=f"the neighbours of the session are {of_session!r}",
            instead=f"model.set_params(neighbours={of_session!r})",
        )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
