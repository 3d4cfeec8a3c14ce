"""Crashes and crowds against a ledger: the programs of tests/ledger, run and asked what they saw.

cases = crashed_clients(address, waves=1)                      every named step of the store, once
requests = asked_through(server, killed, times=10)             a server that is killed under load
charges = spent_together(address, processes=8, threads=5, ...) a crowd against a cap
crowd = crowd_on_homes(server, address, homes, kills)          processes on several homes that race for requests
"""

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg

from crowd_histories import (
    Try,
    events_of,
    wrong_with_a_crowd,
    wrong_with_acknowledgements,
    wrong_with_anchors,
    wrong_with_faults,
    wrong_with_the_end,
)
from discreet.accounting.filters import Budget
from discreet.ledger import Dataset, Ledger, Receipt
from discreet.ledger.records import faults
from histories import NAME, Charge, Request, wrong_with_requests
from homes import Homes, anchors_at_home, shared_anchors
from servers import SERVICE, STEWARD, PostgresServer

PROGRAMS = Path(__file__).parent / "ledger"
PATIENCE = 1800.0

Harm = Callable[[PostgresServer], None]

UNIT = Fraction(1, 10**12)
MANY = 10**6
PROCESSES = 24
OPENED = 10  # requests that may be asked from each kill on, of 2 units on average
CAP = 16  # units of the cap for each kill, so that it is reached after four fifths of them
CLIENTS, BACKENDS, SERVERS, ANCHOR_SERVERS = "clients", "backends", "servers", "anchor servers"
PENDING = "another process is answering the request"
OF_KILLS = frozenset(
    {*(faults.UNREACHABLE, faults.NOT_LISTENING, faults.NO_REPLY, faults.UNKNOWN, faults.SUPERSEDED), PENDING}
)


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
    asked = "SELECT pid FROM pg_stat_activity WHERE usename = ANY(%s) ORDER BY state = 'active' DESC, random() LIMIT 1"
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with psycopg.connect(server.superuser_url) as connection:
            found = connection.execute(asked, ([SERVICE, STEWARD],)).fetchone()
        with suppress(ProcessLookupError):  # its client has ended meanwhile
            if found is not None:
                server.kill_backend(found[0])
                server.wait_until_ready()
                return
    raise TimeoutError("nobody works for the ledger")


def asked_through(server: PostgresServer, harm: Harm, *, times: int, spenders: int = 8) -> list[Request]:
    """What spenders saw who asked, answered and asked again while the server was harmed so often."""
    with tempfile.TemporaryDirectory() as directory:
        command = _command("spender.py", "persist", server.steward_url, directory, spenders)
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


@dataclass(frozen=True)
class CrowdHistory:
    """What the processes of a crowd were told, and the kills among them."""

    cap: int
    kills: Mapping[str, int]
    requests: tuple[Request, ...]
    tries: tuple[Try, ...]
    faults: Counter[str]
    takeovers: int
    replies: int
    looks: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        killed = ", ".join(f"{count} {kind}" for kind, count in self.kills.items() if count)
        refused = sum(each.is_refused for each in self.tries)
        return (
            f"{sum(self.kills.values())} kills ({killed}), {len(self.requests):,} requests charged in "
            f"{len(self.tries):,} tries, {self.takeovers:,} takeovers, {self.replies:,} replies, {refused:,} refusals, "
            f"{sum(self.faults.values()):,} faults"
        )


def shares_of_kills(kills: int, *, anchor_servers: bool = False) -> dict[str, int]:
    """So many kills, by what is killed: one in ten is of the server, one in seven of a backend, most are of clients."""
    shares = {SERVERS: -(-kills // 10), BACKENDS: kills // 7, ANCHOR_SERVERS: kills // 15 if anchor_servers else 0}
    return {CLIENTS: kills - sum(shares.values())} | shares


def crowd_on_homes(
    server: PostgresServer,
    address: str,
    homes: Homes,
    kills: Mapping[str, int],
    *,
    processes: int = PROCESSES,
    anchor_server: PostgresServer | None = None,
) -> CrowdHistory:
    """What a crowd on several homes was told that raced for requests to the cap, while clients and servers were killed.

    The crowd reaches the server by `address`, which may be that of a pooler.
    """
    every = random.sample(list(kills), sum(kills.values()), counts=list(kills.values()))
    cap = CAP * len(every)
    with homes.open_as_owner() as owner, tempfile.TemporaryDirectory() as directory:
        facts = {"source": "visits.csv", "unit": "one patient_id", "facts": "{}"}
        owner.register(Dataset(name=NAME, budget=Budget(epsilon=cap * UNIT), **facts))
        owner.set_quota(NAME, failures=MANY, reason="crashes")
        looks = []
        places = (address, homes.directory, directory, processes, len(homes.machines), homes.shared_anchors)
        with _ordering(_command("crowd.py", *places)) as order:
            harms = {
                CLIENTS: lambda: order("kill"),
                BACKENDS: lambda: robbed_of_a_backend(server),
                SERVERS: lambda: killed(server),
                ANCHOR_SERVERS: lambda: killed(anchor_server or server),
            }
            for number, kind in enumerate(every, start=1):
                order("open", OPENED * number)
                time.sleep(random.uniform(0.1, 0.6))  # noqa: S311 - any moment will do
                harms[kind]()
                looks.append(_look_at_anchors(owner))
            order("end")
        return _crowd_history(list(_histories(directory)), cap, kills, looks)


def _look_at_anchors(ledger: Ledger) -> tuple[int, int]:
    """A time, and how far the shared anchors had come then, or later."""
    moment = time.monotonic_ns()
    return moment, max((each.sequence for each in shared_anchors(ledger)), default=0)


def wrong_with_crowd(address: str, homes: Homes, history: CrowdHistory) -> list[str]:
    """What is wrong with what a crowd was told, and with its ledger as each home and an empty one see it."""
    receipts = [receipt for request in history.requests for receipt in request.receipts]
    without_anchors = faults.UNREACHABLE_ANCHORS if history.kills.get(ANCHOR_SERVERS) else frozenset()
    found = wrong_with_faults(history.faults, expected=OF_KILLS | without_anchors)
    found += [] if any(each.is_refused for each in history.tries) else ["the cap was not reached"]
    anchors = {}
    for number in homes.machines:
        with homes.open_at(address, number) as ledger:
            anchors[f"home {number}"] = anchors_at_home(ledger)
            verified = ledger.verify(receipts=receipts, full=True)
            found += [] if verified else [f"home {number}: {verified}"]
    with homes.open_in_empty_home(address, homes.machines[-1]) as ledger:
        events = events_of(ledger)
        anchors["shared"] = shared_anchors(ledger)
        found += wrong_with_requests(ledger, history.requests)
        found += wrong_with_a_crowd(events, history.tries, cap=history.cap)
        found += wrong_with_acknowledgements(history.tries, history.looks)
        verified = ledger.verify(receipts=receipts, full=True)
        found += [] if verified else [f"an empty home: {verified}"]
    return found + wrong_with_anchors(events, anchors) + wrong_with_the_end(events, anchors["shared"])


@contextmanager
def _ordering(command: list[str]) -> Iterator[Callable[..., None]]:
    """A program that gets orders and confirms each."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as program:  # type: ignore[call-overload]

        def order(*words: object) -> None:
            print(*words, file=program.stdin, flush=True)
            if program.stdout.readline() != "done\n":
                raise RuntimeError(f"the order {words} failed")

        yield order


def _histories(directory: str) -> Iterator[list[dict[str, Any]]]:
    for path in sorted(Path(directory).glob("*.jsonl")):
        yield [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _crowd_history(
    histories: list[list[dict[str, Any]]], cap: int, kills: Mapping[str, int], looks: Iterable[tuple[int, int]]
) -> CrowdHistory:
    begun = [told for lines in histories for told in _tries(lines)]
    by_number: dict[int, list[dict[str, Any]]] = {}
    for told in begun:
        by_number.setdefault(told["number"], []).append(told)
    known: dict[str, Receipt] = {}
    for told in begun:
        text = told.get("receipt")
        told["receipt"] = text and known.setdefault(text, Receipt.from_json(text) if text not in known else known[text])
    return CrowdHistory(
        cap,
        kills,
        tuple(_raced(number, tries) for number, tries in by_number.items() if any(each["receipt"] for each in tries)),
        tuple(Try(each["question"], each["cost"], each["begun"], each.get("ended"), each["receipt"]) for each in begun),
        Counter(line["fault"] for lines in histories for line in lines if "fault" in line),
        sum(each.get("attempt", 1) > 1 for each in begun),
        sum("reply" in each for each in begun),
        tuple(looks),
    )


def _tries(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each try of a process with all that it was told of it; what it was told comes after what it wrote of the try."""
    found: list[dict[str, Any]] = []
    for line in lines:
        if "number" in line:
            found.append(dict(line))
        elif found:
            found[-1] |= line
    return iter(found)


def _raced(number: int, tries: list[dict[str, Any]]) -> Request:
    receipts = dict.fromkeys(told["receipt"] for told in tries if told["receipt"])
    replies = dict.fromkeys(told["reply"] for told in tries if "reply" in told)
    return Request(f"request {number}", tries[0]["question"], tuple(receipts), tuple(replies))


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
