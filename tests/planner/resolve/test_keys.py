"""Groups come from public keys alone, every key is answered, and keys of a redefined column are nobody's."""

import datetime as dt
import time

import pyarrow as pa
import pytest

import discreet as dp
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.errors import KeysError, NameNotFoundError, ParameterError, Refusal, TypeMismatchError
from discreet.plan import logical
from discreet.plan.physical import Keys, Read
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.keys import resolve

CATALOG = Catalog.parse("""
tables:
  t:
    privacy_unit: id
    columns:
      id: {type: text}
      ward: {type: text, keys: [A, B, C, null]}
      i: {type: integer}
      two: {type: integer, keys: [2, 1]}
      b: {type: boolean}
      d: {type: date, keys: [2026-01-31, 2026-02-01]}
      z: {type: timestamp}
      s: {type: text}
      r: {type: real}
      doc: {type: document}
""")
t = dp.table("t")
DAY, NEXT = dt.date(2026, 1, 31), dt.date(2026, 2, 1)


def _keys(*columns: str, frame=t, **options) -> Keys:
    query = frame.group_by(*columns, **options).agg(n=dp.count()).plan
    return resolve(query.grouping, bind(query.source, CATALOG))


def _refused(*columns: str, frame=t, **options) -> Refusal:
    with pytest.raises(Refusal) as caught:
        _keys(*columns, frame=frame, **options)
    return caught.value


def test_without_a_grouping_there_is_one_row_for_everything():
    assert resolve(logical.Grouping(), bind(logical.TableRef("t"), CATALOG)) == Keys((), ((),))


def test_keys_of_the_catalog_are_answered_in_their_order_with_the_missing_one():
    assert _keys("ward") == Keys((Read("ward", ColumnType.TEXT),), (("A",), ("B",), ("C",), (None,)))
    assert _keys("two").rows == ((2,), (1,))


def test_keys_given_with_the_query_narrow_and_reorder_those_of_the_catalog():
    assert _keys("ward", keys={"ward": ["C", None, "A"]}).rows == (("C",), (None,), ("A",))
    assert _keys("i", keys={"i": range(3)}).rows == ((0,), (1,), (2,))


def test_several_columns_are_crossed_and_every_combination_is_answered():
    assert _keys("two", "b").rows == ((2, False), (2, True), (1, False), (1, True))
    assert _keys("b", "i", keys={"i": [7]}).rows == ((False, 7), (True, 7))


def test_booleans_have_two_keys_of_their_own():
    assert _keys("b").rows == ((False,), (True,))
    assert _keys("b", keys={"b": [True, None]}).rows == ((True,), (None,))
    assert _keys("old", frame=t.derive(old=t.i >= 40)).rows == ((False,), (True,))


def test_rows_of_a_public_table_are_answered_and_no_others():
    table = pa.table({"ward": ["A", "B", "A"], "i": [1, 2, 1]})
    assert _keys("ward", "i", keys=table).rows == (("A", 1), ("B", 2))
    assert _keys("i", "ward", keys=table).rows == ((1, "A"), (2, "B"))


@pytest.mark.pitfall("A11")
@pytest.mark.parametrize("column", ["i", "s", "z"])
def test_keys_that_are_not_public_are_refused_with_code_of_the_right_type(column):
    refusal = _refused(column)
    assert isinstance(refusal, KeysError)
    code = refusal.instead.partition(", or declare")[0]
    assert eval(f"t.{code}", {"t": t})  # noqa: S307 - our own words, on a frame without data
    names = {"t": t, "dp": dp}
    query = eval(f"t.{code}.agg(n=dp.count())", names).plan  # noqa: S307 - our own words
    assert resolve(query.grouping, bind(query.source, CATALOG)).rows


@pytest.mark.pitfall("A8")
@pytest.mark.parametrize("redefined", [t.s, t.ward, t.i.cast("text")])
def test_the_keys_of_a_column_do_not_outlive_its_redefinition(redefined):
    assert isinstance(_refused("ward", frame=t.derive(ward=redefined)), KeysError)
    assert _keys("ward", frame=t.derive(ward=redefined), keys={"ward": ["anything"]}).rows == (("anything",),)


def test_a_column_under_another_name_has_no_keys_of_the_catalog():
    assert isinstance(_refused("w", frame=t.derive(w=t.ward)), KeysError)


def test_a_key_that_the_catalog_does_not_declare_is_refused_with_those_that_it_does():
    refusal = _refused("ward", keys={"ward": ["A", "Z"]})
    assert isinstance(refusal, KeysError)
    assert "'Z'" in refusal.what
    assert "['A', 'B', 'C', None]" in refusal.instead
    assert isinstance(_refused("ward", keys=pa.table({"ward": ["A", "Z"]})), KeysError)


def test_dates_given_as_text_are_the_declared_dates():
    assert _keys("d", keys={"d": ["2026-02-01"]}).rows == ((NEXT,),)
    assert _keys("d").rows == ((DAY,), (NEXT,))
    assert isinstance(_refused("d", keys={"d": ["2026-03-01"]}), KeysError)


@pytest.mark.parametrize(
    ("column", "key"),
    [
        ("i", "1"),
        ("i", True),
        ("i", 1.5),
        ("i", 1.0),
        ("s", 1),
        ("b", 1),
        ("b", "true"),
        ("d", 5),
        ("z", DAY),
        ("i", 2**63),
    ],
)
def test_keys_of_another_type_are_refused(column, key):
    assert isinstance(_refused(column, keys={column: [key]}), TypeMismatchError)


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_keys_that_no_engine_holds_are_refused(text):
    assert isinstance(_refused("s", keys={"s": [text]}), ParameterError)


@pytest.mark.parametrize("column", ["r", "doc"])
def test_columns_without_keys_are_no_groups(column):
    refusal = _refused(column, keys={column: [1]})
    assert isinstance(refusal, TypeMismatchError)
    if column == "r":
        frame = eval(f"table.{refusal.instead}", {"table": t})  # noqa: S307 - our own words
        assert _keys("r", frame=frame, keys={"r": [1]}).rows == ((1,),)


def test_a_grouping_column_that_is_not_there_is_refused():
    assert isinstance(_refused("wardd"), NameNotFoundError)


@pytest.mark.parametrize("keys", [{"i": [1, 2, 1]}, {"s": ["A", "A"]}, {"b": [None, None]}])
def test_a_key_that_is_given_twice_is_refused_and_named(keys):
    (column,) = keys
    assert "twice" in _refused(column, keys=keys).what


def test_two_spellings_of_one_moment_are_one_key():
    noon = [dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC), "2026-01-31 12:00"]
    assert "twice" in _refused("z", keys={"z": noon}).what


@pytest.mark.parametrize("keys", [{"i": []}, pa.table({"i": pa.array([], pa.int64())})])
def test_a_grouping_without_keys_is_refused(keys):
    assert "0 keys" in _refused("i", keys=keys).what


@pytest.mark.pitfall("D")
@pytest.mark.timing
def test_ten_million_groups_are_refused_before_they_are_built():
    start = time.perf_counter()
    refusal = _refused("i", "two", "b", keys={"i": range(1_250_000)})
    assert "5,000,000 keys" in refusal.what
    assert isinstance(_refused("i", keys={"i": range(10**12)}), KeysError)
    assert time.perf_counter() - start < 30
