"""The body of a release as plain data in a published schema, and back: keys, outputs, measured columns."""

import datetime as dt
import json
from importlib import resources
from typing import Any

from discreet.catalog.catalog import ColumnType, Value
from discreet.release.result import is_figure, ratio_text, read_ratio
from discreet.release.values.columns import Key, MeasuredColumn, OutputColumn, RawAnswers

SCHEMA = "discreet.release"
_LISTS = ("columns_read", "post_processing")
_LARGEST_KEY = 2**63
_KEYS: dict[ColumnType, type] = {
    ColumnType.TEXT: str,
    ColumnType.BOOLEAN: bool,
    ColumnType.DATE: dt.date,
    ColumnType.TIMESTAMP: dt.datetime,
}


def plain_body(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a release that are not in its header, as plain data."""
    untouched = fields["untouched"]
    return {
        "unit": fields["unit"],
        "keys": [_written_key(key) for key in fields["keys"]],
        "outputs": [_written_output(output) for output in fields["outputs"]],
        "measured": [_plain_part(m) | {"grid": ratio_text(m.grid), "steps": list(m.steps)} for m in fields["measured"]],
        **{name: list(fields[name]) for name in _LISTS},
        **({"raw": _written_raw(untouched)} if untouched else {}),
    }


def read_body(data: dict[str, Any]) -> dict[str, Any]:
    """The fields that `plain_body` wrote; an error of Python where the data is damaged."""
    raw = data.get("raw")
    fields = {name: tuple(data[name]) for name in _LISTS} | {
        "unit": data["unit"],
        "keys": tuple(_key(key) for key in data["keys"]),
        "outputs": tuple(_output(output) for output in data["outputs"]),
        "measured": tuple(
            MeasuredColumn(
                **m | {"grid": read_ratio(m["grid"]), "steps": tuple(m["steps"]), "shape": tuple(m.get("shape", ()))}
            )
            for m in data["measured"]
        ),
        "untouched": raw and RawAnswers(tuple(map(_output, raw["outputs"])), tuple(raw["post_processing"])),
    }
    _check(fields)
    return fields


def schema() -> dict[str, Any]:
    """The JSON schema of a saved release."""
    return read_schema("release-2.json")


def read_schema(name: str) -> dict[str, Any]:
    """A JSON schema of this package, by the name of its file."""
    text = resources.files("discreet.release").joinpath(f"schemas/{name}").read_text(encoding="utf-8")
    result: dict[str, Any] = json.loads(text)
    return result


def _written_key(key: Key) -> dict[str, Any]:
    values = list(key.values) if key.type is ColumnType.INTEGER else [_plain(value) for value in key.values]
    return {"name": key.name, "type": str(key.type), "values": values}


def _written_output(output: OutputColumn) -> dict[str, Any]:
    factors = {side: getattr(output, side) for side in ("parts", "over") if getattr(output, side)}
    return {
        **_plain_part(output),
        "values": list(output.values),
        "margins": list(output.margins),
        **{side: [[place, ratio_text(factor)] for place, factor in pairs] for side, pairs in factors.items()},
        **({} if output.bounds is None else {"bounds": [ratio_text(bound) for bound in output.bounds]}),
    }


def _written_raw(untouched: RawAnswers) -> dict[str, Any]:
    outputs = [_written_output(output) for output in untouched.outputs]
    return {"outputs": outputs, "post_processing": list(untouched.post_processing)}


def _plain_part(part: OutputColumn | MeasuredColumn) -> dict[str, Any]:
    """The fields of a part that say something: words that are empty and facts that are open are left out."""
    return {name: value for name, value in vars(part).items() if value not in ("", (), None)}


def _plain(value: Value) -> str | int | bool | None:
    return value.isoformat() if isinstance(value, dt.date | dt.datetime) else value


def _check(fields: dict[str, Any]) -> None:
    outputs = [*fields["outputs"], *(fields["untouched"].outputs if fields["untouched"] else ())]
    columns = [k.values for k in fields["keys"]] + [c for o in outputs for c in (o.values, o.margins)]
    if len({len(column) for column in (*columns, *(m.steps for m in fields["measured"] if not m.places))}) != 1:
        raise ValueError("columns of different lengths")
    if not outputs or not all(is_figure(value) for column in columns[len(fields["keys"]) :] for value in column):
        raise TypeError("answers that are no numbers")
    names = [part.name for part in (*fields["keys"], *outputs)]
    if not all(
        isinstance(text, str) for text in (*names, fields["unit"], *fields["columns_read"], *fields["post_processing"])
    ):
        raise TypeError("names that are no text")
    if not all(isinstance(text, str) for o in outputs for text in (o.kind, o.margin_of)):
        raise TypeError("words that are no text")
    if not all(_is_key(value, key.type) for key in fields["keys"] for value in key.values):
        raise TypeError("keys of another type")
    if not all(map(_is_measured, fields["measured"])):
        raise TypeError("measured columns that are no integers")
    if any(not 0 <= place < len(fields["measured"]) for o in outputs for place, _ in (*o.parts, *o.over)):
        raise ValueError("an output that is read off nothing")


def _is_measured(measured: MeasuredColumn) -> bool:
    """Whether noisy integers are integers, and what is said of their noise is of its type."""
    texts, wholes = (measured.measure, measured.mechanism, measured.places), (measured.l1, measured.l2_squared)
    return (
        type(measured.scale) in (int, float)
        and is_figure(measured.scale)
        and all(isinstance(text, str) for text in texts)
        and all(type(whole) is int for whole in (*wholes, *measured.steps, *measured.shape))
    )


def _is_key(value: object, kind: ColumnType) -> bool:
    """Whether a key is missing, or of its type."""
    if kind is ColumnType.INTEGER:
        return value is None or (type(value) is int and -_LARGEST_KEY <= value < _LARGEST_KEY)
    return value is None or type(value) is _KEYS[kind]


def _whole(value: object) -> int:
    if type(value) is not int:
        raise TypeError("not a whole number")
    return value


def _output(data: dict[str, Any]) -> OutputColumn:
    bounds = data.get("bounds")
    read_off = {
        side: tuple((_whole(place), read_ratio(factor)) for place, factor in data.get(side, ()))
        for side in ("parts", "over")
    }
    known: dict[str, Any] = {"bounds": bounds and (read_ratio(bounds[0]), read_ratio(bounds[1]))}
    return OutputColumn(**data | {side: tuple(data[side]) for side in ("values", "margins")} | read_off | known)


def _key(data: dict[str, Any]) -> Key:
    kind = ColumnType(data["type"])
    parse = {ColumnType.DATE: dt.date.fromisoformat, ColumnType.TIMESTAMP: dt.datetime.fromisoformat}.get(kind)
    values = (v if v is None else parse(v) for v in data["values"]) if parse else data["values"]
    return Key(data["name"], kind, tuple(values))
