"""How far off estimates are on the Adult census: noise that fits, sample and aggregate, and sum over count.

    scripts/bench estimates [--releases 1000] [--splits 20] [--draws 20] [--pictures docs/pictures]

The exact integers are read once and noise is drawn afresh for each release, by the plans that a session makes; of every
way one release comes from a session itself, as a check. Blocks are made anew for each split (a new key). Functions run
in a sandbox for the first split of every number of blocks, and in this process for the others; for the first split
both must give the same answers. Prints tables in Markdown: median error, and in brackets what 90% are within.
At the end, a median beside a mean of invented incomes, for tight and for wide bounds.
"""

import argparse
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet import plots
from discreet.mechanisms.smooth.proposing import distance
from discreet.planner.queries.sample_and_aggregate import SampleAndAggregatePlan, analyze_sample
from discreet.planner.queries.selection import analyze_selection
from discreet.planner.queries.smooth_sensitivity import analyze_smooth
from discreet.planner.queries.tables import analyze
from discreet.query.frame import Query, relation_of
from discreet.session.pipeline import Pipeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult.csv"
EPSILONS = (0.1, 1, 10)
DELTA = 1e-9
CHUNKS = (10, 30, 100, 300, 1_000)
AGES, HOURS = (0, 125), (0, 100)
WORDS: Any = {"epsilon": 100, "ceiling": 100, "reason": "benchmark on public rows"}
PURE = dp.Budget(**WORDS)
CONVERTED = dp.Budget(delta=DELTA, **WORDS)
RESERVED = dp.Budget(delta=DELTA, reserved_delta=DELTA, **WORDS)
PEOPLE = dp.table("adult")
MEAN = PEOPLE.agg(age=dp.mean("Age", bounds=AGES))
MEDIAN = PEOPLE.agg(age=dp.median("Age", bounds=AGES))
SPREAD = PEOPLE.agg(hours=dp.interquartile_range("Hours per week", bounds=HOURS))
AGGREGATES = {"mean": "mean", "median": "median", "own bounds": "mean with bounds of its own"}
MANY, SHARE, FINE = 1_000, 0.1, 0.01

Draw = Callable[[], float | None]


@dataclass(frozen=True)
class Way:
    """A call of a session that gives one number, under a promise."""

    name: str
    budget: dp.Budget
    method: dp.SmoothSensitivity | dp.ProposedBound | None = None

    def asked(self, session: dp.Session, query: Query, epsilon: float) -> float | None:
        """One release by a session."""
        answer = session.release(query, epsilon=epsilon, method=self.method)  # type: ignore[arg-type]
        return float(answer.value()) if isinstance(answer, dp.Release) else answer.value

    def draw(self, session: dp.Session, query: Query, epsilon: float) -> Draw:
        """The same plan on integers that are read once: each call is one release."""
        catalog, engine = session.catalog, session._pipeline.engine("adult")  # noqa: SLF001
        if self.method is None:
            private = analyze(query.plan, catalog, self.budget, epsilon=epsilon)
            table = engine.run(engine.prepare(private.pushdown))
            return lambda: float(private.outputs(private.randomize(table), Fraction(19, 20))[0].values[0] or 0)
        asked = analyze_smooth(query.plan, catalog, self.budget, epsilon=epsilon, **asdict(self.method))
        exact = engine.run(engine.prepare(asked.pushdown))

        def drawn() -> float | None:
            value = asked.randomize(exact)
            return None if value is None else float(value)

        return drawn


SUMS = (Way("sum over count, Laplace", PURE), Way("sum over count, Gaussian", CONVERTED))
FITTED = (
    Way("smooth, Pareto", PURE, dp.SmoothSensitivity(noise="pareto")),
    Way("smooth, Student's t", PURE, dp.SmoothSensitivity(noise="student_t")),
    Way("smooth, Laplace", RESERVED, dp.SmoothSensitivity(noise="laplace", delta=DELTA)),
    Way("smooth, Laplace log-normal", CONVERTED, dp.SmoothSensitivity(noise="laplace_log_normal")),
)


def proposed(*bounds: float) -> tuple[Way, ...]:
    return tuple(
        Way(f"propose {bound:g}, test, release", RESERVED, dp.ProposedBound(bound=bound, delta=DELTA))
        for bound in bounds
    )


@dataclass(frozen=True)
class Errors:
    """How far off many releases are; nothing is counted apart."""

    median: float
    most: float
    nothing: int

    @classmethod
    def of(cls, values: list[float | None], truth: float) -> "Errors":
        off = [abs(value - truth) for value in values if value is not None] or [float("nan")]
        return cls(float(np.median(off)), float(np.quantile(off, 0.9)), values.count(None))

    def __str__(self) -> str:
        told = f"{plots.plain(float(f'{self.median:.2g}'))} ({plots.plain(float(f'{self.most:.2g}'))})"
        return f"{told}, nothing {self.nothing} times" if self.nothing else told


Row = tuple[str, str, list[Errors]]


def mean_age(table: pa.Table) -> float:
    return float(np.mean(table["Age"].to_numpy()))


def median_age(table: pa.Table) -> float:
    return float(np.median(table["Age"].to_numpy()))


def deviation_of_hours(table: pa.Table) -> float:
    return float(np.std(table["Hours per week"].to_numpy(), ddof=1))


@dataclass(frozen=True)
class Sampled:
    """A function for blocks, what it is of all rows, and the bounds of its answers."""

    function: Callable[[pa.Table], float]
    column: str
    bounds: tuple[float, float]
    words: str

    def plan(self, session: dp.Session, chunks: int, aggregate: str, epsilon: float) -> SampleAndAggregatePlan:
        return analyze_sample(
            relation_of(PEOPLE),
            session.catalog,
            PURE,
            columns=[self.column],
            blocks=chunks,
            bounds=self.bounds,
            function=(self.function.__name__, ""),
            aggregate=aggregate,  # type: ignore[arg-type]
            grid=FINE if aggregate == "median" else None,
            epsilon=epsilon,
        )


FUNCTIONS = (
    Sampled(mean_age, "Age", AGES, "mean age"),
    Sampled(median_age, "Age", AGES, "median age"),
    Sampled(deviation_of_hours, "Hours per week", (0, 50), "standard deviation of hours per week"),
)


class RecordingPipeline(Pipeline):
    """A private pipeline that keeps the exact answer of its last question."""

    answers: Any = None

    def randomize(self, plan: Any, exact: Any) -> Any:
        """With noise, after keeping what it is added to."""
        self.answers = exact
        return super().randomize(plan, exact)


class RecordingSession(dp.Session):
    """A private session that keeps what the sandbox answered."""

    _pipeline_class = RecordingPipeline

    @property
    def answers(self) -> list[Fraction]:
        """What the sandbox answered for each block."""
        return self._pipeline.answers  # type: ignore[attr-defined, no-any-return]


def opened(budget: dp.Budget) -> RecordingSession:
    return RecordingSession.protect(ADULT, privacy_unit=dp.ROW, budget=budget, ledger=":memory:")


def answers_here(session: dp.Session, sampled: Sampled, chunks: int) -> list[Fraction]:
    """What a function says of each block, in this process."""
    engine = session._pipeline.engine("adult")  # noqa: SLF001
    asked = sampled.plan(session, chunks, "mean", 1)
    prepared = engine.prepare_blocks(asked.pushdown, asked.columns, asked.blocks)
    tables = [table for _, table in engine.blocks(prepared)]
    return [Fraction(sampled.function(table)) for table in tables if table is not None]


def answers_in_the_sandbox(session: RecordingSession, sampled: Sampled, chunks: int) -> list[Fraction]:
    """The same by a real release, which must agree."""
    start = time.perf_counter()
    release = session.release(
        PEOPLE.apply(
            sampled.function,
            columns=[sampled.column],
            blocks=chunks,
            bounds=sampled.bounds,
            limits=dp.sandbox.Limits(constant_time=False, seconds=5),
        ),
        epsilon=1,
    )
    taken = time.perf_counter() - start
    print(f"sandbox: {sampled.words}, {chunks:,} blocks: {release.value} ± {release.margin}, {taken:.1f} s", flush=True)
    if session.answers != answers_here(session, sampled, chunks):
        raise SystemExit("the sandbox and this process give different answers")
    return session.answers


Answers = dict[tuple[str, int], list[list[Fraction]]]


def answered(splits: int) -> Answers:
    """The answers of all blocks, for each function and number of blocks, split by split."""
    found: Answers = {(sampled.words, chunks): [] for sampled in FUNCTIONS for chunks in CHUNKS}
    for split in range(splits):
        asking = answers_here if split else answers_in_the_sandbox
        with opened(PURE) as session:
            for sampled in FUNCTIONS:
                for chunks in CHUNKS:
                    found[sampled.words, chunks].append(asking(session, sampled, chunks))
    return found


def fitted_rows(query: Query, ways: tuple[Way, ...], truth: float, releases: int) -> Iterator[Row]:
    """A row for each way: what its delta is, and its errors at each epsilon."""
    for way in ways:
        found = []
        for epsilon in EPSILONS:
            with opened(way.budget) as session:
                once, draw = way.asked(session, query, epsilon), way.draw(session, query, epsilon)
                found.append(Errors.of([draw() for _ in range(releases)], truth))
            print(f"session: {way.name}, epsilon {epsilon:g}: {once}; {found[-1]}", flush=True)
        yield way.name, "none" if way.budget.is_pure else "1e-9", found


def sampled_row(
    session: dp.Session, sampled: Sampled, chunks: int, aggregate: str, answers: Answers, given: argparse.Namespace
) -> Row:
    found = []
    for epsilon in EPSILONS:
        plan = sampled.plan(session, chunks, AGGREGATES[aggregate], epsilon)
        splits = answers[sampled.words, chunks]
        values: list[float | None] = [float(plan.randomize(each).value) for each in splits for _ in range(given.draws)]
        found.append(Errors.of(values, truth_of(sampled.function)))
    return f"sample and aggregate, {aggregate} of {chunks:,} blocks", "none", found


def chosen_row(session: dp.Session, releases: int) -> Row:
    """A median by choosing: a tenth of epsilon counts, the rest chooses the age with half of the people below it."""
    engine, catalog = session._pipeline.engine("adult"), session.catalog  # noqa: SLF001
    ages, people = range(AGES[0], AGES[1] + 1), len(rows()["Age"])
    truth = truth_of(median_age)

    def plan(half: Fraction, epsilon: float) -> Any:
        selection = PEOPLE.choose(ages, score=dp.score(by="Age", side="below", near=half)).plan
        return analyze_selection(selection, catalog, PURE, epsilon=epsilon * (1 - SHARE))

    exact = engine.run(engine.prepare(plan(Fraction(0), 1).pushdown))
    found = []
    for epsilon in EPSILONS:
        count = dp.mechanisms.Laplace(sensitivity=1, epsilon=epsilon * SHARE)
        halves = [Fraction(count.release(people)) / 2 for _ in range(releases)]
        values: list[float | None] = [float(ages[plan(half, epsilon).randomize(exact)[0]]) for half in halves]
        found.append(Errors.of(values, truth))
    return "choose the age with half below", "none", found


def rows() -> pa.Table:
    import pyarrow.csv  # noqa: PLC0415 - only here

    return pyarrow.csv.read_csv(ADULT)


def truth_of(function: Callable[[pa.Table], float]) -> float:
    return function(rows())


def table(title: str, made: list[Row]) -> None:
    print(f"\n{title}\n")
    print("| way | delta | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in EPSILONS) + " |")
    print("|---|---|" + "---|" * len(EPSILONS))
    for name, delta, found in made:
        print(f"| {name} | {delta} | " + " | ".join(map(str, found)) + " |", flush=True)


def incomes(releases: int) -> None:
    """A median and a mean of invented incomes at epsilon 0.5, by how many people there are and how wide the bounds."""
    for people in (200, 2_000, 20_000):
        rows_of = dp.datasets.people(people)
        exact = np.sort(rows_of["income"].to_numpy())
        unit: Any = {"privacy_unit": "person_id", "max_rows": 1}
        with dp.protect(rows_of, name="adult", budget=PURE, ledger=":memory:", **unit) as session:
            for most in (100_000, 500_000):
                median = PEOPLE.agg(income=dp.median("income", bounds=(0, most)))
                mean = PEOPLE.agg(income=dp.mean("income", bounds=(0, most)))
                draws = FITTED[0].draw(session, median, 0.5), SUMS[0].draw(session, mean, 0.5)
                truths = float(exact[(people - 1) // 2]), float(exact.mean())
                told = [
                    str(Errors.of([draw() for _ in range(releases)], truth))
                    for draw, truth in zip(draws, truths, strict=True)
                ]
                print(f"incomes of {people:,} up to {most:,}: median {told[0]}, mean {told[1]}", flush=True)


def passing(session: dp.Session) -> None:
    """How sure a test is to pass, which only we may know: the rows are public here."""
    engine = session._pipeline.engine("adult")  # noqa: SLF001
    for bound in (0.1, 0.01, 0.004, 0.0039, 0.00385):
        for epsilon in EPSILONS:
            words: Any = {"epsilon": epsilon, "bound": bound, "delta": DELTA}
            asked = analyze_smooth(MEAN.plan, session.catalog, RESERVED, **words)
            local = asked.reading.local(engine.run(engine.prepare(asked.pushdown)))
            mechanism: Any = asked.mechanism
            far = distance(local, mechanism.bound)
            chance = 1.0 if far is None else mechanism.chance(far)
            print(f"test of {bound:g} at epsilon {epsilon:g}: distance {far}, over {mechanism.threshold}: {chance:.6f}")


def compared(made: list[Row], title: str) -> Any:
    """A line for each way: marks at median errors, one kind for each epsilon, and lines up to what 90% are within."""
    with plots.canvas(9.0, 0.42 * len(made) + 1.9, title) as (figure, (axes,)):
        for place, epsilon in enumerate(EPSILONS):
            colour, marker = plots.COLOURS[place], plots.MARKERS[place]
            heights = [line + 0.22 * (place - 1) for line in range(len(made))]
            medians = [found[place].median for _, _, found in made]
            axes.hlines(heights, medians, [found[place].most for _, _, found in made], color=colour, linewidth=1.6)
            axes.plot(
                medians,
                heights,
                marker,
                color=colour,
                markersize=7,
                markeredgecolor="white",
                label=f"epsilon {epsilon:g}",
            )
        names = [name if delta == "none" else f"{name} (delta {delta})" for name, delta, _ in made]
        axes.set_yticks(range(len(made)), names)
        axes.set_ylim(len(made) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        _logarithmic(axes, "x")
        axes.grid(axis="x", color=plots.FAINT, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.set_xlabel("error in years\nmark: the median; line: up to what 90% of releases are within")
        figure.legend(loc="outside lower center", frameon=False, ncols=len(EPSILONS))
        told = (f"{name} {', '.join(map(str, found))}" for name, (_, _, found) in zip(names, made, strict=True))
        figure.set_label(f"{title}, at epsilon {', '.join(f'{e:g}' for e in EPSILONS)}: " + "; ".join(told))
    return figure


def by_chunks(panels: dict[str, dict[str, list[float]]]) -> Any:
    """Errors against the number of blocks: a panel for each function, a line for each epsilon and one without noise."""
    title = "Error of sample and aggregate against the number of blocks"
    with plots.canvas(7.5, 9.0, title, len(panels)) as (figure, drawn):
        for axes, (words, lines) in zip(drawn, panels.items(), strict=True):
            for place, (name, errors) in enumerate(lines.items()):
                axes.plot(
                    CHUNKS,
                    errors,
                    label=name,
                    color=plots.COLOURS[place],
                    linestyle=plots.LINES[place],
                    marker=plots.MARKERS[place],
                    markersize=6.5,
                    markeredgecolor="white",
                    linewidth=1.8,
                )
            _logarithmic(axes, "x")
            _logarithmic(axes, "y")
            axes.set_xticks(CHUNKS, [f"{chunks:,}" for chunks in CHUNKS])
            axes.grid(color=plots.FAINT, linewidth=0.7)
            axes.set_axisbelow(True)
            axes.set_ylabel(f"median error:\n{words}")
        drawn[-1].set_xlabel("blocks")
        handles, names = drawn[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", frameon=False, handlelength=4, ncols=2)
        told = (
            f"{words}, {name}: " + ", ".join(f"{plots.plain(e)} at {c:,}" for c, e in zip(CHUNKS, errors, strict=True))
            for words, lines in panels.items()
            for name, errors in lines.items()
        )
        figure.set_label(f"{title}. " + "; ".join(told))
    return figure


def _logarithmic(axes: "Axes", which: str) -> None:
    from matplotlib.ticker import LogLocator, NullLocator  # noqa: PLC0415 - optional

    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda number, _: plots.plain(round(number, 9)))


Made = dict[tuple[str, str, int], Row]


def of_chunks(session: dp.Session, answers: Answers, given: argparse.Namespace) -> Made:
    """Every function, aggregate and number of blocks; a table of each function."""
    made: Made = {}
    for sampled in FUNCTIONS:
        for name in AGGREGATES:
            for chunks in CHUNKS:
                row = sampled_row(session, sampled, chunks, name, answers, given)
                made[sampled.words, name, chunks] = row
        truth = truth_of(sampled.function)
        table(f"{sampled.words}, truth {truth:.4f}", [row for key, row in made.items() if key[0] == sampled.words])
    return made


def lines_of(sampled: Sampled, made: Made, answers: Answers) -> dict[str, list[float]]:
    """The lines of a picture: the mean of blocks at each epsilon, and without noise."""
    lines = {
        f"with noise, epsilon {epsilon:g}": [made[sampled.words, "mean", c][2][place].median for c in CHUNKS]
        for place, epsilon in enumerate(EPSILONS)
    }
    return lines | {"without noise: blocks alone": [alone(sampled, chunks, answers) for chunks in CHUNKS]}


def alone(sampled: Sampled, chunks: int, answers: Answers) -> float:
    """The median error, over splits, of the mean of the answers without noise."""
    truth = truth_of(sampled.function)
    off = [abs(float(sum(each)) / chunks - truth) for each in answers[sampled.words, chunks]]
    spread = np.median([np.std([float(answer) for answer in each]) for each in answers[sampled.words, chunks]])
    print(f"{sampled.words}, {chunks:,} blocks: off by {np.median(off):.5f} without noise, answers spread {spread:.4f}")
    return float(np.median(off))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--releases", type=int, default=1_000)
    options.add_argument("--splits", type=int, default=20)
    options.add_argument("--draws", type=int, default=20)
    options.add_argument("--pictures", default=None)
    given = options.parse_args()
    logging.disable(logging.WARNING)
    answers = answered(given.splits)
    with opened(PURE) as session:
        made = of_chunks(session, answers, given)
        chosen = chosen_row(session, given.releases)
        passing(session)
    panels = {sampled.words: lines_of(sampled, made, answers) for sampled in FUNCTIONS}
    ages, middles, _ = (sampled.words for sampled in FUNCTIONS)
    ways = (*SUMS, *FITTED, *proposed(0.1, 0.01, 0.004))
    means = [*fitted_rows(MEAN, ways, truth_of(mean_age), given.releases)]
    means += [made[ages, name, MANY] for name in AGGREGATES]
    table(f"mean age, truth {truth_of(mean_age):.4f}", means)
    medians = [*fitted_rows(MEDIAN, (*FITTED, *proposed(1)), truth_of(median_age), given.releases)]
    table("median age, truth 37", [*medians, chosen, made[middles, "median", MANY]])
    table("distance between quartiles of hours, truth 5", list(fitted_rows(SPREAD, FITTED, 5.0, given.releases)))
    incomes(given.releases)
    if given.pictures:
        place = Path(given.pictures)
        people = "Mean age of 32,561 people, one number by each way"
        shown = {name: lines for name, lines in panels.items() if name != middles}
        compared(means, people).savefig(place / "estimating-mean.svg", metadata={"Date": None})
        by_chunks(shown).savefig(place / "estimating-chunks.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
