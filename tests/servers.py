"""Real servers for tests and benchmarks: a PostgreSQL cluster of their own and a local Spark session.

    with PostgresServer() as server:
        server.load("visits", arrow_table)
        psycopg.connect(server.engine_url)

The cluster lives in one directory under /tmp, listens on a free loopback port, and sorts text by a language (ICU
en-US), not by bytes, so that a collation nobody asked for shows. A guardian process stops the server and removes the
directory when it is told to, and also when this process dies in any way.
"""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from psycopg import sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWNER, ENGINE, SUPERUSER, DATABASE = "data_owner", "analyst_engine", "postgres", "records"
INSTALLED = Path("/usr/lib/postgresql")
ZONE = "America/New_York"  # of every session that sets no other; not UTC, so that a zone nobody asked for shows

# `read` ends at a line (stop) or at the end of the pipe (our death); setpriv ends the server should the guardian die.
GUARDIAN = """
directory=$1; shift
setpriv --pdeathsig INT "$@" >"$directory/log" 2>&1 </dev/null &
read -r _
kill -INT $! 2>/dev/null
wait $!
rm -rf -- "$directory"
"""

# Fast rather than durable: the cluster never outlives its process.
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
    "timezone": ZONE,
}

ROLES = f"""
REVOKE ALL ON DATABASE {DATABASE} FROM PUBLIC;
GRANT CONNECT, TEMPORARY ON DATABASE {DATABASE} TO {ENGINE};
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
    """A temporary PostgreSQL cluster with an owner's role and a role that may only read and make temporary tables."""

    def __init__(self, **settings: str) -> None:
        binaries = postgres_binaries()
        if binaries is None:
            raise FileNotFoundError(f"no PostgreSQL server under {INSTALLED}: apt-get install postgresql")
        self._binaries = binaries
        self._passwords = {role: secrets.token_hex(16) for role in (OWNER, ENGINE, SUPERUSER)}
        self.directory = Path(tempfile.mkdtemp(prefix="discreet-postgres-", dir="/tmp"))
        self._guardian: subprocess.Popen[bytes] | None = None
        try:
            self._make_cluster()
            self.port = free_port()
            self._start(SETTINGS | settings)
            self._make_database()
        except BaseException:
            self.stop()
            raise

    @property
    def owner_url(self) -> str:
        """Where the role that owns the tables connects."""
        return self._url(OWNER)

    @property
    def engine_url(self) -> str:
        """Where the role with CONNECT, TEMP and SELECT connects."""
        return self._url(ENGINE)

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

    def stop(self) -> None:
        """End the server and remove its directory; a second call does nothing."""
        if self._guardian is not None and self._guardian.stdin is not None:
            with self._guardian.stdin as pipe:
                pipe.write(b"stop\n")
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
        for path in (secret, self.directory):
            if os.geteuid() == 0:
                shutil.chown(path, *server_account())
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
        command = [*account_options(), "--", self._binaries / "postgres", "-D", self.directory / "data", *options]
        self._guardian = subprocess.Popen(
            ["/bin/sh", "-c", GUARDIAN, "guardian", self.directory, *command],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self._wait_until_ready()

    def _wait_until_ready(self, seconds: float = 60) -> None:
        probe = [self._binaries / "pg_isready", "--quiet", "--host=127.0.0.1", f"--port={self.port}"]
        status = self.directory / "data" / "postmaster.pid"
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if status.exists() and "ready" in status.read_text() and subprocess.run(probe, check=False).returncode == 0:
                return
            time.sleep(0.02)
        raise TimeoutError(f"PostgreSQL did not start: {(self.directory / 'log').read_text()}")

    def _make_database(self) -> None:
        root = self.superuser_url.removesuffix(DATABASE) + "postgres"
        with psycopg.connect(root, autocommit=True) as connection:
            for role in (OWNER, ENGINE):
                connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{self._passwords[role]}'")
            connection.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}")
        with psycopg.connect(self.superuser_url, autocommit=True) as connection:
            connection.execute(ROLES)


def free_port() -> int:
    """A loopback port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def server_account() -> tuple[str, str]:
    """Whom the server runs as when we are root, which it refuses to be."""
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return "nobody", "nogroup"
    return "postgres", "postgres"


def account_options() -> list[str]:
    """How setpriv drops root; nothing where we are not root."""
    if os.geteuid() != 0:
        return []
    user, group = server_account()
    return [f"--reuid={user}", f"--regid={group}", "--clear-groups"]


FIXED_TYPES = {
    pa.null(): "text",
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "integer",
    pa.uint32(): "bigint",
    pa.uint64(): "numeric(20,0)",
    pa.float16(): "real",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.date32(): "date",
    pa.date64(): "date",
}


def column_type(kind: pa.DataType) -> str:
    """PostgreSQL's type for an Arrow type."""
    if pa.types.is_dictionary(kind):
        return column_type(kind.value_type)
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    if pa.types.is_time(kind):
        return "time"
    if is_text(kind):
        return "text"
    if is_bytes(kind):
        return "bytea"
    if kind not in FIXED_TYPES:
        raise TypeError(f"PostgreSQL gets no column from Arrow's {kind}")
    return FIXED_TYPES[kind]


def is_text(kind: pa.DataType) -> bool:
    """Text in any of Arrow's layouts."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_bytes(kind: pa.DataType) -> bool:
    """Bytes in any of Arrow's layouts."""
    layouts = ("is_binary", "is_large_binary", "is_fixed_size_binary", "is_binary_view")
    return any(getattr(pa.types, layout)(kind) for layout in layouts)


def csv_parts(table: pa.Table, rows: int = 500_000) -> Iterator[bytes]:
    """The rows as CSV in parts; NULL is empty and text is quoted, so the two stay apart."""
    plain = pa.table(
        [pa.chunked_array([copyable(chunk) for chunk in column.chunks]) for column in table.columns],
        names=table.column_names,
    )
    for start in range(0, plain.num_rows, rows):
        buffer = BytesIO()
        options = pa.csv.WriteOptions(include_header=False)
        pa.csv.write_csv(plain.slice(start, rows), buffer, options)
        yield buffer.getvalue()


def copyable(values: pa.Array) -> pa.Array:
    """A column as Arrow's CSV writer and PostgreSQL's reader both understand it."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return copyable(values.dictionary_decode())
    if is_text(kind):
        return refuse_nul(values.cast(pa.string()))
    if is_bytes(kind):
        return texts(values.cast(pa.binary()), lambda each: "\\x" + each.hex())
    if pa.types.is_decimal(kind):
        return texts(values, lambda each: format(each, "f"))
    if pa.types.is_timestamp(kind):
        return moments(values.cast(pa.timestamp("us", tz=kind.tz)), "us", "Z" if kind.tz else "")
    if pa.types.is_date(kind):
        return moments(values.cast(pa.date32()), "D", "")
    if pa.types.is_float16(kind):
        return values.cast(pa.float32())
    return values


def refuse_nul(values: pa.Array) -> pa.Array:
    """PostgreSQL's text cannot hold the character NUL."""
    if pc.any(pc.match_substring(values, "\x00")).as_py():
        raise ValueError("PostgreSQL's text cannot hold the character NUL")
    return values


def texts(values: Iterable[Any], written: Callable[[Any], str]) -> pa.Array:
    """Every value in its own words; NULL stays NULL."""
    return pa.array([None if each.as_py() is None else written(each.as_py()) for each in values], pa.string())


def moments(values: pa.Array, resolution: str, suffix: str) -> pa.Array:
    """Dates or timestamps, also of years that Python's own do not reach."""

    def written(number: int) -> str:
        iso = str(np.datetime64(number, resolution))
        if iso.startswith(("-", "0000")):
            year, rest = iso.lstrip("-").split("-", 1)
            return f"{int(year) + 1:04}-{rest}{suffix} BC"
        return iso.lstrip("+") + suffix

    return texts(values.cast(pa.int32()).cast(pa.int64()) if resolution == "D" else values.cast(pa.int64()), written)


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
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.session.timeZone": ZONE,
    }
    builder = SparkSession.builder.master("local[2]").appName("discreet")
    for name, value in (defaults | settings).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
