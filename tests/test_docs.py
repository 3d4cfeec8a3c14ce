"""The documentation, held to what it says: links resolve, pages are reachable, and sessions run as they are printed.

A block marked `pycon run` is retyped line by line, one marked `python run` is run whole, and the blocks of a page share
one fresh process in an empty directory. Where a line releases something, noisy digits are ignored; everything else is
compared to the letter. Lines with a `$` in a block marked `console run` are commands, run in the same directory after
all of the page's Python; blocks marked `postgresql` are run against a real server in the place of db.example.org. So
are those marked `machines`, where the word before the `$` names the machine.
"""

import ast
import doctest
import inspect
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

import discreet as dp
from discreet.exact.zcdp import epsilon_of
from discreet.ledger.stores import postgres_schema, sqlite_schema
from servers import PostgresServer, postgres_binaries

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FRONT = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*FRONT, *sorted(DOCS.rglob("*.md"))]
SESSIONS = [ROOT / "README.md", DOCS / "quickstart.md"]
LEDGER = [DOCS / "ledger.md", DOCS / "runbook-ledger.md", DOCS / "reference" / "ledger.md"]
GUIDES = [
    DOCS / name
    for name in (
        "anonymity.md",
        "attacks.md",
        "audit.md",
        "catalog.md",
        "clipping-bounds.md",
        "histograms.md",
        "joins.md",
        "learning.md",
        "learning-step-by-step.md",
        "local.md",
        "partition-selection.md",
        "post-processing.md",
        "privacy-guarantee.md",
        "private-selection.md",
        "quantiles.md",
        "ranges.md",
        "report.md",
        "sample-and-aggregate.md",
        "smooth-sensitivity.md",
        "sql.md",
        "sparse-vector.md",
        "synthesis.md",
        "synthesis-step-by-step.md",
    )
]
RUN = [*SESSIONS, *LEDGER, *GUIDES, DOCS / "reference" / "mechanisms-and-accounting.md"]

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(
    r"^```(?P<kind>pycon|python) run(?P<raises> raises)?\n(?P<code>.*?)^```\n"
    r"(?:\n```text output\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
TERMINAL = re.compile(
    r"^```(?P<kind>console|sql) (?P<where>run|postgresql)\n(?P<code>.*?)^```\n", re.MULTILINE | re.DOTALL
)
STEP = re.compile(r"^```(?P<kind>console|python|sql) machines\n(?P<code>.*?)^```\n", re.MULTILINE | re.DOTALL)
KEY = re.compile(r"ed25519:\S{44}|\b[0-9a-f]{16}\b")
PROMPT = re.compile(r"^([\w-]+)\$ ", re.MULTILINE)
VARYING = re.compile(r" +\d+ (?:s|min|h|d)\b|ed25519:\S{44}|\b[0-9a-f]{12,32}\b|\d{4}-\d\d-\d\d(T\S+)?|version \d+")
NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?")
RECEIPT = re.compile(r"receipt  [0-9a-f]{12}")
PLACEHOLDERS = {"mine.py", "b.py", "test_b.py"}
MODULE = re.compile(r"`(?:[\w./-]*/)?([a-z_]+\.py)`")
CODE = re.compile(r"`(?:(\w+)\.)?(?:\w+\.)?((?<=\.)(?!(?:py|md)\b)[a-z]\w*|_\w+)(?:\([^`\n]*\))?`")
LIBRARIES = {"np", "math", "stats", "self", "dp"}
MACHINE_PATH = re.compile(r"(/home/|/root/|/work/|/tmp/|/Users/|[A-Z]:\\)")

# runs in the process that stands for the reader
READER = """
import contextlib, io, json, sys
namespace, printed = {"__name__": "__main__"}, []
for code, mode in json.load(sys.stdin):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        try:
            exec(compile(code, "<page>", mode), namespace)
        except Exception as error:
            print(f"{type(error).__module__}.{type(error).__qualname__}: {error}")
    printed.append(shown.getvalue())
json.dump(printed, sys.stdout)
"""


@dataclass(frozen=True)
class Typed:
    """Something that a reader types, and what the page says comes back."""

    code: str
    mode: str
    expected: str

    @property
    def is_noisy(self) -> bool:
        return any(call in self.code for call in ("release", "session.sql(", "dp.preview("))


def typed(page: Path) -> list[Typed]:
    found: list[Typed] = []
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["kind"] == "python":
            found.append(Typed(block["code"], "exec", block["output"] or ""))
        else:
            examples = doctest.DocTestParser().get_examples(block["code"])
            found += [Typed(e.source, "single", without_frames(e.want)) for e in examples]
    return found


def without_frames(printed: str) -> str:
    return re.sub(r"^Traceback \(most recent call last\):\n(?:  .*\n)*?(?=\S)", "", printed)


def without_noise(text: str) -> str:
    """Numbers, the receipt and the padding that follows their width, blotted out."""
    blotted = NUMBER.sub("#", RECEIPT.sub("receipt  #", text))
    return re.sub(r" +", " ", re.sub(r"^ +", "", blotted, flags=re.MULTILINE))


def retyped(lines: list[Typed], place: Path) -> list[str]:
    work = place / "empty"
    work.mkdir(exist_ok=True)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", READER],
        input=json.dumps([(line.code, line.mode) for line in lines]),
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=work,
        env=surroundings(place),
        check=False,
    )
    assert result.returncode == 0, result.stderr
    printed: list[str] = json.loads(result.stdout)
    return printed


def surroundings(place: Path, *programs: Path) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), *map(str, programs), os.environ["PATH"]])
    return os.environ | {"DISCREET_HOME": str(place / "home"), "PYTHONIOENCODING": "utf-8", "PATH": path}


def commands(block: re.Match[str]) -> Iterator[tuple[str, str]]:
    """What a reader types after each `$`, and what the page says is printed."""
    for part in re.split(r"^\$ ", block["code"], flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def ran(command: str, place: Path, environment: dict[str, str]) -> str:
    """All that a command prints; what differs from run to run is blotted out by whoever compares."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        cwd=place / "empty",
        env=environment,
        timeout=60,
        check=False,
    )
    return done.stdout


def links(page: Path) -> Iterator[str]:
    """The relative links of a page, without those in code."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    for match in LINK.finditer(prose):
        if not re.match(r"[a-z]+:", match[1]):
            yield match[1]


def target(page: Path, link: str) -> Path:
    path = link.partition("#")[0]
    return (page.parent / path).resolve() if path else page


def anchors(page: Path) -> set[str]:
    headings = HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def reached_from(start: Path) -> set[Path]:
    """The pages that a reader comes to by links; a link to a folder lists the pages in it."""
    reached, waiting = set(), [start]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        for link in links(page):
            found = target(page, link)
            waiting += found.rglob("*.md") if found.is_dir() else [found] if found in PAGES else []
    return reached


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", RUN, ids=named)
def test_what_a_page_lets_a_reader_type_prints_what_the_page_says(page: Path, tmp_path: Path):
    lines = typed(page)
    assert lines
    for line, printed in zip(lines, retyped(lines, tmp_path), strict=True):
        if line.is_noisy:
            assert without_noise(printed) == without_noise(line.expected), line.code
        else:
            assert printed == line.expected, line.code


@pytest.mark.parametrize("page", [*LEDGER, DOCS / "report.md"], ids=named)
def test_the_commands_of_a_page_print_what_it_says(page: Path, tmp_path: Path):
    retyped(typed(page), tmp_path)
    for block in TERMINAL.finditer(page.read_text(encoding="utf-8")):
        for command, expected in commands(block) if block["where"] == "run" else ():
            printed = ran(command, tmp_path, surroundings(tmp_path))
            assert VARYING.sub("#", printed) == VARYING.sub("#", expected), command


def test_the_commands_for_postgresql_work_on_a_real_server(
    durable_postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "empty").mkdir()
    binaries = postgres_binaries()
    monkeypatch.setenv("PGPASSWORD", "...")
    environment = surroundings(tmp_path, *([binaries] if binaries else []))
    monkeypatch.setenv("DISCREET_HOME", environment["DISCREET_HOME"])
    page = (DOCS / "runbook-ledger.md").read_text(encoding="utf-8")
    page = page.replace("db.example.org", f"127.0.0.1:{durable_postgres.port}")
    service = re.search(r'ledger="(postgresql://\S+)"', page)
    blocks = [block for block in TERMINAL.finditer(page) if block["where"] == "postgresql"]
    ask_once(str(tmp_path / "empty" / "ledger.sqlite"))  # for the move
    assert service
    assert [block["kind"] for block in blocks[:2]] == ["sql", "console"]
    with psycopg.connect(durable_postgres.superuser_url, autocommit=True) as superuser:
        for place, block in enumerate(blocks):
            for statement in block["code"].split(";\n")[:-1] if block["kind"] == "sql" else ():
                superuser.execute(statement.encode())
            for command, expected in commands(block):
                assert VARYING.sub("#", ran(command, tmp_path, environment)) == VARYING.sub("#", expected), command
            if place == 1:
                ask_once(service[1])


def test_the_walk_over_several_machines_works_on_a_real_server(
    postgres_installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Keys that a command prints take the place of those that the page shows, also in later commands."""
    monkeypatch.setenv("PGPASSWORD", "...")
    secret = tmp_path / "empty"
    secret.mkdir()
    # a path about as long as that of the page, which is printed and wrapped
    with PostgresServer(durable=True) as server, tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as shared:
        page = (DOCS / "runbook-ledger.md").read_text(encoding="utf-8")
        for shown, real in {
            "anchors.example.org": f"127.0.0.1:{server.port}",
            "db.example.org": f"127.0.0.1:{server.port}",
            "/mnt/anchors": shared,
            "/run/secrets/discreet": str(secret),
        }.items():
            page = page.replace(shown, real)
        make_roles(server, page)
        keys: dict[str, str] = {}
        for place, block in enumerate(STEP.finditer(page)):
            for machine, command, expected in steps(block):
                environment = surroundings(tmp_path) | {"DISCREET_HOME": str(tmp_path / machine)}
                printed = ran(replaced(command, keys), tmp_path, environment)
                assert VARYING.sub("#", printed) == VARYING.sub("#", expected), command
                keys |= dict(zip(KEY.findall(expected), KEY.findall(printed), strict=True))
            if place == 0:
                monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "owner"))
                ask_once(f"postgresql://discreet_steward@127.0.0.1:{server.port}/ledger")
            if block["kind"] == "sql":
                run_in_psql(server, block["code"])
            if block["kind"] == "python":
                monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "container"))
                exec(compile(f"{block['code']}\nledger.close()", "<page>", "exec"), {})


def make_roles(server: PostgresServer, page: str) -> None:
    """Run the first statements for PostgreSQL: its roles and its database."""
    block = next(block for block in TERMINAL.finditer(page) if block["where"] == "postgresql")
    with psycopg.connect(server.superuser_url, autocommit=True) as superuser:
        for statement in block["code"].split(";\n")[:-1]:
            superuser.execute(statement.encode())


def run_in_psql(server: PostgresServer, code: str) -> None:
    """Run statements as the superuser, with the commands of psql."""
    binaries = postgres_binaries()
    assert binaries
    command = [binaries / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", server.superuser_url]
    subprocess.run(command, input=code, text=True, check=True, capture_output=True)


def steps(block: re.Match[str]) -> Iterator[tuple[str, str, str]]:
    """The machine, what is typed there, and what the page says is printed."""
    if block["kind"] != "console":
        return
    _, *parts = PROMPT.split(block["code"])
    for machine, part in zip(parts[::2], parts[1::2], strict=True):
        command, _, printed = part.partition("\n")
        yield machine, command, printed


def replaced(command: str, keys: dict[str, str]) -> str:
    return KEY.sub(lambda found: keys.get(found[0], found[0]), command)


def ask_once(ledger: str) -> None:
    """One question to one dataset, whose budget is kept in that ledger."""
    visits = dp.datasets.visits(100)
    budget = dp.Budget(epsilon=1)
    with dp.protect(
        visits, name="visits", privacy_unit="patient_id", max_rows=3, budget=budget, ledger=ledger
    ) as session:
        session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)
        session.ledger.close()


def test_the_readme_typed_twice_gets_the_same_answers_at_no_further_cost(tmp_path: Path):
    lines = typed(ROOT / "README.md")
    first, again = retyped(lines, tmp_path)[-2:], retyped(lines, tmp_path)[-2:]
    assert any("the stored answer is free" in printed for printed in again)
    assert first == [re.sub(r"^repeat .*\n", "", printed, flags=re.MULTILINE) for printed in again]


def test_only_blocks_that_are_marked_so_raise():
    for page in RUN:
        for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
            if block["kind"] == "python":
                assert bool(block["raises"]) == (block["output"] or "").startswith("discreet.errors."), block["code"]


def test_the_first_screen_has_one_install_line_the_privacy_cost_a_release_with_margins_and_what_remains():
    screen = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]
    assert screen.count("pip install") == 1
    signs = ("pip install", ".explain(", "costs  ", ".release(", "receipt  ", ".remaining(", "![")
    order = [screen.index(sign) for sign in signs]
    assert order == sorted(order)
    answers = [line for line in screen.splitlines() if line.startswith(("cardiology", "paediatrics"))]
    assert all(line.count("±") == 2 for line in answers)
    for page in ("quickstart.md", "index.md#concepts", "index.md#how-to-guides", "index.md#reference"):
        assert f"(docs/{page})" in screen
    for page in ("privacy-guarantee.md", "limits.md"):
        assert f"(docs/{page})" in screen


def test_shown_margins_are_clearly_smaller_than_the_values_beside_them():
    for page in SESSIONS:
        pairs = re.findall(r"([\d,]+) ± ([\d,]+)", page.read_text(encoding="utf-8"))
        assert len(pairs) >= 12
        assert all(int(v.replace(",", "")) > 2 * int(m.replace(",", "")) for v, m in pairs)


def _is_broken(page: Path, link: str) -> bool:
    found, fragment = target(page, link), link.partition("#")[2]
    return not found.exists() or bool(fragment and fragment not in anchors(found))


def test_every_relative_link_resolves():
    assert [(named(page), link) for page in PAGES for link in links(page) if _is_broken(page, link)] == []


def test_every_page_can_be_reached_from_the_index():
    reached = reached_from(DOCS / "index.md")
    assert [named(page) for page in PAGES if page not in reached and page.name != "README.md"] == []


TERMS = {
    "differential privacy": "privacy-guarantee.md",
    "Laplace mechanism": "reference/mechanisms-and-accounting.md",
    "Gaussian mechanism": "reference/mechanisms-and-accounting.md",
    "exponential mechanism": "private-selection.md",
    "sparse vector technique": "sparse-vector.md",
    "partition selection": "partition-selection.md",
    "confidence interval": "post-processing.md",
    "contribution bounds": "privacy-guarantee.md",
    "composition": "privacy-guarantee.md",
    "post-processing": "post-processing.md",
}
"""Terms that people search for, and the page that each leads to."""


@pytest.mark.parametrize(("term", "page"), TERMS.items())
def test_a_term_of_the_field_leads_from_the_index_to_its_page(term, page):
    entries = re.split(r"\n- ", (DOCS / "index.md").read_text(encoding="utf-8"))
    leading = [entry for entry in entries if term.lower() in " ".join(entry.split()).lower()]
    assert any(link.partition("#")[0] == page for entry in leading for link in LINK.findall(entry))
    assert term.lower() in " ".join((DOCS / page).read_text(encoding="utf-8").split()).lower()


def test_the_first_heading_of_every_version_in_the_changelog_is_privacy():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert versions
    for version in versions:
        assert re.findall(r"^### (.+)$", version, re.MULTILINE)[0] == "Privacy", version.splitlines()[0]


def test_no_page_names_a_path_of_somebodys_machine():
    assert [named(page) for page in PAGES if MACHINE_PATH.search(page.read_text(encoding="utf-8"))] == []


def test_decisions_are_numbered_without_gaps_and_say_four_things():
    pages = sorted((DOCS / "decisions").glob("*.md"))
    assert [page.name[:4] for page in pages] == [f"{number:03d}-" for number in range(1, len(pages) + 1)]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"# {page.name[:3]}. "), page.name
        for part in ("Context", "Decision", "Why", "What would change it"):
            assert f"\n**{part}.** " in text, page.name


def cells(page: str, label: str) -> list[str]:
    """The cells of the row of a table that begins with a label."""
    row = re.search(rf"^\| {re.escape(label)} \|(.+)\|$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert row, label
    return [cell.strip() for cell in row[1].split("|")]


def margin_of_a_count(budget: dp.Budget, rows: int, **cost) -> str:
    """The margin of error of one count, as `explain` gives it."""
    facts = {"name": "t", "privacy_unit": "id", "max_rows": rows, "budget": budget, "fixed_schema": True}
    with dp.protect(pa.table({"id": [1]}), **facts, ledger=dp.SQLiteLedger(":memory:")) as session:
        return f"± {int(session.explain(dp.table('t').agg(n=dp.count()), **cost).outputs[0].margin):,}"


def test_the_figures_of_the_privacy_guarantee_are_those_of_the_library():
    budget = dp.Budget(epsilon=2, delta=1e-9)
    whole = budget.rho(2)
    asked = [Fraction(text) for text in cells("privacy-guarantee.md", "epsilon of a query")]
    assert cells("privacy-guarantee.md", "queries that fit") == [str(whole // budget.rho(epsilon)) for epsilon in asked]
    for text, epsilon in zip(cells("privacy-guarantee.md", "its rho"), asked, strict=True):
        assert float(text) == float(f"{float(budget.rho(epsilon)):.3g}")
    counts = [int(text.replace(",", "")) for text in cells("privacy-guarantee.md", "k")]
    pure = [margin_of_a_count(dp.Budget(epsilon=2), 10, epsilon=Fraction(2, k)) for k in counts]
    mixed = [
        margin_of_a_count(budget, 10, epsilon=2 if k == 1 else epsilon_of(whole / k, budget.conversion_delta))
        for k in counts
    ]
    assert cells("privacy-guarantee.md", "epsilon 2, delta 0") == pure
    assert cells("privacy-guarantee.md", "epsilon 2, delta 1e-9") == mixed
    beliefs = [100 / (1 + math.exp(-float(epsilon))) for epsilon in cells("privacy-guarantee.md", "epsilon")]
    assert cells("privacy-guarantee.md", "largest posterior belief") == [f"{belief:.1f}%" for belief in beliefs]


@pytest.mark.parametrize(("delta", "margin"), [(0, "9.6 with"), (1e-9, "25.1 with")])
def test_the_margins_of_a_selection_are_those_of_the_library(delta: float, margin: str):
    query = dp.table("t").choose(range(6), score=dp.score(by="x"))
    facts = {"name": "t", "privacy_unit": "id", "max_rows": 1, "budget": dp.Budget(epsilon=2, delta=delta)}
    rows = pa.table({"id": [1], "x": [1]})
    with dp.protect(rows, **facts, fixed_schema=True, ledger=dp.SQLiteLedger(":memory:")) as session:
        assert f"{float(session.explain(query, epsilon=0.5).outputs[0].margin):.1f} with" == margin
    assert margin in (DOCS / "private-selection.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2"])
def test_the_margins_for_newcomers_are_those_of_the_library(epsilon: str):
    budgets = [dp.Budget(epsilon=4), dp.Budget(epsilon=4, delta=1e-9)]
    margins = [margin_of_a_count(budget, rows, epsilon=Fraction(epsilon)) for budget in budgets for rows in (1, 10)]
    assert cells("is-this-right-for-me.md", epsilon) == margins


def test_the_index_of_public_names_is_complete():
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `dp\.(\w+)` \| \S.+ \|$", page, re.MULTILINE)
    assert sorted(listed) == sorted(dp.__all__)
    assert len(listed) == len(set(listed))


def test_every_test_that_a_proof_names_is_there():
    written = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    for page in (DOCS / "proofs").rglob("*.md"):
        named_tests = re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8"))
        assert [name for name in named_tests if f"def {name}(" not in written] == [], page


@dataclass(frozen=True)
class SourceNames:
    """The names in a module: those that it defines, and all others that it reads or writes."""

    defined: frozenset[str]
    used: frozenset[str]


class Source:
    """The names in all modules, and where they are."""

    def __init__(self, paths: Iterator[Path]) -> None:
        self.modules = {path: source_names(path) for path in paths}
        self.anywhere = frozenset().union(*(names.defined for names in self.modules.values()))
        self.classes = {name for name in self.anywhere if name.lstrip("_")[:1].isupper()}
        self._inside: dict[str, set[str]] = defaultdict(set)
        for path, names in self.modules.items():
            for owner in {path.stem, *path.relative_to(ROOT / "src").parts[:-1]}:
                self._inside[owner] |= names.defined | {path.stem}

    def inside(self, owner: str) -> set[str] | None:
        """What is defined in the modules and packages of a name, where there are any."""
        return self._inside.get(owner)


def source_names(path: Path) -> SourceNames:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    stored = [node for node in nodes if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)]
    defined = {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    defined |= {node.id if isinstance(node, ast.Name) else node.attr for node in stored}
    used = {node.id for node in nodes if isinstance(node, ast.Name)} | {n.arg for n in nodes if isinstance(n, ast.arg)}
    return SourceNames(frozenset(defined), frozenset(used | {path.stem}))


def missing_code(page: str, source: Source) -> list[str]:
    """Names of code in a proof that the source does not have.

    `_name` is defined somewhere. `owner.name` is defined in the module or package `owner`; any other owner is a class,
    or a name in one of the modules that the page names, and has such an attribute somewhere.
    """
    pages_modules = set(MODULE.findall(page))
    local = frozenset().union(*(names.used for path, names in source.modules.items() if path.name in pages_modules))
    owners = local | source.classes | {""}
    missing = []
    for owner, name in CODE.findall(page):
        known = source.inside(owner)
        is_there = owner in owners and name in source.anywhere if known is None else name in known
        if owner not in LIBRARIES and not is_there:
            missing.append(f"{owner}.{name}" if owner else name)
    return missing


def test_every_function_that_a_proof_names_is_there():
    source = Source((ROOT / "src").rglob("*.py"))
    for page in (DOCS / "proofs").rglob("*.md"):
        assert missing_code(page.read_text(encoding="utf-8"), source) == [], page


def test_a_name_of_code_that_is_gone_is_found():
    source = Source((ROOT / "src" / "discreet" / "engines" / "sql").glob("*.py"))
    page = "`blocks.py`: `chunks.split_sql`, `casts.split_sql`, `blocks.split_sql(a)`, `_clamp`, `_is_text`, `np.add`"
    assert missing_code(page, source) == ["chunks.split_sql", "casts.split_sql", "_clamp"]


def test_the_versions_of_the_ledgers_schema_are_those_of_the_library():
    page = (DOCS / "compatibility.md").read_text(encoding="utf-8")
    assert f"| ledger schema {sqlite_schema.VERSION} (SQLite) |" in page
    assert f"| ledger schema {postgres_schema.VERSION} (PostgreSQL) |" in page


def test_the_formats_of_the_ledger_are_on_the_page_about_compatibility():
    page = (DOCS / "compatibility.md").read_text(encoding="utf-8")
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src" / "discreet" / "ledger").rglob("*.py")]
    named = re.compile(r'^\w+ = "(discreet[.][a-z-]+)/(\d)"$', re.MULTILINE)
    formats = {found for text in texts for found in named.findall(text)}
    assert len(formats) > 8
    missing = [f"{name}/{number}" for name, number in sorted(formats) if f"`{name}/" not in page]
    assert missing == []
    receipts = next(line for line in page.splitlines() if line.startswith("| `discreet.receipt/"))
    assert {f"/{number}" for name, number in formats if name == "discreet.receipt"} <= set(re.findall(r"/\d", receipts))


def test_the_schema_of_a_release_is_where_the_pages_say():
    for page in ("docs/quickstart.md", "docs/reference/api.md"):
        assert "discreet.release.release.schema()" in (ROOT / page).read_text(encoding="utf-8"), page
    assert (ROOT / "src" / "discreet" / "release" / "schemas" / "release-2.json").exists()


def test_the_page_on_catalogs_explains_every_option_of_protect():
    words = (DOCS / "catalog.md").read_text(encoding="utf-8")
    resources = {"name", "types", "table", "memory_limit", "threads"}
    options = set(inspect.signature(dp.protect).parameters) - resources
    assert [option for option in sorted(options) if f"`{option}`" not in words] == []


if __name__ == "__main__":
    linked = sum(len(list(links(page))) for page in PAGES)
    blocks = sum(len(BLOCK.findall(page.read_text(encoding="utf-8"))) for page in RUN)
    print(f"docs: {len(PAGES)} pages, {linked} links, {blocks} blocks run: all as written")


def test_the_layers_in_the_page_on_architecture_are_those_that_the_linter_checks():
    listed = re.search(
        r"containers = discreet\nlayers =\n((?:    .*\n)+)", (ROOT / ".importlinter").read_text(encoding="utf-8")
    )
    assert listed is not None
    assert f"\n{listed[1]}\n" in (DOCS / "how-it-works.md").read_text(encoding="utf-8")


def test_every_module_that_a_proof_or_a_guide_names_is_there():
    """Decisions are left out: they tell of the modules of their time."""
    there = {
        path.name for folder in ("src", "tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")
    }
    pages = [page for page in PAGES if page.parent.name != "decisions" and page.name != "CHANGELOG.md"]
    named_there = [(named(page), name) for page in pages for name in MODULE.findall(page.read_text(encoding="utf-8"))]
    assert [(page, name) for page, name in named_there if name not in there | PLACEHOLDERS] == []


def test_what_is_planned_is_not_in_the_package():
    """Each entry of the list names its planned module, so that the list ends where the package begins."""
    planned = re.findall(r"^- .* \(planned: (\w+)\)$", (DOCS / "is-this-right-for-me.md").read_text(), re.MULTILINE)
    assert planned
    assert not [name for name in planned if name in dp.__all__]
