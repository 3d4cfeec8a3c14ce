"""Tables for attacks: people of one population, whose columns depend on each other a little."""

import numpy as np
import pyarrow as pa

import discreet as dp


def people(rows: int, case: int) -> pa.Table:
    """Independent people."""
    draw = dp.testing.generator(case)
    age = draw.integers(18, 90, rows)
    return pa.table(
        {
            "age": age,
            "sex": np.array(["f", "m"])[draw.integers(0, 2, rows)],
            "town": np.array([f"t{number}" for number in range(40)])[draw.integers(0, 40, rows)],
            "income": (age * 500 + draw.integers(0, 60_000, rows)).astype(float),
            "job": np.array([f"j{number}" for number in range(12)])[(age // 10 + draw.integers(0, 4, rows)) % 12],
        }
    )
