"""Findings that the tests of all forms of the report share."""

import pyarrow as pa
import pytest

import discreet as dp

EVIL = "<script>alert('x')</script>\x1b[31m&"
"""A name and a value that would be markup in a page and a command in a terminal."""


@pytest.fixture(scope="session")
def report():
    people = dp.datasets.people(3_000)
    return dp.anonymity.risk_report(
        people, ["zip_code", "birth_date", "sex"], sensitive=["marital_status"], person="person_id"
    )


@pytest.fixture(scope="session")
def evil_report():
    table = pa.table({EVIL: ["a", EVIL, "b", None] * 4, "other": [EVIL, "y"] * 8, "secret": [EVIL] * 16})
    return dp.anonymity.risk_report(table, [EVIL, "other"], sensitive=["secret"])
