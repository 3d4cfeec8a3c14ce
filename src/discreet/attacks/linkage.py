"""Linkage: names come back by joining what is known of people to a table from which names were taken out.

Birth date, sex and ZIP code are in many lists, and together they are unique for almost everyone. Who has one candidate
in the published table is found; where all candidates share a value, the value is learned even without finding anyone.
A session hands out no rows. It can be asked how many people fit a description, and the noise on such a count hides
whether anybody does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet import plots
from discreet.attacks import pictures
from discreet.attacks.answers import checked_session, neighbours_of, noise_of
from discreet.attacks.outcome import NOT_PRIVATE, Outcome, best_guess, percent, pluralize, steps_to_another_value
from discreet.catalog.catalog import Value
from discreet.engines.sources.arrow_tables import Codes, as_arrow, classes, column_names, encode, sizes
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, positive
from discreet.mechanisms import Gaussian
from discreet.query import frame
from discreet.release.release import Release
from discreet.session.session import Session

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COUNT = "n"
_CERTAIN = 1e6
_CLEARLY = 4.5
_COLUMNS = '["birth_date", "zip_code"]'


@public_class
@dataclass(frozen=True, repr=False)
class Linkage(Outcome):
    """Outcome of linkage: number of candidates of each known person in a published table, and learned values.

    Attributes:
        rows: Number of published rows.
        people: Number of known people.
        on: Columns that are known.
        learn: Column that is learned, or None.
        found: Number of people with a candidate.
        unique: Number of people with one candidate.
        candidates: Pairs of a number of candidates and the number of people who have it.
        unique_by: For each further known column, the share of people with one candidate.
        learned_values: Number of people all of whose candidates share the value, or None.
        right: Number of those for whom it is the true value, or None.
        epsilon: Epsilon that `with_epsilon` is about.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(200)
        >>> on = ["sex", "zip_code", "birth_date"]
        >>> dp.attacks.linkage.against_table(people, people, on=on).found
        200
    """

    attack = "linkage"

    rows: int
    people: int
    on: tuple[str, ...]
    learn: str | None
    found: int
    unique: int
    candidates: tuple[tuple[int, int], ...]
    unique_by: tuple[tuple[str, float], ...]
    learned_values: int | None
    right: int | None
    epsilon: float

    @property
    def unique_share(self) -> float:
        """The share of known people who have one candidate."""
        return self.unique / self.people if self.people else 0.0

    @property
    def has(self) -> str:
        """What the attacker starts from."""
        known = " and ".join(map(repr, self.on))
        whose = pluralize(self.people, "person", "people")
        return f"{pluralize(self.rows, 'published row')} without names, and {known} of {whose}"

    @property
    def does(self) -> str:
        """What the attacker does with it."""
        return f"joins the two on {pluralize(len(self.on), 'column')}, and looks for people with one candidate"

    @property
    def inference(self) -> str:
        """What came out, and from how much."""
        text = f"{self.unique:,} of {self.people:,} known people ({percent(self.unique_share)}) have one candidate"
        if self.learned_values is None:
            return text
        text += f"; {self.learn!r} of {pluralize(self.learned_values, 'person', 'people')} is learned"
        return text if self.right is None else f"{text}, and {self.right:,} times it is right"

    @property
    def with_epsilon(self) -> str:
        """What epsilon does about it."""
        return (
            f"no row leaves a session; from counts of who fits, at epsilon {plots.plain(self.epsilon)}, the best guess "
            f"between two values of somebody who is alone is right in {percent(best_guess(self.epsilon))}; from no "
            f"answer at that privacy cost in more than {percent(best_guess(self.epsilon, apart=2))}"
        )

    def plot(self) -> "Figure":
        """Share of people with one candidate as more columns become known.

        Returns:
            A figure.
        """
        names = list(accumulate((name for name, _ in self.unique_by), lambda before, name: f"{before} + {name}"))
        shares = [share for _, share in self.unique_by]
        return pictures.bars(
            names,
            shares,
            [f"{percent(share)} unique" for share in shares],
            title=f"Linkage: who is unique among {self.rows:,} rows without names",
            label="share of known people with one candidate",
            is_share=True,
        )


@public_class
@dataclass(frozen=True, repr=False)
class LinkageByCounts(Outcome):
    """Outcome of linkage through a session: values guessed from counts of who fits each description.

    Attributes:
        people: Number of known people.
        on: Columns that are known.
        learn: Column that is guessed.
        values: Number of possible values.
        right: Number of right guesses.
        baseline: Number of right guesses by the most common value.
        epsilon: Epsilon of the counts.
        from_counts: Probability that the best guess from such counts between two values is right.
        bound: Largest such probability from any answer at that cost.
        neighbours: The neighbour relation.
        is_private: Whether the session is private.

    Example:
        >>> import discreet as dp
        >>> issubclass(dp.attacks.linkage.LinkageByCounts, dp.attacks.Outcome)
        True
    """

    attack = "linkage, through a session"

    people: int
    on: tuple[str, ...]
    learn: str
    values: int
    right: int
    baseline: int
    epsilon: float
    from_counts: float
    bound: float
    neighbours: str
    is_private: bool

    @property
    def has(self) -> str:
        """What the attacker starts from."""
        known = " and ".join(map(repr, self.on))
        return f"a session, and {known} of {pluralize(self.people, 'person', 'people')}"

    @property
    def does(self) -> str:
        """What the attacker does with it."""
        return (
            f"asks how many fit each description and have each of {self.values:,} values of {self.learn!r}, in one "
            "query, and takes the value that the counts make likeliest"
        )

    @property
    def inference(self) -> str:
        """What came out, and from how much."""
        return (
            f"{self.right:,} of {self.people:,} values ({percent(self.right / self.people)}) are guessed right; the "
            f"most common value alone gives {percent(self.baseline / self.people)}"
        )

    @property
    def with_epsilon(self) -> str:
        """What epsilon does about it."""
        if not self.is_private:
            return NOT_PRIVATE
        is_replaced = steps_to_another_value(self.neighbours) == 1
        since = "a row replaced" if is_replaced else "a row removed and a row added"
        return (
            f"from counts at epsilon {plots.plain(self.epsilon)} the best guess between two values of somebody who is "
            f"alone is right in {percent(self.from_counts)}; from no answer at that privacy cost in more than "
            f"{percent(self.bound)}, since another value is {since}"
        )

    def plot(self) -> "Figure":
        """Share of right guesses from counts, beside guesses without any answer.

        Returns:
            A figure.
        """
        shares = [self.right / self.people, self.baseline / self.people]
        return pictures.bars(
            [f"from counts at epsilon {plots.plain(self.epsilon)}", "always the most common value"],
            shares,
            [f"{percent(share)} right" for share in shares],
            title=f"Linkage through a session: guesses of {self.learn!r}",
            label="share of right guesses",
            exposed=[True, False],
            is_share=True,
        )


@short_traceback
def against_table(
    published: object,
    known: object,
    *,
    on: Sequence[str],
    learn: str | None = None,
    truth: str | None = None,
    epsilon: Number = 1,
) -> Linkage:
    """Join what is known about people to a published table.

    Args:
        published: Published table without names.
        known: Table of known people.
        on: Columns that are known.
        learn: Column of the published table that is learned. Default: none.
        truth: Column of `known` with the true values, only compared with. Default: none.
        epsilon: Epsilon that `with_epsilon` is about. Default 1.

    Returns:
        The outcome.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(200)
        >>> on = ["sex", "zip_code", "birth_date"]
        >>> dp.attacks.linkage.against_table(people, people, on=on).unique_share > 0.9
        True
    """
    columns = column_names(on, "on", example=_COLUMNS)
    table = as_arrow(published, *columns, *([learn] if learn and learn not in columns else []))
    people = as_arrow(known, *columns, *([truth] if truth and truth not in columns else []))
    unique_by, counts = [], np.zeros(people.num_rows, dtype=np.int64)
    theirs = ours = counts
    for name, (theirs, ours) in zip(columns, classes([table, people], columns), strict=True):
        counts = sizes(theirs, _count(theirs, ours))[ours]
        unique_by.append((name, float(np.mean(counts == 1)) if len(counts) else 0.0))
    numbers, times = np.unique(counts, return_counts=True)
    known_values, right = _count_shared_values(table, people, theirs, ours, learn, truth)
    return Linkage(
        rows=table.num_rows,
        people=people.num_rows,
        on=tuple(columns),
        learn=learn,
        found=int((counts > 0).sum()),
        unique=int((counts == 1).sum()),
        candidates=tuple(zip(numbers.tolist(), times.tolist(), strict=True)),
        unique_by=tuple(unique_by),
        learned_values=known_values,
        right=right,
        epsilon=float(positive(epsilon, "epsilon")),
    )


@short_traceback
def against_session(
    session: Session,
    known: object,
    *,
    table: str,
    on: Sequence[str],
    learn: str,
    values: Sequence[Value],
    truth: str,
    epsilon: Number,
) -> LinkageByCounts:
    """Ask a session how many people fit each description and have each value, and guess values from it.

    Args:
        session: The session; it is charged.
        known: Table of known people.
        table: Name of the table in the session.
        on: Columns that are known.
        learn: Column that is guessed.
        values: Possible values of it.
        truth: Column of `known` with the true values, only compared with.
        epsilon: Epsilon of the counts.

    Returns:
        The outcome.

    Raises:
        Refusal: If an argument is of another kind, or the session refuses a query.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(50)
        >>> facts = {"name": "people", "privacy_unit": "person_id", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
        >>> session = dp.testing.protect(people, **facts)
        >>> known = {"table": "people", "on": ["state", "occupation"], "learn": "sex", "truth": "sex"}
        >>> values = ["female", "male", "other"]
        >>> dp.attacks.linkage.against_session(session, people, **known, values=values, epsilon=1).people
        50
    """
    checked_session(session)
    columns, choices = column_names(on, "on", example=_COLUMNS), list(values)
    people = as_arrow(known, *columns, *([truth] if truth not in columns else []))
    keys = _keys(people.select(columns), learn, choices)
    query = frame.table(table).group_by(*columns, learn, keys=keys).agg(**{_COUNT: frame.count()})
    release = session.release(query, epsilon=epsilon)
    *_, (answers, ours) = classes([release.to_arrow(), people], columns)
    shape = (_count(answers, ours), len(choices))
    place = {choice: number for number, choice in enumerate(choices)}
    answered = np.array([place[choice] for choice in release.to_arrow()[learn].to_pylist()])
    counts, likelier = np.zeros(shape), np.zeros(shape)
    counts[answers, answered] = release[_COUNT]
    likelier[answers, answered] = _likelier(release)
    guessed = np.argmax(likelier + _prior(counts, _deviation(release)), axis=1)[ours]
    usual = choices[int(np.argmax(counts.sum(axis=0)))]
    truths = people[truth].to_pylist()
    price = float(positive(epsilon, "epsilon"))
    return LinkageByCounts(
        people=people.num_rows,
        on=tuple(columns),
        learn=learn,
        values=len(choices),
        right=sum(choices[guess] == true for guess, true in zip(guessed, truths, strict=True)),
        baseline=sum(true == usual for true in truths),
        epsilon=price,
        from_counts=_from_counts(release),
        bound=_bound(session, table, price) if release.private else 1.0,
        neighbours=str(neighbours_of(session, table)),
        is_private=release.private,
    )


def _count_shared_values(
    table: pa.Table, people: pa.Table, theirs: Codes, ours: Codes, learn: str | None, truth: str | None
) -> tuple[int | None, int | None]:
    """How many people's candidates all share one value, and how many of these are the true one."""
    if learn is None:
        return None, None
    columns = [table[learn], *([people[truth]] if truth else [])]
    cells = encode(columns, learn)
    values = cells[: table.num_rows]
    pairs = np.unique(theirs * (cells.max(initial=0) + 1) + values)
    count = _count(theirs, ours)
    alone = sizes(pairs // (cells.max(initial=0) + 1), count) == 1
    settled = alone[ours]
    if truth is None:
        return int(settled.sum()), None
    one = np.zeros(count, dtype=np.int64)
    one[theirs] = values
    return int(settled.sum()), int((settled & (one[ours] == cells[table.num_rows :])).sum())


def _likelier(release: Release) -> NDArray[np.float64]:
    """For each count the logarithm of how much likelier it is with one person there than with none."""
    counts = np.asarray(release[_COUNT], dtype=float)
    if not release.private:
        return counts * _CERTAIN
    noise = noise_of(release)
    return np.array([noise.log_weight(int(count) - 1) - noise.log_weight(int(count)) for count in counts])


def _bound(session: Session, table: str, price: float) -> float:
    """The most that a guess between two values can be right, from any answer at a privacy cost."""
    delta, steps = float(session.ledger.budget(table).delta), steps_to_another_value(neighbours_of(session, table))
    return best_guess(price, delta, apart=steps)


def _from_counts(release: Release) -> float:
    """How often the likelier of two values, by a count of each, is the true one of somebody who is alone."""
    if not release.private:
        return 1.0
    noise = noise_of(release)
    if isinstance(noise, Gaussian):
        return float(ndtr(1 / (noise.sigma * 2**0.5)))
    return 1 / (1 + exp(-1 / noise.width))


def _deviation(release: Release) -> float:
    """The standard deviation of the noise in each count."""
    return noise_of(release).variance_bound ** 0.5 if release.private else 0.0


def _prior(counts: NDArray[np.float64], deviation: float) -> NDArray[np.float64]:
    """The logarithm of how common each value is; even where totals are not clearly farther apart than their noise."""
    totals = counts.sum(axis=0)
    if np.abs(totals - totals.mean()).max() <= _CLEARLY * deviation * len(counts) ** 0.5:
        return np.zeros(len(totals))
    common = np.maximum(totals, 1)
    return np.asarray(np.log(common / common.sum()))


def _keys(people: pa.Table, learn: str, values: list[Value]) -> pa.Table:
    """Every description with every value."""
    if not people.num_rows or not values:
        raise ParameterError(
            "nobody known, or no values",
            because="each known person is asked about with each value",
            instead='known=a table with rows, values=["A", "B"]',
        )
    times = len(values)
    lines = np.repeat(np.arange(people.num_rows), times)
    return people.take(pa.array(lines)).append_column(learn, pa.array(values * people.num_rows))


def _count(one: Codes, other: Codes) -> int:
    return int(max(one.max(initial=-1), other.max(initial=-1))) + 1
