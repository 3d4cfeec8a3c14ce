"""What is opened belongs to one process, once; test_above_threshold.py and test_online_ranges.py ask the rest."""

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BudgetError

T = dp.table("t")


@pytest.mark.parametrize("verb", ["sparse vector", "stream"])
def test_it_is_opened_once_and_says_what_all_of_it_reveals(verb):
    rows = pa.table({"id": [1, 2, 3], "x": [1, 2, 3]})
    with dp.protect(rows, name="t", privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=2)) as session:
        made = (
            session.above_threshold(threshold=30, epsilon=0.5)
            if verb == "sparse vector"
            else session.online_ranges(T, "x", edges=[0, 2, 4], total=3, threshold=9, epsilon=0.5)
        )
        assert made.receipt is None
        with made as opened:
            assert opened.receipt is not None
            assert f"this {verb} of 't', version 1, for any number of queries" in opened.guarantee
        with pytest.raises(BudgetError, match="opened before"), made:
            pass
        assert float(session.remaining()) == 1.5


def test_threads_that_open_it_at_once_pay_once():
    rows = pa.table({"id": [1, 2, 3], "x": [1, 2, 3]})
    with dp.protect(rows, name="t", privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=2)) as session:
        vector = session.above_threshold(threshold=30, epsilon=0.5)

        def opened(_):
            try:
                vector.__enter__()
            except BudgetError:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(opened, range(4))) == 1
        vector.close()
        assert float(session.remaining()) == 1.5
