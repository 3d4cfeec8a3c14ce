"""The commands of owners and auditors, over real ledgers in files and in PostgreSQL."""

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner, Result

import discreet as dp
from discreet import events
from discreet.accounting.filters import Budget
from discreet.cli import app
from discreet.cli import ledger as ledger_commands
from discreet.errors import BudgetError, LedgerError, NameNotFoundError, ParameterError
from discreet.ledger import Dataset, Ledger, PostgresLedger, Receipt, Reservation, SQLiteLedger, State
from discreet.ledger.reporting.health import CURE
from discreet.ledger.stores.postgres_schema import VERSION
from servers import SERVICE, STEWARD
from tampering import tampering

COMMANDS = (
    "show",
    "health",
    "history",
    "verify",
    "recover",
    "anchor",
    "cap",
    "quota",
    "rename",
    "other-release",
    "expire",
    "backup",
    "create",
    "move",
    "share-anchors",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger in which one dataset of epsilon 1 was asked once, at 0.25."""
    file = tmp_path / "ledger.sqlite"
    with SQLiteLedger(file) as ledger:
        fill(ledger)
    return file


def fill(ledger: Ledger) -> None:
    declared = {"name": "visits", "source": "visits.csv", "unit": "one patient_id", "facts": "{}"}
    ledger.register(Dataset(**declared, budget=Budget(epsilon=1)))
    ledger.answer(charged(ledger), b"42")


def charged(ledger: Ledger, question: str = "5f1d", epsilon: Fraction = Fraction(1, 4)) -> Reservation:
    event = events.PureEvent(epsilon)
    asked = {"version": 1, "analyst": "ann", "question": question, "description": "{}", "patience": 5.0}
    return ledger.charge("visits", event=event, **asked)


@pytest.fixture
def run(path: Path) -> Callable[..., Result]:
    """A command on that ledger; what it raises is told by the command line, and here by `result.exception`."""

    def command(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["ledger", *arguments, "--ledger", str(path)], env={"COLUMNS": "200"})

    return command


@pytest.fixture
def receipt(path: Path, tmp_path: Path) -> Path:
    """The receipt of a charge that the ledger holds, in a file."""
    with SQLiteLedger(path) as ledger:
        turn = charged(ledger, "77aa")
        ledger.answer(turn, b"1")
    file = tmp_path / "receipt.json"
    file.write_text(turn.receipt.to_json())
    return file


def said(result: Result) -> str:
    assert result.exception is None, result.exception
    assert result.exit_code == 0
    return result.stdout.strip()


def real(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "discreet", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | environment,
    )


# What was spent


def test_a_stopped_dataset_is_told_beside_what_is_left_of_it(run, path):
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DROP TRIGGER halts_are_written_once")
        raw.execute("INSERT INTO halts VALUES ('1', 'visits', 'now', 'it was edited', NULL)")
    result = run("show", "visits")
    assert said(result).startswith("visits")
    assert "'visits' is stopped: it was edited" in result.stderr


def test_a_verification_without_anchors_says_what_it_cannot_see(run, tmp_path):
    assert run("verify").stderr == ""
    result = run("verify", "--anchors", str(tmp_path / "anchrs"))
    assert result.exit_code == 0
    assert "no anchors to compare with" in result.stderr


def test_a_report_of_one_dataset_is_printed_as_the_library_prints_it(run, path):
    with SQLiteLedger(path) as ledger:
        assert said(run("show", "visits")) == str(ledger.report("visits")).strip()


def test_without_a_name_there_is_a_line_for_each_dataset(run):
    told = said(run("show"))
    assert told.startswith("1 dataset")
    spent, used = (line.split() for line in told.splitlines() if line.strip().startswith("visits"))
    assert spent[:4] == ["visits", "1", "0", "0.25"]
    assert used == ["visits", "█" * 10 + "░" * 30, "25%"]


def test_a_report_for_programs_is_json_with_the_deltas_that_were_asked_for(run):
    told = json.loads(said(run("show", "visits", "--json", "--delta", "1e-5", "--delta", "1e-8", "--analyst", "ann")))
    assert told["schema"] == "discreet.report/1"
    assert told["analyst"] == "ann"
    assert [each["delta"]["exact"] for each in told["spent"]["epsilons"]] == ["1/100000", "1/100000000"]
    assert json.loads(said(run("show", "--json")))["schema"] == "discreet.overview/1"


def test_loss_distributions_are_told_only_on_the_owners_statement(run):
    batches = [
        json.loads(said(run("show", "visits", "--json", *more)))["batch"] for more in ([], ["--fixed-in-advance"])
    ]
    assert [bool(batch["epsilons"]) for batch in batches] == [False, True]


def test_the_burn_down_is_exact_for_programs_and_a_chart_without_colours_for_people(run, path):
    found = json.loads(said(run("show", "visits", "--json")))["burn_down"]
    assert found["period"] == "hour"
    assert found["points"][-1]["epsilon"]["exact"] == found["points"][-1]["share"]["exact"] == "1/4"
    assert found["points"][-1]["cap"]["epsilon"]["exact"] == "1/1"
    piped = real("ledger", "show", "visits", "--ledger", path).stdout
    assert f"{'█' * 8}{'░' * 22}   25%     0.25    1" in piped
    assert "\x1b" not in piped


def test_a_stopped_dataset_is_named_for_programs_too(run, path):
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DROP TRIGGER halts_are_written_once")
        raw.execute("INSERT INTO halts VALUES ('1', 'visits', 'now', 'it was edited', NULL)")
    assert json.loads(run("show", "visits", "--json").stdout)["stopped"] == {"visits": f"it was edited; {CURE}"}


def test_findings_for_programs_go_with_the_exit_code(run, path):
    sound = json.loads(said(run("verify", "--json")))
    assert (sound["agrees"], sound["datasets"], sound["findings"]) == (True, 1, [])
    tamper(path)
    result = run("verify", "--json")
    assert result.exit_code == 1
    (finding,) = json.loads(result.stdout)["findings"]
    assert finding.keys() == {"what", "dataset", "event"}


def test_a_delta_that_is_no_number_is_a_wrong_call(run):
    result = run("show", "visits", "--delta", "tiny")
    assert result.exit_code == 2
    assert "'tiny' is not a number" in result.stderr


def test_an_unknown_dataset_is_refused_with_the_nearest_name(run):
    result = run("show", "visit")
    assert isinstance(result.exception, NameNotFoundError)
    assert result.exception.instead == "visits"


def test_the_history_is_one_line_for_each_event(run):
    registered, asked = said(run("history", "visits")).splitlines()
    assert registered.endswith("registered")
    assert asked.endswith("reserved, answered by 'ann': epsilon 0.25")


def test_the_history_for_programs_has_costs_as_text_and_documents_as_json(run):
    told = json.loads(said(run("history", "visits", "--json")))
    assert told["schema"] == "discreet.history/1"
    registered, asked = told["entries"]
    assert registered["detail"]["unit"] == "one patient_id"
    assert asked["cost"] == {"epsilon": "250000000000", "rho": "31250000000000", "delta": "0"}
    assert (asked["state"], asked["analyst"]) == ("ANSWERED", "ann")
    assert isinstance(asked["event"], dict)


# Verifying and recovering


def tamper(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DROP TRIGGER no_refunds")
    connection.close()


def test_a_sound_ledger_verifies_and_ends_with_0(run, receipt):
    assert said(run("verify")) == "1 dataset, 5 events: everything agrees"
    assert said(run("verify", "visits", "--receipt", str(receipt))).endswith("everything agrees")


def test_a_second_verification_says_from_where_it_went_on_and_a_full_one_reads_everything(run):
    assert json.loads(said(run("verify", "--json")))["since"] == {}
    again = "1 dataset, 0 events verified since event 3 (--full verifies all): everything agrees"
    assert said(run("verify")) == again
    assert json.loads(said(run("verify", "--json")))["since"] == {"visits": 3}
    assert said(run("verify", "--full")) == "1 dataset, 3 events: everything agrees"


def test_findings_end_with_1_and_stop_service_until_the_ledger_is_recovered(run, path, receipt, tmp_path):
    older = tmp_path / "older.sqlite"
    assert said(run("backup", str(older))) == f"1 dataset copied to {str(older)!r}"
    with SQLiteLedger(path) as ledger:
        later = charged(ledger, "88bb").receipt
    held = tmp_path / "later.json"
    held.write_text(later.to_json())
    shutil.copy(older, path)
    found = run("verify", "--receipt", str(held))
    assert found.exit_code == 1
    assert f"receipt {later.id} is not in the chain" in found.stdout
    with SQLiteLedger(path) as ledger, pytest.raises(LedgerError):
        charged(ledger, "99cc")
    told = run("recover", "--reason", "an old copy was put back", "--receipt", str(held))
    assert re.search(r"^  'visits': (epsilon [0-9.]+|nothing) was added, [0-9.]+ is spent$", told.stdout, re.MULTILINE)
    again = run("recover", "--reason", "once more", "--json")
    assert json.loads(again.stdout)["recovered"] == []
    assert run("recover", "--reason", "once more").stdout.splitlines()[1] == "  nothing to recover in any dataset"
    assert said(run("verify")).endswith("everything agrees")
    with SQLiteLedger(path) as ledger:
        assert ledger.spent("visits").epsilon == 750_000_000_000
        charged(ledger, "99cc")


def test_a_receipt_that_no_key_of_the_ledger_signed_is_a_finding_and_stops_nothing(run, path, tmp_path):
    with SQLiteLedger(path) as ledger:
        own = ledger.history("visits")[1]
    made_up = tmp_path / "made-up.json"
    with SQLiteLedger(":memory:") as other:
        fill(other)
        made_up.write_text(charged(other, "aa11").receipt.to_json())
    result = run("verify", "--receipt", str(made_up))
    assert result.exit_code == 1
    assert "no key of this ledger signed it" in result.stdout
    assert said(run("verify")).endswith("everything agrees")
    assert own.state is State.ANSWERED


def test_a_stopped_dataset_ends_with_1_also_where_nothing_new_is_found(run, path):
    """What a full verification found stands before the last verified event, where the next one does not look."""
    said(run("verify"))
    with tampering(str(path)) as hand:
        hand.execute("UPDATE events SET analyst = 'eve' WHERE sequence = 2")
    assert run("verify", "--full").exit_code == 1
    result = run("verify", "visits")
    assert result.exit_code == 1
    first, stop, *cure = result.stdout.splitlines()
    assert first.endswith(": no new finding, but 1 dataset is stopped")
    assert re.fullmatch(r"  'visits' is stopped since 20\S+\+00:00: event 2: .*", stop)
    assert cure[-1].strip() == "discreet ledger recover --ledger LEDGER --reason TEXT"
    document = json.loads(run("verify", "--json").stdout)
    assert (document["agrees"], document["findings"], [*document["stopped"]]) == (False, [], ["visits"])
    said(run("recover", "--reason", "it was edited"))
    assert said(run("verify")).endswith("everything agrees")


def test_a_recovery_needs_a_reason(run):
    assert run("recover").exit_code == 2


def test_an_anchor_is_a_line_outside_the_ledger(run, discreet_home):
    files = list((discreet_home / "anchors").glob("*.jsonl"))  # beside them is the id of the home
    before = files[0].read_text().count("\n")
    assert said(run("anchor")) == "1 dataset anchored"
    assert files[0].read_text().count("\n") == before + 1


def test_the_key_and_the_anchors_can_be_elsewhere(path, tmp_path):
    places = ["--signing-key", str(tmp_path / "own.key"), "--anchors", str(tmp_path / "vault")]
    said(CliRunner().invoke(app, ["ledger", "key", "new", *places[:2]]))
    said(CliRunner().invoke(app, ["ledger", "key", "take-over", "--reason", "r", "--ledger", str(path), *places]))
    said(CliRunner().invoke(app, ["ledger", "anchor", "--ledger", str(path), *places]))
    assert len(list((tmp_path / "vault").glob("*[0-9a-f].jsonl"))) == 1
    assert (tmp_path / "own.key.public").exists()


# Limits


def test_a_cap_is_a_new_promise_and_what_is_not_given_stays(run, path):
    told = said(run("cap", "visits", "--epsilon", "2", "--reason", "decided by the board"))
    assert told == "the privacy budget of 'visits' is epsilon 2 now; what was spent stays spent"
    said(run("cap", "visits", "--delta", "1e-9", "--reason", "many small questions"))
    with SQLiteLedger(path) as ledger:
        assert (ledger.budget("visits").epsilon, ledger.budget("visits").delta) == (2, Fraction(1, 10**9))
        assert json.loads(ledger.history("visits")[-1].detail)["reason"] == "many small questions"


def test_a_cap_above_the_ceiling_is_made_with_the_reason_that_was_given(run, path):
    said(run("cap", "visits", "--epsilon", "12.5", "--reason", "public already"))
    with SQLiteLedger(path) as ledger:
        assert ledger.budget("visits").reason == "public already"


def test_the_cap_that_stands_is_refused(run):
    assert isinstance(run("cap", "visits", "--epsilon", "1", "--reason", "again").exception, ParameterError)


def test_a_quota_holds_for_one_analyst_or_for_everyone(run, path):
    told = said(run("quota", "visits", "ann", "--epsilon", "0.3", "--failures", "5", "--reason", "a trial"))
    assert told == "'ann' may spend epsilon 0.3 of 'visits', and fail 5 times"
    told = said(run("quota", "visits", "--epsilon", "0.5", "--reason", "fair shares"))
    assert told == "everyone without a quota of their own may spend epsilon 0.5 of 'visits', and fail 100 times"
    with SQLiteLedger(path) as ledger:
        assert [ledger.share("visits", who).quota.epsilon for who in ("ann", "bob")] == [
            Fraction(3, 10),
            Fraction(1, 2),
        ]
        with pytest.raises(BudgetError, match="their quota"):
            charged(ledger, "bb22")


def test_a_limit_of_failures_alone_keeps_the_quota_and_lifting_takes_it_away(run, path):
    said(run("quota", "visits", "ann", "--epsilon", "0.3", "--reason", "a trial"))
    told = said(run("quota", "visits", "ann", "--failures", "1", "--reason", "a bad driver"))
    assert told == "'ann' may spend epsilon 0.3 of 'visits', and fail 1 time"
    told = said(run("quota", "visits", "ann", "--lift", "--reason", "trusted"))
    assert told == "'ann' may spend what is left of the cap of 'visits', and fail 1 time"


@pytest.mark.parametrize(
    "options", [("--lift", "--epsilon", "1"), ("--delta", "1e-9"), ("--epsilon", "0"), ("--failures", "-1")]
)
def test_a_quota_that_means_nothing_is_refused(run, options):
    assert isinstance(run("quota", "visits", "ann", *options, "--reason", "why not").exception, ParameterError)


def test_a_renamed_dataset_answers_to_both_names(run):
    assert said(run("rename", "visits", "stays", "--reason", "as the register has it")).endswith("one privacy budget")
    for name in ("visits", "stays"):
        assert "epsilon 0.25 spent" in said(run("show", name))


def test_charges_that_were_left_are_forfeited_after_the_grace(run, path):
    with SQLiteLedger(path, lease=0.05) as ledger:
        left = charged(ledger, "dd44").receipt
    time.sleep(0.1)
    assert said(run("expire")) == "0 charges forfeited"
    assert said(run("expire", "--grace", "0")) == "1 charge forfeited"
    with SQLiteLedger(path) as ledger:
        assert ledger.state(left) is State.FORFEITED
        assert ledger.share("visits", "ann").failures == 1


# Keys


def test_public_keys_are_listed_with_the_one_that_signs(path, discreet_home):
    (first,) = said(CliRunner().invoke(app, ["ledger", "key", "show"])).splitlines()
    rotated, of_owner, following = said(CliRunner().invoke(app, ["ledger", "key", "rotate"])).splitlines()
    assert of_owner.endswith("on PostgreSQL: discreet ledger create ADDRESS --role NAME")
    assert following.endswith(
        f"discreet ledger key list {rotated.split()[1]} --name NAME --reason TEXT --ledger LEDGER"
    )
    listed = said(CliRunner().invoke(app, ["ledger", "key", "show"])).splitlines()
    assert first.endswith("signs")
    assert listed == [f"{first.removesuffix('signs')}retired", rotated]
    assert max(map(len, listed)) <= 80
    assert [len(line.split()[0]) for line in listed] == [16, 16]


def test_a_list_of_public_keys_alone_can_be_shown(path, discreet_home, tmp_path):
    shutil.copy(discreet_home / "signing.key.public", tmp_path / "auditor.key.public")
    told = said(CliRunner().invoke(app, ["ledger", "key", "show", "--signing-key", str(tmp_path / "auditor.key")]))
    assert told.endswith("retired")
    assert not (tmp_path / "auditor.key").exists()


@pytest.mark.parametrize("act", ["show", "rotate"])
def test_where_no_key_was_ever_made_none_is_made(act, tmp_path):
    where = str(tmp_path / "none.key")
    result = CliRunner().invoke(app, ["ledger", "key", act, "--signing-key", where])
    assert isinstance(result.exception, ParameterError)
    assert list(tmp_path.iterdir()) == []


# Backups


def test_a_backup_is_a_ledger_of_its_own_and_replaces_nothing(run, path, tmp_path):
    copy = tmp_path / "copy.sqlite"
    said(run("backup", str(copy)))
    with SQLiteLedger(copy, anchors=tmp_path / "none") as ledger:
        assert ledger.verify().ok
        assert ledger.spent("visits").epsilon == 250_000_000_000
    again = run("backup", str(copy))
    assert isinstance(again.exception, ParameterError)
    assert "replaces nothing" in str(again.exception)


# The command as a whole


def test_help_tells_every_command_in_a_whole_line():
    told = said(CliRunner().invoke(app, ["ledger", "--help"], env={"COLUMNS": "80"})).split("Commands:")[1]
    told = told.partition("\n\n")[0]  # below are the variables
    assert [line.split()[0] for line in told.strip().splitlines()] == [*COMMANDS, "key"]
    assert "..." not in told


def test_a_ledger_at_home_is_the_one_that_is_meant(discreet_home):
    with SQLiteLedger(discreet_home / "ledger.sqlite") as ledger:
        fill(ledger)
    assert said(CliRunner().invoke(app, ["ledger", "verify"])) == "1 dataset, 3 events: everything agrees"


def test_a_real_process_prints_what_it_found_and_ends_with_1(path, tmp_path):
    tamper(path)
    run = real("ledger", "verify", "--ledger", path)
    assert run.returncode == 1
    assert run.stdout.splitlines()[0] == "1 dataset, 3 events: 1 finding"
    assert run.stderr == ""
    again = real("ledger", "verify", "--ledger", path)
    assert again.stdout == run.stdout


def test_a_real_process_prints_a_refusal_in_its_three_parts(path):
    run = real("ledger", "history", "visit", "--ledger", path)
    assert (run.returncode, run.stdout) == (1, "")
    assert [line.split()[0] for line in run.stderr.splitlines()] == ["NameNotFoundError:", "because", "instead"]


def test_a_slip_in_the_path_makes_no_ledger(tmp_path):
    run = real("ledger", "show", "--ledger", tmp_path / "ledgre.sqlite")
    assert run.returncode == 1
    assert "there is no file at that path" in run.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("ledger", "show", "--ledger", "postgresql://ann:hunter2@127.0.0.1:1/records"),
        ("ledger", "show", "--ledger", "host=db password=hunter2"),
        ("ledger", "show", "--ledger", "postgresql:/ann:hunter2@db/records"),
        ("ledger", "show", "postgresql://ann:hunter2@db/records"),
        ("ledger", "show", "visits", "postgresql://ann:hunter2@db/records"),
        ("ledger", "postgresql://ann:hunter2@db/records"),
        ("ledger", "show", "--delta", "postgresql://ann:hunter2@db/records"),
        ("ledger", "backup", "copy.sqlite", "--ledger", "postgres://ann:hunter2@db/records"),
        ("ledger", "create", "postgresql://ann:hunter2@127.0.0.1:1/records", "--role", "service"),
        ("ledger", "create", "postgresql:/ann:hunter2@db/records", "--role", "service"),
        ("ledger", "create", "postgresql://ann:hunter2@[db/records", "--role", "service"),
        ("postgresql://ann:hunter2@db/records",),
    ],
)
def test_no_password_is_ever_printed(arguments):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in (1, 2)
    assert "hunter2" not in result.output + str(result.exception)


def test_a_ledger_on_postgresql_is_made_looked_at_limited_and_verified(durable_postgres, tmp_path):
    owner, service, steward = durable_postgres.owner_url, durable_postgres.service_url, durable_postgres.steward_url
    made = real("ledger", "create", owner, "--role", SERVICE, "--steward", STEWARD)
    rights = f"  {SERVICE!r} has the rights of its service\n  {STEWARD!r} has those of its steward\n"
    assert made.stdout == f"the ledger's schema is at version {VERSION}\n{rights}  shared anchors: not named\n"
    assert real("ledger", "create", owner, "--role", SERVICE, "--steward", STEWARD).stdout == made.stdout
    with PostgresLedger(steward) as ledger:
        fill(ledger)
    told = [
        real("ledger", "verify", "--ledger", service),
        real("ledger", "quota", "visits", "ann", "--epsilon", "0.5", "--reason", "a trial", "--ledger", steward),
        real("ledger", "show", "visits", "--ledger", service),
        real("ledger", "backup", tmp_path / "copy", "--ledger", service),
        real("ledger", "show", "--ledger", owner),
    ]
    assert [run.returncode for run in told] == [0, 0, 0, 1, 1]
    assert "everything agrees" in told[0].stdout
    assert "may spend epsilon 0.5" in told[1].stdout
    assert "epsilon 0.25 spent" in told[2].stdout
    assert "pg_dump" in told[3].stderr
    assert "may do more than charge" in told[4].stderr
    password = urlsplit(service).password
    assert password not in "".join(run.stdout + run.stderr for run in told)


def test_a_role_that_does_not_exist_is_refused(durable_postgres):
    result = CliRunner().invoke(app, ["ledger", "create", durable_postgres.owner_url, "--role", "nobody_at_all"])
    assert isinstance(result.exception, ParameterError)
    assert "no such role" in result.exception.because


def test_commands_read_the_receipts_that_releases_carry(tmp_path, discreet_home):
    session = dp.protect(
        dp.datasets.visits(50),
        name="visits",
        privacy_unit="patient_id",
        max_rows=3,
        budget=Budget(epsilon=1),
        ledger=tmp_path / "own.sqlite",
    )
    with session:
        session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5).save(tmp_path / "release.json")
    where = ["--ledger", str(tmp_path / "own.sqlite")]
    told = said(CliRunner().invoke(app, ["ledger", "verify", "--receipt", str(tmp_path / "release.json"), *where]))
    assert told.endswith("everything agrees")
    assert isinstance(
        Receipt.from_json(json.dumps(json.loads((tmp_path / "release.json").read_text())["receipt"])), Receipt
    )


def test_amounts_are_read_to_the_last_digit():
    assert str(ledger_commands.number("0.1000000000000000055")) == "0.1000000000000000055"


# Releases that were not charged


def test_another_release_is_recorded_with_the_digest_of_its_file_and_listed_in_history_and_report(run, tmp_path):
    (tmp_path / "published.csv").write_text("age\n30\n")
    digest = hashlib.sha256(b"age\n30\n").hexdigest()
    before = json.loads(run("show", "visits", "--json").stdout)
    found = run("other-release", "visits", "ages in tens", "--file", str(tmp_path / "published.csv"))
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith("recorded for 'visits', and nothing was charged: ages in tens (generalised data, ")
    assert f"SHA-256 {digest}, event 4)" in found.stdout
    lines = run("history", "visits").stdout.splitlines()[-2:]
    assert lines == ["   ages in tens (generalised data, SHA-256", f"     {digest})"]
    after = json.loads(run("show", "visits", "--json").stdout)
    assert after.pop("other_releases") == 1 == before.pop("other_releases") + 1
    assert after == before
    assert "1 other release is recorded, which no privacy budget covers" in run("show", "visits").stdout


def test_another_release_for_programs_is_one_document_and_its_event_has_the_digest(run):
    words = ("visits", "a poster", "--kind", "exact", "--author", "bob", "--json")
    found = json.loads(run("other-release", *words).stdout)
    assert found.pop("time")
    assert found == {
        "schema": "discreet.other-release/1",
        "dataset": "visits",
        "version": 1,
        "sequence": 4,
        "author": "bob",
        "kind": "exact",
        "what": "a poster",
        "sha256": None,
    }
    (*_, entry) = json.loads(run("history", "visits", "--json").stdout)["entries"]
    assert (entry["kind"], entry["analyst"], entry["sha256"]) == ("PUBLISHED", "bob", None)
    assert entry["detail"] == {"kind": "exact", "what": "a poster"}


def test_a_wrong_other_release_is_refused_and_nothing_is_recorded(run, tmp_path):
    assert run("other-release", "visits", "a poster", "--kind", "anonymous").exit_code == 2
    assert isinstance(run("other-release", "visits", "a\x1b[2J").exception, ParameterError)
    missing = run("other-release", "visits", "a poster", "--file", str(tmp_path / "missing.csv"))
    assert "is not there" in str(missing.exception)
    assert isinstance(run("other-release", "visit", "a poster").exception, NameNotFoundError)
    assert json.loads(run("show", "visits", "--json").stdout)["other_releases"] == 0
