"""What reconstruction gave: the bits that came back, at one total epsilon or at several."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet import plots
from discreet.attacks import pictures
from discreet.attacks.outcome import Outcome, best_guess, percent, pluralize, steps_to_another_value
from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import public_class

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@public_class
@dataclass(frozen=True, repr=False)
class Reconstruction(Outcome):
    """Outcome of reconstruction: number of bits recovered from the answers.

    Attributes:
        publisher: Name of the publisher.
        people: Number of people, with one bit each.
        asked: Number of queries.
        answered: Number of answers.
        recovered: Number of right bits.
        refusal: Message that ended it, or None.
        total_epsilon: Epsilon of all answers together, or None if unknown.
        total_delta: Delta of all answers together. Default 0.
        neighbours: The neighbour relation: "add_remove" or "replace_one". Default "add_remove".

    Example:
        >>> import discreet as dp
        >>> bits = dp.attacks.reconstruction.secret_bits(16)
        >>> publisher = dp.attacks.reconstruction.exact(bits)
        >>> dp.attacks.reconstruction.against(publisher, bits, questions=100).recovered
        16
    """

    attack = "reconstruction"

    publisher: str
    people: int
    asked: int
    answered: int
    recovered: int
    refusal: str | None
    total_epsilon: float | None
    total_delta: float = 0.0
    neighbours: str = "add_remove"

    @property
    def bound(self) -> float:
        """How often one bit of even odds can be right at most under that total, or under epsilon 1 where none is known.

        It holds for every attack and for anything that is asked.
        """
        total = 1.0 if self.total_epsilon is None else self.total_epsilon
        return best_guess(total, self.total_delta, apart=steps_to_another_value(self.neighbours))

    @property
    def share(self) -> float:
        """The share of bits that are right; half of them are by guessing."""
        return self.recovered / self.people

    @property
    def has(self) -> str:
        """What the attacker starts from."""
        return f"{pluralize(self.answered, 'count')} of random subsets of {self.people:,} people, from {self.publisher}"

    @property
    def does(self) -> str:
        """What the attacker does with it."""
        return "finds by linear programming the bits whose counts are nearest to the answers"

    @property
    def inference(self) -> str:
        """What came out, and from how much."""
        text = f"{self.recovered:,} of {self.people:,} bits ({percent(self.share)}) are right; guessing gives 50%"
        if self.refusal is None:
            return text
        return f"{text}; query {self.answered + 1:,} of {self.asked:,} was refused by the ledger"

    @property
    def with_epsilon(self) -> str:
        """What epsilon does about it."""
        total = 1.0 if self.total_epsilon is None else self.total_epsilon
        what = "a session would hold all answers to" if self.total_epsilon is None else "all answers together cost"
        return (
            f"{what} epsilon {plots.plain(round(total, 9))}, under which nothing that is asked gives any one bit in "
            f"more than {percent(self.bound)} of cases, since another bit is {_another_bit(self.neighbours)}"
        )

    def plot(self, *others: "Reconstruction") -> "Figure":
        """Share of right bits, with other outcomes, beside guessing.

        Args:
            others: Further outcomes to draw.

        Returns:
            A figure.
        """
        shown = (self, *others)
        shares = [*(each.share for each in shown), 0.5]
        notes = [f"{percent(each.share)} of bits from {pluralize(each.answered, 'count')}" for each in shown]
        return pictures.bars(
            [*(each.publisher for each in shown), "guessing"],
            shares,
            [*notes, "50% of bits"],
            title=f"Reconstruction of {self.people:,} secret bits",
            label="share of bits that are right",
            exposed=[*[True] * len(shown), False],
            is_share=True,
        )


@public_class
@dataclass(frozen=True, repr=False)
class ReconstructionCurve(Outcome):
    """Outcome of reconstruction at several total epsilons.

    Attributes:
        people: Number of people, with one bit each.
        questions: Number of queries.
        runs: Number of runs at each epsilon.
        points: Triples of a total epsilon, the mean share of right bits and its standard error.

    Example:
        >>> import discreet as dp
        >>> curve = dp.attacks.reconstruction.curve([1], people=16, questions=40, runs=2)
        >>> len(curve.points)
        1
    """

    attack = "reconstruction, by total epsilon"

    people: int
    questions: int
    runs: int
    points: tuple[tuple[float, float, float], ...]

    @property
    def has(self) -> str:
        """What the attacker starts from."""
        return (
            f"{self.questions:,} counts of random subsets of {self.people:,} people, whose epsilons add up to a total"
        )

    @property
    def does(self) -> str:
        """What the attacker does with it."""
        return "finds by linear programming the bits whose counts are nearest to the answers"

    @property
    def inference(self) -> str:
        """What came out, and from how much."""
        text = ", ".join(f"{percent(share)} at {plots.plain(epsilon)}" for epsilon, share, _ in self.points)
        return f"bits that are right, means of {pluralize(self.runs, 'run')}, by total epsilon: {text}"

    @property
    def with_epsilon(self) -> str:
        """What epsilon does about it."""
        near = ", ".join(f"{percent(best_guess(e, apart=2))} at {plots.plain(e)}" for e in (0.1, 1.0, 3.0))
        return (
            f"no attack, of this or another kind, gives any one bit in more than {near}, since another bit is "
            f"{_another_bit(Neighbours.ADD_REMOVE)}"
        )

    def plot(self) -> "Figure":
        """Share of right bits against the total epsilon, below the bound for one bit.

        Returns:
            A figure.
        """
        epsilons = [epsilon for epsilon, *_ in self.points]
        places = np.geomspace(min(epsilons), max(epsilons), 60).tolist()
        return pictures.curves(
            [
                pictures.Curve(
                    f"linear programming, means of {pluralize(self.runs, 'run')}",
                    tuple((epsilon, share) for epsilon, share, _ in self.points),
                ),
                pictures.Curve(
                    "the most that epsilon allows for one bit",
                    tuple((e, best_guess(e, apart=2)) for e in places),
                    False,
                ),
                pictures.Curve("guessing", ((places[0], 0.5), (places[-1], 0.5)), False),
            ],
            title=f"Reconstruction of {self.people:,} bits from {self.questions:,} counts",
            x=pictures.Axis("total epsilon of all answers", scale="log"),
            y=pictures.Axis("share of bits that are right", limits=(0.45, 1.02), is_share=True),
        )


def _another_bit(neighbours: str) -> str:
    return "a row replaced" if steps_to_another_value(neighbours) == 1 else "a row removed and a row added"
