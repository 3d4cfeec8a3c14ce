"""What attacks recover, with and without a ledger: figures of docs/benchmarks.md, as means of several runs.

    scripts/bench attacks [--runs 20] [--seed 1] [--adult adult.csv] [--pictures docs/pictures] [--only linkage ...]

Secrets, subsets and groups come from the seed; noise does not. Attacks on the census are left out where it is absent.
"""

import argparse
import logging
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.attacks import Outcome, averaging, differencing, linkage, membership, reconstruction, small_groups

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult.csv"
EPSILONS = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000)
FIRST_OF_THE_CENSUS = {"fnlwgt": 77516, "Education": "Bachelors", "Age": 39}
MARGINALS = [
    *("Workclass", "Education", "Marital Status", "Occupation", "Relationship", "Race", "Sex", "Country"),
    *("Age", "Hours per week"),
]
NEIGHBOURS = ["Age", "Education", "Marital Status", "Race", "Sex", "Hours per week", "Country"]
PEOPLE_KEYS = {
    "state": dp.datasets.STATES,
    "occupation": dp.datasets.OCCUPATIONS,
    "education": dp.datasets.EDUCATIONS,
    "sex": dp.datasets.SEXES,
}


class Bench:
    """Prints outcomes with their time, and keeps their pictures."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.runs, self.adult, self.pictures = given.runs, Path(given.adult), given.pictures
        self.generator = np.random.default_rng(given.seed)

    def show(self, made: Callable[[], Outcome], picture: str | None = None, beside: Outcome | None = None) -> Outcome:
        started = time.perf_counter()
        outcome = made()
        print(f"{outcome}\n  took          {time.perf_counter() - started:.1f} s\n", flush=True)
        if picture and self.pictures:
            place = Path(self.pictures)
            place.mkdir(parents=True, exist_ok=True)
            figure = outcome.plot(beside) if beside is not None else outcome.plot()  # type: ignore[call-arg]
            figure.savefig(place / f"attack-{picture}.svg", metadata={"Date": None})
        return outcome

    def census(self) -> bool:
        if not self.adult.is_file():
            print(f"left out: the census is not at {self.adult.name}\n")
        return self.adult.is_file()


def small(bench: Bench) -> None:
    people = dp.datasets.people(20_000)
    counts = small_groups.exact_table(people, by=list(PEOPLE_KEYS), value="income")
    bench.show(lambda: small_groups.against_table(counts, value="mean"), "small-groups")
    words = {"table": "people", "by": list(PEOPLE_KEYS), "keys": PEOPLE_KEYS, "value": "income", "bounds": (0, 200_000)}
    with dp.protect(
        people,
        name="people",
        privacy_unit="person_id",
        max_rows=1,
        budget=dp.Budget(epsilon=1),
        ledger=":memory:",
    ) as session:
        bench.show(lambda: small_groups.against_session(session, counts, **words, epsilon=1), "small-groups-session")
    if bench.census():
        census = small_groups.exact_table(bench.adult, by=["Occupation", "Race", "Sex", "Country"], value="Age")
        bench.show(lambda: small_groups.against_table(census, value="mean"))


def difference(bench: Bench) -> None:
    if not bench.census():
        return
    words = {"value": "Age", "person": FIRST_OF_THE_CENSUS, "bounds": (0, 120)}
    bench.show(lambda: differencing.against_table(bench.adult, **words), "differencing")
    with dp.protect(bench.adult, privacy_unit=dp.ROW, budget=dp.Budget(epsilon=2), ledger=":memory:") as session:
        bench.show(lambda: differencing.against_session(session, table="adult", **words, epsilon=1, truth=39))


def average(bench: Bench) -> None:
    noise = dp.mechanisms.Laplace(sensitivity=1, epsilon=Fraction(1, 10))
    bench.show(lambda: averaging.against_mechanism(noise, truth=14_237, trials=10 * bench.runs))
    people, table = dp.datasets.people(20_000), dp.table("people")
    query = table.where(table.occupation == "retired").agg(n=dp.count())
    truth = people["occupation"].to_pylist().count("retired")
    with dp.protect(
        people, name="people", privacy_unit="person_id", max_rows=1, budget=dp.Budget(epsilon=1), ledger=":memory:"
    ) as session:
        bench.show(lambda: averaging.against_session(session, query, epsilon=0.1, truth=truth), "averaging")


def link(bench: Bench) -> None:
    on, hidden = ["sex", "zip_code", "birth_date"], ["person_id", "first_name", "last_name"]
    for rows in (20_000, 1_000_000):
        people = dp.datasets.people(rows)
        published = people.drop_columns(hidden)
        words = {"on": on, "learn": "marital_status", "truth": "marital_status"}
        picture = "linkage" if rows == 1_000_000 else None
        bench.show(lambda p=published, k=people, w=words: linkage.against_table(p, k, **w), picture)
    people = dp.datasets.people(20_000)
    words = {"table": "people", "values": dp.datasets.MARITAL_STATUSES, "on": on, "learn": "marital_status"}
    for epsilon in (0.1, 1):
        with dp.protect(
            people,
            name="people",
            privacy_unit="person_id",
            max_rows=1,
            budget=dp.Budget(epsilon=epsilon),
            ledger=":memory:",
        ) as session:
            bench.show(
                lambda s=session, e=epsilon: linkage.against_session(
                    s, people.slice(0, 2_000), **words, truth="marital_status", epsilon=e
                )
            )
    if bench.census():
        bench.show(
            lambda: linkage.against_table(bench.adult, bench.adult, on=NEIGHBOURS, learn="Target", truth="Target")
        )


def clinic(
    bits: reconstruction.Bits, epsilon: Fraction, generator: np.random.Generator
) -> reconstruction.Reconstruction:
    """Random subsets asked of a session with a privacy budget of epsilon 1, for so much a question."""
    rows = pa.table({"person": np.arange(len(bits)), "positive": bits})
    with dp.protect(
        rows, name="clinic", privacy_unit="person", max_rows=1, budget=dp.Budget(epsilon=1), ledger=":memory:"
    ) as session:
        return reconstruction.against_session(
            session, rows, table="clinic", person="person", value="positive", epsilon=epsilon, generator=generator
        )


def publishers(generator: np.random.Generator) -> Iterator[tuple[str, Callable[..., reconstruction.Reconstruction]]]:
    """Each by name: from bits to what is recovered of them."""
    against, words = reconstruction.against, {"generator": generator}
    yield "exact", lambda bits: against(reconstruction.exact(bits), bits, **words)
    yield "rounded to 5", lambda bits: against(reconstruction.rounding(bits), bits, largest_error=2.5, **words)
    yield "rounded to 5, not known how", lambda bits: against(reconstruction.rounding(bits), bits, **words)
    yield "fresh epsilon 1 a question", lambda bits: against(reconstruction.noisy(bits, epsilon=1), bits, **words)
    total = Fraction(1, reconstruction.QUESTIONS)
    yield "total epsilon 1, no ledger", lambda bits: against(reconstruction.noisy(bits, epsilon=total), bits, **words)
    yield "session of epsilon 1, a tenth each", lambda bits: clinic(bits, Fraction(1, 10), generator)
    yield "session of epsilon 1, a 640th each", lambda bits: clinic(bits, total, generator)


def signed(bench: Bench, people: int = 4_000) -> None:
    """One question made for it: for each person the sum of 1 for a bit that is set, and of -1 for one that is not."""
    table = dp.table("clinic")
    query = table.derive(sign=2 * table.positive - 1).group_by("person", keys={"person": range(people)})
    bits = reconstruction.secret_bits(people, generator=bench.generator)
    rows = pa.table({"person": np.arange(people), "positive": bits.astype(int)})
    for epsilon in (0.1, 1):
        shares = []
        for _ in range(bench.runs):
            with dp.protect(
                rows, name="clinic", privacy_unit="person", max_rows=1, budget=dp.Budget(epsilon=1), ledger=":memory:"
            ) as session:
                release = session.release(query.agg(total=dp.sum("sign", bounds=(-1, 1))), epsilon=epsilon)
            totals = np.array(release["total"])
            shares.append(float(np.mean(np.where(totals == 0, 0.5, (totals > 0) == bits))))
        print(
            f"a signed sum for each of {people:,} people, epsilon {epsilon}: {np.mean(shares):.1%} of bits", flush=True
        )
    print()


def reconstruct(bench: Bench) -> None:
    print(f"{reconstruction.PEOPLE} people, {reconstruction.QUESTIONS} random subsets, means of {bench.runs} runs")
    print(f"{'publisher':<38}{'answered':>10}{'bits right':>12}{'from':>8}{'to':>8}{'s a run':>10}")
    for name, attack in publishers(bench.generator):
        started, shares, answered = time.perf_counter(), [], 0
        for _ in range(bench.runs):
            outcome = attack(reconstruction.secret_bits(generator=bench.generator))
            shares.append(outcome.share)
            answered = outcome.answered
        each = (time.perf_counter() - started) / bench.runs
        numbers = [float(number) for number in (np.mean(shares), min(shares), max(shares))]
        said = f"{numbers[0]:>12.1%}{numbers[1]:>8.0%}{numbers[2]:>8.0%}"
        print(f"{name:<38}{answered:>10}{said}{each:>10.1f}", flush=True)
    print()
    signed(bench)
    bench.show(lambda: reconstruction.curve(EPSILONS, runs=bench.runs, generator=bench.generator), "reconstruction")


def infer(bench: Bench) -> None:
    if not bench.census():
        return
    words = {"columns": MARGINALS, "people": 50, "generator": bench.generator, "runs": 20_000}
    private = bench.show(lambda: membership.against_table(bench.adult, **words, epsilon=1))
    bench.show(lambda: membership.against_table(bench.adult, **words), "membership", beside=private)


PARTS = {
    "small-groups": small,
    "differencing": difference,
    "averaging": average,
    "linkage": link,
    "reconstruction": reconstruct,
    "membership": infer,
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--adult", default=ADULT)
    options.add_argument("--pictures", default=None)
    options.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    given = options.parse_args()
    logging.getLogger("discreet").setLevel(logging.ERROR)  # every session keeps its budget in memory, and says so
    bench = Bench(given)
    for name in given.only:
        PARTS[name](bench)


if __name__ == "__main__":
    main()
