"""Findings read as sentences, and seals tell what they are about."""

from discreet.ledger.integrity.findings import IntegrityFinding, seal, unreadable


def test_a_finding_says_where_it_is():
    assert str(IntegrityFinding("it was changed")) == "it was changed"
    assert str(IntegrityFinding("it was changed", "visits")) == "'visits': it was changed"
    assert str(IntegrityFinding("it was changed", "visits", 3)) == "'visits' event 3: it was changed"


def test_the_seal_of_other_rows_is_another_one():
    assert seal({"a": 1, "b": None}, 2) == seal({"b": None, "a": 1}, 2)
    assert len({seal(1, 2), seal(2, 1), seal([1, 2]), seal({"a": 1}), seal()}) == 5


def test_rows_that_cannot_be_read_have_no_seal_so_no_recovery_accepts_them():
    assert (unreadable("visits").seal, str(unreadable("visits"))) == ("", "'visits': its rows cannot be read")
