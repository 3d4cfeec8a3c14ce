"""Reconstruction: everybody's secret bit, from counts of overlapping groups that are each nearly right.

Each of many random subsets of people is asked for, and linear programming finds the bits whose counts are nearest to
the answers. It works whenever errors are small beside the root of the number of people, however the answers were
blurred: by rounding, or by noise that is fresh for every answer and never charged (Dinur and Nissim,
Revealing Information while Preserving Privacy, PODS 2003; Dwork, McSherry and Talwar, The Price of Privacy and
the Limits of LP Decoding, STOC 2007). A ledger adds privacy costs up and ends it.

A publisher is a callable from a subset, an array of one boolean a person, to an answer; it raises `BudgetError` when it
has had enough.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isfinite, sqrt
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linprog

from discreet.accounting.filters import Budget
from discreet.attacks.answers import ask_number, checked_session, neighbours_of
from discreet.attacks.reconstruction_outcome import Reconstruction, ReconstructionCurve
from discreet.engines.sources.arrow_tables import as_arrow
from discreet.errors import BudgetError, ParameterError, short_traceback
from discreet.exact.numbers import Number, positive, whole
from discreet.mechanisms import Laplace
from discreet.query import frame
from discreet.session.session import Session

if TYPE_CHECKING:
    pass

__all__ = [
    "Reconstruction",
    "ReconstructionCurve",
    "against",
    "against_session",
    "against_table",
    "curve",
    "exact",
    "noisy",
    "rounding",
    "secret_bits",
    "solve",
]

Subset = NDArray[np.bool_]
Bits = NDArray[np.bool_]
Publisher = Callable[[Subset], float]

PEOPLE, QUESTIONS = 128, 640

_CALLED = "it is called with a subset of people, one boolean each, and returns one finite number"


@short_traceback
def exact(secret: Bits) -> Publisher:
    """Publisher with exact answers.

    Args:
        secret: One bit per person.

    Returns:
        A function from a subset to a count.

    Example:
        >>> import discreet as dp
        >>> import numpy as np
        >>> everyone = np.array([True, True, True])
        >>> dp.attacks.reconstruction.exact(np.array([True, False, True]))(everyone)
        2
    """
    return lambda subset: int(np.count_nonzero(secret & subset))


@short_traceback
def rounding(secret: Bits, to: int = 5) -> Publisher:
    """Publisher that rounds each count.

    Args:
        secret: One bit per person.
        to: Counts are rounded to multiples of it. Default 5.

    Returns:
        A function from a subset to a count.

    Example:
        >>> import discreet as dp
        >>> import numpy as np
        >>> everyone = np.array([True, True, True])
        >>> dp.attacks.reconstruction.rounding(np.array([True, True, True]), to=5)(everyone)
        5
    """
    return lambda subset: to * round(int(np.count_nonzero(secret & subset)) / to)


@short_traceback
def noisy(secret: Bits, *, epsilon: Number) -> Publisher:
    """Publisher with fresh noise for every answer, and without a ledger.

    Args:
        secret: One bit per person.
        epsilon: Epsilon of each answer.

    Returns:
        A function from a subset to a count.

    Raises:
        ParameterError: If epsilon is not a positive number.

    Example:
        >>> import discreet as dp
        >>> import numpy as np
        >>> everyone = np.array([True, True, True])
        >>> isinstance(dp.attacks.reconstruction.noisy(np.array([True, False, True]), epsilon=1)(everyone), int)
        True
    """
    mechanism = Laplace(sensitivity=1, epsilon=epsilon)
    return lambda subset: int(mechanism.release(int(np.count_nonzero(secret & subset))))


@short_traceback
def secret_bits(people: int = PEOPLE, *, generator: np.random.Generator | None = None) -> Bits:
    """One random bit per person.

    Args:
        people: Number of people. Default 128.
        generator: Generator of the bits. Default: a new one.

    Returns:
        The bits.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> len(dp.attacks.reconstruction.secret_bits(16))
        16
    """
    bits: Bits = _generator(generator).integers(0, 2, whole(people, "people")).astype(bool)
    return bits


@short_traceback
def solve(subsets: Subset, answers: Sequence[float], *, largest_error: float | None = None) -> Bits:
    """Bits whose counts over subsets are nearest to the answers, by linear programming.

    Args:
        subsets: Subsets as rows of booleans, one per person.
        answers: One answer per subset.
        largest_error: Largest error of an answer. Default: unknown.

    Returns:
        The bits.

    Raises:
        ParameterError: If no bits are within the largest error of all answers.

    Example:
        >>> import discreet as dp
        >>> import numpy as np
        >>> dp.attacks.reconstruction.solve(np.eye(3, dtype=bool), [1, 0, 1]).tolist()
        [True, False, True]
    """
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
        rounding(bits, step),
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
    """Ask a session how many of a list of people have a secret value, until the ledger refuses.

    What was spent before is not counted in the outcome.

    Args:
        session: The session; it is charged.
        rows: Table of the same people with their values, to ask about and to compare with.
        table: Name of the table in the session.
        person: Column that identifies people.
        value: Column of ones and zeros, or booleans.
        epsilon: Epsilon of each query.
        questions: Number of queries. Default 640.
        generator: Generator of the subsets. Default: a new one.

    Returns:
        The outcome.

    Raises:
        Refusal: If an argument is of another kind, or the session refuses a query.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> rows = pa.table({"person": range(16), "positive": [0, 1] * 8})
        >>> facts = {"name": "clinic", "privacy_unit": "person", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
        >>> words = {"table": "clinic", "person": "person", "value": "positive", "epsilon": 0.1}
        >>> dp.attacks.reconstruction.against_session(dp.testing.protect(rows, **facts), rows, **words).answered
        10
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
    """Reconstruction at several total epsilons, each spread evenly over the queries.

    Args:
        epsilons: The total epsilons.
        people: Number of people. Default 128.
        questions: Number of queries. Default 640.
        runs: Number of runs at each epsilon. Default 5.
        generator: Generator of secrets and subsets. Default: a new one.

    Returns:
        The outcome.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> dp.attacks.reconstruction.curve([1, 10], people=16, questions=40, runs=2).runs
        2
    """
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
    """The answers until one is refused, and the error."""
    if not callable(publisher):
        raise ParameterError(
            f"a publisher of type {type(publisher).__name__}", because=_CALLED, instead="reconstruction.rounding(bits)"
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


def _with_cost(found: Reconstruction, price: Fraction, budget: Budget) -> Reconstruction:
    """The same outcome with what its answers cost: their sum, or the budget where epsilons do not add."""
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
            because="it is a list of ones and zeros, one for each person",
            instead="reconstruction.secret_bits(128)",
        )
    return found.astype(bool)


def _bits(cells: list[Any], value: str) -> Bits:
    if not cells or any(cell not in (0, 1) for cell in cells):
        raise ParameterError(
            f"a secret in column {value!r}",
            because="the list is empty, or a secret is neither one nor zero",
            instead="a column of ones and zeros, or of booleans",
        )
    return np.array([bool(cell) for cell in cells])


def _generator(given: np.random.Generator | None) -> np.random.Generator:
    return np.random.default_rng() if given is None else given
