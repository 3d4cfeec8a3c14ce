"""Invented tables of any size for docs, demos and measurements: the same seed gives the same table.

Nobody in them exists, nor do the states, ZIP areas and hospitals. The keys that a query may group by are public
constants here (`STATES`, `WARDS`, ...), since the generators draw from nothing else. The seeds belong to the invented
data alone: no noise is ever drawn from a seed.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import whole

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

TODAY = date(2025, 1, 1)
_DAY = (TODAY - date(1970, 1, 1)).days
_YEAR = 365.25

SEXES = ("female", "male", "unspecified")
STATES = ("Aldermark", "Brightmoor", "Cedarfell", "Dunwater", "Eastholm", "Fernshire", "Greyhaven", "Hollowell")
EDUCATIONS = ("no diploma", "high school", "some college", "bachelor", "master", "doctorate")
EDUCATION_YEARS = {
    "no diploma": 9,
    "high school": 12,
    "some college": 14,
    "bachelor": 16,
    "master": 18,
    "doctorate": 21,
}
OCCUPATIONS = (
    *("clerical", "construction", "driving", "farming", "management", "medicine", "sales", "service"),
    *("teaching", "technology", "not working", "retired"),
)
MARITAL_STATUSES = ("never married", "married", "divorced", "widowed")

WARDS = ("cardiology", "emergency", "maternity", "oncology", "paediatrics", "surgery")
MONTHS = tuple(f"2024-{month:02d}" for month in range(1, 13))
CATEGORIES = ("clothing", "food", "health", "housing", "leisure", "transport")
AREAS = ("rural", "urban")
CHANNELS = ("branch", "phone", "post", "web")

BLOCK_ROWS = 2**18
"""The rows of one batch of `skewed_batches`, at most: what bounds its memory."""

# fmt: off
_FEMALE_NAMES = (
    "Mary", "Anna", "Sofia", "Linda", "Maria", "Susan", "Karen", "Grace", "Emma", "Olivia", "Amina", "Chloe", "Diana",
    "Elena", "Fatima", "Hannah", "Ingrid", "Julia", "Keiko", "Laura", "Mei", "Nadia", "Priya", "Rosa", "Ruth", "Teresa",
    "Ursula", "Vera", "Wanda", "Yasmin",
)
_MALE_NAMES = (
    "James", "John", "David", "Carlos", "Daniel", "Thomas", "Peter", "Ahmed", "Paul", "Mark", "Andre", "Boris", "Chen",
    "Erik", "Felix", "George", "Hugo", "Ivan", "Jamal", "Kenji", "Liam", "Marco", "Noah", "Omar", "Pedro", "Ravi",
    "Samuel", "Tomas", "Victor", "Walter",
)
_LAST_NAMES = (
    "Smith", "Garcia", "Johnson", "Lee", "Brown", "Martin", "Nguyen", "Miller", "Lopez", "Wilson", "Adeyemi", "Becker",
    "Carter", "Dubois", "Eriksen", "Fischer", "Gupta", "Haddad", "Ibrahim", "Jensen", "Kowalski", "Larsen", "Moreau",
    "Novak", "Okafor", "Petrov", "Quinn", "Rossi", "Sato", "Tanaka", "Usman", "Vargas", "Weber", "Xu", "Yilmaz",
    "Zhang", "Abbott", "Bishop", "Cohen", "Dawson", "Ellis", "Foster", "Grant", "Hayes", "Ingram", "Jordan", "Keller",
    "Lambert", "Mason", "Norris",
)

_AGE_BANDS = (22, 30, 45, 66)
_EDUCATION_BY_AGE = (
    (20, 45, 33, 2, 0, 0),
    (8, 26, 28, 29, 8, 1),
    (9, 26, 24, 26, 12, 3),
    (11, 29, 24, 22, 11, 3),
    (18, 33, 21, 17, 8, 3),
)
_MARITAL_BY_AGE = ((95, 4, 1, 0), (68, 27, 5, 0), (28, 57, 14, 1), (12, 64, 20, 4), (6, 54, 14, 26))
_OCCUPATION_BY_EDUCATION = (
    (5, 20, 14, 9, 2, 0, 13, 27, 0, 0, 10, 0),
    (15, 14, 10, 4, 6, 2, 16, 20, 2, 3, 8, 0),
    (18, 8, 6, 2, 11, 7, 17, 13, 4, 8, 6, 0),
    (12, 3, 2, 1, 20, 9, 14, 5, 13, 17, 4, 0),
    (5, 1, 1, 1, 26, 13, 7, 2, 21, 20, 3, 0),
    (2, 0, 0, 0, 18, 34, 3, 1, 24, 16, 2, 0),
)
_OCCUPATION_PAY = (-0.05, 0.02, -0.08, -0.25, 0.30, 0.28, 0.05, -0.25, 0.0, 0.30, -0.9, -0.35)

_WARD_BY_AGE = ((4, 26, 0, 2, 60, 8), (10, 42, 14, 6, 0, 28), (22, 32, 0, 18, 0, 28), (36, 28, 0, 16, 0, 20))
_WARD_COST = (900, 260, 1100, 1600, 240, 1900)
_WARD_URGENT = (0.35, 0.85, 0.3, 0.1, 0.4, 0.25)

_CATEGORY_SHARE = (0.05, 0.17, 0.06, 0.30, 0.08, 0.12)
_CATEGORY_PRESENCE = (0.45, 0.99, 0.5, 0.97, 0.65, 0.8)
# fmt: on


@short_traceback
def people(rows: int, *, seed: int = 0) -> pa.Table:
    """Synthetic census of people, one row each. Birth date and ZIP code together are unique for almost everyone.

    Args:
        rows: Number of people.
        seed: Seed of the generator. Default 0.

    Returns:
        A table with person_id, names, birth_date, sex, zip_code, state, education, occupation, income and others.

    Raises:
        ParameterError: If the number or the seed is negative or not whole.

    Example:
        >>> import discreet as dp
        >>> dp.datasets.people(100).num_rows
        100
    """
    rows, rng = whole(rows, "rows", least=0), _generator(seed)
    ages = np.minimum(17 + 74 * rng.beta(1.25, 1.9, rows), 90)
    bands = np.digitize(ages, _AGE_BANDS)
    sexes = _pick(rng, (506, 489, 5), rows)
    education = _pick_by(rng, _EDUCATION_BY_AGE, bands)
    years = np.array([EDUCATION_YEARS[level] for level in EDUCATIONS])[education]
    occupation = _occupations(rng, ages, education)
    hours = _hours(rng, occupation)
    state, zip_code = _addresses(rng, rows)
    columns = {
        "person_id": np.arange(1, rows + 1),
        "first_name": _first_names(rng, sexes),
        "last_name": _words(_LAST_NAMES, _pick(rng, _falling(len(_LAST_NAMES)), rows)),
        "birth_date": _dates(_DAY - 1 - np.floor(ages * _YEAR)),
        "sex": _words(SEXES, sexes),
        "zip_code": zip_code,
        "state": state,
        "education": _words(EDUCATIONS, education),
        "education_years": years,
        "occupation": _words(OCCUPATIONS, occupation),
        "marital_status": _words(MARITAL_STATUSES, _pick_by(rng, _MARITAL_BY_AGE, bands)),
        "hours_per_week": hours,
        "income": _incomes(rng, ages, years, occupation, hours),
    }
    return pa.table(columns)


@short_traceback
def visits(people_count: int, *, seed: int = 0) -> pa.Table:
    """Synthetic hospital visits of 2024. Most patients come once or twice, a few very often; some costs are missing.

    Args:
        people_count: Number of patients.
        seed: Seed of the generator. Default 0.

    Returns:
        A table with visit_id, patient_id, ward, age, cost, day and urgent.

    Raises:
        ParameterError: If the number or the seed is negative or not whole.

    Example:
        >>> import discreet as dp
        >>> dp.datasets.visits(100).column_names
        ['visit_id', 'patient_id', 'ward', 'age', 'cost', 'day', 'urgent']
    """
    count, rng = whole(people_count, "people_count", least=0), _generator(seed)
    births = _DAY - np.floor(_YEAR * 95 * rng.beta(1.3, 1.1, count)).astype(np.int64) - 366
    patients = np.repeat(np.arange(count), np.minimum(rng.lognormal(0.6, 0.9, count).astype(np.int64) + 1, 60))
    days = np.sort(_DAY - 366 + rng.integers(0, 366, len(patients)))
    patients = rng.permutation(patients)
    ages = ((days - births[patients]) / _YEAR).astype(np.int64)
    wards = _pick_by(rng, _WARD_BY_AGE, np.digitize(ages, (16, 46, 66)))
    costs = np.round(np.take(_WARD_COST, wards) * rng.lognormal(0, 0.8, len(wards)), 2)
    columns = {
        "visit_id": np.arange(1, len(patients) + 1),
        "patient_id": patients + 1,
        "ward": _words(WARDS, wards),
        "age": ages,
        "cost": pa.array(costs, mask=rng.random(len(costs)) < 0.01),
        "day": _dates(days),
        "urgent": rng.random(len(wards)) < np.take(_WARD_URGENT, wards),
    }
    return pa.table(columns)


@short_traceback
def expenditure(households: int, *, seed: int = 0) -> pa.Table:
    """Synthetic household expenditure: one row per household, month and category, for one to four months each.

    Args:
        households: Number of households.
        seed: Seed of the generator. Default 0.

    Returns:
        A table with household_id, month, income, spending, category, area and members.

    Raises:
        ParameterError: If the number or the seed is negative or not whole.

    Example:
        >>> import discreet as dp
        >>> "spending" in dp.datasets.expenditure(10).column_names
        True
    """
    count, rng = whole(households, "households", least=0), _generator(seed)
    members = _pick(rng, (29, 34, 15, 13, 6, 3), count) + 1
    urban = _pick(rng, (28, 72), count)
    usual = rng.lognormal(8.05, 0.5, count) * members**0.45 * np.where(urban == 1, 1.12, 0.95)
    diary, month = _diaries(rng, count)
    income = np.round(usual[diary] * rng.lognormal(0, 0.08, len(diary)), 2)
    line, category = np.nonzero(rng.random((len(diary), len(CATEGORIES))) < _CATEGORY_PRESENCE)
    household = diary[line]
    need = income[line] ** 0.8 * members[household] ** 0.15 * 4.2
    spending = np.round(np.take(_CATEGORY_SHARE, category) * need * rng.lognormal(0, 0.45, len(line)), 2)
    columns = {
        "household_id": household + 1,
        "month": _words(MONTHS, month[line]),
        "income": income[line],
        "spending": spending,
        "category": _words(CATEGORIES, category),
        "area": _words(AREAS, urban[household]),
        "members": members[household],
    }
    return pa.table(columns)


@short_traceback
def skewed_table(rows: int, units: int, keys: int, *, seed: int = 0) -> pa.Table:
    """Table for benchmarks: exact numbers of rows, units and possible keys, with skewed rows per unit and key.

    Args:
        rows: Number of rows.
        units: Number of privacy units, at most `rows`.
        keys: Number of possible keys.
        seed: Seed of the generator. Default 0.

    Returns:
        A table.

    Raises:
        ParameterError: If there are fewer rows than units, or a number is not whole.

    Example:
        >>> import discreet as dp
        >>> dp.datasets.skewed_table(1_000, 100, 5).num_rows
        1000
    """
    return pa.Table.from_batches(list(skewed_batches(rows, units, keys, seed=seed)))


@short_traceback
def skewed_batches(rows: int, units: int, keys: int, *, seed: int = 0) -> Iterator[pa.RecordBatch]:
    """Rows of `skewed_table` in batches, so that a table of any size needs little memory.

    Args:
        rows: Number of rows.
        units: Number of privacy units, at most `rows`.
        keys: Number of possible keys.
        seed: Seed of the generator. Default 0.

    Returns:
        An iterator over record batches.

    Raises:
        ParameterError: If there are fewer rows than units, or a number is not whole.

    Example:
        >>> import discreet as dp
        >>> sum(batch.num_rows for batch in dp.datasets.skewed_batches(1_000, 100, 5))
        1000
    """
    rows, units, keys = whole(rows, "rows"), whole(units, "units"), whole(keys, "keys")
    if rows < units:
        raise ParameterError(
            f"rows={rows} for units={units}",
            because="each unit has at least one row",
            instead=f"rows={units}, or units={rows}",
        )
    return _blocks(rows, units, keys, whole(seed, "seed", least=0))


@short_traceback
def skewed_keys(keys: int) -> list[str]:
    """Possible keys of `skewed_table`, the most frequent first.

    Args:
        keys: Number of keys.

    Returns:
        The keys.

    Raises:
        ParameterError: If the number is not whole and positive.

    Example:
        >>> import discreet as dp
        >>> dp.datasets.skewed_keys(2)
        ['key_0000', 'key_0001']
    """
    return [f"key_{number:04d}" for number in range(whole(keys, "keys"))]


@short_traceback
def write_parquet(batches: Iterable[pa.RecordBatch], path: str | Path) -> Path:
    """Write record batches to a Parquet file, one by one.

    Args:
        batches: The batches, at least one.
        path: Path of the file.

    Returns:
        The path.

    Raises:
        ParameterError: If there is no batch.

    Example:
        >>> import discreet as dp
        >>> dp.datasets.write_parquet(dp.datasets.skewed_batches(1_000, 100, 5), "skewed.parquet").name
        'skewed.parquet'
    """
    remaining = iter(batches)
    first = next(remaining, None)
    if first is None:
        raise ParameterError(
            "a Parquet file without batches",
            because="the first batch says which columns the file has",
            instead="skewed_batches(rows, units, keys), or table.to_batches() of a table with rows",
        )
    with pq.ParquetWriter(path, first.schema, compression="zstd", compression_level=1) as writer:
        writer.write_batch(first)
        for batch in remaining:
            writer.write_batch(batch)
    return Path(path)


def _blocks(rows: int, units: int, keys: int, seed: int) -> Iterator[pa.RecordBatch]:
    """Block b holds positions b, b + count, b + 2 count, ... of the table sorted by unit, shuffled.

    So each unit's rows lie scattered over the whole table, and no block needs to know another.
    """
    ends = _unit_ends(rows, units, seed)
    count = math.ceil(rows / BLOCK_ROWS)
    names = pa.array(skewed_keys(keys))
    for block in range(count):
        rng = _generator(seed, 1 + block)
        owners = np.searchsorted(ends, np.arange(block, rows, count), side="right")
        yield _block(rng, rng.permutation(owners), names)


def _block(rng: np.random.Generator, owners: Integers, names: pa.Array) -> pa.RecordBatch:
    size, keys = len(owners), len(names)
    # the inverse of the logarithm makes key k about as frequent as 1/(k + 1), without a table of probabilities
    ranks = np.minimum(np.exp(rng.random(size) * math.log(keys + 1)).astype(np.int64) - 1, keys - 1)
    columns = {
        "unit": owners,
        "key": names.take(pa.array(ranks)),
        "value": np.round(rng.lognormal(3, 1, size), 2),
        "day": _dates(_DAY - 366 + rng.integers(0, 366, size)),
        "channel": _words(CHANNELS, rng.integers(0, len(CHANNELS), size)),
    }
    return pa.RecordBatch.from_pydict(columns)


def _unit_ends(rows: int, units: int, seed: int) -> Integers:
    """Where each unit's rows end, in a table sorted by unit: one row each, the others shared out by skewed weights."""
    weights = np.minimum(_generator(seed, 0).lognormal(0, 1.2, units), 60)
    shares = np.cumsum(weights)
    spare = np.floor(shares / shares[-1] * (rows - units)).astype(np.int64)
    ends: Integers = spare + np.arange(1, units + 1)
    return ends


def _generator(seed: int, *branch: int) -> np.random.Generator:
    return np.random.default_rng([whole(seed, "seed", least=0), *branch])


def _pick(rng: np.random.Generator, weights: ArrayLike, size: int) -> Integers:
    """Indices drawn in proportion to the weights."""
    return _pick_by(rng, np.atleast_2d(np.asarray(weights)), np.zeros(size, dtype=np.int64))


def _pick_by(rng: np.random.Generator, weights: ArrayLike, group: Integers) -> Integers:
    """Indices drawn in proportion to the row of weights that each one's group names."""
    table = np.cumsum(np.asarray(weights, dtype=np.float64), axis=1)
    groups, size = table.shape
    steps = (table / table[:, -1:] + np.arange(groups)[:, None]).ravel()
    found = np.searchsorted(steps, group + rng.random(len(group)), side="right") - group * size
    picked: Integers = np.minimum(found, size - 1)
    return picked


def _falling(size: int) -> Floats:
    """Weights that fall slowly, as the frequencies of names and of the sizes of places do."""
    weights: Floats = 1 / np.sqrt(np.arange(1, size + 1))
    return weights


def _words(words: Sequence[str], indices: Integers) -> pa.Array:
    return pa.array(words, type=pa.string()).take(pa.array(indices))


def _dates(days: NDArray[np.generic]) -> pa.Array:
    return pa.array(days.astype(np.int32), type=pa.int32()).cast(pa.date32())


def _first_names(rng: np.random.Generator, sexes: Integers) -> pa.Array:
    kinds = np.where(sexes == SEXES.index("unspecified"), rng.integers(0, 2, len(sexes)), sexes)
    picks = _pick(rng, _falling(len(_FEMALE_NAMES)), len(sexes)) + kinds * len(_FEMALE_NAMES)
    return _words(_FEMALE_NAMES + _MALE_NAMES, picks)


def _addresses(rng: np.random.Generator, rows: int) -> tuple[pa.Array, pa.Array]:
    """States of different size, each with ZIP areas of its own; the first state's codes begin with a zero."""
    state = _pick(rng, _falling(len(STATES)), rows)
    area = _pick(rng, _falling(160), rows)
    prefixes = 7 + 11 * np.arange(len(STATES))
    codes = [f"{prefix:02d}{(area_number * 37) % 1000:03d}" for prefix in prefixes for area_number in range(1, 161)]
    return _words(STATES, state), _words(codes, state * 160 + area)


def _occupations(rng: np.random.Generator, ages: Floats, education: Integers) -> Integers:
    working = _pick_by(rng, _OCCUPATION_BY_EDUCATION, education)
    leaving = 1 / (1 + np.exp(65 - ages))
    occupation: Integers = np.where(rng.random(len(ages)) < leaving * 0.93, OCCUPATIONS.index("retired"), working)
    return occupation


def _hours(rng: np.random.Generator, occupation: Integers) -> Integers:
    full = np.clip(np.round(rng.normal(41, 7, len(occupation))), 5, 90)
    part = np.clip(np.round(rng.normal(22, 6, len(occupation))), 5, 34)
    hours = np.where(rng.random(len(occupation)) < 0.17, part, full)
    idle = occupation >= OCCUPATIONS.index("not working")
    return np.where(idle, 0, hours).astype(np.int64)


def _incomes(
    rng: np.random.Generator, ages: Floats, years: Integers, occupation: Integers, hours: Integers
) -> Integers:
    experience = np.clip(ages - years - 6, 0, 45)
    worked = np.log(np.where(hours > 0, hours, 40) / 40)
    pay = 10.2 + 0.095 * (years - 12) + 0.035 * experience - 0.0005 * experience**2 + 0.9 * worked
    logs = pay + np.take(_OCCUPATION_PAY, occupation) + rng.normal(0, 0.42, len(ages))
    incomes: Integers = np.round(np.exp(logs)).astype(np.int64)
    return incomes


def _diaries(rng: np.random.Generator, households: int) -> tuple[Integers, Integers]:
    """The household and month of each diary: consecutive months from a random first one."""
    lengths = 1 + _pick(rng, (10, 20, 45, 25), households)
    first = rng.integers(0, len(MONTHS) - 3, households)
    household = np.repeat(np.arange(households), lengths)
    step = np.arange(len(household)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return household, first[household] + step
