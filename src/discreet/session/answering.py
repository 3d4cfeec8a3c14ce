"""What each kind of question becomes under its charge: integers from the engine, noise, and plain data to store."""

import json
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.engines import Workspace
from discreet.events import Event
from discreet.ledger import Receipt
from discreet.planner.batch import BatchPlan
from discreet.planner.queries.private_plan import TablePlan
from discreet.planner.queries.sample_and_aggregate import SampledPlan
from discreet.planner.queries.selection import SelectionPlan
from discreet.planner.queries.smooth_sensitivity import SmoothPlan
from discreet.planner.queries.top_keys import TopKeysPlan
from discreet.release.release import Release
from discreet.session import estimates, selections
from discreet.session.pipeline import Asked, Gate
from discreet.session.stored import CONFIDENCE, is_charged_for, planned_otherwise
from discreet.version import __version__

BATCH = "batch"


class Answering(Gate):
    """The gate with its answers; a testing session puts exact ones in the place of noisy ones."""

    def _body(self, asked: Asked, prepared: Any, receipt: Receipt) -> dict[str, Any]:
        match asked:
            case SampledPlan():
                drawn = self._noisy(asked, self._answers(asked, prepared))
                return estimates.body(
                    asked, drawn.value, receipt, CONFIDENCE, is_private=self._is_private, made=drawn.made
                )
            case SelectionPlan():
                places = self._noisy(asked, self._exact(asked.dataset, prepared))
                return selections.body(asked, places, receipt, is_private=self._is_private)
            case TopKeysPlan():
                found = self._noisy(asked, self._exact(asked.dataset, prepared))
                return selections.body(asked, found, receipt, is_private=self._is_private)
            case SmoothPlan():
                value = self._noisy(asked, self._exact(asked.dataset, prepared))
                return estimates.body(asked, value, receipt, CONFIDENCE, is_private=self._is_private)
            case BatchPlan():
                return self._batch(asked, prepared, receipt)
            case _:
                noisy = self._noisy(asked, self._exact(asked.dataset, prepared))
                return self._made(asked, noisy, receipt).to_json()  # type: ignore[arg-type]

    def _batch(self, asked: BatchPlan, prepared: Any, receipt: Receipt) -> dict[str, Any]:
        """Every question of a batch in turn; each release says what all of them reveal together."""
        said = asked.guarantee(f"all {len(asked.parts):,} releases of one batch from", asked.pushdown.scan.version)
        bodies = []
        for place, (part, ready) in enumerate(zip(asked.parts, prepared, strict=True)):
            noisy = self._noisy(part, self._exact(part.dataset, ready))
            bodies.append(replace(self._made(part, noisy, receipt), guarantee=said, place=place).to_json())
        return {BATCH: bodies}

    def _noisy(self, private: Any, exact: Any) -> Any:
        """The one place where noise meets exact answers."""
        return private.randomize(exact)

    def _answers(self, asked: SampledPlan, prepared: Any) -> list[Fraction]:
        """What the function says of each chunk; the rows go to its processes, and nowhere else."""
        chunks = self._engines[asked.dataset].chunks(prepared.chunks)
        with closing(Workspace()) as room:
            answers: list[Fraction] = prepared.box.outputs(chunks, default=asked.default, directory=room.path)
        return answers

    def _made(self, private: TablePlan, noisy: Any, receipt: Receipt) -> Release:
        version = private.pushdown.scan.version
        return Release(
            dataset=private.dataset,
            version=version,
            keys=private.keys(noisy),
            outputs=private.outputs(noisy, CONFIDENCE),
            measured=private.measured(noisy),
            confidence=CONFIDENCE,
            guarantee=private.guarantee("this release from", version),
            unit=str(private.unit),
            columns_read=private.pushdown.columns_read,
            post_processing=private.post_processing,
            receipt=json.loads(receipt.to_json()),
            private=self._is_private,
            library=__version__,
        )


def restored(payload: bytes, private: TablePlan, confidence: Fraction, *, repeated: bool) -> Release:
    """The stored release, with its margins at the confidence asked for: they follow from what is stored."""
    return _at(json.loads(payload), private, private.event, confidence, repeated=repeated)


def restored_batch(payload: bytes, asked: BatchPlan, confidence: Fraction, *, repeated: bool) -> list[Release]:
    """The stored releases of a batch, in the order of its questions."""
    stored = zip(json.loads(payload)[BATCH], asked.parts, strict=True)
    return [_at(data, part, asked.event, confidence, repeated=repeated) for data, part in stored]


def _at(data: dict[str, Any], private: TablePlan, event: Event, confidence: Fraction, *, repeated: bool) -> Release:
    """The release as it was stored; at another confidence, only where its noise is the one that is planned now."""
    release = replace(Release.from_json(data), repeated=repeated)
    if release.confidence == confidence:
        return release
    if not is_charged_for(release.receipt, event) or not _is_read_alike(release, private):
        raise planned_otherwise(confidence)
    return replace(release, outputs=private.outputs(private.stored(release), confidence), confidence=confidence)


def _is_read_alike(release: Release, private: TablePlan) -> bool:
    """Whether the plan would have measured just what the release holds, with the same noise."""
    try:
        return private.measured(private.stored(release)) == release.measured
    except (IndexError, KeyError, TypeError, ValueError):  # other columns than this plan has
        return False
