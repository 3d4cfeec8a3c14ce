"""Membership inference: was this person among those whom the published figures are about?

A score says how much likelier the figures are if the person is in. Over many people who are in and many who are not,
scores make a curve: how many members are called members (the true positive rate), when so many others are called
members too (the false positive rate). Under (epsilon, delta) no curve rises above e^epsilon times the second, plus
delta: so a curve is a lower bound on epsilon, stated here with a confidence.

`evaluate` takes scores of any origin, from figures, models or synthetic tables. The scores of this module are
logarithms of likelihood ratios against counts (Homer et al., PLoS Genetics 2008; Sankararaman et al., Nature Genetics
2009; Carlini et al., Membership Inference Attacks From First Principles, IEEE S&P 2022).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from discreet import plots
from discreet.attacks import answers, pictures
from discreet.attacks.answers import checked_session
from discreet.attacks.outcome import Outcome, percent, pluralize
from discreet.catalog.catalog import Value
from discreet.engines.sources.arrow_tables import as_arrow, column_names, encode
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, positive, probability, whole
from discreet.mechanisms import Laplace
from discreet.query import frame
from discreet.session.session import Session

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scores = NDArray[np.float64]
Integers = NDArray[np.int64]

FALSE_POSITIVES = (0.001, 0.01, 0.1)
_MOST_POINTS = 200
_MOST_THRESHOLDS = 400
_CERTAIN = 1e6
_FEW = 20
_FEWEST_RUNS = 100


@public_class
@dataclass(frozen=True, repr=False)
class Membership(Outcome):
    """Outcome of membership inference: how well a score tells members from others.

    Attributes:
        publisher: What was published, in words.
        inside: Number of scores of members.
        outside: Number of scores of others.
        area: Area under the curve.
        advantage: Largest difference of both rates.
        rates: Pairs of a false positive rate and the true positive rate at no more than it.
        curve: Pairs of both rates.
        found: Epsilon that the scores show, or None where they are not independent.
        confidence: Confidence of `found`.
        epsilon: Claimed epsilon, or None.
        delta: Claimed delta.

    Example:
        >>> import discreet as dp
        >>> dp.attacks.membership.evaluate([1.0] * 40, [0.0] * 40).area
        1.0
    """

    attack = "membership inference"

    publisher: str
    inside: int
    outside: int
    area: float
    advantage: float
    rates: tuple[tuple[float, float], ...]
    curve: tuple[tuple[float, float], ...]
    found: float | None
    confidence: float
    epsilon: float | None
    delta: float

    @property
    def is_contradicted(self) -> bool:
        """Whether the scores contradict the claimed guarantee."""
        return self.found is not None and self.epsilon is not None and self.found > self.epsilon

    @property
    def has(self) -> str:
        """What the attacker starts from."""
        return f"{self.publisher}, and scores of {self.inside:,} who are in and {self.outside:,} who are not"

    @property
    def does(self) -> str:
        """What the attacker does with it."""
        return "calls people with high scores members: the figures are likelier with them in"

    @property
    def inference(self) -> str:
        """What came out, and from how much."""
        text = f"{self._rates_text}; area under the curve {self.area:.3f}"
        if self.found is None:
            return text
        least = plots.plain(round(self.found, 3))
        return f"{text}; that takes an epsilon of at least {least} (at {percent(self.confidence)} confidence)"

    @property
    def with_epsilon(self) -> str:
        """What epsilon does about it."""
        epsilon = 1.0 if self.epsilon is None else self.epsilon
        places = [false for false, _ in self.rates] or FALSE_POSITIVES
        most = ", ".join(
            f"{percent(max_true_positive_rate(place, epsilon, self.delta))} at {percent(place)}" for place in places
        )
        text = f"at epsilon {plots.plain(epsilon)} no score of any kind does better than {most}"
        return text if self.found is not None else f"{text}, in the mean over many releases"

    @property
    def _rates_text(self) -> str:
        if not self.rates:
            least = round(_FEW / max(FALSE_POSITIVES))
            return f"no rate, which takes scores of {least:,} who are in and {least:,} who are not"
        rates = ", ".join(f"{percent(true)} at {percent(false)}" for false, true in self.rates)
        return f"members called members, at others called so: {rates}"

    def plot(self, *others: "Membership") -> "Figure":
        """Both rates on logarithmic axes, with other outcomes and the bound of epsilon.

        Args:
            others: Further outcomes to draw.

        Returns:
            A figure.
        """
        drawn = (self, *others)
        least = max(min(0.1, _FEW / each.outside) for each in drawn)
        promised = [(each.epsilon, each.delta) for each in drawn if each.epsilon is not None]
        epsilon, delta = max(promised, default=(1.0, 0.0))
        places = np.geomspace(least, 1, 80).tolist()
        bound = tuple((place, max_true_positive_rate(place, epsilon, delta)) for place in places)
        return pictures.curves(
            [
                *(pictures.Curve(each.publisher, _raise_to(each.curve, least), is_stepped=True) for each in drawn),
                pictures.Curve(f"the most that epsilon {plots.plain(epsilon)} allows", bound, is_measured=False),
                pictures.Curve("guessing", ((least, least), (1.0, 1.0)), is_measured=False),
            ],
            title="Membership inference: who was in the data",
            x=pictures.Axis("others called members", scale="log", limits=(least, 1), is_share=True),
            y=pictures.Axis("members called members", scale="log", limits=(least, 1.1), is_share=True),
            caption=_caution(drawn),
        )


@short_traceback
def max_true_positive_rate(false_positives: float, epsilon: float, delta: float = 0.0) -> float:
    """Largest true positive rate of any score under (epsilon, delta).

    Args:
        false_positives: The false positive rate.
        epsilon: The epsilon.
        delta: The delta. Default 0.

    Returns:
        The true positive rate.

    Example:
        >>> import discreet as dp
        >>> round(dp.attacks.membership.max_true_positive_rate(0.01, epsilon=1), 3)
        0.027
    """
    by_members = exp(epsilon) * false_positives + delta
    by_others = 1 - exp(-epsilon) * (1 - false_positives - delta)
    return min(1.0, by_members, by_others)


@short_traceback
def evaluate(
    scores_in: ArrayLike,
    scores_out: ArrayLike,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    confidence: Number = 0.95,
    are_independent: bool = True,
    publisher: str = "figures about a group",
) -> Membership:
    """How well scores tell members from others, and the least epsilon that allows it.

    Args:
        scores_in: Scores of members.
        scores_out: Scores of others.
        epsilon: Claimed epsilon. Default: none.
        delta: Claimed delta. Default 0.
        confidence: Confidence of the epsilon that is found. Default 0.95.
        are_independent: Whether each score is from a run of its own; otherwise no epsilon is found. Default True.
        publisher: What was published, in words.

    Returns:
        The outcome.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> dp.attacks.membership.evaluate([1.0] * 40, [0.0] * 40).advantage
        1.0
    """
    inside, outside = _check_scores(scores_in, "scores_in"), _check_scores(scores_out, "scores_out")
    small, level = float(probability(delta, "delta")), float(probability(confidence, "confidence", example="0.95"))
    false, true = _rates(inside, outside)
    return Membership(
        publisher=publisher,
        inside=len(inside),
        outside=len(outside),
        area=float(np.sum(np.diff(false) * (true[1:] + true[:-1]) / 2)),
        advantage=float(np.max(true - false)),
        rates=tuple((place, float(true[false <= place].max())) for place in _places(min(len(inside), len(outside)))),
        curve=_thin_curve(false, true),
        found=_epsilon_lower_bound(inside, outside, small, level) if are_independent else None,
        confidence=level,
        epsilon=None if epsilon is None else float(positive(epsilon, "epsilon")),
        delta=small,
    )


@short_traceback
def likelihood_ratios(counts: ArrayLike, *, people: int, frequencies: ArrayLike, deviation: float = 0.0) -> Scores:
    """Log-likelihood ratio of each count, with a person of that value in and out.

    Args:
        counts: The counts.
        people: Number of other people.
        frequencies: Frequency of each value in general.
        deviation: Standard deviation of the noise, taken for Gaussian. Default 0.

    Returns:
        The ratios; the score of a person is the sum over their values.

    Example:
        >>> import discreet as dp
        >>> ratios = dp.attacks.membership.likelihood_ratios([12, 8], people=20, frequencies=[0.5, 0.5])
        >>> bool(ratios[0] > ratios[1])
        True
    """
    seen, often = np.asarray(counts, dtype=float), np.asarray(frequencies, dtype=float)
    if deviation:
        ratios: Scores = (seen - people * often - 0.5) / (people * often * (1 - often) + deviation**2)
        return ratios
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(seen * (1 - often)) - np.log((people - seen + 1) * often)
    return np.nan_to_num(ratios, nan=0.0, posinf=_CERTAIN, neginf=-_CERTAIN)


@short_traceback
def against_table(
    rows: object,
    *,
    columns: Sequence[str],
    people: int = 100,
    epsilon: Number | None = None,
    runs: int = 10_000,
    confidence: Number = 0.95,
    generator: np.random.Generator | None = None,
) -> Membership:
    """Publish counts of a random group, exact or with noise, and score one more person in and out.

    Args:
        rows: Table, or the path of a CSV or Parquet file.
        columns: Columns whose values are counted.
        people: Size of the group. Default 100.
        epsilon: Total epsilon of the counts. Default: exact counts.
        runs: Number of runs. Default 10,000.
        confidence: Confidence of the epsilon that is found. Default 0.95.
        generator: Generator of the random groups. Default: a new one.

    Returns:
        The outcome.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> choices = {"columns": ["state", "occupation"], "people": 50, "runs": 200}
        >>> dp.attacks.membership.against_table(dp.datasets.people(500), **choices).inside
        200
    """
    names = column_names(columns, "columns", example='["ward", "sex"]')
    times = whole(runs, "runs", least=_FEWEST_RUNS)
    cells, frequencies = _cells(as_arrow(rows, *names), names)
    size, chosen = whole(people, "people"), np.random.default_rng() if generator is None else generator
    if len(cells) <= size:
        raise ParameterError(
            f"people={size}", because=f"the table has {len(cells):,} rows", instead=f"people={max(1, len(cells) // 2)}"
        )
    noise = None if epsilon is None else Laplace(sensitivity=len(names), epsilon=epsilon)
    spread = noise.standard_deviation if noise else 0.0
    targets, counts = _groups(cells, size, times, len(frequencies), chosen)
    # in, then out; noise on counts that the target is not in plays no part in the score, so none is drawn
    shown = np.stack([counts + 1, counts])
    if noise:
        shown = np.asarray(noise.release(shown.ravel()), dtype=float).reshape(shown.shape)
    ratios = likelihood_ratios(shown, people=size, frequencies=frequencies[targets], deviation=spread)
    kind = "exact counts" if epsilon is None else f"counts at a total epsilon of {plots.plain(float(epsilon))}"
    text = f"{kind}, {pluralize(len(names), 'column')} of {pluralize(size, 'person', 'people')}"
    return evaluate(*ratios.sum(axis=2), epsilon=epsilon, confidence=confidence, publisher=text)


@short_traceback
def against_session(
    session: Session,
    members: object,
    others: object,
    *,
    table: str,
    keys: Mapping[str, Sequence[Value]],
    epsilon: Number,
) -> Membership:
    """Ask a session for counts of public values, and score everybody.

    Args:
        session: The session; it is charged.
        members: Table of people in the session.
        others: Table of other people; frequencies are taken from them.
        table: Name of the table.
        keys: Public values by column.
        epsilon: Total epsilon of the counts.

    Returns:
        The outcome.

    Raises:
        Refusal: If an argument is of another kind, or the session refuses a query.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(200)
        >>> facts = {"name": "people", "privacy_unit": "person_id", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
        >>> session, keys = dp.testing.protect(people[:100], **facts), {"sex": ["female", "male"]}
        >>> attack = {"table": "people", "keys": keys, "epsilon": 1}
        >>> dp.attacks.membership.against_session(session, people[:100], people[100:], **attack).inside
        100
    """
    checked_session(session)
    _checked_keys(keys)
    columns, price, is_private = list(keys), positive(epsilon, "epsilon") / len(keys), True
    inside, outside = as_arrow(members, *columns), as_arrow(others, *columns)
    total_in, total_out = np.zeros(inside.num_rows), np.zeros(outside.num_rows)
    for name in columns:
        query = frame.table(table).group_by(name, keys={name: keys[name]}).agg(n=frame.count())
        release = session.release(query, epsilon=price)
        is_private = release.private
        ratios = _session_ratios(release.to_arrow(), name, inside, outside, answers.deviation(release))
        total_in, total_out = total_in + ratios[: inside.num_rows], total_out + ratios[inside.num_rows :]
    budget, people = session.ledger.budget(table), pluralize(inside.num_rows, "person", "people")
    return evaluate(
        total_in,
        total_out,
        epsilon=epsilon if is_private else None,
        delta=budget.delta,
        are_independent=False,
        publisher=f"a session's {'' if is_private else 'exact '}counts, "
        f"{pluralize(len(columns), 'column')} of {people}",
    )


def _checked_keys(keys: object) -> None:
    if not isinstance(keys, Mapping) or not keys:
        raise ParameterError(
            f"keys={keys!r}",
            because="each column is asked for, with all of its public values",
            instead='keys={"ward": ["A", "B"]}',
        )


def _session_ratios(release: pa.Table, name: str, inside: pa.Table, outside: pa.Table, deviation: float) -> Scores:
    """The part of everybody's score that the counts of one column make; a value that was not asked for says nothing."""
    codes = encode([release[name], inside[name], outside[name]], name)
    asked, targets = codes[: release.num_rows], codes[release.num_rows :]
    counts = np.zeros(codes.max(initial=0) + 1)
    counts[asked] = release["n"].to_numpy()
    often = np.bincount(targets[inside.num_rows :], minlength=len(counts)) / max(1, outside.num_rows)
    often = np.clip(often, 0.5 / max(1, outside.num_rows), 1 - 0.5 / max(1, outside.num_rows))
    ratios = likelihood_ratios(counts, people=inside.num_rows - 1, frequencies=often, deviation=deviation)
    scores: Scores = np.where(np.isin(targets, asked), ratios[targets], 0.0)
    return scores


def _cells(table: pa.Table, columns: Sequence[str]) -> tuple[Integers, Scores]:
    """For every row the places of its values in one long list of counts, and how often each value is."""
    if not table.num_rows:
        raise ParameterError("a table without rows", because="there is no row to count", instead="a table of people")
    codes, start = [], 0
    for name in columns:
        column = encode([table[name]], name)
        codes.append(column + start)
        start += int(column.max()) + 1
    cells = np.stack(codes, axis=1)
    frequencies: Scores = np.bincount(cells.ravel(), minlength=start) / len(cells)
    return cells, frequencies


def _groups(
    cells: Integers, size: int, runs: int, values: int, generator: np.random.Generator
) -> tuple[Integers, Integers]:
    """For each run the cells of one person, and how many of a random group of others are in each of these."""
    targets = np.empty((runs, cells.shape[1]), dtype=np.int64)
    counts = np.empty_like(targets)
    for run in range(runs):
        drawn = generator.choice(len(cells), size + 1, replace=False, shuffle=False)
        place = generator.integers(size + 1)
        targets[run] = cells[drawn[place]]
        counts[run] = np.bincount(cells[np.delete(drawn, place)].ravel(), minlength=values)[targets[run]]
    return targets, counts


def _places(scores: int) -> list[float]:
    """The false positive rates that enough scores of either kind stand behind."""
    return [place for place in FALSE_POSITIVES if round(place * scores, 9) >= _FEW]


def _raise_to(curve: Sequence[tuple[float, float]], least: float) -> tuple[tuple[float, float], ...]:
    """A curve on axes that have no zero."""
    return tuple((max(false, least / 100), max(true, least / 100)) for false, true in curve)


def _caution(drawn: Sequence[Membership]) -> str:
    """What a reader must know of the curves before holding them against the bound."""
    words = f"drawn from where {_FEW} others are called members"
    if all(each.found is not None for each in drawn):
        return words
    return f"{words}; the scores of one release lean on each other, and may cross the bound by chance"


def _check_scores(scores: ArrayLike, name: str) -> Scores:
    found = np.asarray(scores, dtype=np.float64)
    if found.ndim != 1 or not len(found) or np.isnan(found).any():
        raise ParameterError(
            f"{name} of shape {found.shape}",
            because="there is one number for each person, at least one, and none is NaN",
            instead=f"{name}=[0.3, 1.7, -0.2]",
        )
    return found


def _rates(inside: Scores, outside: Scores) -> tuple[Scores, Scores]:
    """False and true positive rates for every threshold, from none called members to all."""
    thresholds = np.unique(np.concatenate([inside, outside]))
    called_in = len(inside) - np.searchsorted(np.sort(inside), thresholds, side="left")
    called_out = len(outside) - np.searchsorted(np.sort(outside), thresholds, side="left")
    false = np.concatenate([[0.0], called_out[::-1] / len(outside)])
    true = np.concatenate([[0.0], called_in[::-1] / len(inside)])
    return false, true


def _thin_curve(false: Scores, true: Scores) -> tuple[tuple[float, float], ...]:
    """The corners of the curve, or so many of them as a picture needs, more where few others are called."""
    if len(false) > _MOST_POINTS:
        places = np.unique(np.geomspace(1, len(false), _MOST_POINTS).astype(np.int64) - 1)
        false, true = false[places], true[places]
    return tuple(zip(false.tolist(), true.tolist(), strict=True))


def _epsilon_lower_bound(inside: Scores, outside: Scores, delta: float, confidence: float) -> float:
    """An epsilon below the true one with the confidence: half of the scores chooses a threshold, half judges."""
    if min(len(inside), len(outside)) < 4:
        return 0.0
    choosing = np.unique(np.concatenate([inside[::2], outside[::2]]))
    thresholds = choosing[:: max(1, len(choosing) // _MOST_THRESHOLDS)]
    guesses = np.stack([_bounds(inside[::2], outside[::2], t, delta, confidence) for t in thresholds])
    line, direction = np.unravel_index(np.argmax(guesses), guesses.shape)
    judged = _bounds(inside[1::2], outside[1::2], float(thresholds[line]), delta, confidence)
    return max(0.0, float(judged[direction]))


def _bounds(inside: Scores, outside: Scores, threshold: float, delta: float, confidence: float) -> tuple[float, float]:
    """The epsilon that calling above the threshold shows, and the one that calling below it shows."""
    called_in, called_out = int((inside >= threshold).sum()), int((outside >= threshold).sum())
    above = _ratio(called_in, len(inside), called_out, len(outside), delta, confidence)
    rest_in, rest_out = len(inside) - called_in, len(outside) - called_out
    return above, _ratio(rest_out, len(outside), rest_in, len(inside), delta, confidence)


def _ratio(many: int, of_many: int, few: int, of_few: int, delta: float, confidence: float) -> float:
    """ln((p - delta)/q) with p bounded from below and q from above (Clopper and Pearson), both at once."""
    half = (1 - confidence) / 2
    least = float(betaincinv(many, of_many - many + 1, half)) if many else 0.0
    most = float(betaincinv(few + 1, of_few - few, 1 - half)) if few < of_few else 1.0
    return log((least - delta) / most) if least > delta else -np.inf
