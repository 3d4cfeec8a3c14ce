"""False reports of fake users: what one of them is worth, and a simulation of how far many move an estimate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import whole
from discreet.local.oracles import FrequencyOracle, LocalRandomizer
from discreet.local.oracles.mean import MeanOracle
from discreet.local.oracles.randomizer import Counts
from discreet.local.poisoning.checks import CollectionCheck, check
from discreet.local.simulation import simulate as simulate_reports
from discreet.local.simulation import whole_counts
from discreet.local.task import Task

Attack = Literal["hidden", "naive"]


@public_class
@dataclass(frozen=True)
class Poisoning:
    """What false reports did in a simulation.

    Attributes:
        fakes: Number of false reports.
        honest: Estimated count of the target without them.
        poisoned: Estimated count with them.
        standard_error: Standard deviation of the estimate without them.
        influence: What one false report is expected to add, in clients.
        checks: Checks of the poisoned collection.

    Example:
        >>> import discreet as dp
        >>> dp.local.poisoning.Poisoning(10, 100.0, 130.0, 40.0, 3.0, ()).shift
        30.0
    """

    fakes: int
    honest: float
    poisoned: float
    standard_error: float
    influence: float
    checks: tuple[CollectionCheck, ...]

    @property
    def shift(self) -> float:
        """How far the estimate moved, in clients."""
        return self.poisoned - self.honest

    def __str__(self) -> str:
        lines = [
            f"{self.fakes:,} false reports move the count from {self.honest:,.0f} to {self.poisoned:,.0f}",
            f"expected: {self.fakes * self.influence:,.0f}, {self.influence:.3g} clients for each",
            f"noise without them: ± {self.standard_error:,.0f} (one standard deviation)",
        ]
        return "\n".join([*lines, *map(str, self.checks)])


@short_traceback
def influence(oracle: LocalRandomizer | Task, targets: Sequence[int] = (0,)) -> float:
    """The most that one report adds to the estimated counts of some slots together, in clients.

    An honest report adds one to the count of its slot, in expectation.

    Args:
        oracle: The oracle, or a task.
        targets: Slots whose counts somebody wants to raise. Default: one slot.

    Returns:
        The number of honest clients that one false report is worth; for a mean, clients at the end of the range.

    Raises:
        ParameterError: If a slot is twice among the targets.

    Example:
        >>> import discreet as dp
        >>> krr = dp.local.oracles.KaryResponse.calibrate(1024, epsilon=1)
        >>> unary = dp.local.oracles.UnaryEncoding.optimal(1024, epsilon=1)
        >>> [round(dp.local.poisoning.influence(each), 1) for each in (krr, unary)]
        [596.4, 3.2]
    """
    oracle = oracle.decoder if isinstance(oracle, Task) else oracle
    if not isinstance(oracle, FrequencyOracle):
        return oracle.influence() if isinstance(oracle, MeanOracle) else math.inf
    if not targets or len(set(targets)) != len(targets) or not all(0 <= slot < oracle.size for slot in targets):
        raise ParameterError(
            f"targets={list(targets)}",
            because=f"they are different slots from 0 to {oracle.size - 1}",
            instead="targets=[0]",
        )
    p, q = float(oracle.true_rate), float(oracle.false_rate)
    return (oracle.largest_support(targets) - len(targets) * q) / (p - q)


@short_traceback
def simulate(
    task: Task | FrequencyOracle,
    clients: Counts,
    fakes: int,
    target: int,
    *,
    attack: Attack = "hidden",
    generator: np.random.Generator | None = None,
) -> Poisoning:
    """A collection with false reports for one slot: how far they move its count, and what checks see.

    Args:
        task: The task, or its oracle.
        clients: Number of honest clients that have each slot.
        fakes: Number of false reports.
        target: Slot whose count they raise.
        attack: "hidden" draws each report at random among those that help, "naive" sends one and the same.
            Default "hidden".
        generator: Where random numbers come from. Default: numpy's, from the operating system.

    Returns:
        What they did.

    Raises:
        ParameterError: If an argument is outside its range, or clients are not a whole number for each slot.

    Example:
        >>> import discreet as dp, numpy as np
        >>> krr = dp.local.oracles.KaryResponse.calibrate(1024, epsilon=1)
        >>> result = dp.local.poisoning.simulate(krr, np.full(1024, 100), 1_000, target=7)
        >>> round(result.influence)
        596
    """
    oracle = task.decoder if isinstance(task, Task) else task
    place = whole(target, "target", least=0)
    if not isinstance(oracle, FrequencyOracle) or place >= oracle.size or attack not in ("hidden", "naive"):
        raise ParameterError(
            f"target={target}, attack={attack!r}",
            because='the target is a slot of a frequency oracle, and the attack is "hidden" or "naive"',
            instead='simulate(task, clients, 1000, target=0, attack="hidden")',
        )
    source = np.random.default_rng() if generator is None else generator
    honest_clients = whole_counts(clients, "clients", width=oracle.size)
    number, honest = whole(fakes, "fakes", least=0), whole(int(honest_clients.sum()), "the number of clients")
    counts = simulate_reports(oracle, honest_clients, source)
    poisoned = counts + oracle.false_counts(number, target, source, is_varied=attack == "hidden")
    before, after = oracle.estimate(counts, honest), oracle.estimate(poisoned, honest + number)
    return Poisoning(
        number,
        float(before[target]),
        float(after[target]),
        float(oracle.standard_error(before, honest)[target]),
        influence(oracle, (target,)),
        check(oracle, poisoned, honest + number),
    )
