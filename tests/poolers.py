"""A real PgBouncer on a loopback port before a server of servers.py.

    with Pooler(server, "session") as pooler:
        PostgresLedger(pooler.service_url)

It runs as the account that the server runs as, and ends when it is told to or when this process dies.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

import psycopg

from processes import wait_for
from servers import PostgresServer, account_options, free_port, give_to_server

PROGRAM = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
ABSENT = "no PgBouncer is installed: apt-get install pgbouncer (scripts/setup does it)"


def has_pgbouncer() -> bool:
    """Whether there is a PgBouncer to start."""
    return Path(PROGRAM).exists()


class Pooler:
    """A PgBouncer in a pool mode, with so many connections to the server for each role and database."""

    def __init__(self, server: PostgresServer, mode: str, *, size: int = 20, **settings: str) -> None:
        self._server = server
        self.directory = Path(tempfile.mkdtemp(prefix="discreet-pooler-", dir="/tmp"))
        self.port = free_port()
        self._settings = settings | {"pool_mode": mode, "default_pool_size": str(size)}
        self._write()
        command = [*account_options(), "--", PROGRAM, self.directory / "pgbouncer.ini"]
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "INT", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_for(self._is_ready, 20, self.log)
        except BaseException:
            self.stop()
            raise

    @classmethod
    def for_kills(cls, server: PostgresServer, size: int) -> Self:
        """One in session mode that finds its server soon after a kill, and lets nobody wait long for a session."""
        return cls(server, "session", size=size, server_login_retry="1", query_wait_timeout="20")

    @property
    def service_url(self) -> str:
        """Where the role of the service connects through the pooler."""
        return self.through(self._server.service_url)

    @property
    def steward_url(self) -> str:
        """Where the role of the steward connects through the pooler."""
        return self.through(self._server.steward_url)

    def through(self, url: str) -> str:
        """An address of the server, through the pooler."""
        return re.sub(r":\d+/", f":{self.port}/", url)

    def change(self, **settings: str) -> None:
        """Give it other settings while it runs, which its clients do not see."""
        self._settings |= settings
        self._write()
        with psycopg.connect(self._console(), autocommit=True) as console:
            console.execute("RELOAD")

    def log(self) -> str:
        """What it has written."""
        path = self.directory / "log"
        return path.read_text() if path.exists() else "PgBouncer wrote nothing"

    def stop(self) -> None:
        """End it, and remove its directory."""
        self._process.terminate()
        self._process.wait(timeout=20)
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _write(self) -> None:
        roles = [self._server.service_url, self._server.steward_url, self._server.superuser_url]
        pairs = [re.search(r"//(\w+):(\w+)@", url) for url in roles]
        users = self.directory / "users.txt"
        users.write_text("".join(f'"{pair[1]}" "{pair[2]}"\n' for pair in pairs if pair))
        settings = {
            "listen_addr": "127.0.0.1",
            "listen_port": str(self.port),
            "unix_socket_dir": "",
            "auth_type": "scram-sha-256",
            "auth_file": str(users),
            "admin_users": "postgres",
            "logfile": str(self.directory / "log"),
        } | self._settings
        lines = [f"[databases]\n* = host=127.0.0.1 port={self._server.port}\n[pgbouncer]"]
        file = self.directory / "pgbouncer.ini"
        file.write_text("\n".join([*lines, *(f"{name} = {value}" for name, value in settings.items())]) + "\n")
        for path in (self.directory, users, file):
            give_to_server(path)

    def _console(self) -> str:
        return re.sub(r":\d+/.*", f":{self.port}/pgbouncer", self._server.superuser_url)

    def _is_ready(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"PgBouncer ended: {self.log()}")
        try:
            psycopg.connect(self.service_url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True
