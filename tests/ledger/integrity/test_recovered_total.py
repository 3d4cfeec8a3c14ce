"""What a recovery goes on from."""

import shutil
from fractions import Fraction

import pytest

from discreet.accounting.filters import Budget
from discreet.ledger import SQLiteLedger

TENTH_OF_A_MILLIONTH = Fraction(1, 10**7)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
@pytest.mark.parametrize(
    ("registered", "decided"),
    [
        (Budget(epsilon=1, delta=TENTH_OF_A_MILLIONTH), Budget(epsilon=2, delta=TENTH_OF_A_MILLIONTH / 5)),
        (Budget(epsilon=2, delta=TENTH_OF_A_MILLIONTH / 5), Budget(epsilon=1, delta=TENTH_OF_A_MILLIONTH)),
    ],
    ids=["a larger epsilon and a smaller delta", "a smaller epsilon and a larger delta"],
)
def test_a_recovery_takes_the_smallest_epsilon_and_the_smallest_delta(path, dataset, charge, registered, decided):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset(budget=registered))
        charge(ledger)
    shutil.copy(path, path.with_name("older"))
    with SQLiteLedger(path) as ledger:
        ledger.set_cap("visits", decided, reason="the board decided so")
        charge(ledger)
    shutil.copy(path.with_name("older"), path)
    with SQLiteLedger(path) as ledger:
        assert ledger.recover(reason="a restore")
        found = ledger.budget("visits")
    assert (found.epsilon, found.delta) == (1, TENTH_OF_A_MILLIONTH / 5)
    assert found.reserve <= registered.reserve
