"""The guide on anonymity: figures of the census that its prose states, where the census is there."""

import re
from pathlib import Path

import pytest

import discreet as dp
from anonymity.census import census, tens

ROOT = Path(__file__).parent.parent.parent
ADULT = ROOT.parent / "shared" / "data" / "adult.csv"
PAGE = (ROOT / "docs" / "anonymity.md").read_text(encoding="utf-8")

needs_census = pytest.mark.skipif(not ADULT.is_file(), reason="the census is not on this machine")


@pytest.fixture(scope="module")
def table():
    return census(ADULT)


@needs_census
def test_the_birth_date_singles_out_as_many_as_the_page_says(table):
    alone = dp.anonymity.measure(table, ["birth_date"])
    assert f"{alone.unique_people:,} of {alone.people:,} are alone" in PAGE
    assert f"alone singles out {float(alone.uniqueness):.0%} of them" in " ".join(PAGE.split())
    both = dp.anonymity.measure(table, ["birth_date", "zip"])
    assert both.uniqueness > 0.99
    assert f"single out {float(both.uniqueness):.2%}" in PAGE


@needs_census
@pytest.mark.parametrize(
    ("rows", "top", "line"),
    [
        (500, 60, "| the first 500 | clipped at 60 | {k} |"),
        (1_000, None, "| the first 1,000 | as they are | {k} |"),
        (None, None, "| all 32,561 | as they are | {k} |"),
    ],
)
def test_k_of_ages_and_education_in_tens_is_that_of_the_page(table, rows, top, line):
    k = dp.anonymity.measure(tens(table, rows=rows, top=top), ["Age", "Education-Num"]).k
    assert line.format(k=k) in PAGE


@needs_census
def test_the_income_that_is_known_with_k_21_is_that_of_the_page(table):
    coarse = tens(table).append_column("Target", table["Target"])
    report = dp.anonymity.risk_report(coarse, ["Age", "Education-Num"], sensitive=["Target"])
    (found,) = report.findings.sensitive
    assert report.findings.counts.k == 21
    assert f"the income class of {found.people} people is known" in PAGE


def test_every_public_name_of_the_family_is_on_the_page_of_the_reference():
    listed = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")))
    functions = {name for name in dp.anonymity.__all__ if name[0].islower()}
    assert functions <= listed
