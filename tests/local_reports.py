"""Reports on the wire for tests of collectors, and tasks of each form of payload."""

import secrets
from fractions import Fraction

import discreet as dp


def symbol_task(size: int = 16, *, cohorts: int = 1, **fields) -> dp.local.Task:
    """A task whose reports have one symbol."""
    oracle = dp.local.oracles.KaryResponse.calibrate(size, epsilon=1)
    return dp.local.Task(dp.local.SlotDomain(size=size), "1", oracle, cohorts=cohorts, **fields)


def bitmap_task(size: int = 20, *, cohorts: int = 1) -> dp.local.Task:
    """A task whose reports are bitmaps with any number of bits."""
    fields = {"kind": "unary", "size": size, "one": [1, 2], "zero": [1, 4]}
    return _task(fields, size, "1.0987", cohorts)


def subset_task(size: int, weight: int, *, cohorts: int = 1) -> dp.local.Task:
    """A task whose reports are subsets: a bitmap, or a list of slots where that is shorter."""
    return _task({"kind": "subset", "size": size, "subset": weight, "ratio": [2, 1]}, size, "1", cohorts)


def _task(fields: dict, size: int, epsilon: str, cohorts: int) -> dp.local.Task:
    oracle = dp.local.oracles.from_json(fields)
    return dp.local.Task(dp.local.SlotDomain(size=size), epsilon, oracle, cohorts=cohorts, max_bytes=10_000)


def report(task, payload, *, cohort=0, batch=0, report_id=None, version=1, task_id=None) -> bytes:
    """One report; a whole number stands for a symbol."""
    if isinstance(payload, int):
        payload = payload.to_bytes(task.oracle.payload_bytes, "big")
    header = bytes([version]) + (task_id or task.id) + cohort.to_bytes(2, "big") + batch.to_bytes(4, "big")
    return header + (secrets.token_bytes(16) if report_id is None else report_id) + payload


def symbol_reports(task, number: int, *, batch=0) -> list[bytes]:
    """Reports of uniform symbols and cohorts, from the operating system's randomness."""
    return [
        report(task, secrets.randbelow(task.oracle.symbols), cohort=secrets.randbelow(task.cohorts), batch=batch)
        for _ in range(number)
    ]


def drawn_reports(task, slots) -> list[bytes]:
    """Reports of clients with these slots, drawn from the exact probabilities of the oracle."""
    tables = {slot: _thresholds(task.oracle.pmf(slot)) for slot in set(slots)}
    return [report(task, task.oracle.payload(_outcome(tables[slot]))) for slot in slots]


def _thresholds(pmf):
    denominator = 1
    for mass in pmf.values():
        denominator = Fraction(1, denominator).denominator * mass.denominator // _gcd(denominator, mass.denominator)
    return denominator, [(outcome, int(mass * denominator)) for outcome, mass in pmf.items()]


def _gcd(one: int, other: int) -> int:
    while other:
        one, other = other, one % other
    return one


def _outcome(table):
    denominator, masses = table
    at = secrets.randbelow(denominator)
    for outcome, mass in masses:
        if at < mass:
            return outcome
        at -= mass
    raise AssertionError
