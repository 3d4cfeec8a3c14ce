"""Other releases under SIGKILL and in a crowd of processes: on record once or not at all, and each in its place."""

import signal

import pytest

from campaigns import crashed_publishers, publishing_crowd
from discreet.ledger import Kind, Receipt
from ledger.failpoints import RECORDED, publishing_steps


@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
def test_an_owner_killed_at_any_step_has_the_release_on_record_once_or_not_at_all(address, another):
    """The signal is real; after each one another process verifies the ledger and goes on."""
    cases = crashed_publishers(address)
    assert [case["step"] for case in cases] == [step.name for step in publishing_steps(address)]
    for case in cases:
        assert case["end"] == -signal.SIGKILL, case
        assert case["found"] == int(case["expected"]) if case["expected"] is not None else case["found"] in (0, 1), case
        assert (case["findings"], case["spent"]) == ([], 0), case
    assert cases[-1]["step"] == RECORDED
    ledger = another()
    assert [each.sequence for each in ledger.other_releases("visits")][-1] == cases[-1]["seen"]["sequence"]
    assert ledger.verify(), str(ledger.verify())


@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
def test_releases_and_charges_of_many_processes_are_all_there_and_receipts_list_what_came_before(address, another):
    processes, each = 6, 5
    told = publishing_crowd(address, processes=processes, each=each)
    assert [case["end"] for case in told] == [0] * processes
    acknowledged = {value for case in told for word, value in case["seen"].items() if word.startswith("release")}
    ledger = another()
    releases = ledger.other_releases("visits")
    assert {release.sequence for release in releases} == acknowledged
    assert len({release.what for release in releases}) == len(releases) == processes * each
    receipts = [
        Receipt.from_json(value) for case in told for word, value in case["seen"].items() if word.startswith("receipt")
    ]
    for receipt in receipts:
        assert receipt.others == tuple(each.text for each in releases if each.sequence < receipt.sequence)
    assert sum(entry.kind is Kind.RESERVED for entry in ledger.history("visits")) == processes * each
    assert ledger.spent("visits").epsilon == processes * each * 10**6
    assert ledger.verify(receipts=receipts), str(ledger.verify(receipts=receipts))
