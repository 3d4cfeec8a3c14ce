"""Columns are lists of different names, and a lone name is refused."""

import pytest

import discreet as dp
from discreet.anonymity.classes.column_lists import names_of, one_column


def test_quasi_identifiers_are_a_list_of_different_names():
    assert names_of(["a", "b"], "quasi") == ("a", "b")
    assert names_of((), "sensitive", least=0) == ()
    for wrong in ("a", [], ["a", "a"], [1], None):
        with pytest.raises(dp.errors.ParameterError):
            names_of(wrong, "quasi")


def test_a_cube_refuses_the_letters_of_a_lone_name():
    with pytest.raises(dp.errors.ParameterError):
        dp.anonymity.cube("people.csv", "age")


@pytest.mark.parametrize(
    ("name", "instead"), [(["job"], "learn='job'"), (5, 'learn="age"'), ([], 'learn="age"')], ids=str
)
def test_what_is_not_the_name_of_one_column_is_refused_with_the_name(name, instead):
    with pytest.raises(dp.errors.ParameterError) as caught:
        one_column(name, "learn", example='"age"')
    assert caught.value.instead == instead
    one_column("job", "learn", example='"age"')
