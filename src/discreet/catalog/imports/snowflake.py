"""Snowflake DDL: privacy policies, entity keys, privacy domains, and types of columns in CREATE TABLE.

The grammar is that of https://docs.snowflake.com/en/sql-reference/sql/create-privacy-policy and of the guides on
privacy policies and privacy domains. A privacy domain BETWEEN gives bounds, IN gives keys, REFERENCES gives none. A
privacy budget of Snowflake refills, so its limit is listed and epsilon is a decision of the owner. Snowflake bounds no
rows of an entity, so `max_rows` is a decision too. Names without quotes are in upper case, as Snowflake stores them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from discreet.catalog.catalog import ROW_IN_TEXT
from discreet.catalog.columns import NUMERIC, ColumnType
from discreet.catalog.imports.ddl import SNOWFLAKE, DdlStatement, Token, statements
from discreet.catalog.imports.draft import (
    OPEN,
    DraftColumn,
    DraftFact,
    DraftTable,
    MetadataOrigin,
    exact_number,
    open_budget,
    shown,
    write,
)

SHAPE = "ALTER TABLE visits ADD PRIVACY POLICY p ENTITY KEY (patient_id);"
_TYPES = {
    **dict.fromkeys(("INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "BYTEINT"), ColumnType.INTEGER),
    **dict.fromkeys(("FLOAT", "FLOAT4", "FLOAT8", "DOUBLE", "REAL", "DECFLOAT"), ColumnType.REAL),
    **dict.fromkeys(("VARCHAR", "CHAR", "CHARACTER", "STRING", "TEXT"), ColumnType.TEXT),
    **dict.fromkeys(("BINARY", "VARBINARY"), ColumnType.BINARY),
    **dict.fromkeys(("DATETIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIMESTAMP_TZ"), ColumnType.TIMESTAMP),
    **dict.fromkeys(("VARIANT", "OBJECT", "ARRAY", "MAP"), ColumnType.DOCUMENT),
    "BOOLEAN": ColumnType.BOOLEAN,
    "DATE": ColumnType.DATE,
}
_MOST_NAMES = 1_000
_SCALED = ("NUMBER", "DECIMAL", "NUMERIC")
_CONSTRAINTS = ("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK")
_KINDS = ("TRANSIENT", "TEMPORARY", "TEMP", "VOLATILE", "LOCAL", "GLOBAL", "HYBRID")
_BUDGET = ("BUDGET_NAME", "BUDGET_LIMIT", "MAX_BUDGET_PER_AGGREGATE", "BUDGET_WINDOW")
_NO_TYPE = DraftFact(OPEN, decide="the type; there is no CREATE TABLE in this text")
_MAX_ROWS = DraftFact(OPEN, decide="rows of one unit that count; Snowflake has no such bound")
_BOUNDS = "bounds must be public knowledge, not the smallest and largest value of the data"
_KEYS = "keys must be public knowledge, not the values that the data has"


@dataclass
class _DdlScript:
    """What the statements of a script have declared so far; names of tables and policies end with the plain name."""

    origin: MetadataOrigin
    tables: dict[tuple[str, ...], DraftTable] = field(default_factory=dict)
    policies: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    assigned: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    _longest: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def table(self, path: list[str]) -> DraftTable:
        """The table of a path; a name with fewer qualifiers is the same table."""
        key = tuple(path)
        for known in self.tables:
            if _is_same(known, key):
                self._refuse_two_schemas(known, key)
                return self.tables[known]
        table = DraftTable(self.origin.field(f"table {shown('.'.join(path))}"))
        table.facts["privacy_unit"] = DraftFact(
            None,
            decide="the column that identifies people, or remove it with max_rows and budget, and add public: true",
        )
        table.facts["max_rows"] = _MAX_ROWS
        table.decisions += [
            "source: the file or database with the rows, here or as sources= of dp.Session",
            "other_releases: what Snowflake released of these rows; its privacy loss is not in this budget",
        ]
        table.budget = open_budget()
        self.refuse_many(self.tables)
        return self.tables.setdefault(key, table)

    def _refuse_two_schemas(self, known: tuple[str, ...], path: tuple[str, ...]) -> None:
        """Refuse a name without a schema where the text has it in two schemas: its facts would be mixed."""
        longest = self._longest.setdefault(known, known)
        longer = max(longest, path, key=len)
        if not _is_same(longest, path):
            raise self.origin.refusal(
                f"table {shown('.'.join(known))} in two schemas",
                because="a name without a schema may be either",
                instead="names with their schemas, and one import for each schema",
            )
        self._longest[known] = longer

    def refuse_many(self, found: Mapping[tuple[str, ...], object]) -> None:
        """Refuse a script whose names would take too long to compare."""
        if len(found) >= _MOST_NAMES:
            because = f"a script has at most {_MOST_NAMES:,} tables and as many policies"
            raise self.origin.refusal("too many names", because=because, instead="the tables in several files")


def _is_same(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    size = min(len(one), len(other))
    return one[-size:] == other[-size:]


def draft(text: str, origin: MetadataOrigin) -> str:
    """The draft of a catalog from Snowflake DDL.

    Args:
        text: SQL statements.
        origin: Where the text is from.

    Returns:
        The draft.

    Raises:
        CatalogError: If the text declares no table, or a statement on privacy is not of the documented form.
    """
    script = _DdlScript(origin)
    for statement in statements(text, SNOWFLAKE, origin):
        _read(statement, script)
    tables = {path[-1]: table for path, table in script.tables.items()}
    if not tables:
        raise origin.refusal("no table", because="there is nothing to import", instead=SHAPE)
    if len(tables) != len(script.tables):
        raise origin.refusal(
            "two tables of one name in different schemas",
            because="a catalog has one table of a name",
            instead="one import for each schema",
        )
    for path, table in script.tables.items():
        _add_policy(script, path, table)
        _complete(table)
    for path in script.policies:
        if not any(_is_same(path, used) for used in script.assigned.values()):
            script.dropped.append(f"privacy policy {shown('.'.join(path))}: it is assigned to no table")
    return write(tables, origin, script.dropped)


def _add_policy(script: _DdlScript, path: tuple[str, ...], table: DraftTable) -> None:
    """List what the assigned policy says about budgets."""
    if path not in script.assigned:
        return
    found = [budgets for known, budgets in script.policies.items() if _is_same(known, script.assigned[path])]
    absent = f"privacy policy {shown('.'.join(script.assigned[path]))}: it is not in this text"
    table.dropped += [each for budgets in found for each in budgets] or [absent]


def _complete(table: DraftTable) -> None:
    """Open decisions on columns, and the type before other facts."""
    if not table.columns:
        table.decisions.append("columns: those that queries use, with their types")
    for column in table.columns.values():
        kind = column.facts.pop("type", _NO_TYPE)
        column.facts = {"type": kind, **column.facts}


def _read(statement: DdlStatement, script: _DdlScript) -> None:
    title = statement.title
    if statement.accept("ALTER", "PRIVACY", "POLICY"):
        statement.accept("IF", "EXISTS")
        path = tuple(statement.path())
        if statement.accept("SET", "BODY"):
            statement.expect("->")
            _set_body(statement, script, path)
        else:
            script.dropped.append(f"{title}: only SET BODY is imported")
    elif statement.sees("ALTER") and _is_table(statement):
        _alter(statement, script)
    elif statement.accept("CREATE"):
        statement.accept("OR", "REPLACE")
        if statement.accept("PRIVACY", "POLICY"):
            _create_policy(statement, script)
            return
        while any(statement.accept(kind) for kind in _KINDS):
            pass
        if statement.accept("TABLE"):
            _create_table(statement, script)
        else:
            script.dropped.append(f"{title}: only tables and privacy policies are imported")
    elif statement.sees("USE", "SCHEMA") or statement.sees("USE", "DATABASE"):
        raise script.origin.refusal(
            title, because="it changes the schema of later names", instead="names with their schemas, without USE"
        )
    else:
        script.dropped.append(f"{title}: it says nothing about privacy")


def _is_table(statement: DdlStatement) -> bool:
    return any(statement.accept("ALTER", *kind) for kind in (("TABLE",), ("VIEW",), ("MATERIALIZED", "VIEW")))


def _create_policy(statement: DdlStatement, script: _DdlScript) -> None:
    statement.accept("IF", "NOT", "EXISTS")
    path = tuple(statement.path())
    statement.expect("AS", "(", ")", "RETURNS", "PRIVACY_BUDGET", "->")
    _set_body(statement, script, path)


def _set_body(statement: DdlStatement, script: _DdlScript, path: tuple[str, ...]) -> None:
    for known in [each for each in script.policies if _is_same(each, path)]:
        del script.policies[known]
    script.refuse_many(script.policies)
    script.policies[path] = list(_budgets(statement))


def _budgets(statement: DdlStatement) -> Iterator[str]:
    """What does not carry over from the body of a policy: each budget, and unrestricted access."""
    found = others = 0
    while not statement.is_done():
        if statement.sees("PRIVACY_BUDGET", "("):
            statement.next()
            found += 1
            yield from _budget(statement)
        elif statement.accept("NO_PRIVACY_POLICY", "(", ")"):
            found += 1
            yield "NO_PRIVACY_POLICY(): every query of every analyst is private and charged"
        else:
            statement.next()
            others += 1
    if others:
        yield "conditions and comments of the policy: one budget holds for all analysts"
    if not found:
        raise statement.refusal("a policy returns a budget", "PRIVACY_BUDGET(BUDGET_NAME => 'analysts')")


def _budget(statement: DdlStatement) -> Iterator[str]:
    seen: dict[str, str] = {}
    for argument in statement.inside(statement.group()):
        name = argument.next().text.upper()
        argument.expect("=>")
        if name not in _BUDGET or name in seen:
            raise argument.refusal(f"arguments are {', '.join(_BUDGET)}, each once", "BUDGET_NAME => 'analysts'")
        if name in ("BUDGET_NAME", "BUDGET_WINDOW"):
            seen[name] = shown(argument.string()) if len(argument.tokens) == 3 else "an expression"
        else:
            seen[name] = shown(argument.number())
            argument.end()
    window = seen.get("BUDGET_WINDOW", "absent")
    name = seen.get("BUDGET_NAME", "absent")
    yield f"BUDGET_NAME = {name}: one budget holds for all analysts and accounts"
    limit = seen.get("BUDGET_LIMIT", "absent")
    why = "a limit for one window and account; the budget of a catalog never refills"
    yield f"BUDGET_LIMIT = {limit}, BUDGET_WINDOW = {window}: {why}"
    if "MAX_BUDGET_PER_AGGREGATE" in seen:
        yield f"MAX_BUDGET_PER_AGGREGATE = {seen['MAX_BUDGET_PER_AGGREGATE']}: a query states its own epsilon"


def _create_table(statement: DdlStatement, script: _DdlScript) -> None:
    statement.accept("IF", "NOT", "EXISTS")
    path = statement.path()
    for known in [each for each in script.tables if _is_same(each, tuple(path))]:
        del script.tables[known]  # CREATE OR REPLACE drops privacy domains and policies
        script.assigned.pop(known, None)
    table = script.table(path)
    if not statement.sees("("):
        raise statement.refusal("columns in parentheses belong here", "CREATE TABLE t (c TEXT)")
    for part in statement.inside(statement.group()):
        if any(part.sees(word) for word in _CONSTRAINTS):
            table.dropped.append(f"{part.title}: constraints are not imported")
        else:
            _define(part, table)
    if not statement.is_done():
        table.dropped.append(f"{shown(statement.next().text)} after the columns: options of the table are not imported")
        statement.rest()


def _define(part: DdlStatement, table: DraftTable) -> None:
    """A column with its type, as CREATE TABLE and ADD COLUMN have it."""
    name = part.name()
    if name in table.columns:
        raise part.refusal(f"duplicate column {shown(name)}", "each column once")
    column = table.columns.setdefault(name, DraftColumn())
    place = f"column {shown(name)}"
    written = part.next().text.upper()
    part.accept("PRECISION")
    scale = [token.text for token in part.group()] if part.sees("(") else []
    kind = _TYPES.get(written)
    if written in _SCALED:
        kind = ColumnType.REAL if len(scale) == 3 and scale[2].strip("0") else ColumnType.INTEGER
    if kind is None:
        why = f"Snowflake has {shown(written)}, and no type is like it; text, or leave the column out"
        column.facts["type"] = DraftFact(OPEN, decide=why)
    else:
        column.facts["type"] = DraftFact(str(kind), f"{table.place}, {place}, {written.lower()}")
    while not part.is_done():
        if part.accept("PRIVACY", "DOMAIN"):
            _domain(part, column, table, place)
        else:
            first = part.next()
            column.dropped.append(f"{shown(_word(first))}: options of the column are not imported")
            while not part.is_done() and not part.sees("PRIVACY", "DOMAIN"):
                part.next()


def _word(token: Token) -> str:
    return token.text.upper() if token.kind == "word" else "an option"


def _alter(statement: DdlStatement, script: _DdlScript) -> None:
    statement.accept("IF", "EXISTS")
    path = statement.path()
    title = statement.title
    table = script.table(path)
    if statement.accept("ALTER", "(") or statement.accept("MODIFY", "("):
        statement.place -= 1
        for part in statement.inside(statement.group()):
            _alter_column(part, table, title)
    elif statement.sees("ALTER") or statement.sees("MODIFY"):
        statement.next()
        for part in statement.inside(statement.rest()):
            _alter_column(part, table, title)
    else:
        for part in statement.inside(statement.rest()):
            _alter_table(part, table, script, title)


def _alter_table(part: DdlStatement, table: DraftTable, script: _DdlScript, title: str) -> None:
    key = next(path for path, known in script.tables.items() if known is table)
    if part.accept("ADD", "PRIVACY", "POLICY"):
        script.assigned[key] = tuple(part.path())
        if part.accept("NO", "ENTITY", "KEY"):
            why = "dp.ROW protects rows, not people; if one person has several rows, a column that identifies people"
            table.facts["privacy_unit"] = DraftFact(ROW_IN_TEXT, f"{table.place}, no entity key", why)
            table.facts.pop("max_rows", None)
            return
        part.expect("ENTITY", "KEY", "(")
        unit = part.name()
        part.expect(")")
        part.end()
        table.facts["privacy_unit"] = DraftFact(unit, f"{table.place}, entity key")
        table.facts.setdefault("max_rows", _MAX_ROWS)
        table.columns.setdefault(unit, DraftColumn())
    elif part.accept("DROP", "PRIVACY", "POLICY"):
        script.assigned.pop(key, None)
        table.facts.setdefault("max_rows", _MAX_ROWS)
        table.facts["privacy_unit"] = DraftFact(
            None, decide="the column that identifies people; its policy was dropped"
        )
    elif part.accept("ADD", "COLUMN"):
        part.accept("IF", "NOT", "EXISTS")
        _define(part, table)
    else:
        table.dropped.append(f"{title}: it says nothing about privacy")
        part.rest()


def _alter_column(part: DdlStatement, table: DraftTable, title: str) -> None:
    part.accept("COLUMN")
    name = part.name()
    column = table.columns.setdefault(name, DraftColumn())
    if part.accept("SET", "PRIVACY", "DOMAIN"):
        _domain(part, column, table, f"column {shown(name)}")
        if not part.is_done():
            raise part.refusal("a privacy domain ends here", "one domain for each column")
    elif part.accept("UNSET", "PRIVACY", "DOMAIN"):
        _forget(column)
    else:
        column.dropped.append(f"{title}: only privacy domains of columns are imported")
        part.rest()


def _forget(column: DraftColumn) -> None:
    for key in ("bounds", "keys"):
        column.facts.pop(key, None)
    column.dropped = [each for each in column.dropped if not each.startswith("PRIVACY DOMAIN")]
    column.decisions = [each for each in column.decisions if not each.startswith("keys")]


def _domain(part: DdlStatement, column: DraftColumn, table: DraftTable, place: str) -> None:
    """A privacy domain replaces an earlier one."""
    _forget(column)
    kind = column.facts["type"].value if "type" in column.facts else None
    origin = f"{table.place}, {place}, privacy domain"
    if part.accept("BETWEEN"):
        values = list(part.inside(part.group()))
        if len(values) != 2:
            raise part.refusal("a range has two values", "BETWEEN (0, 100)")
        if kind not in (None, OPEN, *NUMERIC) or any(value.tokens[-1].kind != "number" for value in values):
            column.dropped.append("PRIVACY DOMAIN BETWEEN: only numbers have bounds; a query filters dates and times")
            return
        bounds = [exact_number(value.number(), f"{place}, privacy domain", part.origin) for value in values]
        for value in values:
            value.end()
        if kind is None:
            column.facts["type"] = DraftFact(OPEN, decide="integer or real; there is no CREATE TABLE in this text")
        column.facts["bounds"] = DraftFact(bounds, origin, _BOUNDS)
    elif part.accept("IN"):
        values = list(part.inside(part.group()))
        keys = [value.string() for value in values]
        for value in values:
            value.end()
        if kind not in (None, OPEN, ColumnType.TEXT):
            column.dropped.append(f"PRIVACY DOMAIN IN: a list of text, and the column is {kind}")
            return
        column.facts["type"] = column.facts.get("type", DraftFact("text", origin))
        column.facts["keys"] = DraftFact(keys, origin, _KEYS)
    elif part.accept("REFERENCES"):
        path = ".".join(part.path())
        part.expect("(")
        target = shown(f"{path}.{part.name()}")
        part.expect(")")
        column.dropped.append(f"PRIVACY DOMAIN REFERENCES {target}: keys are a list of public values")
        column.decisions.append(f"keys: the values of {target} if they are public, or none")
    else:
        raise part.refusal("a domain is BETWEEN, IN or REFERENCES", "PRIVACY DOMAIN BETWEEN (0, 100)")
