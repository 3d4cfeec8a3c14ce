"""From what a user writes to a ledger."""

from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import PostgresLedger, SQLiteLedger, open_ledger


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_is_a_file_of_sqlite(path, dataset, kind):
    with open_ledger(kind(path)) as ledger:
        assert isinstance(ledger, SQLiteLedger)
        ledger.register(dataset())
    with open_ledger(kind(path)) as again:
        assert again.registration("visits").source == "visits.csv"


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "PostgreSQL"])
def test_an_address_is_a_database_of_postgresql(postgres_address, dataset, scheme):
    with open_ledger(postgres_address.replace("postgresql", scheme, 1)) as ledger:
        assert isinstance(ledger, PostgresLedger)
        ledger.register(dataset())


def test_a_path_that_looks_like_an_address_is_still_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_ledger("postgresql.sqlite") as ledger:
        assert isinstance(ledger, SQLiteLedger)
    with open_ledger(Path("postgresql:ledger")) as ledger:
        assert isinstance(ledger, SQLiteLedger)


def test_an_address_where_nobody_answers_is_an_error_of_the_ledger_that_names_no_address():
    with pytest.raises(LedgerError) as caught:
        open_ledger("postgresql://ann:secret@127.0.0.1:1/records")
    assert "nothing listens" in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
