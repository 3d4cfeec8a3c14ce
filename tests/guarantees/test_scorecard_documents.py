"""The items of the scorecard on documents and front doors, by the public interface: G8, G9, D1, D4, U2, U5 and more."""

import html
import json

import pytest
from pyarrow import parquet

import discreet as dp

BY_URGENT = "SELECT urgent, COUNT(*) AS n FROM visits WHERE age < 65 GROUP BY urgent"
OTHERS = "counts by ward in the yearly report of 2025, without noise"


@pytest.fixture
def session(tmp_path):
    facts = "source: visits.parquet, privacy_unit: patient_id, max_rows: 10, budget: {epsilon: 2}"
    columns = "patient_id: {type: integer}, age: {type: integer, bounds: [0, 110]}, urgent: {type: boolean}"
    text = f"tables: {{visits: {{{facts}, other_releases: [{json.dumps(OTHERS)}], columns: {{{columns}}}}}}}"
    parquet.write_table(dp.datasets.visits(200), tmp_path / "visits.parquet")
    (tmp_path / "catalog.yaml").write_text(text)
    with dp.Session(tmp_path / "catalog.yaml", ledger=tmp_path / "ledger.sqlite") as opened:
        yield opened


# G8: the user states a harm, and the tool says whether the unit covers it


def test_g8_a_stated_harm_is_held_against_the_unit(session):
    guarantee = session.remaining().guarantee
    assert dp.covers(guarantee, learns="presence").is_covered
    assert not dp.covers(guarantee, learns="value", of="doctor_id").is_covered
    assert not dp.covers(guarantee, learns="statistic").is_covered


# G9: a release lists unprotected quantities and other known releases. U13: its documentation travels with it


@pytest.mark.parametrize("form", ["json", "html", "csv", "parquet"])
@pytest.mark.parametrize("kind", ["query", "statement"])
def test_g9_and_u13_every_form_of_a_release_has_what_its_readers_need(session, tmp_path, form, kind):
    visits = dp.table("visits")
    query = visits.where(visits["age"] < 65).group_by("urgent").agg(n=dp.count())
    release = session.release(query, epsilon=0.5) if kind == "query" else session.sql(BY_URGENT, epsilon=0.5)
    release.save(tmp_path / f"table.{form}")
    text = _text_of(tmp_path, form)
    for needed in (
        "age < 65",  # what was asked
        "one patient_id, added or removed",  # of whom
        "epsilon 0.5",
        "beyond the contribution bounds",  # what margins leave out
        "inferences about a person that would hold without their data",  # what is not protected
        OTHERS,
    ):
        assert needed in text


def _text_of(directory, form):
    """What a reader of a saved file finds in it, or beside it."""
    if form == "parquet":
        return parquet.read_schema(directory / "table.parquet").metadata[b"discreet"].decode()
    if form == "csv":
        return (directory / "table.csv.json").read_text()
    text = (directory / f"table.{form}").read_text()
    return html.unescape(text) if form == "html" else text
