"""The files that a release is saved in: JSON, HTML, CSV with a sidecar, and Parquet with metadata.

JSON has everything. Beside a CSV file stands its JSON as a sidecar, `table.csv.json`. Parquet and Arrow tables have the
header of the release in their metadata, under the name `discreet`. HTML is a page of its own, for people.
"""

import csv
import html
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from discreet.catalog import strict_json
from discreet.errors import ParameterError, UnsupportedError
from discreet.release.document import Lines
from discreet.release.values.rendering import is_generated

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_OTHER_FORMS = {
    ".tsv": "release.to_pandas().to_csv",
    ".xlsx": "release.to_pandas().to_excel",
    ".png": "release.plot().savefig",
    ".pdf": "release.plot().savefig",
    ".svg": "release.plot().savefig",
}
_STYLE = (
    ":root{color-scheme:light dark;font-family:system-ui,sans-serif;line-height:1.5}"
    "body{max-width:60rem;margin:auto;padding:1rem}"
    "table{border-collapse:collapse;margin:1rem 0}"
    "th,td{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0;border-bottom:1px solid #8888}"
    ".answers td{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
)


def require_place(path: Path, what: str = "a release") -> None:
    """Refuse a path that a release cannot be saved at, before anything is charged for it."""
    ending = path.suffix.lower()
    if ending in _OTHER_FORMS:
        raise UnsupportedError(
            f"save({str(path)!r})",
            because="a release is saved with its guarantee and its receipt: as JSON, HTML, CSV or Parquet",
            instead=f"release.save({str(path.with_suffix('.json'))!r}), or {_OTHER_FORMS[ending]}({str(path)!r})",
        )
    if path.is_dir() or not path.parent.is_dir():
        raise ParameterError(
            f"{what} at {str(path)!r}",
            because="there is no such directory",
            instead=repr(path.name or "release.json"),
        )


def read_plain(path: Path, what: str = "a release", wrote: str = 'release.save("release.json")') -> dict[str, Any]:
    """The plain data in a file, or in the sidecar of a CSV file; JSON that two readers read differently is refused.

    `what` the file should hold, and the code that `wrote` it, are for the error where there is no such file.
    """
    try:
        data = strict_json.loads(json_place(path).read_text(encoding="utf-8"))
    except OSError:
        raise ParameterError(
            f"{what} in {str(path)!r}",
            because="the file is not there, or cannot be read",
            instead=f"a file that {wrote} wrote",
        ) from None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise no_result(path)
    return data


def require_same_csv(path: Path, table: Callable[[], pa.Table]) -> None:
    """Refuse a CSV file whose numbers are not those of its sidecar; other files have no second copy."""
    if path.suffix.lower() != ".csv":
        return
    try:
        found = path.read_bytes()
    except OSError:
        found = b""
    if found != csv_text(table()).encode():
        raise ParameterError(
            f"a release in {str(path)!r}",
            because="its numbers are not those of the sidecar",
            instead=f"{str(json_place(path))!r}, or the CSV file as release.save(...) wrote it",
        )


def no_result(path: Path) -> ParameterError:
    """The error for a file that holds something else."""
    return ParameterError(
        f"a release in {str(path)!r}",
        because="it holds no release, selection, estimate, model, synthetic table or slots of discreet",
        instead='a file that release.save("release.json") wrote',
    )


def pandas_frame(table: pa.Table) -> "pd.DataFrame":
    """A table as a pandas DataFrame, with whole numbers beside missing ones; refused without pandas."""
    try:
        frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
    except ImportError:
        raise _missing_package_error("pandas") from None
    return frame


def nullable_frame(table: pa.Table) -> "pd.DataFrame":
    """A table as a pandas DataFrame of types that do not depend on missing values; refused without pandas."""
    try:
        import pandas as pd  # noqa: PLC0415 - optional
    except ImportError:
        raise _missing_package_error("pandas") from None
    types: dict[pa.DataType, object] = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    frame: pd.DataFrame = table.to_pandas(types_mapper=types.get)
    return frame


def polars_frame(table: pa.Table) -> "pl.DataFrame":
    """A table as a Polars DataFrame; refused without Polars."""
    try:
        import polars as pl  # noqa: PLC0415 - optional
    except ImportError:
        raise _missing_package_error("polars") from None
    return pl.DataFrame(table)


def _missing_package_error(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"to_{name}()", because=f"{name} is not installed", instead=f'pip install "discreet[{name}]", or to_arrow()'
    )


def require_label(path: Path, dataset: str) -> None:
    """Refuse to save generated data in a form that does not show its label with the numbers."""
    if path.suffix.lower() in (".csv", ".parquet") and is_generated(dataset):
        raise UnsupportedError(
            f"generated data in {str(path)!r}",
            because="the file would show numbers of a preview without its label",
            instead=f"save({str(path.with_suffix('.html'))!r}), or session.release(...) for numbers of the dataset",
        )


def save(path: Path, texts: Mapping[str, Callable[[], str]], table: Callable[[], pa.Table]) -> None:
    """Write a release in the form that the name of the file ends with; without an ending that is known, as JSON.

    `texts` makes the text of each form by its ending.
    """
    ending = path.suffix.lower()
    require_place(path)
    if ending == ".parquet":
        parquet.write_table(table(), path)
        return
    if ending == ".csv":
        sidecar(path).write_text(texts[".json"](), encoding="utf-8", newline="")
    path.write_text(texts.get(ending, texts[".json"])(), encoding="utf-8", newline="")


def sidecar(path: Path) -> Path:
    """Where the JSON of a release in a CSV file stands: `table.csv.json` for `table.csv`."""
    return path.with_name(f"{path.name}.json")


def json_place(path: Path) -> Path:
    """Where the JSON of a saved release is: the file itself, or the sidecar of a CSV file."""
    return sidecar(path) if path.suffix.lower() == ".csv" else path


def csv_text(table: pa.Table) -> str:
    """Keys, then each output beside its margin; what is missing is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return text.getvalue()


def page(title: str, notes: Sequence[str], body: str, lines: Lines) -> str:
    """A page of HTML that needs nothing else: notes, a body that is HTML, and labels with texts."""
    under = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    about = "".join(
        f'<tr><th scope="row">{html.escape(label)}</th><td>{html.escape(text)}</td></tr>' for label, text in lines
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f'<body><main><h1>{html.escape(title)}</h1><div class="answers">{body}</div>{under}<h2>About this release</h2>'
        f"<table><tbody>{about}</tbody></table></main></body></html>\n"
    )
