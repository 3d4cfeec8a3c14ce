"""The state of a trained model as plain data: what files and releases hold, and what a model is made anew from."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import events
from discreet.errors import ParameterError
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.learner import PublicModel

MODEL_FORMAT = "discreet.model/1"
NOT_SAVED = ("features", "budget", "epsilon", "rho", "module")
"""Arguments that saved models do not have as given: features and networks have their place, costs are in the event."""
LARGEST = 1e300
_SIMPLE = (int, float, str)


def saved_state(
    estimator: Any,
    features: Mapping[str, DeclaredFeature],
    event: events.Event,
    model: PublicModel,
    *,
    has_names: bool,
) -> dict[str, Any]:
    """The state of a trained model, without a row.

    Args:
        estimator: Its estimator, whose parameters are public.
        features: Declared features by column.
        event: The event that was charged.
        model: The model.
        has_names: Whether features are declared by the names of columns.

    Returns:
        Plain data.

    Raises:
        ParameterError: If a parameter is not a plain value.
    """
    given = estimator.get_params(deep=False)
    return {
        "format": MODEL_FORMAT,
        "estimator": type(estimator).__name__,
        "event": events.to_json(event),
        "has_names": has_names,
        "features": [[name, feature.to_json()] for name, feature in features.items()],
        "parameters": {name: plain_value(value) for name, value in given.items() if name not in NOT_SAVED},
        "model": model.to_json(),
    }


def plain_value(value: object) -> Any:
    """An argument as plain data, for fingerprints, saved models and models that a session makes anew.

    Args:
        value: A number, a text, a truth value, None, or a list, tuple or array of such.

    Returns:
        The same as the types of JSON; a fraction is the nearest double.

    Raises:
        ParameterError: If it is anything else, or has no place in a file.
    """
    if isinstance(value, np.generic):
        value = value.item()
    elif isinstance(value, np.ndarray):
        value = value.tolist()
    if type(value) in (list, tuple):
        return [plain_value(each) for each in value]  # type: ignore[attr-defined]
    if type(value) is Fraction:
        value = value.numerator if value.denominator == 1 else float(value)
    if value is None or type(value) is bool or _is_number(value) or _is_text(value):
        return value
    raise ParameterError(
        f"a parameter of type {type(value).__name__}" if type(value) not in _SIMPLE else f"a parameter {value!r:.50}",
        because="parameters are plain values, which fingerprints and files can hold",
        instead="a number, a text or a list",
    )


def _is_number(value: object) -> bool:
    return (type(value) is int or type(value) is float) and -LARGEST < value < LARGEST


def _is_text(value: object) -> bool:
    """Whether it is a text that UTF-8 can write."""
    return type(value) is str and not any("\ud800" <= letter <= "\udfff" for letter in value)
