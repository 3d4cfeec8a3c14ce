"""Training of a network as a learner: public facts, one schedule, and descent on noisy sums over samples of people.

The contract of learners is kept in part. The schedule is made from public facts alone, and holds the whole event. But
`train` is refused: it is given sums over all people, and a network asks for sums over samples, of gradients that depend
on the weights. `train_on_samples` does it, in the process that has the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.learning.core.learner import Learner, PublicModel
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.training import NoisySums
from discreet.learning.sgd.descent import descend
from discreet.learning.sgd.model import NetworkModel
from discreet.learning.sgd.sampled_sums import SampledSchedule, SampledSums

if TYPE_CHECKING:
    from discreet.learning.sgd.network import Network

EXPECTED_PEOPLE = 1024
EPOCHS = 20


def default_rate(size: int) -> Fraction:
    """About 1,024 people in a batch; at least one in 64 and at most one in 8 of small tables."""
    return min(Fraction(1, 8), max(Fraction(1, 64), Fraction(EXPECTED_PEOPLE, max(size, 1))))


def default_steps(rate: Fraction) -> int:
    """So many steps that a person is in 20 samples on average."""
    return max(1, round(EPOCHS / rate))


@dataclass(frozen=True)
class NetworkLearner(Learner):
    """A network with its public parameters.

    Attributes:
        network: The network, with the public weights to begin with.
        classes: Number of classes.
        plan: The schedule.
        norm: The L2 norm to which the gradient of a person is clipped.
        learning_rate: Size of a step.
        rows_at_once: Rows whose gradients are computed together.
    """

    network: "Network"
    classes: int
    plan: SampledSchedule
    norm: float
    learning_rate: float
    rows_at_once: int

    @property
    def defaults(self) -> dict[str, int | float]:
        """Sampling rate and steps."""
        return {"sampling_rate": float(self.plan.rate), "steps": self.plan.steps}

    @property
    def schedule(self) -> SampledSchedule:
        """Every step of the training, from public facts alone."""
        return self.plan

    def train(self, sums: NoisySums) -> PublicModel:  # noqa: ARG002 - refused for all sums
        """Not offered: a network is trained on samples of people, by `train_on_samples`.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError("a network is trained on samples of people")

    def train_on_samples(self, blocks: Sequence[EncodedRows], kind: type[SampledSums]) -> NetworkModel:
        """The model, from noisy sums over samples of people."""
        sums = kind(blocks, self.plan, norm=self.norm, rows_at_once=self.rows_at_once)
        weights = descend(sums, self.network.at, self.network.vector(), self.learning_rate)
        network = self.network.at(weights)
        return NetworkModel(network.layers, network.weights(), network.slots, self.classes)
