"""The figures of two guides are those of the library, and the list of applications is that of the folder."""

import math
import re
from pathlib import Path

import pytest

import discreet as dp
from examples import facility

ROOT = Path(__file__).parents[2]
SELECTION, SPARSE_VECTOR = "private-selection.md", "sparse-vector.md"


def read(page):
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def cells(page, section, label):
    """The cells of the row of a section's table that begins with a label."""
    table = read(page).partition(f"## {section}\n")[2]
    row = re.search(rf"^\| {re.escape(label)} \|(.+)\|$", table, re.MULTILINE)
    assert row
    return [int(cell.replace(",", "")) for cell in row[1].split("|")]


@pytest.mark.parametrize("candidates", [10, 1_000, 1_000_000])
def test_what_epsilon_buys_is_what_the_page_says(candidates):
    bought = [
        math.ceil(dp.mechanisms.PermuteAndFlip(sensitivity=1, epsilon=e, monotone=True).utility(candidates, 0.05))
        for e in (0.1, 0.5, 1, 2)
    ]
    assert cells(SELECTION, "Accuracy", f"{candidates:,}") == bought


@pytest.mark.parametrize("questions", [10, 100, 1_000, 100_000])
def test_above_threshold_compares_to_releasing_everything_as_the_page_says(questions):
    rho = dp.Budget(epsilon=1, delta=1e-9).rho(1)
    gaussian = dp.mechanisms.Gaussian(squared_sensitivity=questions, rho=rho, dimension=questions)
    one, ten = (
        dp.mechanisms.AboveThreshold(threshold=0, epsilon=1, monotone=True, answers=answers) for answers in (1, 10)
    )
    assert cells(SPARSE_VECTOR, "Or release all answers?", f"{questions:,}") == [
        dp.mechanisms.Laplace(sensitivity=questions, epsilon=1).simultaneous_margin(questions),
        gaussian.simultaneous_margin(questions),
        one.accuracy(questions),
        ten.accuracy(questions),
    ]


def test_the_walks_of_the_table_are_those_of_the_bound():
    for people, steps in ((10_000, "0.77"), (1_000_000, "0.08")):
        town = facility.Town(10, facility.best_epsilon(people, 10))
        assert f"{town.loss_bound(people) / people:.2f}" == steps


def test_every_application_is_listed_on_the_page_and_in_the_package_and_is_small():
    modules = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "__init__.py")
    names = [path.stem for path in modules]
    assert sorted(re.findall(r"^\| \[(\w+)\]\(\.\./examples/", read(SELECTION), re.MULTILINE)) == names
    assert all(f"    {name} " in (ROOT / "examples" / "__init__.py").read_text(encoding="utf-8") for name in names)
    assert all(len(path.read_text(encoding="utf-8").splitlines()) < 150 for path in modules)
    assert all("Theorem." in path.read_text(encoding="utf-8") or "Privacy." in path.read_text() for path in modules)
