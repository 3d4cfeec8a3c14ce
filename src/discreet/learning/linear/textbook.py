"""The private gradient descent of textbooks, step by step: for study and for the guide. `LogisticRegression` is better.

Definition
    An example is a vector of real numbers between -1 and 1 on a lattice of 2^-15, and a constant 1. Each iteration adds
    up a gradient for each person, and moves weights by rate * noisy sum / noisy count. Either the gradient is clipped
    to the norm `clip`, or the example is; the logistic loss is Lipschitz, so a gradient is no longer than its example.
    Mini-batches are disjoint sets of people by a keyed hash, one for each iteration.

Guarantee
    A person moves the count by at most 1 and a gradient by at most `clip`, for any number of rows. A descent over all
    people costs the rho of its schedule: all iterations add up. Over disjoint mini-batches a person is in one batch, so
    the cost is that of one batch where people are added or removed, and of two where one is replaced. Proof:
    docs/proofs/learning/linear/textbook.md.

Exactness
    Examples, scores, gradients and sums are integers. Weights are floats made from noisy sums, and rounded to steps.

Not covered
    `loss` and `accuracy`, which compute on the rows they are given without noise: give them public rows.

References
    Chaudhuri, Monteleoni and Sarwate, Differentially Private Empirical Risk Minimization, JMLR 2011 (bounded examples).
    Song, Chaudhuri and Sarwate, Stochastic Gradient Descent with Differentially Private Updates, GlobalSIP 2013.
    McSherry, Privacy Integrated Queries, SIGMOD 2009, Theorem 4 (parallel composition).
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from discreet import events
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, rational, whole
from discreet.learning.core.lattice import BITS, ONE, Integers, logistic, root_up, steps_of
from discreet.learning.core.learner import Learner, PublicModel
from discreet.learning.core.rows import Codes, EncodedRows, group_people
from discreet.learning.core.sums import LARGEST_CLIP, Contributions
from discreet.learning.core.training import NoisySums, PeopleInMemory, Schedule, planned_sum
from discreet.learning.linear.descent import COUNT_SHARE
from discreet.learning.linear.linear_model import LARGEST_WEIGHT

EXAMPLE_BITS = 15
EXAMPLE_ONE = 1 << EXAMPLE_BITS


@short_traceback
def examples(values: Any, target: Any, people: Any = None) -> EncodedRows:
    """Real numbers on the integer lattice of the textbook's learner.

    Args:
        values: One row for each row, one column for each feature, scaled to [-1, 1]; others are cut, NaN counts as 0.
        target: Class of each row, 0 or 1.
        people: Whole number of the person of each row. Default: each row is a person.

    Returns:
        The rows, with a constant 1 as last feature.

    Example:
        >>> from discreet.learning.linear import textbook
        >>> len(textbook.examples([[0.5, -1], [0, 1]], [0, 1]))
        2
    """
    scaled = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0)
    cells = np.hstack([np.rint(np.clip(scaled, -1, 1) * EXAMPLE_ONE), np.full((len(scaled), 1), EXAMPLE_ONE)])
    codes = np.minimum(cells + EXAMPLE_ONE, 2 * EXAMPLE_ONE - 1).astype(np.uint16)
    classes = np.asarray(target).astype(np.int64)
    return group_people(codes, classes, None if people is None else np.asarray(people, dtype=np.int64))


@dataclass(frozen=True)
class ExampleCount:
    """Counts people."""

    clip: int = ONE
    length: int = 1
    has_distinct_places: bool = True

    def contributions(self, rows: EncodedRows) -> Contributions:
        """One for each row."""
        places = np.zeros((len(rows), 1), dtype=np.int64)
        return Contributions(places, np.full_like(places, ONE))


@dataclass(frozen=True)
class ExampleGradient:
    """The gradient of the logistic loss of each row, of examples that may be clipped."""

    weights: Integers
    clip: int
    clips_examples: bool
    has_distinct_places: bool = True

    @property
    def length(self) -> int:
        """One place for each weight."""
        return len(self.weights)

    def contributions(self, rows: EncodedRows) -> Contributions:
        """The gradient of each row, in integers."""
        vectors = centre(rows.codes)
        if self.clips_examples:
            vectors = shorten(vectors, self.clip)
        errors = rows.target * ONE - logistic(example_scores(self.weights, vectors))
        products = errors[:, None] * vectors
        values = np.sign(products) * (np.abs(products) >> EXAMPLE_BITS)
        return Contributions(np.broadcast_to(np.arange(self.length), values.shape), values)


@dataclass(frozen=True)
class TextbookModel(PublicModel):
    """The weights after each iteration; the last ones are the model."""

    path: tuple[Integers, ...]

    def scores(self, codes: Codes) -> Integers:
        """Scores in steps: integer sums, row by row."""
        return example_scores(self.path[-1], centre(codes))[:, None]

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        return {"kind": "textbook", "path": [weights.tolist() for weights in self.path]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The model that `to_json` wrote."""
        return cls(tuple(np.asarray(weights, dtype=np.int64) for weights in data["path"]))


@public_class
@dataclass(frozen=True)
class TextbookLearner(Learner):
    """Gradient descent with clipped gradients or clipped examples, and a noisy count.

    Args:
        width: Number of features, without the constant.
        rho: Privacy cost of a descent. A twentieth of it pays for the count.
        iterations: Number of gradient sums. Default 20.
        clip: Largest L2 norm of the gradient of a person, or of an example. Default 1.
        clips: What is clipped: "gradients" or "examples". Default "gradients".
        rate: Learning rate. Default 2.
        replace_one: Whether neighbouring datasets replace a person, rather than add or remove one. Default False.

    Raises:
        ParameterError: If a number is outside its range.

    Example:
        >>> from discreet.learning.linear import textbook
        >>> len(textbook.TextbookLearner(width=3, rho=0.1, iterations=10).schedule.sums)
        11
    """

    width: int
    rho: Number
    iterations: int = 20
    clip: Number = 1
    clips: Literal["gradients", "examples"] = "gradients"
    rate: float = 2.0
    replace_one: bool = False

    def __post_init__(self) -> None:
        whole(self.width, "width")
        whole(self.iterations, "iterations")
        if self.clips not in ("gradients", "examples"):
            raise ParameterError(
                f"clips={self.clips!r}",
                because="either gradients or examples are clipped",
                instead='textbook.TextbookLearner(width=3, rho=0.1, clips="examples")',
            )
        if not 1 <= self.clip_steps <= LARGEST_CLIP:
            raise ParameterError(
                f"clip={self.clip}",
                because="a clip is between 2^-20 and 256",
                instead="textbook.TextbookLearner(width=3, rho=0.1, clip=1)",
            )

    @property
    def clip_steps(self) -> int:
        """The clip in steps."""
        return math.floor(rational(self.clip, "clip") * ONE)

    @property
    def schedule(self) -> Schedule:
        """The count, then the gradient sums."""
        rho = rational(self.rho, "rho")
        count = planned_sum(ONE, 1, rho * COUNT_SHARE, replace_one=self.replace_one)
        share = rho * (1 - COUNT_SHARE) / self.iterations
        gradient = planned_sum(self.clip_steps, self.width + 1, share, replace_one=self.replace_one)
        return Schedule((count, *[gradient] * self.iterations))

    def train(self, sums: NoisySums) -> TextbookModel:
        """The model, from noisy sums alone."""
        return TextbookModel(tuple(self.descend(sums, np.zeros(self.width + 1, dtype=np.int64))))

    def descend(self, sums: NoisySums, start: Integers) -> list[Integers]:
        """The weights after each iteration, from noisy sums alone.

        Args:
            sums: The sums of the schedule.
            start: Public weights in steps.

        Returns:
            Weights in steps.
        """
        count = max(int(sums.sum(ExampleCount())[0]), ONE)
        weights, path = start / ONE, []
        for _ in range(self.iterations):
            step = ExampleGradient(steps_of(weights), self.clip_steps, self.clips == "examples")
            weights = np.clip(weights + self.rate * sums.sum(step) / count, -LARGEST_WEIGHT, LARGEST_WEIGHT)
            path.append(steps_of(weights))
        return path


@short_traceback
def mini_batches(values: Any, target: Any, people: Any, *, count: int, key: bytes) -> list[EncodedRows]:
    """Disjoint batches of whole people, by a keyed hash of the person's number: no one else decides a person's batch.

    Args:
        values: One row for each row, as for `examples`.
        target: Class of each row, 0 or 1.
        people: Whole number of the person of each row.
        count: Number of batches.
        key: Secret key of the hash, up to 64 bytes.

    Returns:
        The batches; some may be empty.

    Raises:
        ParameterError: If the number of batches is not positive.

    Example:
        >>> from discreet.learning.linear import textbook
        >>> batches = textbook.mini_batches([[0.5], [0.1], [1]], [0, 1, 1], [7, 7, 8], count=2, key=b"secret")
        >>> sum(len(batch) for batch in batches)
        3
    """
    number = whole(count, "count")
    vectors, classes, ids = np.asarray(values), np.asarray(target), np.asarray(people, dtype=np.int64)
    hashes = [hashlib.blake2b(str(person).encode(), key=key, digest_size=16).digest() for person in ids.tolist()]
    batch = np.array([int.from_bytes(digest, "big") % number for digest in hashes], dtype=np.int64)
    return [examples(vectors[batch == b], classes[batch == b], ids[batch == b]) for b in range(number)]


@short_traceback
def train_on_batches(learner: TextbookLearner, batches: Sequence[EncodedRows]) -> TextbookModel:
    """Descend over disjoint mini-batches, with as many iterations on each as the learner has.

    Args:
        learner: The learner; its rho is the cost of each batch.
        batches: Disjoint batches of people, such as from `mini_batches`.

    Returns:
        The model, with the weights after each iteration.
    """
    weights = np.zeros(learner.width + 1, dtype=np.int64)
    path: list[Integers] = []
    for batch in batches:
        path += learner.descend(NoisySums(PeopleInMemory([batch]), learner.schedule), weights)
        weights = path[-1]
    return TextbookModel(tuple(path))


@short_traceback
def batches_event(learner: TextbookLearner) -> events.Event:
    """The event of a descent over disjoint mini-batches, for any number of them.

    Args:
        learner: The learner.

    Returns:
        That of one batch where people are added or removed, of two where one is replaced.
    """
    one = learner.schedule.event
    return events.compose([one, one]) if learner.replace_one else one


@short_traceback
def loss(weights: Integers, rows: EncodedRows) -> float:
    """Mean logistic loss of public rows; without noise.

    Args:
        weights: Weights in steps, such as an entry of `TextbookModel.path`.
        rows: Public rows.

    Returns:
        The loss.
    """
    scores = example_scores(weights, centre(rows.codes)) / ONE
    return float(np.mean(np.logaddexp(0, np.where(rows.target == 1, -scores, scores))))


@short_traceback
def accuracy(weights: Integers, rows: EncodedRows) -> float:
    """Share of public rows whose class is found; without noise.

    Args:
        weights: Weights in steps, such as an entry of `TextbookModel.path`.
        rows: Public rows.

    Returns:
        The share.
    """
    return float(np.mean((example_scores(weights, centre(rows.codes)) > 0) == (rows.target == 1)))


def centre(codes: Codes) -> Integers:
    """The vectors that codes stand for, in steps of 2^-15."""
    return codes.astype(np.int64) - EXAMPLE_ONE


def example_scores(weights: Integers, vectors: Integers) -> Integers:
    """Integer products of each row with public weights; integer addition has one result in any order."""
    products: Integers = (vectors * weights).sum(axis=1)
    return products >> EXAMPLE_BITS


def shorten(vectors: Integers, clip: int) -> Integers:
    """Each vector scaled to a norm of at most the clip, rounded towards zero; the clip is in steps of 2^-20."""
    longest = clip >> (BITS - EXAMPLE_BITS)
    squares = (vectors * vectors).sum(axis=1)
    norms = np.array([max(root_up(square), 1) for square in squares.tolist()], dtype=np.int64)[:, None]
    result: Integers = np.sign(vectors) * np.where(norms > longest, np.abs(vectors) * longest // norms, np.abs(vectors))
    return result
