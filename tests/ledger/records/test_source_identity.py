"""Sources are compared by their spelling, by the server's numbers, and by the tables that they read."""

import pytest

from discreet.errors import SourceError
from discreet.ledger.records import source_identity

OLD = "postgresql://localhost:5432/records#public.visits"
TABLE = f"{OLD} [741/16384/16390]"
ELSEWHERE = "postgresql://db.example.org:5432/records#public.visits [741/16384/16390]"
AGAIN = f"{OLD} [741/16384/17000]"
VIEW = "postgresql://localhost:5432/records#public.adults [741/16384/16400 16390 16391]"
OTHER_SERVER = "postgresql://other:5432/records#public.visits [742/16384/16390]"
OTHER_DATABASE = "postgresql://other:5432/more#public.visits [741/16385/16390]"


@pytest.mark.parametrize(
    ("one", "other", "same", "shared"),
    [
        ("visits.csv", "visits.csv", True, True),
        ("visits.csv", "other.csv", False, False),
        (OLD, TABLE, True, True),
        (OLD, ELSEWHERE, False, False),
        (TABLE, ELSEWHERE, True, True),
        (TABLE, AGAIN, True, True),
        (TABLE, VIEW, False, True),
        (TABLE, OTHER_SERVER, False, False),
        (TABLE, OTHER_DATABASE, False, False),
        ("a [741/16384/16390]", "b [741/16384/16390]", False, False),
    ],
)
def test_sources_are_the_same_or_share_tables(one, other, same, shared):
    for first, second in ((one, other), (other, one)):
        assert source_identity.is_same(first, second) is same
        assert source_identity.overlap(first, second) is shared


@pytest.mark.parametrize("asked", [TABLE, AGAIN])
def test_a_charged_dataset_under_the_address_alone_opens_with_the_servers_numbers(ledger, dataset, charge, asked):
    ledger.register(dataset(source=OLD))
    charge(ledger)
    again = ledger.register(dataset(source=asked))
    assert (again.source, again.is_new) == (OLD, False)
    with pytest.raises(SourceError, match="over another source"):
        ledger.register(dataset(source=VIEW))


def test_a_charged_dataset_opens_by_another_spelling_of_the_same_table(ledger, dataset, charge):
    ledger.register(dataset(source=TABLE))
    charge(ledger)
    assert ledger.register(dataset(source=ELSEWHERE)).source == TABLE


def test_datasets_that_read_one_table_are_named_whatever_the_spelling(ledger, dataset):
    ledger.register(dataset(source=OLD))
    assert ledger.register(dataset(name="elsewhere", source=ELSEWHERE)).same_source == ()
    assert ledger.register(dataset(name="adults", source=VIEW)).same_source == ("elsewhere",)
    assert ledger.register(dataset(name="far", source=OTHER_SERVER)).same_source == ()
    assert ledger.register(dataset(source=TABLE)).same_source == ("adults", "elsewhere")


def test_sources_on_spark_are_found_under_the_names_of_older_ledgers():
    table = "spark:file:/warehouse/clinic.db/visits"
    for stored in ("spark:clinic.visits", "spark:visits", "memory", table):
        assert source_identity.is_registered(table, stored)
    for stored in ("spark:clinic.wards", "spark:file:/elsewhere/visits", "visits.csv"):
        assert not source_identity.is_registered(table, stored)
    assert not source_identity.is_registered("visits.csv", "memory")
