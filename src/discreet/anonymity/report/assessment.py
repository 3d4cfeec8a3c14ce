"""From a source to findings: an exact GROUP BY in the engine that holds the rows, then figures from its count cube.

Missing cells as wildcards make classes that overlap: they do not roll up, and each set of columns is matched anew.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.anonymity.classes.column_lists import names_of
from discreet.anonymity.classes.cube import Cube, cube
from discreet.anonymity.classes.null_policies import NullPolicy, require_policy
from discreet.anonymity.classes.roles import require_hidden_persons, require_roles
from discreet.anonymity.limits import worked_tables
from discreet.anonymity.report import exposure
from discreet.anonymity.report.findings import RiskFindings
from discreet.anonymity.report.generalisation_cost import generalisation_costs
from discreet.anonymity.report.release_plan import release_plan, suitable_release
from discreet.anonymity.report.source_measures import WildcardClasses, sensitive_exposures, unnamed_rows
from discreet.engines.exact_sources import table_name
from discreet.errors import SourceError

IN_MEMORY = "the table"


def assess_source(
    source: object,
    quasi: Sequence[str],
    *,
    sensitive: Sequence[str],
    person: str | None,
    nulls: NullPolicy,
    sizes: Sequence[int],
    hierarchies: Mapping[str, object] | None,
    table: str | None,
) -> RiskFindings:
    """All findings about a source."""
    quasi, sensitive = names_of(quasi, "quasi"), names_of(sensitive, "sensitive", least=0)
    require_roles(quasi, sensitive, person)
    require_hidden_persons(quasi, person)
    require_policy(nulls)
    table = table_name(source, table)
    whole = cube(source, quasi, sensitive, person=person, table=table)
    _require_people(whole, source_name(source, table))
    known, excluded = exposure.without_missing(whole) if nulls == "exclude" else (whole, 0)
    plan = release_plan(source, [*sensitive, *quasi], person=person, table=table)
    growth, columns = _classes(source, known, person=person, nulls=nulls, table=table)
    return RiskFindings(
        name=source_name(source, table),
        quasi=tuple(quasi),
        person=person,
        nulls=nulls,
        excluded=excluded,
        counts=growth[-1].counts,
        growth=growth,
        columns=columns,
        sensitive=sensitive_exposures(source, known, person=person, nulls=nulls, table=table),
        costs=generalisation_costs(known, hierarchies, sizes),
        plan=plan,
        suitable=suitable_release(plan, whole),
        limits=worked_tables(),
        unnamed_rows=unnamed_rows(source, person, table),
    )


def _classes(
    source: object, known: Cube, *, person: str | None, nulls: NullPolicy, table: str | None
) -> tuple[tuple[exposure.KnownColumns, ...], tuple[exposure.ColumnExposure, ...]]:
    """The classes as columns become known, and what each column adds."""
    if nulls == "wildcard":
        found = WildcardClasses(source, known.quasi, person=person, table=table)
        return found.growth(), found.columns()
    return exposure.growth(known), exposure.column_exposures(known)


def source_name(source: object, table: str | None) -> str:
    """What the report calls the source; the address of a database may hold a password."""
    if isinstance(source, str | Path) and "://" not in str(source):
        return Path(source).name if table is None else f"{table} in {Path(source).name}"
    return table or IN_MEMORY


def _require_people(known: Cube, name: str) -> None:
    if not len(known.people):
        raise SourceError(
            f"{name} without a row",
            because="a report is about people, and the table has none",
            instead="the file with its rows",
        )
