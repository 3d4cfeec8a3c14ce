"""Twenty common questions: 95% intervals before and after decisions 063 to 065, beside lower bounds and peers.

    scripts/bench questions                                print the tables
    scripts/bench questions --write                        write them into docs/accuracy.md
    scripts/bench questions --before OLD_SRC               compute the column "before" again, from another source tree
    scripts/bench questions --peer opendp=PYTHON           ask a peer again (tumult, opendp, pipelinedp), by its Python

Every question is asked alone, for the whole budget and for a tenth of it. "After" is always computed, from `explain`,
which is free; a sum with automatic bounds is measured. The columns of `--before` and `--peer` are recorded beside this
script. `--json` prints the figures of the discreet that is imported.
"""

import argparse
import json
import logging
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from peers import laws
from peers.settings import (
    BINS,
    BOUNDS,
    CANDIDATES,
    DELTA,
    GROUPS,
    QUARTILES,
    ROWS,
    RUNS,
    SEED,
    SETTINGS,
    STEPS,
    TOP,
    Answer,
    Figures,
)

import discreet as dp
from discreet.mechanisms.keys import Optimal

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "accuracy.md"
RECORDED = HERE / "questions_recorded.json"
START, END = "<!-- scripts/bench questions --write: start -->", "<!-- scripts/bench questions --write: end -->"
PEERS = {"tumult": "Tumult Analytics", "opendp": "OpenDP", "pipelinedp": "PipelineDP"}
TABLES = {
    "pure": "## Pure: epsilon 1",
    "approximate": "## Approximate: epsilon 1, delta 1e-6",
}

QUERIES, TOP_ANSWERS, NOISES = 1_000, 10, 200
MEAN_NOISE = re.compile(r"sum (scale|sigma) ([\d,.]+).*count (scale|sigma) ([\d,.]+)")
SQUARES_NOISE = re.compile(r"squares (scale|sigma) ([\d,.]+)")
MEAN_SQUARED = re.compile(r"root mean squared error of ([\d,.]+)")
KEPT_HALF = re.compile(r"a key of ([\d,]+) units is kept half of the time")
TABLE = dp.table("people")
VALUE = {"bounds": BOUNDS}


@dataclass(frozen=True)
class Question:
    """One question: its words, and the answer of a session that is asked for an epsilon."""

    words: str
    ask: Callable[[dp.Budget, float], Answer]


def opened(budget: dp.Budget, source: pa.Table | None = None, **facts: Any) -> dp.Session:
    """A session with a budget of its own; one person has one row unless the facts say otherwise."""
    names = ("id", "g", "state", "county", "tract")
    made_up = pa.table({name: ["0"] for name in names} | {"v": [1]})
    given = {"privacy_unit": "id", "max_rows": 1, "population": ROWS, "fixed_schema": True} | facts
    return dp.protect(made_up if source is None else source, name="people", budget=budget, ledger=":memory:", **given)


def explained(query: Any, **facts: Any) -> Callable[[dp.Budget, float], Any]:
    """What `explain` says of a query."""

    def ask(budget: dp.Budget, epsilon: float) -> Any:
        with opened(budget, **facts) as session:
            return session.explain(query, epsilon=epsilon)

    return ask


def stated(output: Any) -> float | None:
    """The half-width of an output, None where it is not public."""
    return None if output.margin is None else float(output.margin)


def margins(query: Any, **facts: Any) -> Callable[[dp.Budget, float], Answer]:
    """The half-width of each output."""
    ask = explained(query, **facts)
    return lambda budget, epsilon: [stated(output) for output in ask(budget, epsilon).outputs]


def widest(query: Any) -> Callable[[dp.Budget, float], Answer]:
    """The largest half-width of all outputs."""
    ask = margins(query)
    return lambda budget, epsilon: [max(filter(None, ask(budget, epsilon)), default=None)]


def with_errors(query: Any, rows: int) -> Callable[[dp.Budget, float], Answer]:
    """Half-widths; after that of a mean or a variance the 95% quantile of its error, from the noise, as for peers."""
    ask = explained(query, rows=ROWS)

    def answer(budget: dp.Budget, epsilon: float) -> Answer:
        found: Answer = []
        for output in ask(budget, epsilon).outputs:
            found.append(stated(output))
            if output.kind in ("mean", "variance"):
                found.append(quantile_of_error(output.noise, rows))
        return found

    return answer


def quantile_of_error(noise: str, rows: int) -> float | None:
    """Of a mean or a variance, from the noise on its sum, its squares and its count."""
    pair, squares = MEAN_NOISE.search(noise), SQUARES_NOISE.search(noise)
    if pair is None:
        return None
    total, count = (law_of(*pair.group(at, at + 1)) for at in (1, 3))
    low, high = BOUNDS
    if squares is None:
        return laws.mean_half_width(total, count, rows, (low + high) / 2, BOUNDS)
    centred = ((low - high) / 2, (high - low) / 2)
    return laws.variance_half_width((total, law_of(*squares.groups()), count), rows, (0, 0), centred)


def law_of(word: str, scale: str) -> laws.Law:
    return ("laplace" if word == "scale" else "gaussian"), float(scale.replace(",", "").rstrip("."))


def all_ranges(budget: dp.Budget, epsilon: float) -> Answer:
    """The half-width of the widest range, and the root mean squared error of all."""
    pairs = [(low, high) for low in range(BINS) for high in range(low + 1, BINS + 1)]
    (output,) = explained(TABLE.ranges("v", ranges=pairs))(budget, epsilon).outputs
    return [stated(output), number_in(MEAN_SQUARED, output.note + output.noise)]


def hierarchy() -> Any:
    places = [(state, county, tract) for state in range(5) for county in range(20) for tract in range(10)]
    areas = {
        "state": [f"{state}" for state, _, _ in places],
        "county": [f"{state}.{county}" for state, county, _ in places],
        "tract": [f"{state}.{county}.{tract}" for state, county, tract in places],
    }
    return TABLE.hierarchy("state", "county", "tract", keys=pa.table(areas))


def sparse_vector(budget: dp.Budget, epsilon: float) -> Answer:
    """Accuracy over 1,000 counts of which ten are above."""
    with (
        opened(budget) as session,
        session.above_threshold(threshold=0, epsilon=epsilon, answers=TOP_ANSWERS, monotone=True) as vector,
    ):
        return [float(vector.accuracy(QUERIES))]


def discovered(budget: dp.Budget, epsilon: float) -> Answer:
    """The people that a key needs to be shown half of the time; all of delta is reserved for that."""
    reserved = dp.Budget(epsilon=budget.epsilon, delta=budget.delta, reserved_delta=budget.delta)
    query = TABLE.group_by("g", keys=dp.discover(delta=budget.delta)).agg(n=dp.count_units())
    return [number_in(KEPT_HALF, explained(query)(reserved, epsilon).found)]


def automatic_bounds(budget: dp.Budget, epsilon: float) -> Answer:
    """The 95% quantile of the error of a sum of incomes: bounds of releases, with draws of the noise of each."""
    query = TABLE.agg(income=dp.sum("income", bounds="auto"))
    facts = {"source": people(), "privacy_unit": "person_id", "rows": ROWS}
    name = "gaussian" if "Gaussian" in explained(query, **facts)(budget, epsilon).mechanism else "laplace"
    errors: list[float] = []
    for seed in range(RUNS):
        with opened(budget, **facts) as session:
            (found,) = session.release(query, epsilon=epsilon).to_arrow().to_pylist()
        errors += [math.inf] * NOISES if found["income"] is None else errors_with(found, name, seed)
    return [laws.quantile(errors)]


def errors_with(found: dict[str, float], name: str, seed: int) -> list[float]:
    """What clipping to the bounds of a release cuts off, and noise that has its margin."""
    values = people()["income"].to_numpy()
    clipped = float((values.clip(found["income_low"], found["income_high"]) - values).sum())
    scale = found["income_margin"] / laws.half_width((name, 1))
    return [abs(clipped + noise) for noise in laws.draws((name, scale), seed, NOISES)]


@cache
def people() -> pa.Table:
    return dp.datasets.people(ROWS, seed=SEED).select(["person_id", "income"])


def number_in(pattern: re.Pattern[str], text: str) -> float | None:
    found = pattern.search(text)
    return None if found is None else float(found[1].replace(",", "").rstrip("."))


def by_group(groups: int) -> Any:
    return TABLE.group_by("g", keys={"g": [str(key) for key in range(groups)]})


def chosen(top: int) -> Any:
    return TABLE.choose([str(each) for each in range(CANDIDATES)], score=dp.score(by="g"), top=top)


def questions() -> dict[str, Question]:
    """The twenty questions by number."""
    count, total, mean = dp.count(), dp.sum("v", **VALUE), dp.mean("v", **VALUE)
    steps = {"bounds": (0, STEPS - 1)}
    five = {"max_rows": None, "max_groups": 5, "max_rows_per_group": 1}
    listed = (
        Question("count", margins(TABLE.agg(n=count))),
        Question("counts by 20 groups", margins(by_group(GROUPS).agg(n=count))),
        Question("counts by 20 groups, 5 of one person", margins(by_group(GROUPS).agg(n=count), **five)),
        Question("counts by 1,000 groups", margins(by_group(1_000).agg(n=count))),
        Question("count, 10 rows of one person", margins(TABLE.agg(n=count), max_rows=10)),
        Question("sum, bounds (0, 100)", margins(TABLE.agg(n=total))),
        Question(
            "sums by 20 groups, 10 rows in 5 groups of one person",
            margins(by_group(GROUPS).agg(n=total), max_rows=10, max_groups=5),
        ),
        Question("mean, 10,000 rows: interval; error", with_errors(TABLE.agg(n=mean), ROWS)),
        Question("variance, 10,000 rows: interval; error", with_errors(TABLE.agg(n=dp.variance("v", **VALUE)), ROWS)),
        Question(
            "by 20 groups of 500 rows: count; sum; mean; error of the mean",
            with_errors(by_group(GROUPS).agg(n=count, total=total, mean=mean), ROWS // GROUPS),
        ),
        Question("median of 100 steps, in ranks", margins(TABLE.agg(n=dp.median("v", **steps)))),
        Question("quartiles of 100 steps, in ranks", margins(TABLE.agg(n=dp.quantiles("v", [*QUARTILES], **steps)))),
        Question("histogram of 50 bins", margins(TABLE.histogram("v", bins=range(1, BINS)))),
        Question("all 1,275 ranges of 50 bins: widest; root mean square", all_ranges),
        Question("5 states, 100 counties, 1,000 tracts and their total: widest", widest(hierarchy())),
        Question("most frequent of 100: below the best by", margins(chosen(1))),
        Question("top 5 of 100: below the best by", margins(chosen(TOP))),
        Question("sparse vector, 10 of 1,000 counts above: accuracy", sparse_vector),
        Question("people by unknown keys: people of a key shown half of the time", discovered),
        Question(f"sum of incomes, unknown bounds: error of {RUNS} releases", automatic_bounds),
    )
    return {str(number): question for number, question in enumerate(listed, 1)}


def answered(question: Question, setting: str) -> Answer | None:
    """The answer under one guarantee, or None where it is refused."""
    epsilon, delta = SETTINGS[setting]
    budget = dp.Budget(epsilon=1, delta=delta) if delta else dp.Budget(epsilon=1)
    try:
        return question.ask(budget, epsilon)
    except dp.errors.DiscreetError as error:
        print(f"{question.words}, {setting}: {error}", file=sys.stderr)
        return None


def figures() -> Figures:
    """The answers of the discreet that is imported."""
    return {
        number: {setting: answered(question, setting) for setting in SETTINGS}
        for number, question in questions().items()
    }


@dataclass(frozen=True)
class Bound:
    """A published lower bound, with the mark of its citation."""

    mark: str
    half_width: Callable[[float], float]


def staircase(sensitivity: int) -> Callable[[float], float]:
    """The least half-width of whole-number noise with pure epsilon: the best of the discrete staircase laws."""

    def least(epsilon: float) -> float:
        return min(staircase_half_width(epsilon, sensitivity, step) for step in range(1, sensitivity + 1))

    return least


def staircase_half_width(epsilon: float, sensitivity: int, step: int) -> int:
    """The least w with P(|noise| > w) <= 5%, by bisection."""
    decay = math.exp(-epsilon)

    def beyond(width: int) -> float:
        """Of the weights 1 below `step`, then falling by `decay` at every `sensitivity` places."""
        stairs, within = divmod(max(width + 1 - step, 0), sensitivity)
        flat = max(step - width - 1, 0)
        return flat + decay ** (1 + stairs) * (sensitivity - within + sensitivity * decay / (1 - decay))

    most = 2 * beyond(0) + 1
    low, high = 0, math.ceil(sensitivity * (4 / epsilon + 2))
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if 2 * beyond(middle) <= laws.ALPHA * most else (middle + 1, high)
    return low


def least_people(epsilon: float) -> float:
    """The people that a key needs under the optimal rule, which shows names alone."""
    return Optimal(epsilon=epsilon, delta=DELTA, groups=1).least_units(0.5)


PURE_BOUNDS = {
    "1": Bound("a", staircase(1)),
    "2": Bound("b", staircase(1)),
    "4": Bound("b", staircase(1)),
    "5": Bound("a", staircase(10)),
    "6": Bound("a", staircase(100)),
    "7": Bound("b", staircase(1_000)),
    "13": Bound("b", staircase(1)),
}
APPROXIMATE_BOUNDS = {"19": Bound("c", least_people)}


def bound(number: str, setting: str) -> str:
    """The cell of the lower bound, empty where none is known."""
    guarantee, _, _ = setting.partition(" ")
    known = (PURE_BOUNDS if guarantee == "pure" else APPROXIMATE_BOUNDS).get(number)
    return "" if known is None else f"{shown(known.half_width(SETTINGS[setting][0]))} ({known.mark})"


def cell(answer: Answer | None) -> str:
    """The numbers of an answer, empty where there is none."""
    return "" if answer is None else "; ".join(map(shown, answer))


def shown(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:,.0f}" if number >= 100 or number == round(number) else f"{number:.3g}"


def record(recorded: dict[str, Any], column: str, number: str) -> dict[str, Answer | None]:
    """What is recorded of a question, if anything."""
    return recorded.get(column, {}).get("figures", {}).get(number, {})


def rows(guarantee: str, after: Figures, recorded: dict[str, Any]) -> list[str]:
    """The rows of one table: two for each question."""
    found = []
    for number, question in questions().items():
        for place, setting in enumerate(name for name in SETTINGS if name.startswith(guarantee)):
            columns = [f"{number}. {question.words}" if place == 0 else "", f"{SETTINGS[setting][0]:g}"]
            before, *peers = (cell(record(recorded, name, number).get(setting)) for name in ("before", *PEERS))
            columns += [before, cell(after[number][setting]), bound(number, setting), *peers]
            found.append(f"| {' | '.join(columns)} |")
    return found


def written(after: Figures, recorded: dict[str, Any]) -> str:
    """Both tables, and what peers answer otherwise or not at all."""
    head = ["question", "epsilon", "before", "after", "lower bound", *PEERS.values()]
    parts = []
    for guarantee, title in TABLES.items():
        parts += [title, "", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        parts += [*rows(guarantee, after, recorded), ""]
    parts += ["## Notes on peers", ""]
    for peer in filter(recorded.get, PEERS):
        parts += [f"{recorded[peer]['version']}, asked on {recorded[peer]['date']}:", ""]
        parts += [f"- {number}: {note}" for number, note in recorded[peer]["notes"].items()]
        parts.append("")
    return "\n".join(parts).rstrip()


def page_with(text: str, tables: str) -> str:
    """The page with new tables between its two marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{tables}\n\n{END}{after}"


def run(python: str, script: Path, *arguments: str, path: str, given: str = "") -> dict[str, Any]:
    """The JSON that a script prints, run by another Python or with another source tree."""
    with TemporaryDirectory() as place:  # Spark leaves files where it runs
        done = subprocess.run(
            [python, str(script), *arguments],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            cwd=place,
            env=os.environ | {"PYTHONPATH": path},
        )
    if done.returncode:
        raise SystemExit(f"{script.name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout[done.stdout.index("{") :])


def recorded_again(given: argparse.Namespace) -> dict[str, Any]:
    """The recorded columns, those that were asked for anew."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    if given.before:
        keep(recorded, "before", run(sys.executable, Path(__file__), "--json", path=str(Path(given.before).resolve())))
    for asked in given.peer:
        name, _, python = asked.partition("=")
        incomes = json.dumps(people()["income"].to_pylist())
        answers = run(python, HERE / "peers" / f"{name}_questions.py", path=str(HERE), given=incomes)
        keep(recorded, name, answers)
    return recorded


def keep(recorded: dict[str, Any], column: str, answers: dict[str, Any]) -> None:
    """Record a column at once, with the date, so that a later one that fails loses nothing."""
    recorded[column] = {"date": datetime.now(UTC).date().isoformat()} | answers
    RECORDED.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Compute, and print or write."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--before", help="source tree of an earlier discreet, for its column")
    options.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    options.add_argument("--write", action="store_true")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    logging.getLogger("discreet").setLevel(logging.ERROR)  # ":memory:" warns that its budget is forgotten
    if given.json:
        json.dump({"version": f"discreet {dp.__version__}", "figures": figures()}, sys.stdout)
        return
    recorded = recorded_again(given)
    tables = written(figures(), recorded)
    if given.write:
        PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
    else:
        print(tables)


if __name__ == "__main__":
    main()
