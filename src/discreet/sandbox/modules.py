"""The modules that a function may use: an allow-list that the owner states, and that no function can extend.

Importing a module runs its code, and it has to happen before a process is locked: afterwards no file can be opened. So
a template imports every module of the list, and no other, for any function. A function that names a module
outside the list is refused before anything is charged.

The default list holds modules of Python that only compute, and the two libraries that discreet itself depends on.
Importing one of them reads its own files and does nothing else. An owner adds others, by name, for all functions of a
session: `dp.protect(..., modules=("pandas", "scipy.stats"))`.
"""

import dis
from collections.abc import Iterator
from types import CodeType

from discreet.errors import ParameterError

DEFAULT = (
    "__future__", "bisect", "builtins", "cmath", "collections", "collections.abc", "copy", "dataclasses", "datetime",
    "decimal", "enum", "fractions", "functools", "heapq", "itertools", "json", "math", "numbers", "operator", "random",
    "re", "statistics", "string", "time", "typing",
    "numpy", "numpy.fft", "numpy.linalg", "numpy.polynomial", "numpy.random",
    "pyarrow", "pyarrow.acero", "pyarrow.compute",
)  # fmt: skip
"""The modules of every function; numpy loads some of its parts late, so they are named."""


def allowed_modules(given: object) -> tuple[str, ...]:
    """The default modules and those of the owner; anything but names of modules is refused."""
    named = tuple(given) if isinstance(given, tuple | list) else (given,)
    if not all(isinstance(name, str) and _is_module(name) for name in named):
        raise ParameterError(
            f"modules={given!r}",
            because="it lists names of modules; a program (__main__) is not a module",
            instead='modules=("pandas", "scipy.stats")',
        )
    return tuple(dict.fromkeys((*DEFAULT, *named)))


def is_listed(name: str, listed: tuple[str, ...]) -> bool:
    """Whether a name is on the list, below a name of the list (a part of it), or a package around one."""
    return any(name == each or name.startswith(f"{each}.") or each.startswith(f"{name}.") for each in listed)


def unlisted_module_error(
    name: str, listed: tuple[str, ...], because: str = "it is not one that the owner allows"
) -> ParameterError:
    """The error for a function that needs a module, with the list that would allow it."""
    others = [each for each in listed if each not in DEFAULT]
    quoted = ", ".join(f'"{each}"' for each in (*others, name))
    wanted = f"modules=({quoted},)"
    return ParameterError(
        f"a function that needs the module {name!r}",
        because=because,
        instead=f"dp.protect(..., {wanted}), by the owner; to try it: dp.sandbox.rehearse(function, table, {wanted})"
        if _is_module(name)
        else "a function without it",
    )


def _is_module(name: str) -> bool:
    parts = name.split(".")
    return all(map(str.isidentifier, parts)) and "__main__" not in parts


def named_by(code: CodeType) -> Iterator[str]:
    """The modules that code imports, and the names that it takes from them, which may be modules too."""
    for each in codes(code):
        before: object = None
        for step in dis.get_instructions(each):
            if step.opname == "IMPORT_NAME":
                taken = before if isinstance(before, tuple) else ()
                yield from (step.argval or ".", *(f"{step.argval}.{name}" for name in taken if name != "*"))
            if step.opname != "EXTENDED_ARG":
                before = step.argval
        if "to_pandas" in each.co_names:
            yield "pandas"


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)
