"""The checks of a dataset find the same wherever an earlier verification stopped, and while others charge."""

import json

import pytest

from discreet.ledger.integrity.dataset_check import DatasetCheck
from discreet.ledger.integrity.evidence import LEAST
from discreet.ledger.integrity.findings import UNREADABLE_ROWS
from discreet.ledger.integrity.recovery import dataset_rows
from discreet.ledger.integrity.store_pages import StorePages


@pytest.fixture
def filled(visits, turn):
    """Something of each kind of event that a recovery or a check remembers."""
    visits.set_quota("visits", "bob", failures=3, reason="a test")
    visits.rename("visits", "stays", reason="a test")
    for number in range(3):
        visits.answer(turn(visits, question=f"a{number}", epsilon=0.01), b"%d" % number)
    visits.forfeit(turn(visits, question="b", epsilon=0.01, analyst="bob"), "timeout")
    held = turn(visits, question="c", epsilon=0.01)
    turn(visits, question="d", epsilon=0.01)
    visits.answer(held, b"late")
    visits.add_other_release("visits", "a file", kind="exact")
    return visits


class Interrupted(StorePages):
    """Pages, before each of which something happens."""

    def __init__(self, *arguments, before, **options):
        super().__init__(*arguments, **options)
        self.before = before

    def read(self, first, doubtful):
        self.before()
        return super().read(first, doubtful)


def test_a_check_that_is_written_and_read_after_any_event_ends_as_one_that_was_not(filled):
    held = filled._look(lambda writer: dataset_rows(writer, "visits"))
    whole = DatasetCheck("visits")
    assert whole.open_findings(whole.run(held)) == []
    for place in range(1, len(held.events)):
        earlier = DatasetCheck("visits")
        page = StorePages(filled._look, "visits", most=place).read(LEAST, frozenset())
        earlier._add(page)
        data = json.loads(json.dumps(earlier.to_data()))
        later = DatasetCheck.from_data("visits", earlier.sequence, earlier.head, data)
        assert later.open_findings(later.run(StorePages(filled._look, "visits", most=2))) == []
        assert later.to_data() == whole.to_data()
        assert (later.events, later.start) == (len(held.events) - place, place)


def test_a_check_that_an_earlier_version_wrote_goes_on(filled):
    """It kept nothing about prices; an anchor is made of it too, so it is not thrown away."""
    held = filled._look(lambda writer: dataset_rows(writer, "visits"))
    whole = DatasetCheck("visits")
    whole.run(held)
    data = json.loads(json.dumps(whole.to_data()))
    del data["tallies"]["prices"]
    later = DatasetCheck.from_data("visits", whole.sequence, whole.head, data)
    assert later.open_findings(later.run(StorePages(filled._look, "visits"))) == []
    assert later.to_data() == whole.to_data()


@pytest.mark.parametrize("name", ["total", "budget", "names", "chain"])
def test_a_check_without_what_a_tally_kept_cannot_be_read(filled, name):
    whole = DatasetCheck("visits")
    whole.run(StorePages(filled._look, "visits"))
    data = whole.to_data()
    del data["tallies"][name]
    with pytest.raises(UNREADABLE_ROWS):
        DatasetCheck.from_data("visits", whole.sequence, whole.head, data)


def test_what_others_charge_and_answer_while_pages_are_read_is_no_damage(filled, another, turn):
    other, questions = another(), iter(range(6))

    def charge_and_answer():
        number = next(questions, None)
        if number is None:
            return
        held = turn(other, question=f"e{number}", epsilon=0.001)
        if number % 2:
            other.answer(held, b"1")
        if number == 3:
            other.answer(turn(other, question="a9", epsilon=0.001), b"2")
            other.forfeit(turn(other, question="f9", epsilon=0.001), "timeout")

    check = DatasetCheck("visits")
    ending = check.run(Interrupted(filled._look, "visits", most=2, before=charge_and_answer))
    assert check.open_findings(ending) == []
    assert check.events == filled.verify(full=True).events
    assert len(check.charges.pending) >= 4


def test_events_that_cannot_be_read_are_a_finding_without_a_seal(filled, tamper):
    tamper("UPDATE events SET kind = 'RECOVERED' WHERE kind = 'PUBLISHED'")
    check = DatasetCheck("visits")
    first, *_ = check.open_findings(check.run(StorePages(filled._look, "visits", most=2)))
    assert (first.what, first.seal) == ("its rows cannot be read", "")


def test_the_check_knows_how_far_the_chain_is_whole(filled, tamper):
    tamper("UPDATE events SET analyst = 'eve' WHERE sequence = 5")
    check = DatasetCheck("visits")
    check.run(StorePages(filled._look, "visits", most=2))
    last = filled._look(lambda writer: writer.rows("SELECT max(sequence) AS last FROM events"))[0]["last"]
    assert (check.whole, check.last, check.sequence) == (4, last, last)
