"""Slots of columns that were found privately, as a release: values of texts, edges of bins of numbers and dates.

They are what partition selection, private quantiles and private bounds gave. A synthetic table that uses them
reveals nothing beyond this release and its own.
"""

import datetime as dt
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from discreet.errors import public_class, short_traceback
from discreet.release import forms
from discreet.release.model import require_json_path
from discreet.release.result import Result, is_figure

_MOST_SHOWN = 8
_LIMITS = ("rare values are left out, and edges are near quantiles of the rows, up to noise",)
_INFERRED = (
    "column types of the in-memory table were inferred, so texts are in one form, such as '0' for f and false: "
    "dp.protect(..., fixed_schema=True) keeps them where the types do not depend on the rows"
)
_PARSERS = {"date": dt.date.fromisoformat, "timestamp": dt.datetime.fromisoformat}
_TYPES = ("integer", "real", "text", "date", "timestamp")


@public_class
@dataclass(frozen=True, kw_only=True, repr=False)
class FoundSlots(Result):
    """Slots of columns that were found privately; `table.synthesize(..., slots=found)` uses them.

    The header fields (`dataset`, `guarantee`, `receipt`, ...) are those of every result.

    Attributes:
        columns: Columns with their type and their edges or values, as plain data.
        not_found: Names of columns of which nothing was found.
        inferred: Whether the rows were an in-memory table whose column types were inferred. Texts then are in one form.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "people", "privacy_unit": "person_id", "max_rows": 1}
        >>> budget = dp.Budget(epsilon=2, delta=1e-9)
        >>> with dp.testing.protect(dp.datasets.people(2_000), **facts, budget=budget) as session:
        ...     found = session.release(dp.table("people").find_slots(["sex"]), epsilon=1)
        >>> found.keys["sex"]
        ('female', 'male')
    """

    columns: tuple[dict[str, Any], ...]
    not_found: tuple[str, ...] = ()
    inferred: bool = False

    _schema: ClassVar = "discreet.slots"
    _noun: ClassVar = "slots that were found"
    _exact: ClassVar = "slots found without noise"

    @property
    def keys(self) -> dict[str, tuple[Any, ...]]:
        """The values that were found, by column."""
        return {each["name"]: slot_values(each, "values") for each in self.columns if each["values"]}

    @property
    def edges(self) -> dict[str, tuple[Any, ...]]:
        """The edges of bins of numbers and dates, by column."""
        return {each["name"]: slot_values(each, "edges") for each in self.columns if each["edges"]}

    @short_traceback
    def save(self, path: str | Path) -> None:
        """Write the slots as JSON, with guarantee, receipt and signature.

        Args:
            path: Path of the file, which ends in .json.

        Raises:
            UnsupportedError: If the name ends otherwise.
            ParameterError: If the directory is not there.
        """
        place = require_json_path(path, "a search for slots")
        place.write_text(json.dumps(self.to_json(), ensure_ascii=False) + "\n", encoding="utf-8", newline="")

    @classmethod
    @short_traceback
    def load(cls, path: str | Path) -> Self:
        """The slots that `save` wrote; the signature is checked by `discreet release verify`.

        Args:
            path: Path of the file.

        Returns:
            The slots, for `synthesize(..., slots=...)`.

        Raises:
            ParameterError: If the file is not there, or holds something else.
        """
        return cls.from_json(forms.read_plain(Path(path), cls._noun, 'found.save("found.json")'))

    def _body_to_json(self) -> dict[str, Any]:
        inferred = {"inferred": True} if self.inferred else {}
        return {"columns": list(self.columns), "not_found": list(self.not_found), **inferred}

    @classmethod
    def _body_from_json(cls, data: dict[str, Any]) -> dict[str, Any]:
        columns = tuple(_column(each) for each in data["columns"])
        names = [each["name"] for each in columns] + list(data["not_found"])
        if not names or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
            raise TypeError("names of columns that are not texts, each once")
        inferred = data.get("inferred", False)
        if type(inferred) is not bool:
            raise TypeError("inferred is true or false")
        return {"columns": columns, "not_found": tuple(data["not_found"]), "inferred": inferred}

    @property
    def lines(self) -> tuple[str, ...]:
        """Each column with its slots, as text."""
        lines = [f"{name}: {len(found):,} values: {_list(found)}" for name, found in self.keys.items()]
        lines += [f"{name}: {len(found) - 1:,} bins between {_list(found)}" for name, found in self.edges.items()]
        return (*lines, *(f"{name}: nothing was found" for name in self.not_found))

    @property
    def limits(self) -> tuple[str, ...]:
        """What the slots must not be taken for."""
        return (*_LIMITS, _INFERRED) if self.inferred and self.keys else _LIMITS

    def _body_lines(self) -> list[str]:
        return ["slots that were found", *self.lines]

    def _body_notes(self) -> list[str]:
        return list(self.limits)


def _column(data: dict[str, Any]) -> dict[str, Any]:
    """A column in plain data, checked."""
    found = {"name": data["name"], "type": data["type"], "edges": list(data["edges"]), "values": list(data["values"])}
    if found["type"] not in _TYPES or bool(found["edges"]) == bool(found["values"]) or len(found["edges"]) == 1:
        raise ValueError("a column has a known type, and edges or values")
    for each in (*found["edges"], *found["values"]):
        is_number = not isinstance(each, bool) and each is not None and is_figure(each)
        if not (isinstance(each, str) if found["type"] not in ("integer", "real") else is_number):
            raise TypeError("a slot of another type than its column")
    slot_values(found, "edges"), slot_values(found, "values")
    return found


def slot_values(column: dict[str, Any], what: str) -> tuple[Any, ...]:
    """The "edges" or "values" of a column in plain data, in its type: dates and times are written as ISO text."""
    read = _PARSERS.get(column["type"])
    return tuple(column[what] if read is None else map(read, column[what]))


def _list(found: tuple[Any, ...]) -> str:
    shown = [str(each) for each in found[:_MOST_SHOWN]]
    return ", ".join([*shown, *(["..."] if len(found) > _MOST_SHOWN else [])])
