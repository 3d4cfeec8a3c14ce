"""What a release cannot know: the deployment, who is responsible, and why. A person states it, in YAML or in Python."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from discreet.catalog import strict_yaml
from discreet.errors import CatalogError, ParameterError, suggestion
from discreet.release.values import rendering

NOT_STATED = "not stated"
_SHAPE = "deployment: Patient statistics 2026"
_LONGEST = 2_000


@dataclass(frozen=True, kw_only=True)
class About:
    """Facts about a deployment, each a text; `unit_name` is a word for one privacy unit, such as "patient"."""

    deployment: str | None = None
    curator: str | None = None
    purpose: str | None = None
    data_product: str | None = None
    period: str | None = None
    justification: str | None = None
    contact: str | None = None
    unit_name: str | None = None
    public_key: str | None = None

    def text(self, name: str) -> str:
        """A fact, or that it is not stated."""
        value: str | None = getattr(self, name)
        return value or NOT_STATED

    def missing(self) -> list[str]:
        """Facts of a registry entry that are not stated."""
        return [name for name in REGISTERED if getattr(self, name) is None]


NAMES = tuple(field.name for field in fields(About))
REGISTERED = ("deployment", "curator", "purpose", "justification", "contact")


def read_about(about: "str | Path | Mapping[str, Any] | None") -> About:
    """The facts in a YAML file or in a dictionary; a field that is not known is refused."""
    if about is None:
        return About()
    if isinstance(about, Mapping):
        return _parse(dict(about), "about={...}")
    path = Path(about)
    try:
        data = strict_yaml.read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise _refusal(path, strict_yaml.unreadable_file(path, error).because) from None
    except CatalogError as refusal:
        raise _refusal(path, refusal.because) from None
    return _parse({} if data is None else data, f"the file {str(path)!r}")


def _parse(data: object, place: str) -> About:
    if not isinstance(data, dict):
        raise ParameterError(place, because="it is not a list of fields with texts", instead=_SHAPE)
    for name, value in data.items():
        if name not in NAMES:
            raise ParameterError(
                f"{name!r} in {place}", because="no report has that field", instead=suggestion(str(name), NAMES)
            )
        if not (value is None or isinstance(value, str)) or len(value or "") > _LONGEST:
            raise ParameterError(
                f"{name!r} in {place}",
                because=f"each field is a text of at most {_LONGEST:,} characters",
                instead=f'{name}: "text in quotes"',
            )
    return About(**{name: _one_line(value) for name, value in data.items()})


def _one_line(value: str | None) -> str | None:
    """Text on one line, with codes in the place of characters that do not print; None where it is empty."""
    return rendering.cell(" ".join((value or "").split())) or None


def _refusal(path: Path, because: str) -> ParameterError:
    return ParameterError(f"the file {str(path)!r}", because=because, instead=_SHAPE)
