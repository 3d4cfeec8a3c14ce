"""What a training takes from the catalog: features, classes and bounds that the estimator does not declare itself."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.catalog.catalog import Column, ColumnType
from discreet.catalog.columns import NUMERIC, FeatureBins
from discreet.errors import ParameterError, UnboundedError
from discreet.exact.numbers import shown
from discreet.learning.core.cells import label_text
from discreet.learning.core.features import (
    DEFAULT_BINS,
    DeclaredFeature,
    categories,
    edges,
    feature_from_json,
    linear_bins,
    log_bins,
)
from discreet.learning.core.saved_state import plain_value
from discreet.plan.models import ModelFacts

_HAS_BINS = (*NUMERIC, ColumnType.BOOLEAN)
_HAS_CATEGORIES = (*NUMERIC, ColumnType.BOOLEAN, ColumnType.TEXT)
_LABELS = {ColumnType.INTEGER: "[0, 1]", ColumnType.BOOLEAN: "[False, True]"}


def catalog_features(
    declared: Mapping[str, DeclaredFeature] | DeclaredFeature | None, facts: ModelFacts
) -> dict[str, DeclaredFeature]:
    """The features of a training, by column.

    Columns: those the query names, else those the estimator declares, else all. Each is declared by the estimator, else
    by the catalog.

    Raises:
        ParameterError: If a feature is not a column of the table, or cells of its type are not read so.
        UnboundedError: If columns have neither bounds nor keys; all of them are named.
    """
    if isinstance(declared, DeclaredFeature):
        one = _own_feature(declared)
        return {name: _readable(name, one, facts) for name in facts.columns}
    given = {plain_value(name): _own_feature(each) for name, each in dict(declared or {}).items()}
    names = list(given) if given and not facts.has_feature_list else list(facts.columns)
    for name in names:
        if name not in facts.columns:
            raise ParameterError(
                f"the feature {name!r} of the model",
                because="the table has no such column beside the target and the privacy unit",
                instead=_example(facts),
            )
    found = {name: given.get(name) or _declared_feature(facts.columns[name]) for name in names}
    bare = [name for name, feature in found.items() if feature is None]
    if bare:
        raise _undeclared(bare, [name for name in names if name not in bare], facts)
    return {name: _readable(name, feature, facts) for name, feature in found.items() if feature is not None}


def catalog_classes(declared: Any, facts: ModelFacts) -> Any:
    """The classes, as the estimator declares them or else the keys of the target.

    Raises:
        ParameterError: If the catalog has not two, or the estimator declares one that is none of its keys.
    """
    column = _target_column(facts)
    named = [key for key in column.keys or () if isinstance(key, str | int)]
    if declared is not None:
        return _among_keys(declared, named, facts)
    if column.keys is None and column.type is ColumnType.BOOLEAN:
        return [False, True]
    if len(named) < 2:
        raise ParameterError(
            f"the target {facts.target!r} without declared classes",
            because="classes are public, and rows must not say them",
            instead=_classes_advice(column, facts),
        )
    return named


def catalog_target_bounds(declared: Any, facts: ModelFacts) -> Any:
    """The bounds of the target, as the estimator declares them or else the catalog.

    Raises:
        ParameterError: If the target is not a number.
        UnboundedError: If neither has bounds.
    """
    column = _target_column(facts)
    if column.type not in _HAS_BINS:
        raise ParameterError(
            f"a regression of the target {facts.target!r} of type {column.type}",
            because="bounds are declared for numbers",
            instead=f"dp.learning.{_classifier(column, facts)}, which predicts classes",
        )
    if declared is not None:
        return declared
    if column.type is ColumnType.BOOLEAN:
        raise UnboundedError(
            f"the target {facts.target!r}, a truth value",
            because="a regression predicts numbers between declared bounds",
            instead=f"dp.learning.{_classifier(column, facts)}, or target_bounds=(0, 1) in the model",
        )
    if column.bounds is None:
        raise UnboundedError(
            f"the target {facts.target!r}",
            because="it has no bounds, so one person could move the model by any amount",
            instead=f"target_bounds=(0, 100) in the model, or bounds={{{facts.target!r}: (0, 100)}} in dp.protect",
        )
    return [float(column.bounds[0]), float(column.bounds[1])]


def _classes_advice(column: Column, facts: ModelFacts) -> str:
    """What declares the classes of a target, or another model where it has too many values for classes."""
    if column.type is ColumnType.REAL or (column.type in NUMERIC and column.bounds is not None):
        bounds = [] if column.bounds is not None else ["target_bounds=(0, 100)"]
        return (
            f"dp.learning.GradientBoostingRegressor({', '.join(bounds + _size_words(facts))}), which predicts numbers"
        )
    labels = _LABELS.get(column.type, '["no", "yes"]')
    if column.keys is not None:
        return f"keys={{{facts.target!r}: {labels}}} in dp.protect, with the labels of the data"
    return f"classes={labels} in the model, or keys={{{facts.target!r}: {labels}}} in dp.protect, as the data has them"


def _classifier(column: Column, facts: ModelFacts) -> str:
    """A classifier of the target, for what the catalog declares of it."""
    labels = [] if column.keys is not None or column.type is ColumnType.BOOLEAN else ['classes=["no", "yes"]']
    return f"LogisticRegression({', '.join(labels + _size_words(facts))})"


def _size_words(facts: ModelFacts) -> list[str]:
    return [] if facts.size else ["size=30_000"]


def _target_column(facts: ModelFacts) -> Column:
    if facts.target_column is None:
        raise RuntimeError("a model that predicts a column, without a target")
    return facts.target_column


def _among_keys(declared: Any, keys: Sequence[str | int], facts: ModelFacts) -> Any:
    """The declared classes, if all are keys of the target where it has any; no row has another label."""
    known = {label_text(key) for key in keys}
    others = (
        [label for label in declared if label_text(label) not in known] if known and isinstance(declared, list) else []
    )
    if others:
        advice = f"classes={list(keys)} in the model" if len(keys) > 1 else "another target"
        raise ParameterError(
            f"the class {others[0]!r} of the target {facts.target!r}",
            because="it is not among the keys that the catalog declares",
            instead=advice,
        )
    return declared


def _readable(name: str, feature: DeclaredFeature, facts: ModelFacts) -> DeclaredFeature:
    """The feature, if cells of the declared type can be read so: bins of numbers, categories of names."""
    kind = facts.columns[name].type
    if feature.is_ordered and kind not in _HAS_BINS:
        raise ParameterError(
            f"bins of the column {name!r} of type {kind}",
            because="bins are declared for numbers",
            instead=_example(facts, [name] if kind in _HAS_CATEGORIES else None),
        )
    if not feature.is_ordered and kind not in _HAS_CATEGORIES:
        raise ParameterError(
            f"categories of the column {name!r} of type {kind}",
            because="categories are declared for numbers, texts and truth values",
            instead=_example(facts),
        )
    return feature


def _example(facts: ModelFacts, names: Sequence[str] | None = None) -> str:
    """The declaration of a column that can be a feature, for the model."""
    able = names or [name for name, column in facts.columns.items() if column.type in _HAS_CATEGORIES] or ["age"]
    column = facts.columns.get(able[0], Column(type=ColumnType.INTEGER))
    return f"features={{{able[0]!r}: dp.learning.{_feature_words(column)}}} in the model"


def _feature_words(column: Column) -> str:
    """The declaration of a column by its bounds or keys, or with others in their place."""
    if column.type in NUMERIC:
        low, high = (Fraction(0), Fraction(100)) if column.bounds is None else column.bounds
        return f"linear_bins({shown(low)}, {shown(high)})"
    if column.type is ColumnType.BOOLEAN:
        return "categories([False, True])"
    named = [key for key in column.keys or () if isinstance(key, str)]
    return f"categories({named or ['A', 'B']})"


def _undeclared(bare: Sequence[str], others: Sequence[str], facts: ModelFacts) -> UnboundedError:
    """The error for all columns that have neither bounds nor keys, with the declarations that are missing."""
    kinds = {name: facts.columns[name].type for name in bare}
    numbers = ", ".join(f"{name!r}: (0, 100)" for name, kind in kinds.items() if kind in NUMERIC)
    texts = ", ".join(f'{name!r}: ["A", "B"]' for name, kind in kinds.items() if kind is ColumnType.TEXT)
    listed = [f"bounds={{{numbers}}}"] * bool(numbers) + [f"keys={{{texts}}}"] * bool(texts)
    advice = [f"features={list(others)} in fit"] * bool(others) + [f"{', '.join(listed)} in dp.protect"] * bool(listed)
    return UnboundedError(
        f"the feature{'s' if len(bare) > 1 else ''} {', '.join(map(repr, bare))}",
        because=f"the catalog has no bounds or keys of {'them' if len(bare) > 1 else 'it'}, and rows must not say them",
        instead=", or ".join(advice) or "features=[...] in fit, of numbers and texts",
    )


def _own_feature(declared: object) -> DeclaredFeature:
    """The same declaration, made anew from plain data: nothing else of the object that was given reads cells."""
    if type(declared) is not DeclaredFeature:
        raise ParameterError(
            f"a feature of type {type(declared).__name__}",
            because="bins and categories are declared, and read each cell alone",
            instead='features={"age": dp.learning.linear_bins(17, 90)}',
        )
    data = DeclaredFeature.to_json(declared)
    return feature_from_json({name: plain_value(value) for name, value in data.items()})


def _declared_feature(column: Column) -> DeclaredFeature | None:
    """Declared bins come first; keys become categories, truth values two categories, bounds bins of equal width."""
    if column.bins is not None:
        return _declared_bins(column.bins, column.bounds)
    if column.keys is not None and column.type in (ColumnType.TEXT, ColumnType.INTEGER, ColumnType.BOOLEAN):
        named = [key for key in column.keys if isinstance(key, str | int)]
        return categories(named) if named else None
    if column.bounds is not None and column.bounds[0] < column.bounds[1]:
        return _bins_between(column.type, *column.bounds)
    return categories([False, True]) if column.type is ColumnType.BOOLEAN else None


def _bins_between(kind: ColumnType, low: Fraction, high: Fraction) -> DeclaredFeature:
    """A bin for each whole number between bounds of integers that allow at most 32; else 32 bins.

    Two whole numbers have an empty bin between them: scalers know the width of bins from three of them.
    """
    least, most = math.ceil(low), math.floor(high)
    if kind is ColumnType.INTEGER and 1 <= most - least < DEFAULT_BINS:
        gap = 0.25 if most - least == 1 else 0.5
        return linear_bins(least - gap, most + gap, max(3, most - least + 1))
    return linear_bins(float(low), float(high))


def _declared_bins(bins: FeatureBins, bounds: tuple[Fraction, Fraction] | None) -> DeclaredFeature:
    if bins.edges is not None or bounds is None:
        return edges([float(edge) for edge in bins.edges or ()])
    low, high = (float(bound) for bound in bounds)
    return linear_bins(low, high, bins.linear) if bins.linear else log_bins(low, high, bins.log or 1)
