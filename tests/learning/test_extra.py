"""Without scikit-learn the rest of discreet works, and estimators say what to install."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")

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


def test_the_page_names_the_extras_of_the_packages_that_its_sections_import():
    sections = {text.partition("\n")[0].strip("# "): text for text in re.split(r"^(?=#)", PAGE, flags=re.MULTILINE)}
    for heading, part, extra in (
        ("Learning", "", "learning"),
        ("Shape plots", "dp.learning.shape_plot(", "plots"),
        ("Scores and searches of scikit-learn", ".to_pandas()", "pandas"),
        ("Networks", "dp.learning.TorchClassifier(", "torch"),
    ):
        assert part in sections[heading]
        assert f'pip install "discreet[{extra}]"' in sections[heading]
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {extra for words in re.findall(r"discreet\[([a-z,]+)\]", PAGE) for extra in words.split(",")}
    assert named <= set(known)


def test_a_part_that_is_not_installed_is_not_there():
    assert run("import discreet as dp; print(hasattr(dp.learning, 'testing'))") == (0, "False\n")
