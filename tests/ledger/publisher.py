"""A program for tests: owners who record other releases, are killed at each step of it, or record many at once.

    python publisher.py crash ADDRESS
    python publisher.py crowd ADDRESS PROCESSES EACH

Each owner is a process of its own, forked from this one, which has imported everything and connected to nothing. One
line of JSON is printed for each: the step, how the process ended, and what was acknowledged to it.
"""

import json
import os
import sys
from fractions import Fraction
from typing import Any

from failpoints import RECORDED, Failpoint, publishing_steps, watch_connections
from killed import ANALYST, NAME, Tell, in_a_child, opened, prepare

from discreet import events


def publish(address: str, what: str, failpoint: Failpoint, tell: Tell) -> None:
    """Record one release, and die where the failpoint says."""
    watch_connections(failpoint)
    with opened(address) as ledger:
        failpoint.watch(ledger)
        failpoint.act = "T1"
        found = ledger.add_other_release(NAME, what, kind="generalised", sha256="ab" * 32)
        failpoint.act = ""
        tell("sequence", found.sequence)
        failpoint.reach(RECORDED)


def look(address: str, what: str, tell: Tell) -> None:
    """How often a release is on record, what was spent, and whether everything agrees."""
    with opened(address) as ledger:
        tell("found", sum(each.what == what for each in ledger.other_releases(NAME)))
        tell("spent", ledger.spent(NAME).epsilon)
        tell("findings", [str(each) for each in ledger.verify().findings])


def crash(address: str) -> None:
    """An owner killed at each step, and what another process finds then."""
    for step in publishing_steps(address):
        end, seen = in_a_child(lambda tell, step=step: publish(address, step.name, Failpoint(step), tell))
        _, held = in_a_child(lambda tell, step=step: look(address, step.name, tell))
        _report({"step": step.name, "expected": step.charged, "end": end, "seen": seen} | held)


def crowd(address: str, processes: int, each: int) -> None:
    """Many owners at once, each of whom records releases and charges in turn."""
    for number in range(processes):
        if os.fork() == 0:
            end, seen = in_a_child(lambda tell, number=number: _alternate(address, f"{number}", each, tell))
            _report({"end": end, "seen": seen})
            os._exit(0)
    for _ in range(processes):
        os.wait()


def _alternate(address: str, owner: str, each: int, tell: Tell) -> None:
    event = events.PureEvent(Fraction(1, 10**6))
    asked = {"version": 1, "event": event, "analyst": ANALYST, "description": "{}", "fresh": True}
    with opened(address) as ledger:
        for turn in range(each):
            found = ledger.add_other_release(NAME, f"{owner}/{turn}", kind="exact", author=owner)
            tell(f"release {turn}", found.sequence)
            tell(f"receipt {turn}", ledger.charge(NAME, question="ab", **asked).receipt.to_json())


def _report(told: dict[str, Any]) -> None:
    os.write(1, (json.dumps(told) + "\n").encode())


if __name__ == "__main__":
    prepare(sys.argv[2])
    {"crash": crash, "crowd": crowd}[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))
