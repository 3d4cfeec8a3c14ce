"""The places where a row must be there, on every store."""

from dataclasses import replace
from functools import partial

import pytest

from discreet import events
from discreet.accounting.costs import NOTHING, Cost
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, NameNotFoundError
from discreet.ledger import DatasetCharge, Kind, SQLiteLedger
from discreet.ledger.transactions import statements
from discreet.ledger.transactions.statements import LedgerWriter
from tampering import tampering


def test_a_link_that_does_not_follow_the_head_is_not_written(visits, charge):
    """Two writers cannot extend the same head, even if a lock failed."""
    stale = visits._look(lambda writer: statements.account(writer, "visits", lock=False))
    charge(visits)
    with pytest.raises(LedgerError, match=r"damaged|rule of the ledger"):
        visits._commit(lambda writer: writer.append(stale, stale.link(Kind.REJECTED, version=1)))
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


@pytest.fixture
def shadowed(visits, dataset, turn, tamper):
    """A ledger in which the name of an exhausted dataset is planted as another name of one that nobody has asked."""
    visits.answer(turn(visits, epsilon=1), b"answer")
    visits.register(dataset(name="zz"))
    visits.answer(turn(visits, name="zz", question="aa"), b"of zz")
    visits.rename("zz", "other", reason="a test")
    tamper("INSERT INTO aliases (alias, dataset) VALUES ('visits', 'zz')")
    return visits


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_name_that_is_a_dataset_and_leads_to_another_is_refused(shadowed, dataset, turn):
    """Under its name, it would have the privacy budget of the other one besides its own."""
    parts = [DatasetCharge(name=name, version=1, event=events.PureEvent(1)) for name in ("other", "visits")]
    usual = {"analyst": "ann", "question": "ab", "description": "{}"}
    for act in (
        lambda: turn(shadowed, question="ab"),
        lambda: turn(shadowed, question="aa"),
        lambda: shadowed.charge_together(parts, **usual),
        lambda: shadowed.charge_together(parts[1:], **usual),
        lambda: shadowed.register(dataset()),
        lambda: shadowed.registration("visits"),
        lambda: shadowed.stored_answer("visits", "aa"),
        lambda: shadowed.add_other_release("visits", "a poster", kind="other"),
        lambda: shadowed._look(lambda writer: statements.find_account(writer, "visits", lock=False)),
        lambda: shadowed._look(lambda writer: statements.name_of(writer, "visits")),
        lambda: shadowed._look(lambda writer: statements.true_names(writer, ["zz", "visits"])),
    ):
        with pytest.raises(LedgerError, match="the ledger is damaged"):
            act()
    assert turn(shadowed, name="other", question="aa").payload == b"of zz"
    assert shadowed.spent("zz").epsilon == 10**11
