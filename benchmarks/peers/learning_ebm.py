"""DP-EBM of the package interpret-core on Adult, for scripts/bench learning.

Bounds are declared (numbers are scaled to 0 to 1 by them) and so are the types of columns. Categories and the number of
rows are taken from the data: the package has no parameter for them. Missing cells are a category of their own.
"""

from itertools import product
from typing import Any

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier
from learning_job import DELTA, Parts, Setting, run

SETTINGS = [{"max_rounds": rounds, "learning_rate": rate} for rounds, rate in product((100, 300), (0.05, 0.1, 0.2))]


def table(rows: Parts) -> Any:
    return np.hstack([rows["numbers"].astype(object), rows["codes"].astype(str).astype(object)])


def scores(rows: Parts, others: Parts, epsilon: float, setting: Setting) -> Any:
    count = rows["numbers"].shape[1]
    model = DPExplainableBoostingClassifier(
        feature_types=["continuous"] * count + ["nominal"] * rows["codes"].shape[1],
        privacy_bounds=dict.fromkeys(range(count), (0.0, 1.0)),
        epsilon=epsilon,
        delta=DELTA,
        n_jobs=1,
        **setting,
    )
    return model.fit(table(rows), rows["labels"]).decision_function(table(others))


if __name__ == "__main__":
    run(scores, packages=["interpret-core", "scikit-learn"], settings=SETTINGS, defaults={})
