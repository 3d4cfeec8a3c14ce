"""What a ledger asks of a database, and what every store must do: all that was written, or nothing."""

import pytest

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.transactions.store import UnknownOutcomeError, insert_statement, one

HALT = {"id": "1", "dataset": "another", "time": "", "finding": ""}
INSERT = insert_statement("halts", HALT)
READ = ("SELECT id FROM halts WHERE dataset = :name ORDER BY id", {"name": "another"})


def _write(*statements, fails: type[BaseException] | None = None):
    def work(transaction):
        for statement in statements:
            transaction.write(*statement)
        if fails is not None:
            raise fails
        return "done"

    return work


def test_one_row_is_the_row_and_none_is_none():
    assert one([]) is None
    assert one([{"a": 1}]) == {"a": 1}


def test_a_row_is_written_by_the_names_of_its_columns():
    assert INSERT == (
        "INSERT INTO halts (id, dataset, time, finding) VALUES (:id, :dataset, :time, :finding)",
        HALT,
    )


def test_an_unknown_outcome_is_an_error_of_the_ledger_that_says_what_to_do():
    error = UnknownOutcomeError()
    assert isinstance(error, LedgerError)
    assert str(error) == faults.UNKNOWN


def test_what_work_writes_is_there_when_it_returns(visits, another):
    assert visits._store.run(_write(INSERT)) == "done"
    assert another()._store.ask(READ) == [{"id": "1"}]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError, LedgerError])
def test_work_that_fails_writes_nothing_and_leaves_the_store_usable(visits, charge, failure):
    with pytest.raises(failure):
        visits._store.run(_write(INSERT, fails=failure))
    assert visits._store.ask(READ) == []
    charge(visits)
    assert visits.verify()


def test_a_write_that_the_store_refuses_takes_all_others_with_it(visits, charge):
    first = insert_statement("halts", HALT | {"id": "0"})
    for bad in (INSERT, ("UPDATE events SET analyst = :who", {"who": "bob"}), ("not sql", {})):
        with pytest.raises(LedgerError):
            visits._store.run(_write(first, INSERT, bad))
        assert visits._store.ask(READ) == []
    charge(visits)
    assert visits.verify()


def test_a_change_of_no_row_or_of_several_takes_all_others_with_it(visits, charge):
    """A row that is not there means that somebody else was at work, or that it was deleted."""
    charge(visits)
    charge(visits, analyst="bob")
    for where in ("request = 'nobody'", "state = 'RESERVED'"):
        with pytest.raises(LedgerError, match="damaged"):
            visits._store.run(_write(INSERT, (f"UPDATE reservations SET lease = :lease WHERE {where}", {"lease": 7})))
        assert visits._store.ask(READ) == []
    assert visits._store.ask(("SELECT count(*) AS n FROM reservations WHERE lease = 7", {})) == [{"n": 0}]
    assert visits.verify()


def test_a_store_that_refused_many_writes_goes_on_serving(visits, charge):
    """The driver prepares what it is told often; a refusal must not leave it believing in what never was."""
    visits._store.run(_write(INSERT))
    for _ in range(8):
        with pytest.raises(LedgerError, match="rule of the ledger"):
            visits._store.run(_write(INSERT))
        visits.rename("visits", f"n{_}", reason="a test")
    charge(visits)
    assert visits._store.run(_write()) == "done"


def test_reads_in_one_look_see_one_moment(visits, another, charge):
    other = another()

    def look(transaction):
        spent = ("SELECT spent_rho FROM datasets WHERE name = :name", {"name": "visits"})
        before = transaction.read(spent)
        charge(other)
        return before, transaction.read(spent)

    before, after = visits._store.look(look)
    assert before == after
    assert visits.spent("visits").epsilon == 10**11


def test_several_questions_are_answered_in_their_order(visits):
    questions = [("SELECT :n AS n", {"n": "a"}), ("SELECT name FROM datasets", {}), ("SELECT :n AS n", {"n": "b"})]
    answers = visits._store.look(lambda transaction: transaction.read(*questions))
    assert answers == [[{"n": "a"}], [{"name": "visits"}], [{"n": "b"}]]


def test_the_clock_of_a_store_is_in_milliseconds(visits):
    (row,) = visits._store.ask(("SELECT {clock} AS clock", {}))
    assert 1_700_000_000_000 < row["clock"] < 10_000_000_000_000


def test_an_untouched_store_has_no_findings(visits):
    assert visits._store.findings(full=True) == []


def test_work_in_a_closed_store_says_so(visits):
    visits._store.close()
    for act in (
        lambda: visits._store.findings(full=False),
        lambda: visits._store.ask(READ),
        lambda: visits._store.run(_write(INSERT)),
    ):
        with pytest.raises(LedgerError, match="closed"):
            act()
