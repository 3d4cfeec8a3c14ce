"""Reconstruction: everybody's secret bit, from counts of overlapping groups that are each nearly right.

Each of many random subsets of people is asked for, and linear programming finds the bits whose counts are nearest to
the answers. It works whenever errors are small beside the root of the number of people, however the answers were
blurred: by rounding, or by noise that is fresh for every answer and never adds up to a price (Dinur and Nissim,
Revealing Information while Preserving Privacy, PODS 2003; Dwork, McSherry and Talwar, The Price of Privacy and the
Limits of LP Decoding, STOC 2007). A ledger adds the prices up and ends it.

A publisher is a callable from a subset, an array of one boolean a person, to an answer; it raises `BudgetError` when it
has had enough.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite, sqrt
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linprog

from discreet import plots
from discreet.accounting.filters import Budget
from discreet.attacks import pictures
from discreet.attacks.answers import ask_number, checked_session, neighbours_of
from discreet.attacks.outcome import Outcome, best_guess, percent, pluralize, steps_to_another_value
from discreet.attacks.tables import as_arrow
from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import BudgetError, ParameterError, public_class, short_traceback
from discreet.exact import Number, positive, whole
from discreet.mechanisms import Laplace
from discreet.query import frame
from discreet.session.session import Session

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Subset = NDArray[np.bool_]
Bits = NDArray[np.bool_]
Publisher = Callable[[Subset], float]

PEOPLE, QUESTIONS = 128, 640

_CALLED = "it is called with a subset of people, one boolean each, and returns one finite number"


@public_class
@dataclass(frozen=True, repr=False)
class Reconstruction(Outcome):
    """How many of the bits came back from the answers that were given.

    `asked` questions were put and `answered` answered, before `refusal` if there was one. `total_epsilon` is what the
    answers cost together (with `total_delta`), or None where nobody counts. `neighbours` says what one person's bit is
    under the promise: one row removed and one added ("add_remove"), or one replaced ("replace_one").
    """

    attack = "reconstruction"

    publisher: str
    people: int
    asked: int
    answered: int
    recovered: int
    refusal: str | None
    total_epsilon: float | None
    total_delta: float = 0.0
    neighbours: str = "add_remove"

    @property
    def bound(self) -> float:
        """How often one bit of even odds can be right at most under that total, or under epsilon 1 where none is known.

        It holds for every attack and for anything that is asked.
        """
        total = 1.0 if self.total_epsilon is None else self.total_epsilon
        return best_guess(total, self.total_delta, apart=steps_to_another_value(self.neighbours))

    @property
    def share(self) -> float:
        """The share of bits that are right; half of them are by guessing."""
        return self.recovered / self.people

    @property
    def has(self) -> str:
        """What the attacker starts from."""
        return f"{pluralize(self.answered, 'count')} of random subsets of {self.people:,} people, from {self.publisher}"

    @property
    def does(self) -> str:
        """What the attacker does with it."""
        return "finds by linear programming the bits whose counts are nearest to the answers"

    @property
    def learned(self) -> str:
        """What came out, and from how much."""
        text = f"{self.recovered:,} of {self.people:,} bits ({percent(self.share)}) are right; guessing gives 50%"
        if self.refusal is None:
            return text
        return f"{text}; question {self.answered + 1:,} of {self.asked:,} was refused by the ledger"

    @property
    def with_epsilon(self) -> str:
        """What epsilon does about it."""
        total = 1.0 if self.total_epsilon is None else self.total_epsilon
        what = "a session would hold all answers to" if self.total_epsilon is None else "all answers together cost"
        return (
            f"{what} epsilon {plots.plain(round(total, 9))}, under which nothing that is asked gives any one bit in "
            f"more than {percent(self.bound)} of cases, since another bit is {_another_bit(self.neighbours)}"
        )

    def plot(self, *others: "Reconstruction") -> "Figure":
        """The bits that came back, with those of other outcomes, beside guessing."""
        shown = (self, *others)
        shares = [*(each.share for each in shown), 0.5]
        notes = [f"{percent(each.share)} of bits from {pluralize(each.answered, 'count')}" for each in shown]
        return pictures.bars(
            [*(each.publisher for each in shown), "guessing"],
            shares,
            [*notes, "50% of bits"],
            title=f"Reconstruction of {self.people:,} secret bits",
            label="share of bits that are right",
            exposed=[*[True] * len(shown), False],
            is_share=True,
        )


@public_class
@dataclass(frozen=True, repr=False)
class ReconstructionCurve(Outcome):
    """What comes back at each total epsilon, as the mean of several runs.

    `points` are a total epsilon, the mean share of bits and its standard error.
    """

    attack = "reconstruction, by total epsilon"

    people: int
    questions: int
    runs: int
    points: tuple[tuple[float, float, float], ...]

    @property
    def has(self) -> str:
        """What the attacker starts from."""
        return (
            f"{self.questions:,} counts of random subsets of {self.people:,} people, whose epsilons add up to a total"
        )

    @property
    def does(self) -> str:
        """What the attacker does with it."""
        return "finds by linear programming the bits whose counts are nearest to the answers"

    @property
    def learned(self) -> str:
        """What came out, and from how much."""
        text = ", ".join(f"{percent(share)} at {plots.plain(epsilon)}" for epsilon, share, _ in self.points)
        return f"bits that are right, means of {pluralize(self.runs, 'run')}, by total epsilon: {text}"

    @property
    def with_epsilon(self) -> str:
        """What epsilon does about it."""
        near = ", ".join(f"{percent(best_guess(e, apart=2))} at {plots.plain(e)}" for e in (0.1, 1.0, 3.0))
        return (
            f"no attack, of this or another kind, gives any one bit in more than {near}, since another bit is "
            f"{_another_bit(Neighbours.ADD_REMOVE)}"
        )

    def plot(self) -> "Figure":
        """The share of bits against the total epsilon, below the most that epsilon allows for one bit."""
        epsilons = [epsilon for epsilon, *_ in self.points]
        places = np.geomspace(min(epsilons), max(epsilons), 60).tolist()
        return pictures.curves(
            [
                pictures.Curve(
                    f"linear programming, means of {pluralize(self.runs, 'run')}",
                    tuple((epsilon, share) for epsilon, share, _ in self.points),
                ),
                pictures.Curve(
                    "the most that epsilon allows for one bit",
                    tuple((e, best_guess(e, apart=2)) for e in places),
                    False,
                ),
                pictures.Curve("guessing", ((places[0], 0.5), (places[-1], 0.5)), False),
            ],
            title=f"Reconstruction of {self.people:,} bits from {self.questions:,} counts",
            x=pictures.Axis("total epsilon of all answers", scale="log"),
            y=pictures.Axis("share of bits that are right", limits=(0.45, 1.02), is_share=True),
        )


@short_traceback
def exact(secret: Bits) -> Publisher:
    """A publisher who answers exactly."""
    return lambda subset: int(np.count_nonzero(secret & subset))


@short_traceback
def rounded(secret: Bits, to: int = 5) -> Publisher:
    """A publisher who rounds each count to the nearest multiple."""
    return lambda subset: to * round(int(np.count_nonzero(secret & subset)) / to)


@short_traceback
def noisy(secret: Bits, *, epsilon: Number) -> Publisher:
    """A publisher who adds fresh noise for epsilon to every answer, and does not count how many there are."""
    mechanism = Laplace(sensitivity=1, epsilon=epsilon)
    return lambda subset: int(mechanism.release(int(np.count_nonzero(secret & subset))))


@short_traceback
def secret_bits(people: int = PEOPLE, *, generator: np.random.Generator | None = None) -> Bits:
    """One random bit for each person."""
    bits: Bits = _generator(generator).integers(0, 2, whole(people, "people")).astype(bool)
    return bits


@short_traceback
def solve(subsets: Subset, answers: Sequence[float], *, largest_error: float | None = None) -> Bits:
    """The bits whose counts over the subsets (one a row) are nearest to the answers in the sum of absolute errors."""
    questions, people = subsets.shape
    each = sparse.identity(questions, format="csr")
    found = linprog(
        np.concatenate([np.zeros(people), np.ones(2 * questions)]),
        A_eq=sparse.hstack([sparse.csr_matrix(subsets.astype(float)), each, -each], format="csr"),
        b_eq=np.asarray(answers, dtype=float),
        bounds=[(0, 1)] * people + [(0, largest_error)] * (2 * questions),
        method="highs",
    )
    if found.x is None:
        raise ParameterError(
            f"largest_error={largest_error!r}",
            because="no bits are within it of all answers",
            instead="largest_error=None, or the largest error that an answer may have",
        )
    bits: Bits = found.x[:people] > 0.5
    return bits


@short_traceback
def against(
    publisher: Publisher,
    secret: ArrayLike,
    *,
    questions: int = QUESTIONS,
    largest_error: float | None = None,
    total_epsilon: Number | None = None,
    called: str = "a publisher",
    generator: np.random.Generator | None = None,
) -> Reconstruction:
    """Ask a publisher about random subsets until it refuses, and reconstruct the bits.

    Args:
        publisher: Function from a subset to a count.
        secret: The true bits, only compared with.
        questions: Number of subsets. Default 640.
        largest_error: Largest error of an answer. Default: unknown.
        total_epsilon: Epsilon of all answers together. Default: unknown.
        called: Name of the publisher. Default "a publisher".
        generator: Generator of the subsets. Default: a new one.

    Returns:
        The outcome.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> bits = dp.attacks.reconstruction.secret_bits(16)
        >>> dp.attacks.reconstruction.against(dp.attacks.reconstruction.exact(bits), bits, questions=100).share
        1.0
    """
    bits = _secret(secret)
    chosen = _generator(generator).integers(0, 2, (whole(questions, "questions"), len(bits))).astype(bool)
    answers, refusal = _collect_answers(publisher, chosen)
    found = solve(chosen[: len(answers)], answers, largest_error=largest_error) if answers else np.zeros_like(bits)
    return Reconstruction(
        publisher=called,
        people=len(bits),
        asked=questions,
        answered=len(answers),
        recovered=int(np.count_nonzero(found == bits)),
        refusal=refusal,
        total_epsilon=None if total_epsilon is None else float(total_epsilon),
    )


@short_traceback
def against_table(
    rows: object,
    *,
    value: str,
    to: int = 5,
    questions: int = QUESTIONS,
    generator: np.random.Generator | None = None,
) -> Reconstruction:
    """Reconstruct a binary column from rounded counts over random subsets of rows.

    Args:
        rows: Table, or the path of a CSV or Parquet file.
        value: Column of ones and zeros, or booleans.
        to: Counts are rounded to multiples of it. Default 5.
        questions: Number of subsets. Default 640.
        generator: Generator of the subsets. Default: a new one.

    Returns:
        The outcome.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> rows = pa.table({"positive": [0, 1] * 8})
        >>> dp.attacks.reconstruction.against_table(rows, value="positive", to=1, questions=100).share
        1.0
    """
    bits = _bits(as_arrow(rows, value)[value].to_pylist(), value)
    step = whole(to, "to")
    return against(
        rounded(bits, step),
        bits,
        questions=questions,
        largest_error=step / 2,
        called=f"a publisher who rounds to {step}" if step > 1 else "a publisher who answers exactly",
        generator=generator,
    )


@short_traceback
def against_session(
    session: Session,
    rows: object,
    *,
    table: str,
    person: str,
    value: str,
    epsilon: Number,
    questions: int = QUESTIONS,
    generator: np.random.Generator | None = None,
) -> Reconstruction:
    """Ask a session how many of a list of people have a secret value, for epsilon a question, until the ledger refuses.

    `rows` holds the same people with their values (ones and zeros, or booleans), to say whom to ask about and to
    compare with. What was spent before is not counted in the outcome.
    """
    checked_session(session)
    people = as_arrow(rows, person, value)
    names, cells = people[person].to_pylist(), people[value].to_pylist()
    bits, price = _bits(cells, value), positive(epsilon, "epsilon")
    columns = frame.table(table)
    has_it = columns[value] == (True if isinstance(cells[0], bool) else 1)
    privacy: set[bool] = set()

    def publisher(subset: Subset) -> float:
        listed = [name for name, is_in in zip(names, subset, strict=True) if is_in]
        if not listed:
            return 0.0
        answer = ask_number(
            session, columns.where(columns[person].is_in(listed), has_it).agg(n=frame.count()), epsilon=price
        )
        privacy.add(answer.is_private)
        return answer.value

    found = against(publisher, bits, questions=questions, called="a session", generator=generator)
    if False in privacy:
        return replace(found, publisher="a session of dp.testing, exactly")
    return replace(
        _with_cost(found, price, session.ledger.budget(table)), neighbours=str(neighbours_of(session, table))
    )


@short_traceback
def curve(
    epsilons: Sequence[Number],
    *,
    people: int = PEOPLE,
    questions: int = QUESTIONS,
    runs: int = 5,
    generator: np.random.Generator | None = None,
) -> ReconstructionCurve:
    """What comes back at each total epsilon, spread evenly over the questions: means over several secrets."""
    chosen = _generator(generator)
    points = [_point(positive(e, "epsilon"), people, questions, whole(runs, "runs"), chosen) for e in epsilons]
    return ReconstructionCurve(people=people, questions=questions, runs=runs, points=tuple(points))


def _point(
    total: Fraction, people: int, questions: int, runs: int, generator: np.random.Generator
) -> tuple[float, float, float]:
    shares = []
    for _ in range(runs):
        bits = secret_bits(people, generator=generator)
        publisher = noisy(bits, epsilon=total / questions)
        shares.append(against(publisher, bits, questions=questions, generator=generator).share)
    spread = float(np.std(shares, ddof=1)) / sqrt(runs) if runs > 1 else 0.0
    return float(total), float(np.mean(shares)), spread


def _collect_answers(publisher: Publisher, subsets: Subset) -> tuple[list[float], str | None]:
    """The answers until one is refused, and what the refusal said."""
    if not callable(publisher):
        raise ParameterError(
            f"a publisher of type {type(publisher).__name__}", because=_CALLED, instead="reconstruction.rounded(bits)"
        )
    answers: list[float] = []
    for subset in subsets:
        try:
            answers.append(_number(publisher(subset)))
        except BudgetError as refused:
            return answers, str(refused)
    return answers, None


def _number(answer: object) -> float:
    if not isinstance(answer, Real) or not isfinite(answer):
        raise ParameterError(
            f"a publisher's answer of type {type(answer).__name__}",
            because=_CALLED,
            instead="lambda subset: 5 * round((bits & subset).sum() / 5)",
        )
    return float(answer)


def _another_bit(neighbours: str) -> str:
    return "a row replaced" if steps_to_another_value(neighbours) == 1 else "a row removed and a row added"


def _with_cost(found: Reconstruction, price: Fraction, budget: Budget) -> Reconstruction:
    """The same outcome with what its answers cost: their sum, or the promise where epsilons do not add."""
    total = price * found.answered if budget.is_pure else budget.epsilon
    return replace(found, total_epsilon=float(total), total_delta=float(budget.delta))


def _secret(given: ArrayLike) -> Bits:
    try:
        found = np.asarray(given)
    except ValueError:
        found = np.asarray([])
    if found.ndim != 1 or not len(found) or found.dtype.kind not in "biuf" or not np.isin(found, (0, 1)).all():
        raise ParameterError(
            f"a secret of type {type(given).__name__}",
            because="it is a list of ones and zeros, one for each person, and has nothing else in it",
            instead="reconstruction.secret_bits(128)",
        )
    return found.astype(bool)


def _bits(cells: list[Any], value: str) -> Bits:
    if not cells or any(cell not in (0, 1) for cell in cells):
        raise ParameterError(
            f"a secret in column {value!r}",
            because="there is nobody, or somebody's secret is something else than one or zero",
            instead="a column of ones and zeros, or of booleans",
        )
    return np.array([bool(cell) for cell in cells])


def _generator(given: np.random.Generator | None) -> np.random.Generator:
    return np.random.default_rng() if given is None else given
