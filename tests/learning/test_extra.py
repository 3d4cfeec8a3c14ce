"""Without scikit-learn the rest of discreet works, and estimators say what to install."""

import subprocess
import sys

HIDE = """
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "sklearn" else real(name, *rest)
"""


def run(code):
    found = subprocess.run([sys.executable, "-c", HIDE + code], capture_output=True, text=True, check=False)
    return found.returncode, found.stdout + found.stderr


def test_discreet_and_its_features_work_without_scikit_learn():
    code, text = run("import discreet as dp, sys; print(dp.learning.linear_bins(0, 1).slots, 'sklearn' in sys.modules)")
    assert (code, text) == (0, "33 False\n")


def test_an_estimator_names_the_extra_that_it_needs():
    code, text = run("import discreet as dp; dp.learning.testing")
    assert code
    assert 'pip install "discreet[learning]"' in text


def test_a_part_that_is_not_installed_is_not_there():
    assert run("import discreet as dp; print(hasattr(dp.learning, 'testing'))") == (0, "False\n")
