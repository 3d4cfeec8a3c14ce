"""The public names: few, sorted, complete, and quick to import."""

import json
import statistics
import subprocess
import sys
import time

import pytest

import discreet as dp
from grids import over

HEAVY = ("pandas", "polars", "pyspark", "matplotlib", "torch", "scipy", "dp_accounting")


def test_the_public_names_are_sorted_and_complete():
    assert sorted(dp.__all__) == dir(dp)
    upper = [name for name in dp.__all__ if name.isupper()]
    classes = [name for name in dp.__all__ if name[0].isupper() and not name.isupper()]
    others = [name for name in dp.__all__ if not name[0].isupper()]
    assert dp.__all__ == [*sorted(upper), *sorted(classes), *sorted(others)]
    assert set(dp.__all__) == {*dp._HOMES, *dp._MODULES, "__version__"}


@over("name", dp.__all__)
def test_every_public_name_loads_and_is_documented(name):
    value = getattr(dp, name)
    assert value is getattr(dp, name)
    assert name == "__version__" or value.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Laplace'"):
        _ = dp.Laplace


def test_what_the_readme_types_is_public():
    for name in (
        "protect",
        "table",
        "count",
        "mean",
        "sum",
        "count_units",
        "count_distinct",
        "Budget",
        "ROW",
        "Session",
    ):
        assert name in dp.__all__


def loaded_after(code):
    report = f"{code}\nimport json, sys\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    run = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def test_importing_discreet_loads_nothing_heavy():
    assert loaded_after("import discreet") == []


@pytest.mark.nightly
@pytest.mark.timing
def test_importing_discreet_is_quick():
    """The median of three, in processes of their own; the bar is a second."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        assert loaded_after("import discreet") == []
        times.append(time.perf_counter() - start)
    assert statistics.median(times) < 1


@pytest.mark.parametrize(
    "code",
    [
        "import discreet as dp; dp.protect",
        "import discreet as dp; dp.testing, dp.mechanisms, dp.datasets, dp.errors, dp.events, dp.plots",
    ],
    ids=["protect", "modules"],
)
def test_loading_the_public_names_loads_no_optional_package(code):
    assert loaded_after(code) == []
