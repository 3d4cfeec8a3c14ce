"""Joint counts of two attributes, in one of two ways.

- Over the product domain: one report of a pair of values, with one epsilon. The smaller error, if pairs are few.
- From pairs of reports, one for each attribute, with epsilons added: each client is at most (epsilon one + epsilon
  two)-locally private. The estimate is unbiased: the estimators of both attributes, applied to the rows and to the
  columns of the table of symbols. Each attribute alone is then estimated as well as ever.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.errors import ParameterError, UnsupportedError, public_class, short_traceback
from discreet.local.collector.payloads import layout_of
from discreet.local.collector.reports import ReportTable, read_reports
from discreet.local.domain import SlotDomain, read_number
from discreet.local.estimates.consistency import largest
from discreet.local.estimates.frequencies import estimate, labels
from discreet.local.estimates.intervals import Method, NoiseVariance, confidence_level, half_widths, method_for
from discreet.local.estimates.listing import SHOWN, count_row, listing
from discreet.local.oracles.oracle import FrequencyOracle
from discreet.local.oracles.randomizer import Counts, Floats
from discreet.local.report_format import REPORT_ID_BYTES
from discreet.plan.wording import counted
from discreet.release.forms import pandas_frame

if TYPE_CHECKING:
    import pandas as pd

    from discreet.local.collector.accumulator import Accumulator
    from discreet.local.task import Task


@public_class
@dataclass(frozen=True)
class ProductDomain:
    """Pairs of values of two domains, as one domain.

    Args:
        first: The first domain.
        second: The second domain.

    Example:
        >>> import discreet as dp
        >>> letters, digits = dp.local.SlotDomain(values=("a", "b")), dp.local.SlotDomain(size=3)
        >>> pairs = dp.local.estimates.ProductDomain(letters, digits)
        >>> pairs.slot("b", 2)
        5
        >>> pairs.domain.size
        6
    """

    first: SlotDomain
    second: SlotDomain

    @property
    def domain(self) -> SlotDomain:
        """The domain for a task: pairs, numbered row by row."""
        return SlotDomain(size=self.first.size * self.second.size)

    def slot(self, first: object, second: object) -> int | None:
        """The slot of a pair, which a client reports.

        Args:
            first: Value of the first attribute.
            second: Value of the second attribute.

        Returns:
            The number of the slot; None for a value outside of its domain.
        """
        row, column = self.first.slot(first), self.second.slot(second)
        return None if row is None or column is None else row * self.second.size + column

    def table(self, column: Floats) -> Floats:
        """A column of estimates as a table.

        Args:
            column: A number for each pair, such as the estimates of a task with this domain.

        Returns:
            A row for each value of the first attribute, a column for each of the second.
        """
        return np.asarray(column, dtype=np.float64).reshape(self.first.size, self.second.size)

    def estimate(
        self, task: "Task", accumulator: "Accumulator", confidence: float = 0.95, *, method: Method | None = None
    ) -> "JointEstimates":
        """Estimate how many clients have each pair of values, from reports of a task with this domain.

        Args:
            task: The task, whose clients report `slot(first, second)`.
            accumulator: The counts of its reports.
            confidence: Probability that the intervals of all pairs hold at once. Default 0.95.
            method: "normal" or "bernstein". Default: "normal" where there are enough reports for it.

        Returns:
            Estimates of all pairs, by their values in place of their slots.

        Raises:
            ParameterError: If the task has another domain, the counts are those of another task, or there are none.
            UnsupportedError: If the task asks for a mean.
        """
        if task.domain != self.domain:
            raise ParameterError(
                f"pairs of values from a task of {task.domain.size:,} slots",
                because=f"the task has another domain than {self.first.size:,} x {self.second.size:,} pairs",
                instead="Task.choose(domain=pairs.domain, epsilon=1, n=1_000_000)",
            )
        found = estimate(task, accumulator, confidence, method=method)
        return JointEstimates(
            labels(self.first),
            labels(self.second),
            estimates=self.table(found.estimates),
            standard_errors=self.table(found.standard_errors),
            low=self.table(found.low),
            high=self.table(found.high),
            confidence=found.confidence,
            method=found.method,
            reports=found.reports,
            epsilon=read_number(task.epsilon, "epsilon"),
        )


@public_class
@dataclass(frozen=True, eq=False, repr=False)
class JointEstimates:
    """Estimated counts of pairs of values. Rows are values of the first attribute, columns of the second.

    Attributes:
        first: Values of the first attribute.
        second: Values of the second attribute.
        estimates: Unbiased count of each pair.
        standard_errors: Standard deviation of each estimate.
        low: Lower end of each interval.
        high: Upper end of each interval.
        confidence: Probability that all intervals hold at once.
        method: How the intervals were computed.
        reports: Number of clients: of pairs of reports, or of reports of a pair.
        epsilon: The loss of one client: the sum of both epsilons, or that of one report of a pair.

    Example:
        >>> import numpy as np
        >>> none = np.zeros((1, 1))
        >>> JointEstimates(["a"], ["b"], none, none, none, none, 0.95, "normal", 10, Fraction(2)).epsilon
        Fraction(2, 1)
    """

    first: Sequence[str] | Sequence[int] | Sequence[float]
    second: Sequence[str] | Sequence[int] | Sequence[float]
    estimates: Floats
    standard_errors: Floats
    low: Floats
    high: Floats
    confidence: float
    method: Method
    reports: int
    epsilon: Fraction

    def __len__(self) -> int:
        return self.estimates.size

    def __repr__(self) -> str:
        what = f"{counted(self.reports, 'client')}, {counted(len(self), 'pair')} of values"
        heading = f"{what}; with probability {self.confidence:.15g} all intervals hold"
        rows = (count_row(f"{first}, {second}", *numbers) for first, second, *numbers in self.top())
        return listing(heading, rows, len(self) - SHOWN)

    def top(self, number: int = SHOWN) -> list[tuple[str | int | float, str | int | float, float, float, float]]:
        """The pairs of the largest estimates. Their estimates are biased upwards; the intervals still hold.

        Args:
            number: How many. Default 10.

        Returns:
            Both values, the estimate of the pair and both ends of its interval, largest first.

        Raises:
            ParameterError: If the number is negative.
        """
        places = [divmod(place, len(self.second)) for place in largest(self.estimates.ravel(), number)]
        return [
            (self.first[i], self.second[j], float(self.estimates[i, j]), float(self.low[i, j]), float(self.high[i, j]))
            for i, j in places
        ]

    def to_arrow(self) -> pa.Table:
        """The estimates as an Arrow table, one row a pair.

        Returns:
            The columns first, second, estimate, standard_error, low and high.
        """
        rows, columns = np.indices(self.estimates.shape).reshape(2, -1).tolist()
        names = ("estimate", "standard_error", "low", "high")
        numbers = (self.estimates, self.standard_errors, self.low, self.high)
        values = {"first": [self.first[i] for i in rows], "second": [self.second[i] for i in columns]}
        return pa.table(values | {name: each.ravel() for name, each in zip(names, numbers, strict=True)})

    def to_pandas(self) -> "pd.DataFrame":
        """The estimates as a pandas frame, one row a pair.

        Returns:
            The columns first, second, estimate, standard_error, low and high.

        Raises:
            UnsupportedError: If pandas is not installed.
        """
        return pandas_frame(self.to_arrow())


@short_traceback
def count_pairs(first: "Task", second: "Task", pairs: Iterable[tuple[bytes, bytes]], *, batch: int = 0) -> Counts:
    """Count pairs of reports, one for each of two attributes of one client.

    A pair counts if both reports are well formed and of this batch, and once: of pairs whose first reports have one id,
    the first counts. Tables of different pairs add up.

    Args:
        first: The task of the first attribute.
        second: The task of the second attribute.
        pairs: Pairs of reports.
        batch: The batch to count.

    Returns:
        Pairs by symbol of the first and symbol of the second report.

    Raises:
        ParameterError: If there is something else than pairs of reports.
        UnsupportedError: If reports of a task are not one symbol that means the same in every cohort.

    Example:
        >>> import discreet as dp
        >>> tasks = [dp.local.Task.choose(domain=["yes", "no"], epsilon=1, n=1_000, name=name) for name in ("a", "b")]
        >>> clients = [dp.local.Client(task.assignment(0)) for task in tasks]
        >>> pairs = [tuple(client.report("yes") for client in clients) for _ in range(10)]
        >>> int(dp.local.estimates.count_pairs(*tasks, pairs).sum())
        10
    """
    widths = [_symbols(task) for task in (first, second)]
    rows = [_pair(pair) for pair in pairs]
    tables = [
        _of_batch(read_reports(task, [pair[i] for pair in rows]), batch) for i, task in enumerate((first, second))
    ]
    _, one, other = np.intersect1d(tables[0].positions, tables[1].positions, return_indices=True)
    ids = np.ascontiguousarray(tables[0].ids[one]).view(f"V{REPORT_ID_BYTES}").ravel()
    order = np.argsort(ids, kind="stable")
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = ids[order][1:] != ids[order][:-1]
    once = order[is_new]
    symbols = [
        layout_of(task).symbols(table.payloads[places[once]])
        for task, table, places in zip((first, second), tables, (one, other), strict=True)
    ]
    cells = np.bincount(symbols[0] * widths[1] + symbols[1], minlength=widths[0] * widths[1])
    return cells.reshape(widths[0], widths[1]).astype(np.int64)


@short_traceback
def estimate_joint(
    first: "Task", second: "Task", counts: Counts, confidence: float = 0.95, *, method: Method | None = None
) -> JointEstimates:
    """Estimate how many clients have each pair of values, from pairs of reports.

    Args:
        first: The task of the first attribute.
        second: The task of the second attribute.
        counts: Pairs of symbols, from `count_pairs`.
        confidence: Probability that the intervals of all pairs hold at once.
        method: "normal" or "bernstein". Default: "normal" where there are enough reports for it.

    Returns:
        Estimates of all pairs.

    Raises:
        ParameterError: If the counts are not those of the tasks, or there are none.
        UnsupportedError: If reports of a task are not one symbol that means the same in every cohort.

    Example:
        >>> import discreet as dp
        >>> tasks = [dp.local.Task.choose(domain=["yes", "no"], epsilon=1, n=1_000, name=name) for name in ("a", "b")]
        >>> clients = [dp.local.Client(task.assignment(0)) for task in tasks]
        >>> pairs = [tuple(client.report("yes") for client in clients) for _ in range(1_000)]
        >>> counts = dp.local.estimates.count_pairs(*tasks, pairs)
        >>> float(dp.local.estimates.estimate_joint(*tasks, counts).epsilon)
        2.0
    """
    level = confidence_level(confidence)
    table, reports = np.asarray(counts), int(np.sum(counts))
    is_counted = table.dtype.kind in "iu" and table.min(initial=0) >= 0
    if table.shape != (_symbols(first), _symbols(second)) or not reports or not is_counted:
        raise ParameterError(
            f"{reports} pairs in a table of {' x '.join(map(str, table.shape))}",
            because="a table has a row for each symbol of the first task, and a column for each of the second",
            instead="count_pairs(first, second, pairs)",
        )
    oracles = (_oracle(first), _oracle(second))
    estimates = _joint_counts(*oracles, table)
    by_kind = _variances_of_one(*oracles)
    variances = reports * _mixture(by_kind, estimates / reports)
    step = float(np.prod([1 / float(oracle.true_rate - oracle.false_rate) for oracle in oracles]))
    noise = NoiseVariance(reports * float(by_kind.min()), 0.0, reports, step)
    method = method or method_for(noise, estimates.size, level)
    # The normal method takes the variance of the estimate, Bernstein's inequality the largest that a table may have.
    assumed = variances if method == "normal" else np.full_like(variances, reports * by_kind.max())
    half = half_widths(assumed, step, 0.0, method, estimates.size, level)
    low, high = np.clip(estimates - half, 0, reports), np.clip(estimates + half, 0, reports)
    epsilon = sum((read_number(task.epsilon, "epsilon") for task in (first, second)), Fraction(0))
    names = (labels(first.domain), labels(second.domain))
    return JointEstimates(*names, estimates, np.sqrt(variances), low, high, level, method, reports, epsilon)


def _joint_counts(first: FrequencyOracle, second: FrequencyOracle, table: Counts) -> Floats:
    """Supports are counted in whole numbers along both sides; then the false ones are subtracted."""
    p, q = (float(first.true_rate), float(first.false_rate)), (float(second.true_rate), float(second.false_rate))
    rows = np.array([first.support(column) for column in table.T]).astype(np.int64).T
    cells = np.array([second.support(row) for row in rows])
    of_first, of_second = first.support(table.sum(axis=1)), second.support(table.sum(axis=0))
    false = q[1] * of_first[:, None] + p[1] * of_second[None, :] - p[1] * q[1] * table.sum()
    estimates: Floats = (cells - false) / ((p[0] - p[1]) * (q[0] - q[1]))
    return estimates


def _variances_of_one(first: FrequencyOracle, second: FrequencyOracle) -> Floats:
    """Variance that a client adds to a cell: with neither value, the second, the first, both."""
    squares = []
    for oracle in (first, second):
        p, q = float(oracle.true_rate), float(oracle.false_rate)
        squares.append((q * (1 - q) / (p - q) ** 2, (p * (1 - q) ** 2 + (1 - p) * q**2) / (p - q) ** 2))
    (other, own), (another, same) = squares
    return np.array([other * another, other * same, own * another, own * same - 1])


def _mixture(by_kind: Floats, shares: Floats) -> Floats:
    """The variance of each cell for estimated shares of clients."""
    both = np.clip(shares, 0, 1)
    rows = np.clip(np.clip(shares.sum(axis=1, keepdims=True), 0, 1) - both, 0, 1)
    columns = np.clip(np.clip(shares.sum(axis=0, keepdims=True), 0, 1) - both, 0, 1)
    neither = np.clip(1 - both - rows - columns, 0, 1)
    variances: Floats = neither * by_kind[0] + columns * by_kind[1] + rows * by_kind[2] + both * by_kind[3]
    return variances.clip(min=by_kind.min())


def _pair(pair: object) -> tuple[object, object]:
    if isinstance(pair, tuple | list) and len(pair) == 2:
        return pair[0], pair[1]
    raise ParameterError(
        f"a {type(pair).__name__} in the place of a pair of reports",
        because="a client sends two reports, one for each task",
        instead="count_pairs(first, second, [(report_of_first, report_of_second), ...])",
    )


def _of_batch(table: ReportTable, batch: int) -> ReportTable:
    return table.take(table.batches == batch)


def _symbols(task: "Task") -> int:
    oracle = task.decoder
    if layout_of(task).form != "symbol" or task.cohorts > 1 or not isinstance(oracle, FrequencyOracle):
        raise UnsupportedError(
            f"pairs of reports of the oracle {oracle.kind!r} in {task.cohorts} cohorts",
            because="a pair is counted by its symbols, which have to mean the same in every cohort",
            instead="a task over ProductDomain(first, second).domain, or the oracles krr, hadamard or pgr",
        )
    return layout_of(task).width


def _oracle(task: "Task") -> FrequencyOracle:
    oracle = task.decoder
    assert isinstance(oracle, FrequencyOracle)  # noqa: S101 - `_symbols` refused all others
    return oracle
