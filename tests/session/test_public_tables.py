"""A public table of a session holds no rows of a protected one: not of its catalog, and not of its ledger."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import CatalogError

COLUMNS = "columns: {p: {type: integer}, w: {type: text}}"
PROTECTED = f"visits: {{privacy_unit: p, max_rows: 1, budget: {{epsilon: 1}}, {COLUMNS}}}"
BOTH = dp.Catalog.parse(f"tables: {{{PROTECTED}, lookup: {{public: true, {COLUMNS}}}}}")
ALONE = dp.Catalog.parse(f"tables: {{{PROTECTED}}}")
OTHER = dp.Catalog.parse(
    f"tables: {{others: {{privacy_unit: p, max_rows: 1, budget: {{epsilon: 1}}, {COLUMNS}}}, "
    f"lookup: {{public: true, {COLUMNS}}}}}"
)
ROWS = pa.table({"p": [1, 2], "w": ["a", "b"]})


def test_a_public_table_over_protected_rows_is_refused_before_anything_is_registered(tmp_path):
    ledger = dp.SQLiteLedger(tmp_path / "ledger.sqlite")
    with pytest.raises(CatalogError, match=r"'lookup'(.|\n)*rows of 'visits'"):
        dp.Session(BOTH, sources={"visits": ROWS, "lookup": ROWS.slice(0, 1)}, ledger=ledger)
    assert ledger.datasets() == []
    ledger.close()


def test_rows_that_the_ledger_protects_are_not_public_in_another_session(tmp_path):
    path, ledger = tmp_path / "visits.csv", tmp_path / "ledger.sqlite"
    path.write_text("p,w\n1,a\n", encoding="utf-8")
    with dp.Session(ALONE, sources={"visits": path}, ledger=ledger):
        pass
    link = tmp_path / "lookup.csv"
    link.hardlink_to(path)
    for public in (path, link):
        with pytest.raises(CatalogError, match=r"'lookup'(.|\n)*rows of 'visits'"):
            dp.Session(OTHER, sources={"others": ROWS, "lookup": public}, ledger=ledger)


def test_rows_of_an_older_version_are_protected_as_well(tmp_path):
    old, new, ledger = tmp_path / "old.csv", tmp_path / "new.csv", tmp_path / "ledger.sqlite"
    for path in (old, new):
        path.write_text("p,w\n1,a\n", encoding="utf-8")
    for version, path in enumerate((old, new), 1):
        words = {"name": "visits", "privacy_unit": "p", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
        with dp.protect(path, version=version, ledger=ledger, **words):
            pass
    with dp.SQLiteLedger(ledger) as opened:
        assert opened.sources() == [("visits", str(new)), ("visits", str(old))]
    with pytest.raises(CatalogError, match="rows of 'visits'"):
        dp.Session(OTHER, sources={"others": ROWS, "lookup": old}, ledger=ledger)


def test_rows_of_its_own_are_public(tmp_path):
    sources = {"visits": ROWS, "lookup": pa.table(ROWS.to_pydict())}
    with dp.Session(BOTH, sources=sources, ledger=tmp_path / "ledger.sqlite") as session:
        assert session.catalog.protected_tables
