"""BigQuery privacy policies: `CREATE VIEW` and `ALTER VIEW` with OPTIONS(privacy_policy='...'), or the policy in JSON.

The fields are those of https://cloud.google.com/bigquery/docs/analysis-rules, also as the REST API spells them.
`max_groups_contributed` is `max_groups`, `epsilon_budget` and `delta_budget` are the totals of the budget. A policy has
no bound on the rows of one unit and no types of columns, so both are decisions of the owner.
"""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from discreet.catalog import strict_json
from discreet.catalog.imports.ddl import GOOGLE, DdlStatement, statements
from discreet.catalog.imports.draft import (
    OPEN,
    DraftColumn,
    DraftFact,
    DraftTable,
    MetadataOrigin,
    count,
    exact_number,
    shown,
    total_budget,
    write,
)

SHAPE = (
    """CREATE VIEW v OPTIONS(privacy_policy='{"differential_privacy_policy": {"privacy_unit_column": "id"}}') AS ..."""
)
_POLICY = "differential_privacy_policy"
_FIELDS = {
    "max_epsilon_per_query": "a query states its own epsilon; only the total is bounded",
    "delta_per_query": "a query states its own delta; only the total is bounded",
    "epsilon_budget_remaining": "what BigQuery spent is not in the ledger; a smaller epsilon accounts for it",
    "delta_budget_remaining": "what BigQuery spent is not in the ledger; a smaller delta accounts for it",
}
_POLICIES = {
    "join_restriction_policy": "the privacy cost of a join is bounded, and the join itself is not restricted",
    "aggregation_threshold_policy": "keys of few units are left out by partition selection, dp.discover",
}


def draft(text: str, origin: MetadataOrigin) -> str:
    """The draft of a catalog from BigQuery views with a privacy policy.

    Args:
        text: SQL statements, or a privacy policy in JSON.
        origin: Where the text is from.

    Returns:
        The draft.

    Raises:
        CatalogError: If the text has no such policy, or is neither SQL nor JSON.
    """
    tables: dict[str, DraftTable] = {}
    dropped: list[str] = []
    if text.lstrip().startswith("{"):
        name = "view" if origin.file is None else PurePath(origin.file).stem
        table = _table(_parse(text, "the policy", origin), "the policy", origin)
        table.decisions.insert(0, "the name of this table; a policy in JSON has none")
        tables[name] = table
    else:
        views: dict[str, DraftTable] = {}
        for statement in statements(text, GOOGLE, origin):
            _read(statement, views, dropped)
        tables = _named(views, origin)
    if not tables:
        raise origin.refusal("no differential privacy policy", because="there is nothing to import", instead=SHAPE)
    return write(tables, origin, dropped)


def _named(views: Mapping[str, DraftTable], origin: MetadataOrigin) -> dict[str, DraftTable]:
    """Views by the last part of their name, which has to be theirs alone."""
    tables = {path.rpartition("\0")[2]: table for path, table in views.items()}
    if len(tables) != len(views):
        raise origin.refusal(
            "two views of one name in different datasets",
            because="a catalog has one table of a name",
            instead="one import for each dataset",
        )
    return tables


def _read(statement: DdlStatement, views: dict[str, DraftTable], dropped: list[str]) -> None:
    """One statement: a view with its options, or a statement that is listed."""
    title = statement.title
    if statement.accept("CREATE", "OR", "REPLACE", "VIEW") or statement.accept("CREATE", "VIEW"):
        statement.accept("IF", "NOT", "EXISTS")
    elif statement.accept("ALTER", "VIEW"):
        statement.accept("IF", "EXISTS")
    else:
        dropped.append(f"{title}: only views with a privacy policy are imported")
        return
    is_change = title.startswith("ALTER")
    path = statement.path()
    columns, described = _view_columns(statement) if not is_change and statement.sees("(") else ([], [])
    if is_change and not statement.sees("SET", "OPTIONS"):
        dropped.append(f"{title}: only SET OPTIONS is imported")
        return
    statement.accept("SET")
    options = list(statement.inside(statement.group())) if statement.accept("OPTIONS") else []
    policy, others = _policy(options, f"view {shown('.'.join(path))}", statement.origin)
    if not is_change and not statement.sees("AS"):
        raise statement.refusal("AS and a query belong here", "AS SELECT ...")
    if is_change:
        statement.end()
    if policy is None:
        dropped.append(f"{title}: it has no differential privacy policy")
        return
    policy.dropped += others + described
    for name in columns:
        policy.columns.setdefault(name, _untyped())
    key = "\0".join(path)
    if is_change:
        _keep_columns(policy, views.get(key))
    else:
        policy.dropped.append("the query of the view: source: must have the rows that the view selects")
    if key in views:
        policy.dropped.append(f"an earlier policy of the same view: {title} replaces it")
    views[key] = policy


def _keep_columns(policy: DraftTable, before: DraftTable | None) -> None:
    """A changed policy leaves the columns of the view as they are."""
    if before is not None:
        before.columns.update({name: each for name, each in policy.columns.items() if name not in before.columns})
        policy.columns = before.columns


def _view_columns(statement: DdlStatement) -> tuple[list[str], list[str]]:
    """The columns of a view, and what does not carry over from their options."""
    columns, described = list[str](), list[str]()
    for part in statement.inside(statement.group()):
        columns.append(part.name())
        if not part.is_done():
            part.expect("OPTIONS")
            part.group()
            part.end()
            described.append(f"options of column {shown(columns[-1])}: they say nothing about privacy")
    return columns, described


def _policy(options: list[DdlStatement], place: str, origin: MetadataOrigin) -> tuple[DraftTable | None, list[str]]:
    """The table that a list of options describes, or None, and the options that are listed."""
    seen: set[str] = set()
    others: list[str] = []
    table = None
    for option in options:
        name = option.name().lower()
        option.expect("=")
        if name in seen:
            raise option.refusal(f"duplicate option {shown(name)}", "each option once")
        seen.add(name)
        if name != "privacy_policy":
            others.append(f"option {shown(name)}: it says nothing about privacy")
            continue
        text = option.string()
        if not option.is_done():
            raise option.refusal("a privacy policy is one text literal", "privacy_policy='{...}'")
        policies = _parse(text, place, origin)
        if _POLICY in policies:
            table = _table(policies, place, origin)
    return table, others


def _parse(text: str, place: str, origin: MetadataOrigin) -> dict[str, Any]:
    """The policies of a JSON text, by their names with underscores."""
    try:
        data = strict_json.loads(text)
    except (ValueError, RecursionError) as error:
        because = str(error) if str(error).startswith("a ") else "it is not JSON"
        raise origin.refusal(place, because=because, instead=SHAPE) from None
    return _snake(data, place, origin)


def _snake(data: object, place: str, origin: MetadataOrigin) -> dict[str, Any]:
    """Fields by their names with underscores, as SQL has them; the REST API joins words with capital letters."""
    if not isinstance(data, Mapping):
        raise origin.refusal(place, because="a privacy policy is a JSON object", instead=SHAPE)
    fields = {re.sub(r"(?<=[a-z])([A-Z])", r"_\1", key).lower(): value for key, value in data.items()}
    if len(fields) != len(data):
        raise origin.refusal(place, because="a field comes twice, in two spellings", instead="each field once")
    return fields


def _table(policies: Mapping[str, Any], place: str, origin: MetadataOrigin) -> DraftTable:
    if _POLICY not in policies:
        raise origin.refusal(place, because=f"it has no {_POLICY}", instead=SHAPE)
    fields = _snake(policies[_POLICY], place, origin)
    table = DraftTable(origin.field(place))
    table.decisions += [
        "source: the file or database with the rows, here or as sources= of dp.Session",
        "other_releases: what BigQuery released of these rows; its privacy loss is not in this budget",
        "columns: those that queries use, with their types; a policy names the privacy unit alone",
    ]
    unit = fields.pop("privacy_unit_column", None)
    if unit is not None and not isinstance(unit, str):
        raise origin.refusal(f"{place}, privacy_unit_column = {shown(unit)}", because="it is one name", instead='"id"')
    if unit is None:
        table.facts["privacy_unit"] = DraftFact(None, decide="the column that identifies people; the policy has none")
    else:
        table.facts["privacy_unit"] = DraftFact(unit, origin.field(place, "privacy_unit_column"))
        table.columns[unit] = _untyped()
    table.facts["max_rows"] = DraftFact(OPEN, decide="rows of one unit that count; a policy has no such bound")
    _groups(table, fields, place, origin)
    totals = [
        None if (value := fields.pop(key, None)) is None else exact_number(value, f"{place}, {key}", origin)
        for key in ("epsilon_budget", "delta_budget")
    ]
    names = (origin.field(place, "epsilon_budget"), origin.field(place, "delta_budget"))
    table.budget = total_budget(totals[0], totals[1], names)
    if totals[0] is not None and table.budget["epsilon"].value is OPEN:
        table.dropped.append(f"epsilon_budget = {shown(totals[0])}: a budget has an epsilon above 0 and up to 1,000")
    for key, value in fields.items():
        table.dropped.append(f"{shown(key)} = {shown(value)}: {_FIELDS.get(key, 'BigQuery documents no such field')}")
    for key, value in policies.items():
        if key != _POLICY:
            why = _POLICIES.get(key, "BigQuery documents no such policy")
            table.dropped.append(f"{shown(key)} = {shown(value)}: {why}")
    return table


def _groups(table: DraftTable, fields: dict[str, Any], place: str, origin: MetadataOrigin) -> None:
    given = fields.pop("max_groups_contributed", None)
    if given is None:
        return
    if isinstance(given, str) and re.fullmatch(r"[0-9]{1,16}", given):  # the REST API writes 64-bit integers as text
        given = int(given)
    groups = count(given, f"{place}, max_groups_contributed", origin, least=0)
    if groups:
        table.facts["max_groups"] = DraftFact(groups, origin.field(place, "max_groups_contributed"))
    else:
        table.dropped.append("max_groups_contributed = 0: max_groups is at least 1")


def _untyped() -> DraftColumn:
    return DraftColumn({"type": DraftFact(OPEN, decide="the type; a privacy policy has no types")})
