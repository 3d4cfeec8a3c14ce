"""YAML in which every text has one meaning: exact decimals, no repeated keys, no aliases, tags or dates."""

import re
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any

import yaml

from discreet.errors import CatalogError

_PATH_OF_CATALOG = 'Session("catalog.yaml"), with the path of an existing YAML file in UTF-8'
DEEPEST = 50
"""Brackets within brackets in one line."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
SHAPE = "tables: {visits: {privacy_unit: patient_id, columns: {patient_id: {type: text}, age: {type: integer}}}}"


def read(text: str) -> object:
    """Plain data from YAML text; what is not YAML is refused with its line."""
    _require_shallow_lines(text)
    try:
        return yaml.load(text, Loader=ExactLoader)  # noqa: S506 - a subclass of SafeLoader
    except (yaml.YAMLError, ArithmeticError, RecursionError, ValueError) as error:
        raise CatalogError("a catalog that is not YAML", because=_problem(error), instead=SHAPE) from None


def _require_shallow_lines(text: str) -> None:
    """Refuse a line of many brackets within brackets: PyYAML looks ahead in it, in quadratic time."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.count("[") + line.count("{") <= DEEPEST:
            continue
        depths = accumulate((character in "[{") - (character in "]}") for character in line)
        if max(depths) > DEEPEST:
            raise CatalogError(
                "a catalog that is not YAML", because=f"line {number}: it is nested too deeply", instead=SHAPE
            )


def write(data: object) -> str:
    """YAML text that `read` reads back as the same data."""
    return yaml.dump(data, Dumper=ExactDumper, sort_keys=False, allow_unicode=True)


def one_line(value: str | bool | int | None) -> str:
    """A scalar as YAML on one line, in a block or in a list: a plain word as it is, other text quoted and escaped."""
    if not isinstance(value, str):
        return "null" if value is None else str(value).lower()
    if _WORD.fullmatch(value) and read(value) == value:
        return value
    return f'"{"".join(map(_escape, value))}"'


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08X}"


class ExactLoader(yaml.SafeLoader):
    """YAML with exact decimals and no repeated keys, aliases or tags; 010, 12:30, no and dates are text."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - filled below, as PyYAML wants it

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None) is not None:
            raise CatalogError(
                "an alias (*name) or a tag (!name) in a catalog",
                because="a few aliases stand for billions of values, and a tag for any object",
                instead="the plain value itself, written out",
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise CatalogError(
                    f"the name {key!r} in a catalog",
                    because="names are text, and YAML reads this one as something else",
                    instead=f'"{key}", in quotes',
                )
            if key in seen:
                raise CatalogError(
                    f"the key {key!r} twice in one place of the catalog",
                    because="duplicate key",
                    instead="each key once",
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


class ExactDumper(yaml.SafeDumper):
    """Writes what `ExactLoader` reads back as the same values."""

    yaml_implicit_resolvers = ExactLoader.yaml_implicit_resolvers

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Breaks of lines that are not ASCII are lost unless they are quoted."""
    style = '"' if re.search("[\x85\u2028\u2029\ufeff]", text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


ExactDumper.add_representer(str, _represent_text)

_WHOLE = r"[-+]?(0|[1-9][0-9_]*)"
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", _WHOLE, "-+0123456789"),
    ("float", rf"({_WHOLE}(\.[0-9]*)?|[-+]?\.[0-9]+)([eE][-+]?[0-9]{{1,9}})?", "-+.0123456789"),
):
    ExactLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})$"), list(_first))
ExactLoader.add_constructor("tag:yaml.org,2002:float", lambda _, node: Decimal(str(node.value).replace("_", "")))


def _problem(error: Exception) -> str:
    """What is wrong, and on which line."""
    mark = getattr(error, "problem_mark", None)
    if isinstance(error, yaml.YAMLError):
        problem = str(getattr(error, "problem", None) or str(error).splitlines()[0]).lower()
        problem = "a tab where spaces belong" if "'\\t'" in problem else problem
        return problem if mark is None else f"line {mark.line + 1}: {problem}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "it holds a number beyond all use"


def data_not_catalog(given: object) -> CatalogError:
    """The refusal of data in the place of a catalog."""
    is_path = isinstance(given, str | Path)
    source = repr(str(given)) if is_path else 'frame, name="visits"'
    return CatalogError(
        f"catalog {source}" if is_path else f"a catalog of type {type(given).__name__}",
        because="that is data, and a catalog is a YAML file that says what is public about data",
        instead=f'dp.protect({source}, privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2))',
    )


def unreadable_file(
    path: str | Path, error: Exception, what: str = "catalog", instead: str = _PATH_OF_CATALOG
) -> CatalogError:
    """The refusal of a catalog, or of another file, that cannot be read."""
    reasons = {
        FileNotFoundError: "there is no file at that path",
        IsADirectoryError: "it is a directory",
        PermissionError: "this process may not read it",
        UnicodeDecodeError: "the file is not UTF-8 text",
    }
    return CatalogError(
        f"{what} {str(path)!r}",
        because=reasons.get(type(error), "the file cannot be read"),
        instead=instead,
    )
