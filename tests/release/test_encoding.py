"""Releases as JSON text: what `json` reads back is what was written, whatever the columns hold."""

import json
import math

import pytest

from discreet.release.encoding import encode

LONG = 2_000


@pytest.mark.parametrize(
    "column",
    [
        list(range(-LONG, LONG)),
        [2**63 - 1, -(2**63)] * LONG,
        [2**63, -(2**63) - 1, 10**40] * LONG,
        [1.5, 2.0, 1e300, 5e-324] * LONG,
        [True, False] * LONG,
        [1, True] * LONG,
        [1, None] * LONG,
        ["1", 'a"b', "ä\n\u2028"] * LONG,
        [[1, 2], [3]] * LONG,
        [7] * LONG,
        [1, 2, 3],
        [],
    ],
    ids=lambda column: f"{len(column)} {column[:1]}",
)
def test_every_column_is_read_back_as_it_was_with_its_types(column):
    data = {"name": "ä", "outputs": [{"values": column, "margins": column}], "other": {"steps": column}, "n": None}
    read = json.loads(encode(data))
    assert read == data
    assert [type(value) for value in read["other"]["steps"]] == [type(value) for value in column]


def test_the_text_is_that_of_json():
    data = {"keys": list(range(LONG)), "text": "ä", "values": [{"x": [-1] * LONG}, 0.1]}
    assert encode(data) == json.dumps(data, ensure_ascii=False).encode()


def test_what_is_no_plain_data_is_an_error_and_what_is_no_number_stays_that():
    with pytest.raises(TypeError):
        encode({"values": [object()] * LONG})
    assert math.isnan(json.loads(encode([math.nan] * LONG))[0])
