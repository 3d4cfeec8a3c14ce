"""SmartNoise SQL metadata becomes a draft: units, rows of a unit and bounds carry over, and the rest is listed."""

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.catalog import strict_yaml
from discreet.catalog.catalog import Catalog
from discreet.errors import CatalogError

patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
VISITS = """
"":
  clinic:
    visits:
      max_ids: 3
      rows: 80000
      censor_dims: true
      patient_id: {type: int, private_id: true}
      age: {type: int, lower: 0, upper: 120}
      cost: {type: float, lower: 0.0, upper: 5e3, missing_value: 0, sensitivity: 10}
      ward: {type: string, cardinality: 12, nullable: false}
"""


def drafted(text):
    return dp.import_catalog(text, form="smartnoise")


def refusal(text):
    with pytest.raises(CatalogError) as caught:
        drafted(text)
    return caught.value


def one_table(fields):
    return drafted(yaml.safe_dump({"db": {"s": {"t": fields}}}))


class TestWhatCarriesOver:
    def test_max_ids_is_the_rows_of_a_unit_and_the_private_id_is_the_unit(self):
        table = strict_yaml.read(drafted(VISITS))["tables"]["visits"]
        assert table["max_rows"] == 3
        assert table["privacy_unit"] == "patient_id"

    def test_lower_and_upper_are_bounds_that_must_not_come_from_the_data(self):
        lines = drafted(VISITS).splitlines()
        place = next(place for place, line in enumerate(lines) if "bounds: [0, 120]" in line)
        assert "table 'clinic.visits', column 'age', lower, upper" in lines[place]
        assert "# decide: bounds must be public knowledge, not" in lines[place - 1]

    def test_a_draft_loads_when_its_epsilon_is_filled_in(self):
        with pytest.raises(CatalogError):
            Catalog.parse(drafted(VISITS))
        visits = Catalog.parse(drafted(VISITS).replace("DECIDE\n", "2\n")).table("visits")
        assert visits.columns["cost"].bounds == (0, 5000)
        assert visits.columns["cost"].missing == 0
        assert visits.rows is None
        assert "not carried over: rows = 80,000: it may be the exact number" in drafted(VISITS)

    def test_row_privacy_is_the_unit_row_with_a_warning(self):
        draft = one_table({"row_privacy": True, "max_ids": 1, "age": {"type": "int"}})
        assert "privacy_unit: dp.ROW" in draft
        assert "decide: dp.ROW protects rows, not people" in draft
        assert "max_rows" not in strict_yaml.read(draft)["tables"]["t"]

    def test_several_private_ids_are_refused_because_together_they_protect_less(self):
        with pytest.raises(CatalogError, match="one column identifies people"):
            one_table({"a": {"type": "int", "private_id": True}, "b": {"type": "string", "private_id": True}})

    def test_row_privacy_beside_a_private_id_is_refused(self):
        with pytest.raises(CatalogError, match="the unit is the row, or that column"):
            one_table({"row_privacy": True, "a": {"type": "int", "private_id": True}})

    def test_names_lose_the_quotes_that_sql_needs(self):
        draft = one_table({'"Sale-Amount"': {"type": "int"}, "`x y`": {"type": "int"}, "[z z]": {"type": "int"}})
        assert list(strict_yaml.read(draft)["tables"]["t"]["columns"]) == ["Sale-Amount", "z z", "x y"]

    def test_tables_of_one_name_in_two_schemas_keep_their_schema(self):
        table = "{t: {row_privacy: true, a: {type: int}}}"
        draft = drafted(f"db: {{one: {table}, two: {table}}}")
        assert list(strict_yaml.read(draft)["tables"]) == ["one.t", "two.t"]


class TestWhatTheOwnerDecides:
    def test_an_absent_max_ids_is_not_invented(self):
        draft = one_table({"p": {"type": "int", "private_id": True}})
        assert "max_rows: DECIDE" in draft
        assert "SmartNoise then takes 1" in draft

    def test_a_table_without_a_unit_does_not_load(self):
        draft = one_table({"max_ids": 1, "age": {"type": "int"}})
        assert "privacy_unit: null" in draft
        with pytest.raises(dp.Refusal, match="no privacy_unit"):
            Catalog.parse(draft.replace("epsilon: DECIDE", "epsilon: 1"))

    def test_a_datetime_is_a_date_or_a_timestamp(self):
        assert "decide: date or timestamp" in one_table({"at": {"type": "datetime"}})

    def test_an_id_of_type_float_is_not_a_unit_yet(self):
        draft = one_table({"max_ids": 1, "p": {"type": "float", "private_id": True}})
        assert "decide: text or integer: a privacy unit cannot be real" in draft
        assert "type: DECIDE" in draft


class TestWhatDoesNotCarryOver:
    @pytest.mark.parametrize("field", ["censor_dims", "sensitivity", "cardinality", "nullable"])
    def test_a_field_without_a_counterpart_is_listed_with_its_reason(self, field):
        assert f"# not carried over: '{field}' = " in drafted(VISITS)

    @pytest.mark.parametrize("fields", [{"max_contrib": 3}, {"a": {"type": "int", "max_contrib": 3}}])
    def test_a_field_that_nobody_knows_is_listed(self, fields):
        assert "not carried over: 'max_contrib' = 3: SmartNoise has no such field" in one_table(fields)

    def test_a_bound_without_the_other_is_listed(self):
        draft = one_table({"a": {"type": "int", "lower": 0}})
        assert "not carried over: 'lower' = 0: bounds are a pair" in draft
        assert "bounds:" not in draft

    def test_a_column_of_unknown_type_and_the_exact_size_are_listed(self):
        draft = one_table({"rows_exact": 17, "a": {"type": "unknown"}, "b": {"type": "int"}})
        assert "not carried over: column 'a'" in draft
        assert "not carried over: 'rows_exact' = 17: the exact number of rows is private" in draft

    def test_the_engine_is_listed(self):
        assert "not carried over: engine = 'csv'" in drafted("engine: csv\n" + VISITS)


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("a: {b: {t: {c: {type: int}}}}\nd: {}\ne: {}", "one database"),
            ("a: {b: {t: {c: {type: int}, c: {type: int}}}}", "duplicate key"),
            ("a: &x {b: 1}\nb: *x", "aliases"),
            ("a: !!python/object:os.system {}", "tag"),
            ("a: [", "line"),
            ("hello", "a mapping"),
            ("a: {b: {}}", "nothing to import"),
            ("a: {b: {t: {c: {type: money}}}}", "types are"),
            ("a: {b: {t: {c: {lower: 1}}}}", "without a type"),
            ("a: {b: {t: {c: {type: int, private_id: yes}}}}", "true or false"),
            ("a: {b: {t: {max_ids: 0, c: {type: int}}}}", "whole number from 1"),
            ("a: {b: {t: {max_ids: '3', c: {type: int}}}}", "whole number"),
            ("a: {b: {t: {max_ids: 2, row_privacy: true, c: {type: int}}}}", "a row is one unit"),
            ("a: {b: {t: {c: {type: int, lower: 5, upper: 1}}}}", "lower one is above"),
            ("a: {b: {t: {c: {type: int, lower: .inf, upper: 1}}}}", "number"),
            ("a: {b: {t: {c: {type: float, lower: 0, upper: 1e999}}}}", "because"),
            ("a: {b: {t: {c: {type: int}, C: {type: int}}}}", "differ only in case"),
            ("a: {b: {t: {discreet_x: {type: int}}}}", "taken"),
            ("a: {b: {t: {'\"c\"': {type: int}, c: {type: int}}}}", "duplicate name"),
            ("[" * 5000, "nested too deeply"),
        ],
    )
    def test_metadata_that_is_ambiguous_or_wrong_is_refused_with_a_reason(self, text, words):
        error = refusal(text)
        assert words in str(error)
        assert error.because
        assert error.instead


@patiently
@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=80), st.text(max_size=40))
def test_no_text_in_names_or_values_becomes_yaml(table, column, value, field):
    fields = {"max_ids": 1, column: {"type": "int", "private_id": True, field: value}, f"x{field}": value}
    text = yaml.safe_dump({"db": {"s": {table: fields}}}, allow_unicode=False)
    try:
        draft = drafted(text)
    except CatalogError:
        return
    data = strict_yaml.read(draft)
    assert list(data) == ["catalog", "tables"]
    (name, facts), *others = data["tables"].items()
    assert not others
    assert name in (table, table[1:-1])
    assert set(facts) <= {"privacy_unit", "max_rows", "rows", "budget", "columns"}
    assert [each in (column, column[1:-1]) for each in facts["columns"]] == [True] * len(facts["columns"])
