"""What `discreet local estimate` prints and writes: the largest rows as text, all as a document or a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli import local_files as files
from discreet.cli.local_outputs import require_place
from discreet.errors import ParameterError, UnsupportedError
from discreet.plan.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.local.collector.accumulator import Accumulator
    from discreet.local.estimates.consistency import ConsistentCounts
    from discreet.local.estimates.frequencies import FrequencyEstimates
    from discreet.local.estimates.means import MeanEstimate
    from discreet.local.task import Task

    Found = FrequencyEstimates | ConsistentCounts | MeanEstimate

_MEAN = ("mean", "standard_error", "low", "high", "rounding")
_GIGABYTES, _SECONDS = (0.4, 0.65), (3, 6)
"""What an estimate takes at least, and for each million values: measured with 1, 4 and 16 million on two cores."""
_MILLION = 1_000_000


def estimates_of(chosen: "Task", state: "Accumulator", confidence: float, *, is_consistent: bool) -> "Found":
    """Counts of all values, consistent ones, or a mean."""
    from discreet.local.estimates.frequencies import estimate  # noqa: PLC0415 - needs numpy
    from discreet.local.estimates.means import estimate_mean  # noqa: PLC0415 - needs numpy

    if not state.reports:
        raise ParameterError(
            "an estimate without reports",
            because=f"the counts are of no reports of batch {state.batch}",
            instead="discreet local collect task.json reports.bin --out counts.acc",
        )
    if not chosen.domain.is_numeric:
        found = estimate(chosen, state, confidence)
        return found.consistent() if is_consistent else found
    if is_consistent:
        raise typer.BadParameter("--consistent is for counts; this task has a mean")
    return estimate_mean(chosen, state, confidence)


def text_of(found: "Found", rows: int) -> str:
    """The largest rows, or the mean, as text."""
    from discreet.local.estimates.consistency import ConsistentCounts  # noqa: PLC0415 - needs numpy
    from discreet.local.estimates.frequencies import FrequencyEstimates  # noqa: PLC0415 - needs numpy

    if isinstance(found, FrequencyEstimates):
        note = f"with probability {found.confidence:.15g} all {len(found):,} intervals hold"
        return _table_text(("count", "low", "high"), found.top(rows), len(found), f"{_reports(found)}; {note}")
    if isinstance(found, ConsistentCounts):
        note = "counts are not negative and add up; they are biased, and have no intervals"
        return _table_text(("count",), found.top(rows), len(found), f"{_reports(found)}; {note}")
    interval = f"from {found.low:,.6g} to {found.high:,.6g} with probability {found.confidence:.15g}"
    rounding = f"both ends contain {found.rounding:.3g}, the most that rounding to the grid moves it"
    return f"mean {found.mean:,.6g}, {interval}\n{_reports(found)}; {rounding}"


def document_of(chosen: "Task", state: "Accumulator", found: "Found") -> dict[str, Any]:
    """All rows, or the mean, for programs."""
    from discreet.local.estimates.consistency import ConsistentCounts  # noqa: PLC0415 - needs numpy
    from discreet.local.estimates.means import MeanEstimate  # noqa: PLC0415 - needs numpy

    facts: dict[str, Any] = {"task": chosen.hash, "batch": state.batch, "reports": state.reports}
    if not isinstance(found, ConsistentCounts):
        facts |= {"confidence": found.confidence, "method": found.method}
    if isinstance(found, MeanEstimate):
        return facts | {name: getattr(found, name) for name in _MEAN}
    return facts | {"rows": table_of(found).to_pylist()}


def table_of(found: "Found") -> "pa.Table":
    """All rows, or the mean, as a table."""
    import pyarrow as pa  # noqa: PLC0415 - help does not wait for it

    from discreet.local.estimates.means import MeanEstimate  # noqa: PLC0415 - needs numpy

    if isinstance(found, MeanEstimate):
        return pa.table({name: [getattr(found, name)] for name in _MEAN})
    return found.to_arrow()


def require_table(path: Path, inputs: list[Path]) -> None:
    """Refuse a file for estimates that would replace something else, or has another ending."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise UnsupportedError(
            f"estimates in {str(path)!r}",
            because="they are written as CSV or as Parquet",
            instead=f"--out {path.with_suffix('.csv')}",
        )
    require_place(path, inputs, "estimates")


def write_table(table: "pa.Table", path: Path) -> None:
    """Write a table as CSV or Parquet, by the ending of the file."""
    import pyarrow.csv  # noqa: PLC0415 - help does not wait for it
    import pyarrow.parquet  # noqa: PLC0415

    write: Any = pyarrow.parquet.write_table if path.suffix.lower() == ".parquet" else pyarrow.csv.write_csv
    try:
        write(table, path)
    except OSError:
        files.refuse_place(path)


def warning_of(size: int) -> str:
    """What an estimate of so many values takes, where that is much; else no text."""
    if size < _MILLION:
        return ""
    gigabytes, seconds = (least + each * size / _MILLION for least, each in (_GIGABYTES, _SECONDS))
    return (
        f"an estimate of all {size:,} values takes about {gigabytes:.0f} GB of memory and {seconds:.0f} seconds; "
        "frequent values alone are found by dp.local.estimates.PrefixTree, level by level"
    )


def _reports(found: "Found") -> str:
    return counted(found.reports, "report")


def _table_text(names: tuple[str, ...], rows: list[Any], size: int, note: str) -> str:
    from discreet.local.estimates.listing import printable, whole_text  # noqa: PLC0415 - needs numpy

    values = [printable(value) for value, *_ in rows]
    width = max(map(len, ("value", *values)))
    lines = [f"{'value':<{width}}" + "".join(f"  {name:>12}" for name in names)]
    for value, (_, *cells) in zip(values, rows, strict=True):
        lines.append(f"{value:<{width}}" + "".join(f"  {whole_text(cell):>12}" for cell in cells))
    if size > len(rows):
        lines.append(f"... {size - len(rows):,} more; --rows, --json or --out has them")
    return "\n".join([*lines, note])
