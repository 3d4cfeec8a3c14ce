"""BigQuery privacy policies become a draft: the unit, groups and totals carry over, and the rest is listed."""

import json
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.catalog import strict_yaml
from discreet.catalog.catalog import Catalog
from discreet.errors import CatalogError

patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
FIELDS = {
    "privacy_unit_column": "patient_id",
    "max_epsilon_per_query": 0.5,
    "epsilon_budget": 2.5,
    "delta_per_query": 1e-10,
    "delta_budget": 1e-8,
    "max_groups_contributed": 2,
}


def policy(**fields):
    return json.dumps({"differential_privacy_policy": FIELDS | fields})


def view(text, name="clinic.visits"):
    return f"CREATE OR REPLACE VIEW {name} OPTIONS (privacy_policy= '''{text}''') AS (SELECT * FROM clinic.t);"


def drafted(text):
    return dp.import_catalog(text, form="bigquery")


def tables(text):
    return strict_yaml.read(drafted(text))["tables"]


class TestWhatCarriesOver:
    def test_the_unit_the_groups_and_the_totals_of_the_budget(self):
        visits = tables(view(policy()))["visits"]
        assert visits["privacy_unit"] == "patient_id"
        assert visits["max_groups"] == 2
        assert visits["budget"] == {"epsilon": Decimal("2.5"), "delta": Decimal("1e-8")}

    def test_each_fact_has_its_view_and_field_beside_it(self):
        assert "max_groups: 2  # from text, view 'clinic.visits', max_groups_contributed" in drafted(view(policy()))

    def test_a_draft_loads_when_its_decisions_are_filled_in(self):
        draft = drafted(view(policy())).replace("max_rows: DECIDE", "max_rows: 4").replace("type: DECIDE", "type: text")
        assert Catalog.parse(draft).table("visits").max_rows == 4

    @pytest.mark.parametrize(
        "text",
        [
            view(policy()),
            f"CREATE VIEW IF NOT EXISTS `my-project.clinic.visits` OPTIONS(privacy_policy='{policy()}') AS SELECT 1",
            f"ALTER VIEW my-project.clinic.visits SET OPTIONS (privacy_policy=r'{policy()}')",
            f"ALTER VIEW IF EXISTS visits SET OPTIONS (privacy_policy={json.dumps(policy())})",
            f"# one\n/* two */ SELECT 1; -- three\nalter view visits set options(privacy_policy='{policy()}');",
        ],
    )
    def test_documented_spellings_give_the_same_facts(self, text):
        assert tables(text) == tables(view(policy()))

    def test_a_policy_in_json_has_the_same_facts_in_both_spellings(self):
        rest = {
            "privacyUnitColumn": "patient_id",
            "maxEpsilonPerQuery": 0.5,
            "epsilonBudget": 2.5,
            "deltaPerQuery": 1e-10,
            "deltaBudget": 1e-8,
            "maxGroupsContributed": "2",
            "epsilonBudgetRemaining": 1.5,
        }
        sent = drafted(json.dumps({"differentialPrivacyPolicy": rest}))
        assert strict_yaml.read(sent)["tables"]["view"] == tables(policy())["view"] == tables(view(policy()))["visits"]
        assert "decide: the name of this table" in sent
        assert "not carried over: 'epsilon_budget_remaining' = 1.5" in sent

    def test_a_later_statement_replaces_the_policy_and_columns_of_the_view_stay(self):
        text = view(policy(), "clinic.visits (patient_id, ward OPTIONS (description='w'))")
        draft = drafted(f"{text} ALTER VIEW clinic.visits SET OPTIONS (privacy_policy='{policy(epsilon_budget=1)}')")
        visits = strict_yaml.read(draft)["tables"]["visits"]
        assert visits["budget"]["epsilon"] == 1
        assert list(visits["columns"]) == ["patient_id", "ward"]
        assert "not carried over: an earlier policy of the same view" in draft
        assert "not carried over: options of column 'ward'" in drafted(text)


class TestWhatTheOwnerDecides:
    def test_rows_of_a_unit_and_types_are_not_invented(self):
        visits = tables(view(policy()))["visits"]
        assert visits["max_rows"] == visits["columns"]["patient_id"]["type"] == "DECIDE"

    def test_an_epsilon_above_ten_needs_a_reason(self):
        draft = drafted(view(policy(epsilon_budget=25.6)))
        assert "epsilon: 25.6" in draft
        assert "decide: an epsilon above 10 needs a reason" in draft

    @pytest.mark.parametrize(("field", "value"), [("epsilon_budget", 10000.1), ("delta_budget", 9.6)])
    def test_a_total_that_no_budget_can_have_stays_open(self, field, value):
        draft = drafted(view(policy(**{field: value})))
        assert f"{field.removesuffix('_budget')}: DECIDE" in draft
        assert str(value) in draft


class TestWhatDoesNotCarryOver:
    @pytest.mark.parametrize("field", ["max_epsilon_per_query", "delta_per_query", "new_field"])
    def test_a_field_without_a_counterpart_is_listed(self, field):
        assert f"not carried over: '{field}' = " in drafted(view(policy(new_field="x")))

    def test_other_policies_options_and_statements_are_listed_without_their_values(self):
        both = {"differential_privacy_policy": FIELDS, "join_restriction_policy": {"join_condition": "JOIN_ANY"}}
        options = f"description='d', privacy_policy='{json.dumps(both)}'"
        draft = drafted(f"INSERT INTO t VALUES ('secret'); CREATE VIEW v OPTIONS({options}) AS SELECT 1")
        assert "not carried over: INSERT INTO T in line 1" in draft
        assert "not carried over: option 'description'" in draft
        assert "not carried over: 'join_restriction_policy'" in draft
        assert "secret" not in draft


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT 1", "nothing to import"),
        ("CREATE VIEW v AS SELECT 1", "nothing to import"),
        ("{}", "no differential_privacy_policy"),
        ("{", "not JSON"),
        ('{"differential_privacy_policy": 3}', "JSON object"),
        ('{"differential_privacy_policy": {"a": 1, "a": 2}}', "comes twice"),
        ('{"differential_privacy_policy": {"epsilon_budget": 1, "epsilonBudget": 2}}', "two spellings"),
        ('{"differential_privacy_policy": {"epsilon_budget": NaN}}', "not JSON"),
        (policy(privacy_unit_column=["a", "b"]), "one name"),
        (policy(epsilon_budget="2"), "because"),
        (policy(max_groups_contributed=1.5), "whole number"),
        (policy(max_groups_contributed=-1), "whole number"),
        ("CREATE VIEW v OPTIONS(privacy_policy='x' || 'y') AS SELECT 1", "one text literal"),
        ("CREATE VIEW v OPTIONS(privacy_policy=1) AS SELECT 1", "text in quotes"),
        ("CREATE VIEW v OPTIONS(a=1, a=2) AS SELECT 1", "duplicate option"),
        ("CREATE VIEW v OPTIONS(privacy_policy='{", "does not end"),
        ("CREATE VIEW v OPTIONS(privacy_policy='\\q') AS SELECT 1", "escape sequence"),
        ("CREATE VIEW v OPTIONS(a=1", "ends too early"),
        (view(policy(), "a.v") + view(policy(), "b.v"), "one table of a name"),
    ],
)
def test_a_policy_that_is_ambiguous_or_wrong_is_refused_with_a_reason(text, words):
    with pytest.raises(CatalogError) as caught:
        drafted(text)
    assert words in str(caught.value)


@patiently
@given(st.text(max_size=60), st.text(max_size=40), st.text(max_size=40))
def test_no_text_in_a_policy_becomes_yaml(unit, field, value):
    text = json.dumps({"differential_privacy_policy": {"privacy_unit_column": unit, field: value}, f"x{field}": value})
    try:
        data = strict_yaml.read(drafted(text))
    except CatalogError:
        return
    assert list(data["tables"]) == ["view"]
    if field not in ("privacy_unit_column", "privacyUnitColumn"):
        assert data["tables"]["view"]["privacy_unit"] == unit
        assert list(data["tables"]["view"]["columns"]) == [unit]
