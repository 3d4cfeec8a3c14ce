"""Networks in sessions: the codes of rows come to this process, which samples people and adds clipped gradients.

It differs from the training of other models in two ways. A step needs gradients of rows, which a cluster does not
compute, so codes of rows come here. And the cost is one at the orders of the budget: a rho at every order would be
that of a training without sampling. An owner allows gradients in floats by `allow_float_gradients` in the catalog.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.accounting.sampled_gaussian import divergence
from discreet.errors import ParameterError, UnsupportedError
from discreet.learning.core.question import SessionTraining
from discreet.learning.core.training import PeopleInMemory
from discreet.learning.sgd.learner import NetworkLearner
from discreet.learning.sgd.reported_epsilon import reported_text
from discreet.learning.sgd.sampled_sums import ExactSampledSums, SampledSums
from discreet.plan.models import ModelFacts
from discreet.plan.wording import Lines


@dataclass(frozen=True)
class NetworkTraining(SessionTraining):
    """A network with everything public about its training in a session.

    Attributes:
        learner: The network and its schedule.
        orders: The orders of the budget and of the query, at which the cost is stated.
        delta: The delta of the guarantee.
        floats: What the guarantee does not cover.
    """

    learner: NetworkLearner
    orders: tuple[Fraction, ...]
    delta: Fraction
    floats: str

    @property
    def rho(self) -> Fraction:
        """The largest cost at one of the orders."""
        plan, one = self.learner.plan, self.learner.plan.step_event
        return max(plan.steps * divergence(one, order) / order for order in self.orders)

    @property
    def caveat(self) -> str:
        """Gradients are floats."""
        return self.floats

    @property
    def own_epsilon(self) -> str:
        """The smaller epsilon by the privacy loss distribution of the training."""
        return reported_text(self.event, self.delta)

    @property
    def reason(self) -> str:
        """How the cost of the samples is charged."""
        return "sampled sums are charged at the orders of the budget and of its epsilon"

    @property
    def has_sums_in_cluster(self) -> bool:
        """A cluster does not compute gradients."""
        return False

    @property
    def words(self) -> Lines:
        """What is trained, in words."""
        plan = self.learner.plan
        steps = f"{plan.steps:,} noisy sums of clipped gradients over Poisson samples of people at rate {plan.rate}"
        known = [line for line in super().words if line[0] != "training"]
        return (*known, ("training", steps), ("not covered", self.floats))

    def train(self, people: PeopleInMemory, *, is_private: bool) -> dict[str, Any]:  # type: ignore[override]
        """The model as plain data, with the parameters of its estimator."""
        kind = SampledSums if is_private else ExactSampledSums
        return self.state(self.learner.train_on_samples(people.blocks, kind), self.event)


def require_session_facts(facts: ModelFacts, module: object) -> None:
    """Refuse what a session cannot train, from public facts alone.

    Args:
        facts: Public facts of the session.
        module: The module that the estimator was given, or None.

    Raises:
        ParameterError: If the owner does not allow floats in gradients, or a rho was asked for.
        UnsupportedError: If the estimator has a module.
    """
    if not facts.allow_float_gradients:
        raise ParameterError(
            "a network in a session whose catalog does not allow it",
            because="gradients are floats, which the owner has to allow in the catalog",
            instead="allow_float_gradients: true in the catalog, or dp.learning.GradientBoostingClassifier()",
        )
    if module is not None:
        raise UnsupportedError(
            "a network of a given module in a session",
            because="a session makes models anew from plain values",
            instead="dp.learning.TorchClassifier(hidden=(32, 16))",
        )
    if not facts.orders:
        raise ParameterError(
            "a network at a given rho",
            because="samples of people cost less at the order of the budget, not at every order",
            instead="epsilon=1",
        )
