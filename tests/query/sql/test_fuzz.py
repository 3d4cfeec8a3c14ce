"""Whatever is written, a statement is a query or is refused; `python tests/query/sql/fuzz.py` runs longer."""

import fuzzing
from query.sql.fuzz import attempt


def test_no_soup_of_words_and_no_mutation_raises_anything_but_a_refusal():
    found = fuzzing.run(attempt, seconds=3, seed=20261117, most=300)
    assert found["refused"] > found["accepted"]
    assert not found["slow"]
