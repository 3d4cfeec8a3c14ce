"""One catalog of four tables, four engines, one set of numbers: joins, features and caps keep the same rows."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
import opened

CATALOG = """
tables:
  patients:
    version: {version}
    privacy_unit: patient_id
    max_rows: 1
    budget: {{epsilon: 9}}
    columns: {{patient_id: {{type: integer}}, sex: {{type: text, keys: [f, m]}}}}
  visits:
    version: {version}
    privacy_unit: patient_id
    max_rows: 2
    sampling: portable
    budget: {{epsilon: 9}}
    columns:
      visit_id: {{type: integer}}
      patient_id: {{type: integer}}
      ward: {{type: text}}
      cost: {{type: real, bounds: [0, 2000], grid: 0.01}}
  measurements:
    version: {version}
    privacy_unit: {{through: visits, on: visit_id}}
    max_rows: 3
    sampling: portable
    budget: {{epsilon: 9}}
    columns: {{visit_id: {{type: integer}}, pulse: {{type: integer, bounds: [30, 220]}}}}
  wards:
    public: true
    columns: {{ward: {{type: text}}, floor: {{type: integer, keys: [0, 1, 2]}}}}
"""
V, M, P, W = map(dp.table, ("visits", "measurements", "patients", "wards"))
PEOPLE = V.per_unit(n=dp.count(), cost=dp.sum("cost"), mean=dp.mean("cost"), top=dp.largest("cost"))
QUESTIONS = [
    V.join(W, on="ward").group_by("floor").agg(n=dp.count(), cost=dp.sum("cost"), u=dp.count_units()),
    V.join(W, on="ward", how="left", max_rows=3).group_by("floor", max_groups=1).agg(n=dp.count()),
    M.join(V, on="visit_id").join(P, on="patient_id").group_by("sex").agg(n=dp.count(), pulse=dp.sum("pulse")),
    V.join(P, on="patient_id").where(V.cost > 100).group_by("sex").agg(n=dp.count(), cost=dp.mean("cost")),
    PEOPLE.where(PEOPLE.n > 1).agg(
        n=dp.count(),
        cost=dp.sum("cost", bounds=(0, 9000), grid=0.01),
        mean=dp.sum("mean", bounds=(0, 2000), grid=0.01),
        top=dp.sum("top", bounds=(0, 2000), grid=0.01),
    ),
    PEOPLE.join(P, on="patient_id").group_by("sex").agg(n=dp.count(), visits=dp.sum("n", bounds=(0, 10))),
]


def _tables() -> dict[str, pa.Table]:
    visits = dp.datasets.visits(150, seed=3).select(["visit_id", "patient_id", "ward", "cost"])
    keys = visits["visit_id"].to_pylist()
    return {
        "patients": pa.table({"patient_id": range(1, 150), "sex": [("f", "m", None)[i % 3] for i in range(149)]}),
        "visits": visits,
        "measurements": pa.table(
            {"visit_id": keys * 2 + [10**6], "pulse": [i % 260 for i in range(2 * len(keys) + 1)]}
        ),
        "wards": pa.table({"ward": [*dp.datasets.WARDS[1:], dp.datasets.WARDS[1]], "floor": [0, 1, 2, 0, 1, 2]}),
    }


def _found(engine: str, ledger: Any, place: Path, request: pytest.FixtureRequest) -> list[list[dict[str, Any]]]:
    catalog = dp.Catalog.parse(CATALOG.format(version=1 + opened.ENGINES.index(engine)))
    sources = {name: opened.brought(engine, table, place, request) for name, table in _tables().items()}
    with dp.testing.Session(catalog, sources=sources, ledger=ledger) as session:
        return [session.release(query, epsilon=0.1).to_arrow().to_pylist() for query in QUESTIONS]


def test_joins_and_features_have_the_same_numbers_on_every_engine(request, tmp_path):
    ledger = dp.testing.ForgottenLedger()
    found = {engine: _found(engine, ledger, tmp_path, request) for engine in opened.ENGINES}
    assert min(sum(row["n"] for row in table) for table in found["duckdb"]) > 50
    for engine in opened.ENGINES:
        for number, table in enumerate(found[engine]):
            assert table == found["duckdb"][number], (engine, number)
