"""A ledger reaches its store to verify it, and says so where it is closed."""

import pytest

from discreet.errors import LedgerError


def test_one_dataset_is_verified_without_a_word_of_the_others(visits, dataset, charge):
    visits.register(dataset(name="other"))
    charge(visits, name="other")
    report = visits.verify("visits")
    assert report, str(report)
    assert (report.datasets, report.events) == (1, 1)
    assert str(visits.verify(full=True)) == "2 datasets, 3 events: everything agrees"
    charge(visits, name="other")


def test_a_closed_ledger_says_so(visits, charge, dataset):
    visits.close()
    visits.close()
    for act in (lambda: visits.register(dataset()), lambda: charge(visits), lambda: visits.spent("visits")):
        with pytest.raises(LedgerError, match="closed"):
            act()
