"""Audits of models in one run: canaries with a category of their own are guessed from the predictions of one fit.

A canary is a person with a key that nobody else has, in a column that the model reads, and with a label that the
caller chooses, best one that is rare there. A model that learned from it predicts this label more strongly for this
key. The statistics are those of `auditing.one_run`, with its assumptions.

The model is any object with the interface of scikit-learn. Only its predictions are used: what else it reveals, such as
the bounds of a scaler, is audited by `one_run` with a score of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.auditing.canaries import TableCanary, one_run, session_canaries
from discreet.auditing.claims import Claim
from discreet.auditing.finding import Finding, Verdict
from discreet.engines.sources.arrow_tables import as_arrow
from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import whole

Floats = NDArray[np.float64]

_ALIKE = "the model predicts the same for all canaries, so guesses say nothing: declare keys as categories in fit"


@short_traceback
def audit_model(
    fit: Callable[[pa.Table, list[Any]], Any],
    table: Any,
    *,
    privacy_unit: str,
    group: str,
    target: str,
    label: Any,
    claim: Claim,
    features: Sequence[str] | None = None,
    values: Mapping[str, Any] | None = None,
    canaries: int = 500,
    rows_each: int = 1,
    alarm: float = 1e-3,
    generator: np.random.Generator | None = None,
    name: str | None = None,
) -> Finding:
    """Audit of the training of a model in one run: guesses which canaries it was fitted to.

    Args:
        fit: Function of an Arrow table and the keys of the canaries that returns a fitted model, charged in full. The
            keys are declared as categories of `group`. It is called once.
        table: Public or made-up rows (Arrow, pandas or Polars), to which the canaries are added.
        privacy_unit: Column of the person.
        group: Column in which each canary has a key of its own.
        target: Column that the model predicts.
        label: Label of the canaries; for numbers the highest or lowest target.
        claim: Claim about one person: `auditing.claim(epsilon=1, delta=1e-6)`.
        features: Columns that the model predicts from. Default: all but the person and the target.
        values: Values of other columns of the canaries. Default: missing.
        canaries: Number of canaries. Default 500.
        rows_each: Number of equal rows of each canary. Default 1.
        alarm: Probability that a true claim is called broken, and that `found` is too high. Default 0.001.
        generator: Generator of the coins, for tests. Default: the operating system.
        name: Name of the subject in the finding. Default: that of the function.

    Returns:
        The finding; it is void where the fit raised an error, or the model predicts the same for all canaries.

    Raises:
        ParameterError: If an argument is outside its range, or the model does not predict.
        SourceError: If the rows are of another kind.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(1_000).select(["person_id", "occupation", "income"])
        >>> class Means:
        ...     def __init__(self, rows):
        ...         self.means = {row["occupation"]: row["income"] for row in rows.to_pylist()}
        ...
        ...     def predict(self, rows):
        ...         return [self.means.get(name, 0) for name in rows["occupation"].to_pylist()]
        >>> finding = dp.auditing.audit_model(
        ...     lambda rows, keys: Means(rows),
        ...     people,
        ...     privacy_unit="person_id",
        ...     group="occupation",
        ...     target="income",
        ...     label=500_000,
        ...     claim=dp.auditing.claim(epsilon=1),
        ... )
        >>> finding.is_broken
        True
    """
    public = as_arrow(table)
    planted = session_canaries(
        public,
        whole(canaries, "canaries"),
        privacy_unit=privacy_unit,
        group=group,
        values={**(values or {}), target: label},
        rows_each=rows_each,
    )
    others = [column for column in public.column_names if column not in (privacy_unit, target)]
    rows = planted.rows.select(others if features is None else list(features))
    found: list[float] = []

    def score(model: Any, canary: TableCanary) -> float:
        if not found:
            found.extend(_label_scores(model, rows, label, public[target]).tolist())
        return found[canary.place]

    finding = one_run(
        lambda included: fit(planted.table_with(included), planted.keys),
        planted.canaries,
        score=score,
        claim=claim,
        alarm=alarm,
        generator=generator,
        name=name or getattr(fit, "__name__", type(fit).__name__),
    )
    is_alike = len(found) > 1 and len(set(found)) == 1
    return replace(finding, verdict=Verdict.VOID, evidence=_ALIKE, found=None) if is_alike else finding


def _label_scores(model: Any, rows: pa.Table, label: Any, targets: pa.ChunkedArray) -> Floats:
    """How strongly a model predicts the label for each row."""
    if not hasattr(model, "classes_"):
        if not hasattr(model, "predict"):
            raise _cannot_predict(model)
        is_high = label >= (pc.mean(targets).as_py() or 0)
        return np.asarray(model.predict(rows), dtype=np.float64) * (1 if is_high else -1)
    (place,) = np.flatnonzero([known == label for known in model.classes_]).tolist()[:1] or (None,)
    method = next((each for each in ("decision_function", "predict_proba") if hasattr(model, each)), None)
    if place is None or method is None:
        raise _cannot_predict(model)
    scores = np.asarray(getattr(model, method)(rows), dtype=np.float64)
    if scores.ndim == 1:
        return scores if place == 1 else -scores
    found: Floats = scores[:, place]
    return found


def _cannot_predict(model: Any) -> ParameterError:
    return ParameterError(
        f"an audit of a {type(model).__name__}",
        because="canaries are guessed from predictions of their label",
        instead="auditing.one_run(pipeline, canaries, score=score, claim=claim), with a score of your own",
    )
