"""`help()` of every public name is complete, and every example in a docstring runs as it is printed.

Public are the names of `dp.__all__`, those of the public modules, and what sessions and tables return. Each has a
summary. Functions, constructors and methods describe every parameter and what they return. Functions, classes, and
methods of sessions, tables and expressions have an example. A function that raises says what. Docstrings of packages
call only names that are there.
"""

import ast
import doctest
import enum
import functools
import importlib
import inspect
import io
import re
import textwrap
import types
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet as dp
from discreet import ledger

SOURCE = Path(dp.__file__).parent

RETURNED = (
    "query.frame:Frame",
    "query.grouped:GroupedFrame",
    "query.grouped:Query",
    "query.expression:Expr",
    "query.conditional:Conditional",
    "session.above_threshold:SparseVector",
    "session.online_ranges:OnlineRanges",
    "release.remaining:Remaining",
    "release.explanation:BatchExplanation",
    "release.expected_error:ErrorsByEpsilon",
    "release.postprocessing.derived:DerivedValues",
    "release.postprocessing.simulation:Simulation",
    "release.postprocessing.pivot:Pivot",
    "release.postprocessing.clipping_bias:Clipping",
    "query.scores:Choice",
    "query.applications:Application",
    "query.models:ModelQuery",
    "query.synthesis:SynthesisQuery",
    "mechanisms.threshold.stream:Stream",
    "mechanisms.threshold.stream:Above",
    "mechanisms.threshold.stream:Below",
)
"""Classes that no public module names, and that calls of sessions and tables return."""

WITH_EXAMPLES = (
    "Session",
    "OpenSession",
    "Frame",
    "WorkloadQueries",
    "ModelQueries",
    "SynthesisQueries",
    "GroupedFrame",
    "Expr",
    "Conditional",
)
"""Classes whose methods have an example each."""

SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Example", "Examples")
HEADING = re.compile(rf"^({'|'.join(SECTIONS)}):$")
ENTRY = re.compile(r"^\*{0,2}(\w+)(?: \([^)]*\))?: \S")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PROMPT = ">>> "
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
FILES = sorted(SOURCE.rglob("*.py"))
PACKAGES = [path for path in FILES if path.name == "__init__.py" and path.parent != SOURCE]
METHOD_CALL = re.compile(r"\.(\w+)\(")
QUOTED_CALL = re.compile(r"`(?:\w+\.)*(\w+)\(")
FROM_ELSEWHERE = {"blocks", "get_label", "to_pylist", "Laplace"}
"""Calls in docstrings of packages that engines, mechanisms, Arrow and matplotlib answer."""
WITH_PROMPTS = [str(path.relative_to(SOURCE)) for path in FILES if PROMPT in path.read_text(encoding="utf-8")]

Function = types.FunctionType


def sections(docstring: str | None) -> dict[str, str]:
    """The parts of a docstring in Google style: the summary under "", and each section under its heading."""
    found, current = {"": ""}, ""
    for line in inspect.cleandoc(docstring or "").splitlines():
        if heading := HEADING.match(line):
            current = heading[1]
            found[current] = ""
        else:
            current = "" if line and not line.startswith(" ") else current
            found[current] += f"{line}\n"
    return {name: textwrap.dedent(text) for name, text in found.items()}


def entries(section: str) -> set[str]:
    """The names that a section describes."""
    return {entry[1] for line in section.splitlines() if (entry := ENTRY.match(line))}


def modules(module: types.ModuleType = dp) -> Iterator[types.ModuleType]:
    """A public module and those that it names."""
    yield module
    for name in getattr(module, "__all__", ()):
        if isinstance(value := getattr(module, name), types.ModuleType):
            yield from modules(value)


def public_objects() -> dict[str, object]:
    """Public functions and classes by where they are defined."""
    returned = [place.split(":") for place in RETURNED]
    values = [getattr(importlib.import_module(f"discreet.{module}"), name) for module, name in returned]
    for module in modules():
        here = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        names = getattr(module, "__all__", [name for name in here if not name.startswith("_")])
        values += [getattr(module, name) for name in names]
    kinds = (Function, type)
    return {f"{value.__module__}.{value.__qualname__}": value for value in values if isinstance(value, kinds)}


def methods(kind: type) -> dict[str, object]:
    """Public methods and properties of a class, with those that it has from other classes of ours."""
    found: dict[str, object] = {}
    for base in reversed([base for base in kind.__mro__ if base.__module__.startswith("discreet")]):
        for name, value in vars(base).items():
            if not name.startswith("_") and not (_is_returned(kind) and isinstance(value, classmethod)):
                found[name] = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    return {name: value for name, value in found.items() if isinstance(value, Function | property)}


@functools.cache
def _body(function: Function) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))


def _raises(function: Function) -> bool:
    return any(isinstance(node, ast.Raise) for node in ast.walk(_body(function)))


def _called(function: Function) -> Iterator[Function]:
    """Functions of ours that a function calls by their name."""
    known = inspect.unwrap(function).__globals__
    for node in ast.walk(_body(function)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            value = known.get(node.func.id)
            if isinstance(value, Function) and value.__module__.startswith("discreet"):
                yield value


def can_raise(function: Function) -> bool:
    """Whether a function raises an error, or calls one of ours that does."""
    return _raises(function) or any(_raises(called) for called in _called(function))


def missing_in(docstring: str | None, function: Function, *, has_example: bool) -> Iterator[str]:
    """What the docstring of a function lacks, and parameters that it describes and the function does not have."""
    found, signature = sections(docstring), inspect.signature(inspect.unwrap(function))
    names = [name for name in signature.parameters if name not in ("self", "cls") and not name.startswith("_")]
    described = entries(found.get("Args", ""))
    yield from [f"Args: {name}" for name in names if name not in described]
    yield from [f"parameter: {name}" for name in sorted(described - set(names))]
    if signature.return_annotation not in (None, typing.NoReturn) and not {"Returns", "Yields"} & set(found):
        yield "Returns"
    if can_raise(function) and "Raises" not in found:
        yield "Raises"
    if has_example and ">>>" not in found.get("Example", found.get("Examples", "")):
        yield "Example"


def missing_in_class(kind: type) -> Iterator[str]:
    """What the docstring of a class lacks; its constructor may have one of its own."""
    own = {name: value for name, value in vars(kind).items() if isinstance(value, Function)}
    found = sections(kind.__doc__)
    if getattr(kind, "_is_protocol", False) or issubclass(kind, enum.Enum):
        return
    if ">>>" not in found.get("Example", found.get("Examples", "")):
        yield "Example"
    init = sections(kind.__init__.__doc__)
    described = entries(found.get("Args", "") + found.get("Attributes", "") + init.get("Args", ""))
    for base in kind.__mro__[1:]:  # fields that a base class describes
        described |= entries(sections(vars(base).get("__doc__")).get("Attributes", ""))
    if not _is_returned(kind) and (not issubclass(kind, BaseException) or "__init__" in own):
        names = [name for name in inspect.signature(kind).parameters if not name.startswith("_")]
        yield from [f"Args: {name}" for name in names if name not in described]
        yield from [f"parameter: {name}" for name in sorted(entries(found.get("Args", "")) - set(names))]
    checks = [own[name] for name in ("__post_init__", "__init__") if name in own]
    written = [check for check in checks if inspect.unwrap(check).__code__.co_filename != "<string>"]
    if any(can_raise(check) for check in written) and not {"Raises"} & {*found, *init}:
        yield "Raises"


def _is_returned(kind: type) -> bool:
    """Whether only calls of ours construct it."""
    return f"{kind.__module__.removeprefix('discreet.')}:{kind.__name__}" in RETURNED


def incomplete() -> dict[str, list[str]]:
    """Public names, and what their docstrings lack."""
    found: dict[str, list[str]] = {}
    for name, value in public_objects().items():
        if isinstance(value, Function):
            found[name] = [*_summary(value), *missing_in(value.__doc__, value, has_example=True)]
            continue
        assert isinstance(value, type)
        found[name] = [*_summary(value), *missing_in_class(value)]
        for method, each in methods(value).items():
            where = f"{each.__module__}.{each.__qualname__}" if isinstance(each, Function) else f"{name}.{method}"
            found[where] = [*_summary(getattr(value, method))]
            if isinstance(each, Function):
                has_example = each.__qualname__.split(".")[0] in WITH_EXAMPLES
                found[where] += missing_in(inspect.getdoc(getattr(value, method)), each, has_example=has_example)
    return {name: lacks for name, lacks in found.items() if lacks}


def calls_that_are_gone(docstring: str, package: Path) -> set[str]:
    """Calls, in the example or in backticks, that neither the package defines nor `dp` has."""
    code = "\n".join(line.partition("#")[0] for line in docstring.splitlines() if line.startswith("    "))
    called = {*METHOD_CALL.findall(code), *QUOTED_CALL.findall(docstring)}
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in package.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return called - {node.name for node in nodes} - {*dp.__all__} - FROM_ELSEWHERE


@pytest.mark.parametrize("package", [str(path.parent.relative_to(SOURCE)) for path in PACKAGES])
def test_the_docstring_of_a_package_calls_only_names_that_are_there(package):
    docstring = ast.get_docstring(ast.parse((SOURCE / package / "__init__.py").read_text(encoding="utf-8")))
    assert calls_that_are_gone(docstring or "", SOURCE / package) == set()


def test_a_call_that_is_gone_is_found_in_an_example_and_in_backticks():
    docstring = "Keys.\n\n    rule.kept(18)  # rule.keeps(18)\n    rule.release([1])\n\n`needed(0.95)` is public."
    assert calls_that_are_gone(docstring, SOURCE / "mechanisms" / "keys") == {"kept", "needed"}


def _summary(value: object) -> list[str]:
    return [] if sections(inspect.getdoc(value))[""].strip() else ["summary"]


def test_what_a_docstring_lacks_is_named():
    def double(number: int) -> int:
        if number < 0:
            raise ValueError
        return 2 * number

    complete = """Twice a number.

    Args:
        number: The number.

    Returns:
        The double.

    Raises:
        ValueError: If it is negative.

    Example:
        >>> double(2)
        4
    """
    assert list(missing_in(complete, double, has_example=True)) == []
    assert list(missing_in("Twice.", double, has_example=True)) == ["Args: number", "Returns", "Raises", "Example"]
    assert list(missing_in(complete.replace("number:", "count:"), double, has_example=True)) == [
        "Args: number",
        "parameter: count",
    ]


def test_help_of_every_public_name_is_complete():
    found = incomplete()
    lines = [f"{name}: {', '.join(lacks)}" for name, lacks in sorted(found.items())]
    assert lines == [], "\n".join(lines)


CONSTRUCTED_BY_OURS = ("Ledger", "Signer")
"""Classes of `discreet.ledger` of which only calls of ours make an object."""


def test_every_class_that_the_ledger_exports_describes_what_it_has():
    exported = {name: getattr(ledger, name) for name in ledger.__all__}
    kinds = {name: kind for name, kind in exported.items() if isinstance(kind, type)}
    found = {name: [lack for lack in missing_in_class(kind) if lack != "Example"] for name, kind in kinds.items()}
    assert {name: lacks for name, lacks in found.items() if lacks and name not in CONSTRUCTED_BY_OURS} == {}


def examples(module: str) -> list[doctest.DocTest]:
    """The examples in the docstrings of a module. One that imports discreet is complete, others use the module."""
    parser, path = doctest.DocTestParser(), SOURCE / module
    nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, DOCUMENTED)]
    texts = [(getattr(node, "name", "module"), ast.get_docstring(node) or "") for node in nodes]
    name = ".".join(["discreet", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")
    known = vars(importlib.import_module(name))
    return [
        parser.get_doctest(text, {} if "import discreet" in text else known, title, module, 0)
        for title, text in texts
        if PROMPT in text
    ]


@pytest.mark.parametrize("module", WITH_PROMPTS)
def test_examples_of_docstrings_run_as_they_are_printed(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report = io.StringIO()
    failed = [runner.run(example, out=report.write).failed for example in examples(module)]
    assert failed, "an example is outside of a docstring"
    assert sum(failed) == 0, report.getvalue()
