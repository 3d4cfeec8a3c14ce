"""YAML that is read in one way only, and refused with its line where it is not YAML."""

from decimal import Decimal

import pytest
import yaml

from discreet.catalog import strict_yaml
from discreet.catalog.catalog import Catalog
from discreet.errors import CatalogError
from loops import times_as_long


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 0.1", {"a": Decimal("0.1")}),
        ("a: 1_000", {"a": 1000}),
        ("a: 010", {"a": "010"}),
        ("a: no", {"a": "no"}),
        ("a: 2026-01-31", {"a": "2026-01-31"}),
        ("a: true", {"a": True}),
        ("a: ~", {"a": None}),
    ],
)
def test_a_scalar_has_one_meaning(text, value):
    assert strict_yaml.read(text) == value


@pytest.mark.parametrize(
    "data", [{"a": ["x", "0.1", "no", "010", "~", ""]}, {"b": {"c": 5}}, {"d": "line\u2028break"}, {}]
)
def test_what_is_written_reads_back_the_same(data):
    assert strict_yaml.read(strict_yaml.write(data)) == data


def test_a_tab_is_named_with_its_line():
    with pytest.raises(CatalogError) as refusal:
        strict_yaml.read("tables:\n  visits:\n\tmax_rows: 3\n")
    assert refusal.value.because == "line 3: a tab where spaces belong"


def test_another_mistake_is_named_with_its_line():
    with pytest.raises(CatalogError, match="line 2: "):
        strict_yaml.read("a: 1\nb: [1, 2")


@pytest.mark.parametrize("text", ["a: 1\na: 2", "a: &x 1\nb: *x", "a: !tag 1", "1: 2"])
def test_what_could_be_read_in_two_ways_is_refused(text):
    with pytest.raises(CatalogError):
        strict_yaml.read(text)


def test_the_shape_that_refusals_show_is_a_catalog():
    assert list(Catalog.parse(strict_yaml.SHAPE).tables) == ["visits"]
    assert yaml.safe_load(strict_yaml.SHAPE)


@pytest.mark.parametrize(
    "value",
    ["a", "dp.ROW", "true", "no", "0x10", "", "a: b #", '"\\', "\u2028\x7f\n", "\U0001f600" * 200, None, True, -5],
)
def test_a_scalar_on_one_line_reads_back_the_same_alone_in_a_list_and_as_a_key(value):
    text = strict_yaml.one_line(value)
    assert len(text.splitlines()) == 1
    assert strict_yaml.read(text) == value
    assert strict_yaml.read(f"a: [{text}, 1]  # b") == {"a": [value, 1]}
    assert not isinstance(value, str) or strict_yaml.read(f"{text}: 1") == {value: 1}


@pytest.mark.parametrize("deep", ["[" * 3_000, "a: " + "{a: " * 900, "[" * 51 + "]" * 51])
def test_brackets_within_brackets_are_refused_before_the_parser_looks_ahead(deep):
    text = f"a: 1\n{deep}\n"

    def refuse():
        with pytest.raises(CatalogError) as refusal:
            strict_yaml.read(text)
        assert refusal.value.because == "line 2: it is nested too deeply"

    def parse():
        with pytest.raises((yaml.YAMLError, RecursionError)):
            yaml.compose(text)

    assert times_as_long(refuse, parse) < 0.5  # about 0.04 at most


def test_many_brackets_beside_each_other_are_read():
    assert strict_yaml.read(f"a: [{'[1], ' * 200}[2]]") == {"a": [[1]] * 200 + [[2]]}
