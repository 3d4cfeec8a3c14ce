"""A function as it travels into a fresh Python: what is installed goes by name, what you wrote goes by value.

Code travels as `marshal` writes it, for the same Python on the other side; with it go its defaults, what it closes
over, and the global names that it uses. These may be constants, other functions of the same kind, and what a module on
the owner's list has under a name. Anything else is refused before data is read: an object of yours may hold rows, and
the other side could not tell where it came from. A function may also be text (`discreet.sandbox.text`).

Nothing is imported here, and nothing on the other side because a function names it: the modules that the code needs are
found in the code and compared with the owner's list (`discreet.sandbox.modules`).
"""

import builtins
import dis
import hashlib
import importlib
import marshal
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from discreet.errors import ParameterError
from discreet.sandbox import text
from discreet.sandbox.modules import allowed_modules, codes, is_listed, named_by, unlisted_module_error

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
_GATHERED = (tuple, list, set, frozenset)
_DEEPEST = 50
_LARGEST = 16 * 2**20
_FORMAT = 2
_MODULE, _NAMED, _FUNCTION, _VALUE, _ITSELF, _TEXT = "module", "named", "function", "value", "itself", "text"
_LOADS, _ATTRIBUTES = ("LOAD_GLOBAL", "LOAD_NAME"), ("LOAD_ATTR", "LOAD_METHOD")


@dataclass(frozen=True)
class PackedFunction:
    """A function as bytes, the modules that it is known to need, and the modules that the owner allows."""

    content: bytes
    name: str
    needed: tuple[str, ...]
    listed: tuple[str, ...]

    @property
    def digest(self) -> str:
        """One name for one function with all that it uses, wherever in a file it stands."""
        return hashlib.sha256(self.content).hexdigest()


def pack(function: object, modules: object = ()) -> PackedFunction:
    """Pack a function as bytes; refuse what cannot travel, or needs a module that the owner does not allow."""
    listed = allowed_modules(modules)
    if isinstance(function, str):
        source = textwrap.dedent(function)
        name = text.name_of(source)
        return PackedFunction(_require_size(_serialize((_TEXT, name, source))), name, (), listed)
    if not callable(function) or isinstance(function, type | MethodType):
        raise _unfit(
            f"a {type(function).__name__} in place of a function",
            "it would travel with the object that it belongs to",
            "a plain function of one table: def answer(table): ...",
        )
    packing = _Packing(listed)
    content = _require_size(_serialize(packing.item(function, "the function", 0)))
    return PackedFunction(content, getattr(function, "__name__", "function"), tuple(packing.needed), listed)


def fault(content: bytes, needed: Iterable[str], listed: tuple[str, ...]) -> dict[str, str]:
    """What keeps a function from running in this locked process, if anything: its text, or a module that it needs."""
    kind, *rest = marshal.loads(content)  # noqa: S302 - our own bytes
    try:
        names = (*needed, *(named_by(text.compile_text(*rest)) if kind == _TEXT else ()))
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        return {"text": f"{type(error).__name__}: {error}"}
    for name in names:
        if not is_listed(name, listed):
            return {"unlisted": name}
        if not _is_there(name):
            return {"absent": name}
    return {}


def unpack(content: bytes) -> Callable[..., object]:
    """The function that `pack` put into bytes."""
    function: Callable[..., object] = _Unpacking().item(marshal.loads(content))  # noqa: S302 - our own bytes
    return function


class _Packing:
    """Packs a function and those that it calls, each once."""

    def __init__(self, listed: tuple[str, ...]) -> None:
        self.needed: dict[str, None] = {}
        self._listed = listed
        self._seen: dict[int, int] = {}

    def item(self, value: object, where: str, depth: int) -> tuple[object, ...]:
        """A value as something that marshal can write."""
        if depth > _DEEPEST:
            raise _unfit(f"{where}, nested more than {_DEEPEST} deep", "it has to end somewhere", "flatter constants")
        if isinstance(value, ModuleType):
            return (_MODULE, self._module(value, where))
        if type(plain := _plain(value)) in _PLAIN:
            return (_VALUE, plain)
        if type(value) in _GATHERED:
            parts = [self.item(part, where, depth + 1) for part in value]  # type: ignore[attr-defined]
            return (
                type(value).__name__,
                sorted(parts, key=_serialize) if isinstance(value, set | frozenset) else parts,
            )
        if type(value) is dict:
            pairs = [(self.item(k, where, depth + 1), self.item(v, where, depth + 1)) for k, v in value.items()]
            return ("dict", pairs)
        if (place := _place(value, self._listed)) is not None:
            self._need(place[0])
            return (_NAMED, *place)
        if _is_installed(home := _home(value)) and _place(value, (home,)):
            raise unlisted_module_error(_public(home), self._listed)
        if isinstance(value, FunctionType):
            return self._function(value, depth)
        raise _unfit(
            f"{where}, of type {type(value).__name__}",
            "only constants, functions, and what an allowed module has under a name travel with a function",
            "make it inside the function, or turn it into numbers and text",
        )

    def _function(self, function: FunctionType, depth: int) -> tuple[object, ...]:
        if id(function) in self._seen:
            return (_ITSELF, self._seen[id(function)])
        self._seen[id(function)] = len(self._seen)
        code, name = function.__code__, function.__name__
        for each in (*named_by(code), *_reachable_modules(code, function.__globals__)):
            self._need(each)
        used = {each: function.__globals__[each] for each in _globals(code) if each in function.__globals__}
        cells = zip(code.co_freevars, map(_content, function.__closure__ or ()), strict=True)
        return (
            _FUNCTION,
            _serialize(_nowhere(code)),
            name,
            [(each, self.item(value, f"{each!r}, which {name} uses", depth + 1)) for each, value in used.items()],
            [self.item(value, f"{each!r}, which {name} closes over", depth + 1) for each, value in cells],
            self.item(function.__defaults__, f"a default of {name}", depth + 1),
            self.item(function.__kwdefaults__, f"a default of {name}", depth + 1),
        )

    def _module(self, module: ModuleType, where: str) -> str:
        if not is_listed(module.__name__, self._listed) and not _is_installed(module.__name__):
            raise _unfit(
                f"{where}, a module that is not installed",
                "a module of yours would run outside before it is shut in",
                f"from {module.__name__} import ..., so that its functions travel by value",
            )
        self._need(module.__name__)
        return module.__name__

    def _need(self, name: str) -> None:
        if not is_listed(name, self._listed):
            raise unlisted_module_error(name, self._listed)
        self.needed[name] = None


class _Unpacking:
    """The inverse of the transport."""

    def __init__(self) -> None:
        self._functions: list[FunctionType] = []

    def item(self, packed_item: Any) -> Any:
        """The value that was packed."""
        kind, *rest = packed_item
        match kind:
            case "module":
                return importlib.import_module(rest[0])
            case "named":
                return _look_up(importlib.import_module(rest[0]), rest[1])
            case "text":
                return text.define_function(*rest)
            case "value":
                return rest[0]
            case "itself":
                return self._functions[rest[0]]
            case "function":
                return self._function(*rest)
            case "dict":
                return {self.item(key): self.item(value) for key, value in rest[0]}
        gathered = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}[kind]
        return gathered(self.item(part) for part in rest[0])

    def _function(self, code: bytes, name: str, used: Any, cells: Any, defaults: Any, keywords: Any) -> FunctionType:
        names: dict[str, Any] = {"__builtins__": builtins, "__name__": "sandboxed"}
        empty = tuple(CellType() for _ in cells)
        function = FunctionType(marshal.loads(code), names, name, None, empty)  # noqa: S302 - our own bytes
        self._functions.append(function)
        names.update((each, self.item(value)) for each, value in used)
        for cell, value in zip(empty, cells, strict=True):
            cell.cell_contents = self.item(value)
        function.__defaults__, function.__kwdefaults__ = self.item(defaults), self.item(keywords)
        return function


def _serialize(item: object) -> bytes:
    """Bytes that depend on the item alone: later versions of the format tell how often an object is referred to."""
    content: bytes = marshal.dumps(cast(Any, item), _FORMAT)
    return content


def _nowhere(code: CodeType) -> CodeType:
    """Code without the place that it was written at."""
    constants = tuple(_nowhere(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_filename="sandboxed", co_firstlineno=1, co_consts=constants)


def _plain(value: object) -> object:
    """A number of numpy as one of Python; anything else as it is."""
    is_number = type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "shape", None) == ()
    return value.item() if is_number else value  # type: ignore[attr-defined]


def _globals(code: CodeType) -> list[str]:
    """The global names that code reads, inner functions included."""
    found = (str(step.argval) for each in codes(code) for step in dis.get_instructions(each) if step.opname in _LOADS)
    return list(dict.fromkeys(found))


def _reachable_modules(code: CodeType, names: dict[str, Any]) -> Iterator[str]:
    """The modules that code reaches as attributes of a module that it has under a global name: np.linalg."""
    for each in codes(code):
        path = ""
        for step in dis.get_instructions(each):
            if step.opname in _LOADS and isinstance(module := names.get(step.argval), ModuleType):
                path = module.__name__
            elif path and step.opname in _ATTRIBUTES:
                path = f"{path}.{step.argval}"
                if path in sys.modules:
                    yield path
            elif step.opname != "EXTENDED_ARG":
                path = ""


def _home(value: object) -> str:
    """The name of the module that an object says it is of."""
    return str(getattr(value, "__module__", None) or type(value).__module__)


def _public(name: str) -> str:
    """The module that offers what a private part of it defines: scipy.optimize for scipy.optimize._minimize."""
    while "." in name and name.rpartition(".")[2].startswith("_"):
        name = name.rpartition(".")[0]
    return name


def _place(value: object, listed: tuple[str, ...]) -> tuple[str, str] | None:
    """The module and name under which an allowed module, which is loaded already, has this very object."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    for home in dict.fromkeys((_home(value), *listed)):
        if isinstance(name, str) and is_listed(home, listed) and home in sys.modules:
            with suppress(AttributeError, KeyError):
                if _look_up(sys.modules[home], name) is value:
                    return home, name
    return None


def _look_up(module: ModuleType, name: str) -> Any:
    """Look up a dotted name in a module, without loading parts that the module loads late."""
    first, *rest = name.split(".")
    found: Any = vars(module)[first]
    for part in rest:
        found = getattr(found, part)
    return found


def _is_installed(name: str) -> bool:
    """Whether a module that is loaded belongs to Python or to an installed package."""
    if name == "__main__" or name not in sys.modules:
        return False
    if name.partition(".")[0] in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules[name], "__file__", None)
    places = [Path(sysconfig.get_paths()[key]).resolve() for key in ("purelib", "platlib")]
    return file is not None and any(Path(file).resolve().is_relative_to(place) for place in places)


def _is_there(name: str) -> bool:
    """Whether a module, or what a module has under a name, can be had in this process; a locked one loads nothing."""
    with suppress(Exception):
        importlib.import_module(name)
        return True
    home, _, attribute = name.rpartition(".")
    with suppress(Exception):
        return hasattr(importlib.import_module(home), attribute)
    return False


def _require_size(content: bytes) -> bytes:
    if len(content) > _LARGEST:
        raise _unfit("a function with more than 16 MB", "constants travel with it", "smaller constants")
    return content


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        raise _unfit("a function that closes over a name without a value", "it has none yet", "an argument") from None


def _unfit(what: str, because: str, instead: str) -> ParameterError:
    return ParameterError(what, because=because, instead=instead)
