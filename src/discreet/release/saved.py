"""Saved results of any kind: read by the schema that they name."""

from pathlib import Path
from typing import Any

from discreet.errors import ParameterError
from discreet.release import forms
from discreet.release.estimate import Estimate
from discreet.release.found_slots import FoundSlots
from discreet.release.model import ModelRelease
from discreet.release.release import Release
from discreet.release.result import Result
from discreet.release.selection import Selection
from discreet.release.sql_release import SCHEMA as SQL_SCHEMA
from discreet.release.sql_release import SqlRelease
from discreet.release.synthetic import SyntheticTable

_KINDS: tuple[type[Result], ...] = (Release, Selection, Estimate, ModelRelease, SyntheticTable, FoundSlots)

_MODEL = "discreet.model/"
"""The beginning of the format of models without a release, which `dp.learning.load` reads."""

Saved = Result | SqlRelease
"""What a file may hold."""


def read_saved(path: Path) -> Saved:
    """What a file holds; beside a CSV file, its sidecar, whose numbers must be those of the CSV file."""
    data = forms.read_plain(path)
    found = SqlRelease.from_json(data) if data.get("schema") == SQL_SCHEMA else read_result(data, path)
    if isinstance(found, Release | SqlRelease):
        forms.require_same_csv(path, found.to_arrow)
    return found


def read_result(data: dict[str, Any], path: Path) -> Result:
    """The release, selection, estimate, model, synthetic table or slots in plain data."""
    for kind in _KINDS:
        if kind.reads(data):
            return kind.from_json(data)
    if str(data.get("format", "")).startswith(_MODEL):
        raise ParameterError(
            f"a release in {str(path)!r}",
            because="it holds a model alone, without card and receipt of a session",
            instead=f"dp.learning.load({str(path)!r}).guarantee_, or model.save of a model that a session released",
        )
    raise forms.no_result(path)
