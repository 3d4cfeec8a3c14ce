"""The places where a row must be there, on every store."""

from dataclasses import replace

import pytest

from discreet.accounting.filters import NOTHING, Cost
from discreet.errors import LedgerError, NameNotFoundError
from discreet.ledger import Kind, SQLiteLedger
from discreet.ledger.transactions import statements
from tampering import tampering


def test_a_link_that_does_not_follow_the_head_is_not_written(visits, charge):
    """Two writers cannot extend the same head, even if a lock failed."""
    stale = visits._look(lambda pen: statements.account(pen, "visits", lock=False))
    charge(visits)
    with pytest.raises(LedgerError, match=r"damaged|rule of the ledger"):
        visits._run(lambda pen: pen.append(stale, stale.link(Kind.REJECTED, version=1)))
    assert visits.verify()


def test_a_charge_beyond_the_cap_is_not_written_whatever_the_code_asks(visits):
    """The guarded update is the last word, not the check that came before it."""

    def overspend(pen):
        known = statements.account(pen, "visits")
        pen.charge(known, known.link(Kind.RESERVED, version=1, cost=Cost(2 * 10**12, 2 * 10**15, 0), analyst="ann"))

    with pytest.raises(LedgerError, match=r"damaged|rule of the ledger"):
        visits._run(overspend)
    assert visits.spent("visits") == NOTHING
    assert visits.verify()


def test_what_was_read_is_locked_until_the_work_is_done(visits, another, charge, at_once):
    """Two additions that read first and write later do not lose one of the two."""
    other = another()
    at_once(*(lambda on=on: [charge(on) for _ in range(4)] for on in (visits, other)))
    assert visits.spent("visits").epsilon == 8 * 10**11


def test_a_pen_remembers_how_far_each_chain_moved(visits):
    def twice(pen):
        known = statements.account(pen, "visits")
        known = pen.append(known, known.link(Kind.REJECTED, version=1, detail="{}"))
        pen.append(known, known.link(Kind.REJECTED, version=1, detail="{}"))
        return pen.heads

    moved = visits._run(twice)
    assert {name: account.sequence for name, account in moved.items()} == {"visits": 3}
    assert visits._look(lambda pen: statements.account(pen, "visits", lock=False)) == moved["visits"]


def test_a_name_leads_to_its_dataset_also_where_its_row_is_gone(visits):
    visits.rename("visits", "other", reason="a test")

    def look(pen):
        return [statements.name_of(pen, name) for name in ("visits", "other")]

    assert visits._look(look) == ["visits", "visits"]
    with pytest.raises(NameNotFoundError):
        visits._look(lambda pen: statements.name_of(pen, "visit"))


def test_every_table_that_mentions_a_dataset_is_asked_for_names(visits, dataset):
    visits.register(dataset(name="b"))
    assert visits._look(statements.names) == ["b", "visits"]


def test_an_analyst_without_a_row_has_the_share_of_everyone(visits, charge):
    share, is_there = visits._look(lambda pen: statements.share(pen, "visits", "ann"))
    assert (share.spent, share.quota, is_there) == (NOTHING, None, False)
    charge(visits)
    after, is_there = visits._look(lambda pen: statements.share(pen, "visits", "ann"))
    assert is_there
    assert replace(after, spent=NOTHING) == share


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("change", ["analyst = 'mallory'", "cost_epsilon = 9000000000000", "time = 'never'"])
def test_a_charge_that_was_changed_is_neither_signed_nor_given_nor_answered(path, dataset, turn, change):
    """What the service signs convicts the ledger, so it signs what its own chain says and nothing else."""
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        answered, held = turn(ledger, request="r-1"), turn(ledger, question="ab")
        ledger.answer(answered, b"answer")
        with tampering(str(path)) as hand:
            hand.execute(f"UPDATE events SET {change} WHERE kind = 'RESERVED'")
        for act in (
            lambda: turn(ledger),
            lambda: turn(ledger, request="r-1"),
            lambda: ledger.answer(held, b"answer"),
            lambda: ledger.stored("visits", answered.receipt.question),
        ):
            with pytest.raises(LedgerError, match="damaged"):
                act()


def test_names_lead_to_datasets_in_the_order_asked(visits):
    visits.rename("visits", "other", reason="a test")
    assert visits._look(lambda pen: statements.true_names(pen, ["x", "other", "visits"])) == ["x", "visits", "visits"]
