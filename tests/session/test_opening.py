"""Sessions open with a workspace of their own, which is deleted when they close or cannot open."""

import gc

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import ParameterError, SourceError

COUNT = dp.table("visits").agg(n=dp.count())


def opened(**words):
    rows = pa.table({"person": ["a", "b"]})
    budget = dp.Budget(epsilon=1)
    return dp.protect(rows, name="visits", privacy_unit="person", max_rows=3, budget=budget, fixed_schema=True, **words)


def rooms(home):
    return [path for path in (home / "private").iterdir() if path.is_dir()]


def test_closing_deletes_the_workspace(discreet_home):
    session = opened()
    session.release(COUNT, epsilon=0.1)
    (room,) = rooms(discreet_home)
    assert room.stat().st_mode & 0o777 == 0o700
    session.close()
    session.close()
    assert rooms(discreet_home) == []


def test_a_session_that_is_forgotten_deletes_its_workspace(discreet_home):
    session = opened()
    session.release(COUNT, epsilon=0.1)
    assert len(rooms(discreet_home)) == 1
    del session
    gc.collect()
    assert rooms(discreet_home) == []


def test_a_session_that_cannot_start_leaves_no_workspace(discreet_home):
    with pytest.raises(SourceError, match="cannot be set up"):
        opened(memory_limit="plenty")
    gc.collect()
    assert rooms(discreet_home) == []


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "many"])
def test_a_number_of_threads_that_is_none_is_refused(threads):
    with pytest.raises(ParameterError, match="threads"):
        opened(threads=threads)
