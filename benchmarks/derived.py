"""Post-processing: coverage and width of the confidence intervals, and the pictures of README and guide.

python benchmarks/derived.py --releases 400 --pictures docs/pictures
"""

import argparse
import logging
import statistics
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dp
from discreet.release.postprocessing.derived import DerivedValues

WARDS = ["cardiology", "emergency", "maternity", "oncology", "paediatrics", "surgery"]
SIZES = dict(zip(WARDS, (10_000, 16_000, 2_000, 6_000, 3_000, 11_000), strict=True))
VISITS = dp.table("visits")
QUERY = VISITS.group_by("ward", keys={"ward": WARDS}).agg(n=dp.count(), cost=dp.mean("cost", bounds=(0, 5_000)))


def opened(kind: Any = dp.protect, *, epsilon: int = 1_000) -> dp.Session:
    """A session over invented visits, with a budget for many releases."""
    budget = dp.Budget(epsilon=epsilon, delta=1e-9, reason="a benchmark on invented data")
    words = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": budget}
    session: dp.Session = kind(dp.datasets.visits(15_000), **words, ledger=":memory:")
    return session


def release_of_the_readme() -> dp.Release:
    """The release that the README prints and shows."""
    kept = {"keys": {"ward": WARDS}, "budget": dp.Budget(epsilon=2), "ledger": ":memory:"}
    with dp.protect(
        dp.datasets.visits(50_000), name="visits", privacy_unit="patient_id", max_rows=10, **kept
    ) as session:
        grouped = VISITS.where(VISITS.age < 65).group_by("ward")
        return session.release(grouped.agg(n=dp.count(), cost=dp.mean("cost", bounds=(0, 5_000))), epsilon=1)


def derived(release: dp.Release) -> dict[str, DerivedValues]:
    """One of each kind of number that is derived from a release."""
    oncology = release.total("n", where={"ward": "oncology"})
    return {
        "total of counts": release.total("n"),
        "difference of two counts": release.total("n", where={"ward": "surgery"}) - oncology,
        "share of a group, %": (oncology / release.total("n")).percent(),
        "mean over all groups": release.mean("cost"),
        "difference of two means": release.difference("cost", {"ward": "surgery"}, {"ward": "oncology"}),
    }


def main() -> None:
    """Print how often intervals hold, beside how wide they are; draw the picture."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--releases", type=int, default=400)
    parser.add_argument("--pictures")
    given = parser.parse_args()
    logging.getLogger("discreet").setLevel(logging.ERROR)
    with opened(dp.testing.protect) as session:
        truth = {name: found.value for name, found in derived(session.release(QUERY, epsilon=1)).items()}
    with opened() as session:
        made = [derived(session.release(QUERY, epsilon=1, fresh=True)) for _ in range(given.releases)]
        for name, exact in truth.items():
            inside = sum(found[name].low <= exact <= found[name].high for found in made)
            width = statistics.median((found[name].high - found[name].low) / 2 for found in made)
            least = np.quantile([abs(found[name].value - exact) for found in made], 0.95)
            print(f"{name:28} {exact:12,.2f} ± {width:10,.2f}   held {inside / len(made):6.1%}   needed {least:10,.2f}")
        if given.pictures:
            pictures = Path(given.pictures)
            errors = session.expected_errors(QUERY, epsilons=[0.1, 0.2, 0.5, 1, 2], sizes=SIZES)
            errors.plot().savefig(pictures / "expected-errors.svg", metadata={"Date": None})
            release_of_the_readme().plot().savefig(pictures / "release.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
