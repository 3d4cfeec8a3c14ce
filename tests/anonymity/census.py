"""The census table of the textbook: UCI Adult with generated names, birth dates and ZIP codes.

Names, birth dates and ZIP codes follow from the number of the row by fixed arithmetic. A multiplier spreads the numbers
like random ones, so that every machine has the same table. Birth dates agree with the ages.
"""

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

TODAY = dt.date(1994, 10, 1)  # the census from which Adult was extracted
DAYS_OF_A_YEAR = 365
ZIP_CODES = 30_000
FIRST = ("Anna", "Boris", "Chloe", "David", "Elena", "Felix", "Grace", "Hugo", "Ingrid", "Jamal", "Keiko", "Liam")
LAST = ("Adeyemi", "Becker", "Cohen", "Dubois", "Eriksen", "Foster", "Gupta", "Haddad", "Ibrahim", "Jensen", "Kowalski")


def adult(path: Path) -> pa.Table:
    """The table as it was published."""
    return csv.read_csv(path)


def census(path: Path) -> pa.Table:
    """The table with `name`, `birth_date` and `zip` in front."""
    table = adult(path)
    numbers = np.arange(table.num_rows, dtype=np.uint64)
    first, last = _spread(numbers, 1) % len(FIRST), _spread(numbers, 2) % len(LAST)
    names = [f"{FIRST[i]} {LAST[j]} {n}" for n, (i, j) in enumerate(zip(first, last, strict=True))]
    ages = table["Age"].to_numpy().astype(np.int64)
    days = ages * DAYS_OF_A_YEAR + ages // 4 + (_spread(numbers, 3) % DAYS_OF_A_YEAR).astype(np.int64)
    born = (TODAY - dt.date(1970, 1, 1)).days - days
    zips = [f"{code:05d}" for code in _spread(numbers, 4) % ZIP_CODES + 10_000]
    front = {
        "name": pa.array(names),
        "birth_date": pa.array(born.astype(np.int32), pa.int32()).cast(pa.date32()),
        "zip": pa.array(zips),
    }
    return pa.table(front | {name: table[name] for name in table.column_names})


def _spread(numbers: NDArray[np.uint64], stream: int) -> NDArray[np.uint64]:
    """SplitMix64: a number for each number and stream, evenly spread."""
    with np.errstate(over="ignore"):
        mixed = numbers + np.uint64(stream << 40) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))


def tens(table: pa.Table, *, rows: int | None = None, top: int | None = None) -> pa.Table:
    """Age and education of the first rows, floored to tens; ages above `top` are clipped to it first."""
    part = table.slice(0, rows)
    ages = part["Age"] if top is None else pc.min_element_wise(part["Age"], top)
    floored = {"Age": ages, "Education-Num": part["Education-Num"]}
    return pa.table({name: pc.multiply(pc.divide(cells, 10), 10) for name, cells in floored.items()})
