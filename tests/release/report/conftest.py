"""Real releases of every kind, from real ledgers, made once for all tests of the report."""

import json

import pytest

import discreet as dp
from discreet.release.report.about import read_about
from discreet.release.report.facts import gather

WARDS = {"ward": ["cardiology", "emergency", "maternity", "oncology", "surgery"]}
BOUNDS = {"privacy_unit": "patient_id", "max_rows": 6, "max_groups": 2, "max_rows_per_group": 3}
ABOUT = {
    "deployment": "Ward statistics 2026",
    "curator": "Example hospital",
    "purpose": "Annual statistics of visits by ward",
    "justification": "Margins below 5% are needed for planning",
    "contact": "dpo@example.org",
    "unit_name": "patient",
}


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Saved releases by name: a directory, and what each file holds."""
    place = tmp_path_factory.mktemp("saved")
    home = place / "home"
    home.mkdir(mode=0o700)
    data = dp.datasets.visits(2_000)
    found = {}
    with dp.SQLiteLedger(place / "ledger.sqlite", key=place / "signing.key") as ledger:
        visits, gauss, rows = map(dp.table, ("visits", "gauss", "rows"))
        with dp.protect(data, name="visits", **BOUNDS, budget=dp.Budget(epsilon=9), ledger=ledger) as session:
            query = visits.where(visits.age < 65).group_by("ward", keys=WARDS)
            wards = query.agg(n=dp.count(), cost=dp.sum("cost", bounds=(0, 5_000)))
            found["wards"] = session.release(wards, epsilon=0.5)
            found["rounded"] = found["wards"].rounded(to=10)
            found["median"] = session.release(visits.agg(m=dp.median("age", bounds=(0, 110))), epsilon=0.25)
            found["selection"] = session.release(visits.choose(WARDS["ward"], score=dp.score(by="ward")), epsilon=0.25)
            text = "SELECT ward, COUNT(*) AS n FROM visits WHERE ward IN ('surgery') GROUP BY ward HAVING COUNT(*) > 5"
            found["sql"] = session.sql(text, epsilon=0.125)
            batch = [visits.agg(a=dp.count()), visits.agg(b=dp.count_units())]
            found["first"], found["second"] = session.release(batch, epsilon=0.5)
        budget = dp.Budget(epsilon=4, delta=1e-7)
        with dp.protect(data, name="gauss", **BOUNDS, budget=budget, ledger=ledger) as session:
            query = gauss.group_by("ward", keys=WARDS).agg(n=dp.count())
            found["gauss"] = session.release(query, epsilon=0.5, mechanism="gaussian")
            found["keys"] = session.release(
                gauss.group_by("ward", keys=dp.discover(delta=1e-9)).agg(n=dp.count()), epsilon=0.5
            )
            age = gauss.agg(age=dp.median("age", bounds=(0, 110)))
            found["estimate"] = session.release(age, epsilon=0.25, method=dp.SmoothSensitivity())
        with dp.protect(data, name="rows", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=4), ledger=ledger) as session:
            found["row"] = session.release(rows.agg(n=dp.count()), epsilon=2)
            found["row_sum"] = session.release(rows.agg(s=dp.sum("cost", bounds=(0, 100))), epsilon=1)
        facts = BOUNDS | {"name": "replaced", "neighbours": "replace_one", "budget": budget}
        with dp.protect(data, **facts, ledger=ledger) as session:
            query = dp.table("replaced").agg(n=dp.sum("cost", bounds=(0, 100)))
            found["replaced"] = session.release(query, epsilon=0.5)
            found["replaced_gauss"] = session.release(query, epsilon=0.5, mechanism="gaussian")
    with dp.testing.protect(data, name="exact", **BOUNDS, budget=dp.Budget(epsilon=4)) as session:
        found["exact"] = session.release(dp.table("exact").agg(n=dp.count()), epsilon=1)
    for name, result in found.items():
        (place / f"{name}.json").write_text(json.dumps(result.to_json()), encoding="utf-8")
    found["wards"].save(place / "wards.csv")
    return place, found


@pytest.fixture
def facts_of(made):
    """The facts of releases by their names."""

    def gathered(*names, **about):
        return gather([made[0] / f"{name}.json" for name in names], read_about(about))

    return gathered


@pytest.fixture
def wards(made):
    return made[1]["wards"]
