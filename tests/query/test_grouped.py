"""A query has named aggregates and nothing else, over all rows or by key."""

import pytest

import discreet as dp
from discreet.errors import ParameterError, TypeMismatchError

visits = dp.table("visits")


@pytest.mark.parametrize("value", [visits.age, 5, None, "n", dp.count])
def test_only_aggregates_leave_a_table(value):
    for source in (visits, visits.group_by("ward")):
        with pytest.raises(TypeMismatchError, match="never does"):
            source.agg(x=value)


def test_a_query_asks_for_something():
    for source in (visits, visits.group_by("ward")):
        with pytest.raises(ParameterError, match="asks for something"):
            source.agg()


def test_an_answer_is_not_named_like_a_grouping_column():
    with pytest.raises(ParameterError, match="taken"):
        visits.group_by("ward").agg(ward=dp.count())
