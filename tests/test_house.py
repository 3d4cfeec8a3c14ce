"""The house itself: every module is in its layer, small, documented, tested and proved."""

import ast
import functools
import re
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "discreet"
MODULES = sorted(path for path in SOURCE.rglob("*.py"))
HEADINGS = ("Definition", "Guarantee", "Exactness", "Not covered", "References")


def _name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(_tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of code of the body, without its docstring and its signature."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def _with_guarantee() -> list[Path]:
    found = []
    for path in MODULES:
        docstring = ast.get_docstring(_tree(path)) or ""
        if re.search(r"^Guarantee\b", docstring, re.MULTILINE):
            found.append(path)
    return found


def test_every_module_has_a_docstring_and_stays_under_500_lines():
    assert [_name(path) for path in MODULES if not ast.get_docstring(_tree(path))] == []
    assert [_name(path) for path in MODULES if len(path.read_text(encoding="utf-8").splitlines()) >= 500] == []


def test_every_public_function_and_class_has_a_docstring():
    bare = [
        f"{_name(path)}.{node.name}"
        for path in MODULES
        for node in _tree(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        if not ast.get_docstring(node)
    ]
    assert bare == []


def test_functions_are_small():
    lengths = {f"{_name(path)}.{f.name}": _length(f) for path in MODULES for f in _functions(path)}
    assert statistics.median(lengths.values()) < 10
    assert {name: size for name, size in lengths.items() if size > 40} == {}


def test_every_module_has_its_tests_at_the_mirrored_place():
    missing = []
    for path in MODULES:
        relative = path.relative_to(SOURCE)
        if relative.name in ("__init__.py", "__main__.py", "version.py"):
            continue
        mirror = ROOT / "tests" / relative.parent / f"test_{relative.name}"
        if not mirror.exists():
            missing.append(str(relative))
    assert missing == []


def test_every_module_with_a_guarantee_has_all_headings_a_proof_page_and_a_marked_test():
    marked = set()
    for test in (ROOT / "tests").rglob("test_*.py"):
        marked |= set(re.findall(r'mark\.guarantee\("([^"]+)"\)', test.read_text(encoding="utf-8")))
    modules = _with_guarantee()
    assert modules
    for path in modules:
        docstring = ast.get_docstring(_tree(path)) or ""
        assert [h for h in HEADINGS if not re.search(rf"^{h}\b", docstring, re.MULTILINE)] == [], path
        assert (ROOT / "docs" / "proofs" / path.relative_to(SOURCE).with_suffix(".md")).exists(), path
        assert _name(path) in marked, path


def test_nothing_imports_a_module_that_only_one_platform_has():
    forbidden = {"fcntl", "pwd", "grp", "resource", "termios", "msvcrt", "winreg"}
    for path in MODULES:
        for node in ast.walk(_tree(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert forbidden.isdisjoint(name.split(".")[0] for name in names), path


def test_no_source_of_noise_takes_a_seed():
    for path in MODULES:
        if _name(path) in ("testing", "datasets") or _name(path).startswith("datasets."):
            continue
        for function in _functions(path):
            names = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
            assert "seed" not in names, path


def test_the_layers_hold():
    result = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


PARTICIPLES = re.compile(
    "told|made|said|kept|found|drawn|given|known|shown|written|taken|held|spent|built|seen|sent|done|chosen|frozen"
    "|broken|begun|laid|paid|met|lost|hidden|grown|sought|caught"
)
NO_PARTICIPLES = {"need", "seed", "speed", "feed", "embed", "bed", "red", "exceed", "hundred"}
# What HOUSE.md measured when the move began, the goal, and the most that is allowed today: it only goes down.
FIGURES = {
    "entries at the top level": (59, 30, 30),
    "definitions whose last word is a participle, %": (17.3, 4.0, 1.0),
    "class names defined at least twice": (44, 5, 5),
}


def _last_word(name: str) -> str:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return words[-1].lower() if words else ""


def _is_participle(name: str) -> bool:
    word = _last_word(name)
    if name.lstrip("_").startswith(("is_", "has_", "was_")) or word in NO_PARTICIPLES:
        return False
    return word.endswith("ed") or PARTICIPLES.fullmatch(word) is not None


def test_the_figures_of_the_house_do_not_rise():
    """`pytest -s` prints them beside those of the start and the goal."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [node for path in MODULES for node in ast.walk(_tree(path))]
    defined = [node for node in nodes if isinstance(node, kinds) and not node.name.startswith("__")]
    classes = Counter(node.name for node in defined if isinstance(node, ast.ClassDef))
    entries = [path for path in SOURCE.iterdir() if path.name not in ("__pycache__", "py.typed")]
    found = (
        len(entries),
        100 * sum(_is_participle(node.name) for node in defined) / len(defined),
        sum(times > 1 for times in classes.values()),
    )
    for (name, (start, goal, most)), figure in zip(FIGURES.items(), found, strict=True):
        print(f"{name}: {figure:.3g} (at the start {start}, goal {goal})")
        assert figure <= most, name
