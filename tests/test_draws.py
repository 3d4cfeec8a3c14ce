"""The recorder misses no source of random bits, and no mechanism, plan or verb is without a test that records it."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import discreet as dp
from discreet import mechanisms, planner, workloads

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / "discreet"
REPLACED = {"samplers.categorical", "samplers.continuous", "samplers.repetitions"}
DRAWING = ("release", "open", "ask", "randomize", "find")
FREE = {"explain"}
BY_MODULE = {"discrete", "categorical", "continuous", "repetitions"}
RECORDED_BITS = {"samplers.source", "samplers.categorical", "samplers.continuous", "samplers.repetitions"}
RECORDED_BITS |= {"mechanisms.keys.optimal"}


def marked():
    found = set()
    for test in TESTS.rglob("test_*.py"):
        for names in re.findall(r"mark\.draws\(([^)]*)\)", test.read_text(encoding="utf-8")):
            found |= set(re.findall(r'"([^"]+)"', names))
    return found


def classes(package):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if kind.__module__ == module.name and not getattr(kind, "_is_protocol", False):
                yield kind


def drawing():
    """Classes that something is drawn by: those with a price and a way to draw, that are no base of others."""
    for package in (mechanisms, planner, workloads):
        for kind in classes(package):
            prices_and_draws = hasattr(kind, "event") and "mechanism" in getattr(kind, "__annotations__", {})
            is_base = inspect.isabstract(kind) or any(each.__module__.startswith("discreet.") for each in subs(kind))
            if (any(hasattr(kind, name) for name in DRAWING) or prices_and_draws) and not is_base:
                yield f"{kind.__module__}.{kind.__name__}".removeprefix("discreet.")


def subs(kind):
    return kind.__subclasses__()


def imported(path):
    """The modules of discreet that a module imports, and the names that it takes from them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet"):
            for alias in node.names:
                yield (node.module or "").removeprefix("discreet").removeprefix("."), alias.name


def modules():
    return {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}


@pytest.mark.pitfall("B23")
def test_every_mechanism_and_every_plan_has_a_test_that_records_its_draws():
    needed = set(drawing())
    assert {
        "mechanisms.laplace.Laplace",
        "planner.queries.hierarchy.HierarchyPlan",
        "workloads.stream.Online",
    } <= needed
    assert needed - marked() == set()


@pytest.mark.pitfall("B23")
def test_every_verb_of_a_session_that_is_charged_has_a_test_that_records_its_draws():
    priced = {
        name
        for name, method in inspect.getmembers(dp.Session, inspect.isfunction)
        if not name.startswith("_") and "epsilon" in inspect.signature(method).parameters
    }
    assert {f"session.{name}" for name in priced - FREE} == {name for name in marked() if name.startswith("session.")}


@pytest.mark.pitfall("B23")
def test_what_is_marked_exists():
    names = {name for name in marked() if not name.startswith("session.")}
    known = {f"{kind.__module__}.{kind.__name__}" for p in (mechanisms, planner, workloads) for kind in classes(p)}
    assert {f"discreet.{name}" for name in names} <= known


@pytest.mark.pitfall("B23")
def test_random_bits_reach_a_release_only_by_what_the_recorder_replaces():
    """Samplers are called as attributes of their modules, where they are replaced; bits are read in five modules."""
    bits, samplers, sources = set(), set(), set()
    for name, path in modules().items():
        for module, what in imported(path):
            bits |= {name} if (module, what) == ("samplers.entropy", "random_bytes") else set()
            # the samplers of `discrete` are replaced below what it exports, so they may be imported by name
            samplers |= {name} if module in REPLACED and what[0].islower() else set()
            sources |= {name} if module == "samplers.source" else set()
    assert bits == RECORDED_BITS
    assert sources == {"samplers.brackets", "samplers.discrete"}
    assert samplers == set()


@pytest.mark.pitfall("B23")
def test_only_mechanisms_draw():
    drawing_modules = {
        name
        for name, path in modules().items()
        for module, what in imported(path)
        if (module == "samplers" and what in BY_MODULE) or (module, what[:9]) == ("samplers.discrete", "discrete_")
    }
    others = {name for name in drawing_modules if not name.startswith(("mechanisms.", "samplers."))}
    assert others == set()
