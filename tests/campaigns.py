"""Crashes and crowds against a ledger: the programs of tests/ledger, run and asked what they saw.

cases = crashed_clients(address, waves=1)                      every named step of the store, once
requests = asked_through(server, killed, times=10)             a server that is killed under load
charges = spent_together(address, processes=8, threads=5, ...) a crowd against a cap
"""

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg

from discreet.ledger import Ledger, Receipt
from histories import Charge, Request, wrong_with_requests
from servers import SERVICE, PostgresServer

PROGRAMS = Path(__file__).parent / "ledger"
PATIENCE = 1800.0

Harm = Callable[[PostgresServer], None]


def crashed_clients(address: str, *, waves: int, lanes: int = 6) -> list[dict[str, Any]]:
    """What killed.py tells of each client that it killed, and of its retries."""
    told = _run("killed.py", address, waves, lanes)
    return [json.loads(line) for line in told.splitlines()]


def crashed_publishers(address: str) -> list[dict[str, Any]]:
    """What publisher.py tells of each owner whom it killed while another release was recorded."""
    return [json.loads(line) for line in _run("publisher.py", "crash", address).splitlines()]


def publishing_crowd(address: str, *, processes: int, each: int) -> list[dict[str, Any]]:
    """What publisher.py tells of owners who record other releases at once, and charge in between."""
    return [json.loads(line) for line in _run("publisher.py", "crowd", address, processes, each).splitlines()]


def wrong_with_crashes(ledger: Ledger, cases: Iterable[dict[str, Any]]) -> list[str]:
    """What is wrong with what crashed clients and their retries saw."""
    known = list(cases)
    found = [wrong for case in known for wrong in _wrong_with_case(case)]
    return found + wrong_with_requests(ledger, [_request(case["request"], case["seen"], case) for case in known])


def _wrong_with_case(case: dict[str, Any]) -> Iterator[str]:
    step = case["step"]
    if case["expected"] is None and step == "at_any_moment":
        pass
    elif case["end"] != -signal.SIGKILL:
        yield f"{step} was not reached: {case['seen'][0]}"
    if case["expected"] not in (None, bool(case.get("charged"))):
        yield f"{step}: charged {case.get('charged')} times"
    if case["ends"] != [0, 0]:
        yield f"{step}: a retry failed: {case['seen'][1:]}"


def killed(server: PostgresServer) -> None:
    """SIGKILL of every process of the server, and a restart."""
    server.kill()
    server.restart()


def robbed_of_a_backend(server: PostgresServer) -> None:
    """SIGKILL of one backend that works for the ledger, for which the server throws out all others and recovers."""
    asked = "SELECT pid FROM pg_stat_activity WHERE usename = %s ORDER BY state = 'active' DESC, random() LIMIT 1"
    with psycopg.connect(server.superuser_url) as connection:
        found = connection.execute(asked, (SERVICE,)).fetchone()
    if found is not None:
        server.kill_backend(found[0])
        server.wait_until_ready()


def asked_through(server: PostgresServer, harm: Harm, *, times: int, spenders: int = 8) -> list[Request]:
    """What spenders saw who asked, answered and asked again while the server was harmed so often."""
    with tempfile.TemporaryDirectory() as directory:
        command = _command("spender.py", "persist", server.service_url, directory, spenders)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as program:
            try:
                _wait_for_work(Path(directory), spenders, program)
                for _ in range(times):
                    time.sleep(random.uniform(0.1, 0.8))  # noqa: S311 - any moment will do
                    harm(server)
                time.sleep(0.5)
            finally:
                Path(directory, "stop").touch()
                _, errors = program.communicate(timeout=PATIENCE)
        if program.returncode:
            raise RuntimeError(f"the spenders failed: {errors}")
        return _requests(_lines(directory))


def spent_together(address: str, *, processes: int, threads: int, epsilon: Fraction, cap: Fraction) -> list[Charge]:
    """What a crowd was told that charged until it was refused."""
    with tempfile.TemporaryDirectory() as directory:
        _run("spender.py", "spend", address, directory, processes, threads, epsilon, cap)
        return [
            Charge(told["begun"], told["ended"], told["receipt"] and Receipt.from_json(told["receipt"]))
            for told in _lines(directory)
        ]


def _command(program: str, *arguments: object) -> list[str]:
    return [sys.executable, str(PROGRAMS / program), *map(str, arguments)]


def _run(program: str, *arguments: object) -> str:
    done = subprocess.run(_command(program, *arguments), capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise RuntimeError(f"{program} failed: {done.stderr}")
    return done.stdout


def _wait_for_work(directory: Path, spenders: int, program: subprocess.Popen[str]) -> None:
    while len(list(directory.glob("*.jsonl"))) < spenders and program.poll() is None:
        time.sleep(0.01)


def _lines(directory: str) -> Iterator[dict[str, Any]]:
    for path in sorted(Path(directory).glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def _requests(lines: Iterable[dict[str, Any]]) -> list[Request]:
    told: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        told.setdefault(line["request"], []).append(line)
    return [_request(name, seen, seen[0]) for name, seen in told.items()]


def _request(name: str, seen: list[dict[str, Any]], asked: dict[str, Any]) -> Request:
    receipts = tuple(Receipt.from_json(told["receipt"]) for told in seen if "receipt" in told)
    return Request(name, asked["question"], receipts, tuple(told["reply"] for told in seen if "reply" in told))
