"""Joint counts of two attributes, in one of two ways.

- Over the product domain: one report of a pair of values, with one epsilon. The smaller error, if pairs are few.
- From pairs of reports, one for each attribute, with epsilons added: each client is at most (epsilon one + epsilon
  two)-locally private. The estimate is unbiased: the estimators of both attributes, applied to the rows and to the
  columns of the table of symbols. Each attribute alone is then estimated as well as ever.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import ParameterError, UnsupportedError, public_class, short_traceback
from discreet.exact.numbers import probability
from discreet.local.collector.payloads import Counts, layout_of
from discreet.local.collector.reports import ReportTable, read_reports
from discreet.local.domain import SlotDomain, read_number
from discreet.local.estimates.frequencies import labels
from discreet.local.estimates.intervals import Method, NoiseVariance, half_widths, method_for
from discreet.local.oracles.oracle import FrequencyOracle
from discreet.local.report_format import REPORT_ID_BYTES

if TYPE_CHECKING:
    from discreet.local.task import Task

Floats = NDArray[np.float64]


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


@public_class
@dataclass(frozen=True, eq=False)
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
        reports: Number of pairs of reports.
        epsilon: The loss of one client, who sent both reports: the sum of both epsilons.

    Example:
        >>> import numpy as np
        >>> none = np.zeros((1, 1))
        >>> JointEstimates(["a"], ["b"], none, none, none, none, 0.95, "normal", 10, Fraction(2)).epsilon
        Fraction(2, 1)
    """

    first: list[str] | list[int] | list[float]
    second: list[str] | list[int] | list[float]
    estimates: Floats
    standard_errors: Floats
    low: Floats
    high: Floats
    confidence: float
    method: Method
    reports: int
    epsilon: Fraction

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
    rows = list(pairs)
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
    level = float(probability(confidence, "confidence", example="0.95"))
    table, reports = np.asarray(counts), int(np.sum(counts))
    if table.shape != (_symbols(first), _symbols(second)) or not reports:
        raise ParameterError(
            f"{reports} pairs in a table of {' x '.join(map(str, table.shape))}",
            because="a table has a row for each symbol of the first task, and a column for each of the second",
            instead="count_pairs(first, second, pairs)",
        )
    oracles = (_oracle(first), _oracle(second))
    estimates = _unbiased(*oracles, table)
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


def _unbiased(first: FrequencyOracle, second: FrequencyOracle, table: Counts) -> Floats:
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
