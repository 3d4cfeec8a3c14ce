"""Logistic regression of diffprivlib on Adult, for scripts/bench learning; pure epsilon, delta 0.

Its 0.6.6 does not import with scikit-learn 1.9: this script needs an older one, such as 1.5.2. The form `slots` is that
of discreet, `numbers` has scaled numbers and 0 or 1 for each category. The norm of a row is at most the root of the
number of columns. Settings with `unit` divide by it, so that the norm is 1. The defaults state the norm and have the
form `numbers`.
"""

from itertools import product
from typing import Any

import numpy as np
from diffprivlib.models import LogisticRegression
from learning_job import Parts, Setting, run

SETTINGS = [
    {"form": form, "C": strength, "unit": True} for form, strength in product(("slots", "numbers"), (1, 10, 100))
]
SETTINGS += [{"form": form, "C": strength, "unit": False} for form, strength in product(("slots", "numbers"), (0.1, 1))]
DEFAULTS = {"form": "numbers", "C": 1.0, "unit": False}


def vectors(rows: Parts, setting: Setting, norm: float) -> Any:
    found = rows["slots"] if setting["form"] == "slots" else np.hstack([rows["numbers"], rows["categories"]])
    return found.astype(float) / (norm if setting["unit"] else 1.0)


def scores(rows: Parts, others: Parts, epsilon: float, setting: Setting) -> Any:
    columns = rows["numbers"].shape[1] + rows["codes"].shape[1]
    norm = float(np.sqrt(columns))
    model = LogisticRegression(
        epsilon=epsilon, data_norm=1.0 if setting["unit"] else norm, C=setting["C"], max_iter=1_000
    )
    model.fit(vectors(rows, setting, norm), rows["labels"])
    return model.decision_function(vectors(others, setting, norm))


if __name__ == "__main__":
    run(scores, packages=["diffprivlib", "scikit-learn"], settings=SETTINGS, defaults=DEFAULTS)
