"""The best of a random number of runs: selection among models that are fitted with noise and scored with noise.

Definition
    Draw a number of runs K of the truncated negative binomial law, run a private mechanism K times with fresh
    randomness, and publish the output of the highest score, the first of several such. K is not published.

Guarantee
    If one run is as private as its event says, the release is as private as `event()` says: at a Renyi order, a few
    times the cost of one run, however many runs there are. Proof: docs/proofs/mechanisms/selection/repeated.md
    and docs/proofs/accounting/repeated_selection.md.

Exactness
    K is drawn with exactly its probabilities (samplers/repetitions.py).

Not covered
    The time of a release, which shows K to those who can measure it. Outputs of other runs: they must not be kept.
    Runs that raise an error.

References
    Papernot and Steinke, Hyperparameter Tuning with Renyi Differential Privacy, ICLR 2022, Theorem 2.
    Liu and Talwar, Private Selection from Private Candidates, STOC 2019.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from discreet.errors import public_class, short_traceback
from discreet.events import Event, HasEvent, RepeatedSelectionEvent, event_of
from discreet.exact.numbers import Number
from discreet.samplers import repetitions

Output = TypeVar("Output")


@public_class
@dataclass(frozen=True, init=False)
class RepeatedSelection:
    """The best of a random number of runs of one mechanism.

    A run draws a candidate at random, fits it with noise and scores it with noise. All of that is in the event of
    one run.

    Args:
        run: Event of one run, or a mechanism; without a delta of its own.
        gamma: Parameter of the number of runs, above 0 and below 1. For eta=1 the mean is 1/gamma.
        eta: Shape of the number of runs, above -1. A smaller one costs less and spreads the number more. Default 1.

    Raises:
        AccountingError: If a run has a delta of its own.
        ParameterError: If eta or gamma is outside its range.

    Example:
        >>> import discreet as dp
        >>> from discreet.mechanisms.selection.repeated import RepeatedSelection
        >>> noise = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)
        >>> search = RepeatedSelection(run=noise, gamma=0.1)
        >>> dp.accounting.pure.epsilon(search.event())
        Fraction(3, 10)
    """

    _event: RepeatedSelectionEvent

    @short_traceback
    def __init__(self, *, run: Event | HasEvent, gamma: Number, eta: Number = 1) -> None:
        event = RepeatedSelectionEvent(event_of(run), eta=eta, gamma=gamma)  # type: ignore[arg-type]
        object.__setattr__(self, "_event", event)

    @property
    def eta(self) -> Fraction:
        """Shape of the number of runs."""
        return self._event.eta

    @property
    def gamma(self) -> Fraction:
        """Parameter of the mean number of runs."""
        return self._event.gamma

    def event(self) -> RepeatedSelectionEvent:
        """What a release does, for accountants.

        Returns:
            The event.
        """
        return self._event

    def release(self, run: Callable[[], Output], score: Callable[[Output], Any]) -> Output:
        """Run a random number of times, and return the output of the highest score.

        Args:
            run: Function that runs the mechanism once, with fresh randomness.
            score: Function from an output to its score, which reads nothing but the output.

        Returns:
            The first output of the highest score.
        """
        best = run()
        for _ in range(repetitions.negative_binomial(self.eta, self.gamma) - 1):
            other = run()
            if score(other) > score(best):
                best = other
        return best
