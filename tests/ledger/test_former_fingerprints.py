"""A question that was charged under a fingerprint of an earlier format is found, waited for and never charged again."""

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

import golden_questions
from discreet.errors import ParameterError
from discreet.events import PureEvent
from discreet.ledger import DatasetCharge, SQLiteLedger
from golden_questions import OTHER_NOISE

OLD, NEW = "0d" * 32, "1e" * 32
UPGRADED = {"question": NEW, "former": (OLD,)}
GOLDEN = Path(__file__).parents[1] / "golden" / "ledger"
THEN = {
    "questions-5d1cc80": {},
    "questions-6cc4f2e": OTHER_NOISE,
    "questions-bc082c3": {
        **OTHER_NOISE,
        "bounds by growth": "its noise was changed in the meantime, so its former fingerprint is another",
        "a join": "what a public table holds was not part of its fingerprint, and must be now",
        "a join that keeps the unmatched": "the same",
    },
}


def _asked(ledger, dataset):
    return [entry for entry in ledger.history(dataset) if entry.event]


@pytest.mark.pitfall("B19")
def test_an_answer_under_a_former_fingerprint_is_repeated_at_no_cost(visits, turn):
    first = turn(visits, question=OLD)
    visits.answer(first, b"answer")
    for analyst in ("ann", "bob"):  # ann was charged before, which is the plain case of a store with one journey
        again = turn(visits, **UPGRADED, analyst=analyst)
        assert (again.payload, again.receipts) == (b"answer", first.receipts)
    assert visits.spent("visits").epsilon == 10**11


def test_what_was_never_asked_is_charged_under_the_present_fingerprint_alone(visits, turn):
    visits.answer(turn(visits, **UPGRADED), b"answer")
    assert [entry.question for entry in _asked(visits, "visits")] == [NEW]
    assert turn(visits, question=NEW).payload == turn(visits, **UPGRADED).payload == b"answer"
    assert turn(visits, question=OLD, patience=0).payload is None


def test_a_fresh_answer_is_charged_whatever_the_fingerprint_was(visits, turn):
    visits.answer(turn(visits, question=OLD), b"answer")
    fresh = turn(visits, **UPGRADED, fresh=True)
    assert fresh.payload is None
    visits.answer(fresh, b"fresh")
    assert turn(visits, **UPGRADED).payload == b"fresh"


def test_many_who_ask_at_once_get_the_answer_under_the_former_fingerprint(visits, another, turn):
    visits.answer(turn(visits, question=OLD), b"answer")
    ledgers = [another() for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda n: turn(ledgers[n % 4], **UPGRADED).payload, range(16)))
    assert replies == [b"answer"] * 16
    assert visits.spent("visits").epsilon == 10**11


@pytest.mark.pitfall("B19")
def test_whoever_asks_while_an_older_version_is_answering_waits_and_is_not_charged(visits, another, turn):
    held = turn(visits, question=OLD)
    ledgers = [another() for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(turn, ledger, **UPGRADED, patience=60) for ledger in ledgers]
        time.sleep(0.2)
        assert not any(each.done() for each in waiting)
        visits.answer(held, b"answer")
        assert [each.result().payload for each in waiting] == [b"answer"] * 3
    assert visits.spent("visits").epsilon == 10**11


def test_many_who_ask_a_new_question_at_once_are_one_charge(visits, another, turn):
    ledgers = [another() for _ in range(4)]

    def ask(number: int) -> bytes:
        asked = turn(ledgers[number % 4], **UPGRADED, analyst=f"a{number}", patience=60)
        return asked.payload or ledgers[number % 4].answer(asked, b"answer")

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(16))) == {b"answer"}
    assert visits.spent("visits").epsilon == 10**11


def test_a_request_key_stands_for_its_question_in_every_format(visits, turn):
    visits.answer(turn(visits, question=OLD, request="r-1"), b"answer")
    assert turn(visits, **UPGRADED, request="r-1").payload == b"answer"
    assert turn(visits, **UPGRADED, request="r-1", fresh=True).payload == b"answer"
    with pytest.raises(ParameterError, match="for another query"):
        turn(visits, question=NEW, request="r-1")
    assert visits.spent("visits").epsilon == 10**11


def test_an_answer_is_repeated_with_its_own_receipt_where_the_plan_is_another_now(visits, turn):
    first = turn(visits, question=NEW)
    visits.answer(first, b"answer")
    again = turn(visits, question=NEW, epsilon=Fraction(1, 5), description='{"planned":"otherwise"}', request="r-2")
    assert (again.payload, again.receipts) == (b"answer", first.receipts)
    assert visits.spent("visits").epsilon == 10**11


def test_a_charge_that_ran_out_is_taken_over_only_for_what_it_paid_for(another, dataset, turn):
    """Noise of another plan under the charge of the first would not be what was charged."""
    ledger = another(lease=0.2)
    ledger.register(dataset())
    for number, change in enumerate(({"epsilon": Fraction(1, 5)}, {"description": '{"planned":"otherwise"}'})):
        asked = {"question": f"a{number}"}
        left = turn(ledger, **asked, request=f"r-{number}")
        time.sleep(0.3)
        with pytest.raises(ParameterError, match="planned otherwise now"):
            turn(ledger, **asked, **change, request=f"r-{number}")
        other = turn(ledger, **asked, **change)
        assert (other.attempt, other.payload) == (1, None)
        assert other.receipt.id != left.receipt.id
        ledger.answer(other, b"other")
        assert turn(ledger, **asked).payload == b"other"


def test_a_charge_that_ran_out_under_a_former_fingerprint_is_taken_over(another, dataset, turn):
    ledger = another(lease=0.2)
    ledger.register(dataset())
    left = turn(ledger, question=OLD)
    time.sleep(0.3)
    taken = turn(ledger, **UPGRADED)
    assert (taken.attempt, taken.receipt.id) == (2, left.receipt.id)
    assert ledger.answer(taken, b"answer") == b"answer"
    assert ledger.spent("visits").epsilon == 10**11


def test_a_question_over_several_datasets_is_found_only_where_it_was_charged_to_all_of_them(ledger, dataset):
    for name in ("a", "b", "c"):
        ledger.register(dataset(name=name, source=f"{name}.csv"))
    tenth = PureEvent(Fraction(1, 10))

    def together(*names, **words):
        parts = [DatasetCharge(name=name, version=1, event=tenth) for name in names]
        return ledger.charge_together(parts, analyst="ann", description="{}", patience=0, **words)

    first = together("a", "b", question=OLD)
    ledger.answer(first, b"answer")
    again = together("b", "a", **UPGRADED)
    assert (again.payload, set(again.receipts)) == (b"answer", set(first.receipts))
    assert together("a", "c", **UPGRADED).payload is None
    assert [ledger.spent(name).epsilon for name in ("a", "b", "c")] == [2 * 10**11, 10**11, 10**11]


@pytest.mark.pitfall("B19")
@pytest.mark.parametrize("name", THEN)
def test_everything_that_earlier_commits_answered_is_repeated_with_its_receipt(name, path, tmp_path):
    shutil.copy(GOLDEN / f"{name}.sqlite", path)
    with SQLiteLedger(path, key=tmp_path / "key", anchors=tmp_path / "anchors") as ledger:
        assert ledger.verify()
    written = golden_questions.written(GOLDEN / f"{name}.answers.json")
    asked = [each for each in written if each in golden_questions.QUESTIONS and each not in THEN[name]]
    told = golden_questions.repeat(path, tmp_path, asked, dated="a condition" in written)
    assert told["charges"] == 0
    assert told["answers"] == {each: written[each]["answer"] for each in asked}
