"""The law that each family states of its outcomes keeps the claim, and is that of what is drawn."""

import math

import pytest

from discreet.auditing.claims import ApproximateDP
from discreet.auditing.self_audit.mechanisms import audited_family, families

FAMILIES = families()
LEFT_OUT = 1e-4
APPROXIMATE = [name for name, made in FAMILIES.items() if isinstance(made.claim, ApproximateDP)]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_chances_of_all_outcomes_add_up_to_one_on_both_datasets(name):
    made = FAMILIES[name]
    for data in (made.one, made.other):
        shares = list(made.law(data).values())
        assert min(shares) >= 0
        assert 1 - LEFT_OUT < math.fsum(shares) < 1 + 1e-9


@pytest.mark.parametrize("name", APPROXIMATE)
def test_the_stated_law_keeps_the_claim(name):
    """Both ways, summed over all outcomes that are worse than epsilon: no randomness."""
    made = FAMILIES[name]
    one, other = made.law(made.one), made.law(made.other)
    for here, there in ((one, other), (other, one)):
        beyond = math.fsum(
            max(0.0, share - math.exp(made.claim.epsilon) * there.get(outcome, 0.0))
            for outcome, share in here.items()
            if outcome in there or made.claim.delta
        )
        assert beyond <= float(made.claim.delta) + 1e-9


@pytest.mark.parametrize("name", ["exponential", "keys, optimal rule", "keys, one that nobody else has"])
def test_nothing_is_found_in_a_small_audit(name):
    """Two alarms of 1e-6 each."""
    claimed, fitted = audited_family(name, FAMILIES[name], 200, 1e-6)
    assert not claimed.is_broken
    assert not fitted.is_broken
    assert fitted.samples == 2 * claimed.samples == 400 * FAMILIES[name].times
