"""Whatever a file holds, it is a release or is refused, and no edit verifies; `tests/release/fuzz.py` runs longer."""

import fuzzing
from release.fuzz import attempt


def test_no_mutation_of_a_saved_release_crashes_or_verifies_as_signed():
    found = fuzzing.run(attempt, seconds=30, seed=20261118, most=25)
    assert found["refused"] > 10
    assert not found["slow"]
