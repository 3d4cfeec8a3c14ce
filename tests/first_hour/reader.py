"""Types lines as a newcomer would, in an environment that has the wheel; pastes the advice of every refusal.

It runs inside the environments and imports nothing but discreet and the standard library. Each line is typed in a new
directory with the same files, in a new session. A refusal is answered by its own advice: the first code in `instead`,
as it stands or put where it belongs in the line. Nothing is filled in; names such as `query` and `frame` are those that
the opening defined, because advice writes a value without a literal as the name of its parameter.
"""

import ast
import contextlib
import csv
import functools
import io
import json
import os
import re
import shutil
import sys
import tempfile
from importlib.metadata import metadata
from pathlib import Path

import discreet as dp

WARDS = list(dp.datasets.WARDS)
ENDS = re.compile(r", or |; or |; | or |, then | for | where | in | \(|, which |, of |, and | first|, ")
VERBS = re.compile(
    r"(between|is_in|cast|agg|where|derive|group_by|histogram|contingency|join|ranges|per_unit|bounds)\("
)
OPENING = """
session = dp.protect(source, name="visits", privacy_unit="patient_id", max_rows=10, keys={"ward": WARDS},
                     budget=dp.Budget(epsilon=10), ledger=dp.SQLiteLedger(":memory:"))
table = visits = dp.table("visits")
query = table.agg(n=dp.count())
laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=1)
event = laplace.event()
value, lo, hi = 10, 0, 5_000
"""
CATALOG = """
catalog: discreet.catalog/1
tables:
  visits: {source: visits.csv, privacy_unit: patient_id, budget: {epsilon: 2}, columns: {patient_id: {type: text}}}
"""


def write_files() -> None:
    """The files of a newcomer's directory."""
    rows = dp.datasets.visits(60, seed=1)
    plain = [{name: str(cell) for name, cell in row.items()} for row in rows.to_pylist()]
    for name, delimiter in (("visits", ","), ("semicolons", ";"), ("tabs", "\t"), ("my file", ",")):
        with Path(f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(plain[0]), delimiter=delimiter)
            writer.writeheader()
            writer.writerows(plain)
    Path("catalog.yaml").write_text(CATALOG, encoding="utf-8")


def namespace() -> dict[str, object]:
    """What the opening defines, in a session of its own."""
    rows = dp.datasets.visits(60, seed=1)
    names: dict[str, object] = {"dp": dp, "source": rows, "frame": rows, "WARDS": WARDS}
    exec(OPENING, names)
    with contextlib.suppress(ImportError):
        names |= {"df": rows.to_pandas()}
    return names


@functools.cache
def shared() -> dict[str, object]:
    """The same for lines that release nothing, and a release for advice that speaks of one."""
    names = namespace()
    return names | {"release": names["session"].release(names["query"], epsilon=1)}


def typed(line: str) -> object:
    """What a line gives; a question is explained, and an aggregate asked for, so that both are looked at."""
    names = shared() | (namespace() if "session.release" in line else {})
    tree = ast.parse(line)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<line>", "exec"), names)
    given = None if last is None else eval(compile(ast.Expression(last.value), "<line>", "eval"), names)  # noqa: S307
    if type(given).__name__ in ("Aggregation", "Several"):
        given = dp.table("visits").agg(answer=given)
    if type(given).__name__ == "Query":
        shared()["session"].explain(given, epsilon=0.5)
    return given


def advice(instead: str) -> list[str]:
    """The pieces of code at the beginning of the advice, the longest first."""
    instead = instead.removeprefix("one of ")
    cuts = [*(found.start() for found in ENDS.finditer(instead)), len(instead)]
    found = []
    for cut in sorted(cuts, reverse=True):
        for form in ("{}", "f({})", "x{}"):
            with contextlib.suppress(SyntaxError):
                ast.parse(form.format(instead[:cut]))
                found.append(instead[:cut])
                break
    return found


def pasted(line: str, piece: str, what: str) -> list[str]:
    """The lines that the advice may mean: itself, or the line with it at its place."""
    tree = ast.parse(line)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    lines = []
    if re.match(r"[a-z_]+=|\*\*", piece):
        new = ast.parse(f"f({piece})").body[0].value.keywords
        for i in range(len(calls)):
            lines += [_with_keywords(line, i, new), _with_keywords(line, i, new, without=1)]
        return lines
    if piece.startswith(".") or VERBS.match(piece):
        rest = piece if piece.startswith(".") else "." + piece
        receivers = [ast.unparse(c.func.value) for c in calls if isinstance(c.func, ast.Attribute)]
        receivers += [ast.unparse(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        for receiver in dict.fromkeys(receivers):
            lines.append(receiver + rest)
        return [*lines, "table" + rest]
    wrong = re.findall(r"'([^']+)'", what)
    name = re.fullmatch(r"""(?:table\[|dp\.table\()?(['"])(.+?)\1[\])]?""", piece)
    if name and wrong and re.match(r"(column|table|output) '", what):
        return [re.sub(rf"(?<!\w){re.escape(wrong[0])}(?!\w)", name[2], line)]
    return [piece]


def _with_keywords(line: str, index: int, new: list[ast.keyword], *, without: int = 0) -> str:
    tree = ast.parse(line)
    call = [node for node in ast.walk(tree) if isinstance(node, ast.Call)][index]
    names = {keyword.arg for keyword in new}
    call.args = call.args[: len(call.args) - without]
    call.keywords = [each for each in call.keywords if each.arg not in names] + new
    return ast.unparse(tree)


def met(line: str) -> dict[str, str]:
    """What a line is met with, and whether the advice works when it is pasted."""
    try:
        typed(line)
    except dp.Refusal as refusal:
        report = {"met": type(refusal).__name__, "text": str(refusal), "pasted": ""}
        tried = []
        extra = re.match(r'pip install "discreet\[(\w+)\]"', refusal.instead)
        if extra and extra[1] in (metadata("discreet").get_all("Provides-Extra") or ()):
            return report | {"pasted": extra[0]}
        for piece in advice(refusal.instead):
            for candidate in pasted(line, piece, refusal.what):
                try:
                    typed(candidate)
                except Exception as error:  # noqa: BLE001 - whatever it is, the advice does not work
                    tried.append(f"{candidate}  ->  {type(error).__name__}: {error}")
                else:
                    return report | {"pasted": candidate}
        return report | {"tried": "\n".join(tried)}
    except Exception as error:  # noqa: BLE001 - neither an answer nor a refusal: the report says what
        return {"met": f"{type(error).__module__}.{type(error).__name__}", "text": str(error)}
    return {"met": "works", "text": ""}


def read(lines: list[str]) -> list[dict[str, str]]:
    """What every line is met with, each in a directory and a home of its own."""
    reports = []
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as first:
        os.chdir(first)
        write_files()
        for line in lines:
            with tempfile.TemporaryDirectory() as place:
                for file in Path(first).iterdir():
                    shutil.copy(file, place)
                os.chdir(place)
                os.environ["DISCREET_HOME"] = str(Path(place) / "home")
                with contextlib.redirect_stderr(io.StringIO()):
                    reports.append(met(line))
                os.chdir(before)
    return reports


if __name__ == "__main__":
    json.dump(read(json.load(sys.stdin)), sys.stdout)
