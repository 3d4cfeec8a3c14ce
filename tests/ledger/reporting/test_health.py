"""Health of a ledger, the same over every store: what a monitor is told, at no change of anything."""

import json
import re
import shutil
import sqlite3
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.accounting.costs import NOTHING
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, ParameterError
from discreet.ledger import LedgerHealth, PostgresLedger, Signer, SQLiteLedger
from discreet.ledger.records import faults
from discreet.ledger.reporting.health import (
    DatasetHealth,
    HealthProblem,
    HealthRows,
    KeyHealth,
    ledger_health,
)
from discreet.ledger.stores import postgres_schema, sqlite_schema
from discreet.ledger.transactions.store import RoleRights
from servers import SERVICE, STEWARD, PostgresServer
from tampering import TABLES, tampering

WHY = {"reason": "a test"}


@pytest.fixture
def look(address: str, tmp_path: Path) -> Callable[..., LedgerHealth]:
    """The health as another process sees it that changes nothing, or, `elsewhere`, a monitor with an empty home."""
    kind = PostgresLedger if address.startswith("postgresql:") else SQLiteLedger

    def looked(limits: dict[str, Any] | None = None, *, elsewhere: bool = False, **options: Any) -> LedgerHealth:
        with pytest.MonkeyPatch.context() as patch:
            if elsewhere:
                patch.setenv("DISCREET_HOME", str(tmp_path / "monitor"))
            with kind(address, read_only=True, **options) as ledger:
                return ledger.health(**(limits or {}))

    return looked


def rows(tamperer: str) -> dict[str, list[str]]:
    """All rows of all tables."""
    with tampering(tamperer, is_kept=False) as hand:
        return {table: sorted(map(str, hand.execute(f"SELECT * FROM {table}"))) for table in TABLES}


def files(*directories: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for place in directories for path in place.rglob("*") if path.is_file()}


def kinds(health: LedgerHealth) -> list[str]:
    return [problem.kind for problem in health.problems]


def only(health: LedgerHealth) -> DatasetHealth:
    (dataset,) = health.datasets
    return dataset


def test_a_ledger_that_serves_is_healthy(visits, charge, look, discreet_home):
    visits.answer(charge(visits), b"1")
    visits.close()
    health = look()
    assert health
    assert health.problems == ()
    assert health.schema_version == {"SQLite": sqlite_schema, "PostgreSQL": postgres_schema}[health.store].VERSION
    assert health.is_behind is False
    dataset = only(health)
    assert (dataset.dataset, dataset.epsilon, dataset.share) == ("visits", Fraction(1, 10), Fraction(1, 10))
    assert dataset.newest_anchor.events == 0
    assert 0 <= dataset.newest_anchor.seconds < 60
    assert health.keys == KeyHealth(
        listed=1, key=Signer.find(discreet_home / "signing.key").key, state="listed", is_owner=True
    )


def test_it_prints_one_look_of_at_most_80_characters_a_line(visits, charge, look):
    charge(visits)
    text = str(look())
    assert text.startswith("healthy: 1 dataset on ")
    assert max(map(len, text.splitlines())) <= 80
    assert "serves" in text


def test_nothing_is_written_at_home_or_in_the_store(visits, charge, look, tamperer, discreet_home):
    for _ in range(250):  # more anchors than a file keeps
        visits.anchor()
    charge(visits)
    before = files(discreet_home), rows(tamperer)
    assert look()
    without = look(key=discreet_home / "none.key", anchors=discreet_home / "none")
    assert [str(problem) for problem in without.problems] == [faults.NO_KEY]
    assert (files(discreet_home), rows(tamperer)) == before


def test_who_only_looks_gets_no_key_and_no_home(visits, look, tmp_path):
    health = look(elsewhere=True)
    assert health
    assert (health.keys.key, health.keys.state, health.keys.is_owner, health.keys.listed) == (None, "none", False, 1)
    assert not (tmp_path / "monitor").exists()


def test_a_ledger_that_is_only_read_refuses_every_change(visits, charge, another):
    reader = another(read_only=True)
    for act in (lambda: charge(reader), reader.anchor, lambda: reader.rename("visits", "stays", **WHY)):
        with pytest.raises(LedgerError) as caught:
            act()
        assert str(caught.value) == faults.READ_ONLY
    assert reader.verify()
    assert reader.spent("visits") == NOTHING


def test_it_waits_for_no_process_that_holds_the_ledger(visits, look, address):
    is_file = not address.startswith("postgresql:")
    holder = sqlite3.connect(address, isolation_level=None) if is_file else psycopg.connect(address)
    holder.execute("BEGIN IMMEDIATE" if is_file else "SELECT 1 FROM discreet.datasets FOR UPDATE")
    start = time.monotonic()
    assert look()
    assert time.monotonic() - start < 5
    holder.close()


def test_a_dataset_that_was_halted_is_a_problem_with_the_finding(visits, charge, look, tamper):
    charge(visits)
    tamper("UPDATE events SET cost_epsilon = cost_epsilon - 1 WHERE kind = 'RESERVED'")
    assert not visits.verify(full=True)
    health = look()
    assert not health
    assert kinds(health) == ["stopped"]
    assert health.problems[0].dataset == "visits"
    assert only(health).stopped == health.problems[0].what


def test_an_older_copy_that_was_put_back_stands_behind_its_anchors(lost, look):
    lost()
    health = look()
    assert health.is_behind
    assert health.problems == (HealthProblem("stopped", faults.BEHIND, "visits"),)
    assert "behind its anchors" in str(health)


def test_a_process_that_runs_on_notices_an_older_copy_too(visits, charge, another, put_back):
    reader = another(read_only=True)
    for _ in range(3):
        charge(visits)
    assert reader.health()
    visits.close()
    put_back(2)
    assert reader.health().is_behind


def test_a_ledger_whose_dataset_is_missing_from_an_older_copy_is_a_problem(visits, look, tamperer):
    visits.anchor()
    visits.close()
    with tampering(tamperer) as hand:
        for table in ("analysts", "events", "versions"):
            hand.execute(f"DELETE FROM {table}")
        hand.execute("DELETE FROM datasets")
    assert look().problems == (HealthProblem("stopped", faults.BEHIND, "visits"),)


def test_a_row_that_cannot_be_read_is_a_problem(visits, look, tamper):
    tamper("UPDATE datasets SET neighbours = 'none'")
    assert look().problems == (HealthProblem("stopped", faults.DAMAGED, "visits"),)


def test_a_key_that_is_not_listed_is_a_problem(visits, look, tmp_path):
    Signer.at(tmp_path / "pod.key")
    health = look(key=tmp_path / "pod.key", anchors=tmp_path / "none")
    assert health.problems == (HealthProblem("keys", faults.UNLISTED_KEY),)
    assert health.keys.state == "not listed"


def test_a_revoked_key_is_a_problem_and_the_others_are_not(visits, look, tmp_path):
    pod = Signer.at(tmp_path / "pod.key")
    visits.share_anchors(tmp_path / "shared", **WHY)
    visits.list_key(pod.public, name="pod", **WHY)
    assert look(key=tmp_path / "pod.key", anchors=tmp_path / "none")
    visits.revoke_key(pod.key, **WHY)
    health = look(key=tmp_path / "pod.key", anchors=tmp_path / "none")
    assert health.problems == (HealthProblem("keys", faults.REVOKED_KEY),)
    assert (health.keys.state, health.keys.listed) == ("revoked", 1)
    assert look()


def test_several_keys_without_shared_anchors_are_a_problem_also_for_who_has_no_key(visits, look, tmp_path):
    public = Signer.at(tmp_path / "pod.key").public
    visits._write_act(visits._owner_act("LISTED", public, name="pod", **WHY))  # as a version did that refused none
    for elsewhere in (False, True):
        assert look(elsewhere=elsewhere).problems == (HealthProblem("keys", faults.UNSHARED_ANCHORS),)


def test_shared_anchors_have_an_age_of_their_own_and_nothing_is_written_to_them(visits, charge, look, tmp_path):
    visits.share_anchors(tmp_path / "shared", **WHY)
    charge(visits)
    before = files(tmp_path / "shared")
    for elsewhere in (False, True):
        health = look(elsewhere=elsewhere)
        assert health
        assert health.keys.shared_anchors == "reachable"
        assert only(health).anchors["shared"].events == 0
    assert files(tmp_path / "shared") == before


def test_shared_anchors_that_are_gone_are_a_problem_with_and_without_a_key(visits, look, tmp_path):
    visits.share_anchors(tmp_path / "shared", **WHY)
    visits.close()
    shutil.move(tmp_path / "shared", tmp_path / "away")
    for elsewhere in (False, True):
        health = look(elsewhere=elsewhere)
        assert health.problems == (HealthProblem("keys", faults.NO_ANCHOR_DIRECTORY),)
        assert health.keys.shared_anchors == "unreachable"
    (tmp_path / "shared").write_text("a file")
    assert look().problems == (HealthProblem("keys", faults.NO_SHARED_ANCHORS),)


def test_shared_anchors_that_go_while_a_process_runs_are_a_problem_there(visits, another, tmp_path):
    visits.share_anchors(tmp_path / "shared", **WHY)
    reader = another(read_only=True)
    assert reader.health()
    shutil.move(tmp_path / "shared", tmp_path / "away")
    assert reader.health().problems == (HealthProblem("keys", faults.NO_ANCHOR_DIRECTORY),)


def test_a_monitor_without_a_key_finds_an_older_copy_by_the_shared_anchors(visits, charge, look, put_back, tmp_path):
    visits.share_anchors(tmp_path / "shared", **WHY)
    for _ in range(3):
        charge(visits)
    visits.close()
    put_back(2)
    health = look(elsewhere=True)
    assert health.problems == (HealthProblem("stopped", faults.BEHIND, "visits"),)


def test_what_is_spent_is_a_problem_from_the_given_part_on(visits, charge, look):
    charge(visits, epsilon=Fraction(9, 10))
    assert look()
    assert look({"most_spent": 0.95})
    assert kinds(look({"most_spent": Fraction(9, 10)})) == ["spent"]
    charge(visits, epsilon=Fraction(1, 10))
    health = look({"most_spent": 1})
    assert only(health).share == 1
    assert [str(problem) for problem in health.problems] == ["'visits': 100% of its privacy budget is spent"]
    visits.set_cap("visits", Budget(epsilon=0.5), **WHY)
    assert "more than all" in str(look({"most_spent": 1}).problems[0])
    assert look()


def test_events_without_an_anchor_are_a_problem_after_the_given_time(visits, charge, look, discreet_home):
    charge(visits)
    charge(visits)
    health = look({"oldest_anchor": 0.001}, anchors=discreet_home / "none")
    assert [str(problem) for problem in health.problems] == ["'visits': 3 events, and no anchor of it is known here"]
    assert look({"oldest_anchor": 3600})
    assert only(look()).newest_anchor.events > 0
    assert kinds(look({"oldest_anchor": 0.001})) == ["anchors"]
    visits.anchor()
    assert look({"oldest_anchor": 0.001})  # an idle ledger needs no new anchor


@pytest.mark.parametrize(
    "limits", [{"oldest_anchor": 0}, {"most_spent": -1}, {"most_spent": "all"}, {"most_spent": 90}]
)
def test_a_limit_that_is_not_a_positive_number_or_no_part_of_a_budget_is_refused(visits, limits):
    with pytest.raises(ParameterError):
        visits.health(**limits)


def test_charges_whose_lease_has_ended_are_counted(dataset, charge, another, look):
    short = another(lease=0.05)
    short.register(dataset())
    short.answer(charge(short), b"1")
    charge(short)
    time.sleep(0.1)
    charge(another(), question="ab12")
    assert only(look()).unanswered == 1


def test_analysts_near_their_failure_limit_are_listed(visits, charge, look):
    visits.set_quota("visits", failures=2, **WHY)
    for failures in (1, 2):
        visits.forfeit(charge(visits, question=f"ab1{failures}"), "test")
        assert [each.failures for each in only(look()).near_limit] == ([] if failures == 1 else [2])
    (listed,) = look().to_dict()["datasets"][0]["analysts_near_failure_limit"]
    assert listed == {"analyst": "ann", "failures": 2, "most_failures": 2}


def test_its_document_is_json_with_exact_numbers(visits, charge, look):
    charge(visits, epsilon=Fraction(1, 3))
    document = json.loads(json.dumps(look().to_dict()))
    assert document["schema"] == "discreet.health/1"
    assert (document["healthy"], document["reachable"], document["behind_anchors"]) == (True, True, False)
    (dataset,) = document["datasets"]
    assert Fraction(dataset["epsilon"]["spent"]["exact"]) >= Fraction(1, 3)
    assert dataset["epsilon"]["cap"] == {"exact": "1/1", "float": 1.0}
    assert dataset["share"]["float"] >= 1 / 3
    assert dataset["anchors"].keys() == {"home", "shared"}


def field_names(value: Any, name: str = "") -> set[str]:
    """The names of all fields of a document, as the reference writes them; a pair is one field."""
    if isinstance(value, list):
        return {found for each in value for found in field_names(each, f"{name}[]")} or {f"{name}[]"}
    if not isinstance(value, dict) or value.keys() == {"exact", "float"} or name.startswith("datasets[].anchors."):
        return {name}
    return {found for key, each in value.items() for found in field_names(each, f"{name}.{key}".removeprefix("."))}


def test_every_field_of_its_document_is_in_the_reference(visits, charge, look):
    visits.set_quota("visits", failures=1, **WHY)
    visits.forfeit(charge(visits), "test")
    reference = Path(__file__).parents[3] / "docs" / "reference" / "ledger.md"
    table = (
        reference.read_text(encoding="utf-8").partition("### Health as JSON")[2].partition("With `read_only=True`")[0]
    )
    listed = {name for row in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE) for name in re.findall("`(.*?)`", row)}
    unreachable = LedgerHealth.unreachable("SQLite", LedgerError(faults.CLOSED)).to_dict()
    found = field_names(look({"most_spent": Fraction(1, 100)}).to_dict()) | field_names(
        unreachable["problems"], "problems"
    )
    analysts = {f"datasets[].analysts_near_failure_limit[].{each}" for each in ("analyst", "failures", "most_failures")}
    assert analysts <= found
    expected = (found - analysts) | {"error", "keys", "datasets[]", "datasets[].analysts_near_failure_limit[]"}
    assert listed == expected


def test_a_command_in_a_problem_stands_alone_on_its_line_without_the_comma_after_it(lost, look):
    lost()
    lines = str(look()).splitlines()
    assert "      discreet ledger recover --ledger LEDGER --reason TEXT" in lines
    assert max(map(len, lines)) <= 80


def test_a_ledger_without_datasets_is_healthy_and_prints(ledger, look):
    assert str(look()).startswith("healthy: 0 datasets")


def test_a_ledger_in_memory_is_healthy_and_has_no_keys(dataset):
    with SQLiteLedger(":memory:") as ledger:
        ledger.register(dataset())
        health = ledger.health()
    assert health
    assert (health.keys.key, health.keys.listed) == (None, 0)


def test_of_many_datasets_the_stopped_and_the_most_spent_are_shown(visits, dataset, charge, look):
    for number in range(15):
        visits.register(dataset(name=f"d{number}"))
    charge(visits, name="d7")
    text = str(look()).splitlines()
    assert text[3].split()[0] == "d7"
    assert any("6 more datasets" in line for line in text)


def test_a_closed_ledger_is_unreachable(visits):
    visits.close()
    health = visits.health()
    assert (health.ok, health.error) == (False, faults.CLOSED)
    assert str(health) == f"unhealthy: {faults.CLOSED}"
    assert health.to_dict()["error"] == {"type": "LedgerError", "what": faults.CLOSED}


def test_a_halt_of_everything_is_a_problem_where_there_is_no_dataset():
    empty = HealthRows(schema_version=5, names=frozenset(), accounts=(), expired={}, near_limit=())
    health = ledger_health(
        empty,
        store="SQLite",
        keys=KeyHealth(listed=1),
        role=RoleRights(),
        needs_key=False,
        anchors={},
        stopped={"": faults.HALTED},
        is_behind=False,
    )
    assert health.problems == (HealthProblem("stopped", faults.HALTED),)


@pytest.mark.full
def test_every_role_may_look_and_other_roles_may_not(postgres_address, ledger_server: PostgresServer, dataset):
    with PostgresLedger(postgres_address) as steward:
        steward.register(dataset())
    for url in (ledger_server.service_url, ledger_server.steward_url, ledger_server.owner_url):
        with PostgresLedger(url, read_only=True) as ledger:
            assert ledger.health()
    with pytest.raises(LedgerError) as caught:
        PostgresLedger(ledger_server.engine_url, read_only=True)
    assert str(caught.value) == faults.NO_RIGHTS


@pytest.mark.full
def test_a_server_that_was_stopped_is_an_unhealthy_result_of_a_process_that_runs(durable_postgres):
    PostgresLedger.create(durable_postgres.owner_url, role=SERVICE, steward=STEWARD)
    with PostgresLedger(durable_postgres.steward_url, read_only=True) as ledger:
        assert ledger.health()
        durable_postgres.kill()
        try:
            found = ledger.health()
        finally:
            durable_postgres.restart()
        assert found.error in (faults.UNREACHABLE, faults.NOT_LISTENING)
        assert ledger.health()
