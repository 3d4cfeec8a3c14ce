"""Hierarchy of text by masking from the right: one more character at each level, by code points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymity.generalisation.hierarchies.base import (
    EVERYTHING,
    LevelGroups,
    ValueHierarchy,
    groups_of,
    is_text,
    text_of,
)
from discreet.errors import ParameterError, TypeMismatchError, public_class, short_traceback
from discreet.exact.numbers import whole

Alignment = Literal["left", "right"]


@public_class
@dataclass(frozen=True)
class MaskHierarchy(ValueHierarchy):
    """Hierarchy of a column of text or whole numbers: at level i, i characters are masked from the right.

    Attributes:
        length: Number of characters that the longest value may have, or None for the longest of the values.
        align: Side on which values of different lengths are aligned.

    Example:
        >>> import discreet as dp
        >>> dp.anonymity.hierarchies.mask(length=5).length
        5
    """

    length: int | None = None
    align: Alignment = "left"

    def _steps(self, values: pa.Array) -> Sequence[LevelGroups]:
        if not (is_text(values.type) or pa.types.is_integer(values.type)):
            raise TypeMismatchError(
                f"masking of values of type {values.type}",
                because="only text and whole numbers are masked",
                instead="dp.anonymity.hierarchies.dates() or .intervals(5, 10)",
            )
        texts = text_of(values)
        longest = self._longest(texts)
        if self.align == "left":
            texts = pc.utf8_rpad(texts, longest, padding=EVERYTHING)
        step = LevelGroups(np.arange(len(texts), dtype=np.int64), [])
        steps, prefixes = [], texts
        # a level is made from the distinct prefixes of the level below, which are fewer at each level
        for count in range(1, longest):
            shorter = groups_of(pc.utf8_slice_codeunits(prefixes, 0, -1))
            prefixes = pa.array(shorter.labels, pa.large_string())
            step = LevelGroups(
                shorter.codes[step.codes], [f"{prefix}{EVERYTHING * count}" for prefix in shorter.labels]
            )
            steps.append(step)
        return steps

    def _longest(self, texts: pa.Array) -> int:
        longest = int(pc.max(pc.utf8_length(texts)).as_py() or 0)
        if self.length is not None and longest > self.length:
            raise ParameterError(
                f"a value of {longest} characters",
                because=f"length={self.length} is the longest that the hierarchy allows",
                instead=f"mask(length={longest})",
            )
        return longest if self.length is None else self.length


@short_traceback
def mask(*, length: int | None = None, align: Alignment = "left") -> MaskHierarchy:
    """Hierarchy of text by masking from the right: level i replaces i characters by `*`.

    Characters are Unicode code points. Values of different lengths are aligned first. On the left, shorter values are
    filled with `*` up to the longest one, as ARX does: `12` and `123` are alike at level 1. On the right, every value
    loses its last i characters: `12` becomes `1*` at level 1.

    Args:
        length: Number of characters of the longest value, which is also the number of levels. Default: the longest of
            the values, so that the number of levels depends on the column.
        align: "left" or "right". Default "left".

    Returns:
        A hierarchy; at its highest level every value is `*`.

    Raises:
        ParameterError: If `length` is not a whole number above zero, or if `align` is another word.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> dp.anonymity.hierarchies.mask().levels(pa.array(["10115", "10243", "20095"])).labels[2:4]
        (('101**', '102**', '200**'), ('10***', '20***'))
    """
    if align not in ("left", "right"):
        raise ParameterError(f"align={align!r}", because="values are aligned left or right", instead='align="left"')
    return MaskHierarchy(None if length is None else whole(length, "length"), align)
