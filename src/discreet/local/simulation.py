"""Simulated collections: counts of reports with the probabilities of an oracle, for study and for tests of estimates.

Reports are counted without being made one by one, from numpy's generators in floats. Nothing here protects anybody:
clients draw by `client.py`, from the randomness of the operating system.
"""

import numpy as np

from discreet.errors import ParameterError, short_traceback
from discreet.local.oracles.local_hashing import PRIME, LocalHashing
from discreet.local.oracles.mean import MeanOracle
from discreet.local.oracles.oracle import TwoLevelOracle
from discreet.local.oracles.randomizer import Counts, LocalRandomizer
from discreet.local.oracles.subset import SubsetSelection
from discreet.local.oracles.unary import UnaryEncoding

_BLOCK = 2**22


@short_traceback
def simulate(oracle: LocalRandomizer, histogram: Counts, generator: np.random.Generator) -> Counts:
    """Counts of the reports of simulated clients, one report each.

    Args:
        oracle: The oracle.
        histogram: Number of clients that have each slot.
        generator: Where random numbers come from.

    Returns:
        Reports by symbol or by bit; for local hashing by cohort and bucket, with clients in random cohorts.

    Raises:
        ParameterError: If the histogram is not a whole number of clients for each slot.
        TypeError: If there is no simulation of such an oracle.

    Example:
        >>> import discreet as dp
        >>> import numpy as np
        >>> oracle = dp.local.oracles.KaryResponse.calibrate(4, epsilon=1)
        >>> int(dp.local.simulate(oracle, np.array([50, 50, 0, 0]), np.random.default_rng()).sum())
        100
    """
    if not isinstance(oracle, LocalRandomizer):
        raise TypeError(f"no simulation of {type(oracle).__name__}")
    clients = whole_counts(histogram, "clients", width=oracle.size)
    match oracle:
        case TwoLevelOracle():
            return _two_levels(oracle, clients, generator)
        case UnaryEncoding():
            return _bits(oracle, clients, generator)
        case SubsetSelection():
            return _sets(oracle, clients, generator)
        case LocalHashing():
            return _hashing(oracle, clients, generator)
        case MeanOracle():
            return _steps(oracle, clients, generator)
    raise TypeError(f"no simulation of {type(oracle).__name__}")


def whole_counts(values: object, name: str, *, width: int, has_rows: bool = False) -> Counts:
    """Counts that somebody typed: whole numbers of at least 0, one for each slot or symbol.

    Args:
        values: The counts.
        name: Their name in an error.
        width: Length of a row.
        has_rows: Whether there may be several rows, one for each cohort.

    Returns:
        The counts.

    Raises:
        ParameterError: If they have another shape, or a number is negative or not whole. Floats are refused even where
            they look whole: rounded down, all of them would lose reports in one direction.
    """
    try:
        counts = np.asarray(values)
    except ValueError:  # rows of different lengths
        counts = np.zeros(0)
    is_shaped = counts.shape[-1:] == (width,) and (counts.ndim == 1 or (has_rows and counts.ndim == 2))
    if not is_shaped or counts.dtype.kind not in "iu" or counts.astype(np.int64).min(initial=0) < 0:
        raise ParameterError(
            f"{name} of shape {counts.shape} and type {counts.dtype}",
            because=f"{name} are {width:,} whole numbers of at least 0{', in one row or a row a cohort' * has_rows}",
            instead=f"{name}=np.full({width}, 100), or an array of integers of this length",
        )
    return counts.astype(np.int64)


def _two_levels(oracle: TwoLevelOracle, clients: Counts, generator: np.random.Generator) -> Counts:
    """A report is uniform in the support with some probability, and uniform among all symbols otherwise."""
    share = float((oracle.ratio - 1) * oracle.support_size / oracle.total_weight)
    inside = generator.binomial(clients, share)
    counts = _uniform(int((clients - inside).sum()), oracle.alphabet, generator)
    for slot in np.flatnonzero(inside):
        counts[oracle.support_symbols(int(slot))] += _uniform(int(inside[slot]), oracle.support_size, generator)
    return counts


def _uniform(number: int, cells: int, generator: np.random.Generator) -> Counts:
    if number < cells:
        return np.bincount(generator.integers(cells, size=number), minlength=cells)
    return generator.multinomial(number, np.full(cells, 1 / cells))


def _bits(oracle: UnaryEncoding, clients: Counts, generator: np.random.Generator) -> Counts:
    own = generator.binomial(clients, float(oracle.one))
    others: Counts = generator.binomial(clients.sum() - clients, float(oracle.zero))
    return own + others


def _sets(oracle: SubsetSelection, clients: Counts, generator: np.random.Generator) -> Counts:
    counts = np.zeros(oracle.size, dtype=np.int64)
    for slot in np.flatnonzero(clients).tolist():
        counts += _sets_of(oracle, slot, int(clients[slot]), generator)
    return counts


def _sets_of(oracle: SubsetSelection, slot: int, clients: int, generator: np.random.Generator) -> Counts:
    """The slots with the smallest of random numbers are a random set; that of the client is moved in or out."""
    counts, rows = np.zeros(oracle.size, dtype=np.int64), max(1, _BLOCK // oracle.size)
    for start in range(0, clients, rows):
        numbers = generator.random((min(rows, clients - start), oracle.size))
        inside = generator.random(len(numbers)) < float(oracle.true_rate)
        numbers[:, slot] = np.where(inside, -1.0, 2.0)
        sets = np.argpartition(numbers, oracle.subset - 1, axis=1)[:, : oracle.subset]
        counts += np.bincount(sets.ravel(), minlength=oracle.size)
    return counts


def _hashing(oracle: LocalHashing, clients: Counts, generator: np.random.Generator) -> Counts:
    slots = np.repeat(np.arange(oracle.size, dtype=np.int64), clients)
    cohorts = generator.integers(oracle.cohorts, size=len(slots))
    a, b, c = np.array([oracle.coefficients(cohort) for cohort in range(oracle.cohorts)])[cohorts].T
    hashed = ((a * slots + b) % PRIME * slots + c) % PRIME % oracle.buckets
    shape = (oracle.cohorts, oracle.buckets)
    true = np.bincount(cohorts * oracle.buckets + hashed, minlength=oracle.cohorts * oracle.buckets).reshape(shape)
    inside = generator.binomial(true, float((oracle.ratio - 1) / (oracle.ratio + oracle.buckets - 1)))
    rest = (true - inside).sum(axis=1)
    return inside + generator.multinomial(rest, np.full(oracle.buckets, 1 / oracle.buckets))


def _steps(oracle: MeanOracle, clients: Counts, generator: np.random.Generator) -> Counts:
    counts = np.zeros(oracle.symbols, dtype=np.int64)
    for slot in np.flatnonzero(clients):
        row = np.array([float(mass) for mass in oracle.pmf(int(slot)).values()])
        counts += generator.multinomial(int(clients[slot]), row / row.sum())
    return counts
