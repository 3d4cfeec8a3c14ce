"""The places where a row must be there, on every store."""

import time
from dataclasses import replace
from functools import partial

import pytest

from discreet.accounting.costs import NOTHING, Cost
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, NameNotFoundError
from discreet.ledger import Kind, SQLiteLedger, State
from discreet.ledger.transactions import statements
from discreet.ledger.transactions.statements import LedgerWriter
from tampering import tampering

SHORT = 0.1


def test_a_link_that_does_not_follow_the_head_is_not_written(visits, charge):
    """Two writers cannot extend the same head, even if a lock failed."""
    stale = visits._look(lambda writer: statements.account(writer, "visits", lock=False))
    charge(visits)
    with pytest.raises(LedgerError, match=r"damaged|rule of the ledger"):
        visits._run(lambda writer: writer.append(stale, stale.link(Kind.REJECTED, version=1)))
    assert visits.verify()


def test_a_charge_beyond_the_cap_is_not_written_whatever_the_code_asks(visits):
    """The guarded update is the last word, not the check that came before it."""

    def overspend(writer):
        known = statements.account(writer, "visits")
        writer.charge(
            known, known.link(Kind.RESERVED, version=1, cost=Cost(2 * 10**12, 2 * 10**15, 0, 2 * 10**15), analyst="ann")
        )

    with pytest.raises(LedgerError, match=r"damaged|rule of the ledger"):
        visits._run(overspend)
    assert visits.spent("visits") == NOTHING
    assert visits.verify()


@pytest.mark.guarantee("ledger")
def test_the_update_that_charges_changes_a_row_only_within_the_cap_also_without_the_rules_of_the_store(
    ledger, dataset, tamperer
):
    """Either epsilon or rho is within its cap, and delta is in any case."""
    ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-9)))
    known = ledger._look(lambda writer: statements.account(writer, "visits", lock=False))
    caps = known.caps

    def changed(epsilon: int | None, rho: int, delta: int) -> list[int]:
        link = known.link(Kind.RESERVED, version=1, cost=Cost(epsilon, rho, delta, rho), analyst="ann")
        with tampering(tamperer, is_kept=False) as hand:
            return hand.changed(lambda writer: writer.charge(known, link))

    for cost in (
        (caps.epsilon, caps.rho, caps.delta),
        (caps.epsilon, caps.rho + 1, caps.delta),
        (caps.epsilon + 1, caps.rho, caps.delta),
        (None, caps.rho, caps.delta),
    ):
        assert changed(*cost) == [1]
    for cost in (
        (caps.epsilon + 1, caps.rho + 1, 0),
        (None, caps.rho + 1, 0),
        (caps.epsilon, caps.rho, caps.delta + 1),
    ):
        assert changed(*cost) == [0]


@pytest.mark.guarantee("ledger")
def test_the_update_that_charges_changes_a_row_only_at_the_head_also_without_the_rules_of_the_store(
    visits, charge, tamperer
):
    """Of two writers that read the same head one charges, or one charge would be lost from the total."""

    def look():
        return visits._look(lambda writer: statements.account(writer, "visits", lock=False))

    stale = look()
    charge(visits)
    for known, rows in ((stale, [0]), (look(), [1])):
        link = known.link(Kind.RESERVED, version=1, cost=Cost(1, 1, 0, 1), analyst="ann")
        with tampering(tamperer, is_kept=False) as hand:
            assert hand.changed(partial(LedgerWriter.charge, account=known, link=link)) == rows


@pytest.mark.guarantee("ledger")
def test_the_updates_of_a_reservation_change_a_row_only_for_the_attempt_that_holds_it(another, dataset, turn, tamperer):
    ledger = another(lease=SHORT)
    ledger.register(dataset())
    receipt = turn(ledger).receipt
    superseded = ledger._look(lambda writer: statements.find_charge(writer, receipt))
    time.sleep(1.5 * SHORT)
    assert turn(ledger).attempt == 2
    holding = ledger._look(lambda writer: statements.find_charge(writer, receipt))
    for act in (
        partial(statements.conclude, state=State.ANSWERED),
        partial(statements.conclude, state=State.FORFEITED),
        partial(statements.resume, term=1000),
        partial(statements.renew, term=1000),
    ):
        for charged, rows in ((superseded, [0]), (holding, [1])):
            with tampering(tamperer, is_kept=False) as hand:
                assert hand.changed(partial(act, charge=charged)) == rows


def test_what_was_read_is_locked_until_the_work_is_done(visits, another, charge, at_once):
    """Two additions that read first and write later do not lose one of the two."""
    other = another()
    at_once(*(lambda on=on: [charge(on) for _ in range(4)] for on in (visits, other)))
    assert visits.spent("visits").epsilon == 8 * 10**11


def test_a_pen_remembers_how_far_each_chain_moved(visits):
    def twice(writer):
        known = statements.account(writer, "visits")
        known = writer.append(known, known.link(Kind.REJECTED, version=1, detail="{}"))
        writer.append(known, known.link(Kind.REJECTED, version=1, detail="{}"))
        return writer.heads

    moved = visits._run(twice)
    assert {name: account.sequence for name, account in moved.items()} == {"visits": 3}
    assert visits._look(lambda writer: statements.account(writer, "visits", lock=False)) == moved["visits"]


def test_a_name_leads_to_its_dataset_also_where_its_row_is_gone(visits):
    visits.rename("visits", "other", reason="a test")

    def look(writer):
        return [statements.name_of(writer, name) for name in ("visits", "other")]

    assert visits._look(look) == ["visits", "visits"]
    with pytest.raises(NameNotFoundError):
        visits._look(lambda writer: statements.name_of(writer, "visit"))


def test_every_table_that_mentions_a_dataset_is_asked_for_names(visits, dataset):
    visits.register(dataset(name="b"))
    assert visits._look(statements.names) == ["b", "visits"]


def test_an_analyst_without_a_row_has_the_share_of_everyone(visits, charge):
    share, is_there = visits._look(lambda writer: statements.share(writer, "visits", "ann"))
    assert (share.spent, share.quota, is_there) == (NOTHING, None, False)
    charge(visits)
    after, is_there = visits._look(lambda writer: statements.share(writer, "visits", "ann"))
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
            lambda: ledger.stored_answer("visits", answered.receipt.question),
        ):
            with pytest.raises(LedgerError, match="damaged"):
                act()


def test_names_lead_to_datasets_in_the_order_asked(visits):
    visits.rename("visits", "other", reason="a test")
    assert visits._look(lambda writer: statements.true_names(writer, ["x", "other", "visits"])) == [
        "x",
        "visits",
        "visits",
    ]
