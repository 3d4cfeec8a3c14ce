"""Averaging: the same query many times, until the noise averages out.

Fresh noise for every answer hides nothing from an analyst without a limit: after m answers the mean of them has a
deviation smaller by the root of m. A session answers a repeated query from the ledger, at no cost and without fresh
noise; `fresh=True` is charged each time, and the budget ends it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from discreet import plots
from discreet.attacks import pictures
from discreet.attacks.answers import Answer, ask_number, checked_session, neighbours_of
from discreet.attacks.outcome import NOT_PRIVATE, Outcome, best_guess, percent, pluralize
from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import BudgetError, ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, positive, probability, whole
from discreet.mechanisms import Laplace
from discreet.query.frame import Query
from discreet.session.arguments import table_name
from discreet.session.session import Session

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CONFIDENCE = 0.99
_MOST_DRAWS = 50_000


@public_class
@dataclass(frozen=True, repr=False)
class Averaging(Outcome):
    """Outcome of averaging: telling a count from the next one by the mean of many answers with fresh noise.

    Attributes:
        epsilon: Epsilon of each answer.
        deviation: Standard deviation of the noise.
        gap: Distance between the two counts.
        confidence: Wanted probability of a right guess.
        needed: Number of answers that reach it, by the formula.
        apart: Least number of people by which two such counts differ.
        trials: Number of trials.
        curve: Triples of a number of answers, the probability of a right guess, and the measured share.

    Example:
        >>> import discreet as dp
        >>> laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=1)
        >>> dp.attacks.averaging.against_mechanism(laplace, trials=5).needed
        40
    """

    attack = "averaging"

    epsilon: float
    deviation: float
    gap: int
    confidence: float
    needed: int
    apart: int
    trials: int
    curve: tuple[tuple[int, float, float], ...]

    @property
    def has(self) -> str:
        """What the attacker starts from."""
        noise = f"noise of deviation {plots.plain(self.deviation)}"
        return f"as many answers as wanted, each with fresh {noise} (epsilon {plots.plain(self.epsilon)} an answer)"

    @property
    def does(self) -> str:
        """What the attacker does with it."""
        return f"averages them, and guesses which of two counts {self.gap} apart is the true one"

    @property
    def inference(self) -> str:
        """What came out, and from how much."""
        answers, _, share = self.curve[-1]
        return (
            f"the true one in {percent(share)} of {pluralize(self.trials, 'trial')}, "
            f"from {pluralize(answers, 'answer')} each; {percent(self.confidence)} takes {self.needed:,} by the formula"
        )

    @property
    def with_epsilon(self) -> str:
        """What epsilon does about it."""
        total = self.epsilon * self.needed
        return (
            f"{self.needed:,} answers at epsilon {plots.plain(self.epsilon)} cost epsilon {plots.plain(total)}; a "
            f"budget of epsilon 1 ends after {int(1 / self.epsilon):,}, where no guess is right in more than "
            f"{percent(best_guess(1, apart=self.apart))}"
        )

    def plot(self) -> "Figure":
        """Share of right guesses by the number of answers.

        Returns:
            A figure.
        """
        return _plot_curves(
            [
                pictures.Curve(
                    "guessed from their mean, measured", tuple((float(m), share) for m, _, share in self.curve)
                ),
                _formula(self.deviation, self.gap, self.curve[-1][0]),
            ],
            title=f"Averaging: one query, asked again at epsilon {plots.plain(self.epsilon)}",
            stop=None,
        )


@public_class
@dataclass(frozen=True, repr=False)
class StoppedAveraging(Outcome):
    """Outcome of averaging through a session: repeats return the stored answer, and the ledger stops fresh ones.

    Attributes:
        epsilon: Epsilon of each answer.
        budget: The budget, in words.
        repeats: Number of repeated queries.
        different: Number of different answers to them.
        answers: Number of paid answers.
        refusal: Message of the ledger that ended it, or None.
        estimate: Mean of the paid answers.
        deviation: Standard deviation of the noise.
        gap: Distance between the two counts.
        needed: Number of answers for a confidence of 99%, by the formula.
        bound: Largest probability of a right guess under the budget.
        neighbours: The neighbour relation.
        truth: The true count, if given.
        is_private: Whether the session is private.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "people", "privacy_unit": "person_id", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
        >>> session = dp.testing.protect(dp.datasets.people(100), **facts)
        >>> query = dp.table("people").agg(n=dp.count())
        >>> outcome = dp.attacks.averaging.against_session(session, query, epsilon=0.1)
        >>> outcome.different, outcome.answers
        (1, 10)
    """

    attack = "averaging, through a session"

    epsilon: float
    budget: str
    repeats: int
    different: int
    answers: int
    refusal: str | None
    estimate: float
    deviation: float
    gap: int
    needed: int
    bound: float
    neighbours: str
    truth: float | None
    is_private: bool

    @property
    def guess(self) -> float:
        """How often a guess between two counts is right from so many answers, by the formula."""
        return min(self.bound, chance(self.deviation, self.answers, self.gap))

    @property
    def _secret(self) -> str:
        """What neighbours differ in, and so what the bound is about."""
        is_one = self.gap == 1
        if self.neighbours == Neighbours.REPLACE_ONE:
            return "which of two values one person has" if is_one else f"which of two values {self.gap:,} people have"
        return "whether one person is there" if is_one else f"whether {self.gap:,} people are there"

    @property
    def has(self) -> str:
        """What the attacker starts from."""
        return f"a session with a privacy budget of {self.budget}, and one query at epsilon {plots.plain(self.epsilon)}"

    @property
    def does(self) -> str:
        """What the attacker does with it."""
        return f"asks it {self.repeats:,} times, then with fresh=True for as long as it is answered, and averages"

    @property
    def inference(self) -> str:
        """What came out, and from how much."""
        repeats = f"{self.repeats:,} askings gave {pluralize(self.different, 'answer')}"
        end = "then the ledger refused" if self.refusal else "and was not refused"
        off = "" if self.truth is None else f", off by {plots.plain(abs(self.estimate - self.truth))}"
        return (
            f"{repeats}; fresh=True gave {pluralize(self.answers, 'answer')}, {end}; their mean is "
            f"{plots.plain(self.estimate)}{off}; a guess between two counts is right in {percent(self.guess)}"
        )

    @property
    def with_epsilon(self) -> str:
        """What epsilon does about it."""
        if not self.is_private:
            return NOT_PRIVATE
        return (
            f"telling a count from the next at {percent(_CONFIDENCE)} would take {pluralize(self.needed, 'answer')}; "
            f"under {self.budget} no guess of {self._secret} is right in more than {percent(self.bound)}, for any "
            "queries"
        )

    def plot(self) -> "Figure":
        """Probability of a right guess by the number of answers, and where the ledger stops them.

        Returns:
            A figure.
        """
        most = max(self.needed, self.answers)
        return _plot_curves(
            [
                _formula(self.deviation, self.gap, most),
                pictures.Curve(
                    f"the most that {self.budget} allows", ((1.0, self.bound), (float(most), self.bound)), False
                ),
            ],
            title=f"Averaging through a session: {pluralize(self.answers, 'answer')}"
            + (", then a refusal" if self.refusal else ""),
            stop=float(self.answers) if self.refusal else None,
        )


@short_traceback
def repeats_to_distinguish(deviation: float, *, gap: int = 1, confidence: Number = _CONFIDENCE) -> int:
    """Number of answers that tell two counts apart.

    Args:
        deviation: Standard deviation of the noise of an answer.
        gap: Distance between the counts. Default 1.
        confidence: Probability of a right guess. Default 0.99.

    Returns:
        The number of answers.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> dp.attacks.averaging.repeats_to_distinguish(1.4, gap=1)
        43
    """
    level = float(probability(confidence, "confidence", example="0.99"))
    return max(1, ceil((2 * float(ndtri(level)) * deviation / gap) ** 2))


@short_traceback
def chance(deviation: float, answers: int, gap: int = 1) -> float:
    """Probability that the mean of some answers is nearer to the true one of two counts.

    Args:
        deviation: Standard deviation of the noise of an answer.
        answers: Number of answers.
        gap: Distance between the counts. Default 1.

    Returns:
        The probability, by the normal approximation.

    Example:
        >>> import discreet as dp
        >>> dp.attacks.averaging.chance(0, 1)
        1.0
    """
    return 1.0 if deviation == 0 else float(ndtr(gap * sqrt(answers) / (2 * deviation)))


@short_traceback
def against_mechanism(
    mechanism: Laplace,
    *,
    truth: int = 0,
    gap: int = 1,
    trials: int = 20,
    answers: int | None = None,
    confidence: Number = _CONFIDENCE,
) -> Averaging:
    """Average the answers of a mechanism that no ledger counts.

    Args:
        mechanism: Laplace noise.
        truth: The true count. Default 0.
        gap: Distance to the other possible count. Default 1.
        trials: Number of trials. Default 20.
        answers: Number of answers of a trial. Default: as many as needed.
        confidence: Wanted probability of a right guess. Default 0.99.

    Returns:
        The outcome.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=1)
        >>> dp.attacks.averaging.against_mechanism(laplace, trials=5, answers=10).trials
        5
    """
    if not isinstance(mechanism, Laplace):
        raise ParameterError(
            f"a mechanism of type {type(mechanism).__name__}",
            because="answers are drawn from Laplace noise",
            instead="dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)",
        )
    spread = mechanism.standard_deviation
    step = whole(gap, "gap")
    needed = repeats_to_distinguish(spread, gap=step, confidence=confidence)
    most, rounds = whole(needed if answers is None else answers, "answers"), whole(trials, "trials")
    places = np.unique(np.geomspace(1, most, num=min(most, 12)).astype(np.int64))
    right = np.zeros(len(places))
    for _ in range(rounds):
        means = np.cumsum(_drawn_answers(mechanism, truth, most))[places - 1] / places
        right += np.where(means == truth + step / 2, 0.5, np.abs(means - truth) < np.abs(means - truth - step))
    shares = (right / rounds).tolist()
    return Averaging(
        epsilon=float(mechanism.epsilon),
        deviation=spread,
        gap=step,
        confidence=float(confidence),
        needed=needed,
        apart=ceil(step / mechanism.sensitivity),
        trials=rounds,
        curve=tuple((m, chance(spread, m, step), s) for m, s in zip(places.tolist(), shares, strict=True)),
    )


@short_traceback
def against_session(
    session: Session,
    query: Query,
    *,
    epsilon: Number,
    gap: int = 1,
    repeats: int = 5,
    most: int = 1_000,
    truth: float | None = None,
) -> StoppedAveraging:
    """Repeat one query again, then release fresh answers until it refuses.

    Args:
        session: The session; it is charged.
        query: A query of one number.
        epsilon: Epsilon of each answer.
        gap: Distance between the counts to tell apart. Default 1.
        repeats: Number of repeated queries. Default 5.
        most: Largest number of paid answers. Default 1,000.
        truth: The true count, only compared with. Default: unknown.

    Returns:
        The outcome.

    Raises:
        Refusal: If an argument is of another kind, or the session refuses a query.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "people", "privacy_unit": "person_id", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
        >>> session = dp.testing.protect(dp.datasets.people(100), **facts)
        >>> query = dp.table("people").agg(n=dp.count())
        >>> dp.attacks.averaging.against_session(session, query, epsilon=0.5).answers
        2
    """
    checked_session(session)
    if not isinstance(query, Query):
        raise ParameterError(
            f"a query of type {type(query).__name__}",
            because="one query is repeated",
            instead='dp.table("people").agg(n=dp.count())',
        )
    table, step = table_name(query), whole(gap, "gap")
    budget = session.ledger.budget(table)
    stored = [ask_number(session, query, epsilon=epsilon) for _ in range(whole(repeats, "repeats"))]
    paid, refusal = _buy_answers(session, query, stored[0], epsilon=epsilon, most=whole(most, "most"))
    return StoppedAveraging(
        epsilon=float(positive(epsilon, "epsilon")),
        budget=str(budget),
        repeats=repeats,
        different=len({answer.value for answer in stored}),
        answers=len(paid),
        refusal=refusal,
        estimate=sum(answer.value for answer in paid) / len(paid),
        deviation=stored[0].deviation,
        gap=step,
        needed=repeats_to_distinguish(stored[0].deviation, gap=step),
        bound=best_guess(float(budget.epsilon), float(budget.delta), apart=step) if stored[0].is_private else 1.0,
        neighbours=str(neighbours_of(session, table)),
        truth=truth,
        is_private=stored[0].is_private,
    )


def _buy_answers(
    session: Session, query: Query, first: Answer, *, epsilon: Number, most: int
) -> tuple[list[Answer], str | None]:
    """Fresh answers until the ledger refuses, and its message."""
    paid = [first]
    while len(paid) < most:
        try:
            paid.append(ask_number(session, query, epsilon=epsilon, fresh=True))
        except BudgetError as refused:
            return paid, str(refused)
    return paid, None


def _drawn_answers(mechanism: Laplace, truth: int, count: int) -> NDArray[np.float64]:
    if count > _MOST_DRAWS:
        raise ParameterError(
            f"{count:,} answers in one trial",
            because=f"noise is drawn exactly, one number at a time, and {_MOST_DRAWS:,} take half a second",
            instead=f"answers={_MOST_DRAWS}, or a larger epsilon",
        )
    return np.asarray(mechanism.release([truth] * count), dtype=np.float64)


def _formula(deviation: float, gap: int, most: int) -> pictures.Curve:
    places = np.unique(np.geomspace(1, max(2, most), num=60).astype(np.int64)).tolist()
    return pictures.Curve(
        "guessed from their mean, by the formula", tuple((float(m), chance(deviation, m, gap)) for m in places), False
    )


def _plot_curves(curves: Sequence[pictures.Curve], *, title: str, stop: float | None) -> "Figure":
    return pictures.curves(
        curves,
        title=title,
        x=pictures.Axis("answers averaged", scale="log"),
        y=pictures.Axis("share of right guesses between two counts", limits=(0.45, 1.02), is_share=True),
        caption="a guess without any answer is right half of the time",
        stop=stop,
    )
