"""From a source to findings: one exact GROUP BY in the engine that holds the rows, then figures from its count cube."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet.anonymity.classes.cube import Cube, cube_of
from discreet.anonymity.limits import worked_tables
from discreet.anonymity.report import exposure
from discreet.anonymity.report.findings import NULLS, RiskFindings
from discreet.anonymity.report.generalisation_cost import generalisation_costs
from discreet.anonymity.report.release_plan import release_plan
from discreet.engines import exact_tables
from discreet.engines.sql.blocks import TYPES
from discreet.errors import ParameterError, UnsupportedError

IN_MEMORY = "the table"
_EXAMPLE = 'quasi=["zip_code", "birth_date", "sex"]'


def gather(
    source: object,
    quasi: Sequence[str],
    *,
    sensitive: Sequence[str],
    person: str | None,
    nulls: str,
    sizes: Sequence[int],
    hierarchies: Mapping[str, object] | None,
    table: str | None,
) -> RiskFindings:
    """All findings about a source."""
    _require_columns(quasi, sensitive, person)
    if nulls not in NULLS:
        raise ParameterError(
            f"nulls={nulls!r}", because="it is not a policy for missing cells", instead='nulls="value"'
        )
    if nulls == "wildcard":
        raise UnsupportedError(
            "a report with wildcards", because="classes of wildcards overlap", instead='nulls="value"'
        )
    cube = read_cube(source, quasi, sensitive, person=person, table=table)
    cube, excluded = exposure.without_missing(cube) if nulls == "exclude" else (cube, 0)
    growth = exposure.growth(cube)
    return RiskFindings(
        name=source_name(source, table),
        quasi=tuple(quasi),
        person=person,
        nulls=nulls,
        excluded=excluded,
        counts=growth[-1].counts,
        growth=growth,
        columns=exposure.column_exposures(cube),
        sensitive=tuple(exposure.sensitive_exposure(cube, name) for name in sensitive),
        costs=generalisation_costs(cube, hierarchies, sizes),
        plan=release_plan(source, cube, [*sensitive, *quasi], person=person, table=table),
        limits=worked_tables(),
    )


def read_cube(
    source: object, quasi: Sequence[str], sensitive: Sequence[str], *, person: str | None, table: str | None
) -> Cube:
    """The count cube of a source."""
    names = [*quasi, *sensitive, *([person] if person is not None else [])]
    with exact_tables.open_table(source, table=table) as rows:
        types = rows.column_types(names)
        batches = list(rows.groups(names))
    schema = batches[0].schema if batches else pa.schema([(name, TYPES[types[name]]) for name in names])
    schema = schema if batches else schema.append(pa.field(exact_tables.COUNT, pa.int64()))
    groups = pa.Table.from_batches(batches, schema)
    cube = cube_of(groups, quasi, sensitive, people=exact_tables.COUNT, person=person)
    # counts of people who have one row each roll up, and the release then needs no larger contribution bound
    rows_in_all = int(np.sum(groups[exact_tables.COUNT].to_numpy()))
    has_one_row = cube.persons is not None and len(cube.persons) == cube.total == rows_in_all
    return replace(cube, persons=None) if has_one_row else cube


def source_name(source: object, table: str | None) -> str:
    """What the report calls the source; the address of a database may hold a password."""
    if isinstance(source, str | Path) and "://" not in str(source):
        return Path(source).name if table is None else f"{table} in {Path(source).name}"
    return table or IN_MEMORY


def _require_columns(quasi: Sequence[str], sensitive: Sequence[str], person: str | None) -> None:
    """Refuse lists of columns that are not lists, are empty, or name one column twice."""
    for word, names in (("quasi", quasi), ("sensitive", sensitive)):
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise ParameterError(
                f"{word}={names!r}", because="columns are given as a list", instead=f"{word}=[{names!r}]"
            )
    if not quasi:
        raise ParameterError("quasi=[]", because="an attacker without columns singles out nobody", instead=_EXAMPLE)
    names = [*quasi, *sensitive, *([person] if person is not None else [])]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        others = [name for name in dict.fromkeys(quasi) if name not in (*sensitive, person)]
        raise ParameterError(
            f"column {twice!r} twice",
            because="a column is a quasi-identifier, sensitive or the person, and only one of them",
            instead=f"quasi={others or ['zip_code']}",
        )
