"""Counts by class and slot that a session released, read back for naive Bayes: post-processing, which costs nothing.

Every count is an aggregate of the engine, with the contribution bounds and the noise of any grouped count. The queries
are one batch, which is charged as a whole: counts of classes, then counts by class and slot of each feature.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import events
from discreet.errors import ParameterError
from discreet.learning.core.cells import label_text
from discreet.learning.core.features import DeclaredFeature
from discreet.query.aggregates import count
from discreet.query.frame import Frame, relation_of, table
from discreet.query.histograms import histogram
from discreet.release.release import Release

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReleasedCounts:
    """Noisy counts by class.

    Attributes:
        classes: The labels.
        counts: A row of classes, then a row for each slot of each feature.
        deviation: The largest standard deviation of the noise of a count.
        event: The event that was charged.
        guarantee: What the releases reveal, in words.
    """

    classes: tuple[object, ...]
    counts: Floats
    deviation: float
    event: events.Event
    guarantee: str


def count_queries(
    table: Any, features: Mapping[str, DeclaredFeature], target: str, classes: Sequence[object]
) -> list[Any]:
    """Counts of classes, then by class and slot of each feature.

    Raises:
        ParameterError: If the table is not a table of a query.
    """
    if not isinstance(table, Frame):
        name = table if isinstance(table, str) else "people"
        raise ParameterError(
            f"counts of a {type(table).__name__}",
            because="queries are of tables that a session protects",
            instead=f"NaiveBayes.count_queries(dp.table({name!r}), ...)",
        )
    known = {target: list(classes)}
    queries = [table.group_by(target, keys=known).agg(n=count())]
    for name, feature in features.items():
        if feature.is_ordered:
            grouped = table.group_by(target, keys=known)
            queries.append(grouped.histogram(name, bins=_edges(feature), missing=True))
        else:
            queries.append(table.group_by(target, name, keys=known | {name: list(feature.values)}).agg(n=count()))
    return queries


def read_counts(releases: Sequence[Any], features: Mapping[str, DeclaredFeature], target: str) -> ReleasedCounts:
    """The counts of the releases of `count_queries`.

    Raises:
        ParameterError: If they are other releases, or not all of one batch.
    """
    names = [(target,), *((target, name) for name in features)]
    if len(releases) != len(names) or not all(map(_is_of, releases, names)):
        raise _other_releases()
    if len({str(release.receipt.get("hash")) for release in releases}) != 1:
        raise _separate_releases()
    classes = tuple(releases[0].keys[0].values)
    rows = [_steps(releases[0], 1, len(classes))]
    for release, feature in zip(releases[1:], features.values(), strict=True):
        cells = feature.slots if feature.is_ordered else feature.slots - 1
        found = _steps(release, cells, len(classes))
        if [label_text(value) for value in release.keys[1].values] != _slot_names(feature) * len(classes):
            raise _other_releases()
        missing = found[-1:] if feature.is_ordered else np.zeros((1, len(classes)))
        rows += [missing, found[:-1] if feature.is_ordered else found]
    return ReleasedCounts(
        classes=classes,
        counts=np.vstack(rows),
        deviation=max(float(release.measured[0].scale) for release in releases),
        event=events.from_json(json.loads(releases[0].receipt["event"])),
        guarantee=releases[0].guarantee,
    )


def _is_of(release: object, names: tuple[str, ...]) -> bool:
    return isinstance(release, Release) and tuple(key.name for key in release.keys) == names and bool(release.measured)


def _steps(release: Release, cells: int, classes: int) -> Floats:
    """Noisy counts, a row for each cell and a column for each class; all cells of a class stand together."""
    steps = np.asarray(release.measured[0].steps, dtype=np.float64)
    if steps.size != cells * classes:
        raise _other_releases()
    return steps.reshape(classes, cells).T


def _edges(feature: DeclaredFeature) -> list[Any]:
    """Inner edges; whole numbers where all of them are, which fit columns of integers."""
    inner = [float(edge) for edge in feature.inner_edges]
    return [int(edge) for edge in inner] if all(edge.is_integer() for edge in inner) else inner


def _slot_names(feature: DeclaredFeature) -> list[str | None]:
    """The keys by which a release of counts names the slots of a feature, in order."""
    if not feature.is_ordered:
        return [label_text(value) for value in feature.values]
    (labels,) = histogram(relation_of(table("people")), "slot", _edges(feature)).grouping.labels
    return [*(label_text(label) for label in labels or ()), None]


def _separate_releases() -> ParameterError:
    """The guarantee of one release says nothing of the others that a model would rest on."""
    return ParameterError(
        "counts that were released separately",
        because="counts are one batch, charged together",
        instead="session.release(NaiveBayes.count_queries(...), epsilon=1), all in one call",
    )


def _other_releases() -> ParameterError:
    return ParameterError(
        "releases that are not the counts of these features",
        because="naive Bayes is made from counts by class and slot, in order",
        instead="session.release(NaiveBayes.count_queries(...), epsilon=1), with the same features",
    )
