"""The rules and the steward's writes as functions of PostgreSQL, with a search path that no caller can change."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from discreet.ledger.stores.schema import rights, rules
from discreet.ledger.stores.schema.rules import RefusedChange
from discreet.ledger.stores.schema.tables import TABLES, columns
from discreet.ledger.transactions import steward
from discreet.ledger.transactions.steward import StewardWrite

SEARCH_PATH = "pg_catalog, discreet, pg_temp"
"""Tables of `pg_temp`, which anybody may make, come last; operators and functions are never looked up there."""
_REFUSED = "integrity_constraint_violation"
_NEVER = f"""
BEGIN
  RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = '{_REFUSED}';
END
"""
_LOCK = "  PERFORM 1 FROM datasets WHERE name = NEW.dataset FOR UPDATE;\n"
_VALUE = re.compile(r":(\w+)")


@dataclass(frozen=True)
class Function:
    """A function in PL/pgSQL; one of the steward runs with the rights of the schema's owner."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    returns: str
    body: str
    is_of_steward: bool = False

    @property
    def signature(self) -> str:
        """Its name and the types of its parameters, which name it among functions."""
        return f"discreet.{self.name}({', '.join(kind for _, kind in self.parameters)})"

    @property
    def regprocedure(self) -> str:
        """Its signature as the catalogue writes it where its schema is in the search path."""
        return f"{self.name}({','.join(kind.lower() for _, kind in self.parameters)})"

    @property
    def create_statement(self) -> str:
        """The statement that makes it."""
        given = ", ".join(f"given_{name} {kind}" for name, kind in self.parameters)
        security = " SECURITY DEFINER" if self.is_of_steward else ""
        return (
            f"CREATE FUNCTION discreet.{self.name}({given}) RETURNS {self.returns} LANGUAGE plpgsql{security}"
            f" SET search_path = {SEARCH_PATH} AS $${self.body}$$"
        )


@dataclass(frozen=True)
class Trigger:
    """A trigger before acts on a table, for each row or for each statement."""

    name: str
    table: str
    acts: tuple[str, ...]
    level: str
    function: str

    @property
    def create_statement(self) -> str:
        """The statement that makes it."""
        acts = " OR ".join(self.acts)
        return (
            f"CREATE TRIGGER {self.name} BEFORE {acts} ON discreet.{self.table}"
            f" FOR EACH {self.level} EXECUTE FUNCTION discreet.{self.function}()"
        )


@cache
def triggers() -> tuple[Trigger, ...]:
    """All triggers: one for each act on a table that rules limit, and those that keep rows as they are."""
    guards = (Trigger(name, table, (act,), "ROW", name) for name, table, act, _ in _guards())
    frozen = (Trigger(f"{table}_never_change", table, ("UPDATE",), "STATEMENT", "never") for table in rules.FROZEN)
    kept = (Trigger(f"{table}_never_vanish", table, ("DELETE", "TRUNCATE"), "STATEMENT", "never") for table in TABLES)
    return (*guards, *frozen, *kept)


@cache
def functions() -> tuple[Function, ...]:
    """All functions: what triggers call, and the steward's writes."""
    guards = (Function(name, (), "trigger", _guard(each)) for name, _, _, each in _guards())
    return (Function("never", (), "trigger", _NEVER), *guards, *(_steward_function(each) for each in steward.WRITES))


def steward_functions() -> tuple[Function, ...]:
    """The functions that the role of the steward may call."""
    return tuple(each for each in functions() if each.is_of_steward)


@cache
def steward_call(write: StewardWrite) -> bytes:
    """The statement that makes a write of the steward; it fails unless one row is changed."""
    function = next(each for each in functions() if each.name == write.name)
    given = ", ".join(f"%({name})s::{kind}" for name, kind in function.parameters)
    return f"SELECT discreet.{write.name}({given})".encode()


def _guards() -> Iterator[tuple[str, str, str, list[RefusedChange]]]:
    """The rules of each act on a table, with the name of their trigger and function."""

    def place(rule: RefusedChange) -> tuple[str, str]:
        return rule.table, rule.act

    for (table, act), each in groupby(sorted((*rules.RULES, *rights.RULES), key=place), key=place):
        yield f"{table}_before_{act.lower()}", table, act, list(each)


def _guard(each: list[RefusedChange]) -> str:
    refusals = "\n".join(
        f"  IF {_condition(rule)} THEN\n    RAISE EXCEPTION '{rule.because}' USING ERRCODE = '{_REFUSED}';\n  END IF;"
        for rule in each
    )
    lock = _LOCK if (each[0].table, each[0].act) in rights.LOCKED else ""
    return f"\nBEGIN\n{lock}{refusals}\n  RETURN NEW;\nEND\n"


def _condition(rule: RefusedChange) -> str:
    return rule.when or " OR ".join(f"NEW.{name} IS DISTINCT FROM OLD.{name}" for name in rule.columns)


def _steward_function(write: StewardWrite) -> Function:
    """Values are parameters; an update must change one row, as every write of the ledger must."""
    kinds = {"previous": "TEXT"} | {
        name: kind.removesuffix(' COLLATE "C"') for name, kind in columns(write.table).items()
    }
    if not write.update:
        names = list(columns(write.table))
        values = ", ".join(f"given_{name}" for name in names)
        body = f"\nBEGIN\n  INSERT INTO {write.table} ({', '.join(names)})\n  VALUES ({values});\nEND\n"
    else:
        names = list(dict.fromkeys(_VALUE.findall(write.update)))
        update = _VALUE.sub(r"given_\1", write.update).replace("\n", "\n  ")
        body = (
            f"\nDECLARE\n  changed BIGINT;\nBEGIN\n  {update};\n  GET DIAGNOSTICS changed = ROW_COUNT;\n"
            "  IF changed <> 1 THEN\n    RAISE EXCEPTION USING ERRCODE = 'cardinality_violation';\n  END IF;\nEND\n"
        )
    return Function(
        write.name, tuple((name, kinds.get(name, "BIGINT")) for name in names), "void", body, is_of_steward=True
    )
