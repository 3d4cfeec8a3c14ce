"""One table has one identity by its server's own numbers, however host and name are spelled."""

from urllib.parse import urlsplit

import discreet as dp
from discreet.engines.backends.postgres.engine import source
from discreet.ledger import SQLiteLedger
from discreet.ledger.records import source_identity
from postgres_questions import as_superuser


def test_every_spelling_of_a_table_is_one_source(visits):
    url = urlsplit(visits.engine_url)
    place = f"postgresql://localhost:{url.port}/records"
    spelled = [
        (visits.engine_url, "visits"),
        (visits.engine_url, "public.visits"),
        (visits.engine_url, "VISITS"),
        (visits.engine_url, '"public"."visits"'),
        (visits.engine_url, "records.public.visits"),
        (visits.engine_url.replace("postgresql:", "postgres:").replace("127.0.0.1", "LOCALHOST"), "visits"),
        (f"postgresql:///records?host=127.0.0.1&port={url.port}&user={url.username}&password={url.password}", "visits"),
    ]
    found = [source(*each) for each in spelled]
    (identity,) = {each.identity for each in found}
    assert identity.startswith(f"{place}#public.visits [")
    assert {each.columns for each in found} == {("id", "g", "x")}


def test_a_name_with_capitals_is_found_as_it_is_written(visits):
    visits.execute('DROP TABLE IF EXISTS "Big Table"; CREATE TABLE "Big Table" ("Id" int)')
    assert '#public."Big Table" [' in source(visits.engine_url, "Big Table").identity


def test_a_view_a_materialised_view_and_a_partitioned_table_share_tables_with_what_they_read(visits):
    visits.execute(
        "DROP TABLE IF EXISTS split CASCADE; DROP TABLE IF EXISTS apart CASCADE;"
        "CREATE TABLE apart (id int); CREATE TABLE split (id int) PARTITION BY LIST (id);"
        "CREATE TABLE split_1 PARTITION OF split FOR VALUES IN (1); CREATE TABLE split_2 PARTITION OF split DEFAULT;"
        "CREATE VIEW over_split AS SELECT id FROM split WHERE id > 0;"
        "CREATE VIEW over_both AS SELECT id FROM over_split UNION ALL SELECT id FROM apart;"
        "CREATE MATERIALIZED VIEW of_apart AS SELECT count(*)::int AS id FROM apart"
    )
    names = ("split", "split_1", "split_2", "over_split", "over_both", "apart", "of_apart")
    found = {name: source(visits.engine_url, name).identity for name in names}
    for name in ("split", "split_1", "split_2", "over_split", "apart", "of_apart"):
        assert source_identity.overlap(found[name], found["over_both"])
        assert not source_identity.is_same(found[name], found["over_both"])
    assert source_identity.overlap(found["apart"], found["of_apart"])
    assert source_identity.overlap(found["split"], found["split_1"])
    assert not source_identity.overlap(found["split_1"], found["split_2"])
    assert not source_identity.overlap(found["split"], found["apart"])


def test_without_the_clusters_identifier_the_address_stands_in_its_place(visits):
    as_superuser(visits, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    try:
        found = source(visits.engine_url, "visits").identity
    finally:
        as_superuser(visits, "GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC")
    assert f" [localhost:{urlsplit(visits.engine_url).port}/" in found


def _protect(url, ledger, **words):
    facts = {"privacy_unit": "id", "max_rows": 2, "budget": dp.Budget(epsilon=1), "ledger": ledger}
    return dp.protect(url, **(facts | words))


def test_two_budgets_over_one_table_are_noticed_by_any_spelling_and_through_a_view(visits, tmp_path, caplog):
    """The server listens at an address and at a socket; the name that a relay has is another host for discreet."""
    visits.execute("CREATE OR REPLACE VIEW visits_seen AS SELECT id, x FROM visits WHERE x > 0")
    ledger = SQLiteLedger(tmp_path / "ledger.sqlite")
    _protect(visits.engine_url, ledger, table="visits", name="one").close()
    named = visits.engine_url.replace("@127.0.0.1:", "@relay.invalid:") + "?hostaddr=127.0.0.1"
    _protect(named, ledger, table="visits", name="two").close()
    assert "'two' and 'one' have the same source: their privacy budgets add up" in caplog.text
    caplog.clear()
    _protect(visits.engine_url, ledger, table="visits_seen", name="three").close()
    assert "'three' and 'one' have the same source" in caplog.text
    assert "'three' and 'two' have the same source" in caplog.text
