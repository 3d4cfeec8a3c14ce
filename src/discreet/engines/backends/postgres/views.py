"""Which PostgreSQL views are row-local: each row is a total, immutable function of one row of one table.

Then one person's rows in the tables become that person's rows in the view and change no other row, and no cell can make
the view fail. The definition is judged as the server has parsed it, against a list of what is admitted; all that is
not on the list is refused, so that a construct of a later server is refused too. Policies of row security are filters
by such expressions, and are judged in the same way.

What is left out although it looks harmless can fail on one cell: arithmetic overflows, `trim` fails on text of 128 MB,
and a timestamp near the end of its range cannot be truncated.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.engines.backends.postgres import server
from discreet.engines.backends.postgres.node_tree import Node, Value, parse_node_tree
from discreet.errors import SourceError

if TYPE_CHECKING:
    import psycopg

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_INTEGERS = ("int2", "int4", "int8", "int24", "int42", "int28", "int82", "int48", "int84")
_FLOATS = ("float4", "float8", "float48", "float84")
_LIKE = frozenset({"textlike", "textnlike", "namelike", "namenlike"})
_EXTRACT = frozenset({"extract_date", "extract_timestamp"})
# The C functions behind built-in functions and operators that no cell makes fail, and that need no memory of several
# times the size of a cell.
_TOTAL = frozenset(
    {
        *(f"{kind}{how}" for kind in (*_INTEGERS, *_FLOATS, "bool", "oid") for how in _COMPARISONS),
        *(f"{kind}_{how}" for kind in ("numeric", "date", "timestamp", "uuid") for how in _COMPARISONS),
        *(f"date_{how}_timestamp" for how in _COMPARISONS),
        *(f"timestamp_{how}_date" for how in _COMPARISONS),
        *("texteq", "textne", "nameeq", "namene", "bpchareq", "bpcharne", "chareq", "charne", "byteaeq", "byteane"),
        *("nameeqtext", "namenetext", "texteqname", "textnename", "enum_eq", "enum_ne", "text_starts_with"),
        *("int48", "int28", "i2toi4", "i2tod", "i4tod", "i8tod", "ftod", "i2tof", "i4tof", "i8tof"),
        *("int2_numeric", "int4_numeric", "int8_numeric", "bool_int4", "booltext", "timestamp_date", "name_text"),
        *("dfloor", "dceil", "dround", "dtrunc", "float8um", "float8abs", "float4um", "float4abs"),
        *("textlen", "textoctetlen", "text_left", "text_right", "md5_text"),
        *_LIKE,
        *_EXTRACT,
    }
)
_LONGEST_PATTERN = 1000
_FIELDS_OF_TIME = frozenset({b"year", b"quarter", b"month", b"day"})
_TEXT_TYPES = ("25", "1043")
_WRITTEN_AS_TEXT = frozenset({"16", "20", "21", "23", "26", "700", "701", "1700", "2950"})
_ORDERED = frozenset({"20", "21", "23", "700", "701", "1082", "1114", "1184", "1700", "2950"})
_USER = frozenset({"9", "10", "11", "12"})  # CURRENT_ROLE, CURRENT_USER, USER, SESSION_USER: fixed by the connection

_EMPTY = (None, "false", "0")
_READ_HERE = frozenset({"rtable", "jointree", "targetList", "sortClause", "setOperations"})
_OF_NO_MEANING = frozenset({"canSetTag", "stmt_location", "stmt_len", "rteperminfos", "queryId"})
_CONSTRUCTS = {
    "cteList": "WITH",
    "groupClause": "GROUP BY",
    "groupingSets": "GROUP BY",
    "distinctClause": "DISTINCT",
    "hasWindowFuncs": "a window function",
    "hasAggs": "an aggregate",
    "limitCount": "LIMIT",
    "limitOffset": "OFFSET",
    "hasTargetSRFs": "a function that returns several rows",
    "hasSubLinks": "a subquery in an expression",
    "havingQual": "HAVING",
    "hasForUpdate": "FOR UPDATE",
}
_SOURCES = {"2": "a join", "3": "a function in FROM", "5": "VALUES", "6": "WITH"}
_EXPRESSIONS = {
    "AGGREF": "an aggregate",
    "WINDOWFUNC": "a window function",
    "SUBLINK": "a subquery in an expression",
    "COERCETODOMAIN": "a cast to a domain",
}
_CHILDREN = {
    "BOOLEXPR": ("args",),
    "NULLTEST": ("arg",),
    "BOOLEANTEST": ("arg",),
    "RELABELTYPE": ("arg",),
    "COLLATEEXPR": ("arg",),
    "COERCEVIAIO": ("arg",),
    "CASEEXPR": ("arg", "args", "defresult"),
    "CASEWHEN": ("expr", "result"),
    "COALESCEEXPR": ("args",),
    "MINMAXEXPR": ("args",),
    "OPEXPR": ("args",),
    "NULLIFEXPR": ("args",),
    "DISTINCTEXPR": ("args",),
    "SCALARARRAYOPEXPR": ("args",),
    "FUNCEXPR": ("args",),
    "ARRAYEXPR": ("elements",),  # of constants: an array of cells may be too large
    "ARRAYCOERCEEXPR": ("arg", "elemexpr"),
    "VAR": (),
    "CONST": (),
    "CASETESTEXPR": (),
    "SQLVALUEFUNCTION": (),
}
_TYPE_FIELDS = (
    *("vartype", "consttype", "funcresulttype", "opresulttype", "resulttype"),
    *("casetype", "coalescetype", "minmaxtype", "type"),
)

_FUNCTIONS = """
SELECT p.oid::text, p.prosrc FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
WHERE p.oid < 10000 AND l.lanname = 'internal' AND p.provolatile = 'i' AND NOT p.proretset
"""
_OPERATORS = "SELECT oid::text, oprcode::oid::text FROM pg_operator WHERE oid < 10000"
_NONDETERMINISTIC = "SELECT oid::text FROM pg_collation WHERE NOT collisdeterministic"
_DEFINITION = "SELECT ev_action::text FROM pg_rewrite WHERE ev_class = %s AND rulename = '_RETURN'"
_FILTERED = "SELECT relrowsecurity FROM pg_class WHERE oid = %s"
_POLICIES = "SELECT polqual::text FROM pg_policy WHERE polrelid = %s AND polcmd IN ('r', '*') AND polqual IS NOT NULL"
_VIRTUAL = "SELECT count(*) FROM pg_attribute WHERE attrelid = %s AND attgenerated = 'v'"
_DESCENDANTS = """
WITH RECURSIVE below(oid) AS (
  SELECT %s::oid UNION SELECT inhrelid FROM pg_inherits JOIN below ON inhparent = below.oid
) SELECT oid FROM below
"""


class NotRowLocalError(Exception):
    """A definition has something that is not on the list; says what."""


def refuse_view(connection: "psycopg.Connection[Any]", oid: int, name: str) -> None:
    """Refuse a view that its definition does not show to be row-local; no row is read."""
    reason = _reason(connection, oid, is_view=True)
    if reason is not None:
        copy = f'{name[:-1]}_rows"' if name.endswith('"') else f"{name}_rows"
        raise SourceError(
            f"the view {name}",
            because=f"it has {reason}: a row may depend on other rows, or a cell may fail",
            instead=f"a table of its rows: CREATE TABLE {copy} AS SELECT * FROM {name}; or, where each row comes from "
            "rows of one privacy unit and no cell can fail, that statement: row_local=True",
        )


def refuse_policies(connection: "psycopg.Connection[Any]", oid: int, name: str) -> None:
    """Refuse a table whose rows a policy of row security chooses by more than the row itself."""
    reason = _reason(connection, oid, is_view=False)
    if reason is not None:
        raise SourceError(
            f"the table {name}, which row security filters",
            because=f"its policy has {reason}: a row may depend on other rows, or a cell may fail",
            instead="a policy that compares columns of the row with constants or CURRENT_USER; or, where it looks at "
            "rows of one privacy unit and no cell can fail, that statement: row_local=True",
        )


def _reason(connection: "psycopg.Connection[Any]", oid: int, *, is_view: bool) -> str | None:
    """What a definition has that is not admitted, or None; what cannot be read is not admitted either."""
    try:
        judge = _Judge.of(connection)
        if not is_view:
            judge.policies(oid)
        elif len(read := list(judge.view(oid))) != len(set(read)):
            return "one table twice"
    except NotRowLocalError as found:
        return str(found)
    except (server.driver().Error, ValueError, IndexError, RecursionError):
        return "a form that this version of discreet does not know"
    return None


@dataclass(frozen=True)
class _Judge:
    """The definitions of one database, with the functions and operators that are admitted in them."""

    connection: "psycopg.Connection[Any]"
    functions: Mapping[str, str] = field(repr=False)
    operators: Mapping[str, str] = field(repr=False)
    nondeterministic: frozenset[str]

    @classmethod
    def of(cls, connection: "psycopg.Connection[Any]") -> "_Judge":
        functions = dict(connection.execute(_FUNCTIONS).fetchall())
        operators = {oid: functions[code] for oid, code in connection.execute(_OPERATORS) if code in functions}
        return cls(connection, functions, operators, frozenset(oid for (oid,) in connection.execute(_NONDETERMINISTIC)))

    def view(self, oid: int) -> Iterator[int]:
        """The tables that a row-local view reads, each as often as it does."""
        for (text,) in self._rows(_DEFINITION, oid):
            queries = parse_node_tree(text)
            if not isinstance(queries, list) or len(queries) != 1 or not isinstance(queries[0], Node):
                raise NotRowLocalError("no single query")
            yield from self._query(queries[0])
            return
        raise NotRowLocalError("no definition that the role can read")

    def policies(self, oid: int) -> None:
        """Policies that show a row by that row alone."""
        for (text,) in self._rows(_POLICIES, oid):
            self._expression(parse_node_tree(text))

    def _rows(self, statement: str, oid: int) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement, (oid,)).fetchall()

    def _query(self, query: Node) -> Iterator[int]:
        """The tables that a query reads; it chooses rows and computes columns, and does nothing else."""
        if query.label != "QUERY" or query["commandType"] != "1":
            raise NotRowLocalError("no plain SELECT")
        known = _READ_HERE | _OF_NO_MEANING | {"commandType"}
        used = [name for name, value in query.fields.items() if name not in known and value not in _EMPTY]
        if used:
            raise NotRowLocalError(next((what for name, what in _CONSTRUCTS.items() if name in used), used[0]))
        for clause in query.nodes("sortClause"):
            if self.operators.get(str(clause["sortop"])) not in _TOTAL:
                raise NotRowLocalError("ORDER BY a column whose order can fail")
        for entry in query.nodes("targetList"):
            self._expression(entry["expr"])
        (joined,) = query.nodes("jointree")
        self._expression(joined["quals"])
        if query["setOperations"] is not None:
            yield from self._union(query)
        elif joined["fromlist"] is not None:
            if [each.label for each in joined.nodes("fromlist")] != ["RANGETBLREF"]:
                raise NotRowLocalError("a join")
            yield from self._source(_entry(query, joined.nodes("fromlist")[0]))

    def _union(self, query: Node) -> Iterator[int]:
        """The branches of a UNION ALL; types are those of the whole, because a cast between them could fail."""
        types = [_type(entry["expr"]) for entry in query.nodes("targetList") if entry["resjunk"] == "false"]
        for branch in _branches(query.nodes("setOperations")[0]):
            entry = _entry(query, branch)
            (subquery,) = entry.nodes("subquery")
            if [_type(each["expr"]) for each in subquery.nodes("targetList") if each["resjunk"] == "false"] != types:
                raise NotRowLocalError("UNION ALL of columns of different types")
            yield from self._source(entry)

    def _source(self, entry: Node) -> Iterator[int]:
        """The tables behind an entry of FROM: a table, a view or a subquery."""
        if entry["lateral"] != "false" or entry["securityQuals"] is not None:
            raise NotRowLocalError("LATERAL")
        if entry["rtekind"] == "1":
            (subquery,) = entry.nodes("subquery")
            yield from self._query(subquery)
            return
        if entry["rtekind"] != "0":
            raise NotRowLocalError(_SOURCES.get(str(entry["rtekind"]), "another source than a table"))
        if entry["tablesample"] is not None:
            raise NotRowLocalError("TABLESAMPLE")
        oid = entry.number("relid")
        if entry["relkind"] == "v":
            yield from self.view(oid)
            return
        if self._rows(_VIRTUAL, oid) != [(0,)]:
            raise NotRowLocalError("a table with a virtual generated column")
        if self._rows(_FILTERED, oid) != [(False,)]:
            self.policies(oid)
        yield from (each for (each,) in self._rows(_DESCENDANTS, oid))

    def _expression(self, value: Value) -> None:
        """Check an expression from its root down."""
        if value is None:
            return
        if isinstance(value, list):
            for each in value:
                self._expression(each)
            return
        if not isinstance(value, Node) or value.label not in _CHILDREN:
            label = value.label if isinstance(value, Node) else ""
            raise NotRowLocalError(_EXPRESSIONS.get(label, "an expression that is not known to be total"))
        self._single(value)
        for name in _CHILDREN[value.label]:
            self._expression(value[name])

    def _single(self, node: Node) -> None:
        """Check one node without what is below it."""
        if node["inputcollid"] in self.nondeterministic:
            raise NotRowLocalError("a comparison by a nondeterministic collation")
        if node.label in _CONDITIONS:
            holds, otherwise = _CONDITIONS[node.label]
            if not holds(node):
                raise NotRowLocalError(otherwise)
        if "funcid" in node.fields:
            self._call(node, self.functions.get(str(node["funcid"])), "a function or cast")
        elif "opno" in node.fields:
            self._call(node, self.operators.get(str(node["opno"])), "an operator")

    def _call(self, node: Node, function: str | None, what: str) -> None:
        """Check a call; an immutable function of constants is computed before any row is read."""
        if function is None or (function not in _TOTAL and not _is_constant(node)):
            raise NotRowLocalError(f"{what} that can fail, is not immutable, or is not built in")
        if function in _LIKE and (b"\\" in (pattern := _constant(node, 1)) or len(pattern) > _LONGEST_PATTERN):
            raise NotRowLocalError("LIKE by a pattern with a backslash, or a long one")
        if function in _EXTRACT and _constant(node, 0).lower() not in _FIELDS_OF_TIME:
            raise NotRowLocalError("EXTRACT of another field than year, quarter, month and day")


def _entry(query: Node, reference: Node) -> Node:
    return query.nodes("rtable")[reference.number("rtindex") - 1]


def _branches(operation: Node) -> Iterator[Node]:
    """The branches of nested set operations, which must all be UNION ALL."""
    if operation.label == "RANGETBLREF":
        yield operation
        return
    if operation.label != "SETOPERATIONSTMT" or operation["op"] != "1" or operation["all"] != "true":
        raise NotRowLocalError("a set operation other than UNION ALL")
    for side in "lr":
        yield from _branches(operation.nodes(f"{side}arg")[0])


def _is_constant(value: Value) -> bool:
    """Whether an expression names no column and no user."""
    if isinstance(value, list):
        return all(map(_is_constant, value))
    if not isinstance(value, Node):
        return True
    if value.label in ("VAR", "CASETESTEXPR", "SQLVALUEFUNCTION"):
        return False
    return all(_is_constant(value[name]) for name in _CHILDREN.get(value.label, ()))


def _constant(node: Node, index: int) -> bytes:
    """The text that is a constant argument; one that is not constant may fail on a cell."""
    argument = node.nodes("args")[index]
    value = argument["constvalue"]
    if argument.label != "CONST" or not isinstance(value, bytes):
        raise NotRowLocalError("LIKE or EXTRACT by something that is not constant")
    return value[4:]


def _type(value: Value) -> Value:
    """The type of an expression, by its number; of one that says none, itself, which equals no other."""
    if not isinstance(value, Node):
        return value
    if value.label in ("BOOLEXPR", "NULLTEST", "BOOLEANTEST", "SCALARARRAYOPEXPR"):
        return "16"
    if value.label == "COLLATEEXPR":
        return _type(value["arg"])
    return next((value[name] for name in _TYPE_FIELDS if name in value.fields), value)


_CONDITIONS: Mapping[str, tuple[Callable[[Node], bool], str]] = {
    "VAR": (
        lambda node: node["varlevelsup"] == "0" and node.number("varattno") > 0,
        "a system column or a whole row",
    ),
    "SQLVALUEFUNCTION": (lambda node: node["op"] in _USER, "the current time"),
    "COERCEVIAIO": (
        lambda node: node["resulttype"] in _TEXT_TYPES and _type(node["arg"]) in _WRITTEN_AS_TEXT,
        "a cast that can fail",
    ),
    "MINMAXEXPR": (
        lambda node: node["minmaxtype"] in _ORDERED,
        "GREATEST or LEAST of another type than numbers and times",
    ),
    "ARRAYEXPR": (_is_constant, "an array of columns"),
    "ARRAYCOERCEEXPR": (lambda node: _is_constant(node["arg"]), "a cast of an array"),
}
