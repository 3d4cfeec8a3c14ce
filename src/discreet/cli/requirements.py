"""What the installed discreet says it needs, read from its own metadata."""

import re
from dataclasses import dataclass
from importlib import metadata

_MODULES = {"pyyaml": "yaml", "scikit-learn": "sklearn"}
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_BOUND = re.compile(r"(>=|<)\s*([0-9.]+)")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


@dataclass(frozen=True)
class Requirement:
    """A distribution that discreet needs, or that one of its extras does."""

    distribution: str
    bounds: tuple[tuple[str, str], ...]
    extra: str | None

    @property
    def module(self) -> str:
        """The name under which Python imports it."""
        name = self.distribution.lower()
        return _MODULES.get(name, name.replace("-", "_"))

    @property
    def range(self) -> str:
        """The accepted versions, as pip writes them."""
        return ",".join(sign + bound for sign, bound in self.bounds) or "any version"

    @property
    def command(self) -> str:
        """What installs it."""
        return (
            f'pip install "discreet[{self.extra}]"' if self.extra else f'pip install "{self.distribution}{self.range}"'
        )

    def installed_version(self) -> str | None:
        """The installed version, or None."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return None

    def accepts(self, version: str) -> bool:
        """Whether a version lies within the bounds."""
        found = _parts(version)
        return all(found >= _parts(bound) if sign == ">=" else found < _parts(bound) for sign, bound in self.bounds)


def requirements() -> list[Requirement]:
    """Everything in the metadata of discreet, extras last."""
    listed = [_parse_requirement(line) for line in metadata.requires("discreet") or ()]
    return sorted(listed, key=lambda r: (r.extra is not None, r.distribution.lower()))


def _parse_requirement(line: str) -> Requirement:
    requirement, _, marker = line.partition(";")
    name = _NAME.match(requirement)
    extra = _EXTRA.search(marker)
    return Requirement(
        name.group() if name else requirement,
        tuple(sorted(_BOUND.findall(requirement), reverse=True)),
        extra.group(1) if extra else None,
    )


def _parts(version: str) -> tuple[int, ...]:
    """The numbers that lead a version, to four places, so that 2 equals 2.0."""
    release = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in release.group().split(".")] if release else []
    return tuple((numbers + [0] * 4)[:4])
