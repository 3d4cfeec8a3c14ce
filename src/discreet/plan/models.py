"""What a session knows of a model: public facts go in, a training with its event comes out, and rows reach it as sums.

The models themselves are in `discreet.learning`, above sessions. A session sees them through these protocols,
and finds estimators, hold-outs and searches by the names listed here.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.catalog.catalog import Column
from discreet.errors import ParameterError
from discreet.events import Event
from discreet.plan.wording import Lines

if TYPE_CHECKING:
    import pyarrow as pa

PEOPLE_IN_A_BLOCK = 200_000
BYTES_IN_A_BLOCK = 2**27
LEAST_BLOCKS = 16
MOST_MODEL_BLOCKS = 10_000
LONG_TEXT = 64
LARGEST_LOCAL_SIZE = 200_000
"""Declared people up to which codes of rows come to this process from a cluster, too; above, sums alone do."""

_ESTIMATORS = {
    "gradient boosting classifier": ("discreet.learning.boosting.estimators", "GradientBoostingClassifier"),
    "gradient boosting regressor": ("discreet.learning.boosting.estimators", "GradientBoostingRegressor"),
    "logistic regression": ("discreet.learning.linear.logistic_regression", "LogisticRegression"),
    "naive bayes": ("discreet.learning.linear.naive_bayes_classifier", "NaiveBayes"),
    "network": ("discreet.learning.sgd.torch_classifier", "TorchClassifier"),
    "ridge": ("discreet.learning.linear.ridge_regression", "Ridge"),
    "scaler": ("discreet.learning.linear.standard_scaler", "StandardScaler"),
}
"""Where the estimators are that a session trains. Fingerprints hold the tag, which stays when a class is renamed."""

PersonIds = NDArray[np.int64]


@dataclass(frozen=True)
class ModelFacts:
    """The public facts that a model is planned from.

    Attributes:
        target: Name of the column that the model predicts; None for a scaler.
        columns: The columns that may be features, with what the catalog declares of them.
        target_column: The same of the target.
        has_feature_list: Whether the query names the features; else the model takes what it can.
        size: Public approximate number of people, or None.
        rho: Privacy cost of the training.
        replace_one: Whether neighbours differ by one person who is replaced.
        orders: The orders at which the cost of the training is at most rho; none where rho holds at every order.
        delta: The delta of the guarantee.
        allow_float_gradients: Whether the owner allows gradients in floats.
    """

    target: str | None
    columns: Mapping[str, Column]
    target_column: Column | None
    has_feature_list: bool
    size: int | None
    rho: Fraction
    replace_one: bool
    orders: tuple[Fraction, ...] = ()
    delta: Fraction = Fraction(0)
    allow_float_gradients: bool = False


@dataclass(frozen=True)
class Holdout:
    """The people that a model is scored on, and not trained on: their share, and the key of the hash that says who.

    The key is public and depends on the name of the table alone. Where units have names, all queries of a table hold
    the same units out. Where each row is a unit, rows are held out by a hash of their codes, which differs between
    queries and ledgers.
    """

    share: Fraction
    key: bytes


@dataclass(frozen=True)
class SearchOptions:
    """A search among candidates: arguments that each changes, the figure to compare by, and the law of runs."""

    candidates: tuple[Mapping[str, Any], ...]
    metric: str | None
    runs: int | None
    eta: Fraction


class PlannedFigure(NamedTuple):
    """A figure of a model before it is trained: its margin of error, None where that depends on rows."""

    name: str
    kind: str
    margin: Fraction | None
    note: str


class ModelTraining(Protocol):
    """A model with everything public about its training; made before a row is read."""

    @property
    def name(self) -> str:
        """The name of the kind of model."""

    @property
    def features(self) -> Sequence[str]:
        """The columns that are features, in their order."""

    @property
    def size(self) -> int:
        """The declared number of people."""

    @property
    def event(self) -> Event:
        """What training does, for the accountants."""

    @property
    def rho(self) -> Fraction:
        """The zero-concentrated cost of the event; of samples and searches, at the orders of the budget."""

    @property
    def caveat(self) -> str:
        """What the guarantee does not cover of this model, as sentences; empty where it covers all."""

    @property
    def own_epsilon(self) -> str:
        """A smaller epsilon that the training has by itself, as a sentence; empty where none is known."""

    @property
    def reason(self) -> str:
        """Why the noise is what it is: how the cost of its parts adds up, for explanations."""

    @property
    def has_sums_in_cluster(self) -> bool:
        """Whether sums of people suffice, which a cluster may add; else codes of rows come to this process."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All public parameters as plain data: what the fingerprint of the query is made of."""

    @property
    def categories(self) -> Mapping[str, Sequence[str]]:
        """The names by which values of columns are known, of features and of the target."""

    @property
    def words(self) -> Lines:
        """What is trained, in words."""

    def encode(self, rows: "pa.Table", people: PersonIds | None, names: "pa.Table | None") -> Any:
        """The rows of whole people as codes.

        `people` are the numbers of their people within the block and `names` the columns that name them; both are None
        where each row is a person.
        """

    def people(self, blocks: Sequence[Any]) -> Any:
        """The people of all blocks, for `train`."""

    def pack(self, block: Any) -> bytes:
        """A block of codes as bytes."""

    @property
    def add(self) -> Callable[[Any, Sequence[bytes]], NDArray[np.int64]]:
        """The function that adds a step over packed blocks; it travels to where they are."""

    @property
    def modules(self) -> Sequence[str]:
        """The modules that encoding and adding need."""

    def planned_figures(self, confidence: Fraction) -> Sequence[PlannedFigure]:
        """The figures that come with the model, before anything is read."""

    def card(self, state: Mapping[str, Any]) -> Lines:
        """The model card, from the plain data of `train`."""

    def train(self, people: Any, *, is_private: bool) -> dict[str, Any]:
        """The model as plain data, from noisy sums of people; from exact ones where it is not private."""

    def restore(self, state: Mapping[str, Any], guarantee: str) -> Any:
        """The model for its user, from the plain data of `train`."""


@runtime_checkable
class TrainableModel(Protocol):
    """A model before it is trained."""

    def training(self, facts: ModelFacts) -> ModelTraining:
        """The training from public facts alone, or an error."""


def has_target(model: TrainableModel) -> bool:
    """Whether a model predicts a column; a scaler does not."""
    return bool(getattr(type(model), "has_target", True))


def estimator_tag(model: object) -> str:
    """The tag of an estimator of `dp.learning`, of exactly its class.

    A model sees rows as they are encoded, so a subclass, another object with the same methods, or an instance that
    hides a method could put cells into a release.

    Raises:
        ParameterError: If it is anything else.
    """
    kind = type(model)
    homes = {tag: getattr(sys.modules.get(module), name, None) for tag, (module, name) in _ESTIMATORS.items()}
    tags = [tag for tag, own in homes.items() if own is kind]
    if not tags:
        raise ParameterError(
            f"a model of the class {kind.__module__}.{kind.__qualname__}",
            because="a session trains models of dp.learning, which bound what a person contributes",
            instead='dp.table("adult").fit(dp.learning.LogisticRegression(size=30_000), target="income")',
        )
    hidden = sorted(name for name in set(vars(model)) - {*signature(kind).parameters} if hasattr(kind, name))
    if hidden:
        raise ParameterError(
            f"a {kind.__name__} whose {hidden[0]!r} was replaced",
            because="a session trains models of dp.learning as they are",
            instead=f"dp.learning.{kind.__name__}(size=30_000)",
        )
    return tags[0]


def holdout_of(share: Fraction, dataset: str) -> Holdout:
    """The hold-out of a table: a share of its units."""
    return Holdout(share, sha256(f"discreet.holdout/1\0{dataset}".encode()).digest())


def held_out_training(model: TrainableModel, facts: ModelFacts, holdout: Holdout) -> ModelTraining:
    """The training of an estimator on some people with its score on those held out, from public facts alone.

    Evaluation is above sessions, so it is found by its name, as estimators are.
    """
    planner: Any = import_module("discreet.learning.evaluation.held_out")
    training: ModelTraining = planner.held_out_training(model, facts, holdout)
    return training


def search_training(
    model: TrainableModel, facts: ModelFacts, holdout: Holdout, search: SearchOptions, orders: tuple[Fraction, ...]
) -> ModelTraining:
    """The search among candidates of an estimator, whose cost is bounded at these orders; found by its name, too."""
    planner: Any = import_module("discreet.learning.evaluation.search_training")
    training: ModelTraining = planner.search_training(model, facts, holdout, search, orders)
    return training


def candidate_arguments(candidates: object) -> tuple[dict[str, Any], ...]:
    """The arguments that each candidate of a search changes, or an error."""
    found = list(candidates) if isinstance(candidates, Iterable) and not isinstance(candidates, str | Mapping) else []
    if not found or not all(isinstance(each, Mapping) for each in found):
        raise ParameterError(
            "candidates that are not dictionaries of arguments",
            because="a candidate changes arguments of the model",
            instead='candidates=[{"rounds": 20}, {"rounds": 40}]',
        )
    return tuple(dict(each) for each in found)


def number_of_blocks(people: int, rows: int, row_bytes: int) -> int:
    """How many blocks of people keep each small in memory, from public numbers alone, up to MOST_MODEL_BLOCKS.

    It changes no sum.

    Args:
        people: The declared number of people.
        rows: Most rows of a person.
        row_bytes: Most bytes of a row.

    Returns:
        The number of blocks.
    """
    by_bytes = -(-people * rows * row_bytes // BYTES_IN_A_BLOCK)
    return min(MOST_MODEL_BLOCKS, max(LEAST_BLOCKS, -(-people // PEOPLE_IN_A_BLOCK), by_bytes))


def longest_text(values: Sequence[str]) -> int:
    """Most bytes of a text that can be one of the declared values."""
    return max([LONG_TEXT, *(len(value.encode()) for value in values)])
