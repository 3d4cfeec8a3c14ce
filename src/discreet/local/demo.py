"""The cost of trust: the error of a count by local, shuffled and aggregated reports, at one central guarantee.

Simulated clients have values with falling frequencies. Each of the three protects a change of one client's value:

- local: each report alone has the epsilon, and the collector sees it;
- shuffled: reports have the largest epsilon that the bound of shuffling turns into the same epsilon, with a delta;
- aggregated: exact counts of DAP, to which the collector's session adds discrete Laplace noise once.

Errors are root mean squares over all values of the domain. Counts of reports are drawn from the probabilities of the
oracle by `dp.local.simulate`, not by clients one by one.
"""

import math
import textwrap
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.accounting import shuffling
from discreet.errors import ParameterError
from discreet.exact.numbers import Number, positive, probability, whole
from discreet.local.oracles import FrequencyOracle
from discreet.local.oracles.randomizer import Counts
from discreet.local.simulation import simulate
from discreet.local.task import Task
from discreet.mechanisms.laplace import Laplace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CLIENTS = 100_000_000
MOST_VALUES = 100_000
_STEPS = 100
_LABEL = 104
_LARGEST_LOCAL = 20
_REPLACED = 2
"""L1 sensitivity of all counts, where one client changes its value: the neighbours of the local model."""


@dataclass(frozen=True)
class TrustError:
    """The error of a count under one model of trust.

    Attributes:
        trust: "local", "shuffle" or "dap".
        mechanism: What adds the noise.
        report_epsilon: Epsilon of one report alone; None where reports have no noise of their own.
        expected: Expected root mean square error of the counts.
        observed: Root mean square error of the simulated counts.
    """

    trust: str
    mechanism: str
    report_epsilon: Fraction | None
    expected: float
    observed: float


@dataclass(frozen=True)
class TrustComparison:
    """Errors of counts under three models of trust.

    Attributes:
        clients: Number of simulated clients.
        size: Number of values in the domain.
        epsilon: Central epsilon of all three.
        delta: Delta of the shuffled one; the other two have none.
        errors: The errors: local, shuffled, aggregated.
    """

    clients: int
    size: int
    epsilon: Fraction
    delta: Fraction
    errors: tuple[TrustError, ...]

    def __str__(self) -> str:
        lines = [f"{self.title} (simulated)", ""]
        lines += [f"{_label(each):<34}{_note(each)}" for each in self.errors]
        return "\n".join([*lines, "", self.conditions])

    @property
    def title(self) -> str:
        """A heading."""
        return f"Error of one of {self.size:,} counts of {self.clients:,} clients, epsilon {float(self.epsilon):g}"

    @property
    def conditions(self) -> str:
        """What the figures depend on."""
        return (
            "Each protects a change of one client's value. Shuffled: with delta "
            f"{float(self.delta):g}, fresh noise, {self.clients:,} honest reports in one batch."
        )

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        errors = [
            vars(each) | {"report_epsilon": None if each.report_epsilon is None else float(each.report_epsilon)}
            for each in self.errors
        ]
        facts = {"clients": self.clients, "domain": self.size, "is_simulated": True}
        return facts | {"epsilon": float(self.epsilon), "delta": float(self.delta), "errors": errors}

    def plot(self) -> "Figure":
        """A bar for each model of trust, with the observed error as a mark."""
        from discreet.plots import BLUE, FAINT, INK, canvas  # noqa: PLC0415 - matplotlib is optional

        lines, expected = range(len(self.errors)), [each.expected for each in self.errors]
        with canvas(9.6, 3.6, f"{self.title}: simulated") as (figure, (axes,)):
            axes.set_xscale("log")
            axes.set_xlim(0.5, 1.5 * max(expected))
            colours, hatches = (BLUE, "#f0f0f0", FAINT), (None, "///", "...")
            axes.barh(lines, expected, height=0.55, color=colours, edgecolor=INK, hatch=hatches)
            observed = [each.observed for each in self.errors]
            axes.plot(observed, lines, "D", color="white", markeredgecolor=INK, label="observed")
            axes.set_yticks(lines, [_label(each).replace(", ", "\n") for each in self.errors])
            axes.set_ylim(len(lines) - 0.4, -0.6)
            for line, each in enumerate(self.errors):
                axes.text(
                    1.02, line, _note(each).replace(", ", "\n"), transform=axes.get_yaxis_transform(), va="center"
                )
            axes.xaxis.set_major_formatter(lambda number, _: f"{number:,g}")
            words = f"root mean square error of a count, in clients (logarithmic). {self.conditions}"
            axes.set_xlabel(textwrap.fill(words, _LABEL))
            figure.set_label(str(self))
        return figure


def compare_trust(
    *, clients: int = 1_000_000, size: int = 1_024, epsilon: Number = 1, delta: Number = Fraction(1, 10**6)
) -> TrustComparison:
    """Simulate clients under three models of trust, at one central guarantee.

    Args:
        clients: Number of clients. Default one million.
        size: Number of values in the domain. Default 1,024.
        epsilon: Epsilon of a change of one client's value. Default 1.
        delta: Delta of the shuffled reports. Default one in a million.

    Returns:
        The expected and the observed errors.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> found = compare_trust(clients=10_000, size=16)
        >>> [each.trust for each in found.errors]
        ['local', 'shuffle', 'dap']
    """
    if whole(clients, "clients") > MOST_CLIENTS or not 2 <= whole(size, "size") <= MOST_VALUES:
        raise ParameterError(
            f"a simulation of {clients:,} clients with {size:,} values",
            because=f"it has at most {MOST_CLIENTS:,} clients, and from 2 to {MOST_VALUES:,} values",
            instead="compare_trust(clients=1_000_000, size=1_024)",
        )
    central, small = positive(epsilon, "epsilon"), probability(positive(delta, "delta"), "delta")
    generator = np.random.default_rng()
    histogram = _histogram(clients, size, generator)
    shuffled = local_epsilon(epsilon=central, delta=small, reports=clients)
    errors = (
        _of_reports("local", central, histogram, generator),
        _of_reports("shuffle", shuffled, histogram, generator),
        _of_sums(central, size),
    )
    return TrustComparison(clients, size, central, small, errors)


def local_epsilon(*, epsilon: Fraction, delta: Fraction, reports: int) -> Fraction:
    """The largest epsilon of a report that shuffling turns into a smaller one, in hundredths.

    Args:
        epsilon: Epsilon of the guarantee with the shuffler.
        delta: Delta of that guarantee.
        reports: Number of honest reports in a batch.

    Returns:
        An epsilon for which the bound of `accounting.shuffling` holds; at least `epsilon`.

    Example:
        >>> float(local_epsilon(epsilon=Fraction(1), delta=Fraction(1, 10**6), reports=1_000_000))
        9.35
    """
    low, high = math.floor(epsilon * _STEPS), max(_LARGEST_LOCAL, math.ceil(epsilon)) * _STEPS
    while high - low > 1:
        middle = (low + high) // 2
        bound = shuffling.delta(local_epsilon=Fraction(middle, _STEPS), reports=reports, epsilon=epsilon)
        low, high = (middle, high) if bound <= delta else (low, middle)
    return max(epsilon, Fraction(low, _STEPS))


def _histogram(clients: int, size: int, generator: np.random.Generator) -> Counts:
    """Clients by value; the value of rank r has a share proportional to 1/r."""
    weights = 1 / np.arange(1, size + 1)
    return generator.multinomial(clients, weights / weights.sum())


def _of_reports(trust: Any, epsilon: Fraction, histogram: Counts, generator: np.random.Generator) -> TrustError:
    clients = int(histogram.sum())
    task = Task.choose(domain=len(histogram), epsilon=epsilon, n=clients, trust=trust)
    oracle = cast(FrequencyOracle, task.oracle)
    estimates = oracle.estimate(simulate(oracle, histogram, generator), clients)
    variances = oracle.standard_error(histogram.astype(np.float64), clients) ** 2
    observed = math.sqrt(float(np.mean((estimates - histogram) ** 2)))
    return TrustError(trust, oracle.title, epsilon, math.sqrt(float(variances.mean())), observed)


def _of_sums(epsilon: Fraction, size: int) -> TrustError:
    noise = Laplace(sensitivity=_REPLACED, epsilon=epsilon)
    observed = math.sqrt(sum(each**2 for each in noise.draw(size)) / size)
    return TrustError("dap", "discrete Laplace noise", None, noise.standard_deviation, observed)


def _label(error: TrustError) -> str:
    names = {"local": "local", "shuffle": "shuffled", "dap": "aggregated (DAP)"}
    if error.report_epsilon is None:
        return f"{names[error.trust]}, exact reports"
    return f"{names[error.trust]}, report epsilon {float(error.report_epsilon):g}"


def _note(error: TrustError) -> str:
    shown = [f"{value:,.0f}" if value >= 100 else f"{value:.1f}" for value in (error.expected, error.observed)]
    return f"{shown[0]} expected, {shown[1]} observed"
