"""A refusal shows the corrected line of code, the line works, and the traceback is short.

Each case is a line that a person might type. It is run in a script of its own, as a person would; what the script
prints is counted; then the correction that the refusal shows is put in place of the mistake and run.
"""

import re

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import (
    BudgetError,
    KeysError,
    NameNotFoundError,
    ParameterError,
    SourceError,
    TypeMismatchError,
    UnboundedError,
    UnitError,
)

LONGEST = 15

OPENING = """import discreet as dp

session = dp.protect(dp.datasets.visits(50, seed=1), name="visits", privacy_unit="patient_id", max_rows=10,
                     keys={"ward": list(dp.datasets.WARDS)}, budget=dp.Budget(epsilon=2))
visits = dp.table("visits")
"""

MISTAKES = {
    "a misspelt column": (
        "session.release(visits.where(visits.agee >= 40).agg(n=dp.count()), epsilon=0.5)",
        "NameNotFoundError: column 'agee'",
    ),
    "a missing bound": (
        'session.release(visits.agg(total=dp.sum("cost")), epsilon=0.5)',
        "UnboundedError: sum of 'cost'",
    ),
    "an exhausted budget": (
        "session.release(visits.agg(n=dp.count()), epsilon=5)",
        "BudgetError: a charge of epsilon 5 on 'visits'",
    ),
    "an unknown key": (
        'session.release(visits.group_by("ward", keys={"ward": ["Radiology"]}).agg(n=dp.count()), epsilon=0.5)',
        "KeysError: key 'Radiology' of 'ward'",
    ),
    "a wrong type": (
        "session.release(visits.where(visits.ward > 3).agg(n=dp.count()), epsilon=0.5)",
        "TypeMismatchError: > between table['ward'] of type text and 3 of type integer",
    ),
}


@pytest.mark.parametrize(("line", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_script_prints_at_most_fifteen_lines(script, line, says):
    done = script(OPENING + line + "\n")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) <= LONGEST, done.stderr
    assert says in done.stderr
    assert line in done.stderr
    assert re.search(r"^  because  \S", done.stderr, re.MULTILINE)
    assert re.search(r"^  instead  \S", done.stderr, re.MULTILINE)
    assert done.stderr.count("src/discreet") + done.stderr.count("site-packages/discreet") <= 2


def test_a_mistake_inside_functions_adds_only_the_frames_of_the_person(script):
    code = (
        OPENING
        + "def ask():\n    return inner()\n\ndef inner():\n    return session.release(visits, epsilon=0.5)\n\nask()\n"
    )
    done = script(code)
    assert done.stderr.count("  File ") == 4
    assert len(done.stderr.splitlines()) <= LONGEST + 4


# The corrected code works


def rows():
    return pa.table(
        {
            "person": ["a", "b"],
            "ward": ["A", "B"],
            "code": ["1", "2"],
            "cost": [1, 2],
            "share": [0.5, 0.25],
            "urgent": [True, False],
        }
    )


WORDS = {"name": "visits", "privacy_unit": "person", "max_rows": 2, "budget": dp.Budget(epsilon=1)}
VISITS = dp.table("visits")


@pytest.fixture
def session():
    with dp.protect(rows(), keys={"ward": ["A", "B"]}, **WORDS) as opened:
        yield opened


def refusal(kind, call):
    with pytest.raises(kind) as caught:
        call()
    return caught.value


def corrected(instead, **names):
    """The code that a refusal shows, run: what stands before an ' or ' that offers another way."""
    return eval(instead.split(", or ")[0], {"dp": dp, **names})  # noqa: S307 - the text is our own


def test_the_nearest_column_is_shown_and_works(session):
    refused = refusal(
        NameNotFoundError, lambda: session.explain(VISITS.where(VISITS.csot > 1).agg(n=dp.count()), epsilon=1)
    )
    column = corrected(refused.instead, table=VISITS)
    assert session.release(VISITS.where(column > 1).agg(n=dp.count()), epsilon=0.1).private


def test_the_nearest_table_is_shown_and_works(session):
    refused = refusal(NameNotFoundError, lambda: session.explain(dp.table("visit").agg(n=dp.count()), epsilon=1))
    assert session.release(corrected(refused.instead).agg(n=dp.count()), epsilon=0.1).private


@pytest.mark.parametrize("verb", ["sum", "mean"])
def test_the_missing_bounds_are_shown_and_work(session, verb):
    refused = refusal(UnboundedError, lambda: session.explain(VISITS.agg(x=getattr(dp, verb)("cost")), epsilon=1))
    aggregate = corrected(refused.instead, lo=0, hi=100)
    assert session.release(VISITS.agg(x=aggregate), epsilon=0.1).private


@pytest.mark.parametrize("delta", [0, 1e-9], ids=["pure", "approximate"])
@pytest.mark.parametrize("first", [0.1, 0.7, 0.99])
def test_the_epsilon_that_still_fits_is_shown_and_works(first, delta):
    with dp.protect(rows(), **(WORDS | {"budget": dp.Budget(epsilon=1, delta=delta)})) as session:
        query = VISITS.agg(n=dp.count())
        session.release(query, epsilon=first)
        refused = refusal(BudgetError, lambda: session.release(query, epsilon=1, fresh=True))
        assert corrected(refused.instead, session=session, query=VISITS.agg(n=dp.count_units())).private


def test_an_empty_budget_points_to_stored_answers_and_to_a_new_promise(session):
    query = VISITS.agg(n=dp.count())
    session.release(query, epsilon=1)
    refused = refusal(BudgetError, lambda: session.release(query, epsilon=0.5))
    assert "stored answer is free" in refused.instead
    assert session.release(query, epsilon=1).private
    change = refused.instead.split("; or ")[1].replace("...", "dp.Budget(epsilon=2)", 1)
    eval(change, {"dp": dp, "session": session})  # noqa: S307 - the text is our own
    assert session.release(query, epsilon=0.5).private


def test_the_declared_keys_are_shown_and_work(session):
    grouped = VISITS.group_by("ward", keys={"ward": ["C"]})
    refused = refusal(KeysError, lambda: session.explain(grouped.agg(n=dp.count()), epsilon=1))
    words = corrected(f"dict({refused.instead})")
    assert session.release(VISITS.group_by("ward", **words).agg(n=dp.count()), epsilon=0.1).private


@pytest.mark.parametrize("column", ["code", "cost"])
def test_a_grouping_without_keys_shows_how_they_are_given(session, column):
    refused = refusal(KeysError, lambda: session.explain(VISITS.group_by(column).agg(n=dp.count()), epsilon=1))
    grouped = corrected(refused.instead, group_by=VISITS.group_by)
    assert session.release(grouped.agg(n=dp.count()), epsilon=0.1).private


def test_a_comparison_of_text_with_a_number_shows_a_cast_that_works(session):
    query = VISITS.where(VISITS.code > 1).agg(n=dp.count())
    refused = refusal(TypeMismatchError, lambda: session.explain(query, epsilon=1))
    (cast,) = re.findall(r"table\['code'\]\.cast\('\w+'\)", refused.instead)
    assert session.release(VISITS.where(corrected(cast, table=VISITS) > 1).agg(n=dp.count()), epsilon=0.1).private


def test_a_sum_of_text_shows_a_cast_that_works(session):
    query = VISITS.agg(s=dp.sum("code", bounds=(0, 9)))
    refused = refusal(TypeMismatchError, lambda: session.explain(query, epsilon=1))
    cast = re.search(r"table\[[\"']code[\"']\]\.cast\([\"']\w+[\"']\)", refused.instead)
    assert cast, refused.instead
    summed = dp.sum(corrected(cast.group(), table=VISITS), bounds=(0, 9))
    assert session.release(VISITS.agg(s=summed), epsilon=0.1).private


def test_a_grouping_by_real_numbers_shows_a_cast_that_works(session):
    query = VISITS.group_by("share", keys={"share": [0]}).agg(n=dp.count())
    refused = refusal(TypeMismatchError, lambda: session.explain(query, epsilon=1))
    derived = corrected(refused.instead, derive=VISITS.derive, table=VISITS)
    assert session.release(derived.group_by("share", keys={"share": [0]}).agg(n=dp.count()), epsilon=0.1).private


def test_names_with_spaces_are_written_so_that_the_code_runs():
    spaced = pa.table({"person id": ["a", "b"], "the cost": [0.5, 1.5], "the ward": ["A", "B"]})
    words = WORDS | {"name": "my file", "privacy_unit": "person id"}
    table = dp.table("my file")
    with dp.protect(spaced, **words) as session:
        for wrong, names in (
            (table.where(table["the costs"] > 1).agg(n=dp.count()), {"table": table}),
            (dp.table("my files").agg(n=dp.count()), {}),
            (table.agg(x=dp.sum("the cost")), {"lo": 0, "hi": 1}),
            (table.group_by("the cost").agg(n=dp.count()), {"derive": table.derive, "table": table}),
            (table.group_by("the ward").agg(n=dp.count()), {"group_by": table.group_by}),
        ):
            refused = refusal(dp.Refusal, lambda wrong=wrong: session.explain(wrong, epsilon=0.5))
            assert corrected(refused.instead, **names) is not None
        cast = refusal(dp.Refusal, lambda: session.explain(table.histogram("the ward", bins=[1]), epsilon=1)).instead
        derived = re.search(r"derive\(.*\)(?= first)", cast)[0]
        assert corrected(derived, derive=table.derive, table=table) is not None


def test_a_condition_that_is_none_shows_a_comparison(session):
    refused = refusal(
        TypeMismatchError, lambda: session.explain(VISITS.where(VISITS.cost).agg(n=dp.count()), epsilon=1)
    )
    (comparison,) = re.findall(r"table\['cost'\] == \w+", refused.instead)
    assert session.release(VISITS.where(corrected(comparison, table=VISITS)).agg(n=dp.count()), epsilon=0.1).private


def test_an_unbounded_number_of_rows_shows_a_cap_that_works():
    with dp.protect(rows(), **(WORDS | {"max_rows": None})) as session:
        refused = refusal(UnboundedError, lambda: session.explain(VISITS.agg(n=dp.count()), epsilon=1))
    words = corrected(f"dict({refused.instead.split(' in ')[0]})")
    with dp.protect(rows(), **(WORDS | {"name": "capped"} | words)) as session:
        assert session.release(dp.table("capped").agg(n=dp.count()), epsilon=0.1).private


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ({"privacy_unit": None}, UnitError),
        ({"budget": None}, BudgetError),
        ({"neighbours": "swap"}, ParameterError),
        ({"name": None}, ParameterError),
        ({"bounds": {"cost": (9, 1)}}, ParameterError),
        ({"keys": {"ward": "AB"}}, ParameterError),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_words_that_protect_refuses_are_shown_corrected(words, kind):
    refused = refusal(kind, lambda: dp.protect(rows(), **(WORDS | words)))
    (name,) = words
    assert f"{name}=" in refused.instead


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: VISITS.where((VISITS.cost > 1) and (VISITS.cost < 5)),
        lambda: VISITS.where(1 < VISITS.cost < 5),
        lambda: VISITS.where("cost > 1"),
        lambda: VISITS.agg(n=VISITS.cost),
        lambda: VISITS.group_by("ward", keys={"wrad": ["A"]}),
        lambda: VISITS[0],
        lambda: dp.sum("cost", bounds=(5, 1)),
        lambda: dp.Budget(epsilon="1"),
        lambda: dp.Budget(epsilon=1, delta=2),
        lambda: VISITS.cost.cast("number"),
        lambda: dp.protect("no such file.csv", privacy_unit="id", budget=dp.Budget(epsilon=1)),
    ],
    ids=range(11),
)
def test_mistakes_before_any_session_are_refusals_with_three_parts(mistake):
    refused = refusal((TypeMismatchError, ParameterError, SourceError), mistake)
    assert refused.what
    assert refused.because
    assert refused.instead
    text = str(refused)
    assert text == f"{refused.what}\n  because  {refused.because}\n  instead  {refused.instead}"
    assert "please" not in text.lower()
    assert "invalid" not in text.lower()
    assert not text.endswith(".")
