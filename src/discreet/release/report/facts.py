"""The facts of a report: results with their names, what their charges add up to, and what documents say of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from discreet import events
from discreet.errors import ParameterError
from discreet.exact.numbers import shown
from discreet.exact.rounding import shown_up
from discreet.release.document import Document, Lines
from discreet.release.estimate import Estimate
from discreet.release.model import ModelRelease
from discreet.release.release import Release
from discreet.release.report.about import About
from discreet.release.report.charges import Protection, charge_of, protections
from discreet.release.report.tables import ResultTable, table_of
from discreet.release.result import Result
from discreet.release.saved import Saved, read_saved
from discreet.release.selection import Selection
from discreet.release.sql_release import SqlRelease
from discreet.release.values import rendering
from discreet.release.values.columns import MeasuredColumn

_NO_QUERY: Lines = (("query", "not in the file, which is of version 1"),)
_CHOSEN = "rows were chosen by their noisy numbers, by HAVING or ORDER BY with LIMIT"
_NOISY_PARTS = ("training", "scores")
_PREPROCESSING = ("derived", "joined with", "one row per unit", "contribution bounds")


@dataclass(frozen=True)
class ReportedResult:
    """A result under the name that a report has for it: that of its file, or a number."""

    name: str
    found: Saved
    path: Path | None = None

    @property
    def results(self) -> tuple[Result, ...]:
        """The results that were charged: those of a statement, or the result itself."""
        return self.found.releases if isinstance(self.found, SqlRelease) else (self.found,)

    @cached_property
    def table(self) -> ResultTable:
        """The numbers."""
        return table_of(self.found)

    @property
    def statement(self) -> str | None:
        """The SQL statement on one line, where there is one."""
        return " ".join(self.found.text.split()) if isinstance(self.found, SqlRelease) else None

    def query(self) -> Lines:
        """What was asked, in words: the lines of all queries, each once."""
        lines = (line for result in self.results for line in query_of(result))
        return tuple(dict.fromkeys(lines))


@dataclass(frozen=True)
class Facts:
    """Everything that a report is made of."""

    reported: tuple[ReportedResult, ...]
    protections: tuple[Protection, ...]
    about: About

    @property
    def results(self) -> tuple[Result, ...]:
        """All results that were charged."""
        return tuple(result for each in self.reported for result in each.results)

    @property
    def is_private(self) -> bool:
        """Whether no result is an exact one of dp.testing."""
        return all(result.private for result in self.results)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets, each once."""
        return _distinct(name for each in self.protections for name in each.datasets)

    @property
    def margin_omissions(self) -> tuple[str, ...]:
        """What margins of error do not include."""
        return _distinct(text for document in self._documents for text in document.omitted)

    @property
    def unprotected_facts(self) -> tuple[str, ...]:
        """What is not protected."""
        return _distinct(text for document in self._documents for text in document.unprotected)

    @property
    def others(self) -> tuple[str, ...]:
        """Other releases that owners declared, each with the name of its dataset where there are several."""
        return _distinct(
            text if len(self.datasets) == 1 else f"{result.dataset}: {text}"
            for result in self.results
            if result.document is not None
            for text in result.document.others
        )

    @property
    def engines(self) -> tuple[str, ...]:
        """Names of the engines that read the rows."""
        named = (dict(document.software).get("engine") for document in self._documents)
        return _distinct(name for name in named if name)

    @property
    def software(self) -> str:
        """Versions of the software that made the results."""
        lines = _distinct(f"{name} {version}" for document in self._documents for name, version in document.software)
        return ", ".join(lines) or ", ".join(_distinct(f"discreet {result.library}" for result in self.results))

    @property
    def columns_read(self) -> tuple[str, ...]:
        """Columns that engines read."""
        own = (name for result in self.results if isinstance(result, Release) for name in result.columns_read)
        said = (name for text in self.words("columns read") for name in text.split(", ") if text != "none")
        return tuple(sorted({*own, *said}))

    @property
    def post_processing(self) -> tuple[str, ...]:
        """What was done with noisy numbers."""
        steps = [step for result in self.results if isinstance(result, Release) for step in result.post_processing]
        statements = [each.found for each in self.reported if isinstance(each.found, SqlRelease)]
        steps += [_CHOSEN for statement in statements if statement.recipe.selects]
        return _distinct(steps)

    @property
    def pre_processing(self) -> tuple[str, ...]:
        """What was done with rows before noise: conditions, joins, contribution bounds, clipping."""
        lines = (line for result in self.results for line in query_of(result))
        steps = [f"{label}: {text}" for label, text in lines if label in _PREPROCESSING]
        return _distinct([*steps, *(f"clipping: {text}" for text in self.words("output") if "clipped" in text)])

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """Mechanisms in words, with their noise."""
        return _distinct(text for result in self.results for text in _mechanisms(result))

    @property
    def finds_keys(self) -> bool:
        """Whether keys were found by partition selection."""
        return any("keys not known" in text for text in self.words("groups"))

    def words(self, label: str) -> tuple[str, ...]:
        """The texts of a label in the documents of all results."""
        lines = (line for result in self.results for line in query_of(result))
        return _distinct(text for found, text in lines if found == label)

    @property
    def _documents(self) -> Iterator[Document]:
        return (result.document for result in self.results if result.document is not None)


def query_of(result: Result) -> Lines:
    """What was asked, in words."""
    return _NO_QUERY if result.document is None else result.document.query


def gather(found: Sequence[Saved | str | Path], about: About) -> Facts:
    """The facts of results, or of files that hold them; at least one."""
    if not found:
        raise ParameterError(
            "a report of nothing", because="a report is about releases", instead='dp.report(["release.json"])'
        )
    reported = tuple(_name(each, place, len(found)) for place, each in enumerate(found, 1))
    results = [result for each in reported for result in each.results]
    _require_data(results)
    return Facts(reported, protections(results), about)


def _require_data(results: Sequence[Result]) -> None:
    """Refuse a preview: its numbers are of generated data, and nothing was charged for them."""
    for result in results:
        if rendering.is_generated(result.dataset) or rendering.is_generated(str(result.receipt.get("dataset", ""))):
            raise ParameterError(
                f"a report of {result.dataset!r}",
                because="it is a preview of generated data, for which nothing was charged",
                instead="dp.report(session.release(query, epsilon=0.5)), a release of the dataset itself",
            )


def _name(found: object, place: int, count: int) -> ReportedResult:
    if isinstance(found, str | Path):
        return ReportedResult(rendering.cell(Path(found).name), read_saved(Path(found)), Path(found))
    found = getattr(found, "release", found)  # a fitted model has one
    if not isinstance(found, Result | SqlRelease):
        raise ParameterError(
            f"a report of a {type(found).__name__}",
            because="a report is about releases, selections, estimates or their files",
            instead='dp.report([release]), or dp.report(["release.json"])',
        )
    return ReportedResult("the release" if count == 1 else f"release {place}", found)


def _mechanisms(result: Result) -> Iterator[str]:
    """The noise of measured columns, the mechanism of an estimate, and simple events that say no more than a cost."""
    if isinstance(result, Estimate):
        yield result.made
        return
    if isinstance(result, Selection):
        yield "private selection among candidates"
    if isinstance(result, Release) and result.measured:
        yield from map(_noise_text, result.measured)
        return
    leaves = list(events.leaves(charge_of(result).event))
    said = _noisy_parts(result) if any(isinstance(leaf, events.ConcentratedEvent) for leaf, _ in leaves) else ()
    if said:
        yield from said
        return
    for leaf, count in leaves:
        times = f", {count:,} times" if count > 1 else ""
        yield f"{_event_text(leaf)}{times}"


def _noisy_parts(result: Result) -> tuple[str, ...]:
    """What has noise in a model, by its card; nothing of other results."""
    card = result.card if isinstance(result, ModelRelease) else ()
    return tuple(f"discrete Gaussian noise, {label}: {text}" for label, text in card if label in _NOISY_PARTS)


def _noise_text(measured: MeasuredColumn) -> str:
    """Noise in the unit of the output; what is not additive noise has a name alone."""
    if measured.noise is None:
        return measured.mechanism
    scale, sensitivity = float(measured.grid) * measured.scale, shown(measured.grid * measured.l1)
    return f"{measured.mechanism} noise, scale {scale:,.6g}, L1 sensitivity {sensitivity}"


def _event_text(leaf: events.Event) -> str:
    match leaf:
        case events.DiscreteLaplaceEvent(scale, sensitivity):
            return f"discrete Laplace noise, scale {shown(scale)}, L1 sensitivity {shown(sensitivity)}"
        case events.DiscreteGaussianEvent(variance, squared, _):
            return f"discrete Gaussian noise, variance {shown(variance)}, squared L2 sensitivity {shown(squared)}"
        case events.SampledGaussianEvent(rate, variance, squared):
            noise = f"variance {shown(variance)}, squared L2 sensitivity {shown(squared)}"
            return f"discrete Gaussian noise on a Poisson sample of rate {shown_up(rate)}, {noise}"
        case events.PureEvent(epsilon):
            return f"a mechanism of epsilon {shown_up(epsilon)}"
        case events.BoundedRangeEvent(epsilon):
            return f"a mechanism of bounded range {shown_up(epsilon)}"
        case events.ApproximateEvent(epsilon, delta):
            return f"a mechanism of epsilon {shown_up(epsilon)} and delta {shown_up(delta)}"
        case events.ApproximateConcentratedEvent(epsilon, delta, rho):
            return f"a batch of epsilon {shown_up(epsilon)}, delta {shown_up(delta)} and rho {shown_up(rho)}"
        case events.ConcentratedEvent(rho, delta):
            return f"a mechanism of rho {shown_up(rho)}" + (f" and delta {shown_up(delta)}" if delta else "")
        case events.RepeatedSelectionEvent(run, eta, gamma):
            law = f"truncated negative binomial, eta {shown(eta)}, gamma {shown(gamma)}"
            return f"the best of a random number of runs ({law}), each {' and '.join(_run_texts(run))}"
        case _:
            return type(leaf).__name__


def _run_texts(run: events.Event) -> Iterator[str]:
    for leaf, count in events.leaves(run):
        yield f"{_event_text(leaf)}{f', {count:,} times' if count > 1 else ''}"


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
