"""A function as text: imports and one `def`, compiled and executed in a locked process and nowhere else.

The process of a session only looks for the name. Compiling takes memory and time that depend on the text, and executing
a `def` runs its decorators and default values, so both are left to a process that can do nothing else.
"""

import ast
import builtins
import re
from collections.abc import Callable
from types import CodeType
from typing import Any

from discreet.errors import ParameterError

_DEF = re.compile(r"^def[ \t]+([^\W\d]\w*)", re.MULTILINE)


def name_of(text: str) -> str:
    """The name of the one function that a text defines, found without reading the text as Python."""
    names = _DEF.findall(text)
    if len(names) != 1:
        raise ParameterError(
            f"a text with {len(names) or 'no'} lines that begin with def",
            because="a function as text is one def, after the imports that it needs",
            instead=r'"def answer(table):\n    return table.num_rows"',
        )
    return str(names[0])


def compile_text(name: str, text: str) -> CodeType:
    """Compile a text; SyntaxError where it has other statements than imports and the def of this name."""
    tree = ast.parse(text)
    others = [each for each in tree.body if not isinstance(each, ast.Import | ast.ImportFrom)]
    if [getattr(each, "name", "") for each in others if isinstance(each, ast.FunctionDef)] != [name] or len(others) > 1:
        raise SyntaxError("only imports and one def are allowed")
    return compile(tree, "sandboxed", "exec", dont_inherit=True)


def define_function(name: str, text: str) -> Callable[..., object]:
    """Execute a text, and return the function that it defines."""
    names: dict[str, Any] = {"__builtins__": builtins, "__name__": "sandboxed"}
    exec(compile_text(name, text), names)  # noqa: S102 - in a locked process
    function: Callable[..., object] = names[name]
    return function
