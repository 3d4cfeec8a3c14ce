"""Cell suppression: replace few cells of small classes by `*` until their classes have k people.

Finding the least number of cells is NP-hard (Meyerson and Williams 2004). This is a greedy heuristic. It tries sets of
columns from one column up; among sets of one size, those first that bring the most rows into classes of k people. Rows
that stay below k even with all cells suppressed are left out.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes.cube import Codes
from discreet.anonymity.generalisation.recode_people import RowGroups, classes_of
from discreet.errors import ParameterError

MOST_COLUMNS = 12


def require_few(columns: int) -> None:
    """Refuse more columns than all of whose sets can be tried."""
    if columns > MOST_COLUMNS:
        raise ParameterError(
            f"suppress_cells=True with {columns} quasi-identifiers",
            because=f"all sets of columns are tried, which takes at most {MOST_COLUMNS} columns",
            instead="suppress_cells=False, or fewer quasi-identifiers",
        )


def choose_cells(columns: Sequence[Codes], groups: RowGroups, k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The cells to suppress, a row for each group and a column for each quasi-identifier, and the groups to leave out.

    All groups of a class get the same cells, so that no class falls below k by what happens to another.
    """
    size = len(groups.counts)
    classes = classes_of(columns, size)
    left = groups.people(classes)[classes] < k
    cells = np.zeros((size, len(columns)), dtype=bool)
    for width in range(1, len(columns) + 1):
        if not left.any():
            break
        sets = list(combinations(range(len(columns)), width))
        gains = [int(groups.counts[left][_rescue(columns, groups, left, each, k)].sum()) for each in sets]
        for place in sorted(range(len(sets)), key=lambda place: -gains[place]):
            if gains[place]:
                _apply(columns, groups, left, cells, sets[place], k)
    return cells, left


def _apply(
    columns: Sequence[Codes],
    groups: RowGroups,
    left: NDArray[np.bool_],
    cells: NDArray[np.bool_],
    hidden: Sequence[int],
    k: int,
) -> None:
    """Suppress these columns for the groups that this brings to k people, and take them off the list."""
    places = np.flatnonzero(left)[_rescue(columns, groups, left, hidden, k)]
    cells[places[:, None], np.array(hidden)] = True
    left[places] = False


def _rescue(
    columns: Sequence[Codes], groups: RowGroups, left: NDArray[np.bool_], hidden: Sequence[int], k: int
) -> NDArray[np.bool_]:
    """Which of the groups that are left reach k people where these columns are suppressed."""
    part = groups.part(left)
    visible = [codes[left] for place, codes in enumerate(columns) if place not in hidden]
    classes = classes_of(visible, len(part.counts))
    return part.people(classes)[classes] >= k
