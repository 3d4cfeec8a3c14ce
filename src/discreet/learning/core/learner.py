"""The contract of a learner: public facts, a schedule made from them alone, and training on noisy sums."""

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import Integers
from discreet.learning.core.rows import Codes
from discreet.learning.core.sums import Step
from discreet.learning.core.training import NoisySums, Schedule, planned_sum


class PublicModel(ABC):
    """What training makes of noisy sums: it holds nothing that was not released."""

    @abstractmethod
    def scores(self, codes: Codes) -> Integers:
        """Scores in steps: one column for a binary class or a number, one for each class else."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The model that `to_json` wrote."""


class Learner(ABC):
    """An algorithm with all its public parameters: features, classes, declared size, privacy cost."""

    @property
    @abstractmethod
    def schedule(self) -> Schedule:
        """Every sum that training will ask for, from public facts alone."""

    @abstractmethod
    def train(self, sums: NoisySums) -> PublicModel:
        """The model, from noisy sums alone."""

    @property
    def defaults(self) -> dict[str, int | float]:
        """Values that arguments have which an estimator may leave open, from public facts alone."""
        return {}

    def feature_text(self, feature: DeclaredFeature) -> str:
        """How a feature is read, in words."""
        return f"{feature.slots - 1:,} {'bins' if feature.is_ordered else 'categories'}"


class OneSumLearner(Learner):
    """A learner that asks for one sum, whose clip and length follow from public facts."""

    rho: Fraction
    replace_one: bool

    @abstractmethod
    def _step(self) -> Step:
        """The rule by which rows contribute."""

    @cached_property
    def schedule(self) -> Schedule:
        """One sum, with all of rho."""
        step = self._step()
        return Schedule((planned_sum(step.clip, step.length, self.rho, replace_one=self.replace_one),))
