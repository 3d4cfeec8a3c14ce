"""One list of policies for missing cells, which every function takes and refuses alike."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.classes.null_policies import NULL_POLICIES, NULL_TEXTS, require_policy

TABLE = pa.table({"zip": ["10115", None], "ill": ["flu", "flu"]})
CALLS = {
    "measure": lambda nulls: dp.anonymity.measure(TABLE, ["zip"], nulls=nulls),
    "risk_report": lambda nulls: dp.anonymity.risk_report(TABLE, ["zip"], nulls=nulls),
    "link": lambda nulls: dp.anonymity.link(TABLE, TABLE, ["zip"], nulls=nulls),
    "intersect": lambda nulls: dp.anonymity.intersect(
        {"a": TABLE, "b": TABLE}, {"a": {"zip": "10115"}, "b": {"zip": "10115"}}, "ill", nulls=nulls
    ),
}


def test_every_policy_has_a_sentence():
    assert tuple(NULL_TEXTS) == NULL_POLICIES
    for nulls in NULL_POLICIES:
        require_policy(nulls)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("nulls", ["drop", None, ["value"]])
def test_every_function_refuses_other_policies_with_one_sentence(name, nulls):
    with pytest.raises(dp.errors.ParameterError) as caught:
        CALLS[name](nulls)
    assert caught.value.because == "a missing cell is a value, a wildcard, or excludes its row"
