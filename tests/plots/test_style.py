"""Plots need matplotlib only when they are drawn, and write numbers as people do."""

import subprocess
import sys

import pytest

from discreet import plots
from discreet.errors import UnsupportedError
from discreet.plots import style


@pytest.mark.parametrize(("number", "text"), [(0, "0"), (1234.5, "1,234"), (0.25, "0.25"), (0.00012345, "0.0001234")])
def test_numbers_have_no_powers_of_ten(number, text):
    assert plots.plain(number) == text


def test_without_matplotlib_a_plot_is_refused_with_the_command_that_installs_it(monkeypatch):
    style.figure_class.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UnsupportedError, match=r'pip install "discreet\[plots\]"'), plots.canvas(4, 3, None):
        pass


def test_importing_the_module_does_not_import_matplotlib():
    script = "import sys, discreet.plots; raise SystemExit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
