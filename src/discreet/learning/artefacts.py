"""Saved models: JSON with declared facts, the model, its event and its guarantee; never pickle, never a row.

A file is read as data: the class of the estimator is one of the public names of `discreet.learning`, and its arguments
are those of its constructor.
"""

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet import events
from discreet.errors import MissingExtraError, ParameterError, short_traceback
from discreet.learning.core.features import feature_from_json
from discreet.learning.core.saved_state import MODEL_FORMAT, saved_state
from discreet.release.model import ModelRelease, attach_release, require_json_path


def write(path: Any, estimator: Any) -> None:
    """Write a fitted estimator as JSON; `load` reads it.

    Raises:
        UnsupportedError: If the name of the file does not end in .json.
        ParameterError: If the directory is not there.
    """
    place = require_json_path(path)
    state = saved_state(
        estimator, estimator.features_, estimator.event_, estimator.model_, has_names=estimator.has_names
    )
    text = json.dumps(state | {"guarantee": estimator.guarantee_}, allow_nan=False, separators=(",", ":"))
    place.write_text(text, encoding="utf-8")


@short_traceback
def load(path: Any) -> Any:
    """Read a model that `save` wrote, or that of a saved release: JSON, so that no file can run code.

    Args:
        path: Path of the file.

    Returns:
        The fitted estimator. It has no account: to fit it again, set `budget`.

    Raises:
        ParameterError: If the file is not there, or is not a saved model of this version.
        MissingExtraError: If a package that the model needs is not installed.

    Example:
        >>> from pathlib import Path
        >>> import discreet as dp
        >>> _ = Path("other.json").write_text("{}")
        >>> dp.learning.load("other.json")
        Traceback (most recent call last):
        discreet.errors.ParameterError: ...
    """
    text = _read(Path(path))
    try:
        data = json.loads(text)
        release = ModelRelease.from_json(data) if ModelRelease.reads(data) else None
        data = data if release is None else release.state | {"guarantee": release.guarantee}
        kind = _estimator_class(data)
        features = {str(name): feature_from_json(feature) for name, feature in data["features"]}
        declared: object = features if data["has_names"] else next(iter(features.values()))
        estimator = kind(features=declared, **data["parameters"])
        model, event = kind.model_from_json(data["model"]), events.from_json(data["event"])
        fitted = estimator.adopt(model, features, event, str(data["guarantee"]))
        if "evaluation" in data:
            importlib.import_module("discreet.learning.evaluation.held_out").attach_evaluation(fitted, data)
        return fitted if release is None else attach_release(fitted, release)
    except MissingExtraError:
        raise
    except Exception:  # noqa: BLE001 - a file can be wrong in any way
        raise ParameterError(
            "a file that is not a saved model",
            because=f"it does not hold a model in the format {MODEL_FORMAT!r}",
            instead='model.save("model.json"), then dp.learning.load("model.json")',
        ) from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise ParameterError(
            f"a model in {str(path)!r}",
            because="the file is not there, or cannot be read",
            instead='model.save("model.json"), then dp.learning.load("model.json")',
        ) from None


def _estimator_class(data: Mapping[str, Any]) -> Any:
    public = importlib.import_module("discreet.learning")
    name = data["estimator"]
    if data["format"] != MODEL_FORMAT or name not in public.__all__:
        raise ValueError("another format")
    kind = getattr(public, name)
    if not hasattr(kind, "model_from_json"):
        raise ValueError("not an estimator")
    return kind
