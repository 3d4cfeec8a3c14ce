"""The body of a release is the same after it was written and read; a damaged one is refused."""

import json
from fractions import Fraction

import jsonschema
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.release.release import Release
from discreet.release.serialization import SCHEMA, plain_body, read_body, schema
from released import release

RELEASE = release([10, 20, 30, 40], [100, 200, 300, 400])


@pytest.mark.parametrize("made", [RELEASE, RELEASE.rounded(to=7, output="n"), release([1], names=(), place=2)])
def test_what_is_written_is_read_back(made):
    plain = json.loads(json.dumps(plain_body(vars(made))))
    assert read_body(plain).items() <= vars(made).items()
    assert Release.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_factors_and_bounds_are_exact_ratios():
    mean = plain_body(vars(RELEASE))["outputs"][2]
    assert (mean["parts"], mean["over"], mean["bounds"]) == ([[1, "1/1"]], [[0, "1/1"]], ["0/1", "100/1"])
    output = read_body(plain_body(vars(RELEASE)))["outputs"][2]
    assert output.bounds == (Fraction(0), Fraction(100))


def test_what_says_nothing_is_left_out():
    plain = release([1, 2, 3, 4]).to_json()
    assert set(plain) == set(schema()["required"])
    assert set(plain["outputs"][0]) == {"name", "kind", "values", "margins", "parts"}


def test_every_form_fits_the_outputs_of_the_schema():
    part = {"$schema": schema()["$schema"], "$defs": schema()["$defs"], "$ref": "#/$defs/output"}
    for made in (RELEASE, RELEASE.clamped(output="n"), RELEASE.rounded(to=3, output="n")):
        for output in plain_body(vars(made))["outputs"]:
            jsonschema.Draft202012Validator(part).validate(output)


@pytest.mark.parametrize(
    "damage",
    [
        {"outputs": [{"name": "n", "kind": "count", "values": [1], "margins": [1]}]},
        {"outputs": [plain_body(vars(RELEASE))["outputs"][0] | {"parts": [[7, "1/1"]]}]},
        {"outputs": [plain_body(vars(RELEASE))["outputs"][0] | {"parts": [["x", "1/0"]]}]},
        {"outputs": [plain_body(vars(RELEASE))["outputs"][2] | {"bounds": ["0/1"]}]},
        {"raw": {"outputs": [], "post_processing": 3}},
        {"place": "first"},
        {"schema": f"{SCHEMA}/1", "keys": 3},
        {"schema": f"{SCHEMA}/2"},
        {"outputs": []},
        {"outputs": [plain_body(vars(RELEASE))["outputs"][0] | {"values": ["x"] * 4}]},
        {"outputs": [plain_body(vars(RELEASE))["outputs"][0] | {"values": [float("inf")] * 4}]},
        {"outputs": [plain_body(vars(RELEASE))["outputs"][0] | {"name": 5}]},
        {"post_processing": [[1]]},
        {"outputs": [plain_body(vars(RELEASE))["outputs"][0] | {"values": [10**400] * 4}]},
        {"outputs": [plain_body(vars(RELEASE))["outputs"][0] | {"kind": 5}]},
        {"keys": [plain_body(vars(RELEASE))["keys"][0] | {"values": [1, 2, 3, 4]}]},
        {"measured": [plain_body(vars(RELEASE))["measured"][0] | {"l1": {}}]},
        {"measured": [plain_body(vars(RELEASE))["measured"][0] | {"mechanism": []}]},
        {"measured": [plain_body(vars(RELEASE))["measured"][0] | {"grid": f"{10**400}/1"}]},
    ],
)
def test_a_damaged_release_is_refused_without_its_contents(damage):
    with pytest.raises(ParameterError, match="damaged"):
        Release.from_json(RELEASE.to_json() | damage)


@pytest.mark.parametrize("key", [-(2**63), 2**63 - 1])
def test_the_smallest_and_the_largest_integer_key_are_read_back(key):
    session = dp.testing.protect(
        dp.datasets.visits(20),
        name="visits",
        privacy_unit="patient_id",
        max_rows=10,
        budget=dp.Budget(epsilon=2),
        fixed_schema=True,
    )
    made = session.release(dp.table("visits").group_by("age", keys={"age": [key]}).agg(n=dp.count()), epsilon=1)
    assert Release.from_json(made.to_json()) == made
