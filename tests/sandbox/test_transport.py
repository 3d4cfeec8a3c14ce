"""A function travels with what it uses: what is installed by name, one's own by value, and nothing that holds rows."""

import math
import signal
import statistics
from collections import Counter
from fractions import Fraction
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from numpy import sqrt
from scipy.optimize import minimize

from discreet.errors import ParameterError
from discreet.sandbox.transport import pack, unpack

SHIFT = 3
TABLE = {"weights": [1.0, 2.5], "names": ("a", "b"), "set": {1, 2}, "none": None}
ROWS = pa.table({"a": [1, 2, 3]})
THRESHOLD = np.float64(2.5)


class Mine:
    """A class of one's own, which does not travel."""

    def answer(self, table: object) -> int:
        return len(str(table))


def shifted(value: float) -> float:
    return value + SHIFT


def countdown(number: int) -> int:
    return 0 if number == 0 else countdown(number - 1)


def even(number: int) -> bool:
    return number == 0 or odd(number - 1)


def odd(number: int) -> bool:
    return number != 0 and even(number - 1)


def arrived(function, *arguments):
    """What a function says on the other side."""
    return unpack(pack(function).content)(*arguments)


def test_code_constants_and_other_functions_travel_by_value():
    assert arrived(lambda x: shifted(x) * 2, 4) == 14
    assert arrived(lambda key: TABLE[key], "weights") == [1.0, 2.5]
    assert arrived(lambda: TABLE) == TABLE


def test_recursion_and_mutual_recursion_arrive():
    assert arrived(countdown, 20) == 0
    assert arrived(even, 10) is True


def test_closures_defaults_and_inner_functions_arrive():
    factor = 7

    def made(table, *, more=2, other=(1, 2)):
        def inner(x):
            return x * factor + more

        return inner(table) + other[1]

    assert arrived(made, 3) == 25


def test_installed_things_travel_by_name_and_their_modules_are_told():
    packed = pack(
        lambda t: float(pc.mean(t["a"]).as_py()) + math.pi + sqrt(4.0) + statistics.median([1, Counter("a")["a"]])
    )
    assert {"pyarrow.compute", "math", "numpy", "statistics", "collections"} <= set(packed.needed)
    assert unpack(packed.content)(pa.table({"a": [1, 2]})) == pytest.approx(1.5 + math.pi + 3)


def test_modules_that_are_imported_late_or_reached_through_others_are_found():
    def late(table):
        import json.decoder  # noqa: PLC0415 - this is the point
        from xml.dom import minidom  # noqa: PLC0415

        return table.to_pandas(), np.linalg.norm([1]), json, minidom

    names = pack(late, ("xml.dom", "pandas")).needed
    assert {"json.decoder", "xml.dom", "xml.dom.minidom", "pandas", "numpy.linalg"} <= set(names)


@pytest.mark.parametrize(
    ("function", "module"),
    [
        (lambda: signal.SIGTERM, "signal"),
        (lambda: Path("/"), "pathlib"),
        (lambda: minimize(abs, 0), "scipy.optimize"),
        (lambda table: table.to_pandas(), "pandas"),
    ],
)
def test_what_needs_a_module_outside_the_list_is_refused_whichever_way_it_has_it(function, module):
    with pytest.raises(ParameterError, match="a function that needs the module") as refusal:
        pack(function)
    assert f'modules=("{module}",)' in refusal.value.instead
    assert pack(function, (module,)).listed[-1] == module


def test_a_name_of_an_extension_is_found_in_the_module_that_is_allowed():
    assert arrived(lambda: reduce(add, [1, 2, 3])) == 6


def test_text_travels_as_text_and_its_digest_is_that_of_the_text():
    text = "def answer(table):\n    return len(table)"
    assert unpack(pack(text).content)([1, 2]) == 2
    assert pack(text).name == "answer"
    assert pack(text).digest == pack("    " + text.replace("\n", "\n    ")).digest != pack(text + " ").digest


def test_a_builtin_function_is_a_function():
    assert arrived(len, [1, 2]) == 2


def test_numbers_of_numpy_travel_as_numbers_and_arrays_do_not():
    assert arrived(lambda: THRESHOLD) == 2.5
    numbers = np.arange(3)
    with pytest.raises(ParameterError, match="'numbers', which <lambda> closes over, of type ndarray"):
        pack(lambda: numbers)


@pytest.mark.parametrize(
    "function",
    [
        lambda: ROWS,
        lambda: Mine(),  # noqa: PLW0108 - the class is what must not travel
        Mine().answer,
        Mine,
        3,
        None,
        "module:function",
        lambda x=Fraction(1, 3): x,
        lambda x=ROWS: x,
    ],
)
def test_what_may_hold_rows_or_cannot_be_found_again_is_refused(function):
    with pytest.raises(ParameterError):
        pack(function)


def test_a_module_of_ones_own_is_refused_and_the_way_out_is_told():
    import opened  # noqa: PLC0415 - a module of the tests, which is not installed

    with pytest.raises(
        ParameterError, match="'opened', which <lambda> closes over, a module that is not installed"
    ) as refusal:
        pack(lambda: opened.KEY)
    assert "from opened import" in refusal.value.instead


def test_constants_that_contain_themselves_or_are_too_large_are_refused():
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ParameterError, match="nested"):
        pack(lambda: endless)
    large = b"x" * (17 * 2**20)
    with pytest.raises(ParameterError, match="16 MB"):
        pack(lambda: large)


def test_one_function_has_one_digest_in_every_process_and_wherever_it_stands(script):
    code = "from discreet.sandbox.transport import pack\nWORDS = {{'a', 'b', 'c', 'd'}}\n"
    code += "{}def answer(table):\n    inner = lambda x: x in {{'p', 'q', 'r'}}\n    return WORDS, inner(table), {}\n"
    code += "print(pack(answer).digest)\n"
    one = script(code.format("", 1), PYTHONHASHSEED="1").stdout
    assert one == script(code.format("\n\n\n", 1), PYTHONHASHSEED="2").stdout
    assert len(one.strip()) == 64
    assert one != script(code.format("", 2), PYTHONHASHSEED="1").stdout


def test_a_name_without_a_value_yet_is_refused():
    def early():
        return later

    with pytest.raises(ParameterError, match="without a value"):
        pack(early)
    later = 1
    assert arrived(early) == later
