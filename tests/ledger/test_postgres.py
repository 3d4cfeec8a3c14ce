"""A ledger on PostgreSQL is made by its owner, opened by its service, and says nothing of where it is."""

import re

import psycopg
import pytest

from discreet.errors import LedgerError, ParameterError, SourceError
from discreet.ledger import PostgresLedger, Signer, open_ledger
from discreet.ledger.records import faults
from servers import OWNER, SERVICE, STEWARD, PostgresServer
from tampering import new_database


def test_it_is_opened_by_its_address(postgres_address, dataset, charge):
    with open_ledger(postgres_address) as ledger:
        assert isinstance(ledger, PostgresLedger)
        ledger.register(dataset())
        charge(ledger)
    with open_ledger(postgres_address) as ledger:
        assert ledger.spent("visits").epsilon > 0


def test_its_key_and_its_anchors_are_at_home_unless_they_are_named(
    ledger_server, postgres_address, dataset, charge, discreet_home, tmp_path
):
    with PostgresLedger(postgres_address) as ledger:
        ledger.register(dataset())
        assert charge(ledger).verify(Signer.at(discreet_home / "signing.key").public)
    assert list((discreet_home / "anchors").glob("*.jsonl"))
    outside = {"key": tmp_path / "key", "anchors": tmp_path / "anchors"}
    place = new_database(ledger_server, "named")
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD, **outside)
    with PostgresLedger(place.steward, **outside) as ledger:
        ledger.register(dataset())
        assert charge(ledger).verify(Signer.at(tmp_path / "key").public)
    assert list((tmp_path / "anchors").glob("*.jsonl"))


def test_making_it_again_changes_nothing(ledger_server: PostgresServer, postgres_address, dataset, charge):
    with PostgresLedger(postgres_address) as ledger:
        ledger.register(dataset())
        charge(ledger)
        PostgresLedger.create(ledger_server.owner_url, role=SERVICE, steward=STEWARD)
        charge(ledger)
        assert str(ledger.verify()) == "1 dataset, 3 events: everything agrees"


def test_two_services_may_share_it(ledger_server: PostgresServer, postgres_address, dataset, charge):
    """Each has a role of its own, and each the same rights."""
    with psycopg.connect(ledger_server.superuser_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE second_service LOGIN PASSWORD 'x'")
        connection.execute("GRANT CONNECT ON DATABASE records TO second_service")
    PostgresLedger.create(ledger_server.owner_url, role="second_service")
    second = re.sub(r"//.*@", "//second_service:x@", postgres_address)
    with PostgresLedger(postgres_address) as one, PostgresLedger(second) as other:
        one.register(dataset())
        assert charge(one).sequence == 2
        assert charge(other).sequence == 3
        assert one.verify()


def test_the_owner_is_no_service(ledger_server: PostgresServer):
    with pytest.raises(ParameterError, match="the owner's own role") as caught:
        PostgresLedger.create(ledger_server.owner_url, role=OWNER)
    assert "CREATE ROLE" in caught.value.instead


def test_a_role_that_does_not_exist_is_told_with_what_makes_it(ledger_server: PostgresServer):
    place = new_database(ledger_server, "roleless")
    with pytest.raises(ParameterError, match="no such role") as caught:
        PostgresLedger.create(place.owner, role='nobody"; DROP SCHEMA discreet; --')
    assert "CREATE ROLE" in caught.value.instead
    with pytest.raises(LedgerError, match=re.escape(faults.NO_LEDGER)):
        PostgresLedger(place.steward)


@pytest.mark.parametrize("role", ["", " ", None, "a\nb"])
def test_a_role_that_is_no_name_is_refused(ledger_server: PostgresServer, role):
    with pytest.raises(ParameterError):
        PostgresLedger.create(ledger_server.owner_url, role=role)


def test_whoever_may_not_make_it_is_told_in_one_sentence(ledger_server: PostgresServer):
    place = new_database(ledger_server, "forbidden")
    with pytest.raises(LedgerError) as caught:
        PostgresLedger.create(place.service, role="analyst_engine")
    assert str(caught.value) == faults.NO_RIGHTS


def test_a_home_a_key_or_a_place_that_is_refused_leaves_no_schema_behind(
    ledger_server: PostgresServer, tmp_path, monkeypatch
):
    place = new_database(ledger_server, "left_behind")
    shared = {"shared_anchors": tmp_path / "mont" / "anchors"}
    key = tmp_path / "open.key"
    Signer.at(key)
    key.chmod(0o644)
    for options in (shared, {"shared_anchors": "postgresql://ann:s3cret@127.0.0.1:1/a"}, {"key": key}):
        with pytest.raises((ParameterError, LedgerError)):
            PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD, **options)
    home = tmp_path / "open"
    home.mkdir(mode=0o755)
    monkeypatch.setenv("DISCREET_HOME", str(home))
    with pytest.raises(ParameterError, match="other users can open it"):
        PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    assert list(home.iterdir()) == []
    with pytest.raises(LedgerError, match=re.escape(faults.NO_LEDGER)):
        PostgresLedger(place.owner, key=tmp_path / "key", anchors=tmp_path / "anchors", as_owner=True, read_only=True)


def test_shared_anchors_of_a_ledger_that_names_others_are_refused_and_the_same_are_not(
    ledger_server: PostgresServer, discreet_home, tmp_path
):
    place = new_database(ledger_server, "named_twice")
    for _ in range(2):
        PostgresLedger.create(place.owner, role=SERVICE, shared_anchors=tmp_path / "shared")
    with pytest.raises(ParameterError, match="names others already") as caught:
        PostgresLedger.create(place.owner, role=SERVICE, shared_anchors=tmp_path / "another")
    assert str(tmp_path / "shared") in caught.value.because
    assert not (tmp_path / "another").exists()
    with PostgresLedger(place.owner, as_owner=True) as ledger:
        assert ledger.shared_anchors_place == str(tmp_path / "shared")


def test_an_address_is_never_repeated(ledger_server: PostgresServer):
    """Neither by the sentence nor by what a traceback shows as its cause."""
    addresses = {
        "postgresql://someone:secret-word@127.0.0.1:1/records": faults.NOT_LISTENING,
        "postgresql://someone:secret-word@[nonsense/records": faults.BAD_ADDRESS,
        "postgresql://someone:secret-word@127.0.0.1/records?no_such_option=1": faults.BAD_ADDRESS,
    }
    for address, sentence in addresses.items():
        for act in (PostgresLedger, lambda where: PostgresLedger.create(where, role="x")):
            with pytest.raises(LedgerError) as caught:
                act(address)
            assert str(caught.value) == sentence
            assert caught.value.__cause__ is caught.value.__context__ is None


WITHOUT = """
import sys
sys.modules["psycopg"] = None
import discreet
from discreet.errors import SourceError
from discreet.ledger import PostgresLedger, SQLiteLedger

SQLiteLedger(sys.argv[1]).close()
for act in (
    lambda: PostgresLedger("postgresql://someone:secret@127.0.0.1:1/records"),
    lambda: PostgresLedger.create("postgresql://someone:secret@127.0.0.1:1/records", role="x"),
):
    try:
        act()
    except SourceError as error:
        print(error)
"""


def test_without_the_driver_it_is_told_how_to_get_it_and_all_else_works(script, path):
    done = script(WITHOUT, path)
    assert done.stderr == ""
    told = SourceError(
        "a ledger on PostgreSQL", because="psycopg is not installed", instead="pip install 'discreet[postgres]'"
    )
    assert done.stdout == f"{told}\n" * 2


def test_the_driver_is_loaded_for_a_ledger_on_postgresql_only(script, path):
    code = "import sys, discreet.ledger as l; l.SQLiteLedger(sys.argv[1]).close(); print('psycopg' in sys.modules)"
    assert script(code, path).stdout == "False\n"
