"""Public tables that are not public: a source under a public name that holds rows of a protected one."""

from collections.abc import Mapping

from discreet.catalog.catalog import Catalog
from discreet.engines import OpenSource, Source, is_registered, same_rows
from discreet.errors import CatalogError
from discreet.ledger import Ledger
from discreet.ledger.records import source_identity


def refuse_protected_rows(
    catalog: Catalog, sources: Mapping[str, Source], given: Mapping[str, object], ledger: Ledger
) -> None:
    """Refuse a public table that shares its rows with a protected one, of this catalog or of the ledger."""
    public = {
        name: OpenSource(sources[name], given.get(name)) for name, table in catalog.tables.items() if table.public
    }
    for name, opened in public.items():
        for other in catalog.protected_tables:
            protected = OpenSource(sources[other], given.get(other))
            if same_rows(opened, protected) or _read_alike(opened.source.identity, protected.source.identity):
                raise _protected_rows(name, other)
        for other, registered in ledger.sources():
            if is_registered(opened.source, registered) or _read_alike(opened.source.identity, registered):
                raise _protected_rows(name, other)


def _read_alike(one: str, other: str) -> bool:
    """Whether two sources of a server are one table, or read one in common, as views of it do."""
    return one.startswith("postgresql://") and source_identity.overlap(one, other)


def _protected_rows(name: str, other: str) -> CatalogError:
    return CatalogError(
        f"the public table {name!r}",
        because=f"it reads rows of {other!r}, which are protected",
        instead=f"a source of its own for {name!r}, without protected rows, or no table {name!r}",
    )
