"""Networks of torch, trained by differentially private stochastic gradient descent, as an estimator of scikit-learn."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, Self

from discreet import events
from discreet.errors import ParameterError, UnsupportedError, public_class
from discreet.exact.numbers import Number, positive, whole
from discreet.learning.classifier import PrivateClassifier
from discreet.learning.core.account import BudgetAccount
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.learner import Learner, PublicModel
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.training import ExactSums
from discreet.learning.estimator import Features
from discreet.learning.sgd.learner import NetworkLearner, default_rate, default_steps
from discreet.learning.sgd.model import NetworkModel
from discreet.learning.sgd.sampled_sums import ExactSampledSums, SampledSums, sampled_schedule

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
        rate: Probability that a person is in a batch. Default: from the size.
        steps: Number of batches. Default: 20 for each person on average.
        clip: L2 norm to which the gradient of a person is clipped.
        learning_rate: Size of a step.
        rows_at_once: Rows whose gradients are computed together. With 1, none depends on other rows; it is slower.
        allow_float_gradients: Whether gradients may be floats, which the guarantee then names.

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
        rate: Number | None = None,
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
        self.rate = rate
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
        size, classes = self.declared_size(), len(self.declared_classes())
        rate = default_rate(size) if self.rate is None else positive(self.rate, "rate")
        network = self._network([feature.slots for feature in features.values()], classes)
        plan = sampled_schedule(
            rate=rate,
            steps=default_steps(rate) if self.steps is None else whole(self.steps, "steps"),
            size=size,
            length=network.length,
            rho=rho,
            orders=self._spending().orders,
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
            return network.Network(network.perceptron(sum(slots), hidden, classes), slots, classes)
        layers = network.describe(self.module)
        return network.Network(layers, slots, classes).put(network.module_weights(self.module))

    def adopt(
        self, model: PublicModel, features: Mapping[str, DeclaredFeature], event: events.Event, guarantee: str
    ) -> Self:
        """Become fitted with a model that was trained and charged elsewhere.

        Args:
            model: The model.
            features: Declared features by column, in the order of its codes.
            event: The event that was charged.
            guarantee: What the model reveals, in words; what it does not cover is added.

        Returns:
            The estimator.
        """
        floats = ALONE if self.rows_at_once == 1 else IN_BATCHES
        stated = guarantee if floats in guarantee else f"{guarantee}. {floats}"
        return super().adopt(model, features, event, stated)

    def training(self, facts: Any) -> NoReturn:  # noqa: ARG002 - refused for all facts
        """Refused: a session does not train networks.

        Args:
            facts: Public facts of the session.

        Raises:
            UnsupportedError: Always.
        """
        raise UnsupportedError(
            "a network in a session",
            because="a catalog cannot allow floats in gradients yet",
            instead="dp.learning.LogisticRegression() or dp.learning.GradientBoostingClassifier()",
        )

    def _train(self, learner: Learner, blocks: Sequence[EncodedRows]) -> PublicModel:
        if not isinstance(learner, NetworkLearner):
            raise TypeError("a learner of another kind")
        kind = ExactSampledSums if issubclass(self._sums, ExactSums) else SampledSums
        return learner.train_on_samples(blocks, kind)
