"""A dataset that notices when it is read is one like any other to a session."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.auditing.side_channels.file_access import Noticing

ROWS = pa.table({"id": ["p", "q", "q"], "x": [1.0, 2.0, 3.0]})
QUERY = dp.table("t").agg(n=dp.count(), s=dp.sum("x", bounds=(0, 3)))


def opened(data):
    return dp.testing.protect(data, name="t", privacy_unit="id", max_rows=2, budget=dp.Budget(epsilon=1))


def test_a_session_answers_from_it_as_from_the_table():
    with opened(ROWS) as table, opened(Noticing(ROWS).dataset()) as noticed:
        assert list(table.release(QUERY, epsilon=1)) == list(noticed.release(QUERY, epsilon=1))


def test_reading_rows_is_noticed_and_explaining_is_not():
    noticing = Noticing(ROWS)
    seen = []
    with opened(noticing.dataset()) as session:
        noticing.opened = lambda: seen.append(1)
        session.explain(QUERY, epsilon=0.5)
        assert not seen
        session.release(QUERY, epsilon=0.5)
        assert seen
        noticing.forget()
        seen.clear()
        session.release(QUERY, epsilon=0.4)
        assert not seen


def test_it_can_only_be_read():
    dataset = Noticing(ROWS).dataset()
    with pytest.raises(OSError, match="only read"):
        dataset.filesystem.delete_file("rows.parquet")
    assert dataset.to_table().equals(ROWS)
