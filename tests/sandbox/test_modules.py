"""The owner's list: what is on it is imported, what is not is refused, and a function's own words import nothing."""

import pyarrow as pa
import pytest

from discreet import sandbox
from discreet.errors import ParameterError
from discreet.sandbox import Limits, Sandbox
from discreet.sandbox.modules import DEFAULT, allowed_modules, is_listed, named_by

LIMITS = Limits(seconds=20, constant_time=False, workers=1)
ROWS = [(0, pa.table({"value": [4.0, 5.0]}))]

IMPORTING = """
import sys
from discreet import sandbox
from discreet.errors import Refusal

def by_a_part(table):
    import leaving.notes
    return 1.0

def by_a_name_from_a_part(table):
    from leaving.notes import part
    return 1.0

def by_a_program(table):
    import leaving.__main__.part
    return 1.0

def by_a_package(table):
    import leaving
    return 1.0

class Named:
    __module__, __qualname__ = "leaving.notes", "part"

    def __call__(self, table):
        return 1.0

named = Named()
named.__qualname__ = "part"
text = "def answer(table):\\n    import leaving.notes\\n    return 1.0"
functions = (by_a_part, by_a_name_from_a_part, by_a_program, by_a_package, named, text, "import leaving\\n" + text)
for function in functions:
    try:
        sandbox.Sandbox(function, limits=sandbox.Limits(workers=1)).close()
        print("not refused", function)
    except Refusal:
        pass
print([name for name in sys.modules if "leaving" in name])
"""


def test_no_module_that_a_function_names_runs_outside_the_lock(printed, tmp_path):
    assert printed(IMPORTING) == "[]\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("left-by-")] == []
    allowing = IMPORTING.replace("workers=1)", 'workers=1), modules=("leaving.notes",)')
    assert "not refused" in printed(allowing)
    left = {path.name for path in tmp_path.iterdir() if path.name.startswith("left-by-")}
    assert left == {"left-by-leaving", "left-by-leaving.notes"}, (
        "what the owner allows is imported, and not its program"
    )


@pytest.mark.parametrize("form", ["callable", "text"])
def test_a_module_outside_the_owners_list_is_refused_with_the_list_that_allows_it(form):
    def wanting(table):
        import pandas as pd  # noqa: PLC0415 - it travels

        return len(pd.Series(table["value"].to_pylist()))

    text = "import pandas as pd\ndef wanting(table):\n    return len(pd.Series(table['value'].to_pylist()))"
    function = wanting if form == "callable" else text
    with pytest.raises(ParameterError, match="needs the module 'pandas'") as refusal:
        Sandbox(function, limits=LIMITS, modules=("csv",))
    assert 'dp.protect(..., modules=("csv", "pandas",))' in refusal.value.instead
    assert sandbox.outputs(ROWS, function, default=0, limits=LIMITS, modules=("csv", "pandas")) == [2]


def test_a_part_that_allowed_modules_do_not_load_is_refused_and_not_imported():
    text = "def answer(table):\n    import numpy.f2py\n    return 1"
    with pytest.raises(ParameterError, match=r"needs the module 'numpy\.f2py'") as refusal:
        Sandbox(text, limits=LIMITS)
    assert refusal.value.because == "the modules that the owner allows do not load it"


def test_the_list_is_the_default_and_what_the_owner_adds():
    assert allowed_modules(()) == DEFAULT
    assert allowed_modules(["scipy.stats", "math"]) == (*DEFAULT, "scipy.stats")
    assert allowed_modules("pandas") == (*DEFAULT, "pandas")


@pytest.mark.parametrize("given", [None, 3, ("",), ("a b",), ("venv.__main__",), ("..a",), (3,), ("a;b",)])
def test_what_names_no_module_is_refused(given):
    with pytest.raises(ParameterError, match="modules="):
        allowed_modules(given)


def test_parts_of_a_module_and_packages_around_it_are_on_the_list():
    listed = allowed_modules(("scipy.stats",))
    assert all(is_listed(name, listed) for name in ("scipy", "scipy.stats", "scipy.stats.norm", "numpy.linalg"))
    assert not any(is_listed(name, listed) for name in ("scipy.optimize", "scipystats", "os", "", ".", "numpyx"))


def test_every_way_to_import_is_seen():
    text = """
import a.b as c
from d.e import f, g
from h import *
from . import i
def answer(table):
    import j
    def inner():
        from k import l
    return table.to_pandas()
"""
    found = set(named_by(compile(text, "test", "exec")))
    assert found == {"a.b", "d.e", "d.e.f", "d.e.g", "h", ".", ".i", "j", "k", "k.l", "pandas"}
