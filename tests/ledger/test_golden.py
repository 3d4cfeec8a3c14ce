"""A ledger of every version that was ever written opens, verifies and serves, on each store."""

import json
import shutil
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

import discreet as dp
from discreet.accounting.costs import Cost
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import Kind, Ledger, PostgresLedger, Receipt, RegisteredSlice, SQLiteLedger, State, open_ledger
from discreet.ledger.stores import postgres_schema
from discreet.release.release import Release
from ledger.make_golden import BUDGETS, FACTS, TENTH, people
from servers import SERVICE, STEWARD

GOLDEN = Path(__file__).parents[1] / "golden" / "ledger"


def _check_the_first_part(ledger: Ledger, receipt: Receipt) -> None:
    """What there is since version 1."""
    assert receipt.verify()
    report = ledger.verify(receipts=[receipt])
    assert report, str(report)
    assert ledger.spent("visits").at_any_order == Cost(None, 12_300_000_000_000, 10_000_000, 12_300_000_000_000)
    assert ledger.spent("people").epsilon == 333_000_000_000
    assert ledger.stored_answer("visits", "cd") == b""
    assert ledger.stored_answer("visits", "ef") == b"0"
    assert ledger.answer(receipt, b"another") == b'{"n": 12}'
    assert ledger.share("visits", "bob").failures == 1


def _check_the_second_part(ledger: Ledger, turn) -> None:
    """What came with version 2."""
    assert ledger.spent("persons") == ledger.spent("people")
    assert (ledger.share("visits", "bob").most_failures, ledger.share("visits", "zoe").quota.epsilon) == (7, 12)
    assert ledger.registration("stays 1").slice == RegisteredSlice("stays", "2026-01-01", "2026-02-01")
    assert ledger.stored_answer("stays 1", "aa") == ledger.stored_answer("stays 2", "aa") == b"together"
    assert ledger.stored_answer("stays 1", "ab") == b"taken over"
    assert ledger.share("stays 1", "ann").failures == 1
    states = {entry.question: entry.state for entry in ledger.history("stays 2") if entry.kind is Kind.RESERVED}
    assert states == {"aa": State.ANSWERED, "bb": State.FORFEITED}
    assert turn(ledger, name="stays 1", question="ab").payload == b"taken over"
    assert [entry.state for entry in ledger.history("stays 1")][-1] is State.RESERVED


def _check_the_fourth_part(ledger: Ledger) -> None:
    """What came with version 4 on SQLite and 5 on PostgreSQL."""
    first, second = ledger.other_releases("persons")
    assert first.text == f"people.csv, ages in tens (generalised data, {first.time[:10]}, SHA-256 {'ab' * 32}, event 6)"
    assert (second.kind, second.what, second.sha256, second.author) == ("exact", "Tabelle für die Presse", None, "ann")


def _check_that_it_goes_on(ledger: Ledger, owner: Ledger, turn, *, has_order: bool, lists_keys: bool) -> None:
    """Its keys and anchors are not here, so somebody has to take it over first."""
    with pytest.raises(LedgerError, match="does not list the signing key" if lists_keys else "listed no keys"):
        turn(ledger, question="0a", version=2, analyst="zoe")
    recorded = ledger.spent("visits")
    assert has_order or recorded == recorded.at_any_order
    owner.take_over(reason="its anchors are lost")
    before = ledger.spent("visits")
    answered = turn(ledger, question="0a", version=2, analyst="zoe")
    assert ledger.answer(answered, b"new") == b"new"
    assert turn(ledger, question="0a", version=2).payload == b"new"
    fixed = [json.loads(e.detail)["new"]["order"] for e in ledger.history("visits") if "Renyi" in (e.detail or "")]
    budget = ledger.budget("visits")
    assert fixed == ([] if has_order else [f"{budget.order.numerator}/{budget.order.denominator}"])
    assert ledger.spent("visits") == before + budget.cost(TENTH)
    assert ledger.add_other_release("visits", "a poster", kind="other") == ledger.other_releases("visits")[-1]
    assert ledger.verify(), str(ledger.verify())


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_a_file_of_every_released_version_opens_and_verifies(path, turn, version):
    shutil.copy(GOLDEN / f"v{version}.sqlite", path)
    receipt = Receipt.from_json((GOLDEN / f"v{version}.receipt.json").read_text())
    with SQLiteLedger(path) as ledger:
        _check_the_first_part(ledger, receipt)
        if version >= 2:
            _check_the_second_part(ledger, turn)
            assert ledger.spent("stays 2").epsilon == 3 * 10**11
            assert [entry.kind for entry in ledger.history("stays 2")][-1] is Kind.RECOVERED
        if version >= 4:
            _check_the_fourth_part(ledger)
        _check_that_it_goes_on(ledger, ledger, turn, has_order=version >= 3, lists_keys=version >= 5)


@pytest.fixture
def restored(ledger_server):
    """An empty database for a dump, and the addresses of its roles."""
    name = "golden"
    with psycopg.connect(ledger_server.superuser_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    roles = (ledger_server.superuser_url, ledger_server.service_url, ledger_server.steward_url)
    yield tuple(f"{url.rpartition('/')[0]}/{name}" for url in roles)
    with psycopg.connect(ledger_server.superuser_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.mark.parametrize("version", [2, 3, 4, 5, 7])
def test_a_dump_of_every_released_version_is_restored_migrated_and_verifies(restored, turn, version):
    owner, service, steward = restored
    with psycopg.connect(owner) as connection:
        connection.execute((GOLDEN / f"v{version}.postgres.sql").read_bytes())
    if version < postgres_schema.VERSION:
        with pytest.raises(LedgerError, match="older"):
            open_ledger(service)
    PostgresLedger.create(owner, role=SERVICE, steward=STEWARD)
    receipt = Receipt.from_json((GOLDEN / f"v{version}.postgres.receipt.json").read_text())
    with open_ledger(steward) as ledger:
        _check_the_first_part(ledger, receipt)
        _check_the_second_part(ledger, turn)
        if version >= 5:
            _check_the_fourth_part(ledger)
        with PostgresLedger(owner, as_owner=True) as by_owner:
            _check_that_it_goes_on(ledger, by_owner, turn, has_order=version >= 4, lists_keys=version >= 6)
    with open_ledger(service) as ledger:  # whose role could not have stated the records of that version anew
        turn(ledger, question="0b", version=2, analyst="zoe")


def _reopened(ledger: Ledger, name: str, analyst: str = "owner", budget: dp.Budget | None = None) -> dp.Session:
    words = {"name": name, "budget": budget or BUDGETS[name], "ledger": ledger, "analyst": analyst}
    return dp.protect(people(), **words, **FACTS)


@pytest.fixture
def budgets(path):
    """The ledger of sessions that was made when a budget reserved no delta unless it said so."""
    shutil.copy(GOLDEN / "budgets.sqlite", path)
    with SQLiteLedger(path) as ledger:
        ledger.take_over(reason="its anchors are lost")
        yield ledger


def test_what_was_registered_before_reserves_had_a_default_keeps_its_division(budgets):
    assert budgets.verify(receipts=[Receipt.from_json((GOLDEN / "budgets.receipt.json").read_text())])
    reserves = {"pure": 0, "mixed": 0, "unasked": 0, "reserving": Fraction(3, 10**10)}
    for name, reserve in reserves.items():
        epsilon, delta = BUDGETS[name].epsilon, BUDGETS[name].delta
        with _reopened(budgets, name, budget=dp.Budget(epsilon=epsilon, delta=delta)) as session:
            assert session.ledger.budget(name).reserve == reserve
    for name in ("mixed", "reserving"):
        budgets.set_cap(name, dp.Budget(epsilon=3, delta=1e-9), reason="another year")
        assert budgets.budget(name).reserve == reserves[name]
        with pytest.raises(BudgetError, match="another reserved_delta"):
            budgets.set_cap(name, dp.Budget(epsilon=4, delta=1e-9, reserved_delta=1e-10), reason="a new division")
    assert budgets.verify(), str(budgets.verify())


@pytest.mark.parametrize("name", ["mixed", "reserving", "unasked", "pure"])
def test_an_analyst_with_a_quota_that_states_no_delta_is_answered(budgets, name):
    """The quota of 1 was recorded without a delta, and admitted no Gaussian noise."""
    query = dp.table(name).group_by("ward").agg(u=dp.count_units())
    with _reopened(budgets, name, "ann", budgets.budget(name)) as session:
        assert session.remaining().quota_epsilon == 1
        assert session.explain(query, epsilon=0.5).fits
        session.release(query, epsilon=0.5)
        assert 0 < session.remaining().quota_epsilon < 1
        assert not session.explain(query, epsilon=0.9).fits
        with pytest.raises(BudgetError, match="left of their quota of epsilon 1"):
            session.release(query, epsilon=0.9)
    assert budgets.verify(), str(budgets.verify())


def test_a_new_cap_states_the_quotas_in_its_terms_and_the_chain_records_it(budgets):
    budgets.set_cap("pure", dp.Budget(epsilon=3, delta=1e-9), reason="another year")
    assert budgets.share("pure", "ann").quota.conversion_delta == budgets.budget("pure").conversion_delta
    assert [entry.kind for entry in budgets.history("pure")][-2:] == [Kind.CAPPED, Kind.LIMITED]
    assert budgets.verify(), str(budgets.verify())


def test_a_stored_release_is_read_as_it_was_made(budgets):
    stored = [budgets.stored_answer("pure", entry.question) for entry in budgets.history("pure") if entry.event]
    counts, mean = (Release.from_json(json.loads(payload)) for payload in stored)
    assert len(counts["n"]) == 2
    assert mean.value("m_high") == 1
    assert "m" in str(mean)
