"""Queries for synthetic tables are declared without data, and refused where an argument is of another kind."""

import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.query.synthesis import SynthesisQuery

T = dp.table("people")
SYNTHESIZER = dp.synthesis.IndependentSynthesizer()


def test_a_query_holds_the_columns_edges_and_workload():
    query = T.synthesize(SYNTHESIZER, columns=["age", "sex"], edges={"age": [0, 18]}, workload=[["age"], ("sex",)])
    assert isinstance(query, SynthesisQuery)
    assert query.columns == ("age", "sex")
    assert query.edges == (("age", (0, 18)),)
    assert query.workload == (("age",), ("sex",))
    query = T.synthesize(SYNTHESIZER, keys={"sex": ["F", "M"]}, bounds={"age": (0, 99)})
    assert (query.keys, query.bounds) == ((("sex", ("F", "M")),), (("age", (0, 99)),))


@pytest.mark.parametrize(
    "words",
    [
        {"columns": "age"},
        {"columns": []},
        {"columns": ["age", "age"]},
        {"columns": [1]},
        {"edges": [0, 1]},
        {"edges": {"age": "01"}},
        {"edges": {1: [0, 1]}},
        {"keys": ["F", "M"]},
        {"keys": {"sex": "FM"}},
        {"keys": {}},
        {"bounds": (0, 1)},
        {"edges": {"age": [0, 1]}, "keys": {"age": [0, 1]}},
        {"edges": {"age": [0, 1]}, "bounds": {"age": (0, 1)}},
        {"workload": "age"},
        {"workload": ["age"]},
        {"workload": [[]]},
        {"workload": [["age", "age"]]},
        {"workload": []},
        {"columns": ["sex"], "workload": [["age"]]},
    ],
    ids=str,
)
def test_arguments_of_another_kind_are_refused(words):
    with pytest.raises(ParameterError):
        T.synthesize(SYNTHESIZER, **words)


class Subclass(dp.synthesis.IndependentSynthesizer):
    """A synthesizer that would see private counts."""


@pytest.mark.parametrize("synthesizer", [Subclass(), object, "tree", None])
def test_synthesizers_of_another_class_are_refused(synthesizer):
    with pytest.raises(ParameterError, match="as they are"):
        T.synthesize(synthesizer)


def test_a_synthesizer_with_a_method_of_its_own_is_refused():
    synthesizer = dp.synthesis.IndependentSynthesizer()
    object.__setattr__(synthesizer, "synthesis", lambda facts: facts)
    with pytest.raises(ParameterError, match="as they are"):
        T.synthesize(synthesizer)


def test_names_are_text_of_no_other_class():
    class Name(str):
        __slots__ = ()

    query = dp.table("people").synthesize(
        dp.synthesis.IndependentSynthesizer(), columns=[Name("age")], workload=[[Name("age")]]
    )
    assert {type(name) for name in (*query.columns, *query.workload[0])} == {str}
