"""Audits with canaries for every estimator; tests/learning/test_audits.py and benchmarks/learning_audits.py run them.

Canaries of predictors have a category of their own and a label that the others rarely have there. Canaries of scalers
are orthogonal rows: nine tenths of a Hadamard matrix, and the bound itself in a column of their own. So they can be
found in means and in extremes alike.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.linalg import hadamard
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.preprocessing import StandardScaler as PlainScaler

import discreet as dp
from discreet import auditing
from discreet.auditing.claims import Claim
from discreet.auditing.finding import Finding
from discreet.learning.linear.released_moments import read_moments

DELTA = 1e-8
"""So small that a fit without noise can be refuted at an alarm of 1e-5: no alarm below about 2 delta can be."""
SCALER_CANARIES = 256
OTHERS = 200
CLASSES = ["no", "yes"]
THREE = ["no", "yes", "unknown"]


@dataclass(frozen=True)
class Audit:
    """An estimator with parameters by which canaries are seen best, and how many of them there are.

    More than `most` canaries hide each other, such as several in each of the 64 leaves of a tree, or take too long.
    """

    kind: str
    canaries: int
    own: dict[str, Any] = field(default_factory=dict)
    most: int = 4_000
    labels: tuple[str, ...] | None = tuple(CLASSES)

    def __str__(self) -> str:
        return self.kind + (", three classes" if self.labels and len(self.labels) > 2 else "")

    @property
    def label(self) -> Any:
        return "yes" if self.labels else 1.0

    def others(self, rows_each: int = 1) -> pa.Table:
        """People who are not canaries: all have one category, and any label."""
        labels = np.resize(self.labels, OTHERS) if self.labels else np.linspace(-1, 1, OTHERS)
        ids = np.array([f"p{i}" for i in range(OTHERS)])
        slots = ["other"] * (OTHERS * rows_each)
        return pa.table({"id": ids.repeat(rows_each), "slot": slots, "label": labels.repeat(rows_each)})

    def declare(self, keys: list[str], **more: Any) -> Any:
        """The estimator, with the keys of the canaries among its categories."""
        facts: dict[str, Any] = {"features": {"slot": dp.learning.categories(["other", *keys])}}
        facts |= {"classes": list(self.labels)} if self.labels else {"target_bounds": (-1, 1)}
        return getattr(dp.learning, self.kind)(**facts, **self.own, size=OTHERS + len(keys) // 2, **more)


BOOSTED = {"leaves": 64, "rounds": 24, "learning_rate": 0.05}
AUDITS = (
    Audit("GradientBoostingClassifier", 250, BOOSTED, 250),
    Audit("GradientBoostingClassifier", 250, BOOSTED, 250, labels=tuple(THREE)),
    Audit("GradientBoostingRegressor", 250, BOOSTED, 250, labels=None),
    Audit("LogisticRegression", 1_000),
    Audit("LogisticRegression", 1_000, labels=tuple(THREE)),
    Audit("NaiveBayes", 1_000),
    Audit("NaiveBayes", 1_000, labels=tuple(THREE)),
    Audit("Ridge", 600, {"alpha": 10_000}, 1_200, labels=None),
)
NETWORK = Audit(
    "TorchClassifier", 400, {"allow_float_gradients": True, "hidden": (), "steps": 25, "sampling_rate": 0.5}
)

Fit = Callable[[pa.Table, list[str]], Any]


def account(epsilon: float) -> dp.learning.BudgetAccount:
    """An account of a privacy budget, from which a fit with all of epsilon is charged."""
    return dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=DELTA, reason="an audit"))


def stated(epsilon: float) -> Claim:
    """The claim of such a fit."""
    return auditing.claim(epsilon=epsilon, delta=DELTA)


def fit_privately(audit: Audit, epsilon: float) -> Fit:
    """The real path: noise of the house, charged to an account, and people by their id."""

    def fit(rows: pa.Table, keys: list[str]) -> Any:
        model = audit.declare(keys, budget=account(epsilon))
        return model.fit(rows.select(["slot"]), rows["label"], groups=rows["id"])

    return fit


def fit_without_noise(audit: Audit) -> Fit:
    """The same estimator on exact sums."""

    def fit(rows: pa.Table, keys: list[str]) -> Any:
        model = dp.learning.testing.noiseless(audit.declare(keys))
        return model.fit(rows.select(["slot"]), rows["label"], groups=rows["id"])

    return fit


def fit_rows(audit: Audit, epsilon: float) -> Fit:
    """A fit that clips each row instead of each person: the people of rows are left out."""

    def fit(rows: pa.Table, keys: list[str]) -> Any:
        return audit.declare(keys, budget=account(epsilon)).fit(rows.select(["slot"]), rows["label"])

    return fit


def fit_in_a_session(audit: Audit, epsilon: float, protect: Callable[..., Any] = dp.protect) -> Fit:
    """The same estimator as a query, released by a session."""

    def fit(rows: pa.Table, keys: list[str]) -> Any:
        words = {"privacy_unit": "id", "keys": {"slot": ["other", *keys], "label": list(audit.labels or ())}}
        words |= {"ledger": ":memory:"} if protect is dp.protect else {}
        budget = dp.Budget(epsilon=epsilon, delta=DELTA, reason="an audit")
        query = dp.table("people").fit(getattr(dp.learning, audit.kind)(**audit.own), target="label")
        population = OTHERS + len(keys) // 2
        with protect(rows, name="people", budget=budget, population=population, **words) as session:
            return session.release(query, epsilon=epsilon)

    return fit


def run(
    audit: Audit, fit: Fit, claim: Claim, *, alarm: float, rows_each: int = 1, canaries: int | None = None
) -> Finding:
    """The audit of one fit."""
    return auditing.audit_model(
        fit,
        audit.others(rows_each),
        privacy_unit="id",
        group="slot",
        target="label",
        label=audit.label,
        claim=claim,
        canaries=min(canaries or audit.canaries, audit.most),
        rows_each=rows_each,
        alarm=alarm,
        name=str(audit),
    )


# Scalers

ScalerFit = Callable[[np.ndarray], Any]


def canary_rows(count: int = SCALER_CANARIES) -> np.ndarray:
    """Orthogonal rows, each with a bound of 1 or -1 in a column of its own."""
    rows = 0.9 * hadamard(count)
    np.fill_diagonal(rows, np.sign(np.diag(rows)))
    return rows


def scale_privately(epsilon: float) -> ScalerFit:
    """Private means and deviations of columns with declared bounds."""
    declared = dp.learning.linear_bins(-1, 1, 101)
    return lambda rows: dp.learning.StandardScaler(features=declared, budget=account(epsilon)).fit(rows)


def scale_without_noise(rows: np.ndarray) -> Any:
    """Private means and deviations, less the noise."""
    return dp.learning.testing.noiseless(dp.learning.StandardScaler(features=dp.learning.linear_bins(-1, 1, 101))).fit(
        rows, None
    )


def scale_by_scikit_learn(rows: np.ndarray) -> Any:
    """Exact means and deviations."""
    return PlainScaler().fit(rows)


def scale_to_the_extremes(rows: np.ndarray) -> Any:
    """The least and the largest value of each column."""
    return MinMaxScaler().fit(rows)


def bounds_from_rows(epsilon: float) -> ScalerFit:
    """Private means and deviations, with bounds of the columns that were read from rows."""

    def scale(rows: np.ndarray) -> Any:
        bins = {
            f"x{j}": dp.learning.linear_bins(low, high, 3)
            for j, (low, high) in enumerate(zip(rows.min(0), rows.max(0), strict=True))
        }
        table = pa.table({f"x{j}": column for j, column in enumerate(rows.T)})
        return dp.learning.StandardScaler(features=bins, budget=account(epsilon)).fit(table)

    return scale


def before_a_model(scale: ScalerFit, epsilon: float) -> ScalerFit:
    """A scaler and a private model after it, which both are released; what is seen is the scaler."""

    def fit(rows: np.ndarray) -> Any:
        scaler = scale(rows)
        bins = dp.learning.linear_bins(-3, 3, 4)
        model = dp.learning.NaiveBayes(features=bins, classes=[0, 1], size=OTHERS, budget=account(epsilon))
        model.fit(scaler.transform(rows), np.arange(len(rows)) % 2)
        return make_pipeline(scaler, model)

    return fit


def run_scaler(scale: ScalerFit, claim: Claim, *, alarm: float, canaries: int = SCALER_CANARIES) -> Finding:
    """The audit of one fit of a scaler, or of a pipeline that begins with one."""
    rows = canary_rows(canaries)

    def fit(included: list[int]) -> Any:
        return scale(np.vstack([np.zeros((OTHERS, canaries)), rows[included]]))

    def score(fitted: Any, canary: int) -> float:
        scaler = fitted[0] if hasattr(fitted, "steps") else fitted
        extremes = _extremes(scaler, canary)
        if extremes is not None:
            return float(max(rows[canary, canary] * extremes))
        means = scaler.model_.means if hasattr(scaler, "model_") else scaler.mean_
        return float(rows[canary] @ means)

    return auditing.one_run(fit, range(canaries), score=score, claim=claim, alarm=alarm, name="StandardScaler")


def _extremes(scaler: Any, column: int) -> np.ndarray | None:
    """The bounds of a column that a scaler has from rows; none where bounds are declared."""
    if hasattr(scaler, "data_max_"):
        return np.array([scaler.data_min_[column], scaler.data_max_[column]])
    if scaler.__dict__.get("feature_names_in_") is None:
        return None
    inner = scaler.features_[f"x{column}"].inner_edges
    return np.array([2 * inner[0] - inner[1], 2 * inner[1] - inner[0]])


# Moments, of which regressions and scalers are made

MOMENT_COLUMNS = 48
MOMENT_CANARIES = 400


def release_moments(rows: np.ndarray, epsilon: float, protect: Callable[..., Any] = dp.protect) -> np.ndarray:
    """The products of columns, summed by the engine of a session, with noise."""
    names = [f"x{j}" for j in range(rows.shape[1])]
    table = pa.table(dict(zip(names, rows.T, strict=True))).append_column("id", pa.array(range(len(rows))))
    budget = dp.Budget(epsilon=epsilon, delta=DELTA, reason="an audit")
    query = dp.table("people").moments(*names, bounds=dict.fromkeys(names, (-1, 1)))
    words = {"privacy_unit": "id", "max_rows": 1, "population": 1_000}
    words |= {"ledger": ":memory:"} if protect is dp.protect else {}
    with protect(table, name="people", budget=budget, **words) as session:
        return read_moments(session.release(query, epsilon=epsilon)).matrix


def run_moments(
    epsilon: float,
    claim: Claim,
    *,
    alarm: float,
    canaries: int = MOMENT_CANARIES,
    protect: Callable[..., Any] = dp.protect,
) -> Finding:
    """The audit of one release of moments: canaries are random corners of the cube, found in all products at once."""
    corners = dp.testing.generator(19).choice([-1.0, 1.0], (canaries, MOMENT_COLUMNS))

    def fit(included: list[int]) -> np.ndarray:
        return release_moments(np.vstack([np.zeros((OTHERS, MOMENT_COLUMNS)), corners[included]]), epsilon, protect)

    def score(matrix: np.ndarray, canary: int) -> float:
        row = np.append(1.0, corners[canary])
        return float(row @ (np.triu(matrix) @ row))

    return auditing.one_run(fit, range(canaries), score=score, claim=claim, alarm=alarm, name="moments")
