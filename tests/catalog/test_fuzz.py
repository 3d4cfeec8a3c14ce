"""Whatever a file holds, it is a catalog, a draft, or refused; `python tests/catalog/fuzz.py` runs longer."""

import fuzzing
from catalog.fuzz import attempt


def test_no_mutation_of_a_catalog_or_of_metadata_raises_anything_but_a_refusal():
    found = fuzzing.run(attempt, seconds=30, seed=20261118, most=120)
    assert found["refused"] > 20
    assert found["accepted"] > 10
    assert not found["slow"]
