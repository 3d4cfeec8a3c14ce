"""Which charges are in doubt after a page, and what is found of them in the end."""

from discreet.ledger.integrity.charge_tally import ChargeTally
from discreet.ledger.integrity.evidence import LEAST, Charges, Page
from discreet.ledger.integrity.recovery import dataset_rows
from discreet.ledger.records.chain import Kind


def page_of(ledger, first=LEAST):
    return ledger._look(lambda writer: dataset_rows(writer, "visits")).read(first, frozenset())


def test_charges_whose_rows_agree_are_not_in_doubt_and_those_without_an_outcome_are_pending(visits, turn):
    visits.answer(turn(visits, question="a", epsilon=0.01), b"1")
    visits.forfeit(turn(visits, question="b", epsilon=0.01), "timeout")
    turn(visits, question="c", epsilon=0.01)
    tally = ChargeTally()
    tally.add(page_of(visits))
    assert (tally.doubtful, tally.pending, tally.unfounded) == (set(), {6}, [])
    assert ChargeTally.from_data(tally.to_data(), 6).questions() == {6}


def test_an_outcome_of_an_earlier_charge_puts_it_in_doubt(visits, turn):
    held = turn(visits, question="a", epsilon=0.01)
    tally = ChargeTally(start=2)
    visits.answer(held, b"1")
    page = page_of(visits, 3)
    tally.add(Page(events=page.events, charges=NO_CHARGES, concluded=page.concluded))
    assert tally.questions() == {2}
    assert not list(tally.reservation_findings("visits", page.charges))
    assert not list(tally.answer_findings("visits", page.charges))
    tally.conclude(page.charges)
    assert tally.pending == set()


def test_an_outcome_of_a_charge_that_is_not_there_is_found_with_the_rows_of_both(visits, turn):
    visits.answer(turn(visits, question="a", epsilon=0.01), b"1")
    page = page_of(visits)
    tally = ChargeTally()
    tally.add(Page(events=page.events, charges=page.charges, concluded={}))
    (finding,) = tally.answer_findings("visits", NO_CHARGES)
    assert (finding.what, finding.sequence) == ("it concludes a charge that is not there", 3)
    assert tally.questions() == {2}
    assert next(iter(tally.answer_findings("visits", page.charges))).seal != finding.seal


def test_a_charge_that_was_resumed_is_in_doubt_and_found_only_where_its_attempts_differ(visits, turn):
    turn(visits, question="a", epsilon=0.01)
    page = page_of(visits)
    resumed = page.events[1] | {"kind": Kind.RESUMED, "sequence": 3, "reservation": 2}
    tally = ChargeTally()
    tally.add(Page(events=[*page.events, resumed], charges=page.charges, concluded=page.charges.events))
    assert (tally.doubtful, tally.resumed) == ({2}, {2: 1})
    (finding,) = tally.reservation_findings("visits", page.charges)
    assert finding.what == "its attempts are not those that the chain records"


NO_CHARGES = Charges(events={}, reservations={}, outcomes=[], answers={})
