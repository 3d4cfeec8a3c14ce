"""Rows that tests of linear learners share."""

from pathlib import Path
from typing import Any

import numpy as np

from discreet.learning import DeclaredFeature, categories, linear_bins, log_bins
from discreet.learning.core.rows import EncodedRows

DATA = Path(__file__).parents[4] / "shared" / "data"
FEATURES = {"age": linear_bins(0, 100, 8), "town": categories(["a", "b", "c"]), "income": log_bins(0, 100_000, 6)}


def generated_rows(count: int, classes: int = 2, salt: int = 0) -> EncodedRows:
    """Rows whose class follows from age and town, with some noise."""
    rng = np.random.default_rng(salt)
    codes = np.stack([rng.integers(0, each.slots, count) for each in FEATURES.values()], axis=1).astype(np.uint16)
    level = codes[:, 0] / 8 + (codes[:, 1] == 2) + rng.normal(0, 0.3, count)
    return EncodedRows(codes, np.clip(level * classes / 2, 0, classes - 1).astype(np.int64))


def adult_features() -> dict[str, DeclaredFeature]:
    """The features of the Adult table; their bounds and categories are those of its public documentation."""
    import pandas as pd  # noqa: PLC0415 - where the data is

    table = pd.read_csv(DATA / "adult.csv")
    features: dict[str, DeclaredFeature] = {
        "Age": linear_bins(17, 90),
        "fnlwgt": linear_bins(0, 1_500_000),
        "Education-Num": linear_bins(1, 17, 16),
        "Capital Gain": log_bins(0, 100_000),
        "Capital Loss": log_bins(0, 5_000),
        "Hours per week": linear_bins(1, 99),
    }
    for name in table.columns[:-1]:
        if name not in features:
            features[name] = categories(sorted(table[name].dropna().unique()))
    return {name: features[name] for name in table.columns[:-1]}


def adult_rows(features: dict[str, DeclaredFeature], name: str) -> EncodedRows:
    """The rows of a file of the Adult table."""
    import pandas as pd  # noqa: PLC0415 - where the data is

    table = pd.read_csv(DATA / name)
    codes = np.stack([feature.encode(table[column].to_numpy()) for column, feature in features.items()], axis=1)
    target: Any = table["Target"].str.contains(">50K").to_numpy()
    return EncodedRows(codes, target.astype(np.int64))
