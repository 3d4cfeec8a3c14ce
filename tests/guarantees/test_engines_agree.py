"""One catalog, four engines, one release: what a reader needs to believe that the engine does not matter.

The same visits lie in a Parquet file, in PostgreSQL, in Spark and in a SQLite file. One catalog describes them; the
owner asks for portable sampling, so that the rows kept of a patient with too many are the same everywhere, and moves
the dataset from engine to engine as a new version in the same ledger. A testing session, which adds no noise, gives the
same numbers on every engine. A private session gives the same prices, margins and guarantee, and noise of its own.
"""

from fractions import Fraction
from typing import Any

import pytest

import discreet as dp
import opened

CATALOG = """
catalog: discreet.catalog/1
tables:
  visits:
    version: {version}
    privacy_unit: patient_id
    max_rows: 3
    sampling: portable
    budget: {{epsilon: 2, delta: 1e-9}}
    columns:
      patient_id: {{type: integer}}
      ward: {{type: text, keys: [{wards}]}}
      cost: {{type: real, bounds: [0, 2000], grid: 0.01}}
      day: {{type: date}}
"""
T = dp.table("visits")
QUERY = (
    T.where(T.day >= "2024-06-01", T.cost / 3 > 10)
    .group_by("ward")
    .agg(visits=dp.count(), patients=dp.count_units(), total=dp.sum("cost"), average=dp.mean("cost"))
)


def _session(session: type[dp.Session], engine: str, request: pytest.FixtureRequest, **words: Any) -> dp.Session:
    """A session over the same visits, where the engine keeps them."""
    place = request.getfixturevalue("tmp_path")
    version = 1 + opened.ENGINES.index(engine)
    catalog = place / f"catalog{version}.yaml"
    catalog.write_text(CATALOG.format(version=version, wards=", ".join(dp.datasets.WARDS)), encoding="utf-8")
    visits = dp.datasets.visits(400, seed=3).select(["patient_id", "ward", "cost", "day"])
    return session(catalog, sources={"visits": opened.brought(engine, visits, place, request)}, **words)


def test_one_catalog_gives_the_same_numbers_on_every_engine(request):
    ledger, releases = dp.testing.ForgottenLedger(), {}
    for engine in opened.ENGINES:
        with _session(dp.testing.Session, engine, request, ledger=ledger) as session:
            releases[engine] = session.release(QUERY, epsilon=Fraction(1, 2)).to_arrow().to_pylist()
    assert sum(row["visits"] for row in releases["duckdb"]) > 300
    for engine in opened.ENGINES:
        assert releases[engine] == releases["duckdb"], engine


def test_variances_tables_and_bounds_that_are_found_have_the_same_numbers_on_every_engine(request):
    queries = (
        T.agg(v=dp.variance("cost"), d=dp.std(T.cost * 2 - 1, bounds=(-10, 1_000), grid=0.5)),
        T.contingency("day", "cost", bins={"day": ["2024-04-01"], "cost": dp.bins(0, 1_000, 100)}, missing=True),
        T.agg(n=dp.count(), s=dp.sum(T.cost / 3 - 50, bounds="auto"), m=dp.mean(T.cost / 3 - 50, bounds="auto")),
        T.bounds("cost"),
    )
    ledger, found = dp.testing.ForgottenLedger(), {}
    for engine in opened.ENGINES:
        with _session(dp.testing.Session, engine, request, ledger=ledger) as session:
            found[engine] = [session.release(q, epsilon=Fraction(1, 10)).to_arrow().to_pylist() for q in queries]
    for engine in opened.ENGINES:
        assert found[engine] == found["duckdb"], engine


def test_quantiles_of_groups_under_all_caps_have_the_same_numbers_on_every_engine(request):
    some = T.where(T.day >= "2024-03-01")
    queries = (
        T.agg(cost=dp.quantiles("cost", [0.1, 0.5, 0.99], grid=0.5)),
        some.group_by("ward", max_groups=1, max_rows_per_group=2).agg(m=dp.median("cost", grid=7)),
        some.group_by("ward").agg(m=dp.quantile(T.cost / 3 - 50, 0.75, bounds=(-10, 100))),
    )
    ledger, found = dp.testing.ForgottenLedger(), {}
    for engine in opened.ENGINES:
        with _session(dp.testing.Session, engine, request, ledger=ledger) as session:
            found[engine] = [session.release(q, epsilon=Fraction(1, 10)).to_arrow().to_pylist() for q in queries]
    assert len({row["m"] for row in found["duckdb"][1]}) > 3
    for engine in opened.ENGINES:
        assert found[engine] == found["duckdb"], engine


def test_a_histogram_over_bins_has_the_same_numbers_on_every_engine(request):
    """Bands of cost and quarters of the year, and more bands than a tree of comparisons is made for."""
    bands = T.derive(
        band=T.cost.bin([150, 300.5, 700, 1_700]),
        quarter=T.day.bin(["2024-04-01", "2024-07-01", "2024-10-01"]),
        fine=T.cost.bin([step / 4 for step in range(100, 10_100, 20)]),
    )
    histogram = bands.group_by("band", "quarter", keys={"band": range(5), "quarter": range(4)})
    fine = bands.group_by("fine", keys={"fine": range(501)}).agg(n=dp.count())
    ledger, found = dp.testing.ForgottenLedger(), {}
    for engine in opened.ENGINES:
        with _session(dp.testing.Session, engine, request, ledger=ledger) as session:
            found[engine] = [
                session.release(query, epsilon=Fraction(1, 10)).to_arrow().to_pylist()
                for query in (histogram.agg(n=dp.count(), total=dp.sum("cost")), fine)
            ]
    assert min(sum(row["n"] for row in table) for table in found["duckdb"]) > 300
    assert max(row["n"] for table in found["duckdb"] for row in table) < 300
    for engine in opened.ENGINES:
        assert found[engine] == found["duckdb"], engine


def test_one_catalog_gives_the_same_prices_and_margins_on_every_engine_and_noise_of_its_own(request, tmp_path):
    """Four releases of 24 noisy numbers agree by chance with probability below 1e-20: their noise is in the tens."""
    told, noisy = {}, {}
    for engine in opened.ENGINES:
        with _session(dp.Session, engine, request, ledger=tmp_path / f"{engine}.sqlite") as session:
            told[engine] = str(session.explain(QUERY, epsilon=Fraction(1, 2)))
            noisy[engine] = session.release(QUERY, epsilon=Fraction(1, 2))
    assert {text.replace(f"version {1 + i}", "") for i, text in enumerate(told.values())} == {
        told["duckdb"].replace("version 1", "")
    }
    assert len({str([m.scale for m in release.measured]) for release in noisy.values()}) == 1
    assert len({str(release.to_arrow().to_pylist()) for release in noisy.values()}) == len(opened.ENGINES)
