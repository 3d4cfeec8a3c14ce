"""The worked tables are what their description says."""

from collections import Counter

from discreet.anonymity.linkage.worked_releases import HOSPITALS, QUASI, TARGET


def _smallest_class(columns: dict[str, list[str]]) -> int:
    return min(Counter(zip(*(columns[name] for name in QUASI), strict=True)).values())


def test_the_first_hospital_is_4_anonymous_and_the_second_6_anonymous():
    assert [_smallest_class(columns) for columns in HOSPITALS.values()] == [4, 6]


def test_the_target_is_in_one_class_of_each():
    for name, cells in TARGET.items():
        rows = list(zip(*(HOSPITALS[name][column] for column in QUASI), strict=True))
        assert tuple(cells[column] for column in QUASI) in rows
