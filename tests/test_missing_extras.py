"""A part whose packages are not installed is refused with the extra that installs them."""

import subprocess
import sys

import pytest

from discreet.errors import missing_extra

HIDDEN = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("scipy", "dp_accounting", "sklearn"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
import importlib.util
spec = importlib.util.find_spec
hidden = ("scipy", "dp_accounting", "sklearn")
importlib.util.find_spec = lambda name, package=None: None if name in hidden else spec(name, package)
import discreet as dp
"""


def without_packages(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", HIDDEN + code], capture_output=True, text=True, check=False)
    return (
        done.stdout + done.stderr.strip().rpartition("\n  instead")[0].rpartition("discreet.errors.")[2] + done.stderr
    )


def test_the_refusal_says_what_because_and_instead():
    refusal = missing_extra("an audit", "scipy", "audit")
    assert refusal.what == "an audit"
    assert refusal.instead == 'pip install "discreet[audit]"'


@pytest.mark.parametrize("code", ["dp.auditing", "dp.attacks", "dp.accounting.pld"])
def test_audits_attacks_and_loss_distributions_name_their_extra(code):
    assert 'pip install "discreet[audit]"' in without_packages(code)


@pytest.mark.parametrize("module", ["estimator", "classifier", "regressor", "linear.standard_scaler"])
def test_estimators_name_their_extra(module):
    assert 'pip install "discreet[learning]"' in without_packages(f"import discreet.learning.{module}")


def test_what_looks_at_every_name_of_the_package_works_without_the_extra():
    """help, completion and mocks take every name; a refusal that is no AttributeError ended them."""
    code = """
import inspect, pydoc, rlcompleter
from unittest import mock
from discreet import *
from discreet.accounting import *
print(hasattr(dp, "auditing"), hasattr(dp, "attacks"), hasattr(dp.accounting, "pld"))
print(len(inspect.getmembers(dp)) > 20, "protect" in pydoc.render_doc(dp), "pure" in pydoc.render_doc(dp.accounting))
completed = rlcompleter.Completer({"dp": dp}).complete("dp.a", 0)
print("dp.accounting" in (completed or ""), mock.create_autospec(dp) is not None)
"""
    assert without_packages(code).splitlines()[:3] == ["False False False", "True True True", "True True"]


def test_other_accountants_and_the_help_of_the_command_line_need_no_extra():
    compared = "print(dp.accounting.compare(dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1), delta=1e-6))"
    printed = without_packages(compared)
    assert "renyi" in printed
    assert 'needs pip install "discreet[audit]"' in printed
    helped = "import sys\nfrom discreet.cli import app\nsys.argv = ['discreet', '--help']\napp()"
    assert "audit " in without_packages(helped)


def test_a_batch_with_a_delta_is_refused_before_anything_is_read_and_a_report_says_what_is_missing():
    code = """
facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "ledger": ":memory:", "fixed_schema": True}
budget = dp.Budget(epsilon=2, delta=1e-8, reserved_delta=1e-9)
session = dp.protect(dp.datasets.visits(100), **facts, budget=budget)
n = dp.table("visits").agg(n=dp.count())
session.release(n, epsilon=0.5)
report = session.ledger.report("visits", fixed_in_advance=True)
print("PLD is not shown" in str(report), session.ledger.spent("visits").delta)
session.release([n, dp.table("visits").agg(u=dp.count_units())], epsilon=0.5, delta=1e-10)
"""
    told = without_packages(code)
    assert told.startswith("True 0\n")
    assert 'pip install "discreet[audit]"' in told


def test_anonymity_with_its_linkage_and_composition_needs_no_extra():
    code = """
people = dp.datasets.people(50)
dp.anonymity.measure(people, ["zip_code", "sex"])
dp.anonymity.minimal_uniques(people, ["zip_code", "sex"])
print(dp.anonymity.link(people, people, ["zip_code", "sex"]).people, dp.anonymity.composition.example().risk.values)
"""
    assert without_packages(code).splitlines()[0] == "50 ('tuberculosis',)"
