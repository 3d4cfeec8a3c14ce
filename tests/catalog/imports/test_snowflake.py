"""Snowflake DDL becomes a draft: entity keys, domains and types carry over; budgets and rows are decisions."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.catalog import strict_yaml
from discreet.catalog.catalog import Catalog
from discreet.errors import CatalogError

patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SURVEY = """
CREATE OR REPLACE TABLE survey (
  patient_id TEXT NOT NULL, smoker BOOLEAN, gender VARCHAR(10), age INT, cost NUMBER(10, 2), seen TIMESTAMP_NTZ(9));
CREATE PRIVACY POLICY policies.p AS () RETURNS PRIVACY_BUDGET ->
  PRIVACY_BUDGET(BUDGET_NAME=> 'analysts', BUDGET_LIMIT=> 300, MAX_BUDGET_PER_AGGREGATE=> 0.1,
  BUDGET_WINDOW=> 'weekly');
ALTER TABLE db.s.survey ADD PRIVACY POLICY policies.p ENTITY KEY (patient_id);
ALTER TABLE db.s.survey ALTER (
  COLUMN gender SET PRIVACY DOMAIN IN ('female', 'male', 'it''s'),
  COLUMN age SET PRIVACY DOMAIN BETWEEN (-1, 90));
ALTER TABLE survey MODIFY COLUMN cost SET PRIVACY DOMAIN BETWEEN (0, 5000.5);
"""


def drafted(text):
    return dp.import_catalog(text, form="snowflake")


def tables(text):
    return strict_yaml.read(drafted(text))["tables"]


class TestWhatCarriesOver:
    def test_an_entity_key_is_the_unit_and_names_are_as_snowflake_stores_them(self):
        assert tables(SURVEY)["SURVEY"]["privacy_unit"] == "PATIENT_ID"
        quoted = tables('ALTER VIEW "my v" ADD PRIVACY POLICY p ENTITY KEY ("a ""b""")')
        assert quoted["my v"]["privacy_unit"] == 'a "b"'

    def test_types_bounds_and_keys_carry_over(self):
        columns = tables(SURVEY)["SURVEY"]["columns"]
        kinds = {name: facts["type"] for name, facts in columns.items()}
        assert list(kinds.values()) == ["text", "boolean", "text", "integer", "real", "timestamp"]
        assert columns["AGE"]["bounds"] == [-1, 90]
        assert [str(bound) for bound in columns["COST"]["bounds"]] == ["0", "5000.5"]
        assert columns["GENDER"]["keys"] == ["female", "male", "it's"]

    def test_each_fact_has_its_table_and_column_beside_it(self):
        assert "bounds: [-1, 90]  # from text, table 'SURVEY', column 'AGE', privacy domain" in drafted(SURVEY)

    def test_a_draft_loads_when_its_decisions_are_filled_in(self):
        draft = drafted(SURVEY).replace("max_rows: DECIDE", "max_rows: 2").replace("epsilon: DECIDE", "epsilon: 1")
        assert Catalog.parse(draft).table("SURVEY").max_rows == 2

    def test_no_entity_key_is_the_unit_row_with_a_warning(self):
        draft = drafted("CREATE TABLE t (a INT); ALTER TABLE t ADD PRIVACY POLICY p NO ENTITY KEY")
        assert "privacy_unit: dp.ROW" in draft
        assert "decide: dp.ROW protects rows, not people" in draft

    def test_rows_are_no_unit_beside_a_document(self):
        draft = drafted("CREATE TABLE t (a VARIANT); ALTER TABLE t ADD PRIVACY POLICY p NO ENTITY KEY")
        assert strict_yaml.read(draft)["tables"]["T"]["privacy_unit"] is None

    def test_a_domain_in_create_table_or_a_new_column_carries_over(self):
        new = "ALTER TABLE t ADD COLUMN b TEXT PRIVACY DOMAIN IN ('x')"
        columns = tables(f"CREATE TABLE t (a INT PRIVACY DOMAIN BETWEEN (0, 1)); {new}")["T"]["columns"]
        assert columns["A"]["bounds"] == [0, 1]
        assert columns["B"]["keys"] == ["x"]

    def test_the_last_statement_on_a_column_counts(self):
        text = "CREATE TABLE t (a INT PRIVACY DOMAIN BETWEEN (0, 1)); ALTER TABLE t MODIFY COLUMN a "
        assert tables(f"{text} SET PRIVACY DOMAIN BETWEEN (5, 6)")["T"]["columns"]["A"]["bounds"] == [5, 6]
        assert "bounds" not in tables(f"{text} UNSET PRIVACY DOMAIN")["T"]["columns"]["A"]
        assert (
            "bounds"
            not in tables(f"{text} UNSET PRIVACY DOMAIN; CREATE OR REPLACE TABLE t (a INT)")["T"]["columns"]["A"]
        )


class TestWhatTheOwnerDecides:
    def test_epsilon_and_rows_of_a_unit_are_not_invented(self):
        survey = tables(SURVEY)["SURVEY"]
        assert survey["budget"] == {"epsilon": "DECIDE"}
        assert survey["max_rows"] == "DECIDE"

    def test_a_domain_that_refers_to_a_column_gives_no_keys(self):
        draft = drafted("ALTER TABLE t MODIFY COLUMN zip SET PRIVACY DOMAIN REFERENCES s.zips(zip)")
        assert "decide: keys: the values of 'S.ZIPS.ZIP' if they are public" in draft
        assert "keys" not in strict_yaml.read(draft)["tables"]["T"]["columns"]["ZIP"]

    def test_a_table_without_a_policy_has_no_unit(self):
        assert tables("CREATE TABLE t (a INT)")["T"]["privacy_unit"] is None

    def test_a_type_without_a_counterpart_stays_open(self):
        assert "decide: Snowflake has 'TIME'" in drafted("CREATE TABLE t (a TIME)")
        assert "decide: text or integer" in drafted(
            "CREATE TABLE t (a FLOAT); ALTER TABLE t ADD PRIVACY POLICY p ENTITY KEY (a)"
        )


class TestWhatDoesNotCarryOver:
    def test_a_budget_that_refills_is_listed_with_its_window(self):
        draft = drafted(SURVEY)
        assert "not carried over: BUDGET_LIMIT = 300, BUDGET_WINDOW = 'weekly'" in draft
        assert "not carried over: MAX_BUDGET_PER_AGGREGATE = 0.1" in draft

    def test_a_changed_body_and_unrestricted_roles_are_listed(self):
        other = "privacy_budget(budget_name => 'x.' || F())"
        body = f"CASE WHEN CURRENT_USER() = 'A' THEN NO_PRIVACY_POLICY() ELSE {other} END"
        draft = drafted(f"{SURVEY} ALTER PRIVACY POLICY policies.p SET BODY -> {body}")
        assert "not carried over: NO_PRIVACY_POLICY()" in draft
        assert "not carried over: conditions and comments of the policy" in draft
        assert "BUDGET_NAME = an expression" in draft
        assert "300" not in draft

    def test_statements_with_data_are_listed_without_their_values(self):
        draft = drafted(f"{SURVEY} INSERT INTO survey VALUES ('secret'); USE ROLE r; CREATE DATABASE d")
        assert "not carried over: INSERT INTO SURVEY" in draft
        assert "not carried over: CREATE DATABASE D" in draft
        assert "secret" not in draft

    def test_options_constraints_and_unused_policies_are_listed(self):
        text = "CREATE TABLE t (a INT DEFAULT 5, PRIMARY KEY (a)) COMMENT = 'c';"
        text += "ALTER TABLE t ADD PRIVACY POLICY q ENTITY KEY (a);"
        draft = drafted(
            f"{text} CREATE PRIVACY POLICY p AS () RETURNS PRIVACY_BUDGET -> PRIVACY_BUDGET(BUDGET_NAME => 'b')"
        )
        for words in (
            "'DEFAULT'",
            "PRIMARY KEY",
            "'COMMENT' after",
            "policy 'P': it is assigned",
            "policy 'Q': it is not in",
        ):
            assert f"{words}" in draft

    def test_ranges_of_dates_and_lists_of_numbers_are_listed(self):
        draft = drafted(
            "CREATE TABLE t (a DATE PRIVACY DOMAIN BETWEEN ('2020-01-01', '2021-01-01'), b INT PRIVACY DOMAIN IN ('1'))"
        )
        assert "PRIVACY DOMAIN BETWEEN: only numbers have bounds" in draft
        assert "PRIVACY DOMAIN IN: a list of text, and the column is integer" in draft


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("USE ROLE r", "nothing to import"),
        ("ALTER TABLE t ADD PRIVACY POLICY p", "ENTITY KEY"),
        ("ALTER TABLE t ADD PRIVACY POLICY p ENTITY KEY (a, b)", ") belongs here"),
        ("ALTER TABLE t MODIFY COLUMN a SET PRIVACY DOMAIN (0, 1)", "BETWEEN, IN or REFERENCES"),
        ("ALTER TABLE t MODIFY COLUMN a SET PRIVACY DOMAIN BETWEEN (0)", "two values"),
        ("ALTER TABLE t MODIFY COLUMN a SET PRIVACY DOMAIN BETWEEN (5, 0)", "lower one is above"),
        ("CREATE TABLE t (a INT PRIVACY DOMAIN BETWEEN (5, 0))", "lower one is above"),
        ("CREATE TABLE t (a TEXT PRIVACY DOMAIN IN ('x', 'x'))", "appears twice"),
        ("CREATE TABLE t (a TEXT, A TEXT)", "duplicate column"),
        ("CREATE TABLE t (a TEXT,, b TEXT)", "two commas"),
        ("CREATE TABLE a.t (a TEXT); CREATE TABLE b.t (a TEXT)", "one table of a name"),
        ("CREATE PRIVACY POLICY p AS () RETURNS PRIVACY_BUDGET -> 5", "returns a budget"),
        ("CREATE PRIVACY POLICY p AS () RETURNS PRIVACY_BUDGET -> PRIVACY_BUDGET(LIMIT => 5)", "arguments are"),
        ("CREATE TABLE t (a TEXT COMMENT 'x", "does not end"),
        ("CREATE TABLE t (a TEXT", "ends too early"),
        ("CREATE TABLE t (a INT PRIVACY DOMAIN BETWEEN (0, 1 + 5))", "nothing more"),
        ("CREATE TABLE t (a TEXT PRIVACY DOMAIN IN ('a' || 'b'))", "nothing more"),
        ("ALTER TABLE t ADD PRIVACY POLICY p ENTITY KEY (a) b", "nothing more"),
        ("-- a comment\rALTER TABLE t ADD PRIVACY POLICY p", "ENTITY KEY"),
        ("".join(f"CREATE TABLE t{n} (a INT);" for n in range(1_001)), "at most 1,000"),
    ],
)
def test_ddl_that_is_ambiguous_or_wrong_is_refused_with_a_reason(text, words):
    with pytest.raises(CatalogError) as caught:
        drafted(text)
    assert words in str(caught.value)


def quoted(text):
    return '"{}"'.format(text.replace('"', '""'))


@patiently
@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40), st.lists(st.text(max_size=30), unique=True))
def test_no_text_in_names_or_domains_becomes_yaml(table, column, keys):
    values = ", ".join("'{}'".format(key.replace("\\", "\\\\").replace("'", "''")) for key in keys)
    text = f"CREATE TABLE {quoted(table)} ({quoted(column)} TEXT PRIVACY DOMAIN IN ({values}))"
    try:
        data = strict_yaml.read(drafted(text))
    except CatalogError:
        assert not (table + column).isascii() or not (table + column).isprintable() or any("\0" in key for key in keys)
        return
    assert list(data["tables"]) == [table]
    assert data["tables"][table]["columns"] == {column: {"type": "text", "keys": keys}}


TWO_SCHEMAS = """
    CREATE TABLE t (p INT, v INT);
    ALTER TABLE a.t ADD PRIVACY POLICY x ENTITY KEY (p);
    ALTER TABLE b.t ADD PRIVACY POLICY x ENTITY KEY (v);
"""


@pytest.mark.parametrize("text", [TWO_SCHEMAS, "USE SCHEMA a; CREATE TABLE t (pid INT);"])
def test_a_name_that_two_schemas_may_have_is_refused(text):
    with pytest.raises(CatalogError, match="schema"):
        dp.import_catalog(text, form="snowflake")
