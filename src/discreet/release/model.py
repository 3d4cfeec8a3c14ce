"""A trained model as a release: its public state as plain data, its model card, guarantee and receipt.

The state is what training made of noisy sums. It holds no row, and nothing is pickled.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from discreet.errors import UnsupportedError, public_class, short_traceback
from discreet.release import forms
from discreet.release.document import Lines
from discreet.release.result import Result, is_figure

_LIMITS = (
    "a model finds associations, not causes, and predicts badly for people unlike those it was trained on",
    "predictions about a person are not protected by the guarantee, which is for the people of the training data",
)
_SCALE = "means and deviations have noise, and no margin of it is stated here"
_UNSCORED = "how well it predicts is not stated here"
_SCORES = "intervals are for the noise on the people held out, and do not cover the choice of people"
_BEST = "; they are the highest of several noisy scores, so they are biased upwards"
_DEEPEST = 12
_NETWORK = "TorchClassifier"
"""The model whose scores are floats, which are never scored on private rows."""


@public_class
@dataclass(frozen=True, kw_only=True, repr=False)
class ModelRelease(Result):
    """A trained model, with its model card.

    The header fields (`dataset`, `guarantee`, `receipt`, ...) are those of every result. The model itself is what
    `Session.release` returns; this is its `release`.

    Attributes:
        name: Name of the kind of model.
        target: Name of the column that it predicts; None for a scaler.
        card: The model card: labels and texts on what was trained, on what, and how.
        state: The model as plain data, which `dp.learning.load` reads from the saved file.

    Example:
        >>> import discreet as dp
        >>> dp.ModelRelease.reads({"schema": "discreet.trained/2"})
        True
    """

    name: str
    target: str | None
    card: Lines
    state: dict[str, Any]

    _schema: ClassVar = "discreet.trained"
    _noun: ClassVar = "a model"
    _exact: ClassVar = "a model trained without noise"

    @property
    def limits(self) -> tuple[str, ...]:
        """What the model must not be taken for."""
        if self.target is None:
            return (_SCALE,)
        if "evaluation" in self.state:
            return (*_LIMITS, _SCORES + (_BEST if "search" in self.state else ""))
        return (*_LIMITS, f"{_UNSCORED}: {score_advice(self.name, self.target)}")

    @short_traceback
    def save(self, path: str | Path) -> None:
        """Write the release as JSON: the model with its card, guarantee, receipt and signature.

        Args:
            path: Path of the file, which ends in .json.

        Raises:
            UnsupportedError: If the name ends otherwise.
            ParameterError: If the directory is not there.
        """
        place = require_json_path(path)
        place.write_text(json.dumps(self.to_json(), ensure_ascii=False) + "\n", encoding="utf-8", newline="")

    @classmethod
    @short_traceback
    def load(cls, path: str | Path) -> Self:
        """The release that `save` wrote; the signature is checked by `discreet release verify`.

        Args:
            path: Path of the file.

        Returns:
            The release.

        Raises:
            ParameterError: If the file is not there, or holds something else.
        """
        return cls.from_json(forms.read_plain(Path(path)))

    def _body_to_json(self) -> dict[str, Any]:
        card = [list(line) for line in self.card]
        return {"name": self.name, "target": self.target, "card": card, "state": self.state}

    @classmethod
    def _body_from_json(cls, data: dict[str, Any]) -> dict[str, Any]:
        card = tuple((label, text) for label, text in data["card"])
        target = [] if data["target"] is None else [data["target"]]
        words = (data["name"], *target, *(text for line in card for text in line))
        if not all(isinstance(text, str) for text in words):
            raise TypeError("words that are no text")
        if not isinstance(data["state"], dict) or not is_plain(data["state"], _DEEPEST):
            raise TypeError("a state that is not plain data")
        return {"name": data["name"], "target": data["target"], "card": card, "state": data["state"]}

    def _body_lines(self) -> list[str]:
        title = self.name if self.target is None else f"{self.name} of {self.target}"
        return [title, *(f"{label}: {text}" for label, text in self.card if (label, text) != ("model", title))]

    def _body_notes(self) -> list[str]:
        return list(self.limits[-1:])


def score_advice(name: str, target: str | None) -> str:
    """How a model without scores is scored, in words; nothing for a scaler, which predicts nothing.

    Args:
        name: Name of the kind of model.
        target: Name of the column that it predicts; None for a scaler.

    Returns:
        The text.
    """
    if target is None:
        return ""
    if name == _NETWORK:
        return "model.score(X, y) scores it on public rows"
    return f"fit(model, target={target!r}, holdout=0.2) scores it on other people"


def require_json_path(path: str | Path, what: str = "a model") -> Path:
    """The path of a file for a model, or for `what`, which ends in .json and whose directory is there.

    Raises:
        UnsupportedError: If the name ends otherwise.
        ParameterError: If the directory is not there.
    """
    place = Path(path)
    if place.suffix.lower() != ".json":
        raise UnsupportedError(
            f"save({str(place)!r})",
            because=f"{what} is saved with its guarantee, as JSON",
            instead=f"save({str(place.with_suffix('.json'))!r})",
        )
    forms.require_place(place, what)
    return place


ATTACHED = ("release", "guarantee", "receipt", "evaluation")
"""The attributes of a released model, `evaluation` where it has scores; a later fit drops them."""


def attach_release(model: Any, release: ModelRelease) -> Any:
    """The model with its release, guarantee and receipt as attributes."""
    model.release, model.guarantee, model.receipt = release, release.guarantee, release.receipt
    return model


def is_plain(data: object, depth: int) -> bool:
    """Whether data is what JSON holds, of numbers that a double can hold, and not deeper than a model is."""
    if isinstance(data, dict):
        return depth > 0 and all(isinstance(name, str) and is_plain(part, depth - 1) for name, part in data.items())
    if isinstance(data, list):
        return depth > 0 and all(is_plain(part, depth - 1) for part in data)
    return isinstance(data, str | bool) or is_figure(data)
