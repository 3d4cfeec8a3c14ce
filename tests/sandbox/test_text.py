"""A function as text: read and run in the lock alone, and refused where it is not one function."""

import pyarrow as pa
import pytest

from discreet import sandbox
from discreet.errors import ParameterError, UnsupportedError
from discreet.sandbox import Limits, Sandbox
from discreet.sandbox.text import compile_text, define_function, name_of

LIMITS = Limits(seconds=20, constant_time=False, workers=1)
ROWS = [(0, pa.table({"value": [4.0, 5.0]})), (1, pa.table({"value": [7.0, 8.0]}))]


def test_a_function_as_text_gives_the_same_answer_as_the_function():
    text = """
        import statistics

        def answer(table):
            import numpy as np
            return statistics.fmean(np.asarray(table["value"]).tolist())
    """
    assert sandbox.outputs(ROWS, text, default=0, limits=LIMITS) == [4.5, 7.5]


def test_what_a_text_runs_while_it_is_defined_runs_in_the_lock_alone(tmp_path):
    """Default values and decorators run when a def is executed: here one writes a file, or tries to."""
    left = tmp_path / "left-behind"
    text = f"def answer(table, opened=open({str(left)!r}, 'w')):\n    return 1"
    with Sandbox(text, limits=LIMITS) as box:
        assert box.outputs(ROWS[:1], default=5) == [5]
    with pytest.raises(UnsupportedError, match="PermissionError"):
        sandbox.rehearse(text, ROWS[0][1], limits=LIMITS)
    assert not left.exists()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def answer(table)\n    return 1", "SyntaxError: expected ':'"),
        ("left = 1\ndef answer(table):\n    return left", "only imports and one def"),
        ("def answer(table):\n    return " + "-" * 100_000 + "1", "the text of a function"),
        ("def answer(table):\n    return '\0'", "the text of a function"),
        ("def answer(table):\n    return '\ud800'", "the text of a function"),
    ],
    ids=["syntax", "assignment", "too deep", "null", "surrogate"],
)
def test_a_text_that_is_not_one_function_is_refused(text, fault):
    with pytest.raises(ParameterError, match=fault):
        Sandbox(text, limits=LIMITS)


@pytest.mark.parametrize(
    "text", ["", "lambda table: 1", "async def f(t): pass", "def f(t): pass\ndef g(t): pass", " def f():"]
)
def test_a_text_without_exactly_one_def_is_refused_by_its_lines_alone(text):
    with pytest.raises(ParameterError, match="lines that begin with def"):
        name_of(text)


@pytest.mark.parametrize(
    "text", ["if True:\n    pass\ndef f(t): pass", 'x = """\ndef f(t): pass\n"""', "def f(t): pass\nf(1)"]
)
def test_other_statements_than_imports_and_the_def_are_errors(text):
    assert name_of(text) == "f"
    with pytest.raises(SyntaxError):
        compile_text("f", text)


def test_the_function_has_its_imports_and_nothing_else_around_it():
    function = define_function("f", "import math\ndef f(table):\n    return math.floor(table), sorted(globals())")
    assert function(2.5) == (2, ["__builtins__", "__name__", "f", "math"])
