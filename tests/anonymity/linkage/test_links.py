"""Linkage against brute force: every pair of rows compared, on random tables with missing cells and several rows."""

import datetime as dt
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.linkage import candidates
from discreet.anonymity.linkage.links import link
from discreet.errors import NameNotFoundError, ParameterError, TypeMismatchError, UnsupportedError

TYPES = {
    "id": pa.int64(),
    "sex": pa.string(),
    "age": pa.int64(),
    "pay": pa.float64(),
    "born": pa.date32(),
    "name": pa.string(),
    "ill": pa.string(),
    "town": pa.string(),
}
NAMES = ["Ann", "ann", "A nn", "Anne", "Bob", "Rob", "Bobby", ""]


def _row(draw, missing: float, people: int) -> dict:
    row = {
        "id": int(draw.integers(people)),
        "sex": str(draw.choice(["f", "m"])),
        "age": int(draw.integers(30, 36)),
        "pay": float(draw.integers(10, 16)) / 10,
        "born": dt.date(2000, 1, 1) + dt.timedelta(days=int(draw.integers(6))),
        "name": str(draw.choice(NAMES)),
        "ill": str(draw.choice(["x", "y", "z"], p=[0.5, 0.3, 0.2])),
        "town": str(draw.choice(["p", "q", "r"])),
    }
    return {name: None if draw.random() < missing else cell for name, cell in row.items()}


def _table(rows: list[dict]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()})


def _edits(first: str, second: str) -> int:
    if not first or not second:
        return len(first) + len(second)
    return min(
        _edits(first[1:], second[1:]) + (first[0] != second[0]),
        _edits(first[1:], second) + 1,
        _edits(first, second[1:]) + 1,
    )


def _alike(here: object, there: object, tolerance: object, nulls: str) -> bool:
    if here is None or there is None:
        return nulls == "wildcard" or (nulls == "value" and here is there)
    if tolerance is None:
        return here == there
    if isinstance(here, str):
        return _edits("".join(here.casefold().split()), "".join(there.casefold().split())) <= tolerance
    if isinstance(here, dt.date):
        return abs((here - there).days) <= tolerance
    return abs(Fraction(repr(here)) - Fraction(repr(there))) <= Fraction(repr(tolerance))


def _people(rows: list[dict], has_person: bool) -> list[list[dict]]:
    groups: dict[object, list[dict]] = {}
    for number, row in enumerate(rows):
        key = ("row", number) if not has_person or row["id"] is None else row["id"]
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _brute(published, auxiliary, on, approximate, nulls, has_person) -> list[tuple[list[dict], list[list[dict]]]]:
    """Each auxiliary person with the compatible rows of each candidate."""
    if nulls == "exclude":
        published, auxiliary = (
            [row for row in rows if all(row[name] is not None for name in on)] for rows in (published, auxiliary)
        )

    def fits(ours: dict, theirs: dict) -> bool:
        return all(_alike(ours[name], theirs[name], approximate.get(name), nulls) for name in on)

    answers = []
    for person in _people(auxiliary, has_person):
        everybody = _people(published, has_person)
        chosen = [other for other in everybody if all(any(fits(row, each) for each in other) for row in person)]
        answers.append((person, [[each for each in other if any(fits(r, each) for r in person)] for other in chosen]))
    return answers


def _guess(rows: list[list[dict]], order: dict[object, tuple]) -> tuple[object, int, int]:
    counts = Counter(value for candidate in rows for value in {row["ill"] for row in candidate})
    best = min(counts, key=lambda value: (-counts[value], order[value]))
    return best, counts[best], sum(counts.values())


def _value_order(published: list[dict], has_person: bool) -> dict[object, tuple]:
    first = list(dict.fromkeys(row["ill"] for row in published))
    times = Counter(value for person in _people(published, has_person) for value in {row["ill"] for row in person})
    return {value: (-times[value], place) for place, value in enumerate(first)}


def _expected_unique(answers, column: str) -> float:
    total = 0.0
    for _, rows in answers:
        values = [{row[column] for row in candidate} for candidate in rows]
        times = Counter(value for each in values for value in each)
        total += sum(any(times[value] == 1 for value in each) for each in values) / len(rows) if rows else 0
    return total


@pytest.mark.parametrize("case", [*range(60), *(pytest.param(n, marks=pytest.mark.nightly) for n in range(60, 700))])
def test_link_agrees_with_brute_force(case, monkeypatch):
    draw = dp.testing.generator(case)
    missing = float(draw.choice([0, 0.1, 0.3]))
    nulls, has_person = str(draw.choice(["value", "wildcard", "exclude"])), bool(draw.random() < 0.5)
    rows = [[_row(draw, missing, 12) for _ in range(int(draw.integers(1, 25)))] for _ in range(2)]
    names = ["sex", "age", "pay", "born", "name"]
    on = [str(name) for name in draw.permutation(names)[: int(draw.integers(1, 5))]]
    distances = {"age": 1, "pay": 0.1, "born": 2, "name": int(draw.integers(0, 3))}
    approximate = {name: distances[name] for name in on if name in distances and draw.random() < 0.6}
    monkeypatch.setattr(candidates, "MOST_PAIRS", int(draw.choice([1, 7, 1_000])))
    person = "id" if has_person else None
    answers = _brute(*rows, on, approximate, nulls, has_person)
    everybody = len(_people(rows[1], has_person))
    risk = link(
        *map(_table, rows),
        on,
        person=person,
        truth="id",
        approximate=approximate,
        learn="ill",
        seek=["town"],
        nulls=nulls,
    )
    counts = Counter(len(found) for _, found in answers)
    counts[0] += everybody - len(answers)
    assert dict(risk.candidates) == {number: people for number, people in counts.items() if people}
    true = [
        ours[0]["id"] is not None and any(theirs[0]["id"] == ours[0]["id"] for theirs in found)
        for ours, found in answers
    ]
    if has_person or all(row["id"] is not None for row in rows[0]):
        assert risk.correct == sum(flag and len(found) == 1 for flag, (_, found) in zip(true, answers, strict=True))
        assert risk.wrong == risk.one_candidate - risk.correct
        assert risk.among_candidates == sum(true)
    _check_values(risk, rows[0], answers, on, nulls, has_person)
    assert risk.next_columns[0].expected_unique == pytest.approx(_expected_unique(answers, "town"))


def _check_values(risk, published, answers, on, nulls, has_person) -> None:
    if nulls == "exclude":
        published = [row for row in published if all(row[name] is not None for name in on)]
    order = _value_order(published, has_person)
    guesses = [(ours, *_guess(found, order)) for ours, found in answers if found]
    known = {(row["id"], row["ill"]) for row in published if row["id"] is not None}
    assert risk.learned.people == len(guesses)
    assert risk.learned.certain == sum(most == total for _, _, most, total in guesses)
    assert dict(risk.learned.confidence)[0.5] == sum(2 * most >= total for _, _, most, total in guesses)
    assert risk.learned.right == sum((ours[0]["id"], guess) in known for ours, guess, _, _ in guesses)


def test_a_copy_is_matched_correctly_and_a_stranger_wrongly():
    published = pa.table({"id": [1, 2, 3], "zip": ["a", "b", "b"], "ill": ["x", "y", "y"]})
    known = pa.table({"id": [1, 2, 9], "zip": ["a", "b", "a"]})
    risk = link(published, known, ["zip"], person="id", learn="ill")
    assert (risk.one_candidate, risk.correct, risk.wrong) == (2, 1, 1)
    assert risk.odds == ((Fraction(1), 2), (Fraction(1, 2), 1))
    assert risk.expected_correct == 1.5
    assert risk.learned.certain == 3
    assert risk.learned.certain_right == 2
    assert "1 correct and 1 wrong" in str(risk)


def test_the_control_group_is_the_baseline():
    people = dp.datasets.people(300)
    risk = link(people[:200], people[:200], ["sex", "state"], control=people[200:])
    assert risk.control.people == 100
    assert risk.control.no_candidate + risk.control.one_candidate + risk.control.several_candidates == 100
    assert "control group" in str(risk)


def test_the_next_column_is_the_one_that_makes_most_matches_unique():
    table = pa.table({"sex": ["f"] * 4, "zip": ["a", "b", "c", "d"], "town": ["p", "p", "q", "q"]})
    risk = link(table, table, ["sex"])
    assert [(each.column, each.expected_unique) for each in risk.next_columns] == [("zip", 4.0), ("town", 0.0)]
    better = link(table, table, ["sex", risk.next_columns[0].column])
    assert better.one_candidate == 4


def test_rows_with_missing_cells_that_are_left_out_are_counted():
    published = pa.table({"zip": ["a", None]})
    risk = link(published, published, ["zip"], nulls="exclude")
    assert risk.excluded == (1, 1)
    assert risk.people == 2
    assert dict(risk.candidates) == {0: 1, 1: 1}


def test_empty_tables_have_no_matches():
    table = pa.table({"zip": ["a"], "ill": ["x"]})
    assert link(table[:0], table, ["zip"], learn="ill").no_candidate == 1
    assert link(table, table[:0], ["zip"], learn="ill").people == 0
    assert "0 of 0 people" in str(link(table, table[:0], ["zip"]))


def test_the_figure_describes_the_matches():
    pytest.importorskip("matplotlib")
    people = dp.datasets.people(100)
    label = link(people, people, ["sex", "state"], person="person_id").plot().get_label()
    assert "one, correct" in label
    assert "one candidate" in link(people, people, ["sex"]).plot().get_label()


def test_a_wrong_call_is_refused():
    table = pa.table({"zip": ["a"], "age": [1]})
    with pytest.raises(ParameterError, match="list"):
        link(table, table, "zip")
    with pytest.raises(ParameterError, match="compared"):
        link(table, table, ["zip"], approximate={"age": 1})
    with pytest.raises(ParameterError, match="missing cell"):
        link(table, table, ["zip"], nulls="any")
    with pytest.raises(NameNotFoundError):
        link(table, table, ["zap"])
    with pytest.raises(NameNotFoundError):
        link(table, table, ["zip"], truth="id")
    with pytest.raises(TypeMismatchError):
        link(table, pa.table({"zip": [1]}), ["zip"])


def test_too_many_combinations_of_missing_cells_are_refused(monkeypatch):
    monkeypatch.setattr(candidates, "MOST_PATTERNS", 3)
    table = pa.table({"zip": ["a", None], "age": [None, 1]})
    with pytest.raises(UnsupportedError, match="combinations"):
        link(table, table, ["zip", "age"], nulls="wildcard")


def test_the_result_as_json_is_plain():
    people = dp.datasets.people(50)
    figures = link(people, people, ["sex"], person="person_id", learn="state").to_json()["figures"]
    assert figures["people"] == 50
    assert figures["learned"]["column"] == "state"


@pytest.mark.parametrize(
    "options", [{"learn": ["disease"]}, {"person": ["who"]}, {"truth": 5}, {"seek": "disease"}], ids=str
)
def test_names_of_another_kind_are_refused_with_a_sentence(options):
    table = pa.table({"age": [1], "disease": ["flu"], "who": [1]})
    with pytest.raises(ParameterError):
        link(table, table, ["age"], **options)
