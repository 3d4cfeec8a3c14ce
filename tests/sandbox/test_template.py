"""What counts as a number, that a template starts each block from the same state, and where it can be started."""

import math
import os
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.sandbox import Limits, Sandbox
from discreet.sandbox.template import number


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (3, 3.0),
        (2.5, 2.5),
        (True, 1.0),
        (Fraction(1, 4), 0.25),
        (Decimal("0.5"), 0.5),
        (np.float32(1.5), 1.5),
        (np.int64(7), 7.0),
        (np.array(4.0), 4.0),
        (pa.scalar(6), 6.0),
        (pc.mean(pa.array([1, 2])), 1.5),
    ],
)
def test_numbers_of_every_library_are_numbers(value, found):
    assert number(value) == found


@pytest.mark.parametrize(
    "value",
    [
        None,
        "1",
        b"1",
        bytearray(b"1"),
        math.nan,
        math.inf,
        -math.inf,
        10**400,
        1j,
        [1.0],
        {},
        object(),
        pa.scalar(None),
    ],
)
def test_what_is_no_finite_number_is_no_answer(value):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        number(value)


def test_libraries_that_compute_in_threads_work_and_no_block_finds_what_another_left():
    def worked(table):
        import pandas as pd  # noqa: PLC0415 - this travels by value
        import polars as pl  # noqa: PLC0415

        grouped = table.group_by("g").aggregate([("a", "sum")])["a_sum"].to_pylist()
        frame = table.to_pandas().groupby("g").a.sum().to_list()
        sums = pl.from_arrow(table).group_by("g").agg(pl.col("a").sum())["a"].to_list()
        solved = np.linalg.solve(np.eye(50) * 2, np.ones(50)).sum()
        if not sorted(grouped) == sorted(frame) == sorted(sums):
            return -1
        left = getattr(pd, "left", 0)
        pd.left = 1
        return sum(grouped) + solved + left

    tables = [(i, pa.table({"a": [1, 2, 3 + i], "g": ["x", "y", "x"]})) for i in range(4)]
    with Sandbox(
        worked, limits=Limits(seconds=30, constant_time=False, workers=1), modules=("pandas", "polars")
    ) as box:
        assert box.outputs(tables, default=-2) == [31, 32, 33, 34]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives up its rights for those of nobody")
def test_an_interpreter_that_nobody_can_read_is_enough(printed, tmp_path):
    """Without pandas, so that nothing else has loaded before what numpy loads late."""
    (tmp_path / "own").chmod(0o700)
    code = (
        "import pyarrow as pa\nfrom discreet import sandbox\n"
        "def answer(table):\n    import numpy as np\n    return np.random.default_rng().random() < 2\n"
        "limits = sandbox.Limits(workers=1, constant_time=False, seconds=20)\n"
        "with sandbox.Sandbox(answer, limits=limits) as box:\n"
        "    print(*box.isolation, box.outputs([(0, pa.table({'a': [1]}))], default=0), sep=', ')\n"
    )
    expected = "system calls, network, shared memory, host name, mounts, rights, [Fraction(1, 1)]\n"
    assert printed(code) == expected


def test_an_environment_with_discreet_and_its_dependencies_alone_is_enough(printed):
    code = (
        "from importlib.util import find_spec\nfrom discreet.cli import doctor\n"
        "assert not any(map(find_spec, ('pandas', 'polars', 'pyspark', 'pytest', 'matplotlib')))\n"
        "check = doctor.sandbox_works()\nprint(check.status, check.found)\n"
    )
    assert printed(code).startswith("OK a function ran in a process of its own, cut off from: system calls")
