"""Features: each a function of its own outcome alone, and all that audits have needed to see is there."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.auditing.statistical.features import MOST_PLACES, Columns, Vocabulary, concatenate, decimals, lowest_bits
from discreet.auditing.statistical.outcomes import IteratorItems, Outcomes, RaisedError
from grids import over
from loops import loops

numbers = st.one_of(
    st.floats(), st.integers(-(2**70), 2**70), st.fractions(max_denominator=64), st.booleans(), st.decimals()
)
shapes = st.one_of(
    numbers,
    st.none(),
    st.text(max_size=3),
    st.text(min_size=199, max_size=202),
    st.complex_numbers(),
    st.sampled_from(["1.5", "-2e3 and nan", "0x1f"]),
    st.lists(st.floats(), max_size=3).map(np.array),
    st.lists(st.one_of(st.floats(), st.lists(st.integers(), max_size=2).map(np.array)), max_size=3),
    st.tuples(st.floats(), st.floats()),
    st.tuples(st.floats(), st.integers()),
    st.lists(st.integers(), max_size=2).map(lambda items: IteratorItems("generator", items)),
    st.integers(2**60, 2**60 + 9),
    st.builds(lambda kind, more: [kind(0.5)] * (9_999 + more), st.sampled_from([int, float]), st.integers(0, 3)),
    st.builds(lambda kind, more: np.zeros(9_999 + more, kind), st.sampled_from([int, float]), st.integers(0, 3)),
    st.just(object()),
    st.lists(st.floats(), max_size=3),
    st.lists(st.integers(-9, 9), min_size=2, max_size=2),
    st.dictionaries(st.sampled_from("ab"), numbers, max_size=2),
    st.builds(RaisedError, st.sampled_from(["ValueError", "KeyError"]), st.text(max_size=2)),
)
blocks = st.one_of(
    st.lists(st.floats(), min_size=1, max_size=5),
    st.lists(st.integers(), min_size=1, max_size=5),
    st.lists(st.integers(2**62, 2**62 + 9), min_size=1, max_size=5),
    st.lists(st.lists(st.floats(), min_size=3, max_size=3), min_size=1, max_size=5),
    st.lists(st.lists(st.integers(2**60, 2**60 + 3), min_size=2, max_size=2), min_size=1, max_size=5),
    st.lists(shapes, min_size=1, max_size=6),
)


def as_text(columns: Columns, row: int) -> dict[str, str]:
    """One outcome's features, those that are not there left out."""
    found = {name: repr(float(column[row])) for name, column in columns.numbers.items() if not np.isnan(column[row])}
    return found | {name: text for name, column in columns.categories.items() if (text := column[row]) is not None}


@pytest.mark.guarantee("auditing.statistical.features")
@settings(deadline=None, max_examples=150)
@given(block=blocks, others=blocks)
def test_what_is_seen_of_an_outcome_does_not_depend_on_its_company(block, others):
    vocabulary = Vocabulary.learn(Outcomes(block), Outcomes(others))
    together = vocabulary.read(Outcomes([*block, *others]))
    for row, value in enumerate(block):
        alone = as_text(vocabulary.read(Outcomes([value])), 0)
        assert as_text(vocabulary.read(Outcomes(block)), row) == alone
        assert as_text(together, row) == alone


LONG = 10_001
ALIKE = {
    "lists of whole numbers": [[7] * LONG, [8] * LONG],
    "lists of doubles": [[0.5] * LONG, [-0.0] * LONG],
    "tuples": [(0.5,) * LONG, (1.5,) * LONG],
    "arrays": [np.zeros(LONG), np.arange(LONG) / 3],
    "arrays of whole numbers": [np.full(LONG, 2**60 + 1), np.full(LONG, 2**60)],
    "arrays of small numbers": [np.ones(3, "int8"), np.zeros(3, "int8")],
    "arrays of bits": [np.ones(3, bool), np.zeros(3, bool)],
    "arrays of single precision": [np.ones(3, "float32") / 3, np.zeros(3, "float32")],
    "arrays inside of lists": [[np.zeros(LONG)], [np.ones(LONG)]],
    "lists as long as can be": [[0.5] * (LONG - 1), [1.5] * (LONG - 1)],
    "matrices": [np.zeros((2, 2)), np.eye(2)],
}


@pytest.mark.guarantee("auditing.statistical.features")
@over("alike", ALIKE)
@over("stranger", [None, "a", [1, None], {"a": 1}, 0.5])
def test_outcomes_that_are_read_as_an_array_are_read_the_same_beside_a_stranger(alike, stranger):
    values = ALIKE[alike]
    vocabulary = Vocabulary.learn(Outcomes(values[:1]), Outcomes(values[1:]))
    together, beside = vocabulary.read(Outcomes(values)), vocabulary.read(Outcomes([*values, stranger]))
    for row in range(2):
        alone = as_text(vocabulary.read(Outcomes(values[row : row + 1])), 0)
        assert as_text(together, row) == alone
        assert as_text(beside, row) == alone


@pytest.mark.parametrize("rows", [np.arange(6.0), np.arange(6.0).reshape(3, 2), np.arange(3), np.ones((2, 2), bool)])
def test_a_batch_in_one_array_is_read_as_its_rows_are(rows):
    vocabulary = Vocabulary.learn(Outcomes(rows), Outcomes(rows))
    batch, one_by_one = vocabulary.read(Outcomes(rows)), vocabulary.read(Outcomes([*rows, None]))
    assert [as_text(batch, row) for row in range(len(rows))] == [as_text(one_by_one, row) for row in range(len(rows))]


@settings(deadline=None, max_examples=100)
@given(block=blocks, others=blocks)
def test_parts_that_are_joined_are_what_is_read_together(block, others):
    vocabulary = Vocabulary.learn(Outcomes(block), Outcomes(others))
    parts = concatenate([vocabulary.read(Outcomes(block)), vocabulary.read(Outcomes(others))])
    together = vocabulary.read(Outcomes([*block, *others]))
    assert parts.count == together.count
    assert [as_text(parts, row) for row in range(parts.count)] == [as_text(together, row) for row in range(parts.count)]


def read(*values):
    outcomes = Outcomes(list(values))
    return Vocabulary.learn(outcomes, outcomes).read(outcomes)


@pytest.mark.parametrize(
    ("number", "bit"),
    [
        (1.0, 0),
        (0.5, -1),
        (0.1, -55),
        (6.0, 1),
        (-12, 2),
        (2**80 + 2**70, 70),
        (5e-324, -1074),
        (0.0, math.inf),
        (0, math.inf),
        (Fraction(3, 8), -3),
        (Fraction(1, 3), -math.inf),
        (Decimal("0.25"), -2),
        (Decimal("0.1"), -math.inf),
        (np.int64(-(2**63)), 63),
        (True, 0),
    ],
    ids=repr,
)
def test_the_lowest_set_bit_of_any_number(number, bit):
    assert read(number).numbers["lowest bit"][0] == bit


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False).filter(bool))
def test_the_lowest_bit_of_a_double_is_that_of_its_fraction(number):
    exact = Fraction(number)
    bit = int(lowest_bits(np.array([number]))[0])
    assert (exact / Fraction(2) ** bit).denominator == 1
    assert (exact / Fraction(2) ** bit).numerator % 2 == 1


@pytest.mark.parametrize("kind", ["int8", "int64", "uint8", "uint64", "float32", "float64", "bool"])
def test_the_lowest_bit_of_every_type_of_array(kind):
    assert lowest_bits(np.array([0, 1], dtype=kind)).tolist() == [math.inf, 0]


def test_numbers_that_are_not_finite_have_no_lowest_bit():
    assert np.isnan(lowest_bits(np.array([math.nan, math.inf, -math.inf]))).all()


def test_decimals_are_counted_up_to_six():
    values = np.array([3.0, 0.5, 0.25, 1.1, 0.000001, 0.0000001, math.pi, math.nan, math.inf, 1e300])
    assert decimals(values).tolist() == [0, 1, 2, 1, 6, 7, 7, 7, 7, 0]


def test_nans_and_infinities_are_seen():
    columns = read(math.nan, math.inf, -math.inf, 10**400, -(10**400), 1.0)
    assert columns.numbers["NaNs"].tolist() == [1, 0, 0, 0, 0, 0]
    assert columns.numbers["+infinities"].tolist() == [0, 1, 0, 1, 0, 0]
    assert columns.numbers["-infinities"].tolist() == [0, 0, 1, 0, 1, 0]


def test_errors_types_and_texts_are_categories():
    columns = read(RaisedError("ValueError", "of x at 0x7f01"), None, "a", 1.5)
    assert columns.numbers["length of error text"].tolist()[0] == 14
    assert columns.numbers["length of value"].tolist()[2] == 1
    assert columns.categories["error"].tolist() == ["ValueError", None, None, None]
    assert columns.categories["error text"].tolist() == ["of x at 0x7f01", None, None, None]
    assert columns.categories["type"].tolist() == [None, "NoneType", "str", "float"]
    assert columns.categories["text of value"].tolist() == [None, None, "a", None]


def test_long_texts_are_told_apart_by_a_digest_of_the_whole():
    columns = read("x" * 200 + "a", "x" * 200 + "b", "x" * 200)
    assert len(set(columns.categories["text of value"])) == 3
    assert columns.numbers["length of value"].tolist() == [201, 201, 200]


def test_numbers_in_texts_are_numbers_with_a_lowest_bit():
    columns = read('{"n": 0.1}', '{"n": 2}')
    assert columns.numbers["value number 0"].tolist() == [0.1, 2]
    assert columns.numbers["lowest bit"].tolist() == [-55, 1]


@pytest.mark.parametrize("near", [2**60 + 1, Fraction(1, 3), Decimal(1) / 3, np.int64(2**60 + 1)], ids=repr)
def test_numbers_that_doubles_do_not_tell_apart_are_measured_from_an_origin(near):
    step = 2 if near > 1 else type(near)(1) / 10**20
    columns = read(near, near + step, near)
    (measured,) = (column for name, column in columns.numbers.items() if name.startswith("value - "))
    assert measured[0] == measured[2] != measured[1]
    assert abs(measured[1] - measured[0]) == pytest.approx(float(step))


def test_of_many_large_numbers_the_one_that_differs_is_looked_at():
    row = [2**60 + 1] * 200
    learned = Vocabulary.learn(Outcomes([row] * 3), Outcomes([[*row[:150], 2**60 + 3, *row[151:]]] * 3))
    assert "value[150]" in learned.places
    assert set(learned.origins) == {"value[150]"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 1}, {"b": 1, "a": 1}),
        ({"a": None}, {}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1}, {"a": True}),
        ([1, 1.0, 1.0], [1, 1, 1.0]),
        ([(1, 2)], [[1, 2]]),
        (pa.table({"k": ["a", "b"], "n": [1, 1]}), pa.table({"k": ["b", "a"], "n": [1, 1]})),
        (pa.table({"n": pa.array([1], "int32")}), pa.table({"n": pa.array([1], "int64")})),
        (IteratorItems("generator", [1]), IteratorItems("map", [1])),
        (np.zeros(2, "float32"), np.zeros(2, "float64")),
    ],
    ids=str,
)
def test_order_and_types_inside_of_outcomes_are_a_category(one, other):
    assert len(set(read(one, other, one).categories["structure"])) == 2


def test_the_sign_of_zero_is_counted():
    assert read([0.0, -0.0], [0.0, 0.0], [-0.0, Decimal("-0")]).numbers["negative zeros"].tolist() == [1, 0, 2]


def test_keys_that_come_and_go_are_seen_and_new_ones_too():
    known = Outcomes([{"a": 1}, {"a": 1, "b": 2}])
    columns = Vocabulary.learn(known, known).read(Outcomes([{"a": 1}, {"b": 2, "new": 3}]))
    assert columns.numbers["present value['a']"].tolist() == [1, 0]
    assert columns.numbers["present value['b']"].tolist() == [0, 1]
    assert columns.numbers["elsewhere"].tolist() == [0, 1]
    assert columns.numbers["length"].tolist() == [1, 2]


def test_of_many_places_those_that_differ_are_looked_at():
    one = {f"k{place}": 0 for place in range(500)}
    other = one | {"k377": 5}
    missing = {name: value for name, value in one.items() if name != "k401"}
    assert Vocabulary.learn(Outcomes([one] * 9), Outcomes([other] * 9)).places.index("value['k377']") <= MOST_PLACES / 2
    assert Vocabulary.learn(Outcomes([one] * 9), Outcomes([missing] * 9)).places[0] == "value['k401']"
    row = np.zeros(500)
    moved = row + (np.arange(500) == 123)
    learned = Vocabulary.learn(Outcomes(np.array([row, row])), Outcomes(np.array([moved, moved])))
    assert learned.places[0] == "value[123]"
    assert len(learned.places) == MOST_PLACES


def test_sums_and_ends_are_those_of_all_numbers():
    columns = read([1.0, 5.0, math.nan], [2.0, -3.0])
    assert columns.numbers["sum"].tolist() == [6, -1]
    assert columns.numbers["smallest"].tolist() == [1, -3]
    assert columns.numbers["largest"].tolist() == [5, 2]


def test_vectors_are_read_alike_as_lists_as_arrays_and_as_a_matrix():
    matrix = np.array([[1.5, 2.0], [0.25, -1.0]])
    ways = [matrix, [list(row) for row in matrix.tolist()], [tuple(row) for row in matrix.tolist()], list(matrix)]
    read_as = [Vocabulary(("value[0]", "value[1]")).read(Outcomes(way)).numbers for way in ways]
    for other in read_as[1:]:
        assert {name: column.tolist() for name, column in other.items()} == {
            name: column.tolist() for name, column in read_as[0].items()
        }


def test_times_are_a_feature_only_where_they_are_asked_for():
    outcomes = Outcomes([1.0, 2.0], np.array([0.5, 0.25]))
    vocabulary = Vocabulary(("value",))
    assert "seconds" not in vocabulary.read(outcomes).numbers
    assert vocabulary.read(outcomes, times=True).numbers["seconds"].tolist() == [0.5, 0.25]


@pytest.mark.timing
def test_reading_costs_little():
    """100,000 numbers and 20,000 mappings: the bounds are nine times what they take, 0.6 and 4 loops."""
    plain, mappings = Outcomes([0.1] * 100_000), Outcomes([{"a": 1, "b": 0.5}] * 20_000)
    assert loops(lambda: Vocabulary(("value",)).read(plain)) < 6
    assert loops(lambda: Vocabulary(("value['a']", "value['b']")).read(mappings)) < 36
