"""Calls refuse what is not a question, a table or a confidence, with the way to write it."""

import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.plan import logical
from discreet.query.applications import Application, Blocks
from discreet.query.frame import Query, relation_of
from discreet.query.scores import Choice
from discreet.sandbox import transport
from discreet.session.arguments import checked_fresh, checked_relation, confidence_of, validate_query, validate_request

VISITS = dp.table("visits")
QUERY = VISITS.agg(n=dp.count())
CHOICE = VISITS.choose(["A"], score=dp.score(by="ward"))
TEXT = "def answer(table):\n    return table.num_rows"
OPTIONS = {"columns": ["age"], "blocks": 4, "bounds": (0, 9)}
APPLICATION = VISITS.apply(TEXT, **OPTIONS)
SMOOTH = dp.SmoothSensitivity()


def asked(query, **words):
    return validate_request(query, (), **({"weights": None, "delta": None, "mechanism": None, "method": None} | words))


@pytest.mark.parametrize("check", [validate_query, checked_relation, asked])
@pytest.mark.parametrize("given", ["SELECT 1", None, 7, 1.5])
def test_something_else_is_refused_with_what_is_wanted(check, given):
    with pytest.raises(ParameterError, match=r"dp\.table"):
        check(given)


def test_what_is_wanted_is_given_back():
    assert validate_query(QUERY) == asked(QUERY) == asked(QUERY, method=SMOOTH) == QUERY
    assert checked_relation(VISITS) == relation_of(VISITS)
    assert asked(CHOICE) == CHOICE


@pytest.mark.parametrize("plan", [VISITS, relation_of(VISITS), None, QUERY, 7])
def test_a_query_around_something_that_is_no_aggregate_is_refused(plan):
    for check in (validate_query, asked, lambda query: asked(query, method=SMOOTH), lambda query: asked([query])):
        with pytest.raises(ParameterError, match="a plan of type"):
            check(Query(plan))


@pytest.mark.parametrize("plan", [VISITS, QUERY.plan, relation_of(VISITS), None])
def test_a_choice_around_something_that_is_no_selection_is_refused(plan):
    with pytest.raises(ParameterError, match="a plan of type"):
        asked(Choice(plan, 1))


@pytest.mark.parametrize("source", [VISITS, QUERY.plan, CHOICE.plan, None])
def test_an_application_to_something_that_is_no_relation_is_refused(source):
    with pytest.raises(ParameterError, match="a plan of type"):
        asked(Application(source, TEXT, Blocks(**OPTIONS)))


@pytest.mark.parametrize("source", [logical.TableRef(7), logical.Where(relation_of(VISITS), None)])
def test_a_plan_that_is_built_by_hand_is_validated(source):
    for question in (
        Query(logical.Aggregate(source, QUERY.plan.outputs, QUERY.plan.grouping)),
        Application(source, TEXT, Blocks(**OPTIONS)),
    ):
        with pytest.raises(ParameterError):
            asked(question)


def test_a_function_is_packed_into_bytes_when_it_is_asked():
    packed = asked(APPLICATION).function
    assert packed == transport.pack(TEXT, ())
    (again,) = asked([APPLICATION])
    assert again.function.digest == packed.digest


@pytest.mark.parametrize("function", ["answer", 7, None])
def test_a_function_that_is_neither_one_nor_its_text_is_refused(function):
    with pytest.raises(ParameterError):
        asked(VISITS.apply(function, **OPTIONS))


def test_limits_of_another_type_are_refused():
    with pytest.raises(ParameterError, match="limits"):
        asked(VISITS.apply(TEXT, limits=3, **OPTIONS))


def test_several_questions_of_any_kind_are_a_batch_and_one_is_none():
    assert asked([QUERY]) == (QUERY,)
    assert asked((QUERY, CHOICE), weights=[1, 2], delta=1e-9) == (QUERY, CHOICE)
    assert asked(QUERY) == QUERY


def test_a_batch_of_nothing_is_refused():
    for nothing in ([], ()):
        with pytest.raises(ParameterError, match="a batch of nothing"):
            asked(nothing)


def test_a_batch_in_a_batch_is_refused():
    with pytest.raises(ParameterError, match="several queries where one is asked"):
        asked([QUERY, [QUERY]])


@pytest.mark.parametrize("question", [QUERY, CHOICE, APPLICATION], ids=["query", "choice", "application"])
@pytest.mark.parametrize("words", [{"weights": [1]}, {"delta": 1e-9}, {"weights": []}, {"delta": 0}], ids=str)
def test_what_only_a_batch_has_is_refused_beside_one_question(question, words):
    (name,) = words
    with pytest.raises(ParameterError, match=f"{name}=... beside one query") as refusal:
        asked(question, **words)
    assert f"session.release([query, another], {name}=..., epsilon=1)" in refusal.value.instead


@pytest.mark.parametrize("method", ["smooth", dp.SmoothSensitivity, {"bound": 1}, 0, False])
def test_a_method_of_another_type_is_refused_with_those_that_there_are(method):
    with pytest.raises(ParameterError, match="a method is an object") as refusal:
        asked(QUERY, method=method)
    assert "dp.SmoothSensitivity()" in refusal.value.instead
    assert "dp.ProposedBound(" in refusal.value.instead


@pytest.mark.parametrize(
    "question", [CHOICE, APPLICATION, [QUERY], (QUERY, QUERY), []], ids=lambda each: str(type(each))
)
def test_a_method_is_for_one_query(question):
    with pytest.raises(ParameterError):
        asked(question, method=SMOOTH)


@pytest.mark.parametrize("words", [{"weights": [1]}, {"delta": 1e-9}], ids=str)
def test_what_only_a_batch_has_is_refused_beside_a_method(words):
    (name,) = words
    with pytest.raises(ParameterError, match=f"{name}=... beside"):
        asked(QUERY, method=dp.ProposedBound(bound=1, delta=1e-10), **words)


@pytest.mark.parametrize(
    ("question", "method"),
    [(CHOICE, None), (APPLICATION, None), (QUERY, SMOOTH), ([QUERY, CHOICE], None), ((APPLICATION,), None)],
    ids=["choice", "application", "method", "batch", "batch of one"],
)
def test_additive_noise_is_refused_where_a_question_gets_other_noise(question, method):
    """A batch with a choice, under a budget with a delta, would state the pure epsilon of the noise that was named."""
    with pytest.raises(ParameterError, match="mechanism='laplace'"):
        asked(question, method=method, mechanism="laplace")


def test_additive_noise_is_chosen_for_tables():
    assert asked(QUERY, mechanism="laplace") == QUERY
    assert asked([QUERY, QUERY], mechanism="laplace") == (QUERY, QUERY)


@pytest.mark.parametrize("value", [0, 1, -1, "often", None, float("nan")])
def test_a_confidence_lies_between_zero_and_one(value):
    with pytest.raises(ParameterError):
        confidence_of(value)


@pytest.mark.parametrize("value", [0, 1, "yes", None])
def test_fresh_is_true_or_false(value):
    with pytest.raises(ParameterError, match="fresh"):
        checked_fresh(value)
