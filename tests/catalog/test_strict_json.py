"""JSON that two readers read alike."""

import pytest

from discreet.catalog import strict_json


def test_ordinary_json_is_read():
    assert strict_json.loads('{"a": [1, 2.5, null], "b": {"a": 1}}') == {"a": [1, 2.5, None], "b": {"a": 1}}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 1}',
        '[{"b": {"a": 1, "a": 2}}]',
        "NaN",
        "[Infinity]",
        "[-Infinity]",
        "[1e400]",
        r'["\ud800"]',
        "{",
    ],
)
def test_names_that_come_twice_and_numbers_that_json_does_not_have_are_refused(text):
    with pytest.raises(ValueError):
        strict_json.loads(text)
