"""A draft is YAML with comments, in which no foreign text can end a line, and which does not load while open."""

import contextlib
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.catalog import strict_yaml
from discreet.catalog.catalog import Catalog
from discreet.catalog.imports.draft import (
    OPEN,
    DraftColumn,
    DraftFact,
    DraftTable,
    MetadataOrigin,
    count,
    exact_number,
    shown,
    total_budget,
    write,
)
from discreet.errors import CatalogError, Refusal

patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
ORIGIN = MetadataOrigin("metadata", "a.yaml")


def table(**facts):
    columns = {"p": DraftColumn({"type": DraftFact("integer", "there")})}
    return DraftTable("there", {"privacy_unit": DraftFact("p", "there"), **facts}, columns=columns)


@patiently
@given(st.text(max_size=200), st.text(max_size=200), st.lists(st.text(max_size=50), unique=True))
def test_text_of_any_kind_stays_in_its_comment_or_value(comment, file, keys):
    draft = table()
    draft.dropped.append(comment)
    draft.decisions.append(shown(comment))
    draft.facts["max_rows"] = DraftFact(3, comment, comment)
    draft.columns["k"] = DraftColumn({"type": DraftFact("text", comment), "keys": DraftFact(keys, comment)})
    try:
        data = strict_yaml.read(write({"t": draft}, MetadataOrigin("metadata", file), [comment]))
    except CatalogError:
        assert any("\0" in key for key in keys)
        return
    columns = {"p": {"type": "integer"}, "k": {"type": "text", "keys": keys}}
    assert data["tables"] == {"t": {"privacy_unit": "p", "max_rows": 3, "columns": columns}}


@patiently
@given(st.text(min_size=1, max_size=200))
def test_a_name_is_held_exactly_or_refused(name):
    draft = DraftTable("there", {"privacy_unit": DraftFact(name, "there")})
    try:
        data = strict_yaml.read(write({name: draft}, ORIGIN))
    except CatalogError:
        assert not name.isprintable() or name == "dp.ROW" or name.casefold().startswith("discreet_")
        return
    assert data["tables"][name]["privacy_unit"] == name
    assert list(data["tables"][name]["columns"]) == [name]


@patiently
@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20))
def test_a_number_is_held_exactly(number):
    draft = table(rows=DraftFact([number, int(number)]))
    assert strict_yaml.read(write({"t": draft}, ORIGIN))["tables"]["t"]["rows"] == [number, int(number)]


def test_a_column_of_the_unit_that_nobody_described_is_added_with_an_open_type():
    draft = DraftTable("there", {"privacy_unit": DraftFact(["a", "b"])})
    columns = strict_yaml.read(write({"t": draft}, ORIGIN))["tables"]["t"]["columns"]
    assert columns == {"a": {"type": "DECIDE"}, "b": {"type": "DECIDE"}}


@pytest.mark.parametrize(
    ("epsilon", "delta", "facts"),
    [
        (2, None, {"epsilon": 2}),
        (None, None, {"epsilon": OPEN}),
        (Decimal("25.6"), 0, {"epsilon": Decimal("25.6"), "reason": None, "delta": 0}),
        (0, Decimal("0.1"), {"epsilon": OPEN, "delta": OPEN}),
        (10_000, Decimal("1e-9"), {"epsilon": OPEN, "delta": Decimal("1e-9")}),
    ],
)
def test_only_totals_that_a_budget_can_have_carry_over(epsilon, delta, facts):
    assert {key: fact.value for key, fact in total_budget(epsilon, delta, ("e", "d")).items()} == facts


@pytest.mark.parametrize("value", ["3", True, None, 1.5, 0, 10**16, Decimal(3)])
def test_a_count_is_a_whole_number_in_its_range(value):
    with pytest.raises(CatalogError, match="whole number from 1"):
        count(value, "max_ids", ORIGIN)


@pytest.mark.parametrize("value", ["3", True, None, float("nan"), float("inf"), Decimal("1e999")])
def test_a_number_is_finite_and_no_text(value):
    with pytest.raises(CatalogError, match=r"metadata in 'a\.yaml': lower"):
        exact_number(value, "lower", ORIGIN)


def test_a_float_is_read_by_its_shortest_decimal():
    assert exact_number(0.1, "lower", ORIGIN) == Decimal("0.1")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", r"'a\nb'"),
        (True, "true"),
        (None, "null"),
        ({"a": 1}, "a mapping of 1"),
        ([1, 2], "a list of 2"),
        (7, "7"),
        ("x" * 100, f"'{'x' * 57}...'"),
        (10**100, f"1{'0' * 56}..."),
    ],
)
def test_a_value_in_a_comment_is_short_and_on_one_line(value, text):
    assert shown(value) == text


@pytest.mark.parametrize(
    "open_line", ["max_rows: 3", "epsilon: 20", "delta: 1e-9", "privacy_unit: p", "type: integer", "reason: agreed"]
)
def test_a_decision_that_is_left_open_is_refused_by_the_catalog_or_the_session(open_line):
    text = """
        tables: {t: {
          privacy_unit: p, max_rows: 3,
          budget: {epsilon: 20, delta: 1e-9, reason: agreed},
          columns: {p: {type: integer}}}}
    """
    field = open_line.partition(":")[0]
    value = "null" if field in ("privacy_unit", "reason") else repr(OPEN)
    rows = pa.table({"p": [1, 2]})
    for catalog, refused in ((text, False), (text.replace(open_line, f"{field}: {value}"), True)):
        with pytest.raises(Refusal) if refused else contextlib.nullcontext():
            dp.Session(Catalog.parse(catalog), sources={"t": rows}, ledger=dp.SQLiteLedger(":memory:")).close()
