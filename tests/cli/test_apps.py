"""The app of one command: no traceback with local variables, and nothing loaded that its command does not need."""

import subprocess
import sys

from discreet.cli.apps import command_app


def test_a_traceback_shows_no_local_variables():
    assert not command_app("plan").pretty_exceptions_enable


def test_a_shell_that_starts_does_not_wait_for_arrow():
    code = "import sys, discreet.cli.completion; print('pyarrow' in sys.modules, 'discreet.session' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]
