"""A catalog is read exactly or refused with the place and the reason; nothing in it is guessed."""

import contextlib
import datetime as dt
import re
import textwrap
import time
from enum import IntEnum
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.catalog import catalog as module
from discreet.catalog.catalog import (
    Catalog,
    Column,
    ColumnType,
    Period,
    Promise,
    Table,
    is_of_type,
    python_value,
    validate,
)
from discreet.catalog.privacy_unit import ROW
from discreet.errors import CatalogError, NameNotFoundError, ParameterError, Refusal, UnitError
from grids import over

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "catalog.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]


def _with(column: str) -> Catalog:
    """A catalog with one column of interest, written as YAML."""
    return Catalog.parse(f"tables: {{v: {{privacy_unit: id, columns: {{id: {{type: text}}, x: {column}}}}}}}")


def _column(column: str) -> Column:
    return _with(column).table("v").column("x")


def _table(fields: str, columns: str = "{id: {type: text}}") -> Table:
    return Catalog.parse(f"tables: {{v: {{columns: {columns}, {fields}}}}}").table("v")


def _refusal(text: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        Catalog.parse(text)
    return caught.value


class TestWaysToAUnit:
    VISITS = "visits: {privacy_unit: p, columns: {p: {type: text}, v: {type: integer}}}"

    def _read(self, more: str) -> Catalog:
        return Catalog.parse(f"tables: {{{self.VISITS}, {more}}}")

    def test_a_table_may_lead_to_its_unit_by_way_of_others(self):
        catalog = self._read(
            "m: {privacy_unit: {through: visits, on: v}, columns: {v: {type: integer}, k: {type: text}}}, "
            "n: {privacy_unit: {through: m, on: {key: k}}, columns: {key: {type: text}}}"
        )
        assert catalog.table("n").unit.columns == catalog.table("m").unit.columns == ("p",)
        assert catalog.table("n").privacy_unit.on == (("key", "k"),)
        assert Catalog.parse(catalog.to_yaml()) == catalog
        assert "through" in catalog.table("m").frozen_facts()

    def test_neighbours_and_missing_ids_are_those_of_the_table_that_has_the_unit(self):
        text = self._read("m: {privacy_unit: {through: visits, on: v}, columns: {v: {type: integer}}}").to_yaml()
        swapped = Catalog.parse(text.replace("privacy_unit: p", "privacy_unit: p\n    neighbours: replace_one"))
        assert swapped.table("m").unit.neighbours == "replace_one"

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ("privacy_unit: {through: nothing, on: v}", "no table of this catalog"),
            ("privacy_unit: {through: m, on: v}", "no table of this catalog"),
            ("privacy_unit: {through: visits, on: {v: w}}", "no column 'w'"),
            ("privacy_unit: {through: visits, on: {v: p}}", "different types"),
            ("privacy_unit: {through: visits, on: v, unit: [v]}", "the unit of 'visits' is p"),
            ("privacy_unit: {through: visits, on: v}, neighbours: replace_one", "says otherwise"),
            ("privacy_unit: {through: open, on: v}", "no columns that name a unit"),
            ("privacy_unit: {through: visits, on: 7}", "list"),
        ],
    )
    def test_a_way_that_cannot_be_gone_is_refused(self, fields, words):
        public = "open: {public: true, columns: {v: {type: integer}}}"
        text = f"tables: {{{self.VISITS}, {public}, m: {{{fields}, columns: {{v: {{type: integer}}}}}}}}"
        assert words in str(_refusal(text))

    def test_a_way_by_a_column_that_is_not_there_or_is_real_is_refused(self):
        assert "'w'" in str(
            _refusal(
                f"tables: {{{self.VISITS}, m: {{privacy_unit: {{through: visits, on: {{w: v}}}}, "
                "columns: {v: {type: integer}}}}"
            )
        )
        assert "type real" in str(
            _refusal(
                f"tables: {{{self.VISITS}, m: {{privacy_unit: {{through: visits, on: v}}, "
                "columns: {v: {type: real}}}}"
            )
        )

    def test_a_public_table_has_no_promise(self):
        catalog = self._read("open: {public: true, columns: {v: {type: integer}}}")
        assert list(catalog.protected_tables) == ["visits"]
        assert "budget" in str(
            _refusal("tables: {o: {public: true, budget: {epsilon: 1}, columns: {v: {type: text}}}}")
        )
        assert "privacy_unit" in str(
            _refusal("tables: {o: {public: true, privacy_unit: v, columns: {v: {type: text}}}}")
        )

    def test_a_table_that_is_neither_public_nor_protects_anybody_is_refused(self):
        assert isinstance(_refusal("tables: {o: {public: false, columns: {v: {type: text}}}}"), UnitError)


class TestTheExamples:
    def test_the_example_of_the_page_is_read(self):
        catalog = Catalog.parse(EXAMPLE)
        visits = catalog.table("visits")
        assert visits.budget.delta == Fraction(1, 10**9)
        assert visits.column("ward").keys == ("A", "B", "C", None)
        assert visits.column("admitted").keys == (dt.date(2026, 1, 1), dt.date(2026, 1, 2))
        assert visits.column("cost").grid == Fraction(1, 100)
        assert catalog.table("wards").unit.is_row

    def test_the_example_of_the_page_writes_every_field_and_the_page_names_each(self):
        written = set(re.findall(r"(\w+):", re.sub(r"#.*", "", EXAMPLE)))
        tables = PAGE.partition("## Tables")[2]
        for kind in (Column, Promise, Table, Catalog):
            assert written >= set(kind.model_fields), kind
        for kind in (Column, Promise, Table):
            assert [name for name in kind.model_fields if f"`{name}`" not in tables] == []
        assert [str(kind) for kind in ColumnType if f"`{kind}`" not in tables] == []

    def test_the_example_of_the_module_is_read(self):
        text = module.__doc__[module.__doc__.index("    catalog:") :]
        visits = Catalog.parse(textwrap.dedent(text)).table("visits")
        assert visits.budget == Promise(epsilon=2, delta=Fraction(1, 10**9))
        assert visits.column("cost").provenance == "tariff of 2026"
        assert visits.caps.max_rows == 10

    def test_what_a_session_drafts_can_be_written_read_and_opened_again(self, tmp_path):
        dp.datasets.visits(50).to_pandas().to_csv(tmp_path / "visits.csv", index=False)
        words = {"privacy_unit": "patient_id", "max_rows": 3, "budget": dp.Budget(epsilon=1)}
        ledger = tmp_path / "ledger.sqlite"
        with dp.protect(tmp_path / "visits.csv", **words, ledger=ledger) as session:
            (tmp_path / "catalog.yaml").write_text(session.catalog.to_yaml(), encoding="utf-8")
            drafted = session.catalog
        assert Catalog.load(tmp_path / "catalog.yaml") == drafted
        sources = {"visits": tmp_path / "visits.csv"}
        with dp.Session(tmp_path / "catalog.yaml", sources=sources, ledger=ledger) as session:
            assert session.remaining().epsilon == 1


class TestNumbers:
    @pytest.mark.parametrize(
        ("written", "meant"),
        [
            ("0.1", Fraction(1, 10)),
            ("1e-9", Fraction(1, 10**9)),
            ("1E-9", Fraction(1, 10**9)),
            ("1.5e3", Fraction(1500)),
            (".5", Fraction(1, 2)),
            ("5_000", Fraction(5000)),
            ("+7", Fraction(7)),
            ("-0.0", Fraction(0)),
            ("1/3", Fraction(1, 3)),
            ('"1/3"', Fraction(1, 3)),
            ("0.1000000000000000000000000000000000001", Fraction("0.1000000000000000000000000000000000001")),
        ],
    )
    def test_numbers_are_read_exactly(self, written, meant):
        assert _column(f"{{type: real, missing: {written}}}").missing == meant

    @pytest.mark.pitfall("D")
    @over(
        "written",
        [
            ".nan",
            ".inf",
            "-.inf",
            "inf",
            "1e999",
            "-1e999",
            "1e-999",
            "1e99999999999",
            "true",
            "yes",
            "~",
            "'x'",
            '""',
            "1/0",
            "1/-2",
            "[1]",
            "{a: 1}",
            "0x10",
            "1:30",
            "010",
            "1__",
            "2026-01-01",
        ],
    )
    def test_what_is_no_finite_number_of_ordinary_size_is_refused(self, written):
        for field in ("grid", "bounds"):
            value = f"[0, {written}]" if field == "bounds" else written
            if (field, written) == ("grid", "~"):
                continue
            refusal = _refusal(f"tables: {{v: {{privacy_unit: i, columns: {{i: {{type: real, {field}: {value}}}}}}}}}")
            assert refusal.because

    def test_a_number_of_five_thousand_digits_is_refused(self):
        assert isinstance(_refusal(f"tables: {{v: {{privacy_unit: i, rows: {'9' * 5000}}}}}"), CatalogError)

    def test_the_budget_keeps_its_numbers_exact(self):
        budget = _table("privacy_unit: id, budget: {epsilon: 0.1, delta: 1e-9, reserved_delta: 1e-10}").budget
        assert (budget.epsilon, budget.delta) == (Fraction(1, 10), Fraction(1, 10**9))
        assert budget.reserved_delta == Fraction(1, 10**10)
        assert dp.Budget(**vars(budget)).reserved_delta == Fraction(1, 10**10)

    @pytest.mark.parametrize(("stated", "reserve"), [("", Fraction(1, 10**10)), (", reserved_delta: 0", 0)])
    def test_a_reserve_that_the_catalog_does_not_state_is_that_of_a_budget(self, stated, reserve):
        budget = _table(f"privacy_unit: id, budget: {{epsilon: 0.1, delta: 1e-9{stated}}}").budget
        assert dp.Budget(**vars(budget)).reserve == reserve
        assert (budget.reserved_delta is None) is not stated.endswith("0")


class TestColumns:
    @pytest.mark.parametrize(
        ("column", "reason"),
        [
            ("{type: real, bounds: [5, 1]}", "lower one is above"),
            ("{type: real, bounds: [1]}", "required"),
            ("{type: real, bounds: [1, 2, 3]}", "two numbers"),
            ("{type: real, bounds: 5}", "a list"),
            ("{type: text, bounds: [0, 1]}", "of type text has none"),
            ("{type: text, grid: 1}", "of type text has none"),
            ("{type: date, missing: 1}", "of type date has none"),
            ("{type: real, grid: 0}", "above zero"),
            ("{type: real, grid: -1}", "above zero"),
            ("{type: reel}", "one of integer, real"),
            ("{type: [text]}", "one of integer, real"),
            ("{}", "required"),
            ("5", "mapping of names"),
            ("~", "mapping of names"),
            ("{type: real, keys: [1]}", "no list of keys"),
            ("{type: document, keys: [a]}", "no list of keys"),
            ("{type: text, keys: [a, a]}", "appears twice"),
            ("{type: text, keys: [1]}", "not of type text"),
            ("{type: text, keys: [true]}", "not of type text"),
            ("{type: integer, keys: [true]}", "not of type integer"),
            ("{type: integer, keys: [1.0]}", "whole number"),
            ("{type: integer, keys: [9223372036854775808]}", "not of type integer"),
            ("{type: boolean, keys: [1]}", "not of type boolean"),
            ("{type: date, keys: [2026-13-45]}", "ISO form"),
            ("{type: date, keys: [20260101]}", "not of type date"),
            ('{type: text, keys: ["a\\0b"]}', "not of type text"),
            ('{type: text, keys: ["\\ud800"]}', "not of type text"),
            ("{type: text, keys: abc}", "a list"),
            ("{type: text, keys: {a: 1}}", "a list"),
            ("{type: text, keys: [[a]]}", "is no text"),
            ("{type: text, provenance: 5}", "must be text"),
        ],
    )
    def test_a_column_that_contradicts_itself_is_refused_with_its_place(self, column, reason):
        with pytest.raises(CatalogError, match=reason) as caught:
            _with(column)
        assert "tables.v.columns.x" in caught.value.what

    def test_an_unknown_field_is_refused_with_the_nearest_known_one(self):
        with pytest.raises(CatalogError) as caught:
            _with("{type: real, bound: [0, 1]}")
        assert caught.value.instead == "bounds: ..."

    def test_words_and_codes_that_yaml_turns_into_other_things_stay_text(self):
        column = _column("{type: text, keys: [010, 02134, no, on, 12:30, 2026-01-01, 1_000_x, <<, 0x1F]}")
        assert column.keys == ("010", "02134", "no", "on", "12:30", "2026-01-01", "1_000_x", "<<", "0x1F")

    def test_texts_as_keys_of_another_type_are_answered_by_the_type_of_their_column(self):
        columns = {"id": {"type": "text"}, "smokes": {"type": "boolean", "keys": ["no", "yes"]}}
        with pytest.raises(dp.errors.CatalogError, match=r"instead  types=\{'smokes': \"text\"\} in dp.protect"):
            module.validate(module.Table, {"privacy_unit": "id", "max_rows": 1, "columns": columns}, "a table")

    def test_keys_of_dates_and_timestamps_are_written_in_iso_form(self):
        assert _column("{type: date, keys: [2026-01-31, ~]}").keys == (dt.date(2026, 1, 31), None)
        stamps = _column("{type: timestamp, keys: [2026-01-31 12:00, 2026-01-31T12:00:01]}").keys
        assert stamps == (dt.datetime(2026, 1, 31, 12), dt.datetime(2026, 1, 31, 12, 0, 1))  # noqa: DTZ001 - naive

    def test_keys_of_numpy_and_pandas_are_their_python_values(self):
        column = Column(type="integer", keys=list(np.arange(3)))
        assert column.keys == (0, 1, 2)
        assert {type(key) for key in column.keys} == {int}
        assert Column(type="text", keys=list(np.array(["A", "B"]))).keys == ("A", "B")
        assert Column(type="date", keys=[np.datetime64("2026-01-31"), pd.NaT]).keys == (dt.date(2026, 1, 31), None)
        assert type(Column(type="timestamp", keys=[pd.Timestamp("2026-01-31")]).keys[0]) is dt.datetime

    def test_a_value_for_missing_cells_is_exact_or_skip(self):
        assert _column("{type: real}").missing == _column("{type: real, missing: skip}").missing == "skip"
        assert _column("{type: real, missing: 0}").missing == 0


class TestTables:
    @pytest.mark.parametrize(
        ("fields", "kind", "reason"),
        [
            ("max_rows: 1", UnitError, "none was named"),
            ("privacy_unit: ~", UnitError, "none was named"),
            ("privacy_unit: []", UnitError, "several different columns"),
            ("privacy_unit: [id, id]", UnitError, "several different columns"),
            ("privacy_unit: 5", UnitError, "several different columns"),
            ("privacy_unit: idd", NameNotFoundError, "no column"),
            ("privacy_unit: id, max_rows: 0", ParameterError, "at least 1"),
            ("privacy_unit: id, max_groups: -1", ParameterError, "at least 1"),
            ("privacy_unit: id, max_rows: 1e16", CatalogError, "whole number"),
            ("privacy_unit: id, max_rows: true", CatalogError, "whole number"),
            ("privacy_unit: id, max_rows: 2.0", CatalogError, "whole number"),
            ("privacy_unit: id, version: 0", CatalogError, "from 1 on"),
            ("privacy_unit: id, version: ~", CatalogError, "whole number"),
            ("privacy_unit: id, population: 0", CatalogError, "from 1 on"),
            ("privacy_unit: id, rows: -5", CatalogError, "from 1 on"),
            ("privacy_unit: id, neighbours: bounded", CatalogError, "add_remove, replace_one"),
            ("privacy_unit: id, missing_units: keep", CatalogError, "'drop' or 'one_unit'"),
            ("privacy_unit: id, source: 5", CatalogError, "must be text"),
            ("privacy_unit: id, budget: 2", CatalogError, "mapping of names"),
            ("privacy_unit: id, budget: {}", CatalogError, "required"),
            ("privacy_unit: id, budget: {epsilon: lots}", CatalogError, "must be a number"),
            ("privacy_unit: id, max_row: 5", CatalogError, "no field"),
        ],
    )
    def test_a_table_that_cannot_carry_a_promise_is_refused(self, fields, kind, reason):
        with pytest.raises(kind, match=reason):
            _table(fields)

    @pytest.mark.parametrize("kind", ["real", "document", "binary"])
    def test_ids_that_have_no_one_form_are_no_unit(self, kind):
        with pytest.raises(UnitError, match="one normal form"):
            _table("privacy_unit: id", f"{{id: {{type: {kind}}}}}")

    @pytest.mark.parametrize("kind", ["document", "binary"])
    def test_documents_and_images_need_a_unit_of_their_own(self, kind):
        columns = f"{{id: {{type: text}}, letter: {{type: {kind}}}}}"
        with pytest.raises(UnitError, match="many people"):
            _table("privacy_unit: dp.ROW", columns)
        assert _table("privacy_unit: id", columns).unit.columns == ("id",)

    def test_the_row_is_a_unit_in_text_and_in_python(self):
        assert _table("privacy_unit: dp.ROW").unit.is_row
        assert Table(columns={}, privacy_unit=ROW).unit.is_row

    def test_a_name_that_is_not_there_is_answered_with_the_nearest(self):
        catalog = Catalog.parse(EXAMPLE)
        with pytest.raises(NameNotFoundError) as caught:
            catalog.table("visit")
        assert caught.value.instead == 'dp.table("visits")'
        with pytest.raises(NameNotFoundError) as caught:
            catalog.table("visits").column("zzzz")
        assert caught.value.instead.startswith("one of 'patient_id'")

    def test_frozen_facts_are_those_that_answers_rest_on(self):
        table = _table("privacy_unit: id, max_rows: 3")
        assert table.frozen_facts() == _table("privacy_unit: id, max_rows: 9, rows: 5").frozen_facts()
        for other in ("privacy_unit: [id]", "privacy_unit: id, neighbours: replace_one"):
            assert table.frozen_facts() != _table(other).frozen_facts()
        assert table.frozen_facts() != _table("privacy_unit: id", "{id: {type: integer}}").frozen_facts()


class TestNames:
    @pytest.mark.pitfall("D")
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("age", "Age"),
            ("age", "\u0430ge"),
            ("A", "\u0391"),
            ("straße", "STRASSE"),
            ("\ufb01t", "fit"),
            ("e\u0301", "\u00e9"),
            ("a b", "a  b"),
            ("age", " age"),
            ("id", "\u0131d"),
        ],
    )
    def test_names_that_look_alike_are_refused(self, one, other):
        columns = {one: Column(type="text"), other: Column(type="text")}
        with pytest.raises(CatalogError, match="differ only"):
            Table(columns=columns, privacy_unit=ROW)

    @pytest.mark.parametrize(
        "name",
        ["", "a\0b", "a\nb", "age\u200b", "\u202eega", "a" * 201, "discreet_key", "DISCREET_x", "\ud800", "dp.ROW"],
    )
    def test_names_that_cannot_be_seen_or_are_taken_are_refused(self, name):
        with pytest.raises(CatalogError):
            Table(columns={name: Column(type="text")}, privacy_unit=ROW)
        with pytest.raises(CatalogError):
            Catalog(tables={name: Table(columns={}, privacy_unit=ROW)})

    @pytest.mark.parametrize("name", ["age", "Größe", "年齢", 'a"b', "a;DROP TABLE x", "order by", "x" * 200])
    def test_other_names_are_taken_as_they_are(self, name):
        table = Table(columns={name: Column(type="text")}, privacy_unit=name)
        assert Catalog.parse(Catalog(tables={name: table}).to_yaml()).table(name) == table


class TestReading:
    @pytest.mark.pitfall("D")
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "~",
            "5",
            "[1, 2]",
            "text",
            "tables",
            "tables: ~",
            "tables: []",
            "tables: {v: 5}",
            "catalog: other/1\ntables: {}",
            "a: b: c",
            "{",
            "\t",
            "\x00",
            "--- 1\n--- 2",
            "tables: {v: &a {}}",
            "? [a]\n: 1",
            "1: 2",
            "~: 2",
            "!!set {a, b}",
            "tables: {v: *a}",
            "!!python/object/apply:os.system ['true']",
            "tables: !!binary aGk=",
            "!x y",
            "!!int abc",
            "!!timestamp x",
            "%YAML 9.9\n--- {}",
            "\ufeffx",
            "tables: {}\ntables: {}",
            "'\\ud800'",
            '"\\ud800": 1',
        ],
    )
    def test_what_is_no_catalog_is_refused_and_never_raises_anything_else(self, text):
        refusal = _refusal(text)
        assert refusal.because
        assert refusal.instead
        assert "pydantic" not in str(refusal)

    def test_a_key_that_is_written_twice_is_refused_wherever_it_stands(self):
        for text in ("tables: {}\ntables: {}", "tables: {v: {privacy_unit: a, privacy_unit: b}}"):
            assert "twice" in _refusal(text).what
        with pytest.raises(CatalogError, match="'type' twice"):
            _with("{type: text, type: real}")

    @pytest.mark.pitfall("D")
    @pytest.mark.timing
    def test_a_billion_laughs_are_refused_at_once(self):
        lines = ["a0: &a0 [ha, ha]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
        merges = ["a0: &a0 {k: 1}"] + [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 12)]
        start = time.perf_counter()
        for text in (lines, merges):
            assert "alias" in _refusal("\n".join(text)).what
        assert time.perf_counter() - start < 10

    def test_a_catalog_nested_ten_thousand_deep_is_refused(self):
        for text in ("[" * 10_000, "{a: " * 10_000, "- " * 10_000):
            assert isinstance(_refusal(text), CatalogError)

    def test_a_catalog_of_more_than_ten_million_characters_is_refused(self):
        assert "too long" in _refusal("#" * 10_000_001).what

    def test_a_file_that_is_not_there_or_not_text_is_refused(self, tmp_path):
        (tmp_path / "latin.yaml").write_bytes("# é".encode("latin-1"))
        reasons = {
            "none.yaml": "there is no file",
            "": "a directory",
            "latin.yaml": "not UTF-8",
            "a\0b": "cannot be read",
        }
        for name, reason in reasons.items():
            with pytest.raises(CatalogError, match=reason):
                Catalog.load(tmp_path / name)

    def test_plain_data_that_does_not_fit_is_refused_like_a_file(self):
        with pytest.raises(CatalogError, match=r"tables\.v\.columns"):
            validate(Catalog, {"tables": {"v": {"privacy_unit": "id"}}}, "catalog")
        with pytest.raises(CatalogError, match="a mapping"):
            validate(Column, 5, "column")

    def test_facts_cannot_be_changed_afterwards(self):
        with pytest.raises(pydantic.ValidationError):
            Catalog.parse(EXAMPLE).table("visits").max_rows = 1_000


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
numbers = st.fractions(-(10**6), 10**6)
keys_of_type = {
    "integer": st.integers(-(2**63), 2**63 - 1),
    "text": texts,
    "boolean": st.booleans(),
    "date": st.dates(),
    "timestamp": st.datetimes(),
}


@st.composite
def columns(draw: st.DrawFn) -> Column:
    kind = draw(st.sampled_from([str(kind) for kind in ColumnType]))
    facts: dict[str, object] = {"type": kind, "provenance": draw(st.none() | texts)}
    if kind in ("integer", "real"):
        facts["bounds"] = draw(st.none() | st.tuples(numbers, numbers).map(sorted).map(tuple))
        facts["missing"] = draw(st.just("skip") | numbers)
        facts["grid"] = draw(st.none() | st.fractions(Fraction(1, 1000), 1000))
    if kind in keys_of_type:
        keys = st.lists(st.none() | keys_of_type[kind], max_size=5, unique_by=lambda key: (type(key), key))
        facts["keys"] = draw(st.none() | keys.map(tuple))
    return Column(**facts)


patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@patiently
@given(st.dictionaries(st.sampled_from("abcdefgh"), columns(), max_size=4), st.integers(1, 10**9))
def test_a_catalog_that_is_written_and_read_again_is_the_same(facts, rows):
    table = Table(columns=facts | {"id": Column(type="text")}, privacy_unit="id", rows=rows, source="x.csv")
    catalog = Catalog(tables={"t": table})
    assert Catalog.parse(catalog.to_yaml()) == catalog


@patiently
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_any_text_is_a_catalog_or_a_refusal(text):
    with contextlib.suppress(Refusal):
        Catalog.parse(text)


class Whole(IntEnum):
    ONE = 1


class Half(float):
    pass


class Day(dt.date):
    pass


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.int64(3), 3),
        (np.uint8(3), 3),
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("A"), "A"),
        (ColumnType.TEXT, "text"),
        (Whole.ONE, 1),
        (Half(0.5), 0.5),
        (Day(2026, 1, 31), dt.date(2026, 1, 31)),
        (np.datetime64("2026-01-31"), dt.date(2026, 1, 31)),
        (np.datetime64("2026-01-31T12:00", "ns"), dt.datetime(2026, 1, 31, 12)),  # noqa: DTZ001 - naive
        (pd.Timestamp("2026-01-31 12:00"), dt.datetime(2026, 1, 31, 12)),  # noqa: DTZ001 - naive
        (np.datetime64("NaT"), None),
        (pd.NaT, None),
        (pd.NA, None),
        (None, None),
    ],
)
def test_scalars_of_other_libraries_become_plain_python(value, plain):
    result = python_value(value)
    assert result == plain
    assert type(result) is type(plain)


@pytest.mark.parametrize("value", [np.longdouble(1), np.array([1, 2]), b"x", 1 + 2j, object, np.timedelta64(1, "s")])
def test_what_is_no_scalar_of_ours_is_left_for_others_to_refuse(value):
    assert not any(is_of_type(python_value(value), kind) for kind in ColumnType)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**63, -(2**63) - 1, True, "1", None])
def test_what_no_engine_holds_as_a_real_is_none(value):
    assert not is_of_type(value, ColumnType.REAL)


@pytest.mark.parametrize("source", ["postgresql://reader:tops3cret@h/db", "postgresql://h/db?password=tops3cret"])
def test_a_password_in_a_catalog_is_refused_and_not_shown(source):
    text = f"tables: {{visits: {{source: '{source}', privacy_unit: id, columns: {{id: {{type: text}}}}}}}}"
    with pytest.raises(CatalogError) as refusal:
        Catalog.parse("catalog: discreet.catalog/1\n" + text)
    assert "PGPASSWORD" in str(refusal.value)
    assert "tops3cret" not in str(refusal.value)


class TestSlices:
    COLUMNS = "{id: {type: text}, visited: {type: date}, seen: {type: timestamp}}"
    OCTOBER = "{of: visits, column: visited, start: 2026-10-01, end: 2026-11-01}"

    def _tables(self, columns: str = COLUMNS, **slices: str) -> str:
        tables = (f"{name}: {{privacy_unit: id, columns: {columns}, slice: {part}}}" for name, part in slices.items())
        return f"tables: {{{', '.join(tables)}}}"

    def test_a_slice_is_read_exactly_and_written_back(self):
        noon = "{of: visits, column: seen, start: '2026-10-01 12:00:00.5', end: 2026-11-01}"
        catalog = Catalog.parse(self._tables(october=self.OCTOBER, noon=noon.replace("visits", "stays")))
        assert catalog.table("october").part == dp.Slice("visited", "2026-10-01", "2026-11-01", of="visits")
        assert catalog.table("noon").part.start == dt.datetime(2026, 10, 1, 12, 0, 0, 500_000)  # noqa: DTZ001 - naive
        assert Catalog.parse(catalog.to_yaml()) == catalog
        assert "      start: 2026-10-01\n" in catalog.to_yaml()

    def test_the_module_and_the_page_write_every_field_of_a_slice(self):
        for field in Period.model_fields:
            assert f"{field}: " in EXAMPLE
            assert f"`{field}`" in PAGE

    def test_a_table_without_a_slice_is_whole_and_its_facts_are_as_they_were(self):
        table = _table("privacy_unit: id")
        assert table.part is None
        assert "slice" not in table.frozen_facts()

    def test_the_slice_is_frozen_with_the_other_facts_however_it_is_written(self):
        one = Catalog.parse(self._tables(v=self.OCTOBER)).table("v").frozen_facts()
        other = self.OCTOBER.replace("2026-10-01", "'2026-10-01T00:00'")
        assert Catalog.parse(self._tables(v=other)).table("v").frozen_facts() == one
        for change in ("visited|seen", "10-01|10-02", "11-01|11-02", "of: visits|of: stays"):
            changed = self.OCTOBER.replace(*change.split("|"))
            assert Catalog.parse(self._tables(v=changed)).table("v").frozen_facts() != one

    def test_the_table_that_slices_are_of_is_no_table_and_the_refusal_names_the_latest(self):
        november = self.OCTOBER.replace("11-01", "12-01").replace("10-01", "11-01")
        catalog = Catalog.parse(self._tables(**{"visits-2026-10": self.OCTOBER, "visits-2026-11": november}))
        with pytest.raises(NameNotFoundError) as refusal:
            catalog.table("visits")
        assert str(refusal.value) == (
            "table 'visits'\n"
            "  because  the catalog has slices of it, each with a name and a budget of its own\n"
            '  instead  dp.table("visits-2026-11")'
        )
        with pytest.raises(NameNotFoundError, match=r'no table of that name\n  instead  dp.table\("visits-2026-1'):
            catalog.table("visits-2026-1")

    @pytest.mark.parametrize(
        ("part", "words"),
        [
            ("{of: visits, column: id, start: 2026-10-01, end: 2026-11-01}", "a slice by 'id' of type text"),
            ("{of: visits, column: vistied, start: 2026-10-01, end: 2026-11-01}", "column 'vistied'"),
            ("{of: visits, column: visited, start: 2026-11-01, end: 2026-10-01}", "it holds no time at all"),
            ("{of: visits, column: visited, start: 2026-10-01T06:00, end: 2026-11-01}", "a date has no time of day"),
            ("{of: visits, column: seen, start: 2026-10-01Z, end: 2026-11-01}", "a time without a zone"),
            ("{of: visits, column: seen, start: 20261001, end: 2026-11-01}", "it must be a date"),
            ("{of: visits, column: seen, start: null, end: 2026-11-01}", "it must be a date"),
            ("{column: seen, start: 2026-10-01, end: 2026-11-01}", "v.slice.of\n  because  it is required"),
            ("{of: 3, column: seen, start: 2026-10-01, end: 2026-11-01}", "v.slice.of\n  because  it must be text"),
            ("{of: '', column: seen, start: 2026-10-01, end: 2026-11-01}", "a table named ''"),
            ("{of: v, column: seen, start: 2026-10-01, end: 2026-11-01}", "table 'v' and a slice of it"),
            ("{of: V, column: seen, start: 2026-10-01, end: 2026-11-01}", "two tables named 'v' and 'V'"),
            ("{of: visits, column: seen, start: 2026-10-01, end: 2026-11-01, until: 3}", "v.slice.until"),
            ("2026-10", "slice: {of: visits, column: visited, start: 2026-10-01, end: 2026-11-01}"),
            ("[visits, seen, 2026-10-01, 2026-11-01]", "it must be a mapping"),
        ],
    )
    def test_a_slice_that_means_nothing_is_refused_with_the_reason(self, part, words):
        assert words in str(_refusal(self._tables(v=part)))

    def test_slices_of_one_table_that_overlap_are_refused_before_any_of_them_is_registered(self):
        text = self._tables(october=self.OCTOBER, year=self.OCTOBER.replace("2026-11-01", "2027-10-01"))
        assert "they overlap, and a new budget is for new data only" in str(_refusal(text))


def test_bins_and_the_permission_for_float_gradients_are_written_and_read():
    columns = "{p: {type: text}, a: {type: integer, bins: [18, 65]}, c: {type: real, bounds: [0, 9], bins: {log: 8}}}"
    catalog = Catalog.parse(f"tables: {{t: {{privacy_unit: p, allow_float_gradients: true, columns: {columns}}}}}")
    assert Catalog.parse(catalog.to_yaml()) == catalog
    assert catalog.table("t").allow_float_gradients
    assert catalog.table("t").column("c").bins.log == 8


def test_a_catalog_without_bins_has_the_text_and_the_frozen_facts_of_earlier_versions():
    catalog = Catalog.parse(
        "tables: {t: {privacy_unit: p, columns: {p: {type: text}, c: {type: real, bounds: [0, 9]}}}}"
    )
    assert "bins" not in catalog.to_yaml()
    assert "float" not in catalog.to_yaml()
    declared = Catalog.parse(
        "tables: {t: {privacy_unit: p, allow_float_gradients: true, "
        "columns: {p: {type: text}, c: {type: real, bounds: [0, 9], bins: {linear: 4}}}}}"
    )
    assert declared.table("t").frozen_facts() == catalog.table("t").frozen_facts()


@pytest.mark.parametrize(
    ("column", "place", "reason"),
    [
        ("{type: real, bins: {log: 8}}", "tables.t.columns.c", "linear and log ones lie between bounds"),
        ("{type: real, bins: [2, 1]}", "tables.t.columns.c.bins", "edges increase"),
        ("{type: real, bounds: [0, 1], bins: {lgo: 8}}", "tables.t.columns.c.bins.lgo", "there is no field"),
    ],
)
def test_bins_that_are_wrong_are_refused_with_their_place(column, place, reason):
    with pytest.raises(CatalogError, match=reason) as caught:
        Catalog.parse(f"tables: {{t: {{privacy_unit: p, columns: {{p: {{type: text}}, c: {column}}}}}}}")
    assert place in str(caught.value)
    assert "bins: {log: 32}" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "fact", "advice"),
    [
        ("text", "bins: {linear: 4}", 'keys={\'c\': ["A", "B"]} in dp.protect, or keys: [A, B] in the catalog'),
        ("text", "bounds: [0, 1]", 'keys={\'c\': ["A", "B"]} in dp.protect, or keys: [A, B] in the catalog'),
        ("boolean", "bins: {linear: 4}", "'c' without bins"),
        ("boolean", "bounds: [0, 1]", "'c' without bounds"),
        ("real", "bins: 4", "bounds={'c': (0, 5000)}, bins={'c': {'log': 32}} in dp.protect"),
    ],
)
def test_the_advice_for_bins_and_bounds_fits_the_type_of_the_column(kind, fact, advice):
    with pytest.raises(CatalogError) as caught:
        Catalog.parse(
            f"tables: {{t: {{privacy_unit: p, columns: {{p: {{type: text}}, c: {{type: {kind}, {fact}}}}}}}}}"
        )
    assert caught.value.instead.startswith(advice)


@pytest.mark.parametrize(
    "fact", ["bounds: [2020-01-01, 2024-12-31]", "bins: [2020-01-01, 2021-01-01]", "bounds: [0, 9]"]
)
def test_bounds_of_dates_in_a_catalog_name_the_query_that_takes_them(fact):
    text = (
        "tables: {visits: {privacy_unit: id, max_rows: 1, budget: {epsilon: 1}, "
        f"columns: {{id: {{type: text}}, day: {{type: date, {fact}}}}}}}}}"
    )
    with pytest.raises(CatalogError, match=r"synthesize\(\.\.\., bounds={'day': \(dt\.date"):
        Catalog.parse(text)
