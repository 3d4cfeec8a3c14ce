"""Text matches, parts of dates and cases have the values that Python computes, on DuckDB and SQLite.

The contracts hold all engines to the same values.
"""

import datetime as dt
import sqlite3
from typing import get_args

import duckdb as driver
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.catalog.catalog import ColumnType
from discreet.engines.backends import duckdb, sqlite
from discreet.engines.backends.postgres import engine as postgres
from discreet.engines.backends.spark import engine as spark
from discreet.engines.sql import casts, expressions, functions
from discreet.errors import UnsupportedError
from discreet.plan.logical import CalendarPart, TextPlace, TimeUnit
from discreet.plan.physical import Apply, Constant, Read

DIALECTS = {"duckdb": duckdb.DIALECT, "postgres": postgres.DIALECT, "spark": spark.DIALECT, "sqlite": sqlite.DIALECT}
UNITS, PARTS = get_args(TimeUnit), get_args(CalendarPart)
TIMES = {ColumnType.DATE: dt.date.fromisoformat, ColumnType.TIMESTAMP: dt.datetime.fromisoformat}
DUCKDB, SQLITE = driver.connect(":memory:"), sqlite3.connect(":memory:", check_same_thread=False)
for name, function in sqlite._FUNCTIONS.items():
    SQLITE.create_function(name, -1, function, deterministic=True)


def _both(term):
    """The value of a term on both engines, which must be one; SQLite has numbers for truths and text for dates."""
    here = DUCKDB.execute(f"SELECT {expressions.term(term, duckdb.DIALECT)}").fetchone()[0]
    there = SQLITE.execute(f"SELECT {expressions.term(term, sqlite.DIALECT)}").fetchone()[0]
    if there is not None and term.type in TIMES:
        there = TIMES[term.type](there)
    assert here == there
    assert isinstance(here, dt.datetime) is isinstance(there, dt.datetime)
    return here


def _start(moment, unit):
    if unit in ("hour", "minute"):
        return moment.replace(minute=moment.minute if unit == "minute" else 0, second=0, microsecond=0)
    whole = moment.replace(hour=0, minute=0, second=0, microsecond=0) if isinstance(moment, dt.datetime) else moment
    if unit == "week":
        return whole - dt.timedelta(days=whole.weekday())
    months = {"year": 1, "quarter": (whole.month - 1) // 3 * 3 + 1}
    return whole if unit == "day" else whole.replace(month=months.get(unit, whole.month), day=1)


def _part(moment, part):
    if part == "weekday":
        return moment.isoweekday()
    return (moment.month + 2) // 3 if part == "quarter" else getattr(moment, part)


@given(st.dates() | st.datetimes(), st.sampled_from(UNITS))
def test_the_start_of_a_unit_is_that_of_pythons_calendar(moment, unit):
    kind = ColumnType.TIMESTAMP if isinstance(moment, dt.datetime) else ColumnType.DATE
    if kind is ColumnType.TIMESTAMP or unit not in ("hour", "minute"):
        assert _both(Apply(f"truncate_{unit}", (Constant(moment, kind),), kind)) == _start(moment, unit)


@given(st.dates() | st.datetimes(), st.sampled_from(PARTS))
def test_a_part_is_that_of_pythons_calendar(moment, part):
    kind = ColumnType.TIMESTAMP if isinstance(moment, dt.datetime) else ColumnType.DATE
    if kind is ColumnType.TIMESTAMP or part != "hour":
        found = _both(Apply(f"part_{part}", (Constant(moment, kind),), ColumnType.INTEGER))
        assert found == _part(moment, part)
        assert type(found) is int


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
few = st.text("aA%_\\'\"é\u0301\U0001f600\n", max_size=5)


@given(texts | few, (texts | few).filter(len), st.sampled_from(["starts_with", "ends_with", "contains"]))
def test_a_match_is_that_of_pythons_text(text, wanted, operator):
    python = {"starts_with": text.startswith, "ends_with": text.endswith, "contains": text.__contains__}[operator]
    term = Apply(operator, (Constant(text, ColumnType.TEXT), Constant(wanted, ColumnType.TEXT)), ColumnType.BOOLEAN)
    assert _both(term) == python(wanted)


NOTHING = Apply("to_integer", (Constant("", ColumnType.TEXT),), ColumnType.INTEGER)
CONDITIONS = {
    True: Constant(True, ColumnType.BOOLEAN),
    False: Constant(False, ColumnType.BOOLEAN),
    None: Apply("eq", (NOTHING, NOTHING), ColumnType.BOOLEAN),
}
numbers = st.integers(-(2**63), 2**63 - 1) | st.none()
reals = st.floats(allow_nan=False, allow_infinity=False)


def _case(branches, otherwise, kind):
    arguments = [part for condition, value in branches for part in (CONDITIONS[condition], value)]
    return Apply("case", (*arguments, *otherwise), kind)


@given(st.lists(st.tuples(st.sampled_from([True, False, None]), numbers), min_size=1, max_size=4), st.none() | numbers)
def test_a_case_is_the_value_of_the_first_true_condition(branches, otherwise):
    def value(number):
        return NOTHING if number is None else Constant(number, ColumnType.INTEGER)

    last = () if otherwise is None else (value(otherwise),)
    expected = next((number for condition, number in branches if condition), otherwise)
    term = _case([(condition, value(number)) for condition, number in branches], last, ColumnType.INTEGER)
    assert _both(term) == expected


@given(reals, reals)
def test_a_real_in_a_case_keeps_to_the_limits_of_reals(one, other):
    term = _case([(False, Constant(one, ColumnType.REAL))], (Constant(other, ColumnType.REAL),), ColumnType.REAL)
    flushed = other + casts.FLUSHING - casts.FLUSHING
    assert _both(term) == (flushed if abs(flushed) < casts.LARGEST_REAL else None)
    product = Apply("multiply", (term, term), ColumnType.REAL)
    assert _both(product) is None or abs(_both(product)) < casts.LARGEST_REAL


@pytest.mark.parametrize("engine", DIALECTS)
def test_every_engine_has_a_template_for_each_operator_and_type(engine):
    matches = {(f"{how}_with" if how != "contains" else how, ColumnType.TEXT) for how in ("starts", "ends", "contains")}
    stamps = {(f"truncate_{unit}", ColumnType.TIMESTAMP) for unit in UNITS}
    stamps |= {(f"part_{part}", ColumnType.TIMESTAMP) for part in PARTS}
    dates = {(name, ColumnType.DATE) for name, _ in stamps if not name.endswith(("_hour", "_minute"))}
    assert DIALECTS[engine].functions.keys() == matches | stamps | dates
    assert len(matches) == len(get_args(TextPlace))


def test_one_template_may_serve_every_unit_and_part():
    assert functions.every_unit("f('{1}', {0})")["week"] == "f('week', {0})"
    assert functions.every_part("{1}({0})", "w({0})") == {
        part: "w({0})" if part == "weekday" else f"{part}({{0}})" for part in PARTS
    }


@pytest.mark.parametrize("engine", DIALECTS)
def test_the_text_of_nested_cases_grows_with_their_number_and_quarters_of_quarters_are_refused(engine):
    def nested(depth):
        term = Read("x", ColumnType.REAL)
        for _ in range(depth):
            term = Apply("case", (CONDITIONS[True], term, Constant(0.5, term.type)), term.type)
        return expressions.term(term, DIALECTS[engine])

    assert len(nested(100)) < 12 * len(nested(10))
    day = Read("d", ColumnType.DATE)
    for _ in range(40):
        day = Apply("truncate_quarter", (day,), ColumnType.DATE)
    if engine == "sqlite":
        with pytest.raises(UnsupportedError, match="too long for SQL"):
            expressions.term(day, DIALECTS[engine])
    else:
        assert len(expressions.term(day, DIALECTS[engine])) < expressions.LONGEST_TERM
