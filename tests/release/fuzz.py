"""Mutations of saved releases: each loads, is shown, verified and compared, or is refused; no edit verifies as signed.

A mutation changes bytes of a file, or a value somewhere in its JSON. What `verify` calls covered must be the signed
data; of the table of a statement, which no signature covers, its releases must be.
"""

import copy
import io
import json
import random
import shutil
import tempfile
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import typer

import discreet as dp
import fuzzing
from discreet.catalog import strict_json
from discreet.cli import exit_codes
from discreet.cli import release as commands
from discreet.ledger import Signer
from discreet.release.forms import json_place

FACTS = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=4)}
VALUES = (
    None,
    True,
    0,
    -1,
    2**63,
    10**400,
    1e308,
    0.5,
    "",
    "x",
    "1",
    "é\u202e",
    [],
    [[]],
    {},
    {"a": 1},
    "9" * 400,
    "1e99999",
)
NAMES = ("first.json", "first.csv", "first.parquet", "rounded.json", "statement.json", "chosen.json", "one.json")
_COVERED, _UNCOVERED = exit_codes.OK, exit_codes.UNDECIDED


@cache
def originals() -> tuple[Path, str]:
    """A directory with a saved release of each kind and form, and the public key that signed them."""
    place, visits = Path(tempfile.mkdtemp()), dp.table("visits")
    with (
        dp.SQLiteLedger(place / "ledger.sqlite", key=place / "signing.key") as ledger,
        dp.protect(dp.datasets.visits(200), **FACTS, ledger=ledger) as session,
    ):
        by_ward = visits.where(visits.age < 65).group_by("ward", keys={"ward": ["surgery", "é"]})
        first = session.release(by_ward.agg(n=dp.count(), m=dp.mean("cost", bounds=(0, 9))), epsilon=0.5)
        chosen = session.release(visits.choose(["surgery", "x"], score=dp.score(by="ward")), epsilon=0.1)
        table = session.sql("SELECT COUNT(*) AS n, SUM(CLAMP(age, 0, 99)) / COUNT(*) AS a FROM visits", epsilon=0.1)
        for ending in ("json", "csv", "parquet"):
            first.save(place / f"first.{ending}")
        first.rounded(to=10).save(place / "rounded.json")
        table.save(place / "statement.json")
        (place / "chosen.json").write_text(json.dumps(chosen.to_json()), encoding="utf-8")
        one = session.release(
            visits.agg(m=dp.median("age", bounds=(0, 99))), epsilon=0.1, method=dp.SmoothSensitivity()
        )
        (place / "one.json").write_text(json.dumps(one.to_json()), encoding="utf-8")
    return place, Signer.at(place / "signing.key").public


def attempt(draw: random.Random) -> tuple[str, fuzzing.Read]:
    """A changed file, and one of the things that are done with it."""
    place, public = originals()
    name = draw.choice(NAMES)
    path = place / "changed" / name
    path.parent.mkdir(exist_ok=True)
    for file in place.glob(f"{name}*"):
        shutil.copy(file, path.parent / file.name)
    changed = draw.choice([path, json_place(path)])
    data = changed.read_bytes()
    is_json = changed.suffix == ".json" and draw.random() < 0.7
    data = _changed_json(draw, data) if is_json else _changed_bytes(draw, data)
    changed.write_bytes(data)
    command = draw.choice(("load", "show", "compare", "verify", "verify", "verify"))
    return f"{command} {changed.name}: {data!r}", lambda: _use(command, path, place / name, public)


def _changed_json(draw: random.Random, data: bytes) -> bytes:
    plain = json.loads(data)
    for _ in range(draw.choice((1, 1, 1, 3))):
        *path, last = draw.choice(list(_places(plain)) or [("x",)])
        part = plain
        for step in path:
            part = part[step]
        _change(draw, part, last, plain)
    return json.dumps(plain, indent=draw.choice((None, 2))).encode()


def _change(draw: random.Random, part: Any, last: Any, plain: Any) -> None:
    """Drop a value, add one, put one twice, or replace it by an odd one or by another of the file."""
    kind = draw.randrange(5)
    if kind == 0 and isinstance(part, dict | list):
        del part[last]
    elif kind == 1 and isinstance(part, dict):
        part[draw.choice(("note", "original", "signature", "schema", "private"))] = draw.choice(VALUES)
    elif kind == 1:
        part.append(copy.deepcopy(part[last]))
    elif kind == 2:
        *path, other = draw.choice(list(_places(plain)))
        found = plain
        for step in path:
            found = found[step]
        part[last] = copy.deepcopy(found[other])
    elif isinstance(part[last], int | float) and abs(part[last]) < 2**53:
        part[last] = draw.choice((part[last] + 1, -part[last], float(part[last]), str(part[last])))
    else:
        part[last] = draw.choice(VALUES)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Any:
    """The path of every value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        yield (*path, name)
        yield from _places(each, (*path, name))


def _changed_bytes(draw: random.Random, data: bytes) -> bytes:
    text = data.decode("latin-1")
    return fuzzing.mutate(draw, text, [text]).encode("latin-1", errors="replace")


def _use(command: str, path: Path, original: Path, public: str) -> None:
    """One of the things that is done with a saved release."""
    with redirect_stdout(io.StringIO()):
        if command == "load":
            dp.Release.load(path)
        elif command == "show":
            commands.show(path, accountants=False)
        elif command == "compare":
            commands.compare(path, original)
        else:
            _verify(path, original, public)


def _verify(path: Path, original: Path, public: str) -> None:
    """What the exit code of `discreet release verify` calls signed must be the original."""
    code = _exit_code(path, public)
    if code == _COVERED:
        assert _plain(path) == _plain(original), "an edit that verifies as signed"
        assert path.suffix != ".csv" or path.read_bytes() == original.read_bytes(), "an edit of numbers that verifies"
    if code == _UNCOVERED and original.name == "statement.json":
        pairs = zip(_plain(path)["releases"], _plain(original)["releases"], strict=True)
        signed = [(one, other) for one, other in pairs if "signature" in one]  # of others it says so
        assert all(one == other for one, other in signed), "an edit of a release that verifies"


def _exit_code(path: Path, public: str) -> int:
    try:
        commands.verify(path, [public])
    except typer.Exit as code:
        return code.exit_code
    return _COVERED


def _plain(path: Path) -> Any:
    return strict_json.loads(json_place(path).read_text(encoding="utf-8"))


if __name__ == "__main__":
    fuzzing.main(attempt)
