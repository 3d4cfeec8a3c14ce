"""What an attack gave: one shape for all of them, so that one report tells them all.

The four sentences are made from the numbers, which are the fields of each kind of outcome. `to_json` writes both.
"""

import datetime as dt
import html
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any, ClassVar

from discreet import plots
from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import public_class
from discreet.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# the words of all plots and reports, here for attacks
percent, pluralize = style.percent, style.pluralize

SCHEMA = "discreet.attack/1"
NOT_PRIVATE = "nothing here: the session is one of dp.testing, and its answers are exact"


@public_class
class Outcome(ABC):
    """Result of an attack: what the attacker has, does and learned, and the effect of epsilon.

    Example:
        >>> import discreet as dp
        >>> counts = dp.attacks.small_groups.exact_table(dp.datasets.people(500), by=["state", "occupation"])
        >>> isinstance(dp.attacks.small_groups.against_table(counts), dp.attacks.Outcome)
        True
    """

    attack: ClassVar[str]

    @property
    @abstractmethod
    def has(self) -> str:
        """What the attacker starts from."""

    @property
    @abstractmethod
    def does(self) -> str:
        """What the attacker does with it."""

    @property
    @abstractmethod
    def inference(self) -> str:
        """What came out, and from how much."""

    @property
    @abstractmethod
    def with_epsilon(self) -> str:
        """What epsilon does about it."""

    @abstractmethod
    def plot(self) -> "Figure":
        """The outcome as a picture (needs pip install "discreet[plots]").

        Returns:
            A figure.
        """

    def to_json(self) -> dict[str, Any]:
        """The sentences, and the numbers that they are made from, as plain data.

        Returns:
            A dict for JSON.
        """
        numbers = {field.name: plain_data(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        return {"schema": SCHEMA, "attack": self.attack, **dict(self._sentences()), "figures": numbers}

    def __str__(self) -> str:
        return "\n".join([self.attack, *(f"  {name:<12}  {sentence}" for name, sentence in self._sentences())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _sentences(self) -> list[tuple[str, str]]:
        return [
            ("has", self.has),
            ("does", self.does),
            ("learned", self.inference),
            ("with epsilon", self.with_epsilon),
        ]


def plain_data(value: Any) -> Any:
    """A value in terms that JSON has: no tuples, fractions, dates or numbers of numpy."""
    if isinstance(value, Mapping):
        return {str(key): plain_data(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain_data(part) for part in value]
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, dt.date | dt.datetime):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value


def few_digits(number: float) -> str:
    """A number of which only the size matters."""
    return plots.plain(float(f"{number:.2g}"))


def exact_figure(number: float) -> str:
    """A number with all the digits that matter where it is exact: thousands set apart, up to six after the point."""
    if not number or abs(number) < 1e-3:
        return plots.plain(number)
    return f"{number:,.6f}".rstrip("0").rstrip(".")


def best_guess(epsilon: float, delta: float = 0.0, *, apart: int = 1) -> float:
    """The most that any guess between two datasets of even odds can be right, for any use of the answers.

    They are neighbours, or so many steps between neighbours apart.
    """
    odds = exp(-apart * epsilon)
    slack = delta * sum(exp(-step * epsilon) for step in range(1, apart + 1))
    return min(1.0, (1 + slack) / (1 + odds))


def steps_to_another_value(neighbours: Neighbours | str) -> int:
    """How many steps between neighbours another value in one person's row is: one removed and one added, or one."""
    return 1 if neighbours == Neighbours.REPLACE_ONE else 2
