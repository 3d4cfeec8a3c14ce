"""The numbers of a result as a table of text, and as series for charts."""

from dataclasses import dataclass

from discreet.catalog.catalog import Value
from discreet.exact.numbers import shown
from discreet.release.estimate import Estimate
from discreet.release.found_slots import FoundSlots
from discreet.release.model import ModelRelease
from discreet.release.release import Release
from discreet.release.saved import Saved
from discreet.release.selection import Selection
from discreet.release.sql_release import SqlRelease
from discreet.release.synthetic import SyntheticTable
from discreet.release.values import rendering

MOST_ROWS = 1_000
"""Rows that a report shows; files have all."""
_NO_INTERVAL = "numbers without ± have no interval"


@dataclass(frozen=True)
class Point:
    """A value with the ends of its interval; None where there is no interval."""

    label: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Series:
    """The values of one column."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class ResultTable:
    """A result as text: `text_columns` of the columns are keys; notes say how long intervals hold and what is cut."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int
    series: tuple[Series, ...]
    notes: tuple[str, ...]

    @property
    def least_exact(self) -> tuple[str, Point] | None:
        """The series and the point whose interval is widest for its value; None without intervals."""
        found = [(each.name, point) for each in self.series for point in each.points if point.low is not None]
        return max(found, key=lambda pair: relative_width(pair[1]), default=None)


def relative_width(point: Point) -> float:
    """The margin of a point as a part of its value; 0 without an interval."""
    if point.low is None or point.high is None:
        return 0.0
    margin = max(point.high - point.value, point.value - point.low)
    return margin / abs(point.value) if point.value else float("inf")


def relative_text(point: Point) -> str:
    """The margin of a point for its value: "3% of the number", or "more than the number itself"."""
    part = relative_width(point)
    return "more than the number itself" if part > 1 else f"{100 * part:.2g}% of the number"


def table_of(found: Saved) -> ResultTable:
    """The table of any saved result."""
    match found:
        case SqlRelease():
            return _statement_table(found)
        case Release():
            return _release_table(found)
        case Selection():
            return _selection_table(found)
        case Estimate():
            return _estimate_table(found)
        case ModelRelease():
            return _model_card(found)
        case SyntheticTable():
            return _synthetic_card(found)
        case FoundSlots():
            return _slots_card(found)
    raise TypeError(type(found).__name__)


def _release_table(release: Release) -> ResultTable:
    head, rows = release.cells(MOST_ROWS)
    labels = [" / ".join(map(rendering.cell, row)) for row in _key_rows(release)]
    series = []
    for output in release.outputs:
        pairs = zip(labels, output.values, output.margins, strict=True)
        points = [
            Point(label, float(value), *_ends(value, None if output.margin_of else margin))
            for label, value, margin in pairs
            if value is not None
        ]
        series.append(Series(rendering.cell(output.name), tuple(points)))
    notes = [f"± holds {shown(100 * release.confidence)}% of the time for each number, for the noise"]
    lost = [rendering.cell(output.name) for output in release.outputs if not output.is_found]
    notes += [f"automatic bounds found nothing for {', '.join(lost)}"] if lost else []
    notes += [f"margins of {rendering.cell(o.name)} are in {o.margin_of}" for o in release.outputs if o.margin_of]
    return _table(head, rows, len(release.keys), series, [*notes, *_cut(len(release))])


def _statement_table(table: SqlRelease) -> ResultTable:
    head, rows = table.cells(MOST_ROWS)
    keys = table.columns[: table.text_columns]
    labels = [" / ".join(rendering.cell(table[name][row]) for name in keys) for row in range(len(table))]
    series = []
    for name in table.columns[table.text_columns :]:
        triples = zip(labels, table[name], table.interval(name), strict=True)
        points = [
            Point(label, float(value), low, high)
            for label, value, (low, high) in triples
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        series.append(Series(rendering.cell(name), tuple(points)))
    notes = [rendering.cell(note) for note in table.to_json()["notes"]]
    return _table(head, rows, table.text_columns, series, [*notes, *_cut(len(table))])


def _selection_table(selection: Selection) -> ResultTable:
    rows = [[str(place), rendering.cell(value)] for place, value in enumerate(selection.values, 1)]  # type: ignore[arg-type]
    among = "keys that were not known" if selection.candidates is None else f"{selection.candidates:,} candidates"
    level = shown(100 * selection.confidence)
    notes = [
        f"selected from {among}",
        f"in {level}% of selections the score of the first is at most {shown(selection.within, 6)} below the best",
        *([] if rows else ["no key stood out enough to be named"]),
    ]
    return _table(["place", "selected"], rows, 1, [], notes)


def _estimate_table(estimate: Estimate) -> ResultTable:
    name, value, margin = rendering.cell(estimate.name), estimate.value, estimate.margin
    if value is None:
        return _table([name], [["nothing"]], 0, [], ["the test did not pass; it cost what a number would have cost"])
    text = f"{value:,.6g}" if margin is None else f"{rendering.figure(value, margin)} ± {margin:,.6g}"
    level = shown(100 * estimate.confidence)
    note = f"± holds {level}% of the time, for the noise" if margin is not None else _NO_INTERVAL
    series = [Series(name, (Point("", float(value), *_ends(value, margin)),))]
    return _table([name], [[text]], 0, series, [note])


def _model_card(model: ModelRelease) -> ResultTable:
    """The model card: what was trained, on what, and what it must not be taken for."""
    rows = [[rendering.cell(label), rendering.cell(text)] for label, text in model.card if label != "model"]
    first = [["model", rendering.cell(model.name)]]
    if model.target is not None:
        first.append(["predicts", rendering.cell(model.target)])
    cost = [["privacy cost", rendering.cell(model.guarantee)]]
    return _table(["model card", "of this release"], [*first, *rows, *cost], 2, [], list(model.limits))


def _synthetic_card(table: SyntheticTable) -> ResultTable:
    """The card of a synthetic table: what was measured and modelled, and what it must not be taken for."""
    first = [["synthesizer", table.name], ["columns", ", ".join(table.columns)], ["rows", f"about {table.rows:,}"]]
    rows = [*first, *map(list, table.card), ["privacy cost", table.guarantee]]
    cells = [[rendering.cell(part) for part in row] for row in rows]
    return _table(["synthetic table", "of this release"], cells, 2, [], list(table.limits))


def _slots_card(found: FoundSlots) -> ResultTable:
    """The slots of each column that were found."""
    rows = [line.partition(": ")[::2] for line in found.lines]
    cells = [[rendering.cell(part) for part in row] for row in (*rows, ("privacy cost", found.guarantee))]
    return _table(["column", "slots that were found"], cells, 2, [], list(found.limits))


def _table(
    head: list[str], rows: list[list[str]], text_columns: int, series: list[Series], notes: list[str]
) -> ResultTable:
    return ResultTable(tuple(head), tuple(map(tuple, rows)), text_columns, tuple(series), tuple(notes))


def _key_rows(release: Release) -> list[tuple[Value, ...]]:
    return list(zip(*(key.values for key in release.keys), strict=True)) if release.keys else [()] * len(release)


def _ends(value: float, margin: float | None) -> tuple[float | None, float | None]:
    return (None, None) if margin is None else (float(value) - float(margin), float(value) + float(margin))


def _cut(rows: int) -> list[str]:
    return [f"the first {MOST_ROWS:,} of {rows:,} rows; the file has all"] if rows > MOST_ROWS else []
