"""Differencing: two sums that differ by one person give that person's value.

Nothing in either sum is about one person, and a rule such as "no answer about fewer than 10 people" lets both through.
The noise of a session is drawn anew for each sum and is as large as the whole range that a value may lie in, so that
the difference says little about anybody.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet import plots
from discreet.attacks.answers import Answer, ask_number, checked_session, is_anybody_else
from discreet.attacks.outcome import Outcome, exact_figure
from discreet.engines.sources.arrow_tables import as_arrow, classes, numbers
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, positive
from discreet.query import frame
from discreet.query.aggregates import checked_bounds
from discreet.session.session import Session

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARGIN = 1.96
_PICTURED = (10.0, 1.0)
_SESSION = "1.96 deviations of the noise, either way"


@public_class
@dataclass(frozen=True, repr=False)
class Differencing(Outcome):
    """Outcome of differencing: the difference of two sums, and its distance from the truth.

    Attributes:
        value: Name of the column.
        everyone: Sum over everyone.
        without: Sum over everyone but one.
        deviation: Standard deviation of the noise of the difference; 0 for exact sums.
        truth: The true value, if known.
        people: Number of people that the sums differ by, or None where only a session knows.
        epsilon: Epsilon of each sum: the one spent, or the one in `with_epsilon` is about.
        bounds: Bounds of the values.

    Example:
        >>> import discreet as dp
        >>> rows = {"name": ["Ada", "Bob"], "age": [36, 50]}
        >>> import pyarrow as pa
        >>> ada = {"value": "age", "person": {"name": "Ada"}, "bounds": (0, 120)}
        >>> dp.attacks.differencing.against_table(pa.table(rows), **ada).difference
        36
    """

    attack = "differencing"

    value: str
    everyone: float
    without: float
    deviation: float
    truth: float | None
    people: int | None
    epsilon: float
    bounds: tuple[float, float]

    @property
    def difference(self) -> float:
        """What the attacker computes."""
        return self.everyone - self.without

    @property
    def error(self) -> float | None:
        """How far the difference is from the truth."""
        return None if self.truth is None else abs(self.difference - self.truth)

    @property
    def noise_at_epsilon(self) -> float:
        """The deviation of the difference of two sums that cost epsilon each, with Laplace noise."""
        return _noise(self.bounds, self.epsilon)

    @property
    def has(self) -> str:
        """What the attacker starts from."""
        but = "one" if self.people == 1 else "people with the known values"
        sums = f"{self._number_text(self.everyone)} and {self._number_text(self.without)}"
        return f"the sum of {self.value!r} over everyone and over everyone but {but}: {sums}"

    @property
    def does(self) -> str:
        """What the attacker does with it."""
        return "subtracts the second from the first"

    @property
    def inference(self) -> str:
        """What came out, and from how much."""
        whose = "the one person's value" if self.people == 1 else "the sum over people with these values"
        if not self.deviation:
            return f"{self._number_text(self.difference)}: {whose}, exactly, from two answers"
        text = f"{_figure(self.difference)}, with noise of deviation {_figure(self.deviation)} on it"
        return text if self.error is None else f"{text}; {whose} is missed by {_figure(self.error)}"

    @property
    def with_epsilon(self) -> str:
        """What epsilon does about it."""
        low, high = self.bounds
        noise = self.deviation or self.noise_at_epsilon
        return (
            f"at epsilon {plots.plain(self.epsilon)} a sum, with values in {_figure(low)} to {_figure(high)}, the "
            f"difference has noise of deviation {_figure(noise)}: {_times(noise, high - low)} the whole range of values"
        )

    def plot(self) -> "Figure":
        """What the difference tells about the value, without noise and with the noise of a session.

        Returns:
            A figure.
        """
        names, values, noise = zip(*self._rows(), strict=True)
        drawn = {"sums": names, "difference": values, "margin": [_MARGIN * each for each in noise]}
        figure = plots.error_bars(
            pa.table(drawn),
            key="sums",
            value="difference",
            margin="margin",
            title=f"Differencing: what two sums of {self.value!r} say about one person",
            label=f"difference of the two sums of {self.value!r}",
            whiskers=f"whiskers: {_SESSION if self.deviation else 'where the difference lies in 95% of attempts'}",
            caption=f"shaded: every value that there may be, {_figure(self.bounds[0])} to {_figure(self.bounds[1])}",
        )
        figure.axes[0].axvspan(*self.bounds, color=plots.FAINT, zorder=0)
        return figure

    def _rows(self) -> list[tuple[str, float, float]]:
        """What is drawn, its place and the deviation of its noise: what was asked of a session, or what could be."""
        if self.deviation:
            return [(f"this session, epsilon {plots.plain(self.epsilon)}", self.difference, self.deviation)]
        noisy = [(f"epsilon {plots.plain(e)} for each sum", self.difference, _noise(self.bounds, e)) for e in _PICTURED]
        return [("exact sums", self.difference, 0.0), *noisy]

    def _number_text(self, number: float) -> str:
        return _figure(number) if self.deviation else exact_figure(number)


@short_traceback
def against_table(
    rows: object, *, value: str, person: Mapping[str, Any], bounds: tuple[Number, Number], epsilon: Number = 1
) -> Differencing:
    """Subtract two exact sums, with and without one person.

    Args:
        rows: Table (Arrow, pandas, Polars), or the path of a CSV or Parquet file.
        value: Numeric column that is summed.
        person: Values of columns that identify the person: `{"name": "Ada"}`.
        bounds: Bounds of the values.
        epsilon: Epsilon of each sum that `with_epsilon` is about. Default 1.

    Returns:
        The outcome.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> rows = pa.table({"name": ["Ada", "Bob"], "age": [36, 50]})
        >>> ada = {"value": "age", "person": {"name": "Ada"}, "bounds": (0, 120)}
        >>> dp.attacks.differencing.against_table(rows, **ada).error
        0
    """
    _literal(person)
    table = as_arrow(rows, value, *(name for name in person if name != value))
    cells = numbers(table, value)
    chosen = _matching(table, person)
    theirs = pc.sum(cells.filter(chosen)).as_py() or 0
    everyone = pc.sum(cells).as_py() or 0
    low, high = _limits(bounds)
    return Differencing(
        value=value,
        everyone=everyone,
        without=pc.sum(cells.filter(pc.invert(chosen))).as_py() or 0,
        deviation=0.0,
        truth=theirs,
        people=_one(pc.sum(chosen).as_py() or 0, person),
        epsilon=float(positive(epsilon, "epsilon")),
        bounds=(low, high),
    )


@short_traceback
def against_session(
    session: Session,
    *,
    table: str,
    value: str,
    person: Mapping[str, Any],
    bounds: tuple[Number, Number],
    epsilon: Number,
    truth: float | None = None,
) -> Differencing:
    """Ask a session for the two sums and subtract them.

    Args:
        session: The session; it is charged for two sums.
        table: Name of the table.
        value: Numeric column that is summed.
        person: Values of columns that identify the person: `{"name": "Ada"}`.
        bounds: Bounds of the values.
        epsilon: Epsilon of each sum.
        truth: The true value, only compared with. Default: unknown.

    Returns:
        The outcome.

    Raises:
        Refusal: If an argument is of another kind, or the session refuses a query.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "people", "privacy_unit": "person_id", "max_rows": 1, "budget": dp.Budget(epsilon=2)}
        >>> session = dp.testing.protect(dp.datasets.people(100), **facts)
        >>> one = {"value": "hours_per_week", "person": {"person_id": 7}, "bounds": (0, 100)}
        >>> outcome = dp.attacks.differencing.against_session(session, table="people", **one, epsilon=1)
        >>> outcome.people is None
        True
    """
    checked_session(session)
    _literal(person)
    everyone = frame.table(table)
    others = everyone.where(is_anybody_else(table, person))
    total = frame.sum(value, bounds=bounds)
    first, second = (ask_number(session, asking.agg(total=total), epsilon=epsilon) for asking in (everyone, others))
    return Differencing(
        value=value,
        everyone=first.value,
        without=second.value,
        deviation=_together(first, second),
        truth=truth,
        people=None,
        epsilon=float(positive(epsilon, "epsilon")),
        bounds=_limits(bounds),
    )


def _noise(bounds: tuple[float, float], epsilon: float) -> float:
    """The deviation of the difference of two draws of Laplace noise: the root of two times that of each."""
    return 2 * max(map(abs, bounds)) / epsilon


def _together(first: Answer, second: Answer) -> float:
    return hypot(first.deviation, second.deviation)


def _limits(bounds: tuple[Number, Number]) -> tuple[float, float]:
    low, high = checked_bounds(bounds) or (0, 0)
    return float(low), float(high)


def _literal(person: object) -> None:
    if not isinstance(person, Mapping):
        raise ParameterError(
            f"a person of type {type(person).__name__}",
            because="a person is known by the values of certain columns",
            instead='person={"name": "Ada"}',
        )
    if not person:
        raise ParameterError(
            "a person of whom nothing is known",
            because="the two sums differ by people with certain values",
            instead='person={"name": "Ada"}',
        )


def _matching(table: pa.Table, person: Mapping[str, Any]) -> pa.ChunkedArray:
    """Which rows have all the values that are known of the person."""
    wanted = pa.table({name: pa.array([known]) for name, known in person.items()})
    *_, (here, there) = classes([table, wanted], list(person))
    return pa.chunked_array([pa.array(here == there[0])])


def _one(people: int, person: Mapping[str, Any]) -> int:
    if people != 1:
        raise ParameterError(
            f"a person known by {', '.join(map(repr, person))}",
            because=f"{people:,} rows have these values" if people else "nobody in the table has these values",
            instead="the values of more columns, that one person alone has" if people else "those of somebody there",
        )
    return people


def _figure(number: float) -> str:
    return plots.plain(round(number, 9))


def _times(noise: float, span: float) -> str:
    return "many times" if not span else f"{plots.plain(round(noise / span, 1))} times"
