"""What an attack found in joins and features, kept: names that engines confuse, sums that overflow, stale answers."""

import os
import sqlite3
from contextlib import closing
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError, UnsupportedError

INTEGER, TEXT = {"type": "integer"}, {"type": "text"}
STAYS = {"privacy_unit": "pid", "max_rows": 9, "budget": {"epsilon": 10}}
THROUGH = {"privacy_unit": {"through": "stays", "on": "stay"}, "max_rows": 1, "budget": {"epsilon": 10}}
MANY = 50


def _catalog(stays: dict, tests: dict, **tables: dict) -> Catalog:
    made = {"stays": STAYS | {"columns": stays}, "tests": THROUGH | {"columns": tests}}
    return Catalog.model_validate({"tables": made | tables})


def _worlds():
    """One unit with many stays and their tests, or without a stay; and one other unit."""
    for there in (True, False):
        many = range(MANY if there else 0)
        stays = {"pid": [1] * len(many) + [2], "stay": [*many, 999], "bed": [*many, 99]}
        tests = {"stay": [*range(MANY), 999], "Pid": [*range(MANY), 5000]}
        yield pa.table(stays), pa.table(tests)


def _in_sqlite(path, tables):
    with closing(sqlite3.connect(path)) as file, file:
        for name, table in tables.items():
            file.execute(f"CREATE TABLE {name}({', '.join(table.column_names)})")
            places = ", ".join("?" * table.num_columns)
            file.executemany(f"INSERT INTO {name} VALUES({places})", zip(*table.to_pydict().values(), strict=True))
    return dict.fromkeys(tables, str(path))


@pytest.mark.guarantee("planner.resolve.relations")
@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_column_named_like_the_unit_but_for_its_case_is_not_taken_for_the_unit(engine, tmp_path):
    catalog = _catalog({"pid": INTEGER, "stay": INTEGER}, {"stay": INTEGER, "Pid": INTEGER})
    found = []
    for number, (stays, tests) in enumerate(_worlds()):
        sources = {"stays": stays.drop_columns(["bed"]), "tests": tests}
        if engine == "sqlite":
            sources = _in_sqlite(tmp_path / f"{number}.sqlite", sources)
            kinds = catalog.model_dump(mode="json", exclude_defaults=True)
            for name, table in kinds["tables"].items():
                table["relation"] = name
            catalog = Catalog.model_validate(kinds)
        with dp.testing.Session(catalog, sources=sources) as session:
            table = dp.table("tests")
            release = session.release(table.where(table["Pid"] >= 0).agg(n=dp.count()), epsilon=1)
            found.append(release.value())
            assert release.measured[0].l1 == 1
    assert abs(found[0] - found[1]) <= 1


@pytest.mark.guarantee("planner.resolve.relations")
@pytest.mark.parametrize(
    "build",
    [
        lambda: dp.table("tests").join(dp.table("stays"), on="stay", names={"pid": "who", "bed": "Who"}),
        lambda: dp.table("stays").per_unit(n=dp.count(), N=dp.largest("bed")),
        lambda: dp.table("stays").per_unit(n=dp.count(), Pid=dp.largest("bed")),
        lambda: dp.table("people").join(dp.table("notes"), on="pid", names={"note": "X", "flag": "x"}),
        lambda: dp.table("people").join(dp.table("wards"), on={"pid": "id"}, names={"beds": "Y", "name": "y"}),
    ],
)
def test_names_that_differ_only_in_case_are_refused_in_one_relation(build):
    people = {"privacy_unit": "pid", "max_rows": 1, "budget": {"epsilon": 1}}
    more = {
        "people": people | {"columns": {"pid": INTEGER}},
        "notes": people | {"columns": {"pid": INTEGER, "note": TEXT, "flag": {"type": "boolean"}}},
        "wards": {"public": True, "columns": {"id": INTEGER, "beds": INTEGER, "name": TEXT}},
    }
    stays, tests = next(_worlds())
    leading = {"stay": INTEGER, "pid": INTEGER}
    catalog = _catalog({"pid": INTEGER, "stay": INTEGER, "bed": INTEGER}, leading, **more)
    sources = {
        "stays": stays,
        "tests": tests.rename_columns(["stay", "pid"]),
        "people": pa.table({"pid": [1]}),
        "notes": pa.table({"pid": [1], "note": ["HIV+"], "flag": [True]}),
        "wards": pa.table({"id": [1], "beds": [2], "name": ["A"]}),
    }
    with dp.testing.Session(catalog, sources=sources) as session, pytest.raises(ParameterError):
        session.release(build().agg(n=dp.count()), epsilon=1)


LARGE = Fraction(10**305, 10**304 + 1)
HUGE = 99 * Fraction(10) ** 148


@pytest.mark.pitfall("A18")
@pytest.mark.parametrize("engine", ["duckdb", pytest.param("postgres", marks=pytest.mark.full)])
@pytest.mark.parametrize("feature", ["sum", "mean", "square"])
def test_no_value_of_one_unit_makes_a_feature_overflow(feature, engine, request):
    columns = {"pid": INTEGER, "x": {"type": "real"}}
    facts = {"privacy_unit": "pid", "max_rows": 5, "budget": {"epsilon": 10}, "columns": columns}
    if engine == "postgres":
        facts["relation"] = "features"
    table = dp.table("t")
    if feature == "square":
        units = table.per_unit(s=dp.sum("x", bounds=(0, Fraction(10) ** 150), grid=HUGE))
        query = units.derive(z=units["s"] * units["s"]).agg(n=dp.sum("z", bounds=(0, 10)))
    else:
        made = dp.sum if feature == "sum" else dp.mean
        query = table.per_unit(s=made("x", bounds=(0, 10**6), grid=LARGE)).agg(n=dp.sum("s", bounds=(0, 10)))
    for there in (True, False):
        more = 20_000 if there else 0
        rows = pa.table({"pid": [1, 2] + [3] * more, "x": pa.array([5.0, 5.0] + [9.9e149] * more, pa.float64())})
        source: object = rows
        if engine == "postgres":
            server = request.getfixturevalue("postgres")
            server.load("features", rows)
            source = server.engine_url
        with dp.testing.Session(Catalog.model_validate({"tables": {"t": facts}}), sources={"t": source}) as session:
            session.release(query, epsilon=1)


def test_an_answer_is_not_repeated_where_a_public_table_has_changed(tmp_path):
    visits = {"privacy_unit": "pid", "max_rows": 5, "budget": {"epsilon": 9}, "columns": {"pid": INTEGER, "w": TEXT}}
    wards = {"public": True, "columns": {"w": TEXT, "beds": {"type": "integer", "bounds": [0, 100]}}}
    catalog = Catalog.model_validate({"tables": {"visits": visits, "wards": wards}})
    rows = pa.table({"pid": [1, 2], "w": ["a", "b"]})
    query = dp.table("visits").join(dp.table("wards"), on="w").agg(n=dp.sum("beds"))
    path = tmp_path / "wards.csv"

    def asked(wards: object) -> bool:
        ledger = str(tmp_path / "ledger.sqlite")
        with dp.Session(catalog, sources={"visits": rows, "wards": wards}, ledger=ledger) as session:
            return session.release(query, epsilon=0.5).repeated

    one, other = (pa.table({"w": ["a", "b"], "beds": [beds, beds]}) for beds in (1, 50))
    assert [asked(one), asked(one), asked(other), asked(one)] == [False, True, False, True]
    path.write_text("w,beds\na,1\n", encoding="utf-8")
    assert [asked(path), asked(path)] == [False, True]
    path.write_text("w,beds\na,50\n", encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert not asked(path)


@pytest.mark.pitfall("B3")
def test_a_watch_of_a_table_whose_unit_is_elsewhere_is_refused_before_it_is_charged():
    stays, tests = next(_worlds())
    catalog = _catalog({"pid": INTEGER, "stay": INTEGER, "bed": INTEGER}, {"stay": INTEGER})
    sources = {"stays": stays, "tests": tests.select(["stay"])}
    with dp.Session(catalog, sources=sources, ledger=dp.SQLiteLedger(":memory:")) as session:
        with pytest.raises(UnsupportedError, match="whose unit is in another table"):
            session.above_threshold("tests", threshold=5, epsilon=1)
        assert float(session.remaining("tests")) == 10


def test_a_batch_that_reads_another_table_names_it_and_fits_only_where_that_has_room():
    table = {"privacy_unit": "pid", "max_rows": 1, "columns": {"pid": INTEGER}}
    catalog = Catalog.model_validate(
        {"tables": {"one": table | {"budget": {"epsilon": 5}}, "other": table | {"budget": {"epsilon": 1}}}}
    )
    rows, one = pa.table({"pid": [1, 2]}), dp.table("one")
    batch = [one.agg(n=dp.count()), one.join(dp.table("other"), on="pid").agg(n=dp.count())]
    ledger = dp.SQLiteLedger(":memory:")
    with dp.Session(catalog, sources={"one": rows, "other": rows}, ledger=ledger) as session:
        assert not session.explain(batch, epsilon=2).fits
        assert session.explain(batch, epsilon=1).fits
        first, _ = session.release(batch, epsilon=1)
        assert "and 'other', version 1" in first.guarantee
        assert (float(session.remaining("one")), float(session.remaining("other"))) == (4, 0)
