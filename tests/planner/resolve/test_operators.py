"""Branches of a case have one type, text is matched with text, and only dates and timestamps have units and parts."""

import datetime as dt

import pytest

import discreet as dp
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.errors import KeysError, ParameterError, Refusal, TypeMismatchError
from discreet.plan import logical
from discreet.plan.fingerprint import canonical
from discreet.plan.physical import Apply, Constant, Read, case_parts
from discreet.planner.resolve import operators
from discreet.planner.resolve.binding import bind

CATALOG = Catalog.parse("""
tables:
  t:
    privacy_unit: id
    columns:
      id: {type: text}
      i: {type: integer}
      r: {type: real}
      s: {type: text}
      k: {type: text, keys: [A, B]}
      b: {type: boolean}
      d: {type: date}
      z: {type: timestamp}
      doc: {type: document}
""")
t = dp.table("t")
DAY = dt.date(2026, 1, 31)


def _term(expression):
    return bind(t.agg(n=dp.count()).plan.source, CATALOG).term(expression.node)


def _values(expression):
    branches, otherwise = case_parts(_term(expression))
    return [*(value for _, value in branches), otherwise]


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        (dp.when(t.b, 1).otherwise(0), "integer"),
        (dp.when(t.b, t.i), "integer"),
        (dp.when(t.b, t.i).otherwise(0.5), "real"),
        (dp.when(t.b, t.i).otherwise(t.r), "real"),
        (dp.when(t.b, "A").otherwise(t.s), "text"),
        (dp.when(t.b, "2026-01-31"), "text"),
        (dp.when(t.b, "2026-01-31").otherwise(t.d), "date"),
        (dp.when(t.b, t.d).otherwise(t.z), "timestamp"),
        (dp.when(t.b, "2026-01-31").when(t.b, t.d).otherwise(t.z), "timestamp"),
        (dp.when(t.b, t.b).otherwise(False), "boolean"),
        (t.r.fill_missing(0), "real"),
        (dp.when(t.b, dp.when(t.b, 1)).otherwise(0.5), "real"),
    ],
    ids=str,
)
def test_the_branches_of_a_case_are_brought_to_one_type(case, kind):
    term = _term(case)
    assert (term.operator, term.type) == ("case", ColumnType(kind))
    assert {value.type for value in _values(case) if value is not None} == {ColumnType(kind)}


def test_a_case_has_conditions_and_values_in_turn_and_an_otherwise_at_the_end():
    b, one = Read("b", ColumnType.BOOLEAN), Constant(1, ColumnType.INTEGER)
    assert _term(dp.when(t.b, 1)).arguments == (b, one)
    assert _term(dp.when(t.b, 1).when(t.b, 1).otherwise(1)).arguments == (b, one, b, one, one)


def test_a_text_beside_a_date_is_read_as_one():
    assert _values(dp.when(t.b, t.d).otherwise("2026-01-31"))[1] == Constant(DAY, ColumnType.DATE)
    with pytest.raises(TypeMismatchError, match="'soon' in a branch"):
        _term(dp.when(t.b, t.d).otherwise("soon"))


@pytest.mark.parametrize(
    ("case", "instead"),
    [
        (dp.when(t.b, 1).otherwise("A"), "dp.when(table.age >= 18, 1)"),
        (dp.when(t.b, t.s).otherwise(1), "table['s'].cast('integer') beside 1"),
        (dp.when(t.b, t.i).otherwise(t.s), "table['i'].cast('text') beside table['s']"),
        (dp.when(t.b, True).otherwise(1), "dp.when(table.age >= 18, 1)"),
        (dp.when(t.b, t.d).otherwise(t.s), "table['d'].cast('text') beside table['s']"),
        (dp.when(t.b, t.d).otherwise(3), "dp.when(table.age >= 18, 1)"),
    ],
    ids=str,
)
def test_branches_of_different_types_are_refused(case, instead):
    with pytest.raises(TypeMismatchError, match="the branches of a conditional value have one type") as refusal:
        _term(case)
    assert refusal.value.instead.startswith(instead)


def test_conditions_are_true_or_false_and_documents_are_no_values():
    with pytest.raises(TypeMismatchError, match="when of table\\['i'\\], which is of type integer"):
        _term(dp.when(t.i, 1))
    with pytest.raises(TypeMismatchError, match="documents"):
        _term(t.doc.fill_missing("x"))
    with pytest.raises(KeysError, match="'C' beside"):
        _term(dp.when(t.k == "C", 1))
    with pytest.raises(ParameterError, match="at least one condition"):
        operators.case((), None)


@pytest.mark.parametrize("call", ["starts_with", "ends_with", "contains"])
def test_only_text_is_matched_with_text_that_every_engine_can_hold(call):
    wanted = Constant("é%", ColumnType.TEXT)
    assert _term(getattr(t.s, call)("é%")) == Apply(call, (Read("s", ColumnType.TEXT), wanted), ColumnType.BOOLEAN)
    for column in (t.i, t.r, t.b, t.d, t.z, t.doc):
        with pytest.raises(TypeMismatchError, match="only text"):
            _term(getattr(column, call)("A"))
    for text in ("a\0b", "\ud800"):
        with pytest.raises(ParameterError, match="NUL or half a character"):
            _term(getattr(t.s, call)(text))


@pytest.mark.parametrize("text", ["", "x" * 1_001])
def test_a_plan_that_was_built_by_hand_has_texts_of_the_same_length(text):
    with pytest.raises(ParameterError, match="1 to 1,000 characters"):
        bind(logical.TableRef("t"), CATALOG).term(logical.TextMatch(logical.ColumnRef("s"), "contains", text))


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week", "day"])
def test_a_date_stays_a_date_and_a_timestamp_a_timestamp(unit):
    for column, kind in ((t.d, ColumnType.DATE), (t.z, ColumnType.TIMESTAMP)):
        term = _term(column.truncate(unit))
        assert (term.operator, term.type) == (f"truncate_{unit}", kind)


@pytest.mark.parametrize("part", ["year", "quarter", "month", "day", "weekday", "hour"])
def test_a_part_of_a_timestamp_is_an_integer(part):
    assert _term(t.z.part(part)) == Apply(f"part_{part}", (Read("z", ColumnType.TIMESTAMP),), ColumnType.INTEGER)


def test_a_date_has_no_hours_and_other_types_have_no_calendar():
    for expression in (t.d.truncate("hour"), t.d.truncate("minute"), t.d.part("hour")):
        with pytest.raises(TypeMismatchError, match=r"a date has no (hour|minute)"):
            _term(expression)
    for column in (t.i, t.r, t.b, t.s, t.doc):
        for expression in (column.truncate("month"), column.part("month")):
            with pytest.raises(TypeMismatchError, match="only dates and timestamps") as refusal:
                _term(expression)
            assert (".cast('date')." in refusal.value.instead) is (column is t.s or "'s'" in refusal.value.what)


def test_the_unit_the_part_the_place_and_the_text_are_in_the_fingerprint():
    expressions = [
        *(t.z.truncate(unit) for unit in ("year", "quarter", "month", "week", "day", "hour", "minute")),
        *(t.z.part(part) for part in ("year", "quarter", "month", "day", "weekday", "hour")),
        *(t.s.starts_with("a"), t.s.ends_with("a"), t.s.contains("a"), t.s.contains("A")),
        *(dp.when(t.b, 1), dp.when(t.b, 1).otherwise(0), dp.when(t.b, 0).otherwise(1), dp.when(~t.b, 1)),
        *(dp.when(t.b, 1.0), dp.when(t.b, True), dp.when(t.b, "1"), t.i.fill_missing(1), t.i.fill_missing(t.i)),
    ]
    assert len({canonical(_term(each)) for each in expressions}) == len(expressions)
    assert len({canonical(each.node) for each in expressions}) == len(expressions)


def test_a_case_that_doubles_with_every_derived_column_is_refused():
    frame = t
    for _ in range(40):
        frame = frame.derive(i=frame.i.fill_missing(0))
    with pytest.raises(Refusal, match="parts"):
        bind(frame.agg(n=dp.count()).plan.source, CATALOG)
