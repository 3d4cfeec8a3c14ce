"""Shape plots of additive models: what each slot of a feature adds to the score, drawn from public tables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError, short_traceback
from discreet.learning.boosting.model import AdditiveModel
from discreet.learning.core.features import DeclaredFeature
from discreet.plots import BLUE, INK, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 6
MOST_BIN_LABELS = 12
MOST_CATEGORY_LABELS = 80
UPRIGHT_FROM = 12
LONGEST_LABEL = 24


@short_traceback
def shape_plot(model: Any, features: Sequence[str] | None = None, *, output: int = 0) -> "Figure":
    """Draw what features add to the score of an additive model.

    Everything in the plot comes from the public model: drawing costs no privacy.

    Args:
        model: A fitted estimator of gradient boosting, or its `AdditiveModel`.
        features: Names of features. Default: the six that matter most.
        output: Number of the class; 0 for two classes or a number. Default 0.

    Returns:
        The figure: bins as steps, categories as bars, each with its name (of more than 80, every second or less).

    Raises:
        ParameterError: If the model is not additive, or has no such feature or output.
        UnsupportedError: If matplotlib is not installed.

    Example:
        >>> import discreet as dp
        >>> account = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))
        >>> model = dp.learning.GradientBoostingRegressor(
        ...     features={"age": dp.learning.linear_bins(17, 90)}, target_bounds=(0, 100), size=100, budget=account
        ... )
        >>> import pyarrow as pa
        >>> fit = model.fit(pa.table({"age": [30, 40]}), [10, 20])
        >>> dp.learning.shape_plot(fit).get_label()
        'Contribution to the score of: age'
    """
    model = _additive_model(model)
    ranked = [name for name in model.importance() if name in model.features]
    names = ranked[:MOST_PANELS] if features is None else list(features)
    tables = [model.shape(name, output=output) for name in names]
    height = max((_height(model.features[name]) for name in names), default=1.9)
    with canvas(6.4, height * len(names), None, panels=len(names)) as (figure, panels):
        for name, table, axes in zip(names, tables, panels, strict=True):
            _panel(axes, table[name].to_pylist(), table["contribution"].to_pylist(), model.features[name].is_ordered)
            axes.set_title(name, loc="left")
            axes.set_ylabel("adds to the score")
        figure.set_label(f"Contribution to the score of: {', '.join(names)}")
    return figure


def _additive_model(model: Any) -> AdditiveModel:
    """The additive model of a fitted estimator, or the one that was given."""
    found = getattr(model, "model_", model)
    if not isinstance(found, AdditiveModel):
        is_boosting = "GradientBoosting" in type(model).__name__
        raise ParameterError(
            f"shapes of a {type(model).__name__}{' that is not fitted' if is_boosting else ''}",
            because="only fitted models of gradient boosting are sums of one function for each feature",
            instead="dp.learning.shape_plot(model) of a fitted dp.learning.GradientBoostingClassifier",
        )
    return found


def _panel(axes: "Axes", labels: list[str], values: list[float], is_ordered: bool) -> None:
    """The slots from left to right, that of missing values first."""
    places = np.arange(len(values))
    if is_ordered:
        axes.step(places[1:], values[1:], where="mid", color=BLUE)
        axes.plot(places[:1], values[:1], "o", color=INK)
    else:
        axes.bar(places, values, color=BLUE, edgecolor=INK, width=0.7)
    axes.axhline(0, color=INK, linewidth=0.6)
    shown = places[:: max(1, -(-len(places) // (MOST_BIN_LABELS if is_ordered else MOST_CATEGORY_LABELS)))]
    texts = [_short(labels[place]) for place in shown]
    if is_ordered or len(places) <= UPRIGHT_FROM:
        axes.set_xticks(shown, texts, rotation=30, ha="right")
    else:
        axes.set_xticks(shown, texts, rotation=90, fontsize=max(4.0, min(8.0, 300 / len(shown))))
        axes.set_xlim(-0.6, len(places) - 0.4)


def _height(feature: DeclaredFeature) -> float:
    """Inches of a panel: names that stand upright need room below the bars."""
    if feature.is_ordered or feature.slots <= UPRIGHT_FROM:
        return 1.9
    return 1.9 + 0.05 * max(len(_short(label)) for label in feature.labels())


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
