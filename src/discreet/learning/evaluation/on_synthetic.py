"""Models scored on the rows of a released synthetic table: post-processing, so it costs nothing.

The figures are those of the model on drawn rows. They estimate how well the model predicts as far as the table keeps
the relation of features and target, and they are not figures about private rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.errors import NameNotFoundError, ParameterError, public_class, short_traceback, suggestion
from discreet.release.synthetic import SyntheticTable
from discreet.release.values import rendering

LABEL = "on a synthetic table: an estimate of a model, not a figure about the private rows"
_TWO = 2
_FREE = "free: nothing was read or charged beyond the release of the synthetic table"

Floats = NDArray[np.float64]


@public_class
@dataclass(frozen=True)
class SyntheticEvaluation:
    """Figures of a model on the rows of a synthetic table.

    Attributes:
        figures: Figures by name: accuracy, auc and base_rate, or root_mean_squared_error and spread.
        rows: Number of drawn rows that were scored: those with a target.
        dataset: Dataset of the synthetic table.
        target: Column that is predicted.
        private: False for a table of `dp.testing`, which was made without noise.

    Example:
        >>> from discreet.learning.evaluation.on_synthetic import SyntheticEvaluation
        >>> print(SyntheticEvaluation({"accuracy": 0.81}, 1_000, "people", "pay").figures["accuracy"])
        0.81
    """

    figures: dict[str, float]
    rows: int
    dataset: str
    target: str
    private: bool = True

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data.

        Returns:
            A dictionary of figures and rows, with the label.
        """
        words = {"dataset": self.dataset, "target": self.target, "rows": self.rows}
        return {"label": LABEL, "private": self.private, **words, "figures": dict(self.figures)}

    def __str__(self) -> str:
        head = f"{self.target!r} predicted for {self.rows:,} rows of a synthetic table of {self.dataset!r}"
        figures = [f"  {name}: {value:.4g}" for name, value in self.figures.items()]
        exact = "a score on a synthetic table made without noise"
        stamp = rendering.stamp(exact, private=self.private, dataset=self.dataset)
        return "\n".join([*stamp, head, *figures, LABEL, _FREE])


@short_traceback
def evaluate_on_synthetic(
    model: Any, table: SyntheticTable, *, target: str, rows: int | None = None
) -> SyntheticEvaluation:
    """Score a fitted model on the rows of a released synthetic table, at no cost.

    A model that was trained on the same table is scored on what it has seen, which flatters it.

    Args:
        model: Fitted classifier or regressor with the interface of scikit-learn.
        table: Synthetic table that was released.
        target: Column of the table that the model predicts.
        rows: Number of rows to draw. Default: the estimated number of rows of the data.

    Returns:
        The figures, labelled as an estimate.

    Raises:
        NameNotFoundError: If the table lacks the target or a feature of the model.
        ParameterError: If the table is of another kind, the model does not predict values of the target, or no drawn
            row has a target.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(2_000).select(["person_id", "sex", "income"])
        >>> facts = {"privacy_unit": "person_id", "max_rows": 1, "budget": dp.Budget(epsilon=1, delta=1e-9)}
        >>> facts |= {"keys": {"sex": ["female", "male", "unspecified"]}, "bounds": {"income": (0, 150_000)}}
        >>> query = dp.table("people").synthesize(dp.synthesis.TreeSynthesizer())
        >>> with dp.protect(people, name="people", ledger=":memory:", **facts) as session:
        ...     table = session.release(query, epsilon=1)
        >>> class Mean:
        ...     def predict(self, rows):
        ...         return [50_000] * len(rows)
        >>> found = dp.learning.evaluate_on_synthetic(Mean(), table, target="income")
        >>> sorted(found.figures)
        ['root_mean_squared_error', 'spread']
    """
    given: object = table
    if not isinstance(given, SyntheticTable) or not hasattr(model, "predict"):
        raise ParameterError(
            f"an evaluation of a {type(model).__name__} on a {type(table).__name__}",
            because="a fitted model is scored on a released synthetic table",
            instead="dp.learning.evaluate_on_synthetic(model, dp.SyntheticTable.load('people.json'), target='pay')",
        )
    names = list(getattr(model, "feature_names_in_", [name for name in table.columns if name != target]))
    for name in (target, *names):
        if name not in table.columns:
            raise NameNotFoundError(
                f"column {name!r}",
                because="the synthetic table does not have it",
                instead=suggestion(str(name), table.columns),
            )
    drawn = table.to_arrow(rows)
    known = drawn.filter(pc.is_valid(drawn[target]))
    if not known.num_rows:
        raise ParameterError(
            f"an evaluation on {drawn.num_rows:,} rows without a value of {target!r}",
            because="a row is scored by its target",
            instead="rows=10_000",
        )
    figures = _figures(model, known.select(names), known[target].to_pylist())
    return SyntheticEvaluation(figures, known.num_rows, table.dataset, target, table.private)


def _figures(model: Any, features: pa.Table, target: list[Any]) -> dict[str, float]:
    found = model.predict(features)
    is_number = all(isinstance(each, int | float) and not isinstance(each, bool) for each in target)
    if not hasattr(model, "classes_") and is_number:
        truth = np.asarray(target, dtype=np.float64)
        errors = _numbers(model, found) - truth
        return {"root_mean_squared_error": float(np.sqrt(np.mean(errors**2))), "spread": float(np.std(truth))}
    if not hasattr(model, "classes_"):
        _require_values(model, found, target)
    classes = list(getattr(model, "classes_", dict.fromkeys(target)))
    figures = {"accuracy": float(np.mean([one == other for one, other in zip(found, target, strict=True)]))}
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        chances = np.asarray(model.predict_proba(features), dtype=np.float64)
        places = range(1, 2) if len(classes) == _TWO else range(len(classes))
        areas = [_auc(chances[:, place], np.array([each == classes[place] for each in target])) for place in places]
        if known := [area for area in areas if area is not None]:
            figures["auc"] = float(np.mean(known))
    figures["base_rate"] = max(target.count(each) for each in classes) / len(target)
    return figures


def _numbers(model: Any, found: Any) -> Floats:
    """Predictions of a target that is a number."""
    try:
        return np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"an evaluation of a {type(model).__name__} on a target of numbers",
            because="its predictions are not numbers, and it has no classes_",
            instead="a regressor, or a classifier that was fitted, which has classes_",
        ) from None


def _require_values(model: Any, found: Any, target: Sequence[Any]) -> None:
    """Refuse predictions that are of another type than a target of values, such as numbers for texts or dates."""
    kind = type(target[0])
    predicted = np.asarray(found, dtype=object).tolist()
    if not all(isinstance(each, kind) or (kind is bool and isinstance(each, np.bool_)) for each in predicted):
        raise ParameterError(
            f"an evaluation of a {type(model).__name__} on a target of type {kind.__name__}",
            because="its predictions are of another type, and it has no classes_",
            instead="a classifier that was fitted on the values of the target, which has classes_",
        )


def _auc(scores: Floats, is_class: NDArray[np.bool_]) -> float | None:
    """The share of pairs of both classes in the right order; equal scores count one half."""
    ones, others = int(is_class.sum()), int((~is_class).sum())
    if not ones or not others:
        return None
    _, places, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[places]
    return float((ranks[is_class].sum() - ones * (ones + 1) / 2) / (ones * others))
