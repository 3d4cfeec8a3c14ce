"""Ranges of ages in the Adult census."""

import pytest

import discreet as dp

RANGES = dp.table("adult").ranges("Age", edges=range(17, 92), ranges=[(21, 33), (17, 91), (40, 65)])


def test_a_testing_session_counts_9878_people_of_21_to_32(adult):
    with dp.testing.protect(adult, privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1), ledger=":memory:") as session:
        release = session.release(RANGES, epsilon=1)
        assert release["n"][:2] == (9_878, 32_561)


@pytest.mark.parametrize("delta", [0, 1e-9], ids=["pure", "delta"])
def test_noisy_ranges_of_ages_are_near_the_truth(adult, delta):
    """Ten times the 95% margin is passed less than once in 10^12 releases: of one Laplace noise, with e^-30 or less."""
    budget = dp.Budget(epsilon=1, delta=delta)
    with dp.protect(adult, privacy_unit=dp.ROW, budget=budget, ledger=":memory:") as session:
        release = session.release(RANGES, epsilon=0.5)
        for value, margin, truth in zip(release["n"], release.margin("n"), (9_878, 32_561), strict=False):
            assert abs(value - truth) <= 10 * margin
