"""The stamp of every result about anonymity: exact figures about people, for the owners of the data alone."""

from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.errors import public_class
from discreet.plots.style import INK, wrap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STAMP = "For the owners of the data only: these are exact figures about people, not differentially private."
SCHEMA = "discreet.anonymity/1"
_POINTS, _WIDTH_OF_TITLES = 7.5, 1.6
"""Size of the stamp in a picture, and letters of it in the place of one of a title."""


@public_class
class OwnerResult:
    """Result that was computed from exact rows; its text and its JSON say who may see it.

    A subclass is a frozen dataclass and lists its lines in `_lines`.

    Example:
        >>> from dataclasses import dataclass
        >>> from discreet.anonymity.owners import OwnerResult
        >>> @dataclass(frozen=True, repr=False)
        ... class Size(OwnerResult):
        ...     kind = "size"
        ...     people: int
        ...     def _lines(self):
        ...         return [f"{self.people:,} people"]
        >>> print(Size(1_200))
        size
          1,200 people
        For the owners of the data only: these are exact figures about people, not differentially private.
    """

    kind: ClassVar[str]

    def _lines(self) -> list[str]:
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join([self.kind, *(f"  {visible(line)}" for line in self._lines()), STAMP])

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data, with the stamp.

        Returns:
            A dict for JSON.
        """
        figures = {field.name: plain_data(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        return {"schema": SCHEMA, "kind": self.kind, "audience": STAMP, "figures": figures}


def visible(line: str) -> str:
    """A line with the codes of characters that cannot be seen: names of columns could move a terminal's cursor."""
    return line if line.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def with_stamp(figure: "Figure") -> "Figure":
    """The figure with the stamp below it, and at the end of its description."""
    lines = wrap(STAMP, _WIDTH_OF_TITLES * figure.get_figwidth())
    figure.supxlabel(lines, x=0.01, ha="left", fontsize=_POINTS, color=INK)
    figure.set_label(f"{str(figure.get_label()).rstrip('.')}. {STAMP}")
    return figure


def plain_data(value: Any) -> Any:
    """A value in terms that JSON has; results within results keep their figures alone."""
    if isinstance(value, OwnerResult):
        return value.to_json()["figures"]
    if isinstance(value, dict):
        return {str(key): plain_data(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain_data(part) for part in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, Fraction):
        return float(value)
    return value.item() if hasattr(value, "item") else value
