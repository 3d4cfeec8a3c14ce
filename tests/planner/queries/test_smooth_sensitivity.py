"""What an engine counts makes a local object that keeps its contract on neighbours, with several rows of one unit."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.planner.queries.smooth_sensitivity import analyze_smooth
from former import former

T = dp.table("t")
BOUNDS = (0, 12)
QUERIES = {
    "mean": T.agg(x=dp.mean("x", bounds=BOUNDS)),
    "median": T.agg(x=dp.median("x", bounds=BOUNDS)),
    "quartiles": T.agg(x=dp.interquartile_range("x", bounds=BOUNDS)),
    "real": T.agg(x=dp.median("y", bounds=(0, 3), grid=Fraction(1, 4))),
    "some": T.where(T.x > 3).agg(x=dp.median("x", bounds=BOUNDS)),
}


def tables(draws, neighbours):
    def unit(name):
        count = int(draws.integers(1, 5))
        return [(name, int(value), float(value) / 4) for value in draws.integers(-2, 15, count)]

    others = [row for number in range(int(draws.integers(0, 7))) for row in unit(f"p{number}")]
    one = others + unit("x")
    other = others + (unit("x") if neighbours == "replace_one" else [])
    names, kinds = ("id", "x", "y"), (pa.string(), pa.int64(), pa.float64())
    made = [list(zip(*rows, strict=True)) or [(), (), ()] for rows in (one, other)]
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    return [pa.table(dict(zip(names, map(list, columns), strict=True)), schema) for columns in made]


def locals_of(rows, neighbours):
    words = {"name": "t", "privacy_unit": "id", "max_rows": 2, "neighbours": neighbours}
    with dp.testing.protect(rows, budget=dp.Budget(epsilon=2), **words) as session:
        session._pipeline.engines["t"].adopt("t", 98765)
        asked = [
            analyze_smooth(query.plan, session.catalog, session.ledger.budget("t"), epsilon=1)
            for query in QUERIES.values()
        ]
        pipeline = session._pipeline
        return [each.reading.local(pipeline.exact("t", pipeline.prepare(each))) for each in asked]


@pytest.mark.guarantee("noise that fits covers what one unit moves, through an engine")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_neighbours_keep_the_contract_of_local_objects(neighbours):
    draws = dp.testing.generator(11)
    for _ in range(20):
        pair = [locals_of(rows, neighbours) for rows in tables(draws, neighbours)]
        for one, other in (*zip(*pair, strict=True), *zip(*reversed(pair), strict=True)):
            assert abs(one.value() - other.value()) <= min(one.at(0), other.at(0))
            for distance in range(max(one.reach, other.reach) + 2):
                assert one.at(distance) <= other.at(distance + 1)


def test_the_rows_of_one_unit_are_those_that_its_caps_leave():
    rows = pa.table({"id": ["a"] * 5 + ["b"], "x": [1, 1, 1, 1, 1, 9], "y": [0.0] * 6})
    with dp.testing.protect(rows, name="t", privacy_unit="id", max_rows=2, budget=dp.Budget(epsilon=2)) as session:
        asked = analyze_smooth(QUERIES["mean"].plan, session.catalog, session.ledger.budget("t"), epsilon=1)
        assert asked.reading.max_rows == 2
        assert session.release(QUERIES["mean"], epsilon=1, method=dp.SmoothSensitivity()).value == pytest.approx(11 / 3)


def test_questions_that_differ_have_other_names():
    rows = pa.table({"id": ["a"], "x": [1], "y": [0.0]})
    budget = dp.Budget(epsilon=2, delta=2e-9, reserved_delta=1e-9)
    with dp.testing.protect(rows, name="t", privacy_unit="id", max_rows=2, budget=budget) as session:

        def name(query, **words):
            words = {"epsilon": 1} | words
            return former(analyze_smooth(query.plan, session.catalog, session.ledger.budget("t"), **words))

        names = [
            *(name(query) for query in QUERIES.values()),
            name(QUERIES["mean"], epsilon=0.5),
            name(QUERIES["mean"], noise="student_t"),
            name(QUERIES["mean"], noise="laplace", delta=1e-10),
            name(QUERIES["mean"], bound=1, delta=1e-10),
            name(QUERIES["mean"], bound=2, delta=1e-10),
        ]
        assert len(set(names)) == len(names)
        assert name(QUERIES["mean"]) == names[0]
