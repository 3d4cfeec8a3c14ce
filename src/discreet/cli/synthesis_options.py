"""Options of `discreet synth` that declare slots, and advice of refusals as options instead of Python code."""

import ast
import csv
import datetime as dt
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from typing import Any

import typer

from discreet.catalog.catalog import Column, ColumnType
from discreet.errors import Refusal

_ENDS = 2
_CALLS = r"\((?:[^()]|\([^()]*\))*\)"
_LIST = r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]"
_BOUNDS = re.compile(r"bounds=\{(?P<name>'[^']*'|\"[^\"]*\"): (?P<ends>" + _CALLS + r")\}")
_LISTED = re.compile(r"\b(?P<what>columns|workload)=(?P<names>" + _LIST + ")")
_VALUES = re.compile(r"\b(?P<what>keys|edges)=\{(?P<name>'[^']*'|\"[^\"]*\"): (?P<values>" + _LIST + r")\}")
_SEARCH = re.compile(r"(?:slots=)?session\.release\(table\.find_slots\([^()]*\), epsilon=[0-9.]+\)")
_TABLE = re.compile(r"dp\.table\(\"(?P<name>[^\"]*)\"\)")
_RELEASE = re.compile(r"session\.release\(query, epsilon=(?P<epsilon>[0-9.e-]+)\)")


def names_in(text: str, option: str) -> list[str]:
    """Names between commas; a name with a comma stands in double quotes, as in CSV."""
    names = [name.strip() for line in csv.reader([text], skipinitialspace=True) for name in line]
    if not names or not all(names):
        raise typer.BadParameter(f"{option} has names with commas between, such as age,income")
    return names


def bounds_in(texts: Sequence[str] | None, columns: Mapping[str, Column]) -> dict[str, tuple[Any, ...]] | None:
    """The bounds that `--bounds NAME=LOW,HIGH` gives, in the types of their columns.

    Args:
        texts: What was given.
        columns: The columns of the catalog. A column that it does not have is left to be refused by the query.

    Returns:
        Bounds by column; None without the option.
    """
    found: dict[str, tuple[Any, ...]] = {}
    for text in texts or ():
        name, _, ends = text.rpartition("=")
        parts = [part.strip() for part in ends.split(",")]
        kind = columns[name].type if name in columns else None
        values = [_value(part, kind) for part in parts]
        if not name or len(parts) != _ENDS or None in values:
            example = f"{name or 'admitted'}={_EXAMPLES.get(kind, '2020-01-01,2024-12-31')}"
            raise typer.BadParameter(f"--bounds has a column with its lowest and highest value, such as {example}")
        if name in found:
            raise typer.BadParameter(f"--bounds gives {name!r} twice")
        found[name] = tuple(values)
    return found or None


_EXAMPLES: dict[ColumnType | None, str] = {
    ColumnType.INTEGER: "0,100",
    ColumnType.REAL: "0,0.5",
    ColumnType.TIMESTAMP: "2020-01-01T00:00,2024-12-31T23:59",
}


def _value(text: str, kind: ColumnType | None) -> Any:
    """A number, a date or a time; None of anything else."""
    for read in _READERS.get(kind, _READERS[None]):
        try:
            return read(text)
        except (ValueError, InvalidOperation):
            continue
    return None


def _finite(text: str) -> float:
    """A number as the double that a column of reals holds."""
    value = Decimal(text)
    if not value.is_finite():
        raise ValueError(text)
    return float(value)


_READERS: dict[ColumnType | None, list[Callable[[str], Any]]] = {
    None: [int, _finite, dt.date.fromisoformat, dt.datetime.fromisoformat],
    ColumnType.INTEGER: [int],
    ColumnType.REAL: [_finite],
    ColumnType.DATE: [dt.date.fromisoformat],
    ColumnType.TIMESTAMP: [dt.datetime.fromisoformat],
}
"""What reads a bound, by the type of its column; of other columns anything, which the query refuses."""


@contextmanager
def advise_options(name: str, epsilon: str | None) -> Iterator[None]:
    """Refusals of a query that options made advise options.

    Args:
        name: The table.
        epsilon: The privacy cost, as it was given.

    Yields:
        Nothing.
    """
    try:
        yield
    except Refusal as error:
        advice = option_advice(error.instead, name, epsilon)
        raise type(error)(error.what, because=error.because, instead=advice) from None


def option_advice(advice: str, name: str, epsilon: str | None = None) -> str:
    """Advice in Python as options of `discreet synth`; what has no option stays as it is.

    Args:
        advice: The advice of a refusal.
        name: The table.
        epsilon: The privacy cost, as it was given. Default: that of the advice.

    Returns:
        The advice.
    """
    text = _SEARCH.sub("--slots found.json, a file that found.save wrote", advice)
    text = _BOUNDS.sub(_bounds_option, text)
    text = _LISTED.sub(_names_option, text)
    text = _VALUES.sub(_catalog_fact, text)
    text = _RELEASE.sub(lambda found: f"discreet synth {name} --epsilon {found['epsilon'] or epsilon}", text)
    return _TABLE.sub(lambda found: f"discreet synth {_quoted(found['name'])}", text)


def _bounds_option(found: re.Match[str]) -> str:
    ends = re.findall(r"dt\.(?:date|datetime)\(([0-9, ]+)\)", found["ends"])
    if ends:
        texts = [_iso(list(map(int, each.split(","))), is_time="datetime" in found["ends"]) for each in ends]
    else:
        texts = [part.strip() for part in found["ends"].strip("()").split(",")]
    return f"--bounds {_quoted(ast.literal_eval(found['name']) + '=' + ','.join(texts))}"


def _iso(parts: list[int], *, is_time: bool) -> str:
    year, month, day = parts[:3]
    if not is_time:
        return dt.date(year, month, day).isoformat()
    return dt.datetime(*parts).isoformat(timespec="minutes")  # type: ignore[arg-type]  # noqa: DTZ001 - no zone


def _names_option(found: re.Match[str]) -> str:
    names = ast.literal_eval(found["names"])
    if found["what"] == "workload":
        return " ".join(f"--workload {_names(each)}" for each in names)
    return f"--columns {_names(names)}"


def _names(names: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return _quoted(line.getvalue())


def _quoted(text: str) -> str:
    """A word of a command line, in quotes where a shell would read more than one."""
    return text if re.fullmatch(r"[\w=,.:-]+", text) else "'" + text.replace("'", "'\\''") + "'"


def _catalog_fact(found: re.Match[str]) -> str:
    values = found["values"].replace('"', "").replace("'", "")
    fact = "keys" if found["what"] == "keys" else "bins"
    return f"{fact}: {values} of {found['name']} in the catalog"
