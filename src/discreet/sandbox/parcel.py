"""A function as it travels into a fresh Python: what is installed goes by name, what you wrote goes by value.

Code travels as `marshal` writes it, for the same Python on the other side; with it go its defaults, what it closes
over, and the global names that it uses. These may be constants, other functions of the same kind, and whatever an
installed library or Python itself has under a name. Anything else is refused before data is read: an object of yours
may hold rows, and the other side could not tell where it came from.

The modules that the code needs are found in the code and imported over there before any row comes, because afterwards
no file can be opened.
"""

import builtins
import dis
import hashlib
import importlib
import importlib.util
import marshal
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from discreet.errors import ParameterError

ALWAYS = ("numpy", "pyarrow", "pyarrow.compute", "pyarrow.acero")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
_GATHERED = (tuple, list, set, frozenset)
_DEEPEST = 50
_LARGEST = 16 * 2**20
_FORMAT = 2
_MODULE, _NAMED, _FUNCTION, _VALUE, _ITSELF = "module", "named", "function", "value", "itself"


@dataclass(frozen=True)
class Parcel:
    """A function in bytes, and the modules that have to be imported for it, in order."""

    content: bytes
    modules: tuple[str, ...]
    name: str

    @property
    def digest(self) -> str:
        """One name for one function with all that it uses, wherever in a file it stands."""
        return hashlib.sha256(repr(self.modules).encode() + self.content).hexdigest()


def packed(function: object, modules: tuple[str, ...] = ()) -> Parcel:
    """The function as bytes; what cannot travel is refused."""
    if not callable(function) or isinstance(function, type | MethodType):
        raise _unfit(
            f"a {type(function).__name__} in place of a function",
            "it would travel with the object that it belongs to",
            "a plain function of one table: def answer(table): ...",
        )
    packing = _Packing()
    content = _written(packing.item(function, "the function", 0))
    if len(content) > _LARGEST:
        raise _unfit("a function with more than 16 MB", "constants travel with it", "smaller constants")
    needed = dict.fromkeys((*ALWAYS, *packing.modules, *map(_importable, modules)))
    return Parcel(content, tuple(needed), getattr(function, "__name__", "function"))


def unpacked(content: bytes) -> Callable[..., object]:
    """The function that `packed` put into bytes."""
    function: Callable[..., object] = _Unpacking().item(marshal.loads(content))  # noqa: S302 - our own bytes
    return function


class _Packing:
    """One journey: each function is packed once, however often and by whomever it is called."""

    def __init__(self) -> None:
        self.modules: dict[str, None] = {}
        self._seen: dict[int, int] = {}

    def item(self, value: object, where: str, depth: int) -> tuple[object, ...]:
        """A value as something that marshal can write."""
        if depth > _DEEPEST:
            raise _unfit(f"{where}, nested more than {_DEEPEST} deep", "it has to end somewhere", "flatter constants")
        if isinstance(value, ModuleType):
            return (_MODULE, self._needed(value, where))
        if type(plain := _plain(value)) in _PLAIN:
            return (_VALUE, plain)
        if type(value) in _GATHERED:
            parts = [self.item(part, where, depth + 1) for part in value]  # type: ignore[attr-defined]
            return (type(value).__name__, sorted(parts, key=_written) if isinstance(value, set | frozenset) else parts)
        if type(value) is dict:
            pairs = [(self.item(k, where, depth + 1), self.item(v, where, depth + 1)) for k, v in value.items()]
            return ("dict", pairs)
        if (place := _place(value)) is not None:
            self._import(place[0])
            return (_NAMED, *place)
        if isinstance(value, FunctionType):
            return self._function(value, depth)
        raise _unfit(
            f"{where}, of type {type(value).__name__}",
            "only constants, functions, and what an installed library has under a name travel with a function",
            "make it inside the function, or turn it into numbers and text",
        )

    def _function(self, function: FunctionType, depth: int) -> tuple[object, ...]:
        if id(function) in self._seen:
            return (_ITSELF, self._seen[id(function)])
        self._seen[id(function)] = len(self._seen)
        code, name = function.__code__, function.__name__
        self._find_modules(code, function.__globals__)
        used = {each: function.__globals__[each] for each in _globals(code) if each in function.__globals__}
        cells = zip(code.co_freevars, map(_content, function.__closure__ or ()), strict=True)
        return (
            _FUNCTION,
            _written(_nowhere(code)),
            name,
            [(each, self.item(value, f"{each!r}, which {name} uses", depth + 1)) for each, value in used.items()],
            [self.item(value, f"{each!r}, which {name} closes over", depth + 1) for each, value in cells],
            self.item(function.__defaults__, f"a default of {name}", depth + 1),
            self.item(function.__kwdefaults__, f"a default of {name}", depth + 1),
        )

    def _find_modules(self, code: CodeType, names: dict[str, Any]) -> None:
        """Modules that the code imports, and parts of modules that it reaches through names."""
        for each in _codes(code):
            for name in _imports(each):
                self._import(name)
            reached = [names[name] for name in _globals(each) if isinstance(names.get(name), ModuleType)]
            for part in each.co_names:
                for module in reached:
                    if f"{module.__name__}.{part}" in sys.modules:
                        self._import(f"{module.__name__}.{part}")
            if "to_pandas" in each.co_names:
                self._import("pandas")

    def _needed(self, module: ModuleType, where: str) -> str:
        if not _is_installed(module.__name__):
            raise _unfit(
                f"{where}, a module that is not installed",
                "a module of yours would run outside before it is shut in",
                f"from {module.__name__} import ..., so that its functions travel by value",
            )
        self._import(module.__name__)
        return module.__name__

    def _import(self, name: str) -> None:
        if _is_installed(name):
            self.modules[name] = None


class _Unpacking:
    """The same journey backwards."""

    def __init__(self) -> None:
        self._made: list[FunctionType] = []

    def item(self, packed_item: Any) -> Any:
        """The value that was packed."""
        kind, *rest = packed_item
        match kind:
            case "module":
                return importlib.import_module(rest[0])
            case "named":
                return _found(*rest)
            case "value":
                return rest[0]
            case "itself":
                return self._made[rest[0]]
            case "function":
                return self._function(*rest)
            case "dict":
                return {self.item(key): self.item(value) for key, value in rest[0]}
        gathered = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}[kind]
        return gathered(self.item(part) for part in rest[0])

    def _function(self, code: bytes, name: str, used: Any, cells: Any, defaults: Any, keywords: Any) -> FunctionType:
        names: dict[str, Any] = {"__builtins__": builtins, "__name__": "sandboxed"}
        empty = tuple(CellType() for _ in cells)
        made = FunctionType(marshal.loads(code), names, name, None, empty)  # noqa: S302 - our own bytes
        self._made.append(made)
        names.update((each, self.item(value)) for each, value in used)
        for cell, value in zip(empty, cells, strict=True):
            cell.cell_contents = self.item(value)
        made.__defaults__, made.__kwdefaults__ = self.item(defaults), self.item(keywords)
        return made


def _written(item: object) -> bytes:
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


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _globals(code: CodeType) -> list[str]:
    """The global names that code reads, inner functions included."""
    found = (
        str(step.argval)
        for each in _codes(code)
        for step in dis.get_instructions(each)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    )
    return list(dict.fromkeys(found))


def _imports(code: CodeType) -> list[str]:
    """The modules that code imports, and what it takes from them, which may be a module too."""
    names: list[str] = []
    module = ""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            module = str(step.argval)
            names.append(module)
        elif step.opname == "IMPORT_FROM":
            names.append(f"{module}.{step.argval}")
    return names


def _place(value: object) -> tuple[str, str] | None:
    """The module and name under which an installed library, or Python itself, has this very object."""
    module = getattr(value, "__module__", None) or type(value).__module__
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not _is_installed(module):
        return None
    try:
        found = _found(module, name)
    except (AttributeError, ImportError):
        return None
    return (module, name) if found is value else None


def _found(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _importable(name: object) -> str:
    if isinstance(name, str) and _is_installed(name):
        return name
    raise _unfit(f"modules={name!r}", "only installed modules are imported for a function", 'modules=("scipy.stats",)')


def _is_installed(name: str) -> bool:
    """Whether a module belongs to Python or to an installed package."""
    if name == "__main__":
        return False
    if name.partition(".")[0] in sys.stdlib_module_names or name in sys.builtin_module_names:
        return _spec(name) is not None
    spec = _spec(name)
    origin = getattr(spec, "origin", None)
    places = [Path(sysconfig.get_paths()[key]).resolve() for key in ("purelib", "platlib")]
    return origin is not None and any(Path(origin).resolve().is_relative_to(place) for place in places)


def _spec(name: str) -> object:
    if name in sys.modules:
        return getattr(sys.modules[name], "__spec__", None) or (name if name == "builtins" else None)
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        raise _unfit("a function that closes over a name without a value", "it has none yet", "an argument") from None


def _unfit(what: str, because: str, instead: str) -> ParameterError:
    return ParameterError(what, because=because, instead=instead)
