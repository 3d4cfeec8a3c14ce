"""What each kind of question becomes under its charge: integers from the engine, noise, and plain data to store."""

import json
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.analysis import PrivatePlan
from discreet.analysis.sampling import Drawn, SampledPlan
from discreet.analysis.selecting import SelectionPlan
from discreet.analysis.smoothing import SmoothPlan
from discreet.engines import Workspace
from discreet.guarantee import Guarantee
from discreet.ledger import Receipt
from discreet.release import Key, Release
from discreet.session import estimating, selecting
from discreet.session.gate import Asked, Gate
from discreet.version import __version__

LEVEL = Fraction(19, 20)


class Answering(Gate):
    """The gate with its answers; a testing session puts exact ones in the place of noisy ones."""

    def _body(self, asked: Asked, prepared: Any, receipt: Receipt) -> dict[str, Any]:
        match asked:
            case PrivatePlan():
                noisy = self._noisy(asked, self._exact(asked.dataset, prepared))
                return self._made(asked, noisy, receipt).to_json()
            case SelectionPlan():
                places = self._places(asked, self._exact(asked.dataset, prepared))
                return selecting.body(places, receipt, is_private=self._is_private)
            case SmoothPlan():
                value = self._fitted(asked, self._exact(asked.dataset, prepared))
                return estimating.body(asked, value, receipt, LEVEL, is_private=self._is_private)
            case SampledPlan():
                drawn = self._sampled(asked, self._answers(asked, prepared))
                return estimating.body(asked, drawn.value, receipt, LEVEL, is_private=self._is_private, made=drawn.made)
        raise TypeError(type(asked).__name__)

    def _noisy(self, private: PrivatePlan, exact: list[list[int]]) -> list[list[int]]:
        return private.randomize(exact)

    def _fitted(self, asked: SmoothPlan, exact: list[list[int]]) -> Fraction | None:
        return asked.randomize(exact)

    def _answers(self, asked: SampledPlan, prepared: Any) -> list[Fraction]:
        """What the function says of each chunk; the rows go to its processes, and nowhere else."""
        chunks = self._engines[asked.dataset].chunks(prepared.chunks)
        with closing(Workspace()) as room:
            answers: list[Fraction] = prepared.box.outputs(chunks, default=asked.default, directory=room.path)
        return answers

    def _sampled(self, asked: SampledPlan, answers: list[Fraction]) -> Drawn:
        return asked.randomize(answers)

    def _places(self, asked: SelectionPlan, exact: list[list[int]]) -> list[int]:
        return asked.randomize(exact)

    def _made(self, private: PrivatePlan, noisy: list[list[int]], receipt: Receipt) -> Release:
        rows, level = private.pushdown.keys.rows, LEVEL
        keys = tuple(
            Key(name, column.type, tuple(row[i] for row in rows))
            for i, (name, column) in enumerate(zip(private.group_columns, private.pushdown.keys.columns, strict=True))
        )
        delta = private.delta if private.spending.mechanism == "gaussian" else Fraction(0)
        part = "" if private.slice is None else f", {private.slice.statement(private.unit)}"
        span = f"this release from {private.dataset!r}, version {private.pushdown.scan.version}{part}"
        clamped = tuple(f"{m.name}: clamped to its bounds" for m in private.recipes if m.kind == "mean")
        return Release(
            dataset=private.dataset,
            version=private.pushdown.scan.version,
            keys=keys,
            outputs=private.outputs(noisy, level),
            measured=private.measured(noisy),
            confidence=level,
            guarantee=str(Guarantee(private.spending.epsilon, delta, private.unit, span)),
            unit=str(private.unit),
            columns_read=private.pushdown.columns_read,
            post_processing=clamped,
            receipt=json.loads(receipt.to_json()),
            private=self._is_private,
            library=__version__,
        )


def restored(payload: bytes, private: PrivatePlan, confidence: Fraction, *, repeated: bool) -> Release:
    """The stored release, with its margins at the confidence asked for: they follow from the stored integers."""
    release = replace(Release.from_json(json.loads(payload)), repeated=repeated)
    if release.confidence == confidence:
        return release
    outputs = private.outputs([measured.steps for measured in release.measured], confidence)
    return replace(release, outputs=outputs, confidence=confidence)
