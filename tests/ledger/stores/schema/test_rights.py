"""Every act is tried as every role: what each may do is what the description of rights says, and nothing else."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest

from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, NameNotFoundError
from discreet.ledger import PostgresLedger
from discreet.ledger.records import faults
from discreet.ledger.records.quota import MOST_FAILURES
from discreet.ledger.stores import postgres_functions
from discreet.ledger.stores.schema import rights
from discreet.ledger.stores.schema.tables import TABLES, columns
from discreet.ledger.transactions import steward
from ledger.stores.conftest import fill
from servers import ENGINE, SERVICE, STEWARD
from tampering import new_database

ROLES = (SERVICE, STEWARD, ENGINE)
STATEMENTS = {
    "SELECT": "SELECT {column} FROM discreet.{table} LIMIT 0",
    "INSERT": "INSERT INTO discreet.{table} ({column}) SELECT {column} FROM discreet.{table} LIMIT 0",
    "UPDATE": "UPDATE discreet.{table} SET {column} = NULL WHERE FALSE",
    "DELETE": "DELETE FROM discreet.{table} WHERE FALSE",
    "TRUNCATE": "TRUNCATE discreet.{table} CASCADE",
}
OF_NOBODY = (
    "ALTER TABLE discreet.events DISABLE TRIGGER ALL",
    "DROP TRIGGER events_before_insert ON discreet.events",
    "DROP TABLE discreet.events",
    "DROP SCHEMA discreet CASCADE",
    "ALTER TABLE discreet.datasets DROP CONSTRAINT promise",
    "CREATE OR REPLACE FUNCTION discreet.never() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
    "CREATE FUNCTION discreet.now() RETURNS boolean LANGUAGE sql AS 'SELECT false'",
    "CREATE TRIGGER refund BEFORE UPDATE ON discreet.datasets FOR EACH ROW EXECUTE FUNCTION discreet.never()",
    "CREATE RULE silence AS ON INSERT TO discreet.halts DO INSTEAD NOTHING",
    "CREATE TABLE discreet.anything (x int)",
    "CREATE TABLE public.anything (x int)",
    "SET session_replication_role = replica",
    "COPY discreet.events TO PROGRAM 'true'",
    f"SET ROLE {STEWARD}; SET ROLE data_owner",
)


def acts() -> list[tuple[str, str, frozenset[str]]]:
    """Every act on every table, column and function: its name, a statement, and the roles that may do it."""
    both = frozenset({SERVICE, STEWARD})
    found = []
    for table in TABLES:
        gone = ("DELETE", "TRUNCATE")
        found += [(f"{act} {table}", STATEMENTS[act].format(table=table), frozenset()) for act in gone]
        for column in columns(table):
            may = {
                "SELECT": both,
                "INSERT": both if table in rights.ADDED else frozenset(),
                "UPDATE": both if column in rights.CHANGED.get(table, ()) else frozenset(),
            }
            for act, roles in may.items():
                statement = STATEMENTS[act].format(table=table, column=column)
                found.append((f"{act} {table}.{column}", statement, roles))
    for function in postgres_functions.steward_functions():
        given = ", ".join(f"NULL::{kind}" for _, kind in function.parameters)
        found.append((function.name, f"SELECT discreet.{function.name}({given})", frozenset({STEWARD})))
    return found + [(statement, statement, frozenset()) for statement in OF_NOBODY]


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
@pytest.mark.parametrize("role", ROLES)
def test_every_act_is_open_to_exactly_the_roles_that_the_description_names(undone, filled, ledger_server, role):
    address = ledger_server._url(role).rpartition("/")[0] + "/" + filled.owner.rpartition("/")[2]
    if role == ENGINE:
        with psycopg.connect(filled.tamperer, autocommit=True) as connection:
            connection.execute(f"GRANT CONNECT ON DATABASE {filled.owner.rpartition('/')[2]} TO {ENGINE}".encode())
    with undone(address) as connection:
        wrong = [name for name, statement, may in acts() if (role in may) is _is_forbidden(connection, statement)]
    assert wrong == []


def _is_forbidden(connection: psycopg.Connection, statement: str) -> bool:
    """Whether the role lacks the right; any other refusal is one that comes after it."""
    connection.execute("SAVEPOINT before")
    try:
        connection.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege:
        return True
    except psycopg.Error:
        return False
    else:
        return False
    finally:
        connection.execute("ROLLBACK TO before")


def test_every_write_of_the_steward_is_a_function_that_the_service_may_not_call():
    assert {each.name for each in postgres_functions.steward_functions()} == {each.name for each in steward.WRITES}
    assert all(each.body.count("given_") >= 2 for each in postgres_functions.steward_functions())


# What the service might do with the rights that it has.


def _event(kind: str, equal: str = "=") -> str:
    """The next event of a dataset, of another kind."""
    names = list(columns("events"))
    values = {"sequence": "8", "kind": f"'{kind}'", "hash": "'y'"}
    values |= dict.fromkeys(("cost_epsilon", "cost_rho", "cost_delta", "cost_renyi"), "0")
    chosen = ", ".join(values.get(name, name) for name in names)
    return (
        f"UPDATE discreet.datasets SET sequence = 8, head = 'y' WHERE name {equal} 'visits';"
        f"INSERT INTO discreet.events ({', '.join(names)}) SELECT {chosen} FROM discreet.events"
        f" WHERE dataset {equal} 'visits' AND sequence = 1"
    )


def _new_analyst(**changes: str) -> str:
    """A row of `analysts` for somebody new, by the columns of the table."""
    row = {
        "dataset": "'visits'",
        "analyst": "'eve'",
        "quota": "NULL",
        "is_own": "0",
        **dict.fromkeys(("cap_epsilon", "cap_rho", "cap_delta"), "NULL"),
        **dict.fromkeys(("spent_epsilon", "spent_rho", "spent_delta", "spent_renyi"), "0"),
        **dict.fromkeys(("floor_epsilon", "floor_rho", "floor_delta", "floor_renyi"), "0"),
        "failures": "0",
        "most_failures": str(MOST_FAILURES),
    }
    row |= changes
    return f"INSERT INTO analysts ({', '.join(row)}) VALUES ({', '.join(row.values())})"


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("kind", steward.EVENTS)
def test_the_service_adds_no_event_of_the_steward(undone, filled, kind):
    with (
        undone(filled.service) as connection,
        pytest.raises(psycopg.Error, match=r"only the steward|not registered again"),
    ):
        connection.execute(_event(kind).encode())


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(
    "changes",
    [
        {"is_own": "1"},
        {"most_failures": str(MOST_FAILURES + 1)},
        {"floor_rho": "1"},
        {"floor_epsilon": "NULL"},
        {"quota": "'{}'", "cap_epsilon": "9", "cap_rho": "9", "cap_delta": "9"},
        {"failures": "1"},
    ],
)
def test_a_new_analyst_has_the_quota_of_everyone(undone, filled, changes):
    with undone(filled.service) as connection:
        connection.execute(_new_analyst().encode())
        connection.rollback()
        connection.execute("SET search_path = discreet")
        with pytest.raises(psycopg.Error, match="a new analyst has the quota of everyone"):
            connection.execute(_new_analyst(**changes).encode())


@pytest.mark.guarantee("ledger")
def test_a_new_analyst_does_not_escape_a_quota_that_was_set_for_everyone(undone, filled, outside):
    with undone(filled.tamperer) as connection:
        everyone = {"analyst": "'*'", "quota": "'{}'", "cap_epsilon": "9", "cap_rho": "9", "cap_delta": "9"}
        connection.execute(_new_analyst(**everyone).encode())
        connection.execute(f"SET ROLE {SERVICE}")
        limited = {name: value for name, value in everyone.items() if name != "analyst"}
        connection.execute(_new_analyst(**limited).encode())
        with pytest.raises(psycopg.Error, match="a new analyst has the quota of everyone"):
            connection.execute(_new_analyst(analyst="'mallory'").encode())


@pytest.mark.guarantee("ledger")
def test_a_new_analyst_has_the_quota_that_everyone_got_while_the_row_waited(ledger_server, outside):
    """The service adds its row while the steward, who holds the dataset, sets a quota for everyone."""
    place = new_database(ledger_server, "raced")
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD, **outside)
    fill(PostgresLedger(place.steward, **outside))
    everyone = {"analyst": "'*'", "quota": "'{}'", "cap_epsilon": "9", "cap_rho": "9", "cap_delta": "9"}
    with psycopg.connect(place.tamperer) as holder, psycopg.connect(place.service) as waiter:
        for each in (holder, waiter):
            each.execute("SET search_path = discreet")
            each.commit()
        holder.execute("SELECT 1 FROM datasets WHERE name = 'visits' FOR UPDATE")
        with ThreadPoolExecutor(1) as thread:
            added = thread.submit(waiter.execute, _new_analyst().encode())
            while not _waits(place.tamperer, waiter.info.backend_pid):
                time.sleep(0.01)
            holder.execute(_new_analyst(**everyone).encode())
            holder.commit()
            with pytest.raises(psycopg.Error, match="a new analyst has the quota of everyone"):
                added.result(30)


def _waits(address: str, backend: int) -> bool:
    """Whether a session waits for a lock."""
    question = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
    with psycopg.connect(address) as connection:
        return bool(connection.execute(question, (backend,)).fetchone()[0])


EVIL = """CREATE SCHEMA evil;
CREATE FUNCTION evil.no(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE FUNCTION evil.no(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR evil.< (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.no);
CREATE OPERATOR evil.<= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.no);
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.no);
CREATE TEMP TABLE events (dataset text, kind text);
CREATE TEMP TABLE datasets (LIKE discreet.datasets);
SET search_path = pg_temp, evil, pg_catalog, discreet"""


EQUAL = "OPERATOR(pg_catalog.=)"
REFUND = f"""UPDATE discreet.datasets SET spent_rho = spent_rho OPERATOR(pg_catalog.-) 1, sequence = 8, head = 'y'
WHERE name {EQUAL} 'visits'"""


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(
    ("statement", "because"),
    [(REFUND, "what was spent never falls"), (_event("CAPPED", EQUAL), "only the steward changes budgets")],
)
def test_no_operator_or_table_of_a_caller_takes_the_place_of_one_in_a_rule(undone, filled, statement, because):
    """A role that may make schemas and temporary tables in the database, which the owner may have granted."""
    database = filled.owner.rpartition("/")[2]
    with undone(filled.tamperer) as connection:
        connection.execute(f"GRANT CREATE, TEMPORARY ON DATABASE {database} TO {SERVICE}".encode())
        connection.execute(f"SET ROLE {SERVICE}")
        connection.execute(EVIL.encode())
        with pytest.raises(psycopg.Error, match=because):
            connection.execute(statement.encode())


# The same through the ledger.

REASON = {"reason": "test"}
ACTS = {
    "a budget": lambda ledger: ledger.set_cap("visits", Budget(epsilon=2, delta=1e-9), **REASON),
    "a quota": lambda ledger: ledger.set_quota("visits", "ann", Budget(epsilon=0.9, delta=1e-9), **REASON),
    "a quota of everyone": lambda ledger: ledger.set_quota("visits", quota=Budget(epsilon=0.9, delta=1e-9), **REASON),
    "a name": lambda ledger: ledger.rename("visits", "again", **REASON),
    "a number of failures": lambda ledger: ledger.set_quota("visits", "ann", failures=7, **REASON),
    "a recovery": lambda ledger: ledger.recover(**REASON),
}


@pytest.fixture
def halted(postgres_address, dataset, charge):
    """A ledger under the steward's role, with a charge by the service, and a halt."""
    with PostgresLedger(postgres_address) as ledger:
        ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-9)))
        charge(ledger)
        halt = {"id": "1", "dataset": "visits", "time": "", "finding": "", "cleared": None}
        ledger._run(lambda writer: writer.insert("halts", halt))
        yield ledger


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("act", ACTS)
def test_the_service_does_no_act_of_the_steward_and_the_steward_does_it(ledger_server, halted, act):
    before = _everything(ledger_server)
    with PostgresLedger(ledger_server.service_url) as service, pytest.raises(LedgerError) as caught:
        ACTS[act](service)
    assert str(caught.value) == faults.NOT_A_STEWARD
    assert _everything(ledger_server) == before
    ACTS[act](halted)
    assert _everything(ledger_server) != before


@pytest.mark.parametrize("act", ACTS)
def test_the_owner_does_every_act_of_the_steward(ledger_server, halted, act):
    before = _everything(ledger_server)
    with PostgresLedger(ledger_server.owner_url, as_owner=True) as owner:
        ACTS[act](owner)
    assert _everything(ledger_server) != before


def _everything(server) -> dict[str, list[tuple]]:
    with psycopg.connect(server.superuser_url) as connection:
        return {
            table: connection.execute(f"SELECT * FROM discreet.{table} ORDER BY 1, 2".encode()).fetchall()
            for table in TABLES
            if table != "ledger"
        }


def test_the_service_registers_nothing_and_is_told_who_does(ledger_server, postgres_address, dataset):
    with PostgresLedger(ledger_server.service_url) as service:
        with pytest.raises(LedgerError) as caught:
            service.register(dataset())
        assert str(caught.value) == faults.NOT_A_STEWARD
        with PostgresLedger(postgres_address) as ledger:
            made = ledger.register(dataset())
        assert service.register(dataset()).sequence == made.sequence


def test_a_service_that_mistypes_a_name_is_told_the_names_that_the_ledger_has(ledger_server, postgres_address, dataset):
    with PostgresLedger(postgres_address) as ledger:
        ledger.register(dataset())
    with PostgresLedger(ledger_server.service_url) as service:
        for name, advice in {"visit": "name='visits'; ", "payroll": "one of 'visits'; "}.items():
            with pytest.raises(NameNotFoundError) as caught:
                service.register(dataset(name=name, source="other.csv"))
            assert "has no dataset of that name" in caught.value.because
            assert caught.value.instead.startswith(advice)
            assert service.verify()


def test_a_service_charges_answers_forfeits_and_publishes(ledger_server, postgres_address, dataset, turn, charge):
    with PostgresLedger(postgres_address) as ledger:
        ledger.register(dataset())
    with PostgresLedger(ledger_server.service_url) as service:
        asked = turn(service)
        assert service.answer(asked, b"12") == b"12"
        service.forfeit(charge(service, analyst="bob"), "timeout")
        service.add_other_release("visits", "ages in tens", kind="generalised")
        assert service.verify(full=True)


def test_a_role_that_is_granted_more_than_the_steward_has_is_refused(ledger_server, postgres_address):
    for right in ("UPDATE (cap_rho) ON discreet.datasets", "INSERT ON discreet.keys", "DELETE ON discreet.halts"):
        with psycopg.connect(ledger_server.superuser_url, autocommit=True) as connection:
            connection.execute(f"GRANT {right} TO {STEWARD}".encode())
            try:
                with pytest.raises(LedgerError) as caught:
                    PostgresLedger(postgres_address)
                assert str(caught.value) == faults.TOO_MANY_RIGHTS
            finally:
                with suppress(psycopg.Error):
                    connection.execute(f"REVOKE {right} FROM {STEWARD}".encode())
