"""Networks of torch, trained by differentially private stochastic gradient descent, as an estimator of scikit-learn.

How it differs from other estimators, whose learners are given noisy sums over all people:

- A step is a sum over a Poisson sample of people, so its privacy is that of a sampled Gaussian event. It is charged at
  the order of the budget, and reported by its privacy loss distribution as well.
- Gradients are floats of torch and Opacus. Steps, sums, clipping and noise are integers, as everywhere.
- Training needs gradients of rows, so `Learner.train`, which has sums alone, is not offered: `train_on_samples` is.
- Weights begin at random, from the public generator of torch, or are those of a public module.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number, positive, whole
from discreet.learning.classifier import PrivateClassifier
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.learner import Learner, PublicModel
from discreet.learning.core.question import complete_estimator
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.training import ExactSums
from discreet.learning.estimator import Features
from discreet.learning.sgd.learner import NetworkLearner, default_rate, default_steps
from discreet.learning.sgd.model import NetworkModel
from discreet.learning.sgd.reported_epsilon import reported_text
from discreet.learning.sgd.sampled_sums import ExactSampledSums, SampledSums, sampled_schedule
from discreet.learning.sgd.session_training import NetworkTraining, require_session_facts
from discreet.plan.models import ModelFacts

if TYPE_CHECKING:
    from discreet.learning.sgd.network import Network

IN_BATCHES = (
    "Floats in gradients: they are computed in batches, and the last bits of one may depend on other rows of its "
    "batch, which the guarantee does not cover."
)
ALONE = "Floats in gradients: each row is computed alone; the guarantee assumes that equal rows give equal floats."
_MOST_ROWS_AT_ONCE = 1 << 16


@public_class
class TorchClassifier(PrivateClassifier):
    """Network of torch on the one-hot codes of declared features, trained on Poisson samples of people.

    Sampling, clipping, sums and noise are exact; gradients are floats of torch and Opacus, which has to be allowed.
    Needs the extra: pip install "discreet[torch]".

    Args:
        module: `torch.nn.Sequential` of layers that read each row alone; its weights are public and begin the training.
            Default: linear layers with ReLU between them.
        hidden: Widths of the hidden layers of the default module.
        features: Declaration of each column by its name, or one declaration for all columns.
        classes: The labels.
        size: Approximate number of people, declared.
        budget: Account that fits are charged to; clones share it.
        epsilon: Epsilon of one fit. Default: the whole epsilon of the account's budget.
        neighbours: "add_remove"; people who are replaced are refused.
        sampling_rate: Probability that a person is in a batch. Default: from the size.
        steps: Number of batches. Default: 20 for each person on average.
        clip: L2 norm to which the gradient of a person is clipped.
        learning_rate: Size of a step.
        rows_at_once: Rows whose gradients are computed together. With 1, none depends on other rows; it is slower.
        allow_float_gradients: Whether gradients may be floats, which the guarantee then names. In a session the
            catalog of the owner says so, and this argument plays no part.

    Example:
        >>> import discreet as dp
        >>> model = dp.learning.TorchClassifier(
        ...     features={"age": dp.learning.linear_bins(17, 90)},
        ...     classes=[0, 1],
        ...     size=30_000,
        ...     budget=dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-6)),
        ...     allow_float_gradients=True,
        ... )
        >>> model.hidden
        (16,)
    """

    rho = None

    has_exact_scores = False
    _model_class = NetworkModel

    def __init__(
        self,
        *,
        module: Any = None,
        hidden: Sequence[int] = (16,),
        features: Features | None = None,
        classes: Sequence[object] | None = None,
        size: int | None = None,
        budget: BudgetAccount | None = None,
        epsilon: Number | None = None,
        neighbours: str = "add_remove",
        sampling_rate: Number | None = None,
        steps: int | None = None,
        clip: float = 1.0,
        learning_rate: float = 0.01,
        rows_at_once: int = 256,
        allow_float_gradients: bool = False,
    ) -> None:
        self.module = module
        self.hidden = hidden
        self.features = features
        self.classes = classes
        self.size = size
        self.budget = budget
        self.epsilon = epsilon
        self.neighbours = neighbours
        self.sampling_rate = sampling_rate
        self.steps = steps
        self.clip = clip
        self.learning_rate = learning_rate
        self.rows_at_once = rows_at_once
        self.allow_float_gradients = allow_float_gradients

    def learner(self, features: dict[str, DeclaredFeature], rho: Fraction, *, replace_one: bool) -> NetworkLearner:
        """The algorithm with all its public parameters.

        Args:
            features: Declared features by column.
            rho: Privacy cost of the training, at the orders of the budget and of the fit.
            replace_one: Whether neighbours differ by a replaced person, which is refused.

        Returns:
            The learner.

        Raises:
            ParameterError: If a parameter is outside its range, or float gradients are not allowed.
            UnsupportedError: If the network has a layer that is not on the list.
            MissingExtraError: If torch or Opacus is not installed.
        """
        if self.allow_float_gradients is not True:
            raise ParameterError(
                "TorchClassifier without allow_float_gradients=True",
                because="gradients are floats, and their last bits are not covered by the proof",
                instead="allow_float_gradients=True, or dp.learning.LogisticRegression, which is exact",
            )
        return self._learner_at(features, rho, self._spending().orders, replace_one=replace_one)

    def _learner_at(
        self, features: dict[str, DeclaredFeature], rho: Fraction, orders: Sequence[Fraction], *, replace_one: bool
    ) -> NetworkLearner:
        """The algorithm at a cost that holds at the orders of a budget."""
        size, classes = self.declared_size(), len(self.declared_classes())
        rate = default_rate(size) if self.sampling_rate is None else positive(self.sampling_rate, "sampling_rate")
        network = self._network([feature.slots for feature in features.values()], classes)
        plan = sampled_schedule(
            rate=rate,
            steps=default_steps(rate) if self.steps is None else whole(self.steps, "steps"),
            size=size,
            length=network.length,
            rho=rho,
            orders=orders,
            replace_one=replace_one,
        )
        norm, speed = float(positive(self.clip, "clip")), float(positive(self.learning_rate, "learning_rate"))
        return NetworkLearner(network, classes, plan, norm, speed, self._declared_rows())

    def _declared_rows(self) -> int:
        rows = whole(self.rows_at_once, "rows_at_once")
        if rows > _MOST_ROWS_AT_ONCE:
            raise ParameterError(
                f"rows_at_once={rows:,}",
                because=f"gradients of at most {_MOST_ROWS_AT_ONCE:,} rows are in memory at once",
                instead="rows_at_once=256",
            )
        return rows

    def _network(self, slots: Sequence[int], classes: int) -> "Network":
        from discreet.learning.sgd import network  # noqa: PLC0415 - torch is optional

        if self.module is None:
            hidden = [whole(width, "hidden") for width in self.hidden]
            layers = network.perceptron(sum(slots), hidden, classes)
            return network.Network(layers, slots, classes, is_repeatable=not self._is_private)
        layers = network.describe(self.module)
        return network.Network(layers, slots, classes).put(network.module_weights(self.module))

    def _guarantee_text(self, guarantee: str) -> str:
        return guarantee if self._floats in guarantee else f"{guarantee}. {self._floats}"

    @property
    def _floats(self) -> str:
        return ALONE if self.rows_at_once == 1 else IN_BATCHES

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:  # noqa: N803 - the name of scikit-learn
        """Train a private network; its whole cost is charged before a cell is read.

        The guarantee also states the smaller epsilon that the training has by its privacy loss distribution.

        Args:
            X: Table of rows: pandas, Polars, Arrow, numpy or lists.
            y: Target of each row.
            groups: Person of each row. Default: each row is a person.

        Returns:
            The estimator.

        Raises:
            BudgetError: If the cost does not fit the account.
            ParameterError: If something needed is not declared, or does not fit.
            Failure: If reading or training failed after the charge.
        """
        super().fit(X, y, groups)
        if self._is_private:
            self.guarantee_ = f"{self.guarantee_} {reported_text(self.event_, self._spending().delta)}".rstrip()
        return self

    def training(self, facts: ModelFacts) -> NetworkTraining:
        """The training in a session whose owner allows floats in gradients.

        Args:
            facts: What the catalog declares and allows, and the privacy cost.

        Returns:
            The training.

        Raises:
            ParameterError: If it is not allowed, or something needed is not declared.
            UnsupportedError: If the estimator has a module of its own.
        """
        require_session_facts(facts, self.module)
        known, features = complete_estimator(self, facts)
        own = TorchClassifier(**known.get_params(deep=False) | {"allow_float_gradients": True})
        learner = own._learner_at(features, facts.rho, facts.orders, replace_one=facts.replace_one)
        words = (own, features, facts.target, own.declared_size(), learner)
        return NetworkTraining(*words, facts.orders, facts.delta, own._floats)

    def _train(self, learner: Learner, blocks: Sequence[EncodedRows]) -> PublicModel:
        if not isinstance(learner, NetworkLearner):
            raise TypeError("a learner of another kind")
        kind = ExactSampledSums if issubclass(self._sums, ExactSums) else SampledSums
        return learner.train_on_samples(blocks, kind)
