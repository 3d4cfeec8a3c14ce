"""Hierarchies that the report assumes where the owner names none: by the type and the form of the values of a column.

Dates become months, quarters, years and decades; numbers become intervals of round widths; codes of one length, such as
ZIP codes, are masked from the right. Other text has no order: its values are published or left out.
"""

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymity.classes.cube import Cube
from discreet.anonymity.generalisation.hierarchies import dates, intervals, mask
from discreet.anonymity.generalisation.hierarchies.base import EVERYTHING, is_text, plain_values, text_of
from discreet.anonymity.generalisation.levels import GeneralisationLevels
from discreet.anonymity.generalisation.sources import levels_of_column

MOST_NODES = 3_000
"""Nodes of a lattice that a report searches; levels are left out of the finest hierarchies until it has no more."""
_LONGEST_CODE = 12


def column_levels(cube: Cube, hierarchies: Mapping[str, object] | None) -> dict[str, GeneralisationLevels]:
    """The levels of each quasi-identifier, few enough to search all combinations."""
    named = hierarchies or {}
    found = {
        name: levels_of_column(name, named[name], values) if named.get(name) else default_levels(values)
        for name, values in ((name, cube.values[name]) for name in cube.quasi)
    }
    while math.prod(levels.height + 1 for levels in found.values()) > MOST_NODES:
        tallest = max(found, key=lambda name: found[name].height)
        if found[tallest].height == 1:
            break
        found[tallest] = _without_level(found[tallest], 1)
    return found


def default_levels(values: pa.Array) -> GeneralisationLevels:
    """The levels of distinct values, by their type and form."""
    kind = values.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return dates().levels(values)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        widths = _round_widths(values)
        return intervals(*widths).levels(values) if widths else _two_levels(values)
    return mask().levels(values) if _is_code(values) else _two_levels(values)


def _round_widths(values: pa.Array) -> list[Fraction]:
    """Widths of 1/10, 1/2, 1 and 2 times the power of ten below the range of the values."""
    ends = pc.min_max(values).as_py()
    if ends["min"] is None or not math.isfinite(float(ends["max"]) - float(ends["min"])) or ends["max"] <= ends["min"]:
        return []
    unit = Fraction(10) ** math.floor(math.log10(float(ends["max"]) - float(ends["min"])))
    widths = [unit / 10, unit / 2, unit, 2 * unit]
    return [width for width in widths if width > 1 or not pa.types.is_integer(values.type)]


def _is_code(values: pa.Array) -> bool:
    """Whether all values are codes of one length that hold a digit, such as ZIP codes."""
    if not is_text(values.type):
        return False
    known = values.drop_null()
    lengths = pc.unique(pc.utf8_length(known))
    if len(lengths) != 1 or not 1 < lengths[0].as_py() <= _LONGEST_CODE:
        return False
    return bool(pc.all(pc.match_substring_regex(known, r"[0-9]")).as_py())


def _two_levels(values: pa.Array) -> GeneralisationLevels:
    """The value itself, and nothing."""
    labels = tuple(text_of(plain_values(values)).to_pylist())
    everyone = np.zeros(len(values), dtype=np.int64)
    return GeneralisationLevels((np.arange(len(values), dtype=np.int64), everyone), (labels, (EVERYTHING,)))


def _without_level(levels: GeneralisationLevels, number: int) -> GeneralisationLevels:
    codes = levels.codes[:number] + levels.codes[number + 1 :]
    return GeneralisationLevels(codes, levels.labels[:number] + levels.labels[number + 1 :])
