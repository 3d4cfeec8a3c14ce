"""Names are resolved where they stand, types are checked before anything is read, and no name outlives its meaning."""

import datetime as dt
import functools
import itertools
import re

import pytest

import discreet as dp
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.errors import NameNotFoundError, ParameterError, Refusal, TypeMismatchError
from discreet.plan import logical
from discreet.plan.fingerprint import canonical
from discreet.plan.physical import Apply, Constant, Read
from discreet.planner.resolve.binding import bind, constant, key_constant, reads
from discreet.query.frame import Expr
from grids import over

CATALOG = Catalog.parse("""
tables:
  t:
    privacy_unit: id
    columns:
      id: {type: text}
      i: {type: integer}
      j: {type: integer}
      r: {type: real}
      s: {type: text}
      b: {type: boolean}
      d: {type: date}
      z: {type: timestamp}
      doc: {type: document}
      bin: {type: binary}
""")
t = dp.table("t")
NAMES = {"i": "integer", "r": "real", "s": "text", "b": "boolean", "d": "date", "z": "timestamp"}
CASTS = {
    ("integer", "real"),
    ("integer", "text"),
    ("real", "integer"),
    ("text", "integer"),
    ("text", "real"),
    ("text", "date"),
    ("text", "timestamp"),
    ("boolean", "integer"),
    ("date", "timestamp"),
    ("date", "text"),
    ("timestamp", "date"),
}
WHOLE, REAL = Read("i", ColumnType.INTEGER), Read("r", ColumnType.REAL)


def _bound(frame):
    return bind(frame.agg(n=dp.count()).plan.source, CATALOG)


def _term(expression: Expr):
    return _bound(t).term(expression.node)


def _refused(expression: Expr) -> Refusal:
    with pytest.raises(Refusal) as caught:
        _term(expression)
    return caught.value


class TestNames:
    def test_a_table_or_column_that_is_not_there_is_refused_with_the_nearest(self):
        with pytest.raises(NameNotFoundError, match="'T'"):
            _bound(dp.table("T"))
        assert _refused(t.ii).instead == 'table["i"]'

    def test_conditions_are_joined_in_the_order_in_which_they_were_written(self):
        predicate = _bound(t.where(t.i > 1).where(t.i > 2, t.i > 3)).predicate
        constants = [predicate.arguments[0].arguments[0], predicate.arguments[0].arguments[1], predicate.arguments[1]]
        assert [c.arguments[1].value for c in constants] == [1, 2, 3]

    def test_a_derived_column_is_substituted_so_that_terms_read_only_the_source(self):
        scope = _bound(t.derive(tens=t.i / 10).derive(more=t.tens + t.r).where(t.more > 0))
        assert set(reads(scope.predicate)) == {WHOLE, REAL}
        assert scope.term(logical.ColumnRef("tens")).operator == "divide"

    @pytest.mark.pitfall("A8")
    def test_a_condition_keeps_the_meaning_that_its_names_had_where_it_was_written(self):
        before = _bound(t.where(t.i > 1).derive(i=t.j))
        after = _bound(t.derive(i=t.j).where(t.i > 1))
        assert reads(before.predicate) == (WHOLE,)
        assert reads(after.predicate) == (Read("j", ColumnType.INTEGER),)

    @pytest.mark.pitfall("A8")
    def test_a_column_can_be_derived_from_the_one_that_it_replaces(self):
        scope = _bound(t.derive(i=t.i + 1).derive(i=t.i * 2))
        term = scope.term(logical.ColumnRef("i"))
        assert (term.operator, term.arguments[0].operator, reads(term)) == ("multiply", "add", (WHOLE,))

    @pytest.mark.pitfall("A8")
    def test_columns_can_be_swapped_step_by_step(self):
        scope = _bound(t.derive(k=t.i, i=t.j, j=t.k))
        assert scope.term(logical.ColumnRef("i")) == Read("j", ColumnType.INTEGER)
        assert scope.term(logical.ColumnRef("j")) == WHOLE

    def test_a_derived_column_has_the_type_of_its_expression_and_not_the_declared_one(self):
        scope = _bound(t.derive(i=t.s))
        with pytest.raises(TypeMismatchError):
            scope.term((t.i + 1).node)

    def test_a_redefined_unit_column_leaves_the_source_column_alone(self):
        scope = _bound(t.derive(id=t.s))
        assert scope.table.unit.columns == ("id",)
        assert scope.term(logical.ColumnRef("id")) == Read("s", ColumnType.TEXT)


class TestTypes:
    @over(("one", "other"), [*itertools.product(NAMES, NAMES)])
    def test_two_columns_compare_where_their_types_do(self, one, other):
        numbers, times = {"integer", "real"}, {"date", "timestamp"}
        kinds = {NAMES[one], NAMES[other]}
        if len(kinds) == 1 or kinds <= numbers or kinds <= times:
            term = _term(t[one] == t[other])
            assert term.type is ColumnType.BOOLEAN
            assert len({argument.type for argument in term.arguments}) == 1
        else:
            assert isinstance(_refused(t[one] == t[other]), TypeMismatchError)

    @over("name", NAMES)
    @over("compare", ["__lt__", "__le__", "__gt__", "__ge__"])
    def test_only_numbers_and_times_have_an_order(self, name, compare):
        expression = getattr(t[name], compare)(t[name])
        if NAMES[name] in ("text", "boolean"):
            assert "order" in _refused(expression).because
        else:
            assert _term(expression).type is ColumnType.BOOLEAN

    @pytest.mark.pitfall("A18")
    @over(("one", "other"), [*itertools.product(NAMES, NAMES)])
    def test_arithmetic_takes_numbers_and_gives_reals(self, one, other):
        for expression in (t[one] + t[other], t[one] - t[other], t[one] * t[other], t[one] / t[other]):
            if {NAMES[one], NAMES[other]} <= {"integer", "real"}:
                term = _term(expression)
                assert {term.type, *(argument.type for argument in term.arguments)} == {ColumnType.REAL}
            else:
                assert isinstance(_refused(expression), TypeMismatchError)

    @over(("one", "kind"), [*itertools.product(NAMES, NAMES.values())])
    def test_casts_are_those_that_mean_the_same_on_every_engine(self, one, kind):
        if NAMES[one] == kind:
            assert _term(t[one].cast(kind)) == _term(t[one])
        elif (NAMES[one], kind) in CASTS:
            assert _term(t[one].cast(kind)).type == kind
        else:
            refusal = _refused(t[one].cast(kind))
            assert [offer for offer in CASTS if offer[0] == NAMES[one] and f"'{offer[1]}'" not in refusal.instead] == []

    @pytest.mark.parametrize("name", ["i", "r", "s", "d", "z", "doc"])
    def test_a_condition_is_true_or_false(self, name):
        for expression in (~t[name], t[name] & t.b, t.b | t[name]):
            assert isinstance(_refused(expression), TypeMismatchError)
        with pytest.raises(TypeMismatchError, match="where of"):
            _bound(t.where(t[name]))
        assert _bound(t.where(t.b)).predicate == Read("b", ColumnType.BOOLEAN)

    @pytest.mark.parametrize("name", ["doc", "bin"])
    def test_documents_and_images_can_only_be_missing(self, name):
        uses = [t[name] == "x", t[name].is_in(["x"]), t[name] + 1, t[name].cast("text"), t[name] < t[name]]
        for expression in uses:
            refusal = _refused(expression)
            assert isinstance(refusal, TypeMismatchError)
        assert _term(t[name].is_missing()).type is ColumnType.BOOLEAN

    def test_whole_and_real_numbers_meet_as_reals(self):
        for expression in (t.i >= 40.5, t.r >= 40, t.i == t.r):
            assert {argument.type for argument in _term(expression).arguments} == {ColumnType.REAL}
        assert {argument.type for argument in _term(t.i >= 40).arguments} == {ColumnType.INTEGER}

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("i", "40"),
            ("s", 1),
            ("b", 1),
            ("i", True),
            ("d", 1),
            ("s", dt.date(2026, 1, 1)),
            ("r", "1.0"),
            ("b", "true"),
        ],
    )
    def test_constants_of_another_type_are_refused_with_one_that_fits(self, name, value):
        for expression in (t[name] == value, t[name].is_in([value])):
            assert isinstance(_refused(expression), TypeMismatchError)


class TestConstants:
    def test_dates_may_be_written_as_text_beside_dates(self):
        assert _term(t.d >= "2026-01-31").arguments[1] == Constant(dt.date(2026, 1, 31), ColumnType.DATE)
        noon = dt.datetime(2026, 1, 31, 12)  # noqa: DTZ001 - naive
        assert _term(t.z >= "2026-01-31 12:00").arguments[1] == Constant(noon, ColumnType.TIMESTAMP)
        assert _term(t.s == "2026-01-31").arguments[1].type is ColumnType.TEXT

    def test_a_plan_with_its_constant_on_the_left_means_the_same(self):
        day = Constant(dt.date(2026, 1, 31), ColumnType.DATE)
        turned = logical.Compare("<=", logical.Literal("2026-01-31"), logical.ColumnRef("d"))
        assert _bound(t).term(turned).arguments == (day, Read("d", ColumnType.DATE))

    def test_text_that_is_no_date_is_refused_beside_dates(self):
        for expression in (t.d == "31.1.2026", t.z == "noon", t.d.is_in(["2026-02-30"])):
            assert "ISO" in _refused(expression).because

    def test_a_timestamp_with_a_zone_is_taken_in_utc(self):
        zoned = dt.datetime(2026, 1, 31, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
        kept = constant(zoned, ColumnType.TIMESTAMP, "here")
        assert kept == dt.datetime(2026, 1, 31, 10)  # noqa: DTZ001 - naive
        assert kept.tzinfo is None

    @pytest.mark.pitfall("D")
    @pytest.mark.parametrize("text", ["a\0b", "\ud800", "x\udfffy"])
    def test_text_that_no_engine_holds_is_refused_and_not_repeated(self, text):
        for expression in (t.s == text, t.s.is_in([text])):
            refusal = _refused(expression)
            assert text not in str(refusal)

    @pytest.mark.pitfall("D")
    def test_whole_numbers_beyond_64_bits_are_refused(self):
        assert _term(t.i == 2**63 - 1).arguments[1].value == 2**63 - 1
        for number in (2**63, -(2**63) - 1, 10**500):
            assert isinstance(_refused(t.i == number), ParameterError)

    def test_a_list_of_values_is_a_set_whatever_its_order(self):
        orders = [_term(t.s.is_in(values)) for values in (["b", "a"], ["a", "b"], {"a", "b"}, ["a", "b", "a"])]
        assert len({canonical(term) for term in orders}) == 1

    def test_whole_numbers_among_reals_are_reals(self):
        term = _term(t.i.is_in([1, 2.5]))
        assert term.arguments[0].operator == "to_real"
        assert [type(c.value) for c in term.arguments[1:]] == [float, float]
        assert _term(t.r.is_in([1])).arguments[1] == Constant(1.0, ColumnType.REAL)

    def test_an_empty_list_is_refused(self):
        assert "is_in([])" in _refused(t.i.is_in([])).what

    def test_zero_has_one_sign(self):
        assert str(constant(-0.0, ColumnType.REAL, "here")) == "0.0"

    def test_the_missing_key_is_a_key_and_no_constant(self):
        assert key_constant(None, ColumnType.TEXT, "here") is None
        with pytest.raises(TypeMismatchError):
            constant(None, ColumnType.TEXT, "here")

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, True, "1"])
    def test_a_real_constant_is_a_finite_number(self, value):
        with pytest.raises(TypeMismatchError):
            constant(value, ColumnType.REAL, "here")


def _edges(term):
    return [part.value for part in term.arguments[1:]]


class TestBins:
    @pytest.mark.parametrize(
        ("name", "edges", "kept"),
        [
            ("i", [18, 30], [18, 30]),
            ("r", [18, 30.5], [18.0, 30.5]),
            ("d", ["2026-01-31", dt.date(2026, 2, 1)], [dt.date(2026, 1, 31), dt.date(2026, 2, 1)]),
            ("z", ["2026-01-31 12:00"], [dt.datetime.fromisoformat("2026-01-31 12:00")]),
            ("z", [dt.date(2026, 1, 31), "2026-02-01"], [dt.datetime(2026, 1, 31), dt.datetime(2026, 2, 1)]),  # noqa: DTZ001 - naive
        ],
    )
    def test_edges_are_constants_of_the_type_of_the_value(self, name, edges, kept):
        term = _term(t[name].bin(edges))
        assert (term.operator, term.type, term.arguments[0]) == ("bin", ColumnType.INTEGER, Read(name, NAMES[name]))
        assert _edges(term) == kept
        assert {(part.type, type(part.value)) for part in term.arguments[1:]} == {(NAMES[name], type(kept[0]))}

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (t.i.bin([18, 30]), t.i.bin((18.0, 30.0))),
            (t.i.bin([0, 18]), t.i.bin([-0.0, 18])),
            (t.r.bin([18, 30]), t.r.bin(range(18, 31, 12))),
            (t.d.bin(["2026-01-31"]), t.d.bin([dt.date(2026, 1, 31)])),
            (t.z.bin(["2026-01-31"]), t.z.bin([dt.date(2026, 1, 31)])),
            (t.z.bin(["2026-01-31T12:00+02:00"]), t.z.bin(["2026-01-31 10:00"])),
        ],
    )
    def test_equal_bins_are_the_same_question(self, one, other):
        assert canonical(_term(one)) == canonical(_term(other))

    def test_bins_that_differ_are_different_questions(self):
        bins = [t.i.bin([18]), t.i.bin([19]), t.i.bin([18, 19]), t.j.bin([18]), t.r.bin([18]), t.i.bin([18.5])]
        assert len({canonical(_term(each)) for each in bins}) == len(bins)

    def test_whole_numbers_are_held_against_fractions_as_reals(self):
        term = _term(t.i.bin([17.5, 18]))
        assert term.arguments[0] == Apply("to_real", (WHOLE,), ColumnType.REAL)
        assert _edges(term) == [17.5, 18.0]
        assert _term(t.i.bin([0, 1e300])).arguments[0].type is ColumnType.REAL

    def test_days_are_held_against_times_as_their_midnight(self):
        noon = dt.datetime.fromisoformat("2026-01-31 12:00")
        term = _term(t.d.bin(["2026-01-31", noon]))
        assert term.arguments[0] == Apply("to_timestamp", (Read("d", ColumnType.DATE),), ColumnType.TIMESTAMP)
        assert _edges(term) == [dt.datetime.fromisoformat("2026-01-31"), noon]

    @pytest.mark.parametrize(
        ("expression", "what"),
        [
            (t.i.bin([30, 18]), "bin with 18 after 30"),
            (t.i.bin([18, 18]), "bin with 18 after 18"),
            (t.r.bin([0.5, 0.25]), "bin with 0.25 after 0.5"),
            (t.d.bin(["2026-02-01", "2026-01-31"]), "bin with '2026-01-31' after '2026-02-01'"),
            (t.z.bin(["2026-02-01", "2026-01-31 12:00"]), "bin with '2026-01-31 12:00:00' after '2026-02-01 00:00:00'"),
            (t.r.bin([2**60, 2**60 + 1]), "bin with 1.152921504606847e+18 after 1.152921504606847e+18"),
        ],
    )
    def test_edges_increase_each_once(self, expression, what):
        refusal = _refused(expression)
        assert isinstance(refusal, ParameterError)
        assert (refusal.what, refusal.instead) == (what, "bin(sorted(set(edges)))")

    @pytest.mark.pitfall("D")
    def test_there_is_an_edge_and_there_are_not_too_many(self):
        assert "bin of 0 edges" in _refused(t.i.bin([])).what
        edges = tuple(range(logical.MOST_EDGES + 1))
        with pytest.raises(ParameterError, match="10,001 edges"):
            _bound(t).term(logical.Bin(logical.ColumnRef("i"), edges))
        assert len(_edges(_term(t.i.bin(edges[1:])))) == logical.MOST_EDGES

    @pytest.mark.parametrize("name", ["s", "b", "doc", "bin"])
    def test_only_numbers_and_times_are_binned(self, name):
        refusal = _refused(t[name].bin([18]))
        assert isinstance(refusal, TypeMismatchError)
        _term(eval(refusal.instead.split(", or ")[0], {"table": t}))  # noqa: S307 - our own words

    @pytest.mark.parametrize(
        ("name", "edge"),
        [("i", "18"), ("i", True), ("r", "x"), ("d", 18), ("z", 1.5), ("i", 2**63), ("d", "31.1.2026")],
    )
    def test_edges_of_another_type_are_refused(self, name, edge):
        assert isinstance(_refused(t[name].bin([edge])), TypeMismatchError)

    def test_a_bin_is_a_whole_number_like_any_other(self):
        assert _term(t.r.bin([1, 2]).is_in([0, 2])).arguments[0].operator == "bin"
        assert _term(t.r.bin([1, 2]) + 1).type is ColumnType.REAL
        assert reads(_term(t.r.bin([1]) == t.i.bin([1]))) == (REAL, WHOLE)

    @pytest.mark.pitfall("D")
    def test_a_few_bins_of_the_most_edges_are_taken_and_more_are_refused(self):
        most = t.i.bin(range(logical.MOST_EDGES))
        frame = functools.reduce(lambda frame, i: frame.derive(**{f"b{i}": most}), range(4), t)
        three = frame.where(t.b0 == t.b1, t.b2 == 1)
        assert _bound(three).predicate is not None
        with pytest.raises(ParameterError, match="parts"):
            _bound(three.where(t.b3 == 1))


class TestSize:
    @pytest.mark.pitfall("D")
    def test_derived_columns_that_double_each_other_are_refused_before_they_are_printed(self):
        doubled = functools.reduce(lambda frame, _: frame.derive(x=t.x + t.x), range(60), t.derive(x=t.r))
        with pytest.raises(ParameterError, match="parts"):
            _bound(doubled)

    @pytest.mark.pitfall("D")
    def test_a_query_of_ten_thousand_steps_is_refused_before_python_runs_out_of_stack(self):
        for step in (lambda frame, _: frame.where(t.b), lambda frame, _: frame.derive(x=t.i)):
            with pytest.raises(ParameterError, match="10,000 steps"):
                _bound(functools.reduce(step, range(10_000), t))

    @pytest.mark.pitfall("D")
    def test_conditions_and_columns_that_pile_up_are_refused(self):
        with pytest.raises(ParameterError, match="depth"):
            _bound(functools.reduce(lambda frame, _: frame.where(t.b), range(500), t))
        with pytest.raises(ParameterError, match="depth"):
            _bound(functools.reduce(lambda frame, _: frame.derive(x=~t.x), range(500), t.derive(x=t.b)))

    def test_the_deepest_question_that_is_taken_can_be_named_and_walked(self):
        scope = _bound(functools.reduce(lambda frame, _: frame.where(t.b), range(logical.DEEPEST), t))
        assert reads(scope.predicate) == (Read("b", ColumnType.BOOLEAN),)
        assert canonical(scope.predicate)

    def test_the_longest_list_that_a_frame_takes_is_bound(self):
        term = _term(t.i.is_in(range(logical.MOST_NODES - 2)))
        assert isinstance(term, Apply)
        assert len(term.arguments) == logical.MOST_NODES - 1


REFUSED = [
    t.i == "40",
    t.d == t.i,
    t.z == t.s,
    t.r == t.b,
    t.doc == "x",
    t.s + 1,
    t.b + 1,
    t.d < t.b,
    t.s < "a",
    ~t.i,
    ~t.doc,
    t.r.cast("text"),
    t.b.cast("date"),
    t.doc.cast("text"),
    (t.i + 1) == "x",
    ~(t.i + 1),
]


@pytest.mark.parametrize("expression", REFUSED)
def test_the_code_that_a_refusal_offers_is_taken(expression):
    """Every piece of code in `instead` is an expression on the table, and binds."""
    refusal = _refused(expression)
    assert refusal.instead
    for offer in re.split(r",? (?:or|beside) ", refusal.instead):
        if offer.startswith("table["):
            _term(eval(offer, {"table": t}))  # noqa: S307 - our own words, on an expression without data
