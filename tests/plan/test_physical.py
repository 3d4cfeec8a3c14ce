"""One text for one question: two questions that differ never share a digest."""

import datetime as dt
import json
import subprocess
import sys
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps
from discreet.plan.canonical_values import plain, sha256
from discreet.plan.fingerprint import canonical, digest
from discreet.plan.physical import (
    Apply,
    Constant,
    CountRows,
    CountUnits,
    CountValues,
    Keys,
    MissingUnits,
    Operator,
    Pushdown,
    Read,
    Scan,
    SumSteps,
)

patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

texts = st.text(st.characters(codec="utf-8"), max_size=4)
values = (
    st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, 1.0, 0.5, -1.0])
    | st.sampled_from(["", "1", "1.0", "true", "2026-01-01", "null", '{"real":"0x1.0p+0"}', "1/1"])
    | texts
    | st.sampled_from([dt.date(2026, 1, 1), dt.datetime(2026, 1, 1)])  # noqa: DTZ001 - naive
)
types = st.sampled_from(ColumnType)
reads = st.builds(Read, texts, types)
terms = st.recursive(
    reads | st.builds(Constant, values, types),
    lambda inner: st.builds(Apply, st.sampled_from(get_args(Operator)), st.lists(inner, max_size=3).map(tuple), types),
    max_leaves=4,
)
keys = st.none() | values.filter(lambda value: not isinstance(value, float))
caps = st.builds(Caps, *[st.none() | st.integers(1, 2)] * 3)
fractions = st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(2)])
measures = (
    st.builds(CountRows, st.none() | terms)
    | st.builds(CountUnits)
    | st.builds(CountValues, terms, st.lists(keys, max_size=2).map(tuple))
    | st.builds(SumSteps, terms, fractions, *[st.integers(0, 1)] * 3, st.none() | st.integers(0, 1))
)
scans = st.builds(
    Scan,
    texts,
    st.integers(1, 2),
    st.lists(reads, max_size=2).map(tuple),
    st.lists(texts, max_size=2).map(tuple),
    st.sampled_from(MissingUnits),
    st.none() | st.integers(1, 2),
)
questions = st.builds(
    Pushdown,
    scans,
    st.none() | terms,
    st.builds(Keys, st.lists(terms, max_size=2).map(tuple), st.lists(st.tuples(keys), max_size=2).map(tuple)),
    caps,
    st.lists(measures, max_size=2).map(tuple),
)


def _told_apart(thing: object) -> object:
    """The same thing with the type of every part beside it: the oracle, to which True, 1 and 1.0 are three things."""
    if is_dataclass(thing):
        return type(thing).__name__, tuple(_told_apart(getattr(thing, f.name)) for f in fields(thing))
    if isinstance(thing, tuple):
        return "tuple", tuple(_told_apart(part) for part in thing)
    if isinstance(thing, Enum):
        return "enum", str(thing)
    return type(thing).__name__, repr(thing)


@patiently
@given(values | fractions, values | fractions)
def test_two_constants_have_one_text_only_where_they_are_the_same(one, other):
    assert (canonical(one) == canonical(other)) == (_told_apart(one) == _told_apart(other))


@patiently
@given(terms, terms)
def test_two_terms_have_one_text_only_where_they_are_the_same(one, other):
    assert (canonical(one) == canonical(other)) == (_told_apart(one) == _told_apart(other))


@patiently
@given(questions, questions)
def test_two_questions_share_a_digest_only_where_they_are_the_same(one, other):
    assert (digest(one) == digest(other)) == (_told_apart(one) == _told_apart(other))


@patiently
@given(questions, st.data())
def test_a_question_changed_in_one_place_has_another_digest(question, data):
    part = data.draw(st.sampled_from([f.name for f in fields(Pushdown)]))
    strategies = {
        "scan": scans,
        "predicate": st.none() | terms,
        "keys": st.builds(Keys, rows=st.lists(st.tuples(keys), max_size=2).map(tuple)),
        "caps": caps,
        "measures": st.lists(measures, max_size=2).map(tuple),
    }
    changed = Pushdown(**vars(question) | {part: data.draw(strategies[part])})
    assert (digest(changed) == digest(question)) == (_told_apart(changed) == _told_apart(question))


def test_texts_that_imitate_other_values_are_told_apart():
    alike = [1, True, 1.0, Fraction(1), "1", "true", "1.0", "1/1", None, "null", (1,), '{"ratio":"1"}', "[1]"]
    dates = [dt.date(2026, 1, 1), dt.datetime(2026, 1, 1), "2026-01-01", "2026-01-01T00:00:00"]  # noqa: DTZ001 - naive
    assert len({canonical(value) for value in [*alike, *dates]}) == len(alike) + len(dates)


def test_the_last_bit_of_a_constant_is_part_of_the_question():
    assert canonical(0.1) != canonical(0.1 + 2**-56)
    assert canonical(2**53) != canonical(2**53 + 1)


def test_the_text_is_json_in_a_fixed_order():
    term = Apply("ge", (Read("age", ColumnType.INTEGER), Constant(40, ColumnType.INTEGER)), ColumnType.BOOLEAN)
    data = json.loads(canonical(term))
    assert data["is"] == "Apply"
    assert list(data) == sorted(data)
    assert data["arguments"][0] == {"is": "Read", "column": "age", "type": "integer"}


def test_what_is_not_in_the_vocabulary_has_no_text():
    with pytest.raises(TypeError):
        canonical(object())


def test_a_digest_is_the_same_in_every_process():
    code = (
        "from discreet.plan.fingerprint import digest\n"
        "from discreet.plan.physical import *\nfrom discreet.catalog.privacy_unit import Caps\n"
        "scan = Scan('t', 1, (), ('id',), MissingUnits.DROP, 3)\n"
        "print(digest(Pushdown(scan, None, Keys(), Caps(3), (CountRows(),))))"
    )
    run = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    assert run[0].stdout == run[1].stdout
    assert len(run[0].stdout.strip()) == 64


def test_a_question_reads_no_column_but_those_of_its_scan():
    scan = Scan("t", 1, (Read("a", ColumnType.TEXT), Read("id", ColumnType.TEXT)), ("id",), MissingUnits.DROP, None)
    assert Pushdown(scan, None, Keys(), Caps(), (CountUnits(),)).columns_read == ("a", "id")


@pytest.mark.parametrize(
    "values",
    [
        range(-5, 1_005),
        [10**30 + i for i in range(1_001)],
        [True, *range(2, 1_002)],
        [None, *range(1_001)],
        [f"ä{i}" for i in range(1_001)],
        [dt.date(2026, 1, 1) + dt.timedelta(days=i) for i in range(1_001)],
    ],
    ids=lambda values: str(values[0]),
)
def test_many_keys_have_the_digest_of_their_text(values):
    keys = Keys((Read("k", ColumnType.INTEGER),), tuple((value,) for value in values))
    assert keys.canonical_rows == {"count": len(keys.rows), "sha256": sha256(plain(keys.rows))}
    pairs = Keys((Read("k", ColumnType.INTEGER),) * 2, tuple((value, 1) for value in values))
    assert pairs.canonical_rows == {"count": len(keys.rows), "sha256": sha256(plain(pairs.rows))}


def test_keys_are_read_by_rows_or_by_columns():
    keys = Keys((Read("k", ColumnType.INTEGER), Read("m", ColumnType.TEXT)), ((1, "a"), (2, None)))
    assert keys.values == ([1, 2], ["a", None])
    assert keys.has_missing == (False, True)
    assert Keys().values == Keys().has_missing == ()
