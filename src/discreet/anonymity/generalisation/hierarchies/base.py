"""Base of value generalisation hierarchies: from the groups of each level to levels that are checked.

Level 0 is the value itself and the highest level is `*`, one group of everybody. A missing value is a value: it stays
missing at every level below the highest, where it is `*` like all others. NaN is missing, and -0.0 is 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.anonymity.classes.cube import Codes
from discreet.anonymity.generalisation.levels import GeneralisationLevels
from discreet.errors import TypeMismatchError, public_class

EVERYTHING = "*"


class LevelGroups(NamedTuple):
    """One level of a hierarchy: the group of each value, and the label of each group."""

    codes: Codes
    labels: Sequence[str | None]


@public_class
class ValueHierarchy:
    """Value generalisation hierarchy: rules that make the values of a column coarser, level by level.

    The functions of `dp.anonymity.hierarchies` make them. Level 0 is the value and the highest level is `*`.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> ages = dp.anonymity.hierarchies.intervals(5, 10)
        >>> ages.levels(pa.array([31, 34, 38, None])).labels[1]
        ('[30, 35)', '[35, 40)', None)
    """

    def levels(self, values: pa.Array) -> GeneralisationLevels:
        """What each value becomes at each level.

        Args:
            values: Distinct values of a column; a null is a value.

        Returns:
            Codes and labels of every level. Values that are alike at one level are alike at all higher ones.

        Raises:
            ParameterError: If the hierarchy does not know a value, or if a level is not coarser than the one below.
            TypeMismatchError: If the hierarchy is not defined for values of this type.

        Example:
            >>> import discreet as dp
            >>> import pyarrow as pa
            >>> dp.anonymity.hierarchies.mask().levels(pa.array(["10115", "10117"])).labels[1]
            ('1011*',)
        """
        plain = plain_values(values)
        known = plain.drop_null()
        texts = text_of(known).to_pylist()
        identity = LevelGroups(np.arange(len(known), dtype=np.int64), texts)
        missing = plain.is_null().to_numpy(zero_copy_only=False)
        steps = [_with_missing(step, missing) for step in (identity, *self._steps(known))]
        # duplicates and NaN beside null would share a code; the contract is one code for each value
        first = np.arange(len(plain), dtype=np.int64)
        labels = _spread(steps[0].labels, steps[0].codes)
        steps = [LevelGroups(first, labels), *steps[1:], _everything(len(plain))]
        return GeneralisationLevels(tuple(step.codes for step in steps), tuple(tuple(step.labels) for step in steps))

    def _steps(self, values: pa.Array) -> Sequence[LevelGroups]:
        """The levels between the value and `*`; no value is null."""
        raise NotImplementedError


def plain_values(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Values with one form each: no dictionary, NaN as null, -0.0 as 0, text as large text."""
    array = values
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_floating(array.type):
        array = pc.add(array.cast(pa.float64()), 0.0)
        return pc.if_else(pc.is_nan(array), pa.scalar(None, pa.float64()), array)
    return array.cast(pa.large_string()) if is_text(array.type) else array


def is_text(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def text_of(values: pa.Array) -> pa.Array:
    """The values as text, in the form that a CSV file has them."""
    try:
        return values.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise TypeMismatchError(
            f"generalisation of values of type {values.type}",
            because="its values have no text",
            instead="a column of text, numbers, booleans or dates",
        ) from None


def groups_of(labels: pa.Array) -> LevelGroups:
    """The groups of a level from the label of each value."""
    encoded = labels.dictionary_encode()
    return LevelGroups(encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary.to_pylist())


def _with_missing(step: LevelGroups, missing: NDArray[np.bool_]) -> LevelGroups:
    if not missing.any():
        return step
    codes = np.full(len(missing), len(step.labels), dtype=np.int64)
    codes[~missing] = step.codes
    return LevelGroups(codes, [*step.labels, None])


def _spread(labels: Sequence[str | None], codes: Codes) -> list[str | None]:
    return [labels[code] for code in codes.tolist()]


def _everything(size: int) -> LevelGroups:
    return LevelGroups(np.zeros(size, dtype=np.int64), [EVERYTHING])
