"""Real servers for tests and benchmarks: a PostgreSQL cluster of their own and a local Spark session.

    with PostgresServer() as server:
        server.load("visits", arrow_table)
        psycopg.connect(server.engine_url)

The cluster lives in one directory under /tmp, listens on a free loopback port, and sorts text by a language (ICU
en-US), not by bytes, so that a collation nobody asked for shows. A guardian process stops the server and removes the
directory when it is told to, and also when this process dies in any way.

A server can be harmed: killed with all of its processes and started again, starved of disk, put under another clock.
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import psycopg
import pyarrow as pa
from psycopg import sql

from clocks import Clock
from postgres_rows import column_type, csv_parts
from processes import ENDED, children, is_child, state, wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWNER, ENGINE, SERVICE, STEWARD = "data_owner", "analyst_engine", "ledger_service", "ledger_steward"
SUPERUSER = "postgres"
DATABASE = "records"
INSTALLED = Path("/usr/lib/postgresql")
ZONE = "America/New_York"  # of every session that sets no other; not UTC, so that a zone nobody asked for shows

WAL_SEGMENT = 16 * 2**20

# `read` ends at a line (start again, or stop) or at the end of the pipe (our death); setpriv ends the server should the
# guardian die. What a killed server leaves outside of its directory (shared memory) goes with it. The end is an
# immediate one (QUIT): a fast one writes all databases to the disk first, which took more than a minute on a busy one.
GUARDIAN = """
directory=$1; shift
serve() { setpriv --pdeathsig INT "$@" >>"$directory/log" 2>&1 </dev/null & }
serve "$@"
while read -r order && [ "$order" = start ]; do wait $!; serve "$@"; done
kill -QUIT $! 2>/dev/null
wait $!
segment=$(sed -n '7s/.* //p' "$directory/data/postmaster.pid" 2>/dev/null)
[ -z "$segment" ] || ipcrm --shmem-id "$segment" 2>/dev/null
rm -rf -- "$directory"
"""

SETTINGS = {
    "max_wal_size": "4GB",
    "timezone": ZONE,
    "dynamic_shared_memory_type": "mmap",  # in the directory, so that a kill leaves nothing in /dev/shm
}
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
# Recovery syncs the file system in one call: file by file it takes seconds where others use the disk.
DURABLE = dict.fromkeys(FAST, "on") | {"recovery_init_sync_method": "syncfs"}

ROLES = f"""
REVOKE ALL ON DATABASE {DATABASE} FROM PUBLIC;
GRANT CONNECT, TEMPORARY ON DATABASE {DATABASE} TO {ENGINE};
GRANT CONNECT ON DATABASE {DATABASE} TO {SERVICE}, {STEWARD};
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT CREATE, USAGE ON SCHEMA public TO {OWNER};
GRANT USAGE ON SCHEMA public TO {ENGINE};
ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA public GRANT SELECT ON TABLES TO {ENGINE};
"""


def postgres_binaries() -> Path | None:
    """The directory of the newest PostgreSQL server that is installed as Debian does it."""
    found = [path.parent for path in INSTALLED.glob("*/bin/postgres")]
    return max(found, key=lambda path: int(path.parent.name), default=None)


class PostgresServer:
    """A temporary PostgreSQL cluster with three roles, told by their addresses.

    It is fast and forgets what it acknowledged if it is killed, unless it is `durable`. With a `clock` (a shift, see
    clocks.py) its wall time is another one, and `server.clock.move` moves it while the server runs.
    """

    def __init__(self, *, durable: bool = False, clock: str | None = None, **settings: str) -> None:
        binaries = postgres_binaries()
        if binaries is None:
            raise FileNotFoundError(f"no PostgreSQL server under {INSTALLED}: apt-get install postgresql")
        self._binaries = binaries
        self._passwords = {role: secrets.token_hex(16) for role in (OWNER, ENGINE, SERVICE, STEWARD, SUPERUSER)}
        self.directory = Path(tempfile.mkdtemp(prefix="discreet-postgres-", dir="/tmp"))
        self.clock = None if clock is None else Clock(self.directory, clock)
        self._guardian: subprocess.Popen[bytes] | None = None
        try:
            self._make_cluster()
            self.port = free_port()
            self._start(SETTINGS | (DURABLE if durable else FAST) | settings)
            self._make_database()
        except BaseException:
            self.stop()
            raise

    @property
    def owner_url(self) -> str:
        """Where the role connects that owns the tables and may create schemas."""
        return self._url(OWNER)

    @property
    def engine_url(self) -> str:
        """Where the role with CONNECT, TEMP and SELECT connects."""
        return self._url(ENGINE)

    @property
    def service_url(self) -> str:
        """Where the role connects that may CONNECT and nothing more until the owner grants it."""
        return self._url(SERVICE)

    @property
    def steward_url(self) -> str:
        """Where the role connects that may also register datasets and set budgets, once the owner grants it."""
        return self._url(STEWARD)

    @property
    def superuser_url(self) -> str:
        """Where the superuser connects, for what no other role may do."""
        return self._url(SUPERUSER)

    @property
    def pid(self) -> int:
        """The server's first process, parent of every backend."""
        return int((self.directory / "data" / "postmaster.pid").read_text().splitlines()[0])

    def execute(self, statement: str) -> None:
        """Run SQL as the owner of the tables."""
        with psycopg.connect(self.owner_url, autocommit=True) as connection:
            connection.execute(statement.encode())

    def load(self, name: str, table: pa.Table, types: Mapping[str, str] | None = None) -> None:
        """Make (or make anew) a table of the owner's with these rows; `types` names other types than Arrow's."""
        declared = {field.name: column_type(field.type) for field in table.schema} | dict(types or {})
        columns = sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(kind)) for column, kind in declared.items()
        )
        target = sql.Identifier(name)
        with psycopg.connect(self.owner_url) as connection, connection.cursor() as cursor:
            cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(target))
            cursor.execute(sql.SQL("CREATE TABLE {} ({})").format(target, columns))
            if table.num_columns and table.num_rows:
                copying = sql.SQL("COPY {} FROM STDIN (FORMAT csv, FREEZE, ENCODING 'UTF8')").format(target)
                with cursor.copy(copying) as copy:
                    for part in csv_parts(table):
                        copy.write(part)
            cursor.execute(sql.SQL("ANALYZE {}").format(target))

    @property
    def is_running(self) -> bool:
        """Whether the server's first process lives."""
        with suppress(OSError, IndexError, ValueError):
            return self._guardian is not None and is_child(self.pid, self._guardian.pid)
        return False

    def kill(self) -> None:
        """SIGKILL every process of the server at once: a power cut, but that the system keeps what was written."""
        postmaster = self._running_pid()
        os.kill(postmaster, signal.SIGSTOP)  # it would start others in the place of those that die
        wait_for(lambda: state(postmaster) == "T", 10, lambda: "the server's first process does not stop")
        while living := children(postmaster):
            for pid in living:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        os.kill(postmaster, signal.SIGKILL)
        self._wait_until_ended()

    def kill_backend(self, pid: int) -> None:
        """SIGKILL one backend, for which the server throws out all others and recovers; see `wait_until_ready`."""
        postmaster = self._running_pid()
        thrown_out = set(children(postmaster))
        os.kill(self._backend(pid), signal.SIGKILL)
        wait_for(lambda: thrown_out.isdisjoint(children(postmaster)), 30, self.log)

    def restart(self, *, standby: bool = False) -> None:
        """Start again on the same port, after an orderly end if the server still runs; wait until it is ready.

        A standby follows nobody and lets nobody write, until it is started again without `standby`.
        """
        if self.is_running:
            os.kill(self.pid, signal.SIGINT)
        self._wait_until_ended()
        (self.directory / "data" / "postmaster.pid").unlink(missing_ok=True)
        mark = self.directory / "data" / "standby.signal"
        mark.unlink(missing_ok=True)
        if standby:
            mark.touch()
            give_to_server(mark)
        self._order("start")
        self.wait_until_ready()

    def wait_until_ready(self, seconds: float = 60) -> None:
        """Come back as soon as the server takes connections."""
        wait_for(self._is_ready, seconds, lambda: f"PostgreSQL did not start: {self.log()}")

    def log(self) -> str:
        """What the server has written since it was made."""
        return (self.directory / "log").read_text()

    @contextmanager
    def full_disk(self, room: int = 20 * 2**20, backend: int | None = None) -> Iterator[None]:
        """No file that the server, or that one backend, writes grows beyond so many bytes while this lasts."""
        self.limit_files(room, backend)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):  # it was killed meanwhile, and starts again without the limit
                self.limit_files(None, backend)

    def limit_files(self, room: int | None, backend: int | None = None) -> None:
        """Let no file grow beyond so many bytes, by the server or by one backend, or (None) lift that again."""
        if room is not None and room < WAL_SEGMENT:
            raise ValueError(f"with less than {WAL_SEGMENT} bytes no log is written, and the server ends itself")
        if backend is None:
            postmaster = self._running_pid()
            limit_files_of(postmaster, room)  # first: those that it starts while we look have its limit
            for pid in children(postmaster):
                limit_files_of(pid, room)
        else:
            limit_files_of(self._backend(backend), room)

    def stop(self) -> None:
        """End the server and remove its directory; a second call does nothing."""
        if self._guardian is not None and self._guardian.stdin is not None:
            self._order("stop")
            self._guardian.stdin.close()
            self._guardian.wait(timeout=60)
            self._guardian = None
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _url(self, role: str) -> str:
        return f"postgresql://{role}:{self._passwords[role]}@127.0.0.1:{self.port}/{DATABASE}"

    def _make_cluster(self) -> None:
        secret = self.directory / "password"
        secret.write_text(self._passwords[SUPERUSER])
        give_to_server(secret)
        give_to_server(self.directory)
        version = int(self._binaries.parent.name)
        collation = ["--locale-provider=icu", "--icu-locale=en-US"] if version >= 15 else []
        command = [
            *("setpriv", *account_options(), "--"),
            *(self._binaries / "initdb", "-D", self.directory / "data", "-U", SUPERUSER, f"--pwfile={secret}"),
            *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", *collation),
        ]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise RuntimeError(f"initdb failed: {made.stderr}")
        secret.unlink()

    def _start(self, settings: Mapping[str, str]) -> None:
        where = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.directory),
        }
        options = [f"--{name}={value}" for name, value in (where | dict(settings)).items()]
        clock = {} if self.clock is None else self.clock.environment(threads=False)
        environment = ["env", *(f"{name}={value}" for name, value in clock.items())]
        server = [self._binaries / "postgres", "-D", self.directory / "data", *options]
        command = [*account_options(), "--", *environment, *server]
        self._guardian = subprocess.Popen(
            ["/bin/sh", "-c", GUARDIAN, "guardian", self.directory, *command],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self.wait_until_ready()

    def _order(self, what: str) -> None:
        if self._guardian is None or self._guardian.stdin is None:
            raise RuntimeError("the server was stopped and its directory removed")
        self._guardian.stdin.write(what.encode() + b"\n")
        self._guardian.stdin.flush()

    def _running_pid(self) -> int:
        if not self.is_running:
            raise ProcessLookupError("the server does not run")
        return self.pid

    def _backend(self, pid: int) -> int:
        if not is_child(pid, self._running_pid()):
            raise ProcessLookupError(f"process {pid} is no backend of this server")
        return pid

    def _wait_until_ended(self) -> None:
        wait_for(lambda: not self.is_running, 60, lambda: f"PostgreSQL did not end: {self.log()}")

    def _is_ready(self) -> bool:
        status = self.directory / "data" / "postmaster.pid"
        if not status.exists() or "ready" not in status.read_text():
            return False
        probe = [self._binaries / "pg_isready", "--quiet", "--host=127.0.0.1", f"--port={self.port}"]
        return subprocess.run(probe, check=False).returncode == 0

    def _make_database(self) -> None:
        root = self.superuser_url.removesuffix(DATABASE) + "template1"
        with psycopg.connect(root, autocommit=True) as connection:
            for role in (OWNER, ENGINE, SERVICE, STEWARD):
                connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{self._passwords[role]}'")
            # A new database would be three hundred files more to sync at the first kill.
            connection.execute(f"ALTER DATABASE postgres RENAME TO {DATABASE}")
            connection.execute(f"ALTER DATABASE {DATABASE} OWNER TO {OWNER}")
        with psycopg.connect(self.superuser_url, autocommit=True) as connection:
            connection.execute(ROLES)


def limit_files_of(pid: int, room: int | None) -> None:
    """Only the soft limit, which can be lifted again, and as the server's account, since root may lack the right."""
    limit = ["prlimit", f"--pid={pid}", f"--fsize={'unlimited' if room is None else room}:"]
    done = subprocess.run(["setpriv", *account_options(), "--", *limit], capture_output=True, text=True, check=False)
    if done.returncode and state(pid) not in ENDED:
        raise RuntimeError(f"prlimit failed: {done.stderr}")


def free_port() -> int:
    """A loopback port that nothing listens on now, and that the system gives to no connection while we do not listen.

    A client that calls again and again on a port of the system's own choosing meets itself in the end.
    """
    first_of_system = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = range(10_000, max(first_of_system, 12_000))
    while True:
        port = secrets.choice(ports)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def server_account() -> tuple[str, str]:
    """Whom the server runs as when we are root, which it refuses to be."""
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return "nobody", "nogroup"
    return "postgres", "postgres"


def give_to_server(path: Path) -> None:
    """Make a file or directory the server's own."""
    if os.geteuid() == 0:
        shutil.chown(path, *server_account())


def account_options() -> list[str]:
    """How setpriv drops root; nothing where we are not root."""
    if os.geteuid() != 0:
        return []
    user, group = server_account()
    return [f"--reuid={user}", f"--regid={group}", "--clear-groups"]


def start_spark(directory: Path, **settings: str) -> "SparkSession":
    """A Spark of two cores in this machine, on the loopback only, with a session zone that is not UTC."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - slow to import, and few tests need it

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    defaults = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.local.dir": str(directory / "local"),
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.session.timeZone": ZONE,
    }
    builder = SparkSession.builder.master("local[2]").appName("discreet")
    for name, value in (defaults | settings).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
