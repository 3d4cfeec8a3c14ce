"""Saved results of any kind: read by the schema that they name."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.catalog import strict_json
from discreet.errors import ParameterError
from discreet.release import forms
from discreet.release.estimate import Estimate
from discreet.release.forms import json_place
from discreet.release.release import Release
from discreet.release.result import Result
from discreet.release.selection import Selection

_KINDS: tuple[type[Result], ...] = (Release, Selection, Estimate)


def read_plain(path: Path) -> dict[str, Any]:
    """The plain data in a file, or in the sidecar of a CSV file; JSON that two readers read differently is refused."""
    try:
        data = strict_json.loads(json_place(path).read_text(encoding="utf-8"))
    except OSError:
        raise ParameterError(
            f"a release in {str(path)!r}",
            because="the file is not there, or cannot be read",
            instead='a file that release.save("release.json") wrote',
        ) from None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise _no_result(path)
    return data


def require_same_csv(path: Path, table: pa.Table) -> None:
    """Refuse a CSV file whose numbers are not those of its sidecar; other files have no second copy."""
    if path.suffix.lower() == ".csv" and path.read_bytes() != forms.csv_text(table).encode():
        raise ParameterError(
            f"a release in {str(path)!r}",
            because="its numbers are not those of the sidecar",
            instead=f"{str(json_place(path))!r}, or the CSV file as release.save(...) wrote it",
        )


def read_result(data: dict[str, Any], path: Path) -> Result:
    """The release, selection or estimate in plain data."""
    for kind in _KINDS:
        if kind.reads(data):
            return kind.from_json(data)
    raise _no_result(path)


def _no_result(path: Path) -> ParameterError:
    return ParameterError(
        f"a release in {str(path)!r}",
        because="it holds no release, selection or estimate of discreet",
        instead='a file that release.save("release.json") wrote',
    )
